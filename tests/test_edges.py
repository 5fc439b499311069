"""What is odd is refused in one clear line when it is given, and what is promised holds at the edges."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import sparse
from small_worlds import EXAMPLES

import vbmle

TABLE = EXAMPLES["tabular, a product of simplices"]


@pytest.mark.parametrize("kind", [vbmle.VBMLE, vbmle.PSRL, vbmle.QLearning, vbmle.Random])
def test_seeds_are_checked_and_made_plain_when_given(kind: Any, tmp_path: Path) -> None:
    agent = kind(TABLE.mdp, seed=np.int64(3))
    agent.act(0)
    agent.save(tmp_path / "agent.npz")
    assert kind.load(tmp_path / "agent.npz", TABLE.mdp).settings["seed"] == 3
    for odd in (-1, 0.5, None, True):
        with refused("seed"):
            kind(TABLE.mdp, seed=odd)


def test_value_biased_refuses_an_odd_seed() -> None:
    with refused("seed", "-1"):
        vbmle.value_biased(TABLE.mdp, vbmle.TransitionCounts(TABLE.mdp), 0, 1.0, seed=-1)


@pytest.mark.parametrize("kind", [np.asarray, lambda P: sparse.csr_array(P.reshape(-1, 2))])
def test_plan_known_refuses_nan(kind) -> None:
    P, reward = np.full((2, 1, 2), 0.5), np.ones((2, 1))
    with refused("reward", "nan"):
        vbmle.plan_known(kind(P), reward * np.nan, 0.9)
    P[1, 0, 1] = np.nan
    with refused("nan"):
        vbmle.plan_known(kind(P), reward, 0.9)


def test_complex_numbers_are_refused() -> None:
    for call in (vbmle.plan, TABLE.mdp.__class__.contains):
        with refused("theta", "complex"):
            call(TABLE.mdp, TABLE.theta + 0j)


def test_times_is_a_number() -> None:
    with refused("times", "True"):
        vbmle.TransitionCounts(TABLE.mdp).add(0, 0, 0, times=True)


@pytest.mark.parametrize("agent", [vbmle.Random(TABLE.mdp), vbmle.Oracle(TABLE.mdp, TABLE.theta)])
def test_observations_out_of_range_are_refused(agent) -> None:
    with refused("state", "99"):
        agent.observe(99, 99, 99)


@pytest.mark.parametrize("uniform", [1.0, -0.1, np.nan])
def test_first_states_need_a_draw_below_1(uniform: float) -> None:
    with refused("uniform"):
        TABLE.first_state(uniform)


def test_a_step_before_reset_is_refused() -> None:
    pytest.importorskip("gymnasium")
    from vbmle.gym import WorldEnv

    with refused("reset"):
        WorldEnv("riverswim").step(0)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_error_of_a_plan_counts_transitions_too_small_to_be_kept(is_sparse: bool, tmp_path: Path) -> None:
    """State 0 leads to a rewarding end with probability 9e-13: worth nearly .009 at gamma = .99999 in closed form."""
    gamma, p = 0.99999, 9e-13
    P = np.array([[[1.0 - p, p]], [[0.0, 1.0]]])
    reward = np.array([[0.0], [1.0]])
    truth = gamma * p / (1.0 - gamma) / (1.0 - gamma * (1.0 - p))
    model = sparse.csr_array(P.reshape(2, 2)) if is_sparse else P
    mdp = vbmle.LinearMixtureMDP.from_models([model], reward, gamma)
    mdp.save(tmp_path / "model.npz")
    for one in (mdp, vbmle.LinearMixtureMDP.load(tmp_path / "model.npz")):
        plan = vbmle.plan(one, [1.0])
        assert truth > 0.008
        assert abs(plan.V[0] - truth) <= plan.error_bound
        assert not plan.converged
