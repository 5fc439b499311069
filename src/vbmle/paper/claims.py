"""What the records say about the paper's five claims: a card for each, and DIR/verdicts.json.

    regret     VBMLE has lower regret than UCLK                      Figures 1a, 1b
    spread     its regret has an order of magnitude less spread      the table of standard deviations
    time       a step takes less time                                Table 1
    distance   its estimate is nearer to the truth                   Figure 2a
    growth     regret grows no faster than d sqrt(T), up to logarithms    Theorem 2

A claim "holds" where the interval shows it at every size that the paper has, "does not hold" where one shows the
contrary, and is "undecided" otherwise. Differences and ratios are of the rival and VBMLE: above 0, or 1, VBMLE is
better. No number here is written by hand but the paper's own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vbmle.common import statistics
from vbmle.common.files import whole_or_absent
from vbmle.common.statistics import Interval
from vbmle.paper import published
from vbmle.paper.suite import UCLK, VBMLE
from vbmle.plot.panels import Panel, Series
from vbmle.report import runs, significance, tables
from vbmle.report.charts import REGRET, Chart, row
from vbmle.report.runs import Part, WorldRuns
from vbmle.report.sections import Card, Number, Run
from vbmle.report.significance import Difference
from vbmle.report.tables import Row, Table, column, text
from vbmle.report.words import count, join

FILE, FORMAT = "verdicts.json", "vbmle-verdicts-2"
HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"
CLAIMED = ("(3,2)", "(5,4)")
"""Sizes at which the paper has both agents."""

FEWEST_WORLDS = 20
"""Worlds behind an outcome: the paper's own number."""

ORDER = 10.0
"""An order of magnitude."""

THEOREM_T, THEOREM_D = 0.5, 1.0
"""Exponents of T and d in the theorem."""

FILES = {"claim-time": "table-1", "claim-spread": "table-spread"}
"""What the tables are called that the paper prints, by the card they are on."""

TIMES = "\N{MULTIPLICATION SIGN}"

FAR = 30.0
"""Ratios get a logarithmic axis where the largest is this many times the smallest."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """One claim: what was found, the number of worlds behind it, and the rows that it sums up."""

    claim: str
    title: str
    outcome: str
    sentence: str
    estimate: Interval
    unit: str
    worlds: int
    rows: Sequence[Row]
    lines: Sequence[Series]
    """What its figure shows: a row for each estimate."""
    axis: str
    mark: float
    """What an estimate is compared with."""
    number: Number | None = None
    """The estimate as the card shows it."""
    note: str = ""


def _number(found: Sequence[tuple[str, Interval]], about: str, unit: str = "") -> Number | None:
    """The first estimate that has an interval, with its world."""
    for world, estimate in found:
        if estimate.known:
            return Number(f"{text(estimate.value)}{unit}", f"{about} {world}", tables.ends(estimate))
    return None


# The rows of their tables


@dataclass(frozen=True)
class RegretRow(Row):
    world: str = column("world")
    rival: str = column("rival")
    worlds: int = column("worlds")
    mean: float = column("VBMLE")
    rival_mean: float = column("rival", words=False)
    difference: Interval = column("rival minus VBMLE")
    outcome: str = column("the rival is")


@dataclass(frozen=True)
class RatioRow(Row):
    """UCLK beside VBMLE: a ratio of standard deviations or of seconds, beside the printed numbers."""

    world: str = column("world")
    worlds: int = column("worlds")
    vbmle: float = column("VBMLE")
    uclk: float = column("UCLK")
    ratio: Interval = column("ratio")
    vbmle_printed: str | None = column("VBMLE, printed", words=False)
    uclk_printed: str | None = column("UCLK, printed", words=False)


@dataclass(frozen=True)
class DistanceRow(Row):
    world: str = column("world")
    which: str = column("UCLK's")
    worlds: int = column("worlds")
    ratio: Interval = column("ratio")


@dataclass(frozen=True)
class GrowthRow(Row):
    world: str = column("world")
    agent: str = column("agent")
    worlds: int = column("worlds")
    grows_in: str = column("in")
    start: int = column("from")
    end: int = column("to")
    exponent: Interval = column("exponent")
    theorem: float = column("theorem")


# The claims


def verdicts(run: Run) -> list[Verdict]:
    """Those of the five that there are records for, in the order above."""
    found: list[Verdict | None] = []
    part = run.part("paper")
    if part is not None:
        worlds = [world for world in part.worlds if world.has(VBMLE, UCLK)]
        found += [_regret(part), _spread(worlds), _time(worlds)]
    found += [
        _distance(run.worlds("distance")),
        _growth(run.worlds("growth"), run.worlds("growth-dimension")),
    ]
    return [verdict for verdict in found if verdict is not None]


def _outcome(holds: Sequence[bool], fails: Sequence[bool], worlds: int) -> str:
    """Undecided, whatever the intervals, from fewer than FEWEST_WORLDS worlds."""
    if worlds < FEWEST_WORLDS:
        return OPEN
    return FAILS if any(fails) else HOLDS if holds and all(holds) else OPEN


def _at(found: Sequence[tuple[str, Interval, int]], unit: str = "") -> str:
    """Estimates by world, each with its number of worlds."""
    parts = []
    for label, estimate, worlds in found:
        few = ", too few to compare" if not estimate.known else ""
        parts.append(f"{text(estimate.value)}{unit} at {label} ({count(worlds, 'world')}{few})")
    return join(parts)


def _regret(part: Part) -> Verdict | None:
    """Paired differences of all rivals; the claim is about UCLK."""
    found: list[tuple[str, Difference]] = []
    for world in part.worlds:
        stop = world.stop
        rivals = [
            agent for agent in world.agents if agent != VBMLE and (stop is None or agent in stop.rivals)
        ]
        gaps = [significance.difference(world, rival, VBMLE) for rival in rivals]
        found += [(world.label, gap) for gap in gaps if gap is not None]
    against = {world: gap for world, gap in found if gap.agent == UCLK}
    if not against:
        return None
    words = {"worse": "worse", "better": "better", "the same": "the same", "open": "undecided"}
    rows = [
        RegretRow(
            world,
            gap.agent,
            gap.trials,
            gap.against_mean,
            gap.mean,
            gap.found,
            words.get(gap.outcome, gap.outcome),
        )
        for world, gap in found
    ]
    claimed = [against[world] for world in CLAIMED if world in against]
    steps = part.experiment.horizon
    told = _at([(world, gap.found, gap.trials) for world, gap in against.items()])
    return Verdict(
        "regret",
        "VBMLE has lower regret than UCLK",
        _outcome(
            [gap.outcome == "worse" for gap in claimed],
            [gap.outcome == "better" for gap in claimed],
            min((gap.trials for gap in claimed), default=0),
        ),
        f"Mean regret of UCLK minus that of VBMLE within {steps} steps: {told}.",
        next(iter(against.values())).found,
        "units of reward",
        sum(gap.trials for gap in against.values()),
        rows,
        [row(UCLK, world, gap.found, world) for world, gap in against.items() if gap.found.known],
        "UCLK's mean regret minus VBMLE's",
        0.0,
        _number(
            [(world, gap.found) for world, gap in against.items()], "UCLK's mean regret minus VBMLE's at"
        ),
        "Right of 0 VBMLE is better.",
    )


def _spread(worlds: Sequence[WorldRuns]) -> Verdict | None:
    """Ratios of standard deviations over worlds."""
    rows = []
    for world in worlds:
        theirs, ours = world.paired(UCLK, VBMLE)
        ratio = significance.spread(theirs, ours)
        if not math.isnan(ratio.value):
            mine, other = statistics.std(ours), statistics.std(theirs)
            rows.append(RatioRow(world.label, len(ours), mine, other, ratio, *_printed(world, "std")))
    if not rows:
        return None
    claimed = [one.ratio for one in rows if one.world in CLAIMED]
    return Verdict(
        "spread",
        "VBMLE's regret varies ten times less than UCLK's",
        _outcome(
            [r.low >= ORDER for r in claimed],
            [r.high < ORDER for r in claimed],
            min(one.worlds for one in rows),
        ),
        f"The standard deviation of UCLK's regret is {_at(_ratios(rows), ' times')} that of VBMLE's. {_order(rows)}",
        rows[0].ratio,
        "ratio of standard deviations",
        sum(one.worlds for one in rows),
        rows,
        [row("", one.world, one.ratio, one.world) for one in rows if one.ratio.known],
        "UCLK's standard deviation over VBMLE's",
        1.0,
        _number([(one.world, one.ratio) for one in rows], "UCLK's standard deviation over VBMLE's at", TIMES),
    )


def _order(rows: Sequence[RatioRow]) -> str:
    """Whether there is less spread, and by an order of magnitude."""
    known = [one for one in rows if one.ratio.known]
    if not known:
        return "There are too few worlds to compare."
    everywhere = all(one.ratio.low > 1.0 for one in known)
    told = "It is larger in every world" if everywhere else "It is not clearly larger in every world"
    shown = [one.world for one in known if one.ratio.low >= ORDER]
    ruled_out = [one.world for one in known if one.ratio.high < ORDER]
    parts = [f"{word} at {join(at)}" for word, at in (("shown", shown), ("ruled out", ruled_out)) if at]
    return (
        f"{told}; whether ten times, the data cannot say."
        if not parts
        else f"{told}; ten times is {join(parts)}."
    )


def _time(worlds: Sequence[WorldRuns]) -> Verdict | None:
    """Ratios of seconds per step in the same worlds, on this machine."""
    rows = []
    for world in worlds:
        shared = world.shared(VBMLE, UCLK)
        ours, theirs = (world.agents[agent].seconds_of(shared) for agent in (VBMLE, UCLK))
        ratio = significance.times(theirs, ours)
        if not math.isnan(ratio.value):
            mine, other = (float(np.exp(np.log(taken).mean())) for taken in (ours, theirs))
            printed = _printed(world, "seconds_per_step")
            rows.append(RatioRow(world.label, len(shared), mine, other, ratio, *printed))
    if not rows:
        return None
    return Verdict(
        "time",
        "A step of VBMLE takes less time than one of UCLK",
        _outcome(
            [one.ratio.low > 1.0 for one in rows],
            [one.ratio.high < 1.0 for one in rows],
            min(one.worlds for one in rows),
        ),
        f"A step of UCLK takes {_at(_ratios(rows), ' times')} as long as one of VBMLE, with the "
        "solvers of this package.",
        rows[0].ratio,
        "ratio of seconds",
        sum(one.worlds for one in rows),
        rows,
        [row("", one.world, one.ratio, one.world) for one in rows if one.ratio.known],
        "UCLK's seconds per step over VBMLE's, geometric mean",
        1.0,
        _number([(one.world, one.ratio) for one in rows], "UCLK's seconds per step over VBMLE's at", TIMES),
    )


def _ratios(rows: Sequence[RatioRow]) -> list[tuple[str, Interval, int]]:
    return [(one.world, one.ratio, one.worlds) for one in rows]


def _printed(world: WorldRuns, what: str) -> tuple[str | None, str | None]:
    """The paper's numbers for VBMLE and UCLK."""
    ours, theirs = (published.FIGURES.get((world.label, agent)) for agent in (VBMLE, UCLK))
    return getattr(ours, what, None), getattr(theirs, what, None)


def _distance(worlds: Sequence[WorldRuns]) -> Verdict | None:
    """Squared distances from the truth after the last step, UCLK's nearest theta over VBMLE's."""
    for world in worlds:
        if not world.has(VBMLE, UCLK):
            continue
        agents, shared = world.agents, world.shared(VBMLE, UCLK)
        if any("distance" not in agents[agent].columns for agent in (VBMLE, UCLK)):
            continue
        ours = agents[VBMLE].last("distance", shared)
        rows = [
            DistanceRow(
                world.label, name, len(shared), significance.times(agents[UCLK].last(key, shared), ours)
            )
            for name, key in (("nearest θ(s,a)", "distance"), ("mean over (s,a)", "distance_mean"))
            if key in agents[UCLK].columns
        ]
        nearest, mean = rows[0].ratio, rows[-1].ratio
        if math.isnan(nearest.value):
            continue
        few = "; too few to compare" if not nearest.known else ""
        return Verdict(
            "distance",
            "VBMLE's estimate is nearer the truth than UCLK's",
            _outcome([nearest.low > 1.0], [nearest.high < 1.0], len(shared)),
            f"After {world.horizon} steps at {world.label} the squared distance from θ* of UCLK's nearest "
            f"θ(s,a) is {text(nearest)} times that of VBMLE's θ, and the mean over (s,a) {text(mean)} times "
            f"(geometric means over {count(len(shared), 'world')}{few}).",
            nearest,
            "ratio of squared distances",
            len(shared),
            rows,
            [row(UCLK, f"{one.world}, {one.which}", one.ratio, one.world) for one in rows if one.ratio.known],
            "UCLK's squared distance over VBMLE's",
            1.0,
            _number([(world.label, nearest)], "UCLK's squared distance over VBMLE's at", TIMES),
        )
    return None


def _growth(worlds: Sequence[WorldRuns], dimensions: Sequence[WorldRuns]) -> Verdict | None:
    """Local exponents of mean regret over the last tenfold of T, beside 1/2; in d, beside 1."""
    in_t, in_d = _in_time(worlds), _in_dimension(dimensions)
    agent = worlds[0].reference if worlds else ""
    last = [one for one in in_t if one.agent == agent and one.end == worlds[0].horizon and _known(one)]
    if not last:
        return None
    first_in_d = [one for one in in_d if one.agent == agent and _known(one)]
    rows = [*in_t, *in_d]
    told = join([f"T^{text(one.exponent)} on the {one.world}" for one in last])
    more = join(
        [f"d^{text(one.exponent)} on the {one.world} ({one.start} to {one.end})" for one in first_in_d]
    )
    sentence = (
        f"Over the last tenfold of {worlds[0].horizon:,} steps the mean regret of {agent} grows as {told} (the theorem "
        "allows T^0.5 up to logarithms)"
    )
    if more:
        sentence += (
            f". In {dimensions[0].horizon:,} steps it grows with d as {more}, where the theorem allows d^1"
        )
    within = [one.exponent.high <= one.theorem for one in (*last, *first_in_d)]
    shown = [
        one for one in rows if (one.grows_in == "d" or one.end == worlds[0].horizon) and one.exponent.known
    ]
    return Verdict(
        "growth",
        "Regret grows no faster than d √T",
        _outcome(within, [], min(one.worlds for one in rows)),
        f"{sentence}.",
        last[0].exponent,
        "exponent of T",
        sum(one.worlds for one in last),
        rows,
        [
            row(one.agent, f"{one.world}, {one.agent}, {one.grows_in}", one.exponent, one.world)
            for one in shown
        ],
        "exponent",
        THEOREM_T,
        _number(
            [(one.world, one.exponent) for one in last], "exponent of T, which the theorem has as 0.5, on the"
        ),
        "In T: over its last tenfold. Dotted: 1/2, the theorem's exponent of T; that of d is 1.",
    )


def _known(one: GrowthRow) -> bool:
    return not math.isnan(one.exponent.value)


def _in_time(worlds: Sequence[WorldRuns]) -> list[GrowthRow]:
    """Local exponents over each tenfold of T, the last one first."""
    rows = []
    for world in worlds:
        for agent, found in world.agents.items():
            until = world.horizon
            while until >= 100:
                exponent = statistics.local_exponent(found.steps, found.regret, until)
                size = (len(found.trials), "T", until // 10, until)
                rows.append(GrowthRow(world.label, agent, *size, exponent, THEOREM_T))
                until //= 10
    return rows


def _in_dimension(worlds: Sequence[WorldRuns]) -> list[GrowthRow]:
    """Exponents of mean regret in d, for each family of worlds and agent."""
    rows = []
    for sweep in runs.sweeps(worlds, "dimension"):
        for agent in sweep.worlds[0].agents:
            lost = [world.agents[agent].final for world in sweep.worlds if agent in world.agents]
            if len(lost) == len(sweep.worlds):
                size = (sum(map(len, lost)), "d", int(sweep.values[0]), int(sweep.values[-1]))
                label, exponent = sweep.worlds[0].label.split(",")[0], statistics.trend(sweep.values, lost)
                rows.append(GrowthRow(label, agent, *size, exponent, THEOREM_D))
    return rows


# On the page


def card(verdict: Verdict) -> Card:
    """A claim with its outcome, its figure and its table."""
    title = f"{verdict.title}: by world"
    caption = f"{verdict.title}. {verdict.sentence}"
    if verdict.claim in ("regret", "spread", "growth"):
        caption += f" {REGRET}"
    key = f"claim-{verdict.claim}"
    listed = [Table(FILES.get(key, key), title, "", caption, verdict.rows)] if verdict.rows else []
    return Card(
        key,
        verdict.title,
        verdict.sentence,
        _forest(verdict),
        tables=listed,
        outcome=verdict.outcome,
        number=verdict.number,
        chapter="claims",
    )


def _forest(verdict: Verdict) -> Chart | None:
    if not verdict.lines:
        return None
    ends = [
        verdict.mark,
        *(float(end[0]) for line in verdict.lines for end in (line.low, line.high) if end is not None),
    ]
    places = [float(line.x[0]) for line in verdict.lines]
    panel = Panel(
        *("forest", "", verdict.axis, "", verdict.lines),
        x_scale="symlog" if verdict.mark == 1.0 and max(places) > FAR else "linear",
        mark=verdict.mark,
        x_range=(float(np.min(ends)), float(np.max(ends))),
    )
    caption = f"{verdict.title}: estimates with 95% intervals; dotted: {verdict.mark:g}. {verdict.sentence}"
    return Chart(f"claim-{verdict.claim}", "claim", verdict.title, verdict.note, caption, [panel])


# On disk and on the terminal


def write(folder: Path, found: Sequence[Verdict], decides: str = "") -> Path:
    """DIR/verdicts.json, with the sentence on what decides; what is no number becomes null."""
    path = folder / FILE
    kept = {"format": FORMAT, "verdicts": [_kept(verdict) for verdict in found], "decides": decides}
    with whole_or_absent(path) as aside:
        aside.write_text(json.dumps(_without_nan(kept), indent=1, ensure_ascii=False))
    return path


def _kept(verdict: Verdict) -> dict[str, Any]:
    words = {
        key: getattr(verdict, key) for key in ("claim", "title", "outcome", "sentence", "unit", "worlds")
    }
    estimate = verdict.estimate
    numbers = {"estimate": estimate.value, "low": estimate.low, "high": estimate.high}
    return words | numbers | {"details": [tables.plain(one) for one in verdict.rows]}


def lines(folder: Path) -> list[str]:
    """What `write` kept, a line for each claim and one for what decides; nothing where there is no file of
    this format."""
    path = folder / FILE
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if kept.get("format") != FORMAT:
        return []
    told = [
        f"{verdict['title']}: {verdict['outcome']}. {verdict['sentence']}" for verdict in kept["verdicts"]
    ]
    return told + ([f"What decides: {kept['decides']}"] if kept["decides"] else [])


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
