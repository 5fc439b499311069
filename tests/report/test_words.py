"""What the report says, and its picture of who wins where, on records whose truth is known."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from made_up import Losses, made_up, saved, worlds_of

from vbmle.experiments import stopping
from vbmle.experiments.records import Results
from vbmle.experiments.stopping import Stopping
from vbmle.report import (
    answers,
    exploring,
    leaders,
    section,
    summary,
    tables,
    who_wins,
    words,
    world_runs,
    write,
)

SAME: list[float | None] = [0.0, 0.5, 0.1, 3.0]
WORSE: list[float | None] = [10.0, 11.0, 10.5, 12.0]


def test_the_first_screen_says_who_is_among_the_best():
    losses: Losses = {("tie", "ours"): SAME, ("tie", "base"): SAME}
    losses |= {("win", "ours"): SAME, ("win", "base"): WORSE, ("loss", "ours"): WORSE, ("loss", "base"): SAME}
    worlds = worlds_of(losses)
    assert [leaders.among_the_best(world) for world in worlds] == [["ours", "base"], ["ours"], ["base"]]
    best, against, size = summary.top(worlds)
    assert best == "Ours is among the best in 2 of 3 worlds and base in 2 of 3."
    assert re.fullmatch(
        r"Ours loses less than base in 50% \[\d+%, \d+%\] of paired runs, ties counted half.", against
    )
    assert size == "Every agent ran 4 trials of 6 steps in each of 3 worlds."
    told = answers.regret(worlds)
    assert re.fullmatch(
        r"Against base, ours loses the same in tie; 10 \[[\d.]+, \d+\] less in win; 10 \[[\d.]+, \d+\] more in "
        r"loss\.",
        told,
    )


def test_one_world_is_told_with_its_interval():
    (world,) = worlds_of({("w", "a"): SAME, ("w", "b"): WORSE})
    assert summary.top([world])[0].startswith("In w a loses least, 0.9 [")
    assert summary.top([world])[0].endswith("; every other agent surely loses more.")


def test_exploration_is_said_to_be_needless_only_where_a_gain_worth_having_is_excluded():
    """A tie of equals excludes every gain; differences of 1 to 2 of 10 pay; wide intervals say nothing."""
    plain, first = exploring.PLAIN, "VBMLE"
    wide: list[float | None] = [0.0, 6.0, 0.0, 6.0]
    losses: Losses = {("easy", first): SAME, ("easy", plain): SAME}
    losses |= {("trap", first): SAME, ("trap", plain): WORSE}
    losses |= {("open", first): wide, ("open", plain): wide[::-1]}
    found = {gain.world: gain for gain in exploring.gains(worlds_of(losses))}
    assert [world for world, gain in found.items() if gain.pays] == ["trap"]
    assert [world for world, gain in found.items() if gain.needless] == ["easy"]
    assert found["open"].found.high > exploring.WORTH
    assert found["trap"].found.value == pytest.approx((10.875 - 0.9) / 10.875, rel=1e-12)
    told = exploring.sentence(list(found.values()))
    assert "nothing shows a need for exploration in easy, where the intervals exclude a gain of 10%" in told
    assert "in open the trials are too few to tell" in told
    assert exploring.short(worlds_of(losses)) == (
        "Exploration surely pays in 1 of 3 worlds, surely gains less than 10% in 1 and is undecided in 1."
    )
    assert exploring.card(worlds_of({("w", "a"): SAME, ("w", "b"): SAME})) is None


def test_lists_of_names_with_commas_can_be_read():
    names = ["RiverSwim, tabular", "(3,2)", "hypercube"]
    assert words.listed(names) == "“RiverSwim, tabular”, (3,2) and hypercube"
    assert words.join(["a, which is good", "b"]) == "a, which is good; b"
    losses: Losses = {(f"w, {n}", agent): SAME for n in range(2) for agent in ("a, b", "c")}
    assert "“a, b” is among the best in 2 of 2" in summary.top(worlds_of(losses))[0]


def test_with_many_worlds_the_answer_counts_them():
    losses: Losses = {}
    for number in range(9):
        gap = float(number + 1)
        losses |= {
            (f"w{number}", "a"): [1.0, 2.0, 3.0],
            (f"w{number}", "b"): [1.0 + gap, 2.0 + gap, 3.5 + gap],
        }
    told = answers.regret(worlds_of(losses))
    assert told.startswith("Of 9 worlds, a surely loses less in 9, most in w8 (9.2 [")


def test_measures_do_not_win():
    """Oracle is the best by design: it must not take the place of an agent that learns."""
    spec_losses: Losses = {("w", "a"): [1.0, 2.0], ("w", "the best"): [0.0, 0.0]}
    (world,) = worlds_of(spec_losses)
    assert leaders.among_the_best(world) == ["the best"]
    marked = dataclasses.replace(world, references=frozenset({"the best"}))
    assert leaders.among_the_best(marked) == ["a"]


def test_the_page_warns_of_missing_trials_and_tells_of_tails():
    worlds = worlds_of({("w", "a"): [*([0.0] * 9), 50.0], ("w", "b"): [*([1.0] * 9), None]})
    (warning,) = summary.warnings(worlds)
    assert "Trials are missing: b in w (9 of 10)" in warning
    assert answers.tails(worlds) == "a lost nothing in 9 of 10 trials, and 1 trial made 90% of its loss."


def troubled(losses: Losses, **counts: int) -> Results:
    """Records in which every trial of these agents had so many decisions in trouble, all since the first row."""
    results = made_up(losses)
    records = []
    for record in results.records:
        trouble = np.zeros(record.trial.horizon)
        trouble[-1] = counts.get(record.trial.agent, 0)
        records.append(dataclasses.replace(record, columns=record.columns | {"trouble": trouble}))
    return dataclasses.replace(results, records=records)


def test_decisions_in_trouble_have_a_sentence_and_a_column(tmp_path: Path):
    losses: Losses = {("one", "a"): [1.0, 2.0], ("one", "b"): [3.0, 4.0]}
    made = section.build([troubled(losses, b=3)])
    assert summary.warnings(made.worlds) == [
        "Some decisions were in trouble (the solver did not converge, its certificate was not closed, or the "
        "confidence set was empty): b in one (50.0% of steps)."
    ]
    assert [row["trouble"] for row in made.tables[0].rows] == [None, 6]
    page = write(saved(tmp_path, troubled(losses, b=3)), pictures=False).read_text()
    assert "decisions in trouble</th>" in page
    assert "b in one (50.0% of steps)" in page


def test_where_most_decisions_are_in_trouble_comes_first_and_the_rest_is_counted():
    """A trial has 6 steps: of 4 trials of b, 4 of 24 steps; of 4 of a, 8."""
    losses: Losses = {(f"w{n}", agent): [1.0] * 4 for n in range(2) for agent in ("a", "b")}
    (told,) = summary.warnings(world_runs.by_world(troubled(losses, a=2, b=1)))
    assert told.endswith(
        "a in w0 (33.3% of steps), a in w1 (33.3% of steps), b in w0 (16.7% of steps) and 1 more (at most 16.7% of "
        "steps)."
    )


def test_a_world_that_two_experiments_have_is_drawn_in_a_row_of_its_own_for_each():
    losses: Losses = {("w", "VBMLE"): SAME, ("w", exploring.PLAIN): WORSE}
    shorter: Losses = {key: lost[:3] for key, lost in losses.items()}
    card = exploring.card([*worlds_of(losses), *worlds_of(shorter)])
    assert card is not None
    assert card.chart is not None
    assert [line.name for line in card.chart.panels[0].series] == ["w, 4 trials", "w, 3 trials"]


def test_where_other_cards_compare_the_curves_say_who_loses_least():
    losses: Losses = {("x", "a"): SAME, ("x", "b"): WORSE, ("y", "a"): SAME, ("y", "b"): WORSE}
    worlds = [dataclasses.replace(world, sequential=True) for world in worlds_of(losses)]
    assert re.fullmatch(
        r"A has the least mean regret: 0\.9 \[.*\] in x; 0\.9 \[.*\] in y\.", answers.regret(worlds)
    )
    losses |= {("y", "a"): WORSE, ("y", "b"): SAME}
    worlds = [dataclasses.replace(world, sequential=True) for world in worlds_of(losses)]
    assert re.fullmatch(
        r"The least mean regret has a in x, 0\.9 \[.*\]; b in y, 0\.9 \[.*\]\.", answers.regret(worlds)
    )


def test_a_column_without_a_value_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for results in (troubled({("one", "a"): [1.0]}), made_up({("one", "a"): [1.0]})):
        made = section.build([results])
        assert summary.warnings(made.worlds) == []
        shown = tables.present(tables.REGRET, made.tables[0].rows)
        assert "mean" in shown
        assert not {"trouble", "std", "published_std", "mean_interval"} & set(shown)
        tables.show(made.tables[0].rows, tables.REGRET, "title")
        assert "trouble" not in capsys.readouterr().out
        tables.write(made.tables[0].rows, tmp_path / "t.csv")
        assert "published" not in (tmp_path / "t.csv").read_text()


def test_the_summary_of_nothing_says_so():
    assert summary.top(worlds_of({("w", "a"): [None]})) == ["No trial is complete yet."]


# Who wins where


def test_the_picture_says_how_far_behind_the_best_each_agent_is():
    losses: Losses = {("w", "a"): [2.0, 2.0, 2.0], ("w", "b"): [6.0, 6.0, 6.0], ("w", "c"): [0.0, 6.0, 3.0]}
    picture = who_wins.build([section.build([made_up(losses)])])
    assert picture is not None
    cells = {line.agent: line.cells[0] for line in picture.lines}
    assert [line.agent for line in picture.lines] == ["a", "c", "b"]
    found = {agent: (cell.shown, cell.level, cell.sure, cell.leads) for agent, cell in cells.items() if cell}
    assert found == {
        "a": ("1.0", 0, False, True),
        "b": ("3.0", 2, True, False),
        "c": ("1.5", 1, False, False),
    }
    assert cells["b"] is not None
    assert cells["b"].told == "b in w loses 6 [6, 6], 3.0 times the best: 4 [4, 4] more than a, surely more"
    assert cells["b"].link == "made-up-1"


def test_regrets_too_small_to_count_are_as_good_as_the_best():
    """Below 0.2% of what the worst agent loses."""
    losses: Losses = {("w", "a"): [0.0, 0.0], ("w", "b"): [0.01, 0.01], ("w", "c"): [10.0, 10.0]}
    (world,) = worlds_of(losses)
    ratios = {agent: place.ratio for agent, place in leaders.places(world).items()}
    assert ratios == {"a": 1.0, "b": 1.0, "c": pytest.approx(500.0)}


def test_an_agent_that_ran_in_few_worlds_is_ordered_by_those_who_ran_with_it():
    """c is as bad as b where it ran, but in an easy world."""
    losses: Losses = {("hard", "a"): [1.0], ("hard", "b"): [100.0]}
    losses |= {("easy", "a"): [1.0], ("easy", "b"): [2.0], ("easy", "c"): [2.0]}
    hard, easy = worlds_of({k: v for k, v in losses.items() if k[0] == "hard"}), []
    easy = worlds_of({k: v for k, v in losses.items() if k[0] == "easy"})
    assert leaders.order([*hard, *easy]) == ["a", "c", "b"]


def test_agents_with_fewer_trials_are_judged_where_both_ran_and_with_too_few_not_at_all():
    """`half` met the dear worlds and no more, where it beats `ours` by a tenth; `few` met two of them."""
    ours = [10.0, 1.0] * 60
    few: list[float | None] = [9.0, None, 9.0, *[None] * 117]
    half: list[float | None] = [9.0, None] * 60
    losses: Losses = {
        ("w", "ours"): list(ours),
        ("w", "worse"): [2.0 * loss for loss in ours],
        ("w", "few"): few,
        ("w", "half"): half,
    }
    (world,) = worlds_of(losses)
    found = {agent: (place.leader, place.ratio) for agent, place in leaders.places(world).items()}
    assert found == {
        "ours": ("half", pytest.approx(5.5 / 4.5)),  # not 5.5 over 9
        "worse": ("half", pytest.approx(11.0 / 4.5)),
        "half": ("half", 1.0),
    }


def test_where_comparisons_decided_how_many_trials_there_are_marks_are_as_careful_as_they():
    rng = np.random.default_rng(0)
    ours, theirs = rng.exponential(size=60), rng.exponential(1.8, size=60)
    losses: Losses = {("w", "ours"): list(ours), ("w", "theirs"): list(theirs)}
    rule = Stopping("ours", ("theirs",), {"w": (30, 60)})
    (usual,), (careful,) = worlds_of(losses), worlds_of(losses, stop=rule)
    found = leaders.places(careful)["theirs"].behind
    assert (found.value, found.low, found.high) == pytest.approx(stopping.paired(ours, theirs), rel=1e-12)
    plain = leaders.places(usual)["theirs"]
    assert plain.sure
    assert found.low < plain.behind.low
