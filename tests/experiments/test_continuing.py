"""Moving the horizon: a longer run goes on from a shorter one, a shorter one is the beginning of a longer one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeps import NETWORK, PLAIN, count, damage, found, go, missing, same, small

import vbmle
from vbmle.experiments import catalogue, continuing, playing, record_file
from vbmle.experiments.playing import Played
from vbmle.experiments.spec import Choice, Experiment, Recording, Trial

ALL = Recording("log", distance=True, mle_error=True)
SHORT, LONG = 47, 120
"""Neither is a step that a longer log-spaced record has."""


def joined(short: Played, more: Played, trial: Trial) -> dict[str, Any]:
    """The columns of a trial that was played in two parts."""
    rows = int((trial.steps <= more.since).sum())
    return {name: np.append(short.columns[name][:rows], column) for name, column in more.columns.items()}


@pytest.mark.parametrize("agent", catalogue.general())
def test_every_agent_goes_on_as_if_it_had_never_stopped(agent: str):
    """In two steps, so that what went on can be gone on with."""
    make = {"worlds": {"net": NETWORK}, "agents": {"it": Choice(agent)}, "record": ALL}
    trials = [small(**make, horizon=horizon).all_trials()[0] for horizon in (20, SHORT, LONG)]
    whole = playing.play(trials[-1])
    part = playing.play(trials[0])
    columns = part.columns
    for trial in trials[1:]:
        assert part.state is not None
        more = playing.play(trial, part.state)
        assert 0 < more.since <= 47
        columns = joined(Played(columns, {}, 0, None), more, trial)
        part = more
    assert list(columns) == list(whole.columns)
    for name in columns.keys() - {"seconds"}:
        np.testing.assert_array_equal(columns[name], whole.columns[name], err_msg=name)
    assert part.state is not None
    assert whole.state is not None
    one, two = continuing.unpacked(part.state), continuing.unpacked(whole.state)
    assert one.moment == two.moment
    assert one.since == two.since
    np.testing.assert_array_equal(one.path, two.path)


@pytest.mark.parametrize("record", [Recording("every"), Recording("every", mle_error=True), ALL])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_longer_run_runs_only_what_is_missing(tmp_path: Path, record: Recording, jobs: int):
    make: dict[str, Any] = {"agents": {"plain": PLAIN, "psrl": Choice("PSRL")}, "record": record}
    short, long = small(**make, horizon=SHORT), small(**make, horizon=LONG)
    go(long, tmp_path / "fresh")
    go(short, tmp_path / "moved")
    summary, said = go(long, tmp_path / "moved", jobs=jobs)
    assert (summary.made, summary.failures) == (4, [])
    assert "records of fewer steps: 4; they are continued" in said
    fresh, moved = found(tmp_path / "fresh", long), found(tmp_path / "moved", long)
    for name, one in fresh.items():
        same(one, moved[name])
    contained = record.steps == "every"
    assert count(tmp_path / "moved") == (4 if contained else 8), (
        "a row stays where the longer one lacks its last step"
    )


def test_a_shorter_run_is_the_beginning_of_a_longer_one(tmp_path: Path):
    short, long = small(horizon=SHORT), small(horizon=LONG)
    go(short, tmp_path / "fresh")
    go(long, tmp_path / "moved")
    before = (tmp_path / "moved" / record_file.NAME).stat().st_size
    summary, said = go(short, tmp_path / "moved")
    assert (summary.kept, summary.made, said) == (2, 0, "")
    fresh, moved = found(tmp_path / "fresh", short), found(tmp_path / "moved", short)
    for name, one in fresh.items():
        assert len(moved[name].columns["regret"]) == SHORT
        same(one, moved[name])
    assert missing(tmp_path / "moved", long) == ([], []), "and the longer one is still there"
    assert (tmp_path / "moved" / record_file.NAME).stat().st_size == before


def test_a_short_log_spaced_run_is_the_beginning_where_its_last_step_is_a_row(tmp_path: Path):
    make: dict[str, Any] = {"worlds": {"net": NETWORK}, "record": Recording("log")}
    go(small(**make, horizon=1000), tmp_path)
    for horizon, made in ((100, 0), (10, 0), (47, 1), (49, 1), (47, 0)):
        summary, _ = go(small(**make, horizon=horizon), tmp_path)
        assert summary.made == made, horizon
    assert count(tmp_path) == 3
    fresh = small(**make, horizon=100)
    go(fresh, tmp_path / "fresh")
    (one,), (two,) = found(tmp_path / "fresh", fresh).values(), found(tmp_path, fresh).values()
    same(one, two)


def test_what_cannot_be_saved_or_is_too_large_runs_from_the_beginning_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(continuing, "MOST_BYTES", 10)
    experiment = small(horizon=5)
    trial = experiment.all_trials()[0]
    assert playing.play(trial).state is None
    monkeypatch.undo()
    keep_without_state(tmp_path, experiment)
    summary, said = go(small(horizon=9), tmp_path)
    assert summary.made == 2
    assert "records of fewer steps: 2; they are run from the beginning" in said
    go(small(horizon=9), tmp_path / "fresh")
    fresh = found(tmp_path / "fresh", small(horizon=9))
    for name, one in found(tmp_path, small(horizon=9)).items():
        same(one, fresh[name])


def keep_without_state(folder: Path, experiment: Experiment) -> None:
    go(experiment, folder)
    for trial in experiment.all_trials():
        damage(folder, trial, "state", None)


def test_a_state_that_cannot_be_loaded_is_told(tmp_path: Path):
    go(small(horizon=5), tmp_path)
    damage(tmp_path, small().all_trials()[0], "state", b"not a state")
    summary, said = go(small(horizon=9), tmp_path)
    assert (summary.made, summary.begun_anew, summary.failures) == (2, 1, [])
    assert "1 trial was run from the beginning" in said
    go(small(horizon=9), tmp_path / "fresh")
    fresh = found(tmp_path / "fresh", small(horizon=9))
    for name, one in found(tmp_path, small(horizon=9)).items():
        same(one, fresh[name])


def test_a_damaged_shorter_record_is_not_gone_on_from(tmp_path: Path):
    go(small(horizon=5), tmp_path)
    damage(tmp_path, small().all_trials()[0])
    summary, said = go(small(horizon=9), tmp_path)
    assert summary.made == 2
    assert "records of fewer steps: 1; they are continued" in said
    go(small(horizon=9), tmp_path / "fresh")
    fresh = found(tmp_path / "fresh", small(horizon=9))
    for name, one in found(tmp_path, small(horizon=9)).items():
        same(one, fresh[name])


class Unsaved:
    """An agent of somebody else's, without `save`."""

    policy = np.zeros(3, np.int64)

    def act(self, state: int) -> int:
        return 0

    def observe(self, state: int, action: int, next_state: int) -> None:
        pass


def test_an_agent_without_save_leaves_nothing_to_go_on_from():
    (trial, _) = small().all_trials()
    world = playing.make_world(trial)
    player = Unsaved()
    history = vbmle.simulate(player, world, 4)
    assert continuing.packed(trial, player, history, None) is None


def test_a_history_goes_on_where_another_ended():
    """Also in a world that drifts: the step counts from the first."""
    base = vbmle.worlds.random_network(4, 2, 3, seed=1)
    other = np.roll(base.theta, 1)
    drifting = vbmle.DriftingWorld(base.mdp, [(0, base.theta), (30, other)])
    for world in (base, drifting):
        whole = vbmle.simulate(vbmle.VBMLE(base.mdp), world, 60, seed=3, record=["distance"])
        agent = vbmle.VBMLE(base.mdp)
        first = vbmle.simulate(agent, world, 25, seed=3, record=["distance"])
        longer = vbmle.simulate(agent, world, 60, seed=3, record=["distance"], after=first)
        for name in ("states", "actions", "next_states", "regret", "distance"):
            np.testing.assert_array_equal(getattr(longer, name), getattr(whole, name), err_msg=name)
        assert (longer.begun, longer.end) == (0, whole.end)
        with pytest.raises(ValueError, match="horizon is 20; it needs more than the 25 steps"):
            vbmle.simulate(agent, world, 20, seed=3, after=first)


def test_only_the_steps_that_are_missing_are_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trial, longer = (small(horizon=horizon).all_trials()[0] for horizon in (10, 30))
    steps, act = [], vbmle.MaximumLikelihood.act

    def counted(self: vbmle.MaximumLikelihood, state: int) -> int:
        steps.append(state)
        return act(self, state)

    monkeypatch.setattr(vbmle.MaximumLikelihood, "act", counted)
    state = playing.play(trial).state
    assert len(steps) == 10
    playing.play(longer, state)
    assert len(steps) == 30
