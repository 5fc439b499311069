"""Interior points, by linear programs over the facets of a polytope, {y : normals @ y + offsets >= 0}.

Normals have length one. Above `MANY_FACETS` facets a program sees a working set of them: it is solved over some, the
facets that its answer breaks most join them, and so on until its answer breaks none.

HiGHS solves them, which says why where there is no solution. Programs that have one, and come by the hundred (which
facets are needed, how wide the set is), are for `vbmle.core.linear_program`: it takes a hundredth of the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vbmle.common.validation import Bools, Floats, Ints
from vbmle.model.feasible_set import FLAT, MANY_FACETS, RANK_TOLERANCE
from vbmle.model.transitions import row_norms

FACETS_AT_ONCE = 500  # how many facets that an answer breaks join the working set at a time
NEARLY_TIGHT = 1e-6  # of many facets, those with more slack are not tight
FARTHEST = 1e6  # along an axis, no working set reaches further


def move_inside(
    center: Floats, basis: Floats, phi: Floats, lower: Floats, label: Callable[[int], str]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Move to an interior point; where there is none, first give up the directions in which P is flat.

    Returns center, basis, normals and offsets of {theta = center + basis @ y : phi @ theta >= lower}, as in a `Block`.
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
        normals, norm = (raw, norm) if len(keep) == len(raw) else (raw[keep], norm[keep])
        normals /= norm[:, None]
        offsets = slack[keep] / norm
        if basis.shape[1] == 0:
            return center, np.ascontiguousarray(basis), normals, offsets
        y, depth, duals = deepest(normals, offsets)
        if depth < -FLAT:
            clash = keep[np.nonzero(duals > 1e-6)[0]][:4]
            together = "; ".join(label(int(i)) for i in clash)
            raise ValueError(
                f"the feasible set is empty: these cannot hold together: {together} (best misses by {-depth:.3g})"
            )
        center = center + basis @ y
        if depth > FLAT:
            offsets = offsets + normals @ y
            if len(normals) <= MANY_FACETS:
                normals, offsets = _distinct(normals, offsets)
            return center, np.ascontiguousarray(basis), normals, offsets
        tight = normals[always_tight(normals, offsets + normals @ y)]
        _, sigma, right = np.linalg.svd(tight, full_matrices=True)
        rank = max(1, int((sigma > 1e-7).sum()))
        basis = basis @ right[rank:].T


def _distinct(normals: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """One facet for each direction: the one that binds first."""
    order = np.argsort(offsets, kind="stable")
    _, first = np.unique(np.round(normals[order], 11), axis=0, return_index=True)
    keep = np.sort(order[first])
    return np.ascontiguousarray(normals[keep]), np.ascontiguousarray(offsets[keep])


def _over_working_set(
    normals: Floats,
    offsets: Floats,
    chosen: Ints,
    program: Callable[[Floats, Floats], tuple[Floats, float, Floats]],
    rounds: int = 1000,
) -> tuple[tuple[Floats, float, Floats], Ints]:
    """The answer (y, level, ...) of a program over many facets, and the facets that it took.

    The program sees some of the facets; those that its answer leaves below the level most join them, until none is or
    for so many rounds.
    """
    answer = program(normals[chosen], offsets[chosen])
    for _ in range(rounds):
        value = normals @ answer[0] + offsets
        broken = np.nonzero(value < answer[1] - 0.5 * FLAT)[0]
        if len(broken) > FACETS_AT_ONCE:
            broken = broken[np.argpartition(value[broken], FACETS_AT_ONCE)[:FACETS_AT_ONCE]]
        larger = np.union1d(chosen, broken)
        if len(larger) == len(chosen):
            break
        chosen = larger
        answer = program(normals[chosen], offsets[chosen])
    return answer, chosen


def deepest(normals: Floats, offsets: Floats) -> tuple[Floats, float, Floats]:
    """The y that maximises min_i (normals @ y + offsets), capped at 1; its depth; the multipliers."""
    if len(normals) <= MANY_FACETS:
        return _deepest_of(normals, offsets)
    (y, _, duals), chosen = _over_working_set(normals, offsets, _spread(len(normals)), _deepest_of)
    multipliers = np.zeros(len(normals))
    multipliers[chosen] = duals
    return y, float((normals @ y + offsets).min()), multipliers


def _spread(count: int) -> Ints:
    """Where a working set begins: facets from all over."""
    return np.linspace(0, count - 1, FACETS_AT_ONCE).astype(np.int64)


def bounds_on_widths(normals: Floats, offsets: Floats) -> Floats:
    """Bounds on how far the set reaches along every axis, for many facets: fewer reach further, so some will do."""
    from scipy.optimize import linprog

    m, some_facets = normals.shape[1], _spread(len(normals))
    out = np.zeros(m)
    for axis in range(m):
        for cost in (np.eye(m)[axis], -np.eye(m)[axis]):

            def furthest(some: Floats, limits: Floats, cost: Floats = cost) -> tuple[Floats, float, Floats]:
                result = linprog(
                    -cost, A_ub=-some, b_ub=limits, bounds=[(-FARTHEST, FARTHEST)] * m, method="highs"
                )
                if result.status != 0:
                    raise ValueError(f"the extent of the feasible set was not found: {result.message}")
                return result.x, 0.0, limits

            (y, _, _), _ = _over_working_set(normals, offsets, some_facets, furthest, rounds=2)
            out[axis] += cost @ y if np.abs(y).max() < FARTHEST else np.inf
    return out


def _deepest_of(normals: Floats, offsets: Floats, reach: float | None = 10.0) -> tuple[Floats, float, Floats]:
    """First near the centre: where two base models nearly agree, P reaches as far as 1e8."""
    from scipy.optimize import linprog

    n, m = normals.shape
    for tolerance in (1e-9, 1e-7):  # the solver gives up at the first in rare cases
        result = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=np.column_stack([-normals, np.ones(n)]),
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
        return _deepest_of(normals, offsets, None)
    return y, float((normals @ y + offsets).min()), -result.ineqlin.marginals


def always_tight(normals: Floats, offsets: Floats) -> Bools:
    """Which inequalities hold with equality everywhere in P: one LP over the cone of (y tau, tau).

    The offsets are those seen from a deepest point: only facets that are tight there can be tight everywhere.
    """
    from scipy.optimize import linprog

    if len(normals) > MANY_FACETS:
        near = np.nonzero(offsets <= NEARLY_TIGHT)[0]
        tight = np.zeros(len(normals), np.bool_)
        tight[near] = always_tight(normals[near], offsets[near]) if len(near) <= MANY_FACETS else True
        return tight
    n, m = normals.shape
    result = linprog(
        np.concatenate([np.zeros(m + 1), -np.ones(n)]),
        A_ub=np.column_stack([-normals, -offsets, np.eye(n)]),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * m + [(1.0, 1.0 / FLAT)] + [(0.0, 1.0)] * n,
        method="highs",
    )
    if result.status != 0:
        raise ValueError(f"the flat directions of the feasible set were not found: {result.message}")
    tight = result.x[m + 1 :] < 0.5
    return tight if tight.any() else offsets <= offsets.min() + FLAT
