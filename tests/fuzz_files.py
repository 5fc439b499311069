"""Damaged and doctored files of every kind: loading refuses them in one line, or they are in range and work.

`python tests/fuzz_files.py 10000` makes that many mutants of each kind; the test suite makes a few hundred. A mutant is
a whole file with bits flipped, cut off, a field edited, a field of another file, or entries that swell. Nothing but a
ValueError may come out, nothing may end the process, and what is accepted has to be in range and to work.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fuzz_tables
import numpy as np

import vbmle
from vbmle.experiments import catalogue
from vbmle.testing import example_models

MASKED = "candidates with names and a mask"
MODELS = ("tabular, a product of simplices", "sparse mixture", "reward of the next state")
SLOW = 1.0  # seconds of processor time that loading a mutant may take
ODD_NUMBERS = (-1.0, 0.5, np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**62, -(2.0**63), 1e-320, 2.0)
ODD_CELLS = (
    "",
    "-1",
    "0.5",
    "nan",
    "inf",
    "1e300",
    "x",
    "=1+1",
    "99999999999999999999",
    "2",
    "true",
    '"',
    "é",
)
ODD_META: tuple[Any, ...] = (
    None,
    [],
    {},
    -1,
    0.5,
    1e300,
    float("nan"),
    "evil",
    True,
    [[]],
    10**30,
    [0, 0, 0],
)


@dataclass
class Tally:
    """How the mutants of one kind ended."""

    mutants: int = 0
    refused: int = 0
    accepted: int = 0
    slow: int = 0
    slowest: float = 0.0
    broken: list[str] = field(default_factory=list)


@dataclass
class Kind:
    """One kind of file: a whole one, how it is loaded, and what must hold of what was loaded."""

    name: str
    content: bytes
    load: Callable[[Path], Any]
    check: Callable[[Any], None]
    file: str = "mutant.npz"
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.endswith(".npz"):
            self.arrays = read_content(self.content)


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
    """Every kind: models of four sorts, and every agent on one of them."""
    found: list[Kind] = []
    path = folder / "whole.npz"
    worlds = sorts()
    for name in worlds:
        worlds[name].mdp.save(path)
        found.append(Kind(f"model, {name}", path.read_bytes(), vbmle.LinearMixtureMDP.load, check_model))
    classes: list[tuple[Any, dict[str, Any], str]] = [
        (kind, {}, MODELS[number % 2]) for number, kind in enumerate(catalogue.agents().values())
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


def flip(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bits flipped."""
    out = bytearray(content)
    for place in rng.integers(len(out), size=int(rng.integers(1, 9))):
        out[place] ^= 1 << int(rng.integers(8))
    return bytes(out)


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut off, or a stretch overwritten."""
    at = int(rng.integers(len(content)))
    if rng.random() < 0.5:
        return content[:at]
    return content[:at] + bytes(int(rng.integers(1, 200))) + content[at:]


def read_content(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def written(arrays: dict[str, np.ndarray]) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def edit(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """One field changed: a number, its kind, its shape, its order, or gone."""
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name].copy()
    way = int(rng.integers(8))
    if name == "meta" or (way == 0 and "meta" in arrays):
        edit_meta(arrays, rng)
    elif way == 1:
        del arrays[name]
    elif way == 2:
        arrays[name] = (
            np.concatenate([array.ravel(), array.ravel()[:1]]) if rng.random() < 0.5 else array.ravel()[:-1]
        )
    elif way == 3:
        with np.errstate(invalid="ignore"):
            arrays[name] = array.astype(rng.choice(["f4", "i4", "u1", "f8", "i8", "?"]))
    elif way == 4:
        arrays[name] = array[::-1].copy() if array.ndim else array + 1
    elif array.size:
        flat, odd = array.reshape(-1), float(rng.choice(ODD_NUMBERS))
        places = rng.integers(flat.size, size=int(rng.integers(1, 3)))
        with np.errstate(invalid="ignore", over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if way == 5:
                flat[places] = np.array(odd).astype(array.dtype)
            elif way == 6:
                flat[places] = flat[places] + np.array(rng.choice([-1, 1, 7])).astype(array.dtype)
            else:
                flat *= np.array(2).astype(array.dtype)
        arrays[name] = array


def edit_meta(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    meta = json.loads(arrays["meta"].tobytes())
    where = meta
    if isinstance(meta.get("settings"), dict) and meta["settings"] and rng.random() < 0.5:
        where = meta["settings"]
    key = str(rng.choice(sorted(where)))
    where[key] = ODD_META[int(rng.integers(len(ODD_META)))]
    text = json.dumps(meta) if rng.random() < 0.9 else "[" * 100_000
    arrays["meta"] = np.frombuffer(text.encode(), np.uint8)


@cache
def swollen(seed: int) -> bytes:
    """A small file that claims, or holds, a great deal."""
    rng = np.random.default_rng(seed)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if seed % 2:
            header = io.BytesIO()
            about = {"descr": "<f8", "fortran_order": False, "shape": (int(rng.integers(2**40)), 3)}
            np.lib.format.write_array_header_1_0(header, about)
            archive.writestr("indptr.npy", header.getvalue() + bytes(1000))
        else:
            archive.writestr("indptr.npy", bytes(100_000_000))
    return out.getvalue()


def mutant(kind: Kind, others: list[Kind], rng: np.random.Generator, bomb: bytes) -> bytes:
    way = rng.random()
    if kind.file.endswith(".csv") and way < 0.7:
        return edit_text(kind.content, rng)
    if way < 0.15:
        return flip(kind.content, rng)
    if way < 0.25:
        return cut(kind.content, rng)
    if way < 0.26:
        return bomb
    if way < 0.28:
        return others[int(rng.integers(len(others)))].content
    if not kind.arrays:
        return flip(kind.content, rng) if way < 0.8 else cut(kind.content, rng)
    arrays = dict(kind.arrays)
    if way < 0.35:
        other = others[int(rng.integers(len(others)))].arrays or kind.arrays
        name = str(rng.choice(sorted(other)))
        arrays[name] = other[name]
    else:
        edit(arrays, rng)
    return written(arrays)


def edit_text(content: bytes, rng: np.random.Generator) -> bytes:
    """A cell, a line or a column of a CSV file changed, doubled or gone."""
    table = [line.split(",") for line in content.decode().splitlines()]
    row, way = int(rng.integers(len(table))), int(rng.integers(4))
    column = int(rng.integers(len(table[row])))
    if way == 0:
        del table[row]
    elif way == 1:
        table.append(table[row])
    elif way == 2:
        table = [line[:column] + line[column + 1 :] for line in table]
    else:
        table[row][column] = str(rng.choice(ODD_CELLS))
    return "\n".join(",".join(line) for line in table).encode()


def fuzz(kind: Kind, others: list[Kind], count: int, folder: Path, seed: int = 0) -> Tally:
    """That many mutants of one kind, each loaded and, where it is accepted, put to use."""
    rng, tally, path = np.random.default_rng([seed, *kind.name.encode()]), Tally(), folder / kind.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(kind.content)
    kind.check(kind.load(path))
    bombs = [swollen(k) for k in range(2)]
    for number in range(count):
        path.write_bytes(mutant(kind, others, rng, bombs[number % 2]))
        tally.mutants += 1
        begun = time.process_time()
        try:
            loaded = kind.load(path)
        except ValueError as error:
            tally.refused += 1
            if path.name not in str(error) or "\n" in str(error):
                tally.broken.append(
                    f"{kind.name}, mutant {number}: refused without the file in one line: {error}"
                )
        except Exception as error:
            tally.broken.append(f"{kind.name}, mutant {number}: {type(error).__name__}: {error}")
        else:
            tally.accepted += 1
            try:
                kind.check(loaded)
            except Exception as error:
                tally.broken.append(
                    f"{kind.name}, mutant {number}: accepted, then {type(error).__name__}: {error}"
                )
        spent = time.process_time() - begun
        tally.slowest = max(tally.slowest, spent)
        tally.slow += spent > SLOW
    return tally


def every_kind(folder: Path) -> list[Kind]:
    """Models and agents, records of sweeps, tables and logs."""
    return [*kinds(folder), *fuzz_tables.kinds(folder)]


def of_one_kind(number: int, count: int) -> tuple[str, Tally]:
    """The mutants of one kind, in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        everything = every_kind(Path(name))
        return everything[number].name, fuzz(everything[number], everything, count, Path(name))


def main(count: int, processes: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        numbers = range(len(every_kind(Path(name))))
    broken = mutants = 0
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for shown, tally in pool.map(of_one_kind, numbers, [count] * len(numbers)):
            broken, mutants = broken + len(tally.broken), mutants + tally.mutants
            figures = f"{tally.mutants} mutants, {tally.refused} refused, {tally.accepted} accepted and sound"
            slow = f"slowest {tally.slowest:.2f} s, {tally.slow} above {SLOW:g} s"
            print(f"{shown}: {figures}, {len(tally.broken)} broken, {slow}", flush=True)
            for line in tally.broken[:5]:
                print("   ", line[:300])
    print(f"{mutants} mutants of {len(numbers)} kinds, {broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(given[0] if given else 1000, given[1] if len(given) > 1 else os.cpu_count() or 1))
