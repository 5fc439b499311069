"""What decisions will cost: floors times what was measured, and memory that is counted."""

from collections.abc import Callable

import pytest

import vbmle
from vbmle.agents import cost as module
from vbmle.agents.cost import NEEDS, Cost, cost

MDP = vbmle.worlds.riverswim(length=6).mdp


@pytest.fixture
def a_floor(monkeypatch: pytest.MonkeyPatch) -> float:
    """A machine whose floor takes a hundredth of a second."""
    monkeypatch.setattr(module, "seconds_of", lambda work: 0.01)
    return 0.01


@pytest.mark.parametrize("kind", NEEDS, ids=lambda kind: kind.__name__)
def test_an_estimate_is_floors_times_what_was_measured(kind: type[vbmle.Agent], a_floor: float):
    found = cost(MDP, kind)
    assert (found.agent, found.first, found.step) == (
        kind.__name__,
        NEEDS[kind].first * a_floor,
        NEEDS[kind].step * a_floor,
    )
    assert found == cost(MDP, kind(MDP))  # an agent stands for its class


def test_the_recommended_agent_is_the_default(a_floor: float):
    assert cost(MDP) == cost(MDP, type(vbmle.recommended(MDP)))


def test_the_floor_is_one_plan(monkeypatch: pytest.MonkeyPatch):
    def seconds_of(work: Callable[[], object]) -> float:
        work()
        return 1.0

    monkeypatch.setattr(module, "seconds_of", seconds_of)
    assert cost(MDP, vbmle.PSRL).first == NEEDS[vbmle.PSRL].first


def test_memory_counts_what_is_kept(a_floor: float):
    small, large = (vbmle.worlds.random_network(states, 3, 4).mdp for states in (5, 50))
    for kind in NEEDS:
        kept = 8 * large.transitions.count  # p at least
        assert kept < cost(large, kind).memory < 100 * kept
        assert cost(small, kind).memory < cost(large, kind).memory
    draws = cost(large, vbmle.InformedVBMLE).memory - cost(large, vbmle.VBMLE).memory
    assert draws > 8 * 2 * 32 * (large.num_states + large.dimension) - 8 * 8 * 3 * large.num_states


def test_a_real_machine_takes_time():
    found = cost(MDP, vbmle.VBMLE)
    assert 0.0 < found.step < found.first


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Cost("VBMLE", 2.5, 0.04, 10**6), "about 2.5 s for the first decision, 40 ms a step, 1 MB beyond"),
        (
            Cost("VBMLE", 1e-4, 2e-6, 2 * 10**9),
            "about 1e+02 µs for the first decision, 2 µs a step, 2e+03 MB",
        ),
    ],
)
def test_it_reads_as_a_sentence(found: Cost, told: str):
    assert told in str(found)


def test_an_agent_without_an_estimate_is_refused():
    with pytest.raises(
        ValueError, match="agent is UCRL2, for which there is no estimate; it needs one of VBMLE"
    ):
        cost(MDP, vbmle.UCRL2)
