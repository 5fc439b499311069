"""Interior points, by linear programs over the rows of a polytope, {y : rows @ y + offsets >= 0}, rows of length one.

Above `MANY` rows a program sees a working set of them: it is solved over some, the rows that its answer breaks most
join them, and so on until its answer breaks none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vbmle.common.validation import Bools, Floats, Ints
from vbmle.model.transitions import row_norms

RANK_TOLERANCE = 1e-10  # relative: singular values below count as zero
FLAT = 1e-9  # P is called flat in a direction in which it is thinner than this
MANY = 20_000  # above so many rows programs see a working set of them
BATCH = 500  # how many rows that an answer breaks join the working set at a time
NEARLY = 1e-6  # of many rows, those with more slack are not tight
FAR = 1e6  # along an axis, no working set reaches further


def move_inside(
    center: Floats, basis: Floats, phi: Floats, lower: Floats, label: Callable[[int], str]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Move to an interior point; where there is none, first give up the directions in which P is flat.

    Returns center, basis, rows and offsets of {theta = center + basis @ y : phi @ theta >= lower}, as in a `Block`.
    """
    while True:
        raw, slack = phi @ basis, phi @ center - lower
        norm = row_norms(raw)
        size = np.minimum(1.0, row_norms(phi))
        fixed = norm <= RANK_TOLERANCE * size
        broken = np.nonzero(fixed & (slack < -FLAT * size))[0]
        if len(broken):
            raise ValueError(
                f"the feasible set is empty: {label(int(broken[0]))} cannot hold (misses by {-slack[broken[0]]:.3g})"
            )
        keep = np.nonzero(~fixed)[0]
        rows, norm = (raw, norm) if len(keep) == len(raw) else (raw[keep], norm[keep])
        rows /= norm[:, None]
        offsets = slack[keep] / norm
        if basis.shape[1] == 0:
            return center, np.ascontiguousarray(basis), rows, offsets
        y, depth, duals = deepest(rows, offsets)
        if depth < -FLAT:
            clash = keep[np.nonzero(duals > 1e-6)[0]][:4]
            together = "; ".join(label(int(i)) for i in clash)
            raise ValueError(
                f"the feasible set is empty: these cannot hold together: {together} (best misses by {-depth:.3g})"
            )
        center = center + basis @ y
        if depth > FLAT:
            offsets = offsets + rows @ y
            if len(rows) <= MANY:
                rows, offsets = _distinct(rows, offsets)
            return center, np.ascontiguousarray(basis), rows, offsets
        tight = rows[always_tight(rows, offsets + rows @ y)]
        _, sigma, right = np.linalg.svd(tight, full_matrices=True)
        rank = max(1, int((sigma > 1e-7).sum()))
        basis = basis @ right[rank:].T


def _distinct(rows: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """One row for each direction: the one that binds first."""
    order = np.argsort(offsets, kind="stable")
    _, first = np.unique(np.round(rows[order], 11), axis=0, return_index=True)
    keep = np.sort(order[first])
    return np.ascontiguousarray(rows[keep]), np.ascontiguousarray(offsets[keep])


def _over_working_set(
    rows: Floats,
    offsets: Floats,
    chosen: Ints,
    program: Callable[[Floats, Floats], tuple[Floats, float, Floats]],
    rounds: int = 1000,
) -> tuple[tuple[Floats, float, Floats], Ints]:
    """The answer (y, level, ...) of a program over many rows, and the rows that it took.

    The program sees some of the rows; those that its answer leaves below the level most join them, until none is or
    for so many rounds.
    """
    answer = program(rows[chosen], offsets[chosen])
    for _ in range(rounds):
        value = rows @ answer[0] + offsets
        broken = np.nonzero(value < answer[1] - 0.5 * FLAT)[0]
        if len(broken) > BATCH:
            broken = broken[np.argpartition(value[broken], BATCH)[:BATCH]]
        larger = np.union1d(chosen, broken)
        if len(larger) == len(chosen):
            break
        chosen = larger
        answer = program(rows[chosen], offsets[chosen])
    return answer, chosen


def deepest(rows: Floats, offsets: Floats) -> tuple[Floats, float, Floats]:
    """The y that maximises min_i (rows @ y + offsets), capped at 1; its depth; the multipliers."""
    if len(rows) <= MANY:
        return _deepest_of(rows, offsets)
    (y, _, duals), chosen = _over_working_set(rows, offsets, _spread(len(rows)), _deepest_of)
    multipliers = np.zeros(len(rows))
    multipliers[chosen] = duals
    return y, float((rows @ y + offsets).min()), multipliers


def _spread(count: int) -> Ints:
    """Where a working set begins: rows from all over."""
    return np.linspace(0, count - 1, BATCH).astype(np.int64)


def bounds_on_widths(rows: Floats, offsets: Floats) -> Floats:
    """Bounds on how far the set reaches along every axis, for many rows: fewer rows reach further, so some will do."""
    from scipy.optimize import linprog

    m, some_rows = rows.shape[1], _spread(len(rows))
    out = np.zeros(m)
    for axis in range(m):
        for cost in (np.eye(m)[axis], -np.eye(m)[axis]):

            def furthest(some: Floats, limits: Floats, cost: Floats = cost) -> tuple[Floats, float, Floats]:
                result = linprog(-cost, A_ub=-some, b_ub=limits, bounds=[(-FAR, FAR)] * m, method="highs")
                if result.status != 0:
                    raise ValueError(f"the extent of the feasible set was not found: {result.message}")
                return result.x, 0.0, limits

            (y, _, _), _ = _over_working_set(rows, offsets, some_rows, furthest, rounds=2)
            out[axis] += cost @ y if np.abs(y).max() < FAR else np.inf
    return out


def _deepest_of(rows: Floats, offsets: Floats, reach: float | None = 10.0) -> tuple[Floats, float, Floats]:
    """First near the centre: where two base models nearly agree, P reaches as far as 1e8."""
    from scipy.optimize import linprog

    n, m = rows.shape
    for tolerance in (1e-9, 1e-7):  # the solver gives up at the first in rare cases
        result = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=np.column_stack([-rows, np.ones(n)]),
            b_ub=offsets,
            bounds=[(-reach if reach else None, reach)] * m + [(None, 1.0)],
            method="highs",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if result.status == 0:
            break
    else:
        raise ValueError(f"no interior point of the feasible set was found: {result.message}")
    y = result.x[:m]
    if reach and result.x[m] < 1e-3:
        return _deepest_of(rows, offsets, None)
    return y, float((rows @ y + offsets).min()), -result.ineqlin.marginals


def always_tight(rows: Floats, offsets: Floats) -> Bools:
    """Which inequalities hold with equality everywhere in P: one LP over the cone of (y tau, tau).

    The offsets are those seen from a deepest point: only rows that are tight there can be tight everywhere.
    """
    from scipy.optimize import linprog

    if len(rows) > MANY:
        near = np.nonzero(offsets <= NEARLY)[0]
        tight = np.zeros(len(rows), np.bool_)
        tight[near] = always_tight(rows[near], offsets[near]) if len(near) <= MANY else True
        return tight
    n, m = rows.shape
    result = linprog(
        np.concatenate([np.zeros(m + 1), -np.ones(n)]),
        A_ub=np.column_stack([-rows, -offsets, np.eye(n)]),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * m + [(1.0, 1.0 / FLAT)] + [(0.0, 1.0)] * n,
        method="highs",
    )
    if result.status != 0:
        raise ValueError(f"the flat directions of the feasible set were not found: {result.message}")
    tight = result.x[m + 1 :] < 0.5
    return tight if tight.any() else offsets <= offsets.min() + FLAT
