"""The Bayes-optimal agent: it keeps the contract, earns what its lower bound says, and is saved with what it found."""

import copy
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hidden_models import finch, followed, random_candidates, two

import vbmle
from vbmle import BayesOptimal, LinearMixtureMDP, World
from vbmle.testing import check_agent

TINY = random_candidates(0, 2, 2, 3)


def made(mdp: LinearMixtureMDP, **settings: object) -> BayesOptimal:
    return BayesOptimal(mdp, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"prior": [0.1, 0.2, 0.3, 0.4]},
        {"horizon": 20},
        {"on_impossible": "skip"},
        {"on_impossible": "widen", "gap": 0.1},
        {"forget": 10},
        {"gap": 0.1, "nodes": 500},
    ],
    ids=str,
)
def test_it_keeps_the_contract(settings: dict[str, object]):
    check_agent(lambda mdp: made(mdp, **settings), World(finch(), np.eye(4)[2]), steps=60)


def test_it_keeps_the_contract_where_transitions_are_impossible():
    mdp = random_candidates(4, 4, 2, 3)
    for rule in ("raise", "skip", "widen"):
        check_agent(partial(made, on_impossible=rule), World(mdp, np.eye(3)[1]), steps=60)


@pytest.mark.parametrize(
    ("mdp", "steps"), [(TINY, 6), (random_candidates(1, 3, 2, 2), 5), (finch(), 4), (two(), 6)]
)
def test_what_it_earns_in_a_number_of_steps_is_between_its_bounds(mdp: LinearMixtureMDP, steps: int):
    """By following it through everything that can happen."""

    def act(state: int, seen: tuple[tuple[int, int, int], ...]) -> int:
        fresh = copy.copy(base)
        for s, a, to in seen:
            fresh.observe(s, a, to)
        return fresh.act(state)

    base = made(mdp, horizon=steps, gap=1e-6)
    low, high = base.bounds  # found once: copies have it
    earned = followed(act, mdp, steps)
    assert low - 1e-9 <= earned <= high + 1e-9


def test_what_it_earns_for_ever_is_at_least_its_lower_bound():
    """Simulated where each candidate is true, by the gaps V* - Q* of what it does; within four standard errors."""
    mdp, agent = finch(), made(finch(), gap=0.002)
    rng, runs, steps = np.random.default_rng(1), 60, 120
    totals = []
    agent.act(0)
    for k in range(4):
        found = vbmle.plan(mdp, np.eye(4)[k])
        gaps = mdp.reward_scale * (found.V[:, None] - found.Q)
        world = World(mdp, np.eye(4)[k])
        for _ in range(runs):
            one, state, lost = copy.copy(agent), 0, 0.0
            for t in range(steps):
                action = one.act(state)
                lost += 0.9**t * gaps[state, action]
                after = world.next_state(state, action, rng.random())
                one.observe(state, action, after)
                state = after
            totals.append(mdp.in_units(found.V)[0] - lost)
    earned = np.array(totals)
    parts = earned.reshape(4, runs)
    error = np.sqrt((parts.var(axis=1, ddof=1) / runs).sum()) / 4
    assert earned.mean() >= agent.lower - 4 * error
    assert earned.mean() <= agent.upper + 4 * error


def test_it_is_saved_with_what_it_has_found(tmp_path: Path):
    agent = made(finch(), seconds=30.0, gap=0.01)
    assert agent.act(0) == agent.act(0)
    agent.observe(0, 1, 0)
    agent.save(tmp_path / "agent.npz")
    for other in (
        BayesOptimal.load(tmp_path / "agent.npz", finch()),
        pickle.loads(pickle.dumps(agent)),
        copy.deepcopy(agent),
    ):
        assert other == agent
        assert other.bounds == agent.bounds
        assert other.act(0) == copy.copy(agent).act(0)
        assert other._found._vectors.values.shape == agent._found._vectors.values.shape
    assert made(finch()) == made(finch())


def test_a_saved_search_that_does_not_fit_is_refused():
    agent = made(finch())
    agent.act(0)
    kept = agent.snapshot()
    spoilt = {
        "found.values": kept["found.values"][:, :2].copy(),
        "found.place": kept["found.place"] * 0,
        "found.action": kept["found.action"] + 9,
        "found.bounds": np.array([np.nan, 1.0]),
    }
    for name, array in spoilt.items():
        with pytest.raises(ValueError, match="found"):
            made(finch()).restore({**kept, name: array})


def test_it_says_what_it_has_reached():
    agent = made(finch(), gap=0.01)
    assert agent.last is None
    agent.act(0)
    assert agent.last is not None
    assert agent.last.converged
    assert agent.last.gap == pytest.approx(agent.upper - agent.lower)
    short = made(finch(), gap=1e-6, nodes=200)
    short.act(0)
    assert short.last is not None
    assert not short.last.converged
    assert "apart" in short.last.status


def test_it_beats_the_candidates_of_two_suspects():
    """Maximum likelihood sticks to the wrong one there; knowing the truth earns no more than the upper bound says."""
    world = vbmle.worlds.two_suspects(chance=0.75)
    agent = made(world.mdp, gap=0.001)
    known = np.mean([world.mdp.initial @ world.mdp.in_units(vbmle.plan(world.mdp, t).V) for t in np.eye(2)])
    assert agent.upper <= known + 1e-9
    assert agent.lower > 0.0
