"""Files of `fuzz_files` that the service keeps: the database with its events and models, and snapshots of its loops.

A damaged snapshot is passed over, and the loop is read from its events. A damaged database is one line, or what is read
from it is what was written.
"""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzz_mutations import Kind, flip
from serving import DEPOT, Hands, Local, happened, served

from vbmle import LinearMixtureMDP
from vbmle.common.files import from_npz_bytes
from vbmle.serve import snapshots
from vbmle.serve.event_log import DamagedLog
from vbmle.serve.learner import Learner, preferences
from vbmle.serve.ledger import Ledger, encode_ledger
from vbmle.serve.restoring import _from_snapshot

STEPS = 8


def kinds(folder: Path) -> list[Kind]:
    """The database, a snapshot under its own name, and one whose name was made to fit."""
    home = folder / "service"

    async def live(local: Local) -> None:
        await local.make("VBMLE")
        await local.play(STEPS)
        await local.rest()

    served(home, live, Hands(), snapshot_every=STEPS)
    (path,) = snapshots.found(home / "snapshots", "depot")[:1]
    return [database(home), snapshot(path), fitting_snapshot(path)]


def database(home: Path) -> Kind:
    """events.db: whatever is served is what was written."""
    content, told = (home / "events.db").read_bytes(), happened(home, "depot")

    async def read(local: Local) -> tuple[Any, ...]:
        loop, log = local.service.loops["depot"], local.service.log
        answer = await local.ask("GET", "/v1/loops/depot")
        assert answer.status == 200, answer.body
        mdp = from_npz_bytes(log.model("depot") or b"", LinearMixtureMDP.load)
        return encode_ledger(loop.ledger), mdp.fingerprint(), loop.solves.policy.actions

    def load(path: Path) -> Any:
        for name in ("events.db-wal", "events.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        return *served(path.parent, read, Hands()), happened(path.parent, "depot")

    whole = load(home / "events.db")

    def check(found: Any) -> None:
        assert found == whole
        assert found[1] == DEPOT.mdp.fingerprint()
        assert found[3] == told

    refusals, named = (ValueError, DamagedLog), ("events.db", "loop depot")
    return Kind("database of the service", content, load, check, "kept/events.db", refusals, named, edit_cell)


def edit_cell(content: bytes, rng: np.random.Generator) -> bytes:
    """One cell of one row of events or models changed, in a database that is sound by itself."""
    odd: tuple[Any, ...] = (None, -1, 0, 1.5, "", "evil", b"", b"evil", 2**62, float("inf"))
    table, columns = (
        ("events", ("seq", "loop", "kind", "time", "key", "body", "chain")),
        ("models", ("name", "fingerprint", "npz")),
    )[int(rng.random() < 0.2)]
    column = columns[int(rng.integers(len(columns)))]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as log:
        log.deserialize(
            content[:18] + b"\1\1" + content[20:]
        )  # without a log beside it, which memory cannot have
        log.execute("DROP TRIGGER events_stay")
        keys = log.execute(f"SELECT {columns[0]}, {column} FROM {table} ORDER BY 1").fetchall()
        key, _ = keys[int(rng.integers(len(keys)))]
        values = [*odd, keys[int(rng.integers(len(keys)))][1]]
        value = values[int(rng.integers(len(values)))]
        try:
            log.execute(f"UPDATE {table} SET {column} = ? WHERE {columns[0]} = ?", (value, key))
        except sqlite3.DatabaseError:  # the tables' own rules forbid it
            return flip(content, rng)
        changed = log.serialize()
        return changed[:18] + content[18:20] + changed[20:]


def snapshot(path: Path) -> Kind:
    """A snapshot is read only where its content has the hash that is in its name."""
    whole = snapshots.read(path)
    assert whole is not None

    def load(mutant: Path) -> Any:
        found = snapshots.read(mutant)
        if found is None:
            raise ValueError(f"{mutant.name} is passed over")
        return found

    def check(found: Any) -> None:
        assert encode_ledger(found.ledger) == encode_ledger(whole.ledger)
        assert found.arrays.keys() == whole.arrays.keys()
        for name, array in whole.arrays.items():
            np.testing.assert_array_equal(found.arrays[name], array)

    return Kind("snapshot of a loop", path.read_bytes(), load, check, f"named/{path.name}")


def fitting_snapshot(path: Path) -> Kind:
    """Whoever made this one has computed its hash, and knows the check of its event: it has to be in range and work."""
    whole = snapshots.read(path)
    assert whole is not None
    entry = SimpleNamespace(check=whole.ledger.check)
    start, _, _ = path.name.rpartition("-")

    def load(mutant: Path) -> Any:
        for other in mutant.parent.glob(f"{start}-*.npz"):
            other.unlink()
        content = mutant.read_bytes()
        fitting = mutant.with_name(f"{start}-{hashlib.sha256(content).hexdigest()[:16]}.npz")
        fitting.write_bytes(content)
        log: Any = SimpleNamespace(folder=SimpleNamespace(snapshots=mutant.parent), event=lambda *_: entry)
        found = _from_snapshot(log, "depot", DEPOT.mdp)
        if found is None:
            raise ValueError(f"{mutant.name} is passed over")
        return found

    return Kind("snapshot with a hash that fits", path.read_bytes(), load, check_loop, "fitting/mutant.npz")


def check_loop(found: tuple[Ledger, Learner]) -> None:
    """Names and numbers of the model, and an agent that goes on learning."""
    ledger, learner = found
    mdp = learner.mdp
    assert ledger.name == "depot"
    for waiting in ledger.pending.values():
        assert mdp.allowed[waiting.state, waiting.action]
        assert min(waiting.state, waiting.action) >= 0
    ranks = preferences(mdp, learner.policy)
    assert ranks is None or np.isfinite(ranks).all()
    policy = learner.solve(ledger.version + 1, [*ledger.batch, *ledger.unseen], 0)
    assert policy.error is None
    assert all(mdp.allowed[s, a] and a >= 0 for s, a in enumerate(policy.actions))
