"""Verdicts against numbers that were put into the records, and the ratios and exponents behind them."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from vbmle.common import statistics
from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment, Recording, Trial
from vbmle.experiments.stopping import Stopping
from vbmle.paper import claims, spreads
from vbmle.paper.claims import DistanceRow, GrowthRow, RatioRow, Verdict, lines, write
from vbmle.report import runs, significance
from vbmle.report.sections import Run
from vbmle.report.significance import Difference

NETWORK = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
FACTS = {"states": 3, "actions": 2, "dimension": 2}
Loss = Callable[[Trial], float]


def results(experiment: Experiment, columns: Callable[[Trial], dict[str, np.ndarray]]) -> Results:
    records = [Record(trial, columns(trial), FACTS) for trial in experiment.all_trials()]
    return Results(experiment, records, {}, [])


def paper(lost: dict[str, Loss], trials: int = 40, seconds: dict[str, float] | None = None) -> Results:
    """Both sizes, with these losses and seconds per step by agent."""
    spent = seconds or {}

    def columns(trial: Trial) -> dict[str, np.ndarray]:
        shape = np.linspace(0.0, 1.0, len(trial.steps))
        wobble = 1.0 + 0.01 * math.sin(trial.index)
        took = np.full(len(shape), spent.get(trial.agent, 1e-3) * wobble)
        return {"regret": lost[trial.agent](trial) * shape, "seconds": took}

    worlds = {"(3,2)": NETWORK, "(5,4)": NETWORK}
    agents = {agent: Choice("Random") for agent in lost}
    looks: dict[str, tuple[int, ...]] = dict.fromkeys(worlds, (trials // 2, trials))
    stop = Stopping("VBMLE", tuple(agent for agent in lost if agent != "VBMLE"), looks)
    return results(
        Experiment(name="paper", worlds=worlds, agents=agents, trials=trials, horizon=10, stop=stop), columns
    )


def draw(mean: float, spread: float) -> Loss:
    return lambda trial: mean + spread * math.sin(7.0 * trial.index + 1.0)


def by_claim(*given: Results) -> dict[str, Verdict]:
    return {verdict.claim: verdict for verdict in claims.verdicts(run_of(*given))}


def run_of(*given: Results) -> Run:
    return Run(Path(), [runs.arranged(found) for found in given])


def test_an_agent_that_loses_less_is_said_to_with_the_numbers_of_the_records():
    found = by_claim(paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(9.0, 6.0)}))["regret"]
    gap = np.mean([draw(9.0, 6.0)(t) - draw(2.0, 0.5)(t) for t in _trials(40)])
    assert found.outcome == "holds"
    assert found.estimate.value == pytest.approx(gap, rel=1e-12)
    assert 0.0 < found.estimate.low < gap < found.estimate.high
    assert found.worlds == 80
    assert f"{gap:.2f} at (3,2) (40 worlds) and" in found.sentence


def _trials(count: int) -> list[Trial]:
    return [Trial("", "", "", index, NETWORK, NETWORK, 10) for index in range(count)]


def test_an_agent_that_loses_more_is_said_to():
    found = by_claim(paper({"VBMLE": draw(9.0, 6.0), "UCLK": draw(2.0, 0.5)}))["regret"]
    assert found.outcome == "does not hold"
    assert found.estimate.high < 0.0


def test_what_cannot_be_told_is_open():
    same = {"VBMLE": draw(2.0, 1.0), "UCLK": lambda trial: draw(2.0, 1.0)(_trials(90)[trial.index + 13])}
    found = by_claim(paper(same))["regret"]
    assert found.outcome == "undecided"
    assert {getattr(row, "outcome", "") for row in found.rows} == {"undecided"}


def test_few_worlds_decide_nothing_however_clear_they_are():
    found = by_claim(paper({"VBMLE": draw(2.0, 0.01), "UCLK": draw(90.0, 0.5)}, trials=12))
    assert {verdict.outcome for verdict in found.values()} == {"undecided"}


def test_the_spread_is_a_ratio_of_standard_deviations():
    found = by_claim(paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(20.0, 6.0)}))["spread"]
    assert found.estimate.value == pytest.approx(12.0, rel=1e-12)
    assert found.estimate.low <= 12.0 + 1e-9 <= found.estimate.high + 1e-6
    assert found.outcome == "holds"
    assert "ten times is shown at (3,2) and (5,4)" in found.sentence
    assert [row.uclk_printed for row in found.rows if isinstance(row, RatioRow)] == ["79.289", "23.982"]


def test_less_spread_is_not_yet_an_order_of_magnitude_less():
    found = by_claim(paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(20.0, 2.0)}))["spread"]
    assert found.outcome == "does not hold"
    assert "It is larger in every world; ten times is ruled out at (3,2) and (5,4)" in found.sentence


@pytest.mark.parametrize(
    ("seconds", "outcome"),
    [({"VBMLE": 1e-3, "UCLK": 5e-3}, "holds"), ({"VBMLE": 5e-3, "UCLK": 1e-3}, "does not hold")],
)
def test_time_is_the_ratio_of_seconds_in_the_same_worlds(seconds: dict[str, float], outcome: str):
    found = by_claim(paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(9.0, 6.0)}, seconds=seconds))["time"]
    assert found.estimate.value == pytest.approx(seconds["UCLK"] / seconds["VBMLE"], rel=1e-12)
    assert found.outcome == outcome
    for row in found.rows:
        assert isinstance(row, RatioRow)
        assert row.uclk / row.vbmle == pytest.approx(row.ratio.value, rel=1e-12), (
            "the ratio is that of its columns"
        )


def gaps(results: Results) -> dict[tuple[str, str], Difference]:
    """By world and rival, each minus VBMLE."""
    found = {}
    for world in runs.by_world(results):
        for rival in world.agents:
            gap = significance.difference(world, rival, "VBMLE")
            if rival != "VBMLE" and gap is not None:
                found[world.label, rival] = gap
    return found


def test_a_comparison_stands_as_at_the_last_look_there_are_trials_for():
    """Of 40 planned, 25 are there: the first look, after 20, is the last one that is complete."""
    made = paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(9.0, 6.0)})
    part = [record for record in made.records if record.trial.index < 25]
    assert gaps(Results(made.experiment, part, {}, []))["(3,2)", "UCLK"].trials == 20


def test_without_a_rule_all_trials_are_one_look():
    made = paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(9.0, 6.0), "PSRL": draw(3.0, 0.1)})
    plain = msgspec.structs.replace(made.experiment, stop=None)
    found = gaps(Results(plain, made.records, {}, []))
    assert {key: gap.trials for key, gap in found.items()} == {
        (world, rival): 40 for world in ("(3,2)", "(5,4)") for rival in ("UCLK", "PSRL")
    }


def far(trials: int = 30) -> Results:
    def columns(trial: Trial) -> dict[str, np.ndarray]:
        size = np.exp(0.3 * math.sin(trial.index)) * np.ones(len(trial.steps))
        uclk = trial.agent == "UCLK"
        found = {"regret": size, "seconds": size, "distance": size * (3.0 if uclk else 1.0)}
        return found | ({"distance_mean": 7.0 * size} if uclk else {})

    agents = {"VBMLE": Choice("Random"), "UCLK": Choice("Random")}
    record = Recording(steps="log", distance=True)
    worlds = {"(3,2)": NETWORK}
    return results(
        Experiment(name="distance", worlds=worlds, agents=agents, trials=trials, horizon=50, record=record),
        columns,
    )


def test_distance_is_that_of_the_nearest_and_of_the_mean():
    found = by_claim(far())["distance"]
    assert found.estimate.value == pytest.approx(3.0, rel=1e-12)
    ratios = [row.ratio.value for row in found.rows if isinstance(row, DistanceRow)]
    assert ratios == pytest.approx([3.0, 7.0], rel=1e-12)
    assert (found.outcome, found.worlds) == ("holds", 30)


def growing(power: float, dimension_power: float) -> list[Results]:
    def columns(trial: Trial) -> dict[str, np.ndarray]:
        size = float(trial.world_choice.settings.get("dimension", 1)) ** dimension_power
        luck = 1.0 + 0.1 * math.sin(trial.index)
        return {"regret": luck * size * trial.steps**power, "seconds": np.ones(len(trial.steps))}

    agents, record = {"VBMLE (doubling)": Choice("VBMLE")}, Recording(steps="log")
    cubes = {f"hypercube, d = {d}": Choice("hypercube", {"dimension": d}) for d in (2, 4, 8)}
    return [
        results(
            Experiment(
                name=name,
                worlds=worlds,
                agents=agents,
                trials=25,
                horizon=1000,
                record=record,
                reference="VBMLE (doubling)",
            ),
            columns,
        )
        for name, worlds in (
            ("growth", {"hypercube": cubes["hypercube, d = 4"]}),
            ("growth-dimension", cubes),
        )
    ]


@pytest.mark.parametrize(
    ("power", "in_dimension", "outcome"),
    [(0.4, 0.9, "holds"), (0.8, 0.9, "undecided"), (0.4, 1.3, "undecided")],
)
def test_growth_gives_back_the_exponents_that_were_put_in(power: float, in_dimension: float, outcome: str):
    found = by_claim(*growing(power, in_dimension))["growth"]
    assert found.estimate.value == pytest.approx(power, rel=1e-9)
    assert found.outcome == outcome
    rows = [row for row in found.rows if isinstance(row, GrowthRow)]
    (in_d,) = (row for row in rows if row.grows_in == "d")
    assert in_d.exponent.value == pytest.approx(in_dimension, rel=1e-9)
    assert (in_d.start, in_d.end) == (2, 8)
    assert [(row.start, row.end) for row in rows if row.grows_in == "T"] == [(100, 1000), (10, 100)]
    assert len(found.lines) == 2, "the figure has the last tenfold of steps alone, and the exponent of d"


def test_verdicts_are_kept_and_read_back(tmp_path: Path):
    found = claims.verdicts(run_of(paper({"VBMLE": draw(2.0, 0.5), "UCLK": draw(9.0, 6.0)}), far()))
    assert [verdict.claim for verdict in found] == ["regret", "spread", "time", "distance"]
    path = write(tmp_path, found, "It rains.")
    told = lines(tmp_path)
    assert told[0] == f"{found[0].title}: {found[0].outcome}. {found[0].sentence}"
    assert told[-1] == "What decides: It rains."
    assert len(told) == len(found) + 1
    assert "NaN" not in path.read_text()
    kept = json.loads(path.read_text())
    assert kept["format"] == "vbmle-verdicts-2"
    first = kept["verdicts"][0]
    assert (first["estimate"], first["low"]) == (found[0].estimate.value, found[0].estimate.low)
    assert first["details"][0]["difference_low"] == found[0].estimate.low
    assert lines(tmp_path / "elsewhere") == []


def test_other_experiments_have_no_verdicts():
    assert claims.verdicts(run_of()) == []


# Ratios


def test_nothing_lost_has_no_spread_to_divide_by():
    assert math.isnan(significance.spread(np.arange(10.0), np.zeros(10)).value)


def test_a_geometric_mean_is_that_of_the_ratios():
    ours, theirs = np.array([1.0, 2.0, 4.0]), np.array([2.0, 8.0, 2.0])
    assert significance.times(theirs, ours).value == pytest.approx((2.0 * 4.0 * 0.5) ** (1 / 3), rel=1e-12)


def test_the_spread_of_few_is_that_of_draws_of_twenty():
    """For a normal population s^2 * 19 / sigma^2 is chi-squared with 19 degrees; 4% is four standard errors."""
    from scipy import stats

    population = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    low, high = spreads.spread_of_few(population)
    expected = np.sqrt(stats.chi2.ppf([0.025, 0.975], 19) / 19)
    assert [low, high] == pytest.approx(expected, rel=0.04)


def test_a_curve_that_starts_later_has_no_local_exponent():
    steps = np.arange(1, 101)
    late = np.where(steps > 50, steps - 50.0, 0.0)[None].repeat(5, axis=0)
    assert math.isnan(statistics.local_exponent(steps, late, 100).value)
