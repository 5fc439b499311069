"""A decision ends when its time is up, with what it has by then, and says so."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vbmle
from vbmle.agents.catalogue import agents, general
from vbmle.agents.model_agent import ModelAgent
from vbmle.core import library

DECIDING = [name for name, kind in general().items() if issubclass(kind, ModelAgent)]
AT_ONCE, AGES = 1e-9, 1e6  # seconds
RIVER = vbmle.worlds.riverswim(length=6)


@pytest.mark.parametrize("name", DECIDING)
@pytest.mark.filterwarnings("ignore:.*no feasible theta:RuntimeWarning")
def test_every_agent_that_decides_acts_without_time_and_says_so(name: str):
    kind = agents()[name]
    truth = {"theta": RIVER.theta} if kind.needs_truth else {}
    agent = kind(RIVER.mdp, deadline=AT_ONCE, **truth)
    state = 0
    for step in range(5):
        action = agent.act(state)
        assert RIVER.mdp.allowed[state, action]
        assert agent.last is None or (agent.last.status, agent.last.converged) == ("out of time", False)
        following = RIVER.next_state(state, action, 0.1 + 0.2 * step)
        agent.observe(state, action, following)
        state = following
    assert ((agent.policy >= 0) & (agent.policy < RIVER.mdp.num_actions)).all()
    assert not library.time_is_up()  # the thread has all the time again


@pytest.mark.parametrize("kind", [vbmle.VBMLE, vbmle.InformedVBMLE, vbmle.PSRL, vbmle.InformationDirected])
def test_with_time_enough_nothing_changes(kind: Any):
    world = vbmle.worlds.random_network(5, 3, 4, seed=6)
    with_it, without = (
        vbmle.simulate(kind(world.mdp, deadline=given), world, 60, seed=7) for given in (AGES, None)
    )
    assert np.array_equal(with_it.actions, without.actions)


def test_a_search_that_is_cut_short_knows_less():
    world = vbmle.worlds.random_network(15, 4, 12, seed=2)
    cut, whole = vbmle.VBMLE(world.mdp, deadline=AT_ONCE), vbmle.VBMLE(world.mdp)
    for agent in (cut, whole):
        agent.observe(0, 1, int(np.argmax(np.asarray(world.mdp.transition(world.theta))[0, 1])))
        agent.act(0)
    assert cut.last is not None
    assert whole.last is not None
    assert cut.last.objective is not None
    assert whole.last.objective is not None
    assert cut.last.objective < whole.last.objective
    assert whole.last.converged


def test_a_plan_by_sweeps_ends_in_time_with_the_error_that_it_has():
    world = vbmle.worlds.riverswim(length=400, features="mixture")
    agent = vbmle.PSRL(world.mdp, deadline=AT_ONCE)
    agent.act(0)
    assert agent.last is not None
    assert agent.last.error_bound is not None
    assert agent.last.status == "out of time"
    assert agent.last.error_bound > 1e-9


def test_it_is_kept(tmp_path: Path):
    agent = vbmle.InformedVBMLE(RIVER.mdp, deadline=AT_ONCE)
    agent.act(0)
    agent.save(tmp_path / "agent.npz")
    again = vbmle.InformedVBMLE.load(tmp_path / "agent.npz", RIVER.mdp)
    assert again == agent
    assert again.last == agent.last
    assert again.last is not None
    assert again.last.status == "out of time"


@pytest.mark.parametrize("given", [0.0, -1.0, math.nan])
def test_what_is_no_time_is_refused(given: Any):
    with pytest.raises(ValueError, match="deadline is"):
        vbmle.VBMLE(RIVER.mdp, deadline=given)
