"""Ready-made lists of experiments: one file for each of `vbmle paper`, `vbmle compare` and `vbmle study`."""
