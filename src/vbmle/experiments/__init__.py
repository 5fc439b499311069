"""Experiments: what is run (spec), the loop (run), where it runs (compute) and what is kept (store)."""

from vbmle.common import extras

extras.require("experiments")


class InputError(ValueError):
    """What the user asked for cannot be done; the message is one line that says what, where and what would."""
