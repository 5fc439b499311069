"""`vbmle check` on N damaged databases of the service: python tests/damaged_stores.py N [--only CASE]

Each case damages a copy of one database in its own way. What is called sound has to be what was written, or a beginning
of it. What is mended has to be just that, too, and to have every event that the damaged one still had. What cannot be
mended has to stay as it is, byte for byte.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_mutations import flip
from fuzz_service import edit_cell
from serving import Hands, Local, served

from vbmle import LinearMixtureMDP
from vbmle.common.files import from_npz_bytes
from vbmle.serve import events
from vbmle.serve.check import examine
from vbmle.serve.folder import FORMAT
from vbmle.serve.mending import mend

LOOPS = ("depot", "other", "third")
MEMORY = Path("/dev/shm")
Rows = list[tuple[Any, ...]]


class Result(NamedTuple):
    """How a case ended, and what was broken, if anything was."""

    kind: str
    ending: str
    broken: str | None = None


def make(folder: Path) -> None:
    """A database with all kinds of events, in three loops."""
    clock = Hands()

    async def live(local: Local) -> None:
        for loop, agent in zip(LOOPS, ("VBMLE", "MaximumLikelihood", "QLearning"), strict=True):
            await local.make(agent, loop, expire_after=50.0)
            for step in range(6):
                await local.play(1, loop, step, f"step-{step}")
                await local.rest()  # so that the database is the same in every run
        for number in range(3):
            await local.post("decisions", {"state": 1, "request_id": f"open-{number}"})
        odd = (await local.post("decisions", {"state": 0, "request_id": "odd", "allowed": [0]})).body
        await local.post("observations", {"decision_id": odd["decision_id"], "next_state": 3})
        await local.post("cancel", {"decision_id": odd["decision_id"]})
        clock.pass_by(60.0)
        for controller in local.service.loops.values():
            controller.expire()
        await local.post("mode", {"mode": "frozen"}, "other")
        await local.rest()

    served(folder, live, clock, snapshot_every=10**6)


def rows_of(database: Path) -> tuple[Rows, Rows] | None:
    """Events and models, from the tables alone; None where SQLite cannot read them."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.text_factory = bytes
            query = "SELECT seq, loop, kind, time, key, CAST(body AS BLOB), CAST(chain AS BLOB) FROM events NOT INDEXED"
            told = connection.execute(f"{query} ORDER BY seq").fetchall()
            return told, connection.execute(
                "SELECT name, fingerprint, npz FROM models ORDER BY name"
            ).fetchall()
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # of SQLite, or of its message about damage
        return None


def edited(content: bytes, script: Callable[[sqlite3.Connection], None]) -> bytes:
    """The database with something done to it that SQLite allows."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(content[:18] + b"\1\1" + content[20:])
        for trigger in ("events_stay", "events_last"):
            connection.execute(f"DROP TRIGGER {trigger}")
        script(connection)
        changed = connection.serialize()
    return changed[:18] + content[18:20] + changed[20:]


def moved(content: bytes, rng: np.random.Generator) -> bytes:
    """One event under another loop, or with another number."""

    def script(connection: sqlite3.Connection) -> None:
        (most,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        seq = int(rng.integers(1, most + 1))
        if rng.random() < 0.5:
            name = str(rng.choice([*LOOPS, "none", ""]))
            connection.execute("UPDATE OR IGNORE events SET loop = ? WHERE seq = ?", (name, seq))
        else:
            connection.execute(
                "UPDATE events SET seq = ? WHERE seq = ?", (most + int(rng.integers(1, 50)), seq)
            )

    return edited(content, script)


def lost(content: bytes, rng: np.random.Generator) -> bytes:
    """Events, indices or triggers gone."""

    def script(connection: sqlite3.Connection) -> None:
        what = rng.integers(4)
        (most,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        if what == 0:
            connection.execute("DELETE FROM events WHERE seq = ?", (int(rng.integers(1, most + 1)),))
        elif what == 1:
            connection.execute("DELETE FROM events WHERE seq > ?", (int(rng.integers(most // 2, most)),))
        elif what == 2:
            connection.execute(f"DROP INDEX {rng.choice(['once', 'events_of_a_loop'])}")
        else:
            connection.execute(f"PRAGMA user_version = {int(rng.choice([0, FORMAT + 1]))}")

    return edited(content, script)


def repeated(content: bytes, rng: np.random.Generator) -> bytes:
    """A loop solves the same twice at once, as one did that had two controllers."""

    def script(connection: sqlite3.Connection) -> None:
        loop = str(rng.choice([LOOPS[0], LOOPS[2]]))
        query = "SELECT seq, time, chain FROM events WHERE loop = ? ORDER BY seq DESC LIMIT 1"
        seq, now, head = connection.execute(query, (loop,)).fetchone()
        (version,) = connection.execute(
            "SELECT count(*) FROM events WHERE loop = ? AND kind = 'policy'", (loop,)
        ).fetchone()
        (most,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        solve, policy = events.SolveBegun(version + 1, seq, 0), events.PolicySet(version + 1)
        later = events.SolveBegun(version + 1, seq, 1)
        stories: list[list[events.AnyEvent]] = [
            [solve, solve, policy, policy], [solve, policy, policy], [solve, later, policy, policy],
            [solve, policy, later, policy], [solve, solve],
        ]  # fmt: skip
        story = stories[int(rng.integers(len(stories)))]
        for number, event in enumerate(story, most + 1):
            body = events.encode(event)
            head = events.chained(head, number, now, body)
            connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, loop, event.kind, now, event.key, body, head),
            )

    return edited(content, script)


def page(content: bytes, rng: np.random.Generator) -> bytes:
    """A page, or a part of one, of noise or of zeros."""
    size, found = 4096, bytearray(content)
    start = int(rng.integers(len(content) // size)) * size + int(rng.integers(size // 2))
    length = int(rng.integers(1, size // 2))
    found[start : start + length] = bytes(length) if rng.random() < 0.5 else rng.bytes(length)
    return bytes(found[: len(content)])


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """The end of the file gone."""
    return content[: int(rng.integers(len(content)))]


KINDS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "bits": flip, "cell": edit_cell, "moved": moved, "lost": lost, "repeated": repeated, "page": page, "cut": cut,
}  # fmt: skip


def case(number: int, content: bytes, folder: Path) -> Result:
    """Damage a copy, look at it, and mend it where that can be done."""
    rng = np.random.default_rng(number)
    kind = list(KINDS)[number % len(KINDS)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    database = folder / "events.db"
    database.write_bytes(damaged := KINDS[kind](content, rng))
    before, written = rows_of(database), rows_of_content(content, folder)
    found = examine(database)
    if database.read_bytes() != damaged:
        return Result(kind, "broken", "looking at it changed it")
    if found.sound:
        return Result(kind, "sound", None if begins(written, before, kind) else "it is called sound")
    _, kept = mend(folder)
    if kept is None:
        same = database.read_bytes() == damaged
        return Result(kind, "not mended", None if same else "it was changed without being mended")
    after = rows_of(database)
    if (kept / "events.db").read_bytes() != damaged:
        return Result(kind, "mended", "the original was not kept")
    if not examine(database).sound or not begins(written, after, kind):
        return Result(kind, "mended", "it was mended to something else")
    assert after is not None
    still = (
        {(one[0], one[5]) for one in before[0]} & {(one[0], one[5]) for one in written[0]}
        if before
        else set()
    )
    lost_now = still - {(one[0], one[5]) for one in after[0]}
    return Result(kind, "mended", f"{len(lost_now)} events were lost" if lost_now else None)


def rows_of_content(content: bytes, folder: Path) -> tuple[Rows, Rows]:
    """What was written."""
    path = folder / "whole"
    path.write_bytes(content)
    found = rows_of(path)
    path.unlink()
    assert found is not None
    return found


def models_of(rows: Rows) -> list[tuple[Any, ...]]:
    """Models by what is read out of them: a zip has bytes that nobody reads."""
    return [
        (name, told, from_npz_bytes(npz, LinearMixtureMDP.load).fingerprint()) for name, told, npz in rows
    ]


def begins(written: tuple[Rows, Rows], found: tuple[Rows, Rows] | None, kind: str) -> bool:
    """Whether every loop is as it was written, or ends earlier; a solve that was written twice is there once."""
    if found is None or models_of(found[1]) != models_of(written[1]):
        return False
    for loop in {row[1] for row in [*written[0], *found[0]]}:
        one, two = ([row for row in rows if row[1] == loop] for rows in (written[0], found[0]))
        common = min(len(one), len(two))
        if one[:common] != two[:common]:
            return False
        added = [row[2] for row in two[common:]]
        if added and (kind != "repeated" or added not in ([b"solve"], [b"solve", b"policy"])):
            return False
    return True


def attack(count: int, only: int | None = None) -> Counter[tuple[str, str]]:
    """All cases; what was broken is said, with the number that makes it again."""
    endings: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as made:
        folder = Path(made)
        make(folder / "whole")
        content = (folder / "whole" / "events.db").read_bytes()
        for number in range(count) if only is None else (only,):
            result = case(number, content, folder / "case")
            endings[result.kind, "broken" if result.broken else result.ending] += 1
            if result.broken:
                print(f"case {number} ({result.kind}): {result.broken}", file=sys.stderr)
    return endings


def main() -> None:
    """Print a table of endings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    endings = attack(given.count, given.only)
    columns = ("sound", "mended", "not mended", "broken")
    print("damage".ljust(12), *(column.rjust(12) for column in columns))
    for kind in KINDS:
        print(kind.ljust(12), *(str(endings[kind, column]).rjust(12) for column in columns))
    total = sum(endings.values())
    print(
        "all".ljust(12), *(str(sum(endings[k, c] for k in KINDS)).rjust(12) for c in columns), f"of {total}"
    )
    sys.exit(any(endings[kind, "broken"] for kind in KINDS))


if __name__ == "__main__":
    main()
