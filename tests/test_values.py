"""Everything is a value: it compares, copies and pickles, before and after use, and goes on as it would have."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import joblib
import numpy as np
import pytest
from small_worlds import EXAMPLES

import vbmle
from vbmle.experiments import catalogue

RIVER = EXAMPLES["three-parameter river"]
AGENTS = catalogue.general()
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
each_way = pytest.mark.parametrize("again", WAYS.values(), ids=WAYS)


def agent_of(name: str, **settings: Any) -> vbmle.Agent:
    truth = {"theta": RIVER.theta} if AGENTS[name].needs_truth else {}
    return AGENTS[name](RIVER.mdp, **truth, **settings)


def values() -> dict[str, Any]:
    """What users hold, made and used."""
    history = vbmle.simulate(vbmle.VBMLE(RIVER.mdp), RIVER, 30, record=["thetas"])
    counts = vbmle.TransitionCounts(RIVER.mdp)
    counts.add_many(history.states, history.actions, history.next_states)
    return {
        "model": RIVER.mdp,
        "world": RIVER,
        "drifting world": vbmle.DriftingWorld(
            RIVER.mdp, [(0, RIVER.theta), (9, RIVER.mdp.polytope.interior)]
        ),
        "history": history,
        "counts": counts,
        "fresh counts": vbmle.TransitionCounts(RIVER.mdp),
        "plan": vbmle.plan(RIVER.mdp, RIVER.theta),
        "estimate": vbmle.value_biased(RIVER.mdp, counts, 0, 1.0),
        "belief": vbmle.VBMLE(RIVER.mdp).belief(),
    }


@each_way
@pytest.mark.parametrize("name", values())
def test_what_users_hold_copies_and_compares(name: str, again: Callable[[Any], Any]):
    value = values()[name]
    other = again(value)
    assert value == other
    assert type(value) is type(other)
    assert value != "something else"


@each_way
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_model_is_the_same_to_the_last_bit(example: str, again: Callable[[Any], Any]):
    world = again(EXAMPLES[example])
    assert world.mdp.fingerprint() == EXAMPLES[example].mdp.fingerprint()
    mine, theirs = (vbmle.plan(each.mdp, each.theta) for each in (EXAMPLES[example], world))
    np.testing.assert_array_equal(mine.V, theirs.V)
    assert not world.mdp.initial.flags.writeable


def test_counts_that_were_copied_count_on_their_own():
    counts = vbmle.TransitionCounts(RIVER.mdp)
    other = copy.copy(counts)
    other.add(0, 0, 0)
    assert (counts.total, other.total) == (0, 1)
    assert counts != other


def go_on(agent: Any, steps: int = 25) -> list[Any]:
    """What an agent does from here on, and what it thinks."""
    state, seen = 0, []
    for uniform in np.random.default_rng(3).random(steps).tolist():
        action = agent.act(state)
        seen.append(
            (action, agent.policy.tolist(), np.array(getattr(agent, "theta", ())).tolist(), agent.last)
        )
        following = RIVER.next_state(state, action, uniform)
        agent.observe(state, action, following)
        state = following
    return seen


@each_way
@pytest.mark.parametrize("used", [0, 20])
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_goes_on_as_if_it_had_not_been_copied(name: str, used: int, again: Callable[[Any], Any]):
    agent = agent_of(name)
    go_on(agent, used)
    other = again(agent)
    assert other == agent
    assert go_on(other) == go_on(agent)


@each_way
def test_memory_is_copied_too(again: Callable[[Any], Any]):
    for memory in (
        {"forget": 8.0},
        {"forget": {"window": 9}},
        {"on_impossible": "widen", "restart": "on-alarm"},
    ):
        agent = vbmle.VBMLE(RIVER.mdp, **memory)
        go_on(agent, 15)
        if "on_impossible" in memory:
            agent.observe(0, 0, 3)
        other = again(agent)
        assert other == agent
        assert go_on(other) == go_on(agent)


class Counting(vbmle.MaximumLikelihood):
    """One that notes something of its own."""

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        self.noted = getattr(self, "noted", 0) + 1
        super().observe(state, action, next_state, *more, **named)


@each_way
def test_what_a_subclass_notes_is_copied_too(again: Callable[[Any], Any]):
    agent = Counting(RIVER.mdp)
    go_on(agent, 7)
    assert again(agent).noted == 7


def test_agents_are_equal_where_settings_model_and_what_they_learnt_are():
    one, two = (
        vbmle.VBMLE(RIVER.mdp, bias="log", forget=200),
        vbmle.VBMLE(RIVER.mdp, bias="log", forget=200.0),
    )
    assert one == two
    assert one.settings == two.settings
    assert one != vbmle.VBMLE(RIVER.mdp, bias="log")
    assert one != vbmle.MaximumLikelihood(RIVER.mdp)
    two.observe(0, 0, 0)
    assert one != two
    assert repr(two).startswith("<VBMLE(")
    assert "bias='log', forget=200" in repr(two)
    assert repr(two).endswith("after 1 observations>")


def regret_of(agent: Any, world: vbmle.World) -> float:
    return float(vbmle.simulate(agent, world, 20).regret[-1])


def test_agents_and_worlds_go_to_other_processes():
    agents = [vbmle.VBMLE(RIVER.mdp, seed=seed) for seed in range(2)]
    here = [regret_of(copy.deepcopy(agent), RIVER) for agent in agents]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(regret_of, agents, [RIVER, RIVER])) == here
    there = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(regret_of)(agent, RIVER) for agent in agents
    )
    assert there == here
