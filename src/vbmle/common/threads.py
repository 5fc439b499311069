"""One thread per process: on busy cores several BLAS threads make small linear algebra many times slower."""

from __future__ import annotations

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
"""Environment variables, read when NumPy is first loaded: for processes that are about to start."""
