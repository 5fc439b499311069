"""Transition counts of the core: what is counted, what is taken over, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbmle import TransitionCounts
from vbmle.core.generated import vb_not_counted as refusal
from vbmle.core.model import Counts
from vbmle.worlds import random_network, riverswim

RIVER = riverswim(5).mdp
NETWORK = random_network(4, 2, 3).mdp


def empty(mdp=RIVER) -> Counts:
    return Counts(mdp.core, np.ones(mdp.transitions.count, bool))


def held(counts: Counts) -> tuple[list[float], list[int], int]:
    return counts.values.tolist(), counts.observed[: counts.num_observed].tolist(), counts.total


@given(st.lists(st.tuples(st.integers(0, RIVER.transitions.count - 1), st.integers(1, 5)), max_size=40))
def test_counts_are_sums_and_the_list_has_each_once_in_order(path: list[tuple[int, int]]):
    counts, rows = empty(), RIVER.transitions
    expected, order = np.zeros(rows.count), []
    for i, times in path:
        state, action = divmod(int(rows.pair_of[i]), RIVER.num_actions)
        assert counts.add(state, action, int(rows.successor[i]), times) == i
        order += [i] if expected[i] == 0.0 else []
        expected[i] += times
    assert held(counts) == (expected.tolist(), order, int(expected.sum()))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ((-1, 0, 0, 1), refusal.VB_BAD_STATE),
        ((5, 0, 0, 1), refusal.VB_BAD_STATE),
        ((2**40, 0, 0, 1), refusal.VB_BAD_STATE),
        ((0, -1, 0, 1), refusal.VB_BAD_ACTION),
        ((0, 2, 0, 1), refusal.VB_BAD_ACTION),
        ((0, 0, -1, 1), refusal.VB_BAD_NEXT_STATE),
        ((0, 0, 5, 1), refusal.VB_BAD_NEXT_STATE),
        ((0, 0, 4, 1), refusal.VB_IMPOSSIBLE),
        ((0, 0, 0, 0), refusal.VB_BAD_TIMES),
        ((0, 0, 0, -3), refusal.VB_BAD_TIMES),
        ((0, 0, 0, 2**62), refusal.VB_BAD_TIMES),
    ],
)
def test_what_is_refused_is_not_counted(given: tuple[int, int, int, int], code: int):
    counts = empty()
    counts.add(1, 1, 2)
    before = held(counts)
    assert counts.add(*given) == code
    assert held(counts) == before


def test_a_transition_that_no_theta_allows_is_refused():
    possible = np.ones(NETWORK.transitions.count, bool)
    possible[3] = False
    counts = Counts(NETWORK.core, possible)
    state, action = divmod(int(NETWORK.transitions.pair_of[3]), NETWORK.num_actions)
    assert counts.add(state, action, int(NETWORK.transitions.successor[3])) == refusal.VB_IMPOSSIBLE
    with pytest.raises(ValueError, match="out of range"):
        counts.load(np.eye(len(possible))[3], np.array([3]))


def test_the_total_stays_below_its_limit():
    counts = empty()
    assert counts.add(0, 0, 0, 2**61) >= 0
    assert counts.add(0, 0, 0, 2**61) == refusal.VB_BAD_TIMES
    assert counts.total == 2**61


@given(st.data())
def test_what_was_saved_is_taken_over(data: st.DataObject):
    """Whatever the order; fractions too, whose sums depend on it."""
    size = RIVER.transitions.count
    observed = data.draw(st.lists(st.integers(0, size - 1), unique=True))
    values = np.zeros(size)
    values[observed] = data.draw(
        st.lists(st.floats(1e-3, 1e6), min_size=len(observed), max_size=len(observed))
    )
    counts = empty()
    counts.load(values, np.array(observed, np.int64))
    assert held(counts) == (values.tolist(), observed, int(values.sum()))


def test_counts_go_on_from_what_was_taken_over():
    one, two = empty(), empty()
    for k in range(4):
        one.add(k, 1, k + 1)
    two.load(one.values, one.observed[: one.num_observed].copy())
    for counts in (one, two):
        counts.add(0, 1, 1)
        counts.add(3, 0, 2)
    assert held(one) == held(two)


@pytest.mark.parametrize(
    ("changes", "observed"),
    [
        ({0: -1.0}, [0]),
        ({0: np.nan}, [0]),
        ({0: np.inf}, [0]),
        ({0: 5e18}, [0]),
        ({0: 1.0}, []),
        ({0: 1.0}, [1]),
        ({0: 1.0}, [0, 0]),
        ({0: 1.0}, [0, -1]),
        ({0: 1.0}, [0, 10**6]),
        ({0: 1.0}, [-1]),
        ({0: 1.0, 1: 1.0}, [0, 0]),
        ({0: 1.0, 1: 1.0}, [0]),
        ({}, [0]),
        ({0: 1.0}, list(range(100))),
    ],
)
def test_damaged_counts_are_refused_and_nothing_is_lost(changes: dict[int, float], observed: list[int]):
    counts = empty()
    counts.add(1, 1, 2)
    counts.add(0, 0, 0)
    before, values = held(counts), np.zeros(RIVER.transitions.count)
    values[list(changes)] = list(changes.values())
    with pytest.raises(ValueError, match="out of range"):
        counts.load(values, np.array(observed, np.int64))
    assert held(counts) == before
    counts.load(counts.values, counts.observed[:2].copy())
    assert held(counts) == before


def test_arrays_of_another_length_are_refused():
    with pytest.raises(ValueError, match="possible has shape"):
        Counts(RIVER.core, np.ones(3, bool))
    with pytest.raises(ValueError, match="the core needs"):
        empty().load(np.zeros(3), np.zeros(0, np.int64))


@pytest.mark.parametrize("given", [(2**64, 0, 0), (0, 2**64, 0), (0, 0, 2**64), (-(2**64), 0, 0)])
def test_numbers_of_more_than_64_bits_are_not_cut_off(given: tuple[int, int, int]):
    counts = TransitionCounts(RIVER)
    with pytest.raises(ValueError, match="it needs a whole number from 0 to"):
        counts.add(*given)
    with pytest.raises(ValueError, match="must stay below"):
        counts.add(0, 0, 0, 2**64 + 1)
    assert counts.total == counts.num_observed == 0


def test_counts_are_shown_and_cannot_be_written():
    """A list that the core walks along without looking."""
    counts = TransitionCounts(RIVER)
    counts.add(0, 0, 0)
    for array in (counts.values, counts.observed):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 10**6
