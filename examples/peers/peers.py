"""Reward lost while learning: VBMLE beside what one would pick instead, Stable-Baselines3's DQN among them.

python examples/peers/peers.py [--out FOLDER] [--page PAGE.md] [--trials N] [--steps T] [--jobs N] [--agents NAME ...]
python examples/peers/peers.py --redraw --page PAGE.md

lost = R* - R, where R* and R are the sums of rewards that the best policy of the hidden truth and the agent earn in the
same T steps on the same chance: one uniform number per step, drawn from the seed of the trial. Every finished run is a
small file in FOLDER/records, so running again goes on where it stopped. FOLDER gets peers.png and peers.md; with
--page, both go into the documentation too; with --redraw nothing runs, and the picture is drawn from the table on the
page. DQN needs stable-baselines3: `make peers` has it in an environment of its own. Nothing here imports it before a
DQN runs.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

import vbmle
from vbmle.common.files import whole_or_absent
from vbmle.common.statistics import Interval, mean_interval
from vbmle.experiments.compute import Lost, Workers
from vbmle.gym import environment_name
from vbmle.plot.panels import Panel, Series
from vbmle.plot.styles import BLUE, GREEN, ORANGE, RED, Style
from vbmle.report import figures
from vbmle.report.charts import Chart
from vbmle.worlds import WORLDS

POINTS = 100
"""A record keeps the loss at so many steps, evenly spaced."""

AGENT_SEED = 1_000_000
"""Agents draw from other streams than the world: else what they try could go with what happens."""

SETTINGS: dict[str, dict[str, Any]] = {
    "riverswim": {"length": 6},
    "frozen_lake": {"size": 4},
    "inventory": {},
    "queue": {},
}
TITLES = {
    "riverswim": ("RiverSwim(6)", "units of reward"),
    "frozen_lake": ("FrozenLake 4x4", "times at the goal"),
    "inventory": ("inventory", "euros"),
    "queue": ("queue", "euros"),
}
DQN = "DQN"
AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "VBMLE": ("VBMLE", {"update": "doubling"}),
    "VBMLE, log bias": ("VBMLE", {"update": "doubling", "bias": "log"}),
    "posterior sampling": ("PSRL", {}),
    "Q-learning": ("QLearning", {}),
    "Q-learning, epsilon .1": ("QLearning", {"epsilon": 0.1}),
    "DQN, defaults": (DQN, {}),
    "DQN, set up": (
        DQN,
        {"learning_rate": 1e-3, "train_freq": 1, "target_update_interval": 500, "unit_rewards": True},
    ),
}
# Kin share a colour and differ in the marker.
LOOKS = {
    "VBMLE": Style(BLUE, "solid", "circle"),
    "VBMLE, log bias": Style(BLUE, "dash", "square"),
    "posterior sampling": Style(GREEN, "solid", "diamond"),
    "Q-learning": Style(ORANGE, "solid", "triangle-up"),
    "Q-learning, epsilon .1": Style(ORANGE, "dash", "triangle-down"),
    "DQN, defaults": Style(RED, "dash", "x"),
    "DQN, set up": Style(RED, "solid", "cross"),
}


Shares = dict[str, dict[str, Interval]]
"""By world and agent: what was lost, in percent of what the best policy earned."""


@dataclass(frozen=True)
class Task:
    """One run."""

    world: str
    agent: str
    trial: int
    steps: int
    out: str

    @property
    def file(self) -> Path:
        name = re.sub(r"\W+", "-", self.agent)
        return Path(self.out) / "records" / f"{self.world}.{name}.{self.trial}.json"

    def asked(self) -> dict[str, Any]:
        """All that the record depends on."""
        kind, settings = AGENTS[self.agent]
        run = {key: value for key, value in asdict(self).items() if key != "out"}
        return {**run, "kind": kind, "settings": settings, "world_settings": SETTINGS[self.world]}


class Ledger(gymnasium.Wrapper):
    """Writes down the rewards of an environment, in the world's units, and holds it to the chance of one trial."""

    def __init__(self, env: Any, trial: int) -> None:
        super().__init__(env)
        self.trial, self.rewards, self.resets = trial, [], 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.resets += 1  # the seed that the learner hands down is its own, not the world's
        return self.env.reset(seed=self.trial, options=options)

    def step(self, action: Any) -> Any:
        result = self.env.step(action)
        self.rewards.append(float(result[1]))
        return result


def lost(best: Sequence[float], got: Sequence[float]) -> np.ndarray:
    """Cumulative loss, step by step."""
    if len(best) != len(got):
        raise ValueError(f"the best policy ran for {len(best)} steps and the agent for {len(got)}")
    return np.cumsum(np.asarray(best, dtype=np.float64) - np.asarray(got, dtype=np.float64))


def deep_q(
    task: Task, world: Any, make_model: Callable[..., Any] | None = None
) -> tuple[np.ndarray, vbmle.PolicyPlayer]:
    """The rewards that a DQN collects while it learns, in one unbroken run as for everybody else, and what it learnt.

    Gymnasium seeds the world's generator as `simulate` does, so that the chance is the same.
    """
    settings = dict(AGENTS[task.agent][1])
    env = gymnasium.make(environment_name(task.world), max_episode_steps=-1, **SETTINGS[task.world])
    ledger = Ledger(env, task.trial)
    seen: Any = ledger
    if settings.pop("unit_rewards", False):
        scale, offset = world.mdp.reward_scale, world.mdp.reward_offset
        seen = gymnasium.wrappers.TransformReward(ledger, lambda reward: (reward - offset) / scale)
    model = (make_model or _sb3)(
        "MlpPolicy", seen, gamma=world.mdp.discount, seed=AGENT_SEED + task.trial, **settings
    )
    model.learn(total_timesteps=task.steps)
    if ledger.resets != 1:
        raise RuntimeError(f"the environment was reset {ledger.resets} times; it needs one unbroken run")
    return np.array(ledger.rewards), vbmle.PolicyPlayer(model, world.mdp)


def _sb3(*arguments: Any, **settings: Any) -> Any:
    import torch
    from stable_baselines3 import DQN as Model

    torch.set_num_threads(1)
    return Model(*arguments, device="cpu", **settings)


def run(task: Task) -> dict[str, Any]:
    """Run one agent in one world, and write the record aside and rename it: it is whole or absent."""
    world = WORLDS[task.world](**SETTINGS[task.world])
    knows = vbmle.Oracle(world.mdp, world.theta)
    best = vbmle.earned(world, vbmle.simulate(knows, world, task.steps, task.trial))
    kind, settings = AGENTS[task.agent]
    start, regret = perf_counter(), None
    if kind == DQN:
        got, agent = deep_q(task, world)
    else:
        agent = getattr(vbmle, kind)(world.mdp, seed=AGENT_SEED + task.trial, **settings)
        history = vbmle.simulate(agent, world, task.steps, task.trial)
        got, regret = vbmle.earned(world, history), float(history.regret[-1])
    seconds = perf_counter() - start
    steps = np.unique(np.linspace(1, task.steps, min(POINTS, task.steps)).round().astype(int))
    record = {"asked": task.asked(), "steps": steps.tolist(), "lost": lost(best, got)[steps - 1].tolist()}
    record |= {
        "best": float(best.sum()),
        "regret": regret,
        "learnt": learnt(world, agent),
        "seconds": seconds,
    }
    task.file.parent.mkdir(parents=True, exist_ok=True)
    with whole_or_absent(task.file) as aside:
        aside.write_text(json.dumps(record))
    return record


def learnt(world: Any, agent: Any) -> float:
    """What the policy at the end is worth from the start on: its exact value as a share of the best."""
    mdp = world.mdp
    policies = (agent.policy, vbmle.plan(mdp, world.theta).policy)
    values = [float(mdp.initial @ vbmle.evaluate(mdp, world.theta, policy)) for policy in policies]
    # Back to the user's units, where the offset of the reward counts in every step to come.
    own, best = (mdp.reward_scale * value + mdp.reward_offset / (1.0 - mdp.discount) for value in values)
    return float(own / best)


def finished(task: Task) -> dict[str, Any] | None:
    """The record of a run that was done before, with these very settings."""
    try:
        record = json.loads(task.file.read_text())
        return record if record["asked"] == json.loads(json.dumps(task.asked())) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def run_all(tasks: Iterable[Task], jobs: int) -> dict[Task, dict[str, Any]]:
    """The records of all tasks: those that are there, and the others, made now."""
    records = {task: finished(task) for task in tasks}
    missing = [task for task, record in records.items() if record is None]
    print(f"{len(records)} runs, {len(records) - len(missing)} of them done before", flush=True)
    # The first compiles; DQNs take longest and keep the other processors busy meanwhile.
    rest = sorted(missing[1:], key=lambda task: AGENTS[task.agent][0] != DQN)
    failed = []
    with Workers(jobs) as workers:
        for count, (task, record) in enumerate(workers.results(run, [*missing[:1], *rest], at_once=jobs), 1):
            where = f"{count}/{len(missing)}  {task.world}, {task.agent}, trial {task.trial}"
            if isinstance(record, Lost):
                failed.append(f"{where}: {record.message}")
                print(failed[-1], file=sys.stderr, flush=True)
                continue
            records[task] = record
            print(f"{where}: lost {record['lost'][-1]:,.1f} in {record['seconds']:.0f} s", flush=True)
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; run again to try them once more")
    return records


def gather(records: dict[Task, dict[str, Any]], world: str, agent: str) -> list[dict[str, Any]]:
    """The records of one agent in one world, by trial."""
    return [record for task, record in records.items() if (task.world, task.agent) == (world, agent)]


def number(value: float) -> str:
    """Rounded to what a few trials can tell, without -0."""
    return f"{round(value) + 0:,}" if abs(value) >= 100 else f"{round(value, 1) + 0:g}"


def loss_cell(losses: np.ndarray, best: float) -> str:
    """Mean, interval (for two trials or more) and share of what the best policy earned."""
    found = mean_interval(losses)
    interval = f" [{number(found.low)}, {number(found.high)}]" if len(losses) > 1 else ""
    return f"{number(found.value)}{interval}" + (
        f", {round(100 * found.value / best, 1) + 0:g}%" if best > 0.0 else ""
    )


def table(records: dict[Task, dict[str, Any]], agents: Sequence[str]) -> str:
    """Two Markdown tables, what was lost and pseudo-regret, and what runs took."""
    steps, trials = next(iter(records)).steps, len({task.trial for task in records})
    head = ["| | " + " | ".join(", ".join(TITLES[world]) for world in SETTINGS) + " |"]
    head.append("|---" * (len(SETTINGS) + 1) + "|")
    best = {world: mean(gather(records, world, agents[0]), "best") for world in SETTINGS}
    losses, regrets, worth, seconds = [], [], [], []
    for agent in agents:
        runs = {world: gather(records, world, agent) for world in SETTINGS}
        cells = [loss_cell(np.array([r["lost"][-1] for r in runs[w]]), best[w]) for w in SETTINGS]
        losses.append(f"| {agent} | {' | '.join(cells)} |")
        if AGENTS[agent][0] != DQN:
            regrets.append(f"| {agent} | {' | '.join(number(mean(runs[w], 'regret')) for w in SETTINGS)} |")
        shares = [f"{round(100 * mean(runs[w], 'learnt'), 1) + 0:g}%" for w in SETTINGS]
        worth.append(f"| {agent} | {' | '.join(shares)} |")
        times = [record["seconds"] for w in SETTINGS for record in runs[w]]
        seconds.append(f"{agent}: {number(float(np.median(times)))}")  # the first run of all compiles
    lines = [
        f"Reward lost after {steps:,} steps, mean of {trials} trials [95% interval], share of the best:",
        "",
    ]
    lines += [*head, *losses, f"| *the best policy earns* | {' | '.join(map(number, best.values()))} |"]
    if regrets:
        lines += [
            "",
            "Mean pseudo-regret in the same runs, for agents with a stationary policy in force:",
            "",
        ]
        lines += [*head, *regrets]
    lines += [
        "",
        "What the policy in force at the end is worth, as a share of the best (exact, from the start on; mean):",
        "",
        *head,
        *worth,
    ]
    return "\n".join(
        [*lines, "", f"Seconds per run, median over worlds and trials: {'; '.join(seconds)}.", ""]
    )


def mean(runs: Sequence[dict[str, Any]], field: str) -> float:
    return float(np.mean([record[field] for record in runs]))


def shares(records: dict[Task, dict[str, Any]], agents: Sequence[str]) -> Shares:
    """From records, at the end."""
    found: Shares = {world: {} for world in SETTINGS}
    for world in SETTINGS:
        best = mean(gather(records, world, agents[0]), "best") or 1.0
        for agent in agents:
            losses = np.array([record["lost"][-1] for record in gather(records, world, agent)])
            found[world][agent] = mean_interval(100.0 * losses / best)
    return found


def shares_on(page: Path) -> Shares:
    """The same, from the table on a page."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.read_text().splitlines()]
    first = {row[0]: row[1:] for row in reversed(rows) if len(row) == len(SETTINGS) + 1}
    best = [float(cell.replace(",", "")) for cell in first["*the best policy earns*"]]
    found: Shares = {world: {} for world in SETTINGS}
    for agent in AGENTS:
        for world, cell, earned in zip(SETTINGS, first.get(agent, ()), best, strict=False):
            parts = re.match(r"(\S+) \[(\S+), (\S+)\]", cell) or re.match(r"(\S+),", cell)
            if parts is None:
                raise SystemExit(f"{page}: {agent} has {cell!r}; it needs a number [low, high], a share")
            numbers = [100.0 * float(part.replace(",", "")) / earned for part in parts.groups()]
            found[world][agent] = Interval(*(numbers if len(numbers) == 3 else [*numbers, np.nan, np.nan]))
    return found


def _row(agent: str, share: Interval) -> Series:
    """What an agent lost; less than nothing is drawn at 0."""
    place, low, high = np.maximum([[share.value], [share.low], [share.high]], 0.0)
    ends = (low, high) if np.isfinite(share.low) else (None, None)
    return Series(agent, agent, place, np.zeros(1), *ends)


def draw(found: Shares, path: Path) -> None:
    """A panel for each world, a row for each agent: what it lost, as a share of what the best policy earns."""
    label = "lost, % of what the best earns, log scale"
    panels = []
    for world, losses in found.items():
        rows = [_row(agent, share) for agent, share in losses.items()]
        panels.append(Panel("forest", TITLES[world][0], label, "", rows, x_scale="symlog", world=world))
    chart = Chart("peers", "peers", "Reward lost while learning", "", "", panels)
    figures.draw(chart, LOOKS).savefig(path, dpi=figures.DPI)


def into_page(page: Path, text: str, picture: Path) -> None:
    """Put the tables between the marks of a page of the documentation, and the picture beside it."""
    old = page.read_text()
    new, count = re.subn(
        r"(<!-- measured -->\n).*(<!-- /measured -->)",
        lambda m: f"{m[1]}\n{text}\n{m[2]}",
        old,
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"{page} needs one <!-- measured --> and one <!-- /measured --> after it")
    page.write_text(new)
    shutil.copyfile(picture, page.parent / "images" / picture.name)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("peers"), help="records, tables and figure")
    parser.add_argument("--page", type=Path, help="a page of the documentation to put them into")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--agents", nargs="+", choices=list(AGENTS), default=list(AGENTS), metavar="NAME")
    parser.add_argument("--redraw", action="store_true", help="only the picture, from the table of the page")
    asked = parser.parse_args(words)
    if asked.redraw:
        if not asked.page:
            parser.error("--redraw needs --page, the page to read")
        draw(shares_on(asked.page), asked.page.parent / "images" / "peers.png")
        return
    if min(asked.trials, asked.steps, asked.jobs) < 1:
        parser.error("--trials, --steps and --jobs need whole numbers of at least 1")
    tasks = [
        Task(world, agent, trial, asked.steps, str(asked.out))
        for trial in range(asked.trials)
        for world in SETTINGS
        for agent in asked.agents
    ]
    try:
        records = run_all(tasks, asked.jobs)
    except KeyboardInterrupt:
        print("stopped; run again to go on", file=sys.stderr)
        raise SystemExit(130) from None
    text, picture = table(records, asked.agents), asked.out / "peers.png"
    draw(shares(records, asked.agents), picture)
    (asked.out / "peers.md").write_text(text)
    if asked.page:
        into_page(asked.page, text, picture)
    print(text)


if __name__ == "__main__":
    main()
