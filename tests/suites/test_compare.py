"""All agents compared: what is tuned, on which seeds, and what is said of records whose truth is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sweeps import fake, keep

from vbmle.common.statistics import Interval, alone
from vbmle.experiments import catalogue
from vbmle.experiments.spec import Experiment
from vbmle.report import runs
from vbmle.report.sections import Run
from vbmle.report.significance import Difference
from vbmle.suites import compare
from vbmle.suites import compare_page as report
from vbmle.suites.compare import AGENTS, FULL, SUFFIX, WORLDS, Size

TINY = Size(trials=6, tuning=2, shorter=50)  # luck is shared: differences are the same in every trial


def filled(folder: Path, experiments: list[Experiment], final: dict[str, float]) -> None:
    """Records whose last regret is what `final` says by agent label (1 where it says nothing), plus shared luck."""
    for experiment in experiments:
        records = []
        for trial in experiment.all_trials():
            luck = np.random.default_rng([trial.chance % 2**32]).normal()
            end = final.get(trial.agent, 1.0) + 0.1 * luck
            record = fake(trial)
            columns = record.columns | {"regret": np.linspace(0.0, end, len(record.columns["regret"]))}
            records.append(replace(record, columns=columns))
        keep(folder, experiment, records)


def test_every_agent_is_compared():
    assert {name for name, _ in AGENTS.values()} == set(catalogue.general())


def test_tuning_and_comparison_share_no_seed():
    chosen = {label: {"VBMLE": 0.1} for _, worlds in WORLDS.values() for label in worlds}
    seeds = [
        {
            (trial.chance, *trial.seeds().values())
            for experiment in experiments
            for trial in experiment.all_trials()
        }
        for experiments in (compare.tuning(FULL), compare.comparison(chosen, FULL))
    ]
    assert not seeds[0] & seeds[1]


def test_all_agents_meet_the_same_world_with_the_same_luck():
    for experiment in compare.comparison({}, FULL):
        for index in (0, FULL.trials - 1):
            trials = [trial for trial in experiment.all_trials() if trial.index == index]
            assert len({trial.chance for trial in trials}) == 1
            assert len(trials) == len(AGENTS)
        assert experiment.trials == 20


def test_the_value_of_the_least_mean_is_chosen_and_ties_go_to_the_default(tmp_path: Path):
    filled(tmp_path, compare.tuning(TINY), {"VBMLE, bias_scale = 0.03": 0.5, "UCLK, radius_scale = 0.3": 0.2})
    chosen = compare.choose(tmp_path)
    assert set(chosen) == {label for _, worlds in WORLDS.values() for label in worlds}
    for world in chosen.values():
        assert world["VBMLE"] == 0.03
        assert world["UCLK"] == 0.3
        assert world["UCRL2"] == 1.0  # all values tie, trial by trial
        assert world["PSRL"] == "doubling"


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (Interval(2.0, 1.0, 3.0), "wins"),
        (Interval(-2.0, -3.0, -1.0), "loses"),
        (Interval(2.0, -0.5, 4.0), "ties"),
        (Interval(0.0, 0.0, 0.0), "ties"),
        (alone(2.0), "too few trials"),
    ],
)
def test_verdicts(found: Interval, word: str):
    """By the other's regret minus VBMLE's."""
    assert report.verdict(Difference("other", "VBMLE", 9, found, 3.0, 1.0)) == word
    assert report.verdict(None) == ""


def test_what_is_said_of_known_records(tmp_path: Path):
    """VBMLE loses 1; maximum likelihood half of that, UCLK ten times, UCLK tuned a tenth; all others the same."""
    filled(tmp_path / "tuning", compare.tuning(TINY), {"UCLK, radius_scale = 0.01": 0.0})
    chosen = compare.choose(tmp_path / "tuning")
    final = {"maximum likelihood": 0.5, "UCLK": 10.0, "UCLK" + SUFFIX: 0.1}
    filled(tmp_path, compare.comparison(chosen, TINY), final)
    page = report.write(tmp_path, chosen).read_text()
    assert page.count("with default settings, VBMLE wins against UCLK; ties with") == 6
    assert page.count("loses to maximum likelihood\n") == 6
    assert page.count("tuned, VBMLE ties with") == 6
    assert page.count("; loses to UCLK\n") == 6
    assert page.count("radius_scale = 0.01") == 6
    for _, worlds in WORLDS.values():
        for label in worlds:
            assert f"**{label}**" in page
    part = runs.read(tmp_path)[0]
    (card,) = report.cards(Run(tmp_path, [part]))
    drawn = card.chart
    assert drawn is not None
    assert card.answer == "Tuning helps VBMLE significantly in 0 of 1 world."
    rows = {(line.agent, line.faint): float(line.x[0]) for line in drawn.panels[0].series}
    untuned, tuned = (part.worlds[0].agents[label].final.mean() for label in ("UCLK", "UCLK" + SUFFIX))
    assert (rows["UCLK", True], rows["UCLK", False]) == (untuned, tuned)
    assert drawn.panels[0].series[0].agent == "UCLK"  # tuned, it lost least
    table = (tmp_path / "tables" / "comparison.csv").read_text().splitlines()
    assert len(table) == 1 + 6 * len(AGENTS)
