"""Damaged and doctored files of every kind: loading refuses them in one line, or they are in range and work.

`python tests/fuzz_files.py 10000` makes that many mutants of each kind, in all cores; the test suite makes a few
hundred. A mutant is a whole file with bits flipped, cut off, a field edited, a field of another file, or entries that
swell. Nothing but a refusal may come out, nothing may end the process, and what is accepted has to be in range and to
work. `python tests/fuzz_files.py --kind "agent, UCLK" --only 58` makes one mutant again.
"""

from __future__ import annotations

import argparse
import atexit
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_service
import fuzz_tables
import numpy as np
from crowd import limited, spread
from fuzz_mutations import Kind, mutant

import vbmle
from vbmle.experiments import catalogue
from vbmle.testing import example_models

MASKED = "candidates with names and a mask"
MODELS = ("tabular, a product of simplices", "sparse mixture", "reward of the next state")
SLOW = 1.0  # seconds of processor time that loading a mutant may take
CHUNK = 250  # mutants that a process makes at a time


@dataclass
class Tally:
    """How the mutants of one kind ended."""

    mutants: int = 0
    refused: int = 0
    accepted: int = 0
    slowest: float = 0.0
    slow: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count these too."""
        self.mutants += other.mutants
        self.refused += other.refused
        self.accepted += other.accepted
        self.slowest = max(self.slowest, other.slowest)
        self.slow += other.slow
        self.broken += other.broken

    def __str__(self) -> str:
        counts = f"{self.mutants} mutants, {self.refused} refused, {self.accepted} accepted and sound"
        return f"{counts}, {len(self.broken)} broken, slowest {self.slowest:.2f} s"


def learnt(kind: type, mdp: vbmle.LinearMixtureMDP, theta: np.ndarray, **settings: Any) -> Any:
    """An agent with some steps behind it."""
    if getattr(kind, "needs_truth", False):
        settings["theta"] = theta.tolist()
    agent, world = kind(mdp, **settings), vbmle.World(mdp, theta)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        vbmle.simulate(agent, world, 25, seed=1)
    return agent


def masked_world() -> vbmle.World:
    """Named base models, states and actions, one action not allowed, and one base model that is true."""
    rng = np.random.default_rng(5)
    models = {name: rng.dirichlet(np.ones(3), size=(3, 2)) for name in ("dry", "wet")}
    allowed = np.array([[True, True], [False, True], [True, True]])
    mdp = vbmle.LinearMixtureMDP.from_models(
        models,
        rng.random((3, 2)),
        0.9,
        domain="vertices",
        allowed=allowed,
        state_names=["low", "mid", "high"],
        action_names=["wait", "go"],
    )
    return vbmle.World(mdp, np.array([0.0, 1.0]))


def sorts() -> dict[str, vbmle.World]:
    """The worlds whose models and agents are saved."""
    examples = example_models()
    return {name: examples[name] for name in MODELS} | {MASKED: masked_world()}


def kinds(folder: Path) -> list[Kind]:
    """Models of four sorts, and every agent on one of them."""
    found: list[Kind] = []
    path = folder / "whole.npz"
    worlds = sorts()
    for name in worlds:
        worlds[name].mdp.save(path)
        found.append(Kind(f"model, {name}", path.read_bytes(), vbmle.LinearMixtureMDP.load, check_model))
    classes: list[tuple[Any, dict[str, Any], str]] = [
        (kind, {}, MODELS[number % 2]) for number, kind in enumerate(catalogue.general().values())
    ]
    classes += [
        (vbmle.VBMLE, {"update": "doubling", "search": "local"}, MODELS[1]),
        (vbmle.VBMLE, {"on_impossible": "widen", "forget": 10.0}, MODELS[0]),
        (vbmle.VBMLE, {"on_impossible": "skip"}, MASKED),
        (vbmle.MaximumLikelihood, {"forget": {"window": 10}}, MODELS[1]),
        (vbmle.PSRL, {"sampler": "hit-and-run"}, MODELS[0]),
        (vbmle.QLearning, {"epsilon": 0.3}, MASKED),
    ]
    for kind, settings, name in classes:
        world = worlds[name]
        learnt(kind, world.mdp, world.theta, **settings).save(path)
        shown = ", ".join([kind.__name__, *map(str, settings.values())])
        found.append(Kind(f"agent, {shown}", path.read_bytes(), loader(kind, world.mdp), check_agent))
    return found


def loader(kind: Any, mdp: vbmle.LinearMixtureMDP) -> Callable[[Path], Any]:
    return lambda path: kind.load(path, mdp)


def check_model(mdp: vbmle.LinearMixtureMDP) -> None:
    """What a model promises, from its arrays."""
    rows = mdp.transitions
    assert 0.0 < mdp.discount < 1.0
    assert 0.0 <= mdp.p_min <= 1.0
    assert rows.indptr[0] == 0
    assert rows.indptr[-1] == rows.count
    assert ((rows.successor >= 0) & (rows.successor < mdp.num_states)).all()
    theta = np.eye(mdp.dimension)[0] if mdp.domain == "vertices" else mdp.polytope.interior
    p = rows.probabilities(theta)
    np.testing.assert_allclose(np.add.reduceat(p, rows.indptr[:-1]), 1.0, atol=1e-6)
    plan = vbmle.plan(mdp, theta)
    assert np.isfinite(plan.V).all()


def check_agent(agent: Any) -> None:
    """It acts and learns, and its theta is in the feasible set."""
    mdp = agent.mdp
    if hasattr(agent, "counts"):
        values = agent.counts.values
        assert (values >= 0.0).all()
        assert agent.settings.get("forget") or (values == np.floor(values)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        action = agent.act(0)
        assert mdp.allowed[0, action]
        agent.observe(0, action, int(mdp.transitions.successor[mdp.transitions.indptr[action]]))
        agent.act(0)
    policy = agent.policy
    assert policy.shape == (mdp.num_states,)
    assert ((policy >= 0) & (policy < mdp.num_actions)).all()
    assert mdp.allowed[np.arange(mdp.num_states), policy].all()
    theta = getattr(agent, "theta", None)
    assert theta is None or mdp.contains(theta, 1e-6)


def fuzz(kind: Kind, others: list[Kind], numbers: Iterable[int], folder: Path, seed: int = 0) -> Tally:
    """Mutants of one kind, by their numbers, each loaded and, where it is accepted, put to use."""
    tally, path = Tally(), folder / kind.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(kind.content)
    kind.check(kind.load(path))
    for number in numbers:
        case = f"{kind.name}, mutant {number}"
        path.write_bytes(mutant(kind, others, number, seed))
        tally.mutants += 1
        begun = time.process_time()
        with limited(case):
            wrong = judged(kind, path, tally)
        spent = time.process_time() - begun
        tally.slowest = max(tally.slowest, spent)
        if spent > SLOW:
            tally.slow.append(f"{case}: {spent:.2f} s")
        if wrong:
            tally.broken.append(f"{case}: {wrong}")
    return tally


def judged(kind: Kind, path: Path, tally: Tally) -> str | None:
    """What is wrong with how one mutant ended, if anything."""
    try:
        loaded = kind.load(path)
    except kind.refusals as error:
        tally.refused += 1
        one_line = "\n" not in str(error) and any(word in str(error) for word in kind.named)
        return None if one_line else f"refused without the file in one line: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    tally.accepted += 1
    try:
        kind.check(loaded)
    except Exception as error:
        return f"accepted, then {type(error).__name__}: {error}"
    return None


def every_kind(folder: Path) -> list[Kind]:
    """Models and agents, records of sweeps, tables and logs, and what the service keeps."""
    return [*kinds(folder), *fuzz_tables.kinds(folder), *fuzz_service.kinds(folder)]


@cache
def everything() -> tuple[Path, list[Kind]]:
    """A folder of this process, and every kind: made once."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, every_kind(folder)


def some(task: tuple[int, range, int]) -> Tally:
    """Some mutants of the kind with a number."""
    folder, known = everything()
    return fuzz(known[task[0]], known, task[1], folder, task[2])


def main(count: int, seed: int, processes: int | None) -> int:
    """That many of each kind; 1 where one is broken or takes longer than it may."""
    names = [kind.name for kind in everything()[1]]
    tasks = [
        (number, range(first, min(count, first + CHUNK)), seed)
        for first in range(0, count, CHUNK)
        for number in range(len(names))
    ]
    tallies, total = [Tally() for _ in names], Tally()
    for (number, _, _), tally in zip(tasks, spread(some, tasks, "mutants", processes), strict=True):
        tallies[number].add(tally)
        total.add(tally)
        for line in [*tally.broken, *tally.slow]:
            print(line[:300], flush=True)
    for name, tally in zip(names, tallies, strict=True):
        print(f"{name}: {tally}")
    print(f"{len(names)} kinds: {total}, {len(total.slow)} above {SLOW:g} s")
    return int(bool(total.broken or total.slow))


def again(name: str, number: int, seed: int) -> int:
    """One mutant of one kind, with all that is said about it."""
    folder, known = everything()
    kind = next(kind for kind in known if kind.name == name)
    tally = fuzz(kind, known, [number], folder, seed)
    print(tally, *tally.broken, sep="\n")
    return int(bool(tally.broken))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="mutants of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="processes; by default all cores")
    parser.add_argument("--kind", help="the kind of a mutant to be made again")
    parser.add_argument("--only", type=int, help="its number")
    given = parser.parse_args()
    if given.only is None:
        sys.exit(main(given.count, given.seed, given.jobs))
    sys.exit(again(given.kind, given.only, given.seed))
