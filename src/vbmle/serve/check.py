"""`vbmle check`: whether a database of events is as it was written, and which damage has one possible mending.

Every event carries a hash of itself and of all before it in its loop. So a change shows, and where something was lost,
moved or written twice, a mending can be proved: after it every hash is right again, or it is no mending. What cannot be
proved is left as it is. Beyond the hashes, events have to make sense one after the other, as the fold of the service
takes them (`Ledger`), on models that are there.

All events are held in memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from vbmle.common.files import UNREADABLE, from_npz_bytes
from vbmle.common.validation import InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import events
from vbmle.serve.event_log import UNREADABLE as UNDECODABLE
from vbmle.serve.event_log import StoredEvent
from vbmle.serve.folder import FORMAT, SCHEMA
from vbmle.serve.sense import Odd, Sense, Senseless

COLUMNS = "seq, loop, kind, time, key, CAST(body AS BLOB), CAST(chain AS BLOB)"
COMPLAINTS = 20
"""Of SQLite, about one database."""

SEARCHED = 2000
"""Numbers that are tried for an event whose own was changed."""

OF_AN_INDEX = re.compile(
    r"(row \d+ missing from index|wrong # of entries in index|non-unique entry in index) (\w+)"
)
OF_A_PAGE = re.compile(r"Tree (\d+) page")


class Finding(NamedTuple):
    """Something that is not as it should be, in one line; whether there is one possible mending, or no need of one."""

    what: str
    mended: bool
    odd: bool = False  # it is as it was written, and the service goes on from it


class Model(NamedTuple):
    """A model in the columns of its table."""

    name: str
    fingerprint: str
    time: float
    npz: bytes


@dataclass
class Store:
    """Everything in a database, as it is or as it is after mending."""

    models: list[Model] = field(default_factory=list)
    loops: dict[Any, list[StoredEvent]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing needs to be mended."""
        return all(finding.odd for finding in self.findings)

    @property
    def mendable(self) -> bool:
        """Whether all that is wrong has one possible mending."""
        return all(finding.mended or finding.odd for finding in self.findings)

    def find(self, what: str, mended: bool = False, odd: bool = False) -> None:
        """Say what is wrong."""
        self.findings.append(Finding(" ".join(what.split()), mended, odd))


def examine(database: Path) -> Store:
    """A database with what is wrong in it, as it is after mending; the file stays as it is."""
    store = Store()
    try:
        with closing(open_to_read(database)) as connection:
            _examine_file(connection, store)
            _read(connection, store)
    except UNDECODABLE as error:
        store.find(f"SQLite cannot read it: {error}")
        return store
    mdps = _examine_models(store)
    _chain_again(store)
    for name in list(store.loops):
        store.loops[name] = _with_columns(name, store)
        _examine_loop(name, store, mdps)
    return store


def open_to_read(database: Path) -> sqlite3.Connection:
    """A connection that changes nothing. Without a write-ahead log beside the database nobody has it open."""
    if not database.is_file():
        raise InputError(f"there is no {database}; give the folder of a server")
    alone = not database.with_name(f"{database.name}-wal").exists()
    address = f"{database.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


def _examine_file(connection: sqlite3.Connection, store: Store) -> None:
    """The file as SQLite sees it: its structure, its tables, indices and triggers, its format."""
    roots = dict(connection.execute("SELECT rootpage, name FROM sqlite_master WHERE type = 'index'"))
    for (complaint,) in connection.execute(f"PRAGMA integrity_check({COMPLAINTS})"):
        if complaint == "ok":
            continue
        page = OF_A_PAGE.search(complaint)
        in_index = OF_AN_INDEX.search(complaint) or (page and int(page[1]) in roots)
        store.find(complaint, mended=bool(in_index))
    there = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    for statement in SCHEMA.strip().split(";\n"):
        name = re.sub(r"CREATE (UNIQUE )?(TABLE|INDEX|TRIGGER) (\w+).*", r"\3", statement, flags=re.DOTALL)
        if name not in there:
            store.find(f"{name} is missing", mended="CREATE TABLE" not in statement)
        elif _plain(there[name]) != _plain(statement):
            store.find(f"{name} is not as it was made", mended="CREATE TABLE" not in statement)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > FORMAT:
        store.find(f"it has format {found}; this version of vbmle knows formats up to {FORMAT}")
    elif found != FORMAT:
        store.find(f"it has format {found}, not {FORMAT}", mended=True)


def _plain(sql: str) -> str:
    return " ".join(sql.replace(";", " ").split())


def _read(connection: sqlite3.Connection, store: Store) -> None:
    """All rows, from the tables themselves: an index may be wrong."""
    for row in connection.execute("SELECT name, fingerprint, time, npz FROM models ORDER BY name"):
        if isinstance(row[0], str) and isinstance(row[3], bytes):
            store.models.append(Model(*row))
        else:
            store.find(f"model {row[0]!r} is no model")
    for row in connection.execute(f"SELECT {COLUMNS} FROM events NOT INDEXED ORDER BY seq"):
        seq, _, _, time, _, body, chain = row
        if all(map(isinstance, (seq, time, body, chain), (int, float, bytes, bytes))):
            store.loops.setdefault(row[1], []).append(StoredEvent(*row))
        else:
            store.find(f"row {seq!r} of the events is no event")


def _examine_models(store: Store) -> dict[str, LinearMixtureMDP]:
    """Models that can be read, under the names that loops know them by."""
    wanted = {(one.model, one.fingerprint) for one in _beginnings(store)}
    found: list[Model] = []
    mdps: dict[str, LinearMixtureMDP] = {}
    for model in store.models:
        try:
            mdp = from_npz_bytes(model.npz, LinearMixtureMDP.load)
        except UNREADABLE:
            store.find(f"model {model.name} cannot be read")
            found.append(model)
            continue
        right = mdp.fingerprint()
        if model.fingerprint != right:
            known = (model.name, right) in wanted
            store.find(f"model {model.name} has another fingerprint than its content", mended=known)
            model = model._replace(fingerprint=right)
        elsewhere = {name for name, print_ in wanted if print_ == right}
        lost = elsewhere - {one.name for one in store.models}
        if len(lost) == 1 and not any(name == model.name for name, _ in wanted):
            (name,) = lost
            store.find(f"model {model.name} is the one that loops know as {name}", mended=True)
            model = model._replace(name=name)
        found.append(model)
        mdps[model.name] = mdp
    store.models = found
    return mdps


def _beginnings(store: Store) -> Iterator[events.Created]:
    for rows in store.loops.values():
        for row in rows:
            event = decoded(row.body)
            if isinstance(event, events.Created):
                yield event


def decoded(body: bytes) -> events.AnyEvent | None:
    """The event of a body; None where it is no such thing."""
    try:
        return events.decode(body)
    except UNDECODABLE:
        return None


def chained(head: bytes, row: StoredEvent) -> bytes:
    """The hash that an event has after others."""
    return events.chained(head, row.seq, row.time, row.body)


def _fits(head: bytes, row: StoredEvent) -> bool:
    return chained(head, row) == row.chain


def _chain_again(store: Store) -> None:
    """Loops whose events follow on from each other; what stands in the wrong place is put into the one that fits."""
    strays = [row for rows in store.loops.values() for row in _strays(rows)]
    lone = [
        rows[0] for rows in store.loops.values() if len(rows) == 1
    ]  # may be the beginning of another loop
    for name in list(store.loops):
        spare = [*strays, *(row for row in lone if row.loop != name)]
        rows, used = _chain_of(name, store, spare)
        store.loops[name] = rows
        taken = {id(row) for row in used}
        strays = [row for row in strays if id(row) not in taken]
        lone = [row for row in lone if id(row) not in taken]
        for row in used:
            others = store.loops.get(row.loop, [])
            store.loops[row.loop] = [one for one in others if one is not row]
    for row in strays:
        if not any(row is one for rows in store.loops.values() for one in rows):
            store.find(
                f"event {row.seq} of loop {row.loop!r} is not what was written there, and fits nowhere"
            )
    store.loops = {name: rows for name, rows in store.loops.items() if rows}


def _strays(rows: list[StoredEvent]) -> Iterator[StoredEvent]:
    """Events that do not follow on from those before, while those after do, or there are none."""
    head = b""
    for place, row in enumerate(rows):
        if not _fits(head, row) and (place + 1 == len(rows) or _fits(head, rows[place + 1])):
            yield row
        else:
            head = row.chain


def _chain_of(
    name: str, store: Store, spare: list[StoredEvent]
) -> tuple[list[StoredEvent], list[StoredEvent]]:
    """The events of a loop in their order, and which of the spare ones belong to it."""
    rest, done, used = list(reversed(store.loops[name])), list[StoredEvent](), list[StoredEvent]()
    while True:
        head, last = (done[-1].chain, done[-1].seq) if done else (b"", 0)
        row = rest.pop() if rest else None
        if row is not None and _fits(head, row):
            done.append(row)
            continue
        following = rest[-1] if rest else None
        if (found := _belonging(head, last, row, spare)) is not None:
            place, right = found
            used.append(spare.pop(place))
            store.find(
                f"event {used[-1].seq} of loop {used[-1].loop!r} is event {right.seq} of {name!r}", True
            )
            done.append(right._replace(loop=name))
            rest += [row] if row is not None else []
        elif row is None:
            return done, used
        elif following is not None and _fits(chained(head, row), following):
            store.find(f"event {row.seq} of loop {name!r} has another hash than its own", mended=True)
            done.append(row._replace(chain=chained(head, row)))
        elif following is None or _fits(head, following):
            continue  # a stray
        else:
            store.find(
                f"event {row.seq} of loop {name!r} is not what was written, or events before it are gone"
            )
            done.append(row)


def _belonging(
    head: bytes, last: int, row: StoredEvent | None, spare: list[StoredEvent]
) -> tuple[int, StoredEvent] | None:
    """Which spare event comes next, by place and with its right number: the hash proves it."""
    end = last + SEARCHED if row is None else min(row.seq, last + SEARCHED)
    for place, one in enumerate(spare):
        for seq in (one.seq, *range(last + 1, end)):
            right = one._replace(seq=seq)
            if seq > last and _fits(head, right) and (row is None or seq < row.seq):
                return place, right
    return None


def _with_columns(name: str, store: Store) -> list[StoredEvent]:
    """Events with the kind and the key that their bodies say."""
    rows = []
    for row in store.loops[name]:
        event = decoded(row.body)
        if event is None:
            store.find(f"event {row.seq} of loop {name!r} cannot be read")
        elif (row.kind, row.key) != (event.kind, event.key):
            store.find(f"event {row.seq} of loop {name!r} has another kind or key than it says", mended=True)
            row = row._replace(kind=event.kind, key=event.key)
        rows.append(row)
    return rows


def _examine_loop(name: str, store: Store, mdps: dict[str, LinearMixtureMDP]) -> None:
    """Whether events make sense one after the other; what was solved twice counts once, the first time."""
    kept, head, repeated = list[StoredEvent](), b"", 0
    sense = Sense(name, {model.name: model.fingerprint for model in store.models}, mdps)
    for row in store.loops[name]:
        event = decoded(row.body)
        try:
            if event is not None and sense.repeats(event):
                store.find(f"event {row.seq} of loop {name!r} repeats what the loop had solved", mended=True)
                repeated += 1
                continue
            if repeated:  # those after it were hashed with it
                row = row._replace(chain=chained(head, row))
            if event is not None:
                sense.take(events.Entry(row.seq, row.time, event, row.chain))
        except Senseless as error:
            store.find(f"event {row.seq} of loop {name!r}: {error}", odd=isinstance(error, Odd))
        kept.append(row)
        head = row.chain
    store.loops[name] = kept
