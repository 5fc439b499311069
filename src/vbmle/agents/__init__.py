"""Agents: one paper, one file. `base` is the two-method protocol."""
