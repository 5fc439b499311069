"""Branch and bound: the bound is true, as tight as promised, and what does not fit is refused."""

from typing import Any

import numpy as np
import pytest
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP
from vbmle.core.certifying import Certificate, Target, branch_and_bound
from vbmle.estimation.certificate import triangulate

REFUSED = r"core|out of range"
SMALL = [name for name, world in EXAMPLES.items() if triangulate(world.mdp) is not None]


def target(mdp: LinearMixtureMDP, seed: int, bias: float = 2.0) -> Target:
    """Thirty transitions that are possible at the interior point."""
    possible = np.nonzero(mdp.core.probabilities(mdp.polytope.interior) > 1e-9)[0]
    chosen = np.random.default_rng(seed).choice(possible, 30)
    counts = np.bincount(chosen, minlength=mdp.transitions.count).astype(float)
    return Target(counts, np.nonzero(counts)[0], 0.1, bias, seed % mdp.num_states)


def value(mdp: LinearMixtureMDP, goal: Target, y: np.ndarray) -> float:
    """The objective, from the model alone."""
    theta = mdp.core.assemble(y)
    p = mdp.core.probabilities(theta)[goal.observed]
    if p.min() <= 0.0:
        return -np.inf
    likelihood = goal.counts[goal.observed] @ np.log(p) - 0.5 * goal.ridge * theta @ theta
    return float(likelihood + goal.bias * optimal_value(mdp, theta)[goal.state])


def optimal_value(mdp: LinearMixtureMDP, theta: np.ndarray) -> np.ndarray:
    """Value iteration until nothing changes any more."""
    rows, p = mdp.transitions, mdp.core.probabilities(theta)
    extra = mdp.transition_reward if len(mdp.transition_reward) else 0.0
    V = np.zeros(mdp.num_states)
    for _ in range(400):  # 0.9^400 is 5e-19
        gain = np.add.reduceat(p * (extra + mdp.discount * V[rows.successor]), rows.indptr[:-1])
        V = (mdp.pair_reward + gain).reshape(mdp.num_states, mdp.num_actions).max(axis=1)
    return V


def certified(
    mdp: LinearMixtureMDP, goal: Target, tolerance: float = 1e-3, most_bisections: int = 20_000
) -> Certificate:
    points, cells = triangulate(mdp) or (np.zeros((0, 0)), np.zeros((0, 1), np.int64))
    start = value(mdp, goal, np.zeros(mdp.core.num_free))
    return branch_and_bound(mdp.core, goal, (points, cells), start, tolerance, most_bisections)


@pytest.mark.parametrize("name", SMALL)
def test_no_random_point_is_above_the_bound_and_the_best_is_met(name: str):
    mdp = EXAMPLES[name].mdp
    points, _ = triangulate(mdp) or (np.zeros((1, 0)), None)
    rng = np.random.default_rng(0)
    for seed in range(2):
        goal = target(mdp, seed)
        found = certified(mdp, goal, most_bisections=2000)
        others = [value(mdp, goal, w @ points) for w in rng.dirichlet(np.full(len(points), 0.5), 15)]
        assert max(others) <= found.bound + 1e-9 * (1.0 + abs(found.bound))
        assert found.best <= found.bound + 1e-12 * (1.0 + abs(found.bound))
        if found.converged:
            assert found.bound <= found.best + 1e-3 + 1e-12 * abs(found.bound)
        if found.theta is not None:
            met = value(mdp, goal, mdp.core.place(found.theta))
            assert met == pytest.approx(found.best, rel=1e-9)


@pytest.mark.parametrize("name", ["simplex mixture", "three-parameter river", "p_min"])
def test_the_bound_is_that_of_a_fine_grid(name: str):
    """Two free coordinates: the best of 40,000 points is within the tolerance and what lies between them."""
    mdp = EXAMPLES[name].mdp
    found = certified(mdp, goal := target(mdp, 5, bias=0.0), tolerance=1e-6, most_bisections=100_000)
    assert found.converged
    points, _ = triangulate(mdp) or (np.zeros((0, 0)), None)
    axes = [np.linspace(low, high, 200) for low, high in zip(points.min(0), points.max(0), strict=True)]
    y = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    (block,) = mdp.polytope.blocks
    theta = block.center + y @ block.basis.T
    p = (mdp.transitions.phi @ theta.T).T
    inside = (p >= mdp.p_min).all(axis=1) & (y @ block.normals.T + block.offsets >= 0.0).all(axis=1)
    theta, p = theta[inside], np.maximum(p[inside][:, goal.observed], 1e-300)
    heights = np.log(p) @ goal.counts[goal.observed] - 0.5 * goal.ridge * (theta**2).sum(axis=1)
    assert heights.max() <= found.bound
    assert heights.max() >= found.bound - 0.05


def test_without_room_the_bound_is_true_but_open():
    mdp = EXAMPLES["simplex mixture"].mdp
    goal = target(mdp, 1, bias=50.0)
    open_, closed = (
        certified(mdp, goal, 1e-9, most_bisections=0),
        certified(mdp, goal, 1e-3, most_bisections=50_000),
    )
    assert not open_.converged
    assert open_.bound >= closed.best
    assert open_.cells == 1


def test_a_single_point_is_certified_at_once():
    mdp = EXAMPLES["one base model"].mdp
    found = certified(mdp, target(mdp, 0), tolerance=1e-9, most_bisections=0)
    assert found.converged
    assert found.bound == pytest.approx(found.best, abs=1e-9)


def test_what_does_not_fit_is_refused():
    mdp = EXAMPLES["simplex mixture"].mdp
    goal, (points, cells) = target(mdp, 0), triangulate(mdp) or (None, None)
    assert points is not None
    assert cells is not None
    refused: list[dict[str, Any]] = [
        {"target": goal._replace(state=-1)},
        {"target": goal._replace(state=mdp.num_states)},
        {"target": goal._replace(bias=np.nan)},
        {"target": goal._replace(ridge=-1.0)},
        {"target": goal._replace(observed=np.array([mdp.transitions.count]))},
        {"target": goal._replace(counts=goal.counts[1:])},
        {"triangulation": (points, cells + 1)},
        {"triangulation": (points, cells[:, 1:].copy())},
        {"triangulation": (points[:, 1:].copy(), cells)},
        {"best": np.nan},
        {"tolerance": -1.0},
        {"most_bisections": -1},
    ]
    given: dict[str, Any] = {
        "target": goal,
        "triangulation": (points, cells),
        "best": -np.inf,
        "tolerance": 0.1,
        "most_bisections": 10,
    }
    branch_and_bound(mdp.core, **given)
    for change in refused:
        with pytest.raises(ValueError, match=REFUSED):
            branch_and_bound(mdp.core, **given | change)
