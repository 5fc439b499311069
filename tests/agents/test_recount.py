"""A model that was corrected: what was counted carries over."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting_agents import COUNTING_AGENTS

import vbmle

RNG = np.random.default_rng(8)
MODELS = RNG.dirichlet(np.ones(4), (2, 4, 2))
REWARD = RNG.random((4, 2))
from_models = vbmle.LinearMixtureMDP.from_models
OLD = from_models(list(MODELS), REWARD, 0.9)
NEW = from_models(list(MODELS), REWARD[::-1].copy(), 0.8)  # rewards and discount corrected
LOG = vbmle.simulate(vbmle.Random(OLD), vbmle.World(OLD, [0.3, 0.7]), 200)
PATH = (LOG.states, LOG.actions, LOG.next_states)
FIRST = LOG.next_states[(LOG.states == 0) & (LOG.actions == 0)]
GONE = int(np.bincount(FIRST).argmax())  # the successor of (0, 0) that was seen most often


@pytest.mark.parametrize("make", COUNTING_AGENTS)
@pytest.mark.parametrize("forget", [None, 50.0, {"window": 60}], ids=["all", "half-life", "window"])
def test_counts_carry_over_to_a_corrected_model(make: Callable[..., Any], forget: Any, tmp_path: Path):
    """As if all had been observed on the new model."""
    old, fresh = make(OLD, forget=forget), make(NEW, forget=forget)
    old.observe_many(*PATH)
    old.act(0)
    fresh.observe_many(*PATH)
    old.save(tmp_path / "agent.npz")
    found = type(old).load(tmp_path / "agent.npz", NEW, model_changed="recount")
    np.testing.assert_allclose(found.counts.values, fresh.counts.values, atol=1e-12)
    assert (found.counts.total, found.decisions) == (200, 1)
    assert found.mdp is NEW
    assert [found.act(s) for s in range(4)] == [fresh.act(s) for s in range(4)]
    for agent in (found, fresh):
        agent.observe(0, 0, 1)
        agent.observe(1, 1, 2)
    np.testing.assert_allclose(found.counts.values, fresh.counts.values, atol=1e-12)
    found.save(tmp_path / "again.npz")
    assert type(found).load(tmp_path / "again.npz", NEW).counts.total == 202


def test_an_unchanged_model_is_continued_exactly(tmp_path: Path):
    agent = vbmle.PSRL(OLD)
    vbmle.simulate(agent, vbmle.World(OLD, [0.3, 0.7]), 50)
    agent.save(tmp_path / "agent.npz")
    found = vbmle.PSRL.load(tmp_path / "agent.npz", OLD, model_changed="recount")
    for name, array in agent.snapshot().items():
        np.testing.assert_array_equal(found.snapshot()[name], array)


def narrow() -> vbmle.LinearMixtureMDP:
    """The same with one transition that cannot happen any more."""
    models = MODELS.copy()
    models[:, 0, 0, GONE] = 0.0
    models /= models.sum(axis=3, keepdims=True)
    return from_models(list(models), REWARD, 0.9)


def test_what_became_impossible_is_dealt_with_as_the_agent_says(tmp_path: Path):
    times = int((GONE == FIRST).sum())
    assert times > 0
    for rule in ("raise", "skip", "widen"):
        agent = vbmle.VBMLE(OLD, on_impossible=rule)
        agent.observe_many(*PATH)
        agent.save(tmp_path / f"{rule}.npz")
    with pytest.raises(ValueError, match=rf"raise.npz: \(s=0, a=0\) led to {GONE}, which has probability 0"):
        vbmle.VBMLE.load(tmp_path / "raise.npz", narrow(), model_changed="recount")
    skipped = vbmle.VBMLE.load(tmp_path / "skip.npz", narrow(), model_changed="recount")
    assert skipped.counts.skipped == {(0, 0, GONE): times}
    assert skipped.counts.total == 200 - times
    widened = vbmle.VBMLE.load(tmp_path / "widen.npz", narrow(), model_changed="recount")
    assert widened.counts.total == 200
    skipped.save(tmp_path / "back.npz")  # and what is possible again is counted again
    back = vbmle.VBMLE.load(tmp_path / "back.npz", OLD, model_changed="recount")
    assert (back.counts.total, back.counts.skipped) == (200, {})


def test_what_cannot_be_recounted_is_refused_in_one_line(tmp_path: Path):
    vbmle.VBMLE(OLD).save(tmp_path / "agent.npz")
    vbmle.UCLK(OLD).save(tmp_path / "uclk.npz")
    with pytest.raises(ValueError, match="was saved on another model"):
        vbmle.VBMLE.load(tmp_path / "agent.npz", NEW)
    with pytest.raises(ValueError, match="model_changed is 'ignore'; it needs one of 'refuse', 'recount'"):
        vbmle.VBMLE.load(tmp_path / "agent.npz", NEW, model_changed="ignore")
    with pytest.raises(ValueError, match="UCLK learns from more than counts"):
        vbmle.UCLK.load(tmp_path / "uclk.npz", NEW, model_changed="recount")
    other = vbmle.worlds.riverswim(length=6, features="mixture").mdp
    with pytest.raises(ValueError, match=r"cannot be recounted on \(states, actions\) = \(6, 2\)") as told:
        vbmle.VBMLE.load(tmp_path / "agent.npz", other, model_changed="recount")
    assert "\n" not in str(told.value)
