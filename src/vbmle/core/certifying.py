"""A true upper bound on the maximum of the value-biased objective, by branch and bound from a triangulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vbmle.core.generated import vb_certificate, vb_certificate_task
from vbmle.core.library import Floats, Ints, check, floats, ints, lib
from vbmle.core.model import Model


class Target(NamedTuple):
    """sum n log p - ridge/2 |theta|^2 + bias V*(state; theta): counts n, and the transitions that have some."""

    counts: Floats
    observed: Ints
    ridge: float
    bias: float
    state: int


class Certificate(NamedTuple):
    """An upper bound, the best value known, and the theta at which it was met, if here."""

    bound: float
    best: float
    theta: Floats | None
    cells: int
    converged: bool


def branch_and_bound(
    model: Model,
    target: Target,
    triangulation: tuple[Floats, Ints],
    best: float,
    tolerance: float,
    most_bisections: int,
) -> Certificate:
    """Bisect the cells until the bound is within `tolerance` of the best value known, at most `most_bisections` times.

    triangulation: points (n, free) as y, and cells (k, free + 1) of their places.
    """
    points, cells = triangulation
    free, theta, found = model.num_free, np.empty(model.dimension), vb_certificate()
    task = vb_certificate_task(
        counts=floats(target.counts, model.num_transitions),
        observed=ints(target.observed),
        num_observed=len(target.observed),
        ridge=target.ridge,
        bias=target.bias,
        state=target.state,
        points=floats(points, len(points), free),
        num_points=len(points),
        cells=ints(cells, len(cells), free + 1),
        num_cells=len(cells),
        most_bisections=most_bisections,
        best=best,
        tolerance=tolerance,
    )
    status = lib.vb_certify(model.handle, task, found, floats(theta))
    check(status)
    return Certificate(found.bound, found.best, theta if found.found else None, found.cells, status == 0)
