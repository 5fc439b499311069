"""What is recorded: the steps, means between them, and the estimate's error against an obvious slow version."""

from pathlib import Path

import numpy as np
import pytest
from sweeps import NETWORK, PLAIN, go, small

import vbmle
from vbmle.experiments import measures
from vbmle.experiments.spec import Choice, Recording
from vbmle.experiments.store import Store, load
from vbmle.report import world_runs


@pytest.mark.parametrize("horizon", [1, 2, 10, 99, 2500])
def test_log_spaced_steps_go_from_the_first_to_the_last(horizon: int):
    steps = measures.log_spaced(horizon)
    assert (steps[0], steps[-1]) == (1, horizon)
    assert (np.diff(steps) > 0).all()
    assert len(steps) <= min(horizon, measures.PER_DECADE * np.log10(horizon) + 2)
    np.testing.assert_array_equal(steps[steps <= 20], np.arange(1, min(horizon, 20) + 1))  # early ones: all
    # a longer run has the rows of a shorter one, but for its last
    assert set(steps[:-1]) <= set(measures.log_spaced(10 * horizon))


def test_means_between_rows_give_the_mean_of_all():
    values = np.random.default_rng(0).random(1000)
    steps = measures.log_spaced(1000)
    means = measures.mean_between(values, steps)
    np.testing.assert_allclose(
        np.average(means, weights=np.diff(steps, prepend=0)), values.mean(), rtol=1e-12
    )
    np.testing.assert_array_equal(measures.mean_between(values, measures.every_step(1000)), values)
    np.testing.assert_allclose(measures.mean_between(np.array([1.0, 2.0, 6.0]), np.array([1, 3])), [1.0, 4.0])


@pytest.mark.parametrize("world", [vbmle.worlds.random_network(3, 2, 4, seed=3), vbmle.worlds.riverswim(4)])
def test_the_estimates_error_is_the_definitions(world: vbmle.World):
    """A_t written out as a matrix, theta_MLE solved afresh, from the transitions before step t."""
    mdp, horizon = world.mdp, 60
    history = vbmle.simulate(vbmle.MaximumLikelihood(mdp), world, horizon, seed=1)
    steps = np.array([1, 2, 17, 60])
    errors = measures.mle_error(world, history, steps)
    phi = np.asarray(
        mdp.transitions.phi.todense() if hasattr(mdp.transitions.phi, "todense") else mdp.transitions.phi
    )
    for row, step in enumerate(steps):
        counts, information = vbmle.TransitionCounts(mdp), np.eye(mdp.dimension)
        for t in range(step - 1):
            seen = counts.add(int(history.states[t]), int(history.actions[t]), int(history.next_states[t]))
            information += np.outer(phi[seen], phi[seen])
        off = world.theta - vbmle.maximum_likelihood(mdp, counts, ridge=1.0).theta
        assert errors[row] == pytest.approx(off @ information @ off, abs=1e-6)


def test_log_records_are_rows_of_full_ones(tmp_path: Path):
    """The same run, fewer rows; seconds stand for all the steps since the row before."""
    fields = {"worlds": {"net": NETWORK}, "horizon": 80, "agents": {"plain": PLAIN, "vbmle": Choice("VBMLE")}}
    every = small(**fields, record=Recording("every", distance=True, mle_error=True))
    few = small(**fields, record=Recording("log", distance=True, mle_error=True))
    for folder, experiment in (("every", every), ("few", few)):
        assert go(experiment, tmp_path / folder)[0].failures == []
    for one, two in zip(every.plan(), few.plan(), strict=True):
        full, part = Store(tmp_path / "every", every).read(one), Store(tmp_path / "few", few).read(two)
        assert list(full.columns) == ["regret", "seconds", "distance", "mle_error"]
        rows = two.steps - 1
        for name in ("regret", "distance"):
            np.testing.assert_array_equal(part.columns[name], full.columns[name][rows])
        np.testing.assert_allclose(part.columns["mle_error"], full.columns["mle_error"][rows], atol=1e-6)
        assert "seconds" not in full.results


def test_the_report_reads_steps_and_columns(tmp_path: Path):
    experiment = small(worlds={"net": NETWORK}, trials=2, horizon=60, record=Recording("log", distance=True))
    go(experiment, tmp_path)
    (results,) = load(tmp_path)
    (world,) = world_runs.by_world(results)
    runs = world.agents["plain"]
    np.testing.assert_array_equal(runs.steps, measures.log_spaced(60))
    assert runs.columns["distance"].shape == runs.regret.shape == (2, len(runs.steps))
    assert world.facts == pytest.approx(measures.facts(experiment.plan()[0].make_world()))
    weights = np.diff(runs.steps, prepend=0)
    assert np.mean(runs.seconds_per_step) == pytest.approx((runs.seconds * weights).sum() / (2 * 60))
