"""What is recorded: the steps, means between them, and the estimate's error against an obvious slow version."""

from pathlib import Path

import numpy as np
import pytest
from sweeps import NETWORK, PLAIN, found, go, small

import vbmle
from vbmle import simulate
from vbmle.agents.decision import Decision
from vbmle.experiments import measures, playing
from vbmle.experiments.records import load
from vbmle.experiments.spec import Choice, Recording
from vbmle.report import runs
from vbmle.worlds import random_network


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
    path = np.stack([history.states, history.actions, history.next_states])
    errors = measures.mle_error(world, path, steps)
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
    whole, thin = found(tmp_path / "every", every), found(tmp_path / "few", few)
    for two in few.all_trials():
        full, part = whole[two.name], thin[two.name]
        assert list(full.columns) == ["regret", "seconds", "trouble", "distance", "mle_error"]
        rows = two.steps - 1
        for name in ("regret", "distance"):
            np.testing.assert_array_equal(part.columns[name], full.columns[name][rows])
        np.testing.assert_allclose(part.columns["mle_error"], full.columns["mle_error"][rows], atol=1e-6)
        assert "seconds" not in full.results


def test_the_report_reads_steps_and_columns(tmp_path: Path):
    experiment = small(worlds={"net": NETWORK}, trials=2, horizon=60, record=Recording("log", distance=True))
    go(experiment, tmp_path)
    (results,) = load(tmp_path)
    (world,) = runs.by_world(results)
    found = world.agents["plain"]
    np.testing.assert_array_equal(found.steps, measures.log_spaced(60))
    assert found.columns["distance"].shape == found.regret.shape == (2, len(found.steps))
    assert world.facts == pytest.approx(measures.facts(playing.make_world(experiment.all_trials()[0])))
    weights = np.diff(found.steps, prepend=0)
    assert np.mean(found.seconds_per_step) == pytest.approx((found.seconds * weights).sum() / (2 * 60))


# Trouble


def test_decisions_in_trouble_are_counted_row_by_row(tmp_path: Path):
    """A radius of next to nothing leaves no theta: every plan is in trouble, and nobody is warned but the record."""
    narrow = Choice("UCLK", {"radius_scale": 1e-9, "update": "every-step"})
    world = Choice("random_network", {"states": 4, "actions": 2, "dimension": 4, "seed": 3})
    agents = {"narrow": narrow, "plain": PLAIN}
    every = small(name="every", worlds={"net": world}, agents=agents, horizon=40)
    few = small(name="few", worlds={"net": world}, agents=agents, horizon=40, record=Recording("log"))
    trouble = {}
    for experiment in (every, few):
        summary, _ = go(experiment, tmp_path)
        assert not summary.failures
        for record in found(tmp_path, experiment).values():
            trouble[experiment.name, record.trial.agent] = record.columns["trouble"]
    assert set(trouble["every", "narrow"]) <= {0.0, 1.0}
    assert trouble["every", "narrow"][0] == 1.0
    assert trouble["every", "narrow"].sum() > 20
    assert trouble["few", "narrow"].max() > 1.0
    assert trouble["every", "plain"].sum() == trouble["few", "plain"].sum() == 0.0


def test_sums_between_rows_lose_nothing():
    values, steps = np.arange(1.0, 21.0), np.array([1, 2, 5, 20])
    np.testing.assert_array_equal(measures.sum_between(values, steps), [1.0, 2.0, 12.0, sum(range(6, 21))])


def test_a_decision_counts_once_though_it_stands_for_many_steps():
    """An agent that waits: steps without a decision of their own are in no trouble."""

    class Waits:
        """Decides in the first step, badly, and never again."""

        decisions, last = 0, None
        policy = np.zeros(3, np.int64)

        def act(self, state: int) -> int:
            self.decisions, self.last = 1, Decision("a plan", "stalled", converged=False)
            return 0

        def observe(self, state: int, action: int, next_state: int) -> None:
            pass

    world = random_network(3, 2, 2)
    history = simulate(Waits(), world, 10, record=["trouble"])
    assert history.trouble is not None
    assert history.trouble.tolist() == [1.0] + 9 * [0.0]
