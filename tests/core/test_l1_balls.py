"""L1 balls in the core: the inner maximum against linear programming, plans against a slow version."""

import numpy as np
import pytest
from parts.optimism import best_mean
from scipy.optimize import linprog
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP
from vbmle.core.optimism import L1Optimist
from vbmle.worlds import riverswim


def optimist_of(mdp: LinearMixtureMDP) -> L1Optimist:
    return L1Optimist(mdp.core)


def by_program(estimate: np.ndarray, gain: np.ndarray, radius: float) -> float:
    """max <p, gain> with p a distribution and sum |p - estimate| <= radius, |.| split into two parts."""
    m = len(estimate)
    result = linprog(
        np.concatenate([-gain, np.zeros(m)]),
        A_ub=np.vstack(
            [
                np.hstack([np.eye(m), -np.eye(m)]),
                np.hstack([-np.eye(m), -np.eye(m)]),
                np.concatenate([np.zeros(m), np.ones(m)])[None, :],
            ]
        ),
        b_ub=np.concatenate([estimate, -estimate, [radius]]),
        A_eq=np.concatenate([np.ones(m), np.zeros(m)])[None, :],
        b_eq=[1.0],
        method="highs",
    )
    assert result.status == 0
    return float(-result.fun)


@pytest.mark.parametrize("case", range(60))
def test_the_inner_maximum_is_that_of_a_linear_program(case: int):
    rng = np.random.default_rng([case, 1])
    m = int(rng.integers(1, 8))
    estimate = rng.dirichlet(np.full(m, 0.5))
    if case % 3 == 0:  # frequencies, some of them 0
        estimate = rng.multinomial(5, estimate) / 5.0
    gain = np.round(rng.random(m), 1 if case % 2 else 6)  # with ties
    radius = float(rng.choice([0.0, 0.1, 0.7, 2.0, 5.0]))
    order = rng.permutation(m)
    found = best_mean(estimate, gain, radius, order)
    assert found == pytest.approx(by_program(estimate, gain, radius), abs=1e-9)
    assert (np.diff(gain[order]) >= 0.0).all()


def slow_iteration(
    mdp: LinearMixtureMDP, estimate: np.ndarray, radius: np.ndarray, sweeps: int
) -> np.ndarray:
    """Extended value iteration in plain NumPy: sort, move radius/2 up to the best, take it from the worst."""
    V, indptr = np.full(mdp.num_states, 1.0 / (1.0 - mdp.discount)), mdp.transitions.indptr
    extra = mdp.transition_reward if len(mdp.transition_reward) else np.zeros(mdp.transitions.count)
    for _ in range(sweeps):
        Q = np.empty(mdp.num_states * mdp.num_actions)
        for row in range(len(Q)):
            span = slice(indptr[row], indptr[row + 1])
            gain = extra[span] + mdp.discount * V[mdp.transitions.successor[span]]
            order = np.argsort(-gain)
            p = estimate[span][order].copy()
            p[0] = min(1.0, p[0] + radius[row] / 2.0)
            worst = len(p) - 1
            while p.sum() > 1.0 + 1e-15 and worst > 0:
                p[worst] = max(0.0, p[worst] - (p.sum() - 1.0))
                worst -= 1
            Q[row] = mdp.pair_reward[row] + p @ gain[order]
        V = Q.reshape(mdp.num_states, -1).max(axis=1)
    return V


@pytest.mark.parametrize(
    "name", ["tabular, a product of simplices", "reward of the next state", "sparse mixture"]
)
@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0])
def test_planning_agrees_with_a_slow_version_within_its_promise(name: str, scale: float):
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(3)
    indptr = mdp.transitions.indptr
    estimate = np.concatenate([rng.dirichlet(np.ones(n)) for n in np.diff(indptr)])
    radius = scale * rng.random(len(indptr) - 1)
    optimist = optimist_of(mdp)
    assert optimist.error_bound == np.inf
    for tolerance in (1e-3, 1e-8):
        assert optimist.plan(estimate, radius, tolerance, 100_000)
        error = optimist.error_bound
        assert error <= tolerance
        # gamma = .9: after 400 sweeps the slow version is off by at most .9^400 * 10 < 1e-17.
        off = np.abs(optimist.V - slow_iteration(mdp, estimate, radius, 400)).max()
        assert off <= error + 1e-11
    assert not optimist.plan(estimate, radius, 1e-8, 1)
    assert optimist.error_bound > 1e-8


def test_balls_out_of_range_are_refused():
    world = riverswim(4)
    optimist = optimist_of(world.mdp)
    count, pairs = world.mdp.transitions.count, 8
    for arguments in ((np.ones(count - 1), np.ones(pairs), 1e-3), (np.ones(count), np.ones(pairs), -1.0)):
        with pytest.raises(ValueError, match=r"core|out of range"):
            optimist.plan(*arguments)
