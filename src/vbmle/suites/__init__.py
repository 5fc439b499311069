"""Experiments of ours beside the paper: all agents compared, the league, and the study; each with what it
adds to its report."""
