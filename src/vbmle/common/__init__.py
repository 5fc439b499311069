"""What every layer may use and no subject owns: checks of input, files on disk, one thread per process."""
