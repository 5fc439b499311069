"""Compiled code: plain loops over plain arrays. The only place that imports numba."""
