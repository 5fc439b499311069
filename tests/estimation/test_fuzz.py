"""A few thousand of the nasty problems; `python tests/fuzz.py 100000` runs more."""

from fuzz import fuzz


def test_nasty_problems_break_no_promise():
    """No exception, nothing but finite numbers, inside P to 1e-9, and `converged` is the truth."""
    tally = fuzz(range(60), seed=11)
    assert tally.broken == []
    assert tally.calls == 1500
    assert tally.converged >= 0.99 * tally.calls
