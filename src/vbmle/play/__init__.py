"""The playground: one offline page on which a bias towards value can be seen at work, step by step.

    scenes    the worlds on the page, and the words for what is in them
    grid      V*(s; theta) and the greedy policy on a barycentric grid of mixtures
    recorded  runs made beforehand, for models that have no triangle of mixtures
    page      the file: data and assets joined

The page keeps counts, likelihood, objective, maximiser, policy and regret by itself, with the formulas and the
luck of `vbmle.simulate`; see docs/playground.md.
"""

from __future__ import annotations

from vbmle.play.page import write

__all__ = ["write"]
