"""`vbmle check`: sound folders are called so, damage is said, and mended where there is one possible mending."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import damaged_stores
import numpy as np
import pytest
from refusals import require_told
from serving import PATIENCE, Local, audit, happened, process, served

from vbmle.serve import events
from vbmle.serve.check import examine
from vbmle.serve.mending import mend

SLICE = 70


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "folder"
    damaged_stores.make(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "folder"))


def check(folder: Path, *arguments: str) -> tuple[int, str]:
    """How the command ends, and what it prints."""
    command = [sys.executable, "-m", "vbmle", "check", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout or done.stderr


def edit(folder: Path, script: str) -> None:
    with closing(sqlite3.connect(folder / "events.db")) as connection:
        connection.executescript(f"DROP TRIGGER events_stay; DROP TRIGGER events_last; {script}")


def test_damage_of_every_kind_is_found_and_mended_or_left_alone():
    endings = damaged_stores.attack(SLICE)
    assert sum(endings.values()) == SLICE
    assert not [ending for ending in endings if ending[1] == "broken"]
    assert sum(count for (_, ending), count in endings.items() if ending == "mended") > SLICE // 4


def test_a_sound_folder_is_called_so_while_it_is_served(folder: Path):
    with process(folder) as server:
        server.client().loop("depot").act(1)
        code, printed = check(folder)
        assert (code, printed.count("\n")) == (0, 1)
        require_told(printed.strip(), str(folder), "sound", "3 loops", "1 models")
        code, printed = check(folder, "--mend")
        assert code == 2
        require_told(printed.strip(), "in use", f"process {server.process.pid}")


def test_what_was_solved_twice_counts_once_and_the_server_starts(folder: Path):
    """A log as two controllers of one loop left it."""
    with closing(sqlite3.connect(folder / "events.db")) as connection:
        content = connection.serialize()
    rng = np.random.default_rng(3)
    (folder / "events.db").write_bytes(damaged_stores.repeated(content, rng))
    for name in ("events.db-wal", "events.db-shm"):
        (folder / name).unlink(missing_ok=True)
    code, printed = check(folder)
    assert code == 1
    assert "repeats what the loop had solved" in printed
    require_told(printed.strip().splitlines()[-1], "can be mended", f"vbmle check {folder} --mend")
    code, printed = check(folder, "--mend")
    assert code == 0
    require_told(printed.strip().splitlines()[-1], "mended", str(folder / "before-mending-1"))
    assert check(folder)[0] == 0

    async def test(local: Local) -> None:
        assert set(local.service.loops) == set(damaged_stores.LOOPS)
        await local.play(2, "depot", prefix="again")
        await local.rest()

    served(folder, test)
    for loop in damaged_stores.LOOPS:
        audit(folder, loop)


def test_an_event_that_was_changed_cannot_be_mended(folder: Path):
    edit(folder, "UPDATE events SET body = replace(body, '\"state\":0', '\"state\":1') WHERE seq = 2")
    before = (folder / "events.db").read_bytes()
    code, printed = check(folder, "--mend")
    assert code == 1
    assert "event 2 of loop 'depot' is not what was written" in printed
    require_told(printed.strip().splitlines()[-1], "stays as it is", "backup")
    assert (folder / "events.db").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ("UPDATE events SET kind = 'decides' WHERE seq = 2", ("event 2", "kind or key")),
        ("UPDATE events SET loop = 'none' WHERE seq = 3", ("event 3", "'none'", "'depot'")),
        ("UPDATE events SET loop = 'none' WHERE seq = 1", ("event 1", "'none'", "'depot'")),
        ("UPDATE events SET seq = 500 WHERE seq = 2", ("event 500", "event 2")),
        ("UPDATE events SET chain = x'00' WHERE seq = 2", ("event 2", "hash")),
        ("UPDATE models SET fingerprint = 'other'", ("model depot", "fingerprint")),
        ("UPDATE models SET name = 'other'", ("model other", "depot")),
        ("PRAGMA user_version = 0", ("format 0",)),
        ("DROP INDEX once", ("once is missing",)),
    ],
)
def test_what_the_hashes_prove_is_mended(change: str, facts: tuple[str, ...], folder: Path):
    told = {loop: happened(folder, loop) for loop in damaged_stores.LOOPS}
    edit(folder, change)
    store, kept = mend(folder)
    assert kept is not None
    lines = [finding.what for finding in store.findings if "events_" not in finding.what]
    assert len(lines) == 1
    require_told(lines[0], *facts)
    assert {loop: happened(folder, loop) for loop in damaged_stores.LOOPS} == told
    assert examine(folder / "events.db").findings == []


def test_what_makes_no_sense_is_said_though_every_hash_is_right(folder: Path):
    """Whoever writes an event by hand can compute its hash."""
    with closing(sqlite3.connect(folder / "events.db", isolation_level=None)) as connection:
        now, head = connection.execute(
            "SELECT time, chain FROM events WHERE loop = 'depot' ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        (most,) = connection.execute("SELECT max(seq) FROM events").fetchone()
        body = events.encode(events.Observed("d9999", 0, 1, 2))
        check_ = events.chained(head, most + 1, now, body)
        row = (most + 1, "depot", "observed", now, "d9999", body, check_)
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    (finding,) = examine(folder / "events.db").findings
    require_told(finding.what, f"event {most + 1}", "'depot'", "d9999", "not made")
    assert not finding.mended


def test_a_folder_without_a_database_is_refused(tmp_path: Path):
    code, printed = check(tmp_path)
    assert code == 2
    require_told(printed.strip(), str(tmp_path / "events.db"), "folder of a server")
    assert json.dumps([path.name for path in tmp_path.iterdir()]) == "[]", "nothing was made"
