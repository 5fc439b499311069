"""Every number on a claim's card, computed again from the records by the standard library; and the paper's spec."""

import math
import statistics
from pathlib import Path

import numpy as np
import pytest

from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment
from vbmle.experiments.spec_file import read
from vbmle.paper import claims, suite
from vbmle.report import runs, tables
from vbmle.report.sections import Run

WORLD = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
FACTS = {"states": 3, "actions": 2, "dimension": 2}
STEPS = 200


def drawn(name: str, worlds: tuple[str, ...], seed: int, trials: int = 24) -> Results:
    """Heavy-tailed regret that grows as a power of t, and everything else that claims are about."""
    agents = {agent: Choice("Random") for agent in ("VBMLE", "UCLK")}
    spec = Experiment(
        name=name,
        worlds=dict.fromkeys(worlds, WORLD),
        agents=agents,
        trials=trials,
        horizon=STEPS,
        reference="VBMLE",
    )
    rng, records = np.random.default_rng(seed), []
    for trial in spec.all_trials():
        grows = (np.arange(1.0, STEPS + 1) / STEPS) ** rng.uniform(0.3, 0.9)
        columns = {"regret": rng.lognormal(0.0, 1.0) * grows, "seconds": rng.lognormal(-7.0, 0.5, size=STEPS)}
        columns |= {"distance": rng.lognormal(size=STEPS), "distance_mean": rng.lognormal(size=STEPS)}
        records.append(Record(trial, columns, FACTS))
    return Results(spec, records, {}, [])


def of(results: Results, agent: str, world: str) -> list[Record]:
    found = [one for one in results.records if (one.trial.agent, one.trial.world) == (agent, world)]
    return sorted(found, key=lambda one: one.trial.index)


def geometric(ours: list[float], theirs: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(b / a) for a, b in zip(ours, theirs, strict=True)))


@pytest.mark.parametrize("seed", range(3))
def test_the_number_of_every_claim_is_that_of_the_records(seed: int):
    paper, distance = drawn("paper", ("(3,2)", "(5,4)"), seed), drawn("distance", ("(3,2)",), seed + 10)
    growth = drawn("growth", ("hypercube",), seed + 20)
    run = Run(Path(), [runs.arranged(one) for one in (paper, distance, growth)])
    told = {verdict.claim: verdict for verdict in claims.verdicts(run)}
    ours, theirs = of(paper, "VBMLE", "(3,2)"), of(paper, "UCLK", "(3,2)")
    lost = [[float(one.columns["regret"][-1]) for one in both] for both in (ours, theirs)]
    took = [[statistics.fmean(one.columns["seconds"].tolist()) for one in both] for both in (ours, theirs)]
    far = [
        [float(one.columns["distance"][-1]) for one in of(distance, who, "(3,2)")]
        for who in ("VBMLE", "UCLK")
    ]
    means = [
        statistics.fmean(float(one.columns["regret"][step - 1]) for one in of(growth, "VBMLE", "hypercube"))
        for step in (STEPS // 10, STEPS)
    ]
    again = {
        "regret": statistics.fmean(lost[1]) - statistics.fmean(lost[0]),
        "spread": statistics.stdev(lost[1]) / statistics.stdev(lost[0]),
        "time": geometric(*took),
        "distance": geometric(*far),
        "growth": math.log10(means[1] / means[0]),
    }
    assert set(told) == set(again)
    for claim, value in again.items():
        number = told[claim].number
        assert told[claim].estimate.value == pytest.approx(value, rel=1e-9), claim
        assert number is not None
        assert number.shown.strip(claims.TIMES) == tables.text(value), claim
        assert number.interval == tables.ends(told[claim].estimate)
        assert "(3,2)" in number.about or "hypercube" in number.about


def test_the_example_is_the_paper_s_experiment():
    spec = read(Path(__file__).parents[2] / "examples" / "paper.toml")
    (ours, *_) = suite.experiments()
    assert spec.worlds == ours.worlds
    assert spec.agents == {label: ours.agents[label] for label in ("VBMLE", "approximated VBMLE", "UCLK")}
    assert (spec.trials, spec.horizon, spec.reference) == (20, 500, "VBMLE")
