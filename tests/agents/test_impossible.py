"""What happens when something is observed that no theta allows: refused, skipped, or the pair is widened."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_worlds import EXAMPLES

import vbmle
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.widening import WIDE_CHANCE, widened
from vbmle.testing import check_agent
from vbmle.worlds import riverswim

RIVER = riverswim(length=4, features="mixture")
ODD = (0, 0, 3)  # swimming left at the left bank leads to the other bank
LOG = ([0, 0, 0, 1], [0, 0, 1, 1], [0, 3, 1, 2])
AGENTS: list[type[Any]] = [
    vbmle.VBMLE,
    vbmle.ApproximateVBMLE,
    vbmle.MaximumLikelihood,
    vbmle.PSRL,
    vbmle.RBMLE,
    vbmle.UCRL2,
]


OTHERS: list[type[Any]] = [vbmle.UCLK, vbmle.UCLKPlus, vbmle.UPACUCLK, vbmle.QLearning]
"""They refuse or skip: nothing in them could be widened."""


@pytest.mark.parametrize("make", OTHERS)
def test_agents_without_a_likelihood_do_not_widen(make: type[Any]):
    with pytest.raises(ValueError, match="on_impossible is 'widen'; it needs one of 'raise', 'skip'"):
        make(RIVER.mdp, on_impossible="widen")
    with pytest.raises(ValueError, match="impossible"):
        make(RIVER.mdp).observe(*ODD)


@pytest.mark.parametrize("make", [*AGENTS, *OTHERS])
def test_skipping_is_as_if_it_had_not_been(make: type[Any], tmp_path: Path):
    one, other = make(RIVER.mdp, on_impossible="skip"), make(RIVER.mdp)
    for step in ((0, 0, 0), ODD, (0, 1, 1), ODD, (1, 1, 2)):
        one.observe(*step)
        if step != ODD:
            other.observe(*step)
    assert one.counts.skipped == {ODD: 2}
    assert one.counts.total == 3
    assert [one.act(s) for s in range(4)] == [other.act(s) for s in range(4)]
    one.save(tmp_path / "agent.npz")
    assert make.load(tmp_path / "agent.npz", RIVER.mdp).counts.skipped == {ODD: 2}


@pytest.mark.parametrize("make", AGENTS)
def test_widening_counts_it_and_goes_on(make: type[Any], tmp_path: Path):
    agent = make(RIVER.mdp, on_impossible="widen")
    agent.observe(0, 0, 0)
    agent.observe(*ODD)
    agent.observe(0, 1, 1)
    assert agent.counts.total == agent.counts.values.sum() == 3
    assert agent.counts.skipped == {}
    agent.act(1)
    agent.save(tmp_path / "agent.npz")
    again = make.load(tmp_path / "agent.npz", RIVER.mdp)
    for step in ((1, 1, 2), ODD, (2, 1, 3)):
        assert agent.act(step[0]) == again.act(step[0])
        agent.observe(*step)
        again.observe(*step)
    np.testing.assert_array_equal(agent.policy, again.policy)


@pytest.mark.parametrize("how", ["skip", "widen"])
@pytest.mark.parametrize("make", AGENTS)
def test_a_log_at_once_and_step_by_step(make: type[Any], how: str):
    one, many = make(RIVER.mdp, on_impossible=how), make(RIVER.mdp, on_impossible=how)
    for step in zip(*LOG, strict=True):
        one.observe(*step)
    assert many.observe_many(*LOG).tolist() == [1]
    np.testing.assert_array_equal(one.counts.values, many.counts.values)
    assert one.counts.skipped == many.counts.skipped
    assert [one.act(s) for s in range(4)] == [many.act(s) for s in range(4)]


def test_by_default_it_is_refused_and_nothing_is_counted():
    agent = vbmle.VBMLE(RIVER.mdp)
    with pytest.raises(ValueError, match=r"at index 1 \(and 1 more\) has probability 0"):
        agent.observe_many([0, 0, 0], [0, 0, 0], [0, 3, 3])
    assert agent.counts.total == 0
    with pytest.raises(
        ValueError, match="on_impossible is 'ignore'; it needs one of 'raise', 'skip', 'widen'"
    ):
        vbmle.VBMLE(RIVER.mdp, on_impossible="ignore")


@pytest.mark.parametrize(("name", "world"), EXAMPLES.items())
def test_a_widened_model_is_the_mix_that_it_says(name: str, world: vbmle.World):
    mdp = world.mdp
    before = world.mdp.transitions.csr(mdp.transitions.probabilities(world.theta)).toarray()
    wide = widened(mdp, [0, 1])
    after = wide.transitions.csr(wide.transitions.probabilities(world.theta)).toarray()
    expected = before.copy()
    expected[[0, 1]] = (1.0 - WIDE_CHANCE) * before[[0, 1]] + WIDE_CHANCE / mdp.num_states
    np.testing.assert_allclose(after, expected, atol=1e-12)
    assert wide.contains(world.theta)
    check_agent(vbmle.MaximumLikelihood, vbmle.World(wide, world.theta), steps=20)


def test_an_odd_outcome_says_nothing_about_theta():
    """Its probability is the same for all, so the most likely theta stays where it was."""
    wide = widened(RIVER.mdp, [0])
    with_it, without = TransitionCounts(wide), TransitionCounts(wide)
    for counts in (with_it, without):
        counts.add_many([0, 1, 1, 2], [1, 1, 1, 1], [1, 2, 1, 2])
    with_it.add(*ODD)
    theta = vbmle.maximum_likelihood(wide, with_it).theta
    np.testing.assert_allclose(theta, vbmle.maximum_likelihood(wide, without).theta, atol=1e-6)


def test_what_was_skipped_raises_the_alarm():
    agent = vbmle.VBMLE(RIVER.mdp, on_impossible="skip")
    agent.observe(*ODD)
    found = agent.misfit()
    assert found.alarm
    assert found.evidence == np.inf
    pair = found.where[0]
    assert (pair.state, pair.action) == ODD[:2]
    assert dict(zip(pair.successors.tolist(), pair.observed.tolist(), strict=True))[3] == 1.0
    assert pair.expected[pair.successors == 3] == 0.0


class Noting(vbmle.MaximumLikelihood):
    """One with an `observe` of its own, which logged transitions must go through too."""

    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        self.noted = [*getattr(self, "noted", []), (state, action, next_state)]
        super().observe(state, action, next_state, *more, **named)


def test_an_agent_with_an_observe_of_its_own_skips_too():
    agent = Noting(RIVER.mdp, on_impossible="skip")
    assert agent.observe_many(*LOG) is None
    assert agent.noted == list(zip(*LOG, strict=True))
    assert agent.counts.skipped == {ODD: 1}
    assert agent.counts.total == len(LOG[0]) - 1
