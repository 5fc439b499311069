"""Which open choices match the paper's spread: against losses whose spread is known."""

import numpy as np
import pytest
from scipy import stats

from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment
from vbmle.paper.spreads import card, rows, sentence, split
from vbmle.report import runs
from vbmle.report.runs import WorldRuns

NETWORK = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
TRIALS = 60
# The printed ones, and what the records are given at each choice.
PRINTED = {
    ("(3,2)", "VBMLE"): 1.874,
    ("(3,2)", "UCLK"): 79.289,
    ("(5,4)", "VBMLE"): 1.830,
    ("(5,4)", "UCLK"): 23.982,
}
SCALES = {"same": {"VBMLE": 1.0, "UCLK": 1.0}, "wide": {"VBMLE": 9.0, "UCLK": 1.0}}


def made(fewer: int = TRIALS) -> list[WorldRuns]:
    """Normal quantiles with the printed spread, times a factor; a second UCLK is far too narrow everywhere."""
    worlds = {f"{size}, {choice}": NETWORK for size in ("(3,2)", "(5,4)") for choice in SCALES}
    agents = {"VBMLE": Choice("VBMLE"), "UCLK": Choice("UCLK"), "UCLK (0.01 radius)": Choice("UCLK")}
    experiment = Experiment(name="choices", worlds=worlds, agents=agents, trials=TRIALS, horizon=1)
    records = []
    for trial in experiment.all_trials():
        size, choice = split(trial.world)
        agent = trial.agent.split(" (")[0]
        factor = 0.01 if "radius" in trial.agent else SCALES[choice][agent]
        lost = factor * PRINTED[size, agent] * stats.norm.ppf((trial.index + 0.5) / TRIALS)
        records.append(
            Record(trial, {"regret": np.array([lost])}, {"states": 3, "actions": 2, "dimension": 2})
        )
    kept = [record for record in records if record.trial.index < fewer]
    return runs.by_world(Results(experiment, kept, {}, []))


def test_what_has_the_printed_spread_is_matched_and_what_has_not_is_not():
    found = {(row.world, row.choice, row.agent): row.matched for row in rows(made())}
    for size in ("(3,2)", "(5,4)"):
        assert found[size, "same", "VBMLE"] is True
        assert found[size, "same", "UCLK"] is True
        assert found[size, "wide", "VBMLE"] is False
        assert found[size, "same", "UCLK (0.01 radius)"] is False


def test_a_choice_must_match_both_agents():
    found = rows(made())
    assert (
        sentence(found) == "The printed spreads of VBMLE and UCLK are matched under same; never under wide."
    )
    half = [row for row in found if (row.world, row.choice, row.agent) != ("(5,4)", "same", "UCLK")]
    assert "matched at one size only under same (at (3,2))" in sentence(half)


def test_fewer_trials_than_the_papers_say_nothing():
    assert rows(made(fewer=19)) == []
    assert sentence([]) == ""
    assert card([]) is None


@pytest.mark.parametrize("label", ["(3,2), d = 2", "(5,4), one world (seed 0)"])
def test_labels_are_size_and_choice(label: str):
    assert ", ".join(split(label)) == label
