"""Has theta changed? The statistic written out, its false alarms, its delay; agents that start anew."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counting_agents import COUNTING_AGENTS
from scipy.stats import binom

import vbmle
from vbmle.estimation import change_point
from vbmle.estimation.change_point import BLOCK, FALSE_ALARM, SPLITS, ChangePoint, fixed_thetas
from vbmle.testing import check_agent
from vbmle.worlds import suppliers

SHOP = suppliers(every=300)
BOTH = vbmle.LinearMixtureMDP.from_models(
    [SHOP.mdp.transition([1.0, 0.0]), SHOP.mdp.transition([0.0, 1.0])],
    SHOP.mdp.pair_reward.reshape(4, 2),
    0.9,
    domain="vertices",
)


def walk(world: vbmle.World, steps: int, seed: int = 0) -> list[int]:
    """The transitions of a uniform player, by index."""
    history = vbmle.simulate(vbmle.Random(world.mdp), world, steps, seed=seed)
    path = zip(history.states, history.actions, history.next_states, strict=True)
    return [world.mdp.transitions.find(int(s), int(a), int(to)) for s, a, to in path]


def written_out(mdp: vbmle.LinearMixtureMDP, path: list[int]) -> float:
    """log E_t from its definition, with the maximum over P by the likelihood's own solver."""
    p = np.array([mdp.transitions.probabilities(theta) for theta in fixed_thetas(mdp)])[:, path]

    def mixture(i: int, j: int) -> float:
        return float(p[:, i:j].prod(axis=1).mean())

    total = 0.0
    for m in range(1, len(path) // BLOCK + 1):
        total += mixture(0, m * BLOCK) * mixture(m * BLOCK, len(path)) / (m * (m + 1))
    counts = vbmle.TransitionCounts(mdp)
    counts.add_found(np.array(path))
    best = vbmle.maximum_likelihood(mdp, counts, ridge=0.0)
    return float(np.log(total) - vbmle.log_likelihood(mdp, counts, best.theta, ridge=0.0))


@pytest.mark.parametrize("mdp", [SHOP.mdp, BOTH], ids=["mix", "candidates"])
def test_the_evidence_is_what_its_definition_says(mdp: vbmle.LinearMixtureMDP):
    path, watch = walk(SHOP, 90), ChangePoint(mdp)
    for t, transition in enumerate(path):
        watch.seen(transition)
        if (t + 1) % 30 == 0:
            assert watch.evidence() == pytest.approx(written_out(mdp, path[: t + 1]), abs=1e-6)


def test_long_runs_keep_few_splits_and_stay_below_the_statistic(monkeypatch: pytest.MonkeyPatch):
    """Splits that are dropped leave a part of the sum: the evidence is lower, never higher."""
    path = walk(vbmle.World(SHOP.mdp, [0.9, 0.1]), 1500)
    all_of_them, few = [], ChangePoint(SHOP.mdp)
    for transition in path:
        few.seen(transition)
    assert len(few._head) <= SPLITS
    monkeypatch.setattr(change_point, "SPLITS", 10_000)
    many = ChangePoint(SHOP.mdp)
    for transition in path:
        many.seen(transition)
        all_of_them.append(many)
    assert len(many._head) == 1500 // BLOCK + 1
    assert few.evidence() <= many.evidence()


def test_false_alarms_are_rarer_than_promised():
    """At most delta, ever: of 60 runs of 300 steps, fewer than the 99.9% quantile of such a coin."""
    runs, alarms = 60, 0
    for seed in range(runs):
        watch = ChangePoint(SHOP.mdp)
        alarms += any([watch.seen(i) for i in walk(vbmle.World(SHOP.mdp, [0.6, 0.4]), 300, seed)])
    assert alarms <= binom.ppf(0.999, runs, FALSE_ALARM)


@pytest.mark.parametrize("make", COUNTING_AGENTS)
def test_a_jump_is_found_and_what_came_before_forgotten(make: Callable[..., Any]):
    agent = make(SHOP.mdp, restart="on-alarm")
    vbmle.simulate(agent, SHOP, 600)
    assert len(agent.restarts) == 1
    assert 300 < agent.restarts[0] <= 400
    assert 600 - 320 <= agent.counts.total <= 600 - 280  # all since the change, within two blocks
    found = vbmle.maximum_likelihood(SHOP.mdp, agent.counts)
    assert found.theta[1] > 0.7


def test_restarts_pay_where_the_mix_jumps_and_cost_nothing_where_it_does_not():
    def regret(world: vbmle.World, **settings: Any) -> np.ndarray:
        return vbmle.simulate(vbmle.VBMLE(world.mdp, **settings), world, 600).regret

    assert regret(SHOP, restart="on-alarm")[-1] < 0.3 * regret(SHOP)[-1]
    calm = vbmle.World(SHOP.mdp, [0.9, 0.1])
    np.testing.assert_array_equal(regret(calm, restart="on-alarm"), regret(calm))


@pytest.mark.parametrize("make", COUNTING_AGENTS)
def test_at_once_is_one_by_one_and_a_file_goes_on(make: Callable[..., Any], tmp_path: Path):
    history = vbmle.simulate(vbmle.Random(SHOP.mdp), SHOP, 700)
    path = (history.states, history.actions, history.next_states)
    one, many = make(SHOP.mdp, restart="on-alarm"), make(SHOP.mdp, restart="on-alarm")
    for s, a, to in zip(*path, strict=True):
        one.observe(int(s), int(a), int(to))
    many.observe_many(*(column[:500] for column in path))
    many.save(tmp_path / "agent.npz")
    again = type(many).load(tmp_path / "agent.npz", SHOP.mdp)
    again.observe_many(*(column[500:] for column in path))
    assert one.restarts == again.restarts != []
    first, second = one.snapshot(), again.snapshot()
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert [one.act(s) for s in range(4)] == [again.act(s) for s in range(4)]


def test_an_agent_that_restarts_keeps_the_contract():
    check_agent(lambda mdp, **extra: vbmle.VBMLE(mdp, restart="on-alarm", **extra), SHOP)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="restart is 'always'; it needs one of 'on-alarm'"):
        vbmle.VBMLE(SHOP.mdp, restart="always")
