"""Ready-made lists of experiments: one file for each of `vbmle paper`, `vbmle compare`, `vbmle study` and `vbmle league`."""
