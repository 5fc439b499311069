"""What a decision costs, over sizes of models: `vbmle bench --surface`.

Each cell is a kind of model with S states and d base models at gamma = .99; each agent plays it in a process of its
own, so that memory is its own, too. What is measured: processor time of the first decision (the making of the agent
included) and of a step, and memory beyond the model, in multiples of the features. Beside them stands the floor: p at a
theta, V* from nothing and its gradient, the least that any method must do once.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.large_models import forget_peak, peak
from vbmle.agents.information_directed import InformationDirected
from vbmle.agents.informed_vbmle import recommended
from vbmle.agents.psrl import PSRL
from vbmle.agents.vbmle import VBMLE
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning.planner import make_planner

DISCOUNT, ACTIONS, SUCCESSORS = 0.99, 4, 6
STEPS, SECONDS = 200, 20.0
"""Steps that are played, and the processor seconds after which no further one is begun."""

LIMIT = 150.0
"""Seconds after which a cell is given up."""

AGENTS: dict[str, Callable[[LinearMixtureMDP], Any]] = {
    "VBMLE": VBMLE,
    "recommended": recommended,
    "PSRL": PSRL,
    "InformationDirected": InformationDirected,
}


@dataclass(frozen=True)
class Cell:
    """A model: its kind, and how large it is."""

    kind: str
    states: int
    dimension: int

    def __str__(self) -> str:
        return f"{self.kind} S={self.states:,} d={self.dimension}"


CELLS = [
    *(Cell("dense", 100, d) for d in (5, 20)),
    *(Cell("dense", 500, d) for d in (5, 60)),
    Cell("dense", 2_000, 2),
    Cell("inventory", 500, 5),
    *(Cell("grid", 1_024, d) for d in (3, 20)),
    Cell("grid", 10_000, 20),
    *(Cell("sparse", 10_000, d) for d in (5, 20)),
    *(Cell("sparse", 100_000, d) for d in (2, 5, 20)),
]
QUICK = [Cell("dense", 40, 3), Cell("grid", 64, 3)]


@dataclass(frozen=True)
class Cost:
    """What an agent costs in a cell: processor seconds, and bytes."""

    cell: str
    agent: str
    floor: float
    first: float
    step: float
    steps: int
    decisions: int
    memory: float
    """Beyond the model, in multiples of its features; 0 where the system cannot tell."""


def make(cell: Cell) -> World:
    """The world of a cell."""
    rng = np.random.default_rng(np.random.SeedSequence([cell.states, cell.dimension]))
    kinds = {"dense": _dense, "inventory": _inventory, "grid": _grid, "sparse": _sparse}
    models, reward = kinds[cell.kind](cell, rng)
    mdp = LinearMixtureMDP.from_models(models, reward, DISCOUNT)
    return World(mdp, rng.dirichlet(np.ones(cell.dimension)))


def _dense(cell: Cell, rng: np.random.Generator) -> tuple[list[Any], Any]:
    size = (cell.states, ACTIONS)
    return [rng.dirichlet(np.full(cell.states, 0.3), size) for _ in range(cell.dimension)], rng.random(size)


def _sparse(cell: Cell, rng: np.random.Generator) -> tuple[list[Any], Any]:
    pairs = cell.states * ACTIONS
    at = (np.repeat(np.arange(pairs), SUCCESSORS), rng.integers(0, cell.states, pairs * SUCCESSORS))
    draw = partial(rng.dirichlet, np.ones(SUCCESSORS), pairs)
    models = [
        sparse.csr_array((draw().ravel(), at), shape=(pairs, cell.states)) for _ in range(cell.dimension)
    ]
    return models, rng.random((cell.states, ACTIONS))


def _grid(cell: Cell, rng: np.random.Generator) -> tuple[list[Any], Any]:
    """Four moves that slip in ways to be learnt; what is worth having is in a corner."""
    side, s = round(cell.states**0.5), np.arange(cell.states)
    row, column = np.divmod(s, side)
    moves = ((-1, 0), (1, 0), (0, -1), (0, 1))
    there = [np.clip(row + a, 0, side - 1) * side + np.clip(column + b, 0, side - 1) for a, b in moves]
    models = []
    for _ in range(cell.dimension):
        slip = 0.4 * rng.dirichlet(np.full(4, 0.5), ACTIONS) + 0.6 * np.eye(ACTIONS)
        parts = [
            sparse.csr_array(
                (np.full(len(s), slip[a, b]), (s * ACTIONS + a, there[b])), (len(s) * ACTIONS, len(s))
            )
            for a in range(ACTIONS)
            for b in range(ACTIONS)
        ]
        models.append(sparse.csr_array(sum(parts[1:], parts[0])))
    reward = 0.01 * rng.random((cell.states, ACTIONS))
    reward[-1] = 1.0
    return models, reward


def _inventory(cell: Cell, rng: np.random.Generator) -> tuple[list[Any], Any]:
    """Stock up to S - 1, ten sizes of order, and demand that is one of d bells, or between them."""
    stock, order = np.arange(cell.states), np.arange(10) * max(1, cell.states // 20)
    filled = np.minimum(stock[:, None] + order, cell.states - 1)
    models = []
    for mean in cell.states * np.linspace(0.05, 0.25, cell.dimension):
        demand = np.exp(-0.5 * ((stock - mean) / (0.3 * mean + 1.0)) ** 2)
        left = filled[:, :, None] - stock
        P = np.where(left > 0, (demand / demand.sum())[np.clip(left, 0, None)], 0.0)
        P[:, :, 0] = 1.0 - P[:, :, 1:].sum(axis=2)
        models.append(np.take(P, stock, axis=2))
    held, ordered = stock[:, None] / cell.states, np.arange(10) / 10
    return models, 0.8 - 0.5 * held - 0.3 * ordered + 0.2 * (filled > 0.15 * cell.states)


def measure(cell: Cell, agent: str, steps: int = STEPS) -> Cost:
    """Plays a cell, in this process."""
    clock = time.process_time
    world = make(cell)
    mdp = world.mdp
    planner = make_planner(mdp)
    planner.put(theta=mdp.polytope.interior)
    begun = clock()
    planner.floor(0)
    floor = clock() - begun
    del planner
    held = forget_peak()
    begun = clock()
    one = AGENTS[agent](mdp)
    luck = np.random.default_rng(7)
    state = world.first_state(luck.random())
    action = one.act(state)
    first, begun, played = clock() - begun, clock(), 0
    while played < steps and clock() - begun < SECONDS:
        following = world.next_state(state, action, luck.random())
        one.observe(state, action, following)
        state, action, played = following, one.act(following), played + 1
    step = (clock() - begun) / max(1, played)
    phi: Any = mdp.transitions.phi
    features = phi.data.nbytes
    return Cost(str(cell), agent, floor, first, step, played, one.decisions, (peak() - held) / features)


def run(folder: Path, quick: bool, say: Callable[[str], None] = print) -> list[Cost]:
    """Measures every cell, each agent in a process of its own, and writes surface.csv and surface.png."""
    costs = []
    for cell in QUICK if quick else CELLS:
        for agent in AGENTS:
            found = _apart(cell, agent, 5 if quick else STEPS)
            say(_line(cell, agent, found))
            costs += [found] if found else []
    with (folder / "surface.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([field.name for field in fields(Cost)])
        table.writerows(astuple(cost) for cost in costs)
    draw(costs).savefig(folder / "surface.png", dpi=150)
    return costs


def _apart(cell: Cell, agent: str, steps: int) -> Cost | None:
    """A cell in another process; None where that takes too long."""
    told = [cell.kind, str(cell.states), str(cell.dimension), agent, str(steps)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.surface", *told],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None
    return Cost(**json.loads(done.stdout))


def _line(cell: Cell, agent: str, cost: Cost | None) -> str:
    if cost is None:
        return f"{cell!s:28} {agent:20} not within {LIMIT:g} s"
    decisions = f"{cost.decisions} decisions in {cost.steps} steps"
    return (
        f"{cell!s:28} {agent:20} first {1e3 * cost.first:8.1f} ms, a step {1e3 * cost.step:8.2f} ms, {decisions}; "
        f"memory {cost.memory:.2f} times the features"
    )


def draw(costs: list[Cost]) -> Any:
    """Cells by agents, coloured by milliseconds: of the first decision, and of a step."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    cells = list(dict.fromkeys(cost.cell for cost in costs))
    agents = list(dict.fromkeys(cost.agent for cost in costs))
    figure = Figure(figsize=(9.0, 1.4 + 0.34 * len(cells)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    scale = LogNorm(0.1, 1e4)
    for axes, what, title in zip(panels, ("first", "step"), ("first decision", "a step"), strict=True):
        table = np.full((len(cells), len(agents)), np.nan)
        for cost in costs:
            table[cells.index(cost.cell), agents.index(cost.agent)] = 1e3 * getattr(cost, what)
        image = axes.imshow(table, norm=scale, cmap="cividis", aspect="auto")
        for (i, j), value in np.ndenumerate(table):
            ink = "black" if value > 30.0 or np.isnan(value) else "white"
            axes.text(
                j,
                i,
                "-" if np.isnan(value) else f"{value:.2g}" if value < 100 else f"{value:,.0f}",
                ha="center",
                va="center",
                color=ink,
                fontsize=8,
            )
        axes.set_xticks(range(len(agents)), agents, rotation=20, fontsize=8)
        axes.set_title(f"{title}, milliseconds", fontsize=10)
    panels[0].set_yticks(range(len(cells)), cells, fontsize=8)
    figure.colorbar(image, ax=panels, label="milliseconds")
    return figure


if __name__ == "__main__":
    kind, states, dimension, name, count = sys.argv[1:]
    print(json.dumps(asdict(measure(Cell(kind, int(states), int(dimension)), name, int(count)))))
