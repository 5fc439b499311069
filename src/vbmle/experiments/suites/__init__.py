"""Ready-made lists of experiments: one file for each of `vbmle paper`, `compare`, `study` and `league`."""
