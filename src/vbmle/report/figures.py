"""Regret against steps: one picture per world, as PNG and PDF.

Left the mean with its 95% band, and the median as a thin line: a few worlds make the mean. Right the reason:
what each trial lost in the end, a dot each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbmle.experiments.spec import folder_name
from vbmle.report import statistics
from vbmle.report.data import Runs, WorldRuns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which the colour-blind can tell apart; line style and marker say the same again.
STYLES = [
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#E69F00", (0, (5, 1)), "v"),
    ("#56B4E9", (0, (3, 1, 1, 1)), "P"),
    ("#000000", (0, (1, 1)), "X"),
]
POINTS = 250
"""Steps at which bands are computed: more cannot be seen."""

NOTHING = 1e-9
"""Regret below is called none."""

LOWEST_POWER = -3
"""The least power of ten that an axis resolves; below it lies 0."""


@dataclass(frozen=True)
class Picture:
    """A figure on disk, with what it shows in words."""

    png: Path
    caption: str


def write(worlds: Sequence[WorldRuns], folder: Path, name: str) -> list[Picture]:
    """Draw every world; returns the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for world in worlds:
        figure = draw(world)
        base = folder / f"{folder_name(name)}-{folder_name(world.label)}"
        for suffix, extra in ((".png", {"dpi": 160}), (".pdf", {"metadata": {"CreationDate": None}})):
            figure.savefig(base.with_suffix(suffix), **extra)
        caption = (
            f"{world.label}: {world.size}. Left: mean cumulative regret with the 95% interval of the mean, and the "
            f"median as a thin line. Right: what each trial lost in the end; the same place across is the same "
            f"world with the same luck."
        )
        pictures.append(Picture(base.with_suffix(".png"), caption))
    return pictures


def draw(world: WorldRuns) -> Figure:
    """The picture of one world."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    figure.suptitle(f"{world.label}: {world.size}, {world.planned} trials")
    for number, (agent, runs) in enumerate(world.agents.items()):
        style = STYLES[number % len(STYLES)]
        missing = len(runs.trials) < world.planned
        _curve(left, f"{agent} ({len(runs.trials)} trials)" if missing else agent, runs, style)
        _dots(right, number, runs, style)
    _finish_curves(left, world)
    columns = len(world.agents) + 2
    figure.legend(
        loc="outside lower center", ncols=min(columns, 5), frameon=False, fontsize="small", handlelength=3
    )
    _finish_dots(right, world)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
    return figure


def _curve(axes: Axes, label: str, runs: Runs, style: tuple[str, Any, str]) -> None:
    color, line, _ = style
    steps = runs.regret.shape[1]
    shown = np.unique(np.linspace(0, steps - 1, POINTS).astype(int))
    curves = runs.regret[:, shown]
    low, high = statistics.mean_band(curves, resamples=4000)
    axes.fill_between(shown + 1, low, high, color=color, alpha=0.13, linewidth=0)
    axes.plot(shown + 1, curves.mean(axis=0), color=color, linestyle=line, linewidth=2.2, label=label)
    axes.plot(shown + 1, np.median(curves, axis=0), color=color, linestyle=line, linewidth=0.9)


def _finish_curves(axes: Axes, world: WorldRuns) -> None:
    axes.plot([], [], color="0.4", linewidth=2.2, label="mean, 95% band")
    axes.plot([], [], color="0.4", linewidth=0.9, label="median")
    axes.set(xlabel="step t", ylabel="cumulative regret (units of reward)", xlim=(0, world.horizon))
    top = max(axes.get_ylim()[1], 10.0**LOWEST_POWER)
    axes.set_ylim(-0.02 * top, top)  # a median of 0 is not hidden by the axis


def _dots(axes: Axes, number: int, runs: Runs, style: tuple[str, Any, str]) -> None:
    color, _, marker = style
    # Golden-ratio places: spread out, and the same for the same trial, which can so be followed across agents.
    across = number + 0.56 * ((runs.trials * 0.618034) % 1.0 - 0.5)
    axes.plot(across, runs.final, marker, color=color, markersize=5, alpha=0.6, markeredgewidth=0)
    axes.plot([number - 0.34, number + 0.34], [runs.final.mean()] * 2, color=color, linewidth=2.5)


def _finish_dots(axes: Axes, world: WorldRuns) -> None:
    highest = max(float(runs.final.max()) for runs in world.agents.values())
    lowest = max(math.floor(math.log10(highest / 1000.0)) if highest > 0.0 else -99, LOWEST_POWER)
    linear, top = 10.0**lowest, max(3.0 * highest, 10.0 ** (lowest + 1))
    axes.set_yscale("symlog", linthresh=linear, linscale=0.5)
    axes.set_ylim(-0.3 * linear, top)
    powers = [10.0**power for power in range(lowest, math.floor(math.log10(top)) + 1)]
    axes.set_yticks([0.0, *powers], ["0", *(f"{power:g}" for power in powers)])
    axes.minorticks_off()
    axes.set_xticks(range(len(world.agents)), [_below(agent, runs) for agent, runs in world.agents.items()])
    axes.tick_params(axis="x", labelsize="small")
    axes.set_xlim(-0.6, len(world.agents) - 0.4)
    axes.set_title("a dot is one trial, a bar the mean", fontsize="small")
    axes.set_ylabel(f"regret at t = {world.horizon} (log scale)")


def _below(agent: str, runs: Runs) -> str:
    """The agent's name, and how often it lost nothing: dots at 0 lie on top of each other."""
    nothing = int((runs.final < NOTHING).sum())
    return agent.replace(" ", "\n", 1) + f"\n{nothing} of {len(runs.final)} at 0"
