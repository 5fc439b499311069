"""Counts that forget: against the weights written out, and agents that follow a mix that jumps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting_agents import COUNTING_AGENTS

import vbmle
from vbmle.estimation.counts import ForgettingCounts
from vbmle.testing import check_agent
from vbmle.worlds import riverswim

RNG = np.random.default_rng(4)
MODELS = list(RNG.dirichlet(np.ones(3), (2, 3, 2)))
MDP = vbmle.LinearMixtureMDP.from_models(MODELS, RNG.random((3, 2)), 0.9)
WORLD = vbmle.World(MDP, [0.3, 0.7])


def path(steps: int) -> vbmle.History:
    return vbmle.simulate(vbmle.Random(MDP), WORLD, steps)


def weighted(history: vbmle.History, weight: Callable[[int], float]) -> np.ndarray:
    """The sum of the weights of each transition."""
    n, steps = np.zeros((3, 2, 3)), len(history.states)
    for i, step in enumerate(zip(history.states, history.actions, history.next_states, strict=True)):
        n[step] += weight(steps - 1 - i)
    return n


@pytest.mark.parametrize(
    ("forget", "weight"),
    [
        (20, lambda age: 2.0 ** (-age / 20)),
        ({"half_life": 3.5}, lambda age: 2.0 ** (-age / 3.5)),
        ({"window": 25}, lambda age: float(age < 25)),
        ({"window": 10_000}, lambda age: 1.0),
    ],
)
def test_counts_are_the_weights(forget: Any, weight: Callable[[int], float]):
    history = path(120)
    at_once, one_by_one = ForgettingCounts(MDP, forget), ForgettingCounts(MDP, forget)
    at_once.add_many(history.states, history.actions, history.next_states)
    for step in zip(history.states, history.actions, history.next_states, strict=True):
        one_by_one.add(*map(int, step))
    expected = weighted(history, weight)
    for counts in (at_once, one_by_one):
        np.testing.assert_allclose(MDP.transitions.dense(counts.values), expected, atol=1e-12)
        assert counts.total == 120
        assert counts.remembered == int(expected.sum() + 1e-9)
        assert sorted(counts.observed.tolist()) == np.nonzero(counts.values)[0].tolist()
    found = vbmle.log_likelihood(MDP, at_once, [0.4, 0.6], ridge=0.0)
    p = 0.4 * MODELS[0] + 0.6 * MODELS[1]
    assert found == pytest.approx(float((expected * np.log(p)).sum()), rel=1e-10)


@pytest.mark.parametrize("forget", [30, {"window": 15}])
@pytest.mark.parametrize("make", COUNTING_AGENTS)
def test_agents_keep_the_contract(make: Callable[..., Any], forget: Any):
    check_agent(lambda mdp: make(mdp, forget=forget), riverswim(length=4, features="mixture"), steps=60)


def test_a_jump_is_followed():
    """After a jump from one model to the other, the estimate of one that forgets is near the second."""
    first, second = vbmle.World(MDP, [1.0, 0.0]), vbmle.World(MDP, [0.0, 1.0])
    before = vbmle.simulate(vbmle.Random(MDP), first, 1000)
    after = vbmle.simulate(vbmle.Random(MDP), second, 500)
    theta = {}
    settings: tuple[Any, ...] = (None, 60, {"window": 200})
    for forget in settings:
        agent = vbmle.MaximumLikelihood(MDP, forget=forget)
        for log in (before, after):
            agent.observe_many(log.states, log.actions, log.next_states)
        agent.act(0)
        theta[str(forget)] = agent.theta[1]
    assert theta["None"] < 0.6
    assert min(theta["60"], theta["{'window': 200}"]) > 0.8


def test_the_bias_grows_with_what_is_remembered():
    agent, history = vbmle.VBMLE(MDP, forget={"window": 8}), path(100)
    agent.observe_many(history.states, history.actions, history.next_states)
    assert agent.alpha() == pytest.approx(3.0)  # sqrt(8 + 1)


def test_widening_keeps_the_window(tmp_path: Path):
    river = riverswim(length=4, features="mixture")
    agent = vbmle.MaximumLikelihood(river.mdp, on_impossible="widen", forget={"window": 2})
    for step in ((0, 1, 1), (0, 0, 0), (0, 0, 3), (0, 0, 0)):
        agent.observe(*step)
    dense = agent.mdp.transitions.dense(agent.counts.values)
    assert dense[0, 0, 3] == dense[0, 0, 0] == 1.0
    assert dense.sum() == 2.0
    agent.save(tmp_path / "agent.npz")
    again = vbmle.MaximumLikelihood.load(tmp_path / "agent.npz", river.mdp)
    for each in (agent, again):
        each.observe(0, 1, 1)
    np.testing.assert_array_equal(agent.counts.values, again.counts.values)


def test_what_does_not_fit_is_refused():
    for forget in (0, -3, {"window": 2.5}, {"windows": 3}, {}):
        with pytest.raises(ValueError, match="forget"):
            vbmle.VBMLE(MDP, forget=forget)  # type: ignore[arg-type]
    agent = vbmle.VBMLE(MDP, forget=10)
    with pytest.raises(ValueError, match=r"VBMLE forgets \(forget=\.\.\.\); a test of the model needs all"):
        agent.misfit()
    with pytest.raises(ValueError, match="a confidence set needs all observations"):
        agent.confidence()
    assert agent.belief().mean.sum() == pytest.approx(1.0)
