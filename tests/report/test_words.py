"""What the report says, and its picture of who wins where, on records whose truth is known."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from made_up import Losses, made_up, saved, worlds_of

import vbmle
from vbmle.experiments import stopping
from vbmle.experiments.records import Results
from vbmle.experiments.stopping import Stopping
from vbmle.report import answers, exploring, leaders, runs, sections, summary, tables, who_wins, words, write
from vbmle.report.sections import Section, Text

WRITTEN = (".py", ".html", ".css", ".js")
SAME: list[float | None] = [0.0, 0.5, 0.1, 3.0, 0.2, 0.3]
WORSE: list[float | None] = [10.0, 11.0, 10.5, 12.0, 10.2, 10.9]


def section(results: Results) -> Section:
    name = results.experiment.name
    return sections.build([runs.arranged(results)], Text(name), name)


# The first screen


def test_the_first_screen_is_computed_from_the_numbers_of_the_picture():
    """The mean of WORSE is 15.8 times that of SAME."""
    losses: Losses = {("tie", "ours"): SAME, ("tie", "base"): SAME, ("tie", "third"): WORSE}
    losses |= {("win", "ours"): SAME, ("win", "base"): WORSE, ("win", "third"): WORSE}
    losses |= {("also", "ours"): SAME, ("also", "base"): WORSE, ("also", "third"): SAME}
    best, other, size = summary.top(worlds_of(losses, reference="base"))
    assert (
        best
        == "Best overall: ours, best in all 3 worlds. Every other agent is significantly worse in some world."
    )
    assert other == "Base: best in 1 of 3, and at least 10 times the best in 2."
    assert size == "Every agent ran 6 trials of 6 steps in each of 3 worlds."


def test_within_says_the_largest_ratio_as_the_picture_does():
    losses: Losses = {
        ("x", "a"): [1.0] * 6,
        ("x", "b"): [1.11] * 6,
        ("y", "a"): [1.21] * 6,
        ("y", "b"): [1.0] * 6,
    }
    told = summary.top(worlds_of(losses))
    assert told[0].startswith("Best overall: b, within 1.1 times the best in all 2 worlds.")
    assert told[1] == "A: within 1.2 times the best in all 2 worlds."


def test_equals_are_not_ranked():
    losses: Losses = {(world, agent): SAME for world in "xy" for agent in "abc"}
    assert (
        summary.top(worlds_of(losses))[0]
        == "No agent is ahead: a, b and c have the same regret in all 2 worlds."
    )


def test_what_differs_by_chance_is_said_to():
    chance = np.random.default_rng(0).exponential(size=(2, 8))
    losses: Losses = {("w", agent): list(lost) for agent, lost in zip("ab", chance, strict=True)}
    told = summary.top(worlds_of(losses))[0]
    assert told.endswith("cannot be told from it.")


def test_few_trials_are_not_compared():
    losses: Losses = {("w", "a"): SAME[:5], ("w", "b"): WORSE[:5]}
    told = summary.top(worlds_of(losses, reference="a"))
    assert (
        told[0] == "Too few trials to compare agents: at least 6 are needed. What is shown is a first look."
    )
    assert answers.regret(worlds_of(losses, reference="a")).endswith(answers.TOO_FEW)
    assert not leaders.places(worlds_of(losses)[0])["b"].clear


def test_one_agent_has_nothing_to_be_compared_with():
    assert (
        summary.top(worlds_of({("w", "a"): [1.0] * 6}))[0]
        == "A, with nothing to compare with: mean regret 1 in w."
    )


def test_the_summary_of_nothing_says_so():
    assert summary.top(worlds_of({("w", "a"): [None]})) == ["No trial is complete yet."]


def test_a_best_without_regret_makes_no_exact_multiples():
    """Against less than the floor a ratio is one to the floor."""
    losses: Losses = {("w", "a"): [0.0] * 6, ("w", "b"): [1000.0] * 6}
    worlds = worlds_of(losses)
    assert summary.stands(worlds, "b") == "best in none of 1 world, and at least 100 times the best in 1"
    picture = who_wins.build([section(made_up(losses))])
    assert picture is not None
    assert [[cell.shown for cell in line.cells if cell] for line in picture.lines] == [["1.0"], [">100"]]


# Cards


def test_with_a_reference_its_comparisons_are_counted():
    losses: Losses = {("tie", "ours"): SAME, ("tie", "base"): SAME}
    losses |= {("win", "ours"): SAME, ("win", "base"): WORSE, ("loss", "ours"): WORSE, ("loss", "base"): SAME}
    told = answers.regret(worlds_of(losses, reference="ours"))
    assert told == (
        "Lowest mean regret: ours in win; base in loss. Against its rivals ours is significantly better in 1 of 3 "
        "comparisons and significantly worse in 1; 1 cannot be told."
    )
    assert answers.regret(worlds_of(losses)) == "Lowest mean regret: ours in win; base in loss."


def test_who_probably_beats_whom():
    losses: Losses = {}
    for number in range(3):
        losses |= {(f"w{number}", "a"): SAME, (f"w{number}", "b"): WORSE, (f"w{number}", "c"): [-1.0] * 6}
    told = answers.improvement(worlds_of(losses, reference="a"))
    assert told == "A probably beats 1 of 2 rivals. C probably beats it."


ROLES = {"plain": "greedy", "chance": "random", "truth": "oracle"}


def test_exploring_is_said_to_gain_little_only_where_a_gain_worth_having_is_ruled_out():
    """A tie of equals excludes every gain; differences of 1 to 2 of 10 pay; wide intervals say nothing."""
    wide: list[float | None] = [0.0, 6.0, 0.0, 6.0, 0.0, 6.0]
    losses: Losses = {("easy", "ours"): SAME, ("easy", "plain"): SAME}
    losses |= {("trap", "ours"): SAME, ("trap", "plain"): WORSE}
    losses |= {("open", "ours"): wide, ("open", "plain"): wide[::-1]}
    worlds = worlds_of(losses, reference="ours", roles=ROLES)
    found = {gain.world: gain for gain in exploring.gains(worlds)}
    assert [world for world, gain in found.items() if gain.pays] == ["trap"]
    assert [world for world, gain in found.items() if gain.needless] == ["easy"]
    assert found["open"].share.low < -exploring.WORTH
    ours, plain = (np.mean(np.array(lost, dtype=float)) for lost in (SAME, WORSE))
    assert found["trap"].share.value == pytest.approx((ours - plain) / plain, rel=1e-12)
    assert exploring.sentence(list(found.values())) == (
        "Of 3 worlds, exploring pays in 1 and gains at most 10% in 1; in 1 the trials cannot tell."
    )
    assert exploring.card(worlds_of({("w", "ours"): SAME, ("w", "b"): SAME}, reference="ours")) is None


def test_without_a_mark_or_a_reference_nothing_is_said_of_exploring():
    """Whatever agents are called."""
    losses: Losses = {("w", "VBMLE"): SAME, ("w", "maximum likelihood"): WORSE}
    assert exploring.card(worlds_of(losses, reference="VBMLE")) is None
    assert exploring.card(worlds_of(losses, roles={"maximum likelihood": "greedy"})) is None


def test_exploring_may_cost():
    losses: Losses = {("w", "ours"): WORSE, ("w", "plain"): SAME}
    (gain,) = exploring.gains(worlds_of(losses, reference="ours", roles=ROLES))
    assert (gain.pays, gain.costs) == (False, True)
    assert exploring.sentence([gain]) == "Of 1 world, exploring costs more than it gains in 1."


def test_lists_of_names_with_commas_can_be_read():
    names = ["RiverSwim, tabular", "(3,2)", "hypercube"]
    assert words.listed(names) == "“RiverSwim, tabular”, (3,2) and hypercube"
    assert words.join(["a, which is good", "b"]) == "a, which is good; b"
    losses: Losses = {(f"w, {n}", agent): SAME for n in range(2) for agent in ("a, b", "c")}
    assert "“a, b” and c have the same regret" in summary.top(worlds_of(losses))[0]


def test_measures_do_not_win():
    """Who knows the truth is the best by design, and must not take the place of an agent that learns."""
    losses: Losses = {("w", "a"): [1.0, 2.0], ("w", "truth"): [0.0, 0.0], ("w", "chance"): [50.0, 50.0]}
    (plain,), (marked,) = worlds_of(losses), worlds_of(losses, roles=ROLES)
    assert [place.agent for place in leaders.places(plain).values() if place.leads] == ["truth"]
    assert list(leaders.places(marked)) == ["a"]
    assert (plain.scale, marked.scale) == (50.0, 50.0)


def test_the_page_warns_of_missing_trials_and_tells_of_tails():
    losses: Losses = {("w", "a"): [*([0.0] * 9), 50.0], ("w", "b"): [*([1.0] * 9), None]}
    worlds = worlds_of(losses, reference="a")
    (warning,) = summary.warnings(worlds)
    assert "Trials are missing: b in w (9 of 10)" in warning
    assert (
        answers.tails(worlds) == "a had no regret in 9 of 10 trials; 1 trial accounts for 90% of the total."
    )


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
    made = section(troubled(losses, b=3))
    assert summary.warnings(made.worlds) == [
        "In some steps the solver failed (no convergence, no proof of optimality, or an empty confidence set): "
        "b in one (50.0% of steps)."
    ]
    assert [row.trouble for row in tables.regret(made.worlds)] == [None, 6]
    page = write(saved(tmp_path, troubled(losses, b=3)), pictures=False).read_text()
    assert "failed steps</th>" in page
    assert "b in one (50.0% of steps)" in page


def test_where_most_decisions_are_in_trouble_comes_first_and_the_rest_is_counted():
    """A trial has 6 steps: of 4 trials of b, 4 of 24 steps; of 4 of a, 8."""
    losses: Losses = {(f"w{n}", agent): [1.0] * 4 for n in range(2) for agent in ("a", "b")}
    (told,) = summary.warnings(runs.by_world(troubled(losses, a=2, b=1)))
    assert told.endswith(
        "a in w0 (33.3% of steps), a in w1 (33.3% of steps), b in w0 (16.7% of steps) and 1 more (at most 16.7% of "
        "steps)."
    )


def test_a_world_that_two_experiments_have_is_drawn_in_a_row_of_its_own_for_each():
    losses: Losses = {("w", "ours"): SAME * 2, ("w", "plain"): WORSE * 2}
    shorter: Losses = {key: lost[:6] for key, lost in losses.items()}
    both = [
        world
        for name, part in (("long", losses), ("short", shorter))
        for world in worlds_of(part, name=name, reference="ours", roles=ROLES)
    ]
    card = exploring.card(both)
    assert card is not None
    assert card.chart is not None
    assert [line.name for line in card.chart.panels[0].series] == ["w, long", "w, short"]


def test_a_column_without_a_value_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for results in (troubled({("one", "a"): [1.0]}), made_up({("one", "a"): [1.0]})):
        made = section(results)
        assert summary.warnings(made.worlds) == []
        shown = {column.name for column in tables.present(made.tables[0].rows)}
        assert "mean" in shown
        assert not {"trouble", "std", "behind"} & shown
        tables.show(tables.regret(made.worlds), "title")
        assert "failed" not in capsys.readouterr().out
        tables.write(made.tables[0].rows, tmp_path / "t.csv")
        assert "trouble" not in (tmp_path / "t.csv").read_text()


# Who wins where


def test_the_picture_says_how_far_behind_the_best_each_agent_is():
    losses: Losses = {("w", "a"): [2.0] * 6, ("w", "b"): [6.0] * 6, ("w", "c"): [0.0, 6.0, 3.0] * 2}
    picture = who_wins.build([section(made_up(losses))])
    assert picture is not None
    cells = {line.agent: line.cells[0] for line in picture.lines}
    assert [line.agent for line in picture.lines] == ["a", "c", "b"]
    found = {
        agent: (cell.shown, cell.level, cell.decided, cell.leads) for agent, cell in cells.items() if cell
    }
    assert found == {
        "a": ("1.0", 0, True, True),
        "b": ("3.0", 2, True, False),
        "c": ("1.5", 1, False, False),
    }
    assert cells["b"] is not None
    assert cells["b"].told == (
        "b in w: mean regret 6.00 [6.00, 6.00], 3.0 times the best; 4.00 [4.00, 4.00] more than a: significantly worse"
    )
    assert [(head.world, head.trials) for head in picture.heads] == [("w", "6")]
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
    looked = stopping.compare(("ours", "theirs"), ours, theirs, (30, 60))
    found, plain = (leaders.places(world)["theirs"].behind for world in (careful, usual))
    assert looked is not None
    assert found is not None
    assert plain is not None
    ends = (found.found.value, found.found.low, found.found.high)
    assert ends == pytest.approx((looked.value, looked.low, looked.high), rel=1e-12)
    assert plain.outcome == "worse"
    assert found.found.low < plain.found.low
    (row,) = tables.pairs([careful])
    assert row.difference == found.found, "one comparison has one interval, wherever it stands"


@pytest.mark.parametrize("folder", ["report", "paper", "suites"])
def test_no_page_says_what_nobody_would_say(folder: str):
    """Words that once stood on pages: a technical 'surely', 'loses less' for every comparison, chance as a verdict."""
    odd = r"\bsurely\b|\bloses? (less|more)\b|in trouble|which may be (chance|nothing)|goes most with|lost nothing"
    odd += r"|whatever else it was doing|What lies beyond|of all rivals\?|by a hair\b"
    sources = [
        path
        for path in (Path(vbmle.__file__).parent / folder).rglob("*.*")
        if path.suffix in WRITTEN and "plotly" not in path.name
    ]
    assert sources
    for path in sources:
        assert re.findall(odd, path.read_text(encoding="utf-8"), re.IGNORECASE) == [], path.name
