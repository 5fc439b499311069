"""Triggers: when decisions are due; a log at once is the log one by one; a snapshot is where another goes on."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from vbmle import TransitionCounts
from vbmle.agents.triggers import (
    EveryObservation,
    EveryStep,
    InformationGrown,
    LogDeterminantDoubled,
    OrTimeDoubled,
    Trigger,
    VisitsDoubled,
)
from vbmle.worlds import random_network, riverswim

RIVER, NETWORK = riverswim(4), random_network(3, 2, 5)


def test_every_step_is_always_due():
    trigger = EveryStep()
    trigger.decided()
    assert trigger.due()


def test_every_observation_is_due_once_after_each():
    trigger = EveryObservation()
    assert trigger.due()
    trigger.decided()
    assert not trigger.due()
    trigger.seen_many(np.zeros(0, np.int64))
    assert not trigger.due()
    trigger.seen(3)
    assert trigger.due()


def test_episodes_end_when_the_visits_of_a_pair_have_doubled():
    """A pair played without end: episodes start before visits 0, 1, 2, 4, 8, ..."""
    counts, policy, starts = TransitionCounts(RIVER.mdp), np.ones(4, np.int64), []
    trigger = VisitsDoubled(counts, policy)
    for n in range(40):
        if trigger.due(1):
            trigger.decided()
            starts.append(n)
        counts.add(1, 1, 1)
    assert starts == [0, 1, 2, 4, 8, 16, 32]


def test_determinants_ask_when_they_double_or_are_new():
    now = [0.0]
    trigger = LogDeterminantDoubled(lambda: now)
    assert trigger.due()
    trigger.decided()
    now[0] = math.log(2.0)
    trigger.seen(0)
    assert not trigger.due()  # doubled, not more than doubled
    now[0] += 1e-9
    trigger.seen(0)
    assert trigger.due()
    trigger.decided()
    now.append(0.0)
    trigger.seen(0)
    assert trigger.due()


def test_time_doubles_where_nothing_is_learnt():
    counts = TransitionCounts(NETWORK.mdp)

    class Never(Trigger):
        def due(self, state: int = 0) -> bool:
            return False

    trigger, decided = OrTimeDoubled(Never(), counts), []
    for step in range(100):
        logs(counts, 1, step)
        if trigger.due():
            trigger.decided()
            decided.append(counts.total)
    assert decided == [1, 2, 4, 8, 16, 32, 64]


MAKERS: dict[str, Callable[[TransitionCounts], Trigger]] = {
    "every step": lambda counts: EveryStep(),
    "observation": lambda counts: EveryObservation(),
    "information": lambda counts: InformationGrown(counts.mdp, 1.0),
    "information or time": lambda counts: OrTimeDoubled(InformationGrown(counts.mdp, 1.0), counts),
    "visits": lambda counts: VisitsDoubled(counts, np.zeros(counts.mdp.num_states, np.int64)),
}


def logs(counts: TransitionCounts, steps: int, seed: int) -> np.ndarray:
    """Transitions of a random walk over pairs, counted."""
    rng, rows = np.random.default_rng(seed), counts.mdp.transitions
    seen = rng.integers(rows.count, size=steps)
    states, actions = np.divmod(rows.pair_of[seen], counts.mdp.num_actions)
    return counts.add_many(states, actions, rows.successor[seen])


@pytest.mark.parametrize("world", [RIVER, NETWORK], ids=["river", "network"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_log_at_once_is_the_log_one_by_one(make: Callable[[TransitionCounts], Trigger], world):
    tables = [TransitionCounts(world.mdp) for _ in range(2)]
    one, many = (make(table) for table in tables)
    for seed in range(20):
        for transition in logs(tables[0], 7, seed):
            one.seen(int(transition))
        many.seen_many(logs(tables[1], 7, seed))
        first, second = one.snapshot(), many.snapshot()
        assert first.keys() == second.keys()
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])
        assert [one.due(s) for s in range(3)] == [many.due(s) for s in range(3)]
        if seed % 3 == 0:
            one.decided()
            many.decided()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_snapshot_is_where_another_goes_on(make: Callable[[TransitionCounts], Trigger]):
    counts = TransitionCounts(RIVER.mdp)
    one, two = make(counts), make(counts)
    one.seen_many(logs(counts, 30, 0))
    one.decided()
    one.seen_many(logs(counts, 3, 1))
    two.restore({name: array.copy() for name, array in one.snapshot().items()})
    for seed in range(2, 20):
        seen = logs(counts, 2, seed)
        one.seen_many(seen)
        two.seen_many(seen)
        assert [one.due(s) for s in range(4)] == [two.due(s) for s in range(4)]
