"""What decides: worlds measured once, kept, and set beside losses."""

import io
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sweeps import filled

from vbmle import hardness, worlds
from vbmle.experiments import world_measures
from vbmle.experiments.compute import Workers
from vbmle.experiments.progress import Lines
from vbmle.experiments.spec import Choice, Experiment
from vbmle.paper import deciding
from vbmle.report import runs, significance
from vbmle.report.sections import Run

COUNT = 12


def experiment(trials: int = COUNT) -> Experiment:
    network = Choice("random_network", {"states": 3, "actions": 2, "dimension": 2})
    agents = {name: Choice("Random") for name in deciding.AGENTS}
    return Experiment(name="paper", worlds={"(3,2)": network}, agents=agents, trials=trials, horizon=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records, and the measures of their worlds."""
    made = tmp_path_factory.mktemp("decides")
    filled(made, experiment())
    assert world_measures.run(experiment(), made, Workers(1), Lines(io.StringIO()), most={"(3,2)": 100}) == []
    return made


def test_every_world_that_was_drawn_is_measured(folder: Path):
    rows = world_measures.read(folder, experiment().name)
    assert set(rows) == {("(3,2)", trial) for trial in range(COUNT)}
    seed = experiment().all_trials()[0].seeds()["world"]
    first = hardness(worlds.random_network(3, 2, 2, seed=seed))
    assert rows["(3,2)", 0]["diameter"] == first.diameter
    assert rows["(3,2)", 0]["inverse_gaps"] == first.inverse_gaps
    assert set(deciding.MEASURES) <= set(rows["(3,2)", 0])


def test_what_is_measured_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch):
    said = io.StringIO()
    world_measures.run(experiment(), folder, Workers(1), Lines(said), most={"(3,2)": 100})
    assert said.getvalue() == ""
    assert world_measures.read(folder, "another experiment") == {}
    assert world_measures.read(folder / "elsewhere", experiment().name) == {}
    monkeypatch.setattr(world_measures, "code_version", lambda: "other code")
    assert len(world_measures.missing(experiment(), folder, {"(3,2)": 5})) == 5


def test_losses_stand_beside_their_worlds(folder: Path):
    (found,) = deciding.worlds(Run(folder, runs.read(folder)))
    assert found.count == COUNT
    rows = world_measures.read(folder, experiment().name)
    expected = [rows["(3,2)", trial]["least_gap"] for trial in range(COUNT)]
    np.testing.assert_array_equal(found.measures["least_gap"], expected)
    assert list(found.losses) == list(deciding.AGENTS)
    assert len(deciding.rows([found])) == len(deciding.MEASURES) * len(deciding.AGENTS)
    assert f"At (3,2), over {COUNT} worlds, regret is best predicted as follows" in deciding.sentence([found])


def test_the_figure_shows_the_measures_that_the_sentence_names(folder: Path):
    run = Run(folder, runs.read(folder))
    card = deciding.card(run)
    assert card is not None
    assert card.chart is not None
    for panel in card.chart.panels:
        assert panel.x_label in card.answer


def test_nothing_is_said_where_nothing_is_measured(tmp_path: Path):
    filled(tmp_path, experiment())
    assert deciding.worlds(Run(tmp_path, runs.read(tmp_path))) == []
    assert deciding.sentence([]) == ""


def test_the_sentence_says_where_optimists_are_fooled():
    wrong = np.array([1.0] * 6 + [0.0] * 14)
    measures = dict.fromkeys(deciding.MEASURES, np.arange(20.0)) | {"optimistic_loss": wrong}
    lost = np.array([9.0] * 5 + [0.0] * 15)
    found = deciding.Worlds("(3,2)", measures, {"UCLK": lost})
    assert (
        "in 100% of the 5 worlds where UCLK's regret exceeds 1, and in 7% of the others"
        in deciding._fooled(found)
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_rank_correlation_is_spearmans(seed: int):
    rng = np.random.default_rng(seed)
    one, two = rng.integers(6, size=40).astype(float), rng.standard_normal(40)
    found = significance.rank_correlation(one, one + two)
    assert found.value == pytest.approx(stats.spearmanr(one, one + two).statistic, rel=1e-12)
    assert -1.0 < found.low < found.value < found.high < 1.0


def test_a_rank_correlation_covers_the_truth():
    """Of normal pairs with correlation rho it is 6/pi asin(rho/2); 95% intervals miss it in 5% of samples."""
    rho, repeats = 0.6, 400
    truth = 6.0 / np.pi * np.arcsin(rho / 2.0)
    missed = 0
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        one = rng.standard_normal(60)
        found = significance.rank_correlation(
            one, rho * one + np.sqrt(1.0 - rho**2) * rng.standard_normal(60)
        )
        missed += not found.low <= truth <= found.high
    assert stats.binom.ppf(0.001, repeats, 0.05) <= missed <= stats.binom.ppf(0.999, repeats, 0.05)


def test_what_does_not_vary_has_no_correlation():
    assert np.isnan(significance.rank_correlation(np.ones(9), np.arange(9.0)).value)
