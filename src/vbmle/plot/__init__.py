"""Pictures: `matplotlib` Axes in, Axes out. Each function takes data and, if you like, the `ax` to draw on.

The report draws with the same parts: how agents look (styles), one pair of axes from data (panels), and worlds
(world_picture). A new picture has the size of a column of a paper; `ax.figure.savefig("figure.pdf")` keeps it.
"""

from importlib import import_module

_HOME = {
    **dict.fromkeys(("comparison", "league", "regret", "sweep"), "curves"),
    **dict.fromkeys(("policy", "values", "world"), "plans"),
    **dict.fromkeys(("belief", "simplex", "theta_path"), "beliefs"),
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Load what draws it: styles alone need no matplotlib, and no planner."""
    if name not in _HOME:
        raise AttributeError(f"module 'vbmle.plot' has no attribute {name!r}")
    return getattr(import_module(f"vbmle.plot.{_HOME[name]}"), name)
