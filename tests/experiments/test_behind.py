"""How far behind the best an agent is: ratios by hand, when that is known, and that a run stops when it is."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from sweeps import go

from vbmle.experiments import InputError
from vbmle.experiments.behind import FAR, FLOOR, NEAR, Behind, behind, ratios
from vbmle.experiments.records import load
from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.stopping import Stopping


def test_ratios_by_hand():
    assert ratios(np.array([3.0, 2.0, 8.0]), 100.0).tolist() == [1.5, 1.0, 4.0]
    floor = FLOOR * 1000.0
    assert ratios(np.array([0.0, 0.5 * floor, 3.0 * floor]), 1000.0) == pytest.approx([1.0, 1.0, 3.0])
    assert ratios(np.zeros(2), 0.0).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("ends", "known"),
    [
        *(((1.0, 1.2), True), ((1.0, NEAR), True), ((1.3, 1.9), True), ((2.1, 9.0), True)),
        *(((1.0, 1.3), False), ((1.1, 2.5), False), ((1.5, 2.5), False)),
        *(((1.2, 1.3), True), ((1.95, 2.05), True)),  # short
    ],
)
def test_what_is_known_well_enough(ends: tuple[float, float], known: bool):
    assert (NEAR, FAR) == (1.25, 2.0)
    assert Behind("ours", sum(ends) / 2.0, *ends).known is known


def test_without_chance_the_interval_is_a_point():
    found = behind("b", {"a": np.full(4, 2.0), "b": np.full(4, 3.0)}, np.full(2, 10.0))
    assert found == pytest.approx(("b", 1.5, 1.5, 1.5))


def test_the_interval_covers_the_ratio_of_the_true_means():
    """In at least 180 of 200 runs of 32 trials; the ratio is 3, far enough from 1 for the best to be known."""
    rng, held = np.random.default_rng(5), 0
    for _ in range(200):
        found = behind("b", {"a": rng.exponential(1.0, 32), "b": rng.exponential(3.0, 32)}, np.array([50.0]))
        assert found is not None
        assert found.low <= found.value <= found.high
        held += found.low <= 3.0 <= found.high
    assert 180 <= held < 200


def test_trials_are_paired_and_failed_ones_left_out():
    luck = np.random.default_rng(6).exponential(size=32)
    same = behind("b", {"a": luck, "b": 2.0 * luck}, np.array([50.0]))
    assert same == pytest.approx(("b", 2.0, 2.0, 2.0)), "the same luck for both tells nothing about the ratio"
    lame = luck.copy()
    lame[3] = np.nan
    assert behind("b", {"a": luck, "b": 2.0 * lame}, np.array([50.0])) == pytest.approx(("b", 2.0, 2.0, 2.0))
    assert behind("b", {"a": luck[:1], "b": luck[:1]}, np.array([50.0])) is None


def league(looks: tuple[int, ...], measure: str = "random") -> Experiment:
    """The oracle loses nothing in a river, and maximum likelihood surely more."""
    agents = {"ours": Choice("Oracle"), "likely": Choice("MaximumLikelihood"), "random": Choice("Random")}
    return Experiment(
        name="small",
        worlds={"river": Choice("riverswim", {"length": 4})},
        agents=agents,
        trials=looks[-1],
        horizon=40,
        stop=Stopping("ours", ("likely",), {"river": looks}, beside=3, measure=measure),
    )


def test_a_run_stops_when_the_ratio_is_known(tmp_path: Path):
    for _ in range(2):  # and comes to the same decision when it goes on
        go(league((4, 8, 16)), tmp_path)
        (found,) = load(tmp_path)
        trials = sorted((record.trial.agent, record.trial.index) for record in found.records)
        expected = [
            *itertools.product(["likely", "ours"], range(4)),
            *itertools.product(["random"], range(3)),
        ]
        assert trials == expected


def test_a_measure_that_does_not_run_is_refused():
    with pytest.raises(InputError, match="stop compares 'nobody', which is not one of its agents"):
        league((4, 8), measure="nobody")
