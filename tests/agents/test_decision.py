"""`agent.last`: what was solved, how it ended, and what counts as trouble."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import play

from vbmle import (
    PSRL,
    RBMLE,
    UCLK,
    UCRL2,
    VBMLE,
    ApproximateVBMLE,
    MaximumLikelihood,
    Oracle,
    QLearning,
    Random,
    value_biased,
)
from vbmle.agents.decision import Decision
from vbmle.estimation.maximiser import CERTIFIED
from vbmle.experiments import catalogue
from vbmle.worlds import random_network, riverswim

NETWORK, RIVER = random_network(3, 2, 3, temperature=0.1, seed=1), riverswim(4)


@pytest.mark.parametrize("name", catalogue.general())
def test_nothing_was_solved_before_the_first_decision(name: str):
    kind = catalogue.agents()[name]
    if kind.needs_truth:
        return
    agent = kind(NETWORK.mdp)
    assert agent.last is None
    agent.act(0)
    assert agent.last is None or agent.decisions == 1


@pytest.mark.parametrize("kind", [VBMLE, ApproximateVBMLE, MaximumLikelihood])
def test_likelihood_agents_show_residual_and_gap(kind: type[VBMLE]):
    agent = kind(NETWORK.mdp)
    state = play(agent, NETWORK, 30, 0, np.random.default_rng(0))
    agent.act(state)
    last = agent.last
    assert last is not None
    assert (last.status, last.converged, last.in_trouble) == ("converged", True, False)
    assert last.residual is not None
    assert 0.0 <= last.residual <= 1e-7
    assert last.gap is not None
    assert last.upper_bound is last.error_bound is last.empty is last.certified is None


def test_vbmle_tells_the_objective_that_it_maximised():
    agent = VBMLE(NETWORK.mdp)
    state = play(agent, NETWORK, 30, 0, np.random.default_rng(0))
    agent.act(state)
    best = value_biased(NETWORK.mdp, agent.counts, state, agent.alpha())
    assert agent.last is not None
    assert agent.last.objective == pytest.approx(best.objective, abs=1e-9 * (1.0 + abs(best.objective)))


def test_a_certificate_is_kept():
    """The bound is at least the objective; where branch and bound ends, they agree as far as it promises."""
    agent = VBMLE(NETWORK.mdp, search="certified")
    for _ in range(3):
        state = play(agent, NETWORK, 5, 0, np.random.default_rng(0))
        agent.act(state)
        last = agent.last
        assert last is not None
        assert last.objective is not None
        assert last.upper_bound is not None
        room = last.upper_bound - last.objective
        assert 0.0 <= room <= 1.01 * CERTIFIED * (1.0 + abs(last.objective))
        assert last.certified
        assert not last.in_trouble


def test_optimists_show_their_error_bound_and_an_empty_set():
    agent = UCLK(NETWORK.mdp)
    agent.act(0)
    assert agent.last is not None
    assert agent.last.empty is False
    assert agent.last.error_bound is not None
    assert 0.0 <= agent.last.error_bound <= agent.settings["tolerance"]
    world = random_network(4, 2, 4, seed=3)
    narrow = UCLK(world.mdp, radius_scale=1e-6)
    with pytest.warns(RuntimeWarning, match="no feasible theta"):
        narrow.act(0)
    assert narrow.last is not None
    assert narrow.last.empty
    assert narrow.last.in_trouble


def test_tabular_agents_and_draws_show_what_they_promise():
    table, rows, draws = UCRL2(RIVER.mdp), RBMLE(RIVER.mdp), PSRL(RIVER.mdp)
    for agent in (table, rows, draws):
        play(agent, RIVER, 40, 0, np.random.default_rng(0))
        assert agent.last is not None
        assert agent.last.converged
    assert table.last is not None
    assert table.last.error_bound == table.error_bound <= 1e-6 * 11
    assert rows.last is not None
    assert (rows.last.objective, rows.last.gap) == (rows.objective, rows.gap)
    assert draws.last is not None
    assert draws.last.error_bound is not None
    assert draws.last.error_bound < 1e-8


def test_who_solves_nothing_has_nothing_to_tell_and_the_oracle_planned_once():
    for agent in (QLearning(RIVER.mdp), Random(RIVER.mdp)):
        play(agent, RIVER, 5, 0, np.random.default_rng(0))
        assert agent.last is None
    last = Oracle(RIVER.mdp, RIVER.theta).last
    assert last is not None
    assert last.converged
    assert last.error_bound is not None
    assert last.error_bound <= 1e-8


@pytest.mark.parametrize(
    ("changes", "trouble"),
    [
        ({}, False),
        ({"converged": False}, True),
        ({"empty": True}, True),
        ({"empty": False}, False),
        ({"objective": 2.0, "upper_bound": 2.0 + 1e-7}, False),
        ({"objective": 2.0, "upper_bound": 2.1}, True),
        ({"objective": 2.0, "upper_bound": math.nan}, True),
    ],
)
def test_what_counts_as_trouble(changes: dict[str, Any], trouble: bool):
    fields: dict[str, Any] = {"solved": "a plan", "status": "done", "converged": True}
    assert Decision(**(fields | changes)).in_trouble is trouble


def test_decisions_are_counted_and_go_on_after_loading(tmp_path: Path):
    agent = VBMLE(RIVER.mdp, update="doubling")
    state = play(agent, RIVER, 200, 0, np.random.default_rng(0))
    assert 3 < agent.decisions < 100
    agent.save(tmp_path / "agent.npz")
    loaded = VBMLE.load(tmp_path / "agent.npz", RIVER.mdp)
    assert (loaded.decisions, loaded.last) == (agent.decisions, agent.last)
    assert [loaded.act(state), loaded.decisions] == [agent.act(state), agent.decisions]


def test_a_decision_that_fails_is_not_one():
    agent = VBMLE(RIVER.mdp, bias=lambda t: -1.0)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="the bias is"):
        agent.act(0)
    assert agent.last is None
