"""The study of maximiser and bias: what is run, the audit against a certificate, and what is made of the records."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import vbmle
from vbmle.cli import app
from vbmle.experiments import playing
from vbmle.experiments.spec import Choice, Trial
from vbmle.report.runs import Runs, WorldRuns
from vbmle.suites import study
from vbmle.suites import study_page as report
from vbmle.suites.study import (
    AGENTS,
    CERTIFIED,
    FEW,
    FULL,
    GLOBAL,
    LOCAL,
    NO_BIAS,
    QUICK,
    Audited,
    Size,
)

TINY = {
    "network": Size(2, 8, 1, 3, 1, 2),
    "river": Size(2, 8, 1, 3, 1, 2),
    "hypercube": Size(2, 8, 1, 2, 1, 2),
}


# What is run


@pytest.mark.parametrize("sizes", [FULL, QUICK], ids=["full", "quick"])
def test_every_agent_meets_the_same_worlds_with_the_same_luck(sizes: dict[str, Size]):
    for experiment in study.experiments(sizes):
        met: dict[tuple[str, int], set[tuple[str, int]]] = {}
        for trial in experiment.all_trials():
            luck = (trial.world_choice.call(**trial._world_seed()), trial.chance)
            met.setdefault((trial.world, trial.index), set()).add(luck)
        assert all(len(lucks) == 1 for lucks in met.values())
        assert len(set.union(*met.values())) == len(met)  # and trials differ


def test_the_questions_are_the_ones_asked():
    made = {family: study.compared(family, size) for family, size in FULL.items()}
    assert {name: spec.horizon for name, spec in made.items()} == {
        "network": 500,
        "river": 600,
        "hypercube": 3000,
    }
    mdp = vbmle.worlds.riverswim(6, "mixture").mdp
    biases = {}
    for label, choice in AGENTS.items():
        trial = Trial("x", "w", label, 0, Choice("riverswim"), choice, 1)
        agent = playing.make_agent(trial, vbmle.World(mdp, [0.35, 0.6, 0.05]))
        if isinstance(agent, vbmle.VBMLE):
            biases[label] = (agent.settings["search"], pytest.approx(agent.alpha()))
    log2 = np.log(2.0)  # at t = 1 sqrt(t) is 1 and log(1+t) is log 2
    assert biases == {
        **{LOCAL: ("local", 1.0), FEW: ("few", 1.0), GLOBAL: ("global", 1.0)},
        **{"0.1 sqrt(t)": ("global", 0.1), "10 sqrt(t)": ("global", 10.0)},
        **{"0.3 log(1+t)": ("global", 0.3 * log2), "log(1+t)": ("global", log2)},
        "3 log(1+t)": ("global", 3 * log2),
    }
    assert AGENTS[NO_BIAS].name == "MaximumLikelihood"


def test_the_sparse_world_pays_once():
    choice = study.WORLDS["network"]["sparse reward"]
    world = playing.make_world(Trial("x", "w", "a", 0, choice, AGENTS[GLOBAL], 1))
    assert sorted(world.mdp.pair_reward)[-2:] == [0.0, 1.0]


# The audit


def test_sampled_steps_lie_one_in_each_part_of_the_run():
    task = next(task for task in study.audits(FULL) if task.trial.horizon % task.steps == 0)
    steps, width = task.sampled(), task.trial.horizon // task.steps
    assert len(steps) == task.steps
    np.testing.assert_array_equal((steps - 1) // width, np.arange(task.steps))


def test_the_audit_sees_what_a_local_search_misses():
    """Three of the eight signs of the hypercube are told apart by luck alone, so one basin is not enough."""
    world = vbmle.worlds.hypercube(3, seed=2)
    worst = {}
    for search in ("local", "global"):
        player = Audited(vbmle.VBMLE(world.mdp, search=search), range(40, 61))
        plain = vbmle.simulate(vbmle.VBMLE(world.mdp, search=search), world, 60, seed=1)
        audited = vbmle.simulate(player, world, 60, seed=1)
        np.testing.assert_array_equal(plain.actions, audited.actions)  # looking changes nothing
        assert [finding.step for finding in player.findings] == list(range(40, 61))
        assert all(finding.found <= finding.best <= finding.bound for finding in player.findings)
        worst[search] = max(finding.missed for finding in player.findings)
    assert worst["global"] <= 1e-6 < worst["local"]


def test_a_finding_says_what_was_missed():
    finding = study.Finding(step=3, found=-12.0, best=-9.0, bound=-8.0, same_action=False)
    assert finding.missed == pytest.approx(3 / 10)
    assert finding.gap == pytest.approx(1 / 10)


# What is made of it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny study, run by the command."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "QUICK", TINY)
        with pytest.raises(SystemExit) as end:
            app(["study", "--quick", "--out", str(folder), "--jobs", "1"], prog_name="vbmle")
    assert end.value.code == 0
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_the_command_leaves_figures_tables_and_a_summary(folder: Path):
    drawn = rows(folder / "figures" / "study-accuracy-regret.csv")
    assert {row["name"] for row in drawn} == {"global", "few", "local"}
    assert {row["name"] for row in rows(folder / "figures" / "study-certified-regret.csv")} == {
        "global",
        CERTIFIED,
    }
    assert len({row["name"] for row in rows(folder / "figures" / "study-schedule-regret.csv")}) == 7
    page = (folder / "report.html").read_text()
    assert "What the maximiser and the bias do to regret" in page
    assert "How much bias is best?" in page
    found = rows(folder / "tables" / "study-regret.csv")
    worlds = [label for family in study.WORLDS.values() for label in family]
    expected = {(world, agent, "8") for world in worlds for agent in AGENTS}
    got = {(row["world"], row["agent"], row["steps"]) for row in found}
    assert expected <= got
    assert {row["world"] for row in found if row["agent"] == CERTIFIED} == set(worlds) - set(
        study.NOT_CERTIFIED
    )
    for row in found:
        assert all(np.isfinite(float(row[key])) for key in ("mean", "median", "iqm", "seconds_per_step"))
    audited = rows(folder / "tables" / "study-audit.csv")
    assert [row["world"] for row in audited] == [
        world for world in worlds if world not in study.NOT_CERTIFIED
    ]
    assert {row["steps"] for row in audited} == {"2"}
    text = (folder / "summary.md").read_text()
    assert all(len(re.findall(rf"^- {re.escape(world)}", text, re.MULTILINE)) >= 2 for world in worlds)


def test_audits_are_kept_and_those_of_other_settings_are_not_taken_for_them(folder: Path, tmp_path: Path):
    task = study.audits(TINY)[0]
    kept = study.read_audit(task, folder)
    assert kept is not None
    assert [finding.step for finding in kept] == task.sampled().tolist()
    assert study.read_audit(study.Audit(task.trial, task.steps + 1), folder) is None
    assert study.read_audit(task, tmp_path) is None
    paths = sorted((folder / "audit").iterdir())
    before = [path.stat().st_mtime_ns for path in paths]
    assert study.run_audits(study.audits(TINY), folder, 1) == []
    assert [path.stat().st_mtime_ns for path in paths] == before


def test_a_damaged_audit_is_done_again(folder: Path, tmp_path: Path):
    task = study.audits(TINY)[0]
    (tmp_path / "audit").mkdir()
    name = next(path.name for path in (folder / "audit").iterdir() if json.loads(path.read_text()))
    (tmp_path / "audit" / name).write_text("{")
    assert study.read_audit(task, tmp_path) is None


# Words, on made-up records


def runs(final: list[float]) -> Runs:
    regret = np.outer(final, [0.5, 1.0])
    columns = {"regret": regret, "seconds": np.full(regret.shape, 0.001)}
    return Runs(np.arange(len(final)), np.arange(1, 3), columns)


def world(agents: dict[str, list[float]], label: str = "here") -> WorldRuns:
    made = {agent: runs(final) for agent, final in agents.items()}
    return WorldRuns("study-x", label, {"states": 2, "actions": 2, "dimension": 2}, 6, 2, made)


def told(made: WorldRuns, certified: WorldRuns | None = None) -> str:
    kept = {} if certified is None else {certified.label: certified}
    return "\n".join(report.summary(report.Study({made.label: made}, kept, {})))


def test_the_summary_names_what_is_sure_and_what_may_be_chance():
    sure = [11.0, 12.0, 11.0, 12.0, 11.0, 12.0]
    base = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]
    mixed = [0.0, 4.0, 0.0, 4.0, 0.0, 2.0]
    text = told(world({LOCAL: sure, FEW: mixed, GLOBAL: base, "log(1+t)": base}))
    assert re.search(r"local 10\.0+ more \(difference 10\.0+ to 10\.0+\)", text)
    assert re.search(r"few 0\.167 more \(difference -[\d.]+ to [\d.]+, not significant\)", text)
    assert "√t 1.50, log(1+t) 1.50" in text
    text = told(world({GLOBAL: sure, "log(1+t)": base, NO_BIAS: mixed}))
    assert "log(1+t) 1.50, no bias 1.67, √t 11.5*" in text


def test_the_summary_says_whether_a_proof_changed_anything():
    base = world({LOCAL: [0.0] * 6, GLOBAL: [0.0] * 6})
    same = world({GLOBAL: [1.0, 2.0], CERTIFIED: [1.0, 2.0]})
    other = world({GLOBAL: [1.0, 2.0], CERTIFIED: [1.0, 1.0]})
    assert "at every one of 2 steps in 2 of 2 trials;" in told(base, same)
    assert "in 1 of 2 trials; difference in the end -0.500" in told(base, other)
    assert "no schedule had any regret" in told(base)


def test_the_audit_table_counts_hits():
    finding = study.Finding(step=1, found=-1.0, best=-1.0, bound=-1.0, same_action=True)
    missed = study.Finding(step=2, found=-2.0, best=-1.0, bound=0.0, same_action=False)
    row = report.audit_rows(report.Study({}, {}, {"here": [finding, finding, missed]}))[0]
    assert (row.steps, row.hits, row.other_action, row.proved) == (3, 2, 1, 2)
    assert row.largest_miss == pytest.approx(0.5)
    assert row.largest_open_gap == pytest.approx(0.5)
