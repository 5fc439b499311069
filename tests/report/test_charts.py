"""What is drawn: figures as data, on records whose truth is known."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from made_up import Losses, made_up, worlds_of

from vbmle.experiments.records import Record, Results
from vbmle.experiments.spec import Choice, Experiment
from vbmle.paper import suite
from vbmle.paper.sections import sections as papers
from vbmle.plot import styles
from vbmle.report import answers, charts, runs, sections, tables
from vbmle.report.runs import WorldRuns
from vbmle.report.sections import Run, Text
from vbmle.suites.study_page import sections as studies


def test_variants_of_an_agent_share_a_hue_and_nothing_else():
    kinds = {"a": "A", "a, other": "A", "b": "B", "a, third": "A"}
    looks = styles.assign(kinds, kinds)
    one, two, other, three = looks.values()
    assert one.color == two.color == three.color != other.color
    assert (
        len({look.dash for look in (one, two, three)})
        == len({look.marker for look in (one, two, three)})
        == 3
    )


def test_twenty_agents_can_be_told_apart():
    looks = styles.assign([f"agent {n}" for n in range(20)])
    assert len(set(looks.values())) == 20
    lines = {(look.color, look.dash) for look in looks.values()}
    markers = {(look.color, look.marker) for look in looks.values()}
    assert len(lines) == len(markers) == 20


def test_steps_need_not_be_all_recorded():
    """Seconds are means since the recorded step before: 9 steps of 1 and one of 11 make 2 a step."""
    found = runs.Runs(np.array([0]), np.array([9, 10]), {"seconds": np.array([[1.0, 11.0]])})
    assert found.seconds_per_step[0] == pytest.approx(2.0, abs=1e-12)


def test_columns_that_some_trials_lack_are_left_out():
    results = made_up({("w", "a"): [1.0, 2.0]})
    results.records[0].columns["distance"] = np.ones(6)
    (world,) = runs.by_world(results)
    assert set(world.agents["a"].columns) == {"regret", "seconds"}
    assert sections.kinds(Text("t"), [world]) == (["regret"], ["trials"])


def with_columns(name: str = "made up", **facts: float) -> WorldRuns:
    """Two agents: one with a single theta, one with a theta per (s,a); distances fall like 1/t."""
    results = made_up({("w", "one"): [1.0, 2.0], ("w", "many"): [1.0, 2.0]}, name=name, horizon=50)
    for place, record in enumerate(results.records):
        steps = np.arange(1, 51)
        record.columns["distance"] = 1.0 / steps
        record.columns["distance_mean"] = (3.0 if record.trial.agent == "many" else 1.0) / steps
        record.columns["mle_error"] = np.full(50, 2.0)
        results.records[place] = dataclasses.replace(record, facts={**record.facts, **facts})
    return runs.by_world(results)[0]


def test_an_agent_with_many_thetas_has_two_lines_of_distance():
    chart = charts.distance([with_columns()], "x")
    assert chart is not None
    names = [line.name for line in chart.panels[0].series]
    assert names == ["one", "many, least over (s,a)", "many, mean over (s,a)"]
    np.testing.assert_allclose(chart.panels[0].series[2].y, 3.0 * chart.panels[0].series[1].y, rtol=1e-12)


def test_the_bound_is_drawn_where_there_is_one_and_said_to_be_infinite_where_not():
    """beta_t by hand for d = 5, p_min = 0.1, lambda = 1, L^2 = d: 37 * 25 / 0.01 * log(1 + t) * log 10."""
    chart = charts.mle_error([with_columns(p_min_true=0.1)], "x")
    assert chart is not None
    limit = chart.panels[0].series[-1]
    assert limit.y[-1] == pytest.approx(92_500.0 * np.log(51.0) * np.log(10.0), rel=1e-12)
    assert f"is {float(limit.y[-1]) / 2.0:.2g} times as large" in chart.caption
    other = charts.mle_error([with_columns()], "x")
    assert other is not None
    assert len(other.panels[0].series) == 2
    assert "makes it infinite" in other.caption


def swept(agents: tuple[str, ...] = ("a", "b")) -> Results:
    """Regret that is proportional to the gap's square, over three gaps and two dimensions."""
    worlds = {
        f"d={d} gap={gap}": Choice("hypercube", {"dimension": d, "gap": gap})
        for d in (2, 4)
        for gap in (0.9, 0.1, 0.3)
    }
    spec = Experiment(
        name="swept",
        worlds=worlds,
        agents={a: Choice("MaximumLikelihood") for a in agents},
        reference=agents[0],
        trials=3,
        horizon=4,
    )
    records = []
    for trial in spec.all_trials():
        settings = trial.world_choice.settings
        loss = settings["gap"] ** 2 * (1.0 + trial.index)
        columns = {"regret": loss * np.arange(1, 5) / 4, "seconds": np.full(4, 1e-3 * settings["dimension"])}
        facts = {"states": 2, "actions": 2 ** (settings["dimension"] - 1), "dimension": settings["dimension"]}
        records.append(Record(trial, columns, facts))
    return Results(spec, records, {}, [])


def test_a_sweep_is_found_and_drawn_in_order():
    worlds = runs.by_world(swept())
    found = runs.sweeps(worlds, "gap")
    assert [(sweep.fixed, sweep.values.tolist()) for sweep in found] == [
        ({"dimension": 2}, [0.1, 0.3, 0.9]),
        ({"dimension": 4}, [0.1, 0.3, 0.9]),
    ]
    assert len(runs.sweeps(worlds)) == 2 + 3  # the dimension was varied at three gaps
    line = charts.along(found[0], "x").panels[0].series[0]
    np.testing.assert_allclose(line.y, 2.0 * line.x**2, rtol=1e-12)  # trials lose 1, 2, 3 times the square
    (row, *_) = tables.trends(worlds, "gap")
    assert row.exponent.value == pytest.approx(2.0, abs=1e-10)


def test_an_experiment_gets_the_figures_its_records_are_good_for():
    worlds = runs.by_world(swept())
    folded = ["regret", "trials", "profile"]
    assert sections.kinds(Text("t"), worlds) == (["parameter", "improvement"], folded)
    assert sections.kinds(Text("t", cards=("regret",)), worlds) == (["regret"], folded[1:])
    assert sections.kinds(Text("t", cards=("cost",)), worlds) == (["cost"], [])
    made = charts.build(worlds, [*sections.QUESTIONS, *folded[1:]], "swept", None)
    assert len({chart.stem for chart in made}) == len(made)  # no file is written twice
    assert {chart.kind for chart in made} == {
        "parameter",
        "regret",
        "improvement",
        "cost",
        "trials",
        "profile",
    }


def test_cost_is_drawn_against_what_was_varied_alone():
    """In the hypercube actions and dimension grow together, so neither alone: against the size of the features."""
    chart = charts.cost(runs.by_world(swept()), "x")
    assert chart is not None
    (panel,) = chart.panels
    line = panel.series[0]
    assert set(line.x) == {4.0 * 2 * 2, 4.0 * 8 * 4}
    assert line.y.min() == pytest.approx(2e-3, rel=1e-9)
    assert line.y.max() == pytest.approx(4e-3, rel=1e-9)


def test_a_world_that_was_timed_in_two_experiments_is_on_a_line_of_cost_once():
    """One experiment varies S and the other A; both have the world with S = 4 and A = 2."""
    worlds = []
    for name, sizes in (("cost-states", ((2, 2), (4, 2))), ("cost-actions", ((4, 2), (4, 3)))):
        found = worlds_of({(f"S = {s}, A = {a}", "a"): [1.0, 2.0] for s, a in sizes})
        for world, (states, actions) in zip(found, sizes, strict=True):
            facts = {"states": states, "actions": actions, "dimension": 3}
            worlds.append(dataclasses.replace(world, experiment=name, facts=facts))
    chart = charts.cost(worlds, "cost")
    assert chart is not None
    by_label = {panel.x_label: panel.series for panel in chart.panels}
    assert {label: [line.x.tolist() for line in lines] for label, lines in by_label.items()} == {
        "states S": [[2.0, 4.0]],
        "actions A": [[2.0, 3.0]],
    }


def test_a_family_of_experiments_shares_its_place():
    losses: Losses = {("S = 5", "a"): [1.0, 2.0]}
    names = ("zebra", "study-river", "paper", "ant", "cost-states", "cost-actions")
    parts = [runs.arranged(made_up(losses, name=name)) for name in names]
    run = Run(Path(), parts, {**papers.texts, **studies.texts})
    assert run.family("study-river") == run.family("study-network") == "study"
    assert run.family("study (3,2)") == "study"
    assert (run.family("mine-own"), run.text("mine-own").title) == ("mine-own", "mine-own")
    order = [part.experiment.name for part in sorted(parts, key=run.place)]
    assert order == ["paper", "cost-actions", "cost-states", "study-river", "ant", "zebra"]
    both = sections.build(parts[4:], run.text("cost-states"), "cost")
    assert (both.key, len(both.worlds), len(both.parts)) == ("cost", 2, 2)


def test_a_card_about_cost_speaks_of_cost():
    """Every world takes 2 ms a step."""
    losses: Losses = {(world, agent): [1.0, 2.0] for world in ("S = 5", "S = 9") for agent in ("a", "b")}
    told = answers.cost(worlds_of(losses, reference="a"))
    assert told == "A step of a takes from 2 ms (S = 5) to 2 ms (S = 9)."
    assert answers.cost(worlds_of(losses)) == "A step takes from 2 ms (a, S = 5) to 2 ms (b, S = 9)."


def test_every_experiment_of_the_paper_has_its_text():
    run = Run(Path(), [], papers.texts)
    for planned in suite.experiments():
        assert run.text(planned.name).lead, planned.name
