"""Experiments: what is run (spec), the loop (run), where it runs (compute) and what is kept (store)."""

from vbmle.common import extras
from vbmle.common.validation import InputError

extras.require("experiments")

__all__ = ["InputError"]
