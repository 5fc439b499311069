"""What the records say about the paper's five claims, each in one sentence with its interval and number of worlds.

    regret     VBMLE loses less than UCLK                     Figures 1a, 1b
    spread     its regret has an order of magnitude less spread    the table of standard deviations
    time       a step takes less time                         Table 1
    distance   its estimate is nearer to the truth            Figure 2a
    growth     regret grows no faster than d sqrt(T), up to logarithms    Theorem 2

A claim "holds" where the interval shows it at every size that the paper has, "does not hold" where one shows the
contrary, and is "open" otherwise. No number here is written by hand but the paper's own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vbmle.common.files import whole_or_absent
from vbmle.experiments.records import Results
from vbmle.experiments.stopping import Comparison
from vbmle.report import comparisons, published, ratios, statistics
from vbmle.report.headlines import headlines
from vbmle.report.statistics import Interval
from vbmle.report.tables import Row, text
from vbmle.report.world_runs import WorldRuns, by_world, sweeps

FILE, FORMAT = "verdicts.json", "vbmle-verdicts-1"
HOLDS, FAILS, OPEN = "holds", "does not hold", "open"
VBMLE, UCLK = "VBMLE", "UCLK"
CLAIMED = ("(3,2)", "(5,4)")
"""Sizes at which the paper has both agents."""

FEWEST_WORLDS = 20
"""Worlds behind an outcome: the paper's own number."""

ORDER = 10.0
"""An order of magnitude."""

THEOREM_T, THEOREM_D = 0.5, 1.0
"""Exponents of T and d in the theorem."""


@dataclass(frozen=True)
class Verdict:
    """One claim: what was found, the number of worlds behind it, and the rows that it sums up."""

    claim: str
    title: str
    outcome: str
    sentence: str
    estimate: float
    low: float
    high: float
    unit: str
    worlds: int
    details: list[Row] = field(default_factory=list)


def verdicts(results: Sequence[Results]) -> list[Verdict]:
    """Those of the five that there are records for, in the order above."""
    by_name = {found.experiment.name: found for found in results}
    made = []
    if "paper" in by_name:
        worlds = [world for world in by_world(by_name["paper"]) if {VBMLE, UCLK} <= set(world.agents)]
        made += [_regret(by_name["paper"]), _spread(worlds), _time(worlds)]
    if "distance" in by_name:
        made.append(_distance(by_world(by_name["distance"])))
    if "growth" in by_name:
        grown = by_name.get("growth-dimension")
        made.append(_growth(by_world(by_name["growth"]), by_world(grown) if grown else []))
    return [verdict for verdict in made if verdict is not None]


def write(folder: Path, found: Sequence[Verdict], decides: str = "") -> Path:
    """DIR/verdicts.json, with the sentence on what decides; what is no number becomes null."""
    path = folder / FILE
    plain = [_without_nan(asdict(verdict)) for verdict in found]
    kept = {"format": FORMAT, "verdicts": plain, "decides": decides}
    with whole_or_absent(path) as aside:
        aside.write_text(json.dumps(kept, indent=1, ensure_ascii=False))
    return path


def read(folder: Path) -> list[Verdict]:
    """What `write` kept; nothing where there is no file of this format."""
    found: list[dict[str, Any]] = _kept(folder).get("verdicts", [])
    numbers = ("estimate", "low", "high")
    return [Verdict(**verdict | {k: _number(verdict[k]) for k in numbers}) for verdict in found]


def lines(folder: Path) -> list[str]:
    """What `write` kept, a line for each claim and one for what decides."""
    told = [f"{verdict.title}: {verdict.outcome}. {verdict.sentence}" for verdict in read(folder)]
    decides = _kept(folder).get("decides", "")
    return told + ([f"What decides: {decides}"] if decides else [])


def _kept(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return kept if kept.get("format") == FORMAT else {}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Sentences


def _shown(found: Interval) -> str:
    """An estimate with its interval."""
    if math.isnan(found.low):
        return text(found.value)
    return f"{text(found.value)} [{text(found.low)}, {text(found.high)}]"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{'; '.join(parts[:-1])}; and {parts[-1]}"


def _times(what: str, found: Mapping[str, Interval], rows: Sequence[Row]) -> list[str]:
    """Ratios by world, each with its number of worlds; what they are ratios to is said once."""
    shown = [f"{_shown(ratio)} times" for ratio in found.values()]
    shown[0] += f" {what}"
    at = [f" at {row['world']} ({row['worlds']} worlds)" for row in rows]
    return [ratio + where for ratio, where in zip(shown, at, strict=True)]


def _outcome(holds: Sequence[bool], fails: Sequence[bool], worlds: int) -> str:
    """Open, whatever the intervals, from fewer than FEWEST_WORLDS worlds."""
    if worlds < FEWEST_WORLDS:
        return OPEN
    return FAILS if any(fails) else HOLDS if holds and all(holds) else OPEN


def _fewest(rows: Sequence[Row]) -> int:
    return min(int(row["worlds"] or 0) for row in rows)


def _ends(found: Interval, prefix: str = "") -> Row:
    return {prefix or "estimate": found.value, "low": found.low, "high": found.high}


# The claims


def _lost(found: Comparison) -> str:
    """How much more the rival loses, in words that say what is sure."""
    if found.outcome == "more":
        return f"{_shown(Interval(-found.value, -found.high, -found.low))} less than VBMLE"
    more = _shown(Interval(found.value, found.low, found.high))
    unsure = {"open": ", which may be nothing,", "the same": ", which is within a tenth of what they lose,"}
    return f"{more} more than VBMLE{unsure.get(found.outcome, '')}"


def _regret(results: Results) -> Verdict | None:
    """Paired differences, with intervals that hold whenever one stops."""
    found = headlines(results)
    against = {world: comparison for (world, rival), comparison in found.items() if rival == UCLK}
    if not against:
        return None
    parts = [f"{_lost(found)} at {world} ({found.trials} worlds)" for world, found in against.items()]
    claimed = [against[world] for world in CLAIMED if world in against]
    first = next(iter(against.values()))
    rows: list[Row] = [
        {
            "world": world,
            "rival": rival,
            "worlds": comparison.trials,
            "VBMLE loses": comparison.mean,
            "rival loses": comparison.rival_mean,
            "difference": comparison.value,
            "low": comparison.low,
            "high": comparison.high,
            "VBMLE loses less, more or the same": comparison.outcome,
        }
        for (world, rival), comparison in found.items()
    ]
    return Verdict(
        "regret",
        "Regret against UCLK",
        _outcome(
            [c.outcome == "less" for c in claimed],
            [c.outcome == "more" for c in claimed],
            min((c.trials for c in claimed), default=0),
        ),
        f"Within {results.experiment.horizon} steps UCLK loses {_joined(parts)}.",
        *(first.value, first.low, first.high),
        "units of reward",
        sum(comparison.trials for comparison in against.values()),
        rows,
    )


def _spread(worlds: Sequence[WorldRuns]) -> Verdict | None:
    """Ratios of standard deviations over worlds."""
    found: dict[str, Interval] = {}
    rows: list[Row] = []
    count = 0
    for world in worlds:
        ours, theirs = world.paired(VBMLE, UCLK)
        ratio = ratios.spread(ours, theirs)
        if math.isnan(ratio.value):
            continue
        found[world.label], count = ratio, count + len(ours)
        printed = published.of_world(world.experiment, world.label)
        row: Row = {"world": world.label, "worlds": len(ours), "VBMLE": statistics.std(ours)}
        row |= {"UCLK": statistics.std(theirs), **_ends(ratio, "ratio")}
        for agent in (VBMLE, UCLK):
            row[f"{agent}, printed"] = printed[agent].std if agent in printed else None
        rows.append(row)
    if not found:
        return None
    parts = _times("the standard deviation of VBMLE's", found, rows)
    claimed = [found[world] for world in CLAIMED if world in found]
    first = next(iter(found.values()))
    return Verdict(
        "spread",
        "Spread against UCLK",
        _outcome([r.low >= ORDER for r in claimed], [r.high < ORDER for r in claimed], _fewest(rows)),
        f"UCLK's regret has {_joined(parts)}; {_order(found)}.",
        *(first.value, first.low, first.high),
        "ratio of standard deviations",
        count,
        rows,
    )


def _order(found: Mapping[str, Interval]) -> str:
    """Whether less spread is sure, and an order of magnitude."""
    less = "sure everywhere" if all(ratio.low > 1.0 for ratio in found.values()) else "not sure everywhere"
    sure = [world for world, ratio in found.items() if ratio.low >= ORDER]
    excluded = [world for world, ratio in found.items() if ratio.high < ORDER]
    if sure or excluded:
        parts = [f"{word} at {', '.join(at)}" for word, at in (("sure", sure), ("excluded", excluded)) if at]
        return f"less spread is {less}, an order of magnitude {' and '.join(parts)}"
    return f"less spread is {less}, an order of magnitude is neither sure nor excluded"


def _time(worlds: Sequence[WorldRuns]) -> Verdict | None:
    """Ratios of seconds per step in the same worlds, on this machine."""
    found: dict[str, Interval] = {}
    rows: list[Row] = []
    count = 0
    for world in worlds:
        shared = world.shared(VBMLE, UCLK)
        times = [world.agents[a].seconds_of(shared) for a in (VBMLE, UCLK)]
        ratio = ratios.geometric(*times)
        if math.isnan(ratio.value):
            continue
        found[world.label], count = ratio, count + len(shared)
        printed = published.of_world(world.experiment, world.label)
        row: Row = {"world": world.label, "worlds": len(shared)}
        row |= {"VBMLE, s/step": float(times[0].mean()), "UCLK, s/step": float(times[1].mean())}
        row |= {**_ends(ratio, "ratio")}
        for agent in (VBMLE, UCLK):
            row[f"{agent}, printed"] = printed[agent].seconds_per_step if agent in printed else None
        rows.append(row)
    if not found:
        return None
    parts = _times("as long as one of VBMLE", found, rows)
    first = next(iter(found.values()))
    return Verdict(
        "time",
        "Time per step",
        _outcome(
            [r.low > 1.0 for r in found.values()], [r.high < 1.0 for r in found.values()], _fewest(rows)
        ),
        f"With the solvers of this package a step of UCLK takes {_joined(parts)}.",
        *(first.value, first.low, first.high),
        "ratio of seconds",
        count,
        rows,
    )


def _distance(worlds: Sequence[WorldRuns]) -> Verdict | None:
    """Squared distances from the truth after the last step, UCLK's nearest theta over VBMLE's."""
    for world in worlds:
        both = {VBMLE, UCLK} <= set(world.agents)
        if not both or any("distance" not in world.agents[agent].columns for agent in (VBMLE, UCLK)):
            continue
        shared = world.shared(VBMLE, UCLK)
        ours = world.agents[VBMLE].last("distance", shared)
        rows: list[Row] = []
        for name, column in (("nearest theta(s,a)", "distance"), ("mean over (s,a)", "distance_mean")):
            if column in world.agents[UCLK].columns:
                ratio = ratios.geometric(ours, world.agents[UCLK].last(column, shared))
                rows.append(
                    {"world": world.label, "UCLK's": name, "worlds": len(shared), **_ends(ratio, "ratio")}
                )
        nearest = ratios.geometric(ours, world.agents[UCLK].last("distance", shared))
        if math.isnan(nearest.value):
            continue
        mean = rows[-1]
        every = Interval(*(float(mean[key] or 0.0) for key in ("ratio", "low", "high")))
        return Verdict(
            "distance",
            "Distance of theta from the truth",
            _outcome([nearest.low > 1.0], [nearest.high < 1.0], len(shared)),
            f"After {world.horizon} steps at {world.label} the squared distance from theta* of UCLK's nearest "
            f"theta(s,a) is {_shown(nearest)} times that of VBMLE's theta, and the mean over (s,a) "
            f"{_shown(every)} times (geometric means over {len(shared)} worlds).",
            *(nearest.value, nearest.low, nearest.high),
            "ratio of squared distances",
            len(shared),
            rows,
        )
    return None


def _growth(worlds: Sequence[WorldRuns], dimensions: Sequence[WorldRuns]) -> Verdict | None:
    """Local exponents of mean regret over the last tenfold of T, beside 1/2; in d, beside 1."""
    rows: list[Row] = []
    last: dict[str, Interval] = {}
    count = 0
    for world in worlds:
        for agent, runs in world.agents.items():
            until = world.horizon
            while until >= 100:
                found = ratios.local_exponent(runs.steps, runs.regret, until)
                row: Row = {"world": world.label, "agent": agent, "worlds": len(runs.trials), "in": "T"}
                rows.append(
                    row | {"from": until // 10, "to": until, **_ends(found, "exponent"), "theorem": THEOREM_T}
                )
                if (
                    until == world.horizon
                    and agent == next(iter(world.agents))
                    and not math.isnan(found.value)
                ):
                    last[world.label], count = found, count + len(runs.trials)
                until //= 10
    if not last:
        return None
    in_d = _in_dimension(dimensions)
    rows += in_d
    agent = next(iter(worlds[0].agents))
    parts = [f"T^{_shown(found)} on the {label}" for label, found in last.items()]
    first_in_d = [row for row in in_d if row["agent"] == agent and not math.isnan(_of(row).value)]
    more = [
        f"d^{_shown(_of(row))} on the {row['world']} ({row['from']} to {row['to']})" for row in first_in_d
    ]
    sentence = (
        f"Over the last tenfold of {worlds[0].horizon:,} steps the mean regret of {agent} grows as {_joined(parts)} "
        f"({count} worlds; the theorem allows T^0.5 up to logarithms)"
    )
    if more:
        sentence += f", and in {dimensions[0].horizon:,} steps with d as {_joined(more)}, where it allows d^1"
    first = next(iter(last.values()))
    within = [found.high <= THEOREM_T for found in last.values()]
    within += [_of(row).high <= THEOREM_D for row in first_in_d]
    return Verdict(
        "growth",
        "Growth with T and d",
        _outcome(within, [], _fewest(rows)),
        sentence + ".",
        *(first.value, first.low, first.high),
        "exponent of T",
        count,
        rows,
    )


def _of(row: Row) -> Interval:
    return Interval(*(float(row[key] or 0.0) for key in ("exponent", "low", "high")))


def _in_dimension(worlds: Sequence[WorldRuns]) -> list[Row]:
    """Exponents of mean regret in d, for each family of worlds and agent."""
    rows: list[Row] = []
    for sweep in sweeps(worlds, "dimension"):
        for agent in sweep.worlds[0].agents:
            lost = [world.agents[agent].final for world in sweep.worlds if agent in world.agents]
            if len(lost) < len(sweep.worlds):
                continue
            found = comparisons.trend(sweep.values, lost)
            row: Row = {"world": sweep.worlds[0].label.split(",")[0], "agent": agent}
            row |= {
                "worlds": sum(map(len, lost)),
                "in": "d",
                "from": int(sweep.values[0]),
                "to": int(sweep.values[-1]),
            }
            rows.append(row | {**_ends(found, "exponent"), "theorem": THEOREM_D})
    return rows
