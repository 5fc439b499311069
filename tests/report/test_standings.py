"""The standings of the league: ratios by hand, the floor, the order, and intervals that know worlds from luck."""

import math

import numpy as np
import pytest

from vbmle.experiments.behind import FLOOR
from vbmle.report.runs import Runs, WorldRuns
from vbmle.report.standings import standings


def world(label: str, **finals: list[float]) -> WorldRuns:
    """A world of one recorded step, with these final regrets by agent."""
    agents = {
        agent: Runs(np.arange(len(losses)), np.array([10]), {"regret": np.array(losses)[:, None]})
        for agent, losses in finals.items()
    }
    return WorldRuns("league", label, {"states": 2, "actions": 2, "dimension": 1}, 2, 10, agents)


def test_ratios_and_means_by_hand():
    found = standings(
        [
            world("one", good=[1.0, 3.0], bad=[8.0, 8.0], random=[100.0, 100.0]),
            world("two", good=[10.0, 10.0], bad=[5.0, 5.0], random=[50.0, 50.0]),
        ],
        measure="random",
        recommended="good",
    )
    assert [line.agent for line in found.lines] == ["good", "bad"]
    good, bad = found.lines
    assert good.ratios.tolist() == [1.0, 2.0]
    assert bad.ratios.tolist() == [4.0, 1.0]
    assert good.geometric_mean.value == pytest.approx(math.sqrt(2.0))
    assert bad.geometric_mean.value == pytest.approx(2.0)
    assert (good.worst.value, bad.worst.value) == (2.0, 4.0)
    assert (good.near.value, bad.near.value) == (0.5, 0.5)
    assert good.against.value == 1.0
    assert bad.against.value == pytest.approx(2.0 / math.sqrt(2.0))


def test_regrets_below_the_floor_are_equally_good():
    floor = FLOOR * 1000.0
    found = standings(
        [world("easy", none=[0.0], little=[0.5 * floor], some=[3.0 * floor], random=[1000.0])],
        measure="random",
        recommended="none",
    )
    assert {line.agent: line.ratios[0] for line in found.lines} == pytest.approx(
        {"none": 1.0, "little": 1.0, "some": 3.0}
    )


def test_only_trials_that_all_have_finished_count():
    one = world("one", a=[1.0, 1.0], b=[2.0, 2.0, 50.0], random=[9.0, 9.0, 9.0])
    found = standings([one], measure="random", recommended="a")
    assert found.trials == [2]
    assert found.lines[1].ratios.tolist() == [2.0]


def test_the_random_policy_may_have_fewer():
    one = world("one", a=[1.0, 3.0], b=[2.0, 2.0], random=[500.0])
    found = standings([one], measure="random", recommended="a")
    assert found.trials == [2]
    assert {line.agent: line.ratios.tolist() for line in found.lines} == {"a": [1.0], "b": [1.0]}


def test_the_ratio_in_each_world_has_an_interval_over_trials_alone():
    luck = np.random.default_rng(1).exponential(size=40)
    worlds = [
        world("sure", a=list(luck), b=list(3.0 * luck), random=[90.0]),
        world("open", a=list(luck), b=list(luck[::-1]), random=[90.0]),
    ]
    _, b = standings(worlds, measure="random", recommended="a").lines
    sure = b.behind[0]
    assert (sure.value, sure.low, sure.high) == pytest.approx((3.0, 3.0, 3.0))
    assert b.behind[1].low == 1.0 < b.behind[1].high


def test_intervals_hold_the_estimate_and_vanish_without_chance():
    same = [world(name, a=[1.0] * 6, b=[2.0] * 6, random=[9.0] * 6) for name in "123456"]
    sure = standings(same, measure="random", recommended="a").lines[1]
    assert (sure.geometric_mean.low, sure.geometric_mean.high) == pytest.approx((2.0, 2.0))
    mixed = [*same, world("other", a=[6.0, 1.0] * 3, b=[2.0, 1.0] * 3, random=[9.0, 9.0] * 3)]
    for line in standings(mixed, measure="random", recommended="a").lines:
        for found in (line.geometric_mean, line.worst, line.near, line.against):
            assert found.low <= found.value <= found.high


def test_a_constant_factor_on_all_regrets_of_a_world_changes_nothing():
    losses = {"a": [1.0, 4.0], "b": [3.0, 2.0], "random": [40.0, 60.0]}
    plain = standings([world("w", **losses)], measure="random", recommended="a")
    dear = standings(
        [world("w", **{k: [1024.0 * x for x in v] for k, v in losses.items()})],
        measure="random",
        recommended="a",
    )
    for one, two in zip(plain.lines, dear.lines, strict=True):
        assert one.ratios.tolist() == two.ratios.tolist()
        assert one.geometric_mean.value == two.geometric_mean.value


def test_few_worlds_have_no_interval():
    """Nor have few trials of one world."""
    few = [world(name, a=[1.0] * 5, b=[2.0] * 5, random=[9.0] * 5) for name in "12345"]
    for line in standings(few, measure="random", recommended="a").lines:
        assert not any(found.known for found in (line.geometric_mean, line.worst, line.near, line.against))
        assert not any(found.known for found in line.behind)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no world with records of 'random'"):
        standings([world("one", a=[1.0])], measure="random", recommended="a")
