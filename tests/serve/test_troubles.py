"""Full disk, read-only folder, damaged database, wrong token, two servers, power cut: one clear line, nothing lost."""

import asyncio
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused, require_told
from serving import DEPOT, NPZ, PATIENCE, Answer, Local, Process, as_anyone, audit, process, served

from vbmle.common.files import npz_of
from vbmle.model import model_file
from vbmle.serve.client import Refused
from vbmle.serve.event_log import DamagedLog
from vbmle.serve.folder import Folder
from vbmle.serve.server import read_token

TOKEN = "a-token-of-enough-characters"


async def some(local: Local) -> None:
    await local.make()
    await local.play(10)
    await local.rest()


def refusal(folder: Path, *arguments: str, before: list[str] | None = None) -> str:
    """The one line with which a server does not start."""
    server = Process(folder, *arguments, before=before or [])
    try:
        assert server.url is None
        assert server.process.wait(PATIENCE) == 2
        assert len(server.lines) == 1, server.lines
        return server.lines[0]
    finally:
        server.close()


def test_a_full_disk_loses_nothing_and_is_got_over(tmp_path: Path):
    """SQLite's own limit on pages raises the very error that a full disk does."""

    async def test(local: Local) -> None:
        await some(local)
        writer, state = local.service.log._writer, local.service.loops["depot"].ledger
        before = (state.decisions, state.observations, state.seq)
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        answers: list[Answer] = []
        while not answers or answers[-1].status == 200:
            assert len(answers) < 1000
            answers.append(await local.post("decisions", {"state": 1, "request_id": f"full-{len(answers)}"}))
        assert answers[-1].status == 507
        require_told(answers[-1].body["error"], "disk", "full", "free", "send")
        assert answers[-1].headers["retry-after"] == "1"
        ready = await local.ask("GET", "/readyz")
        assert ready.status == 503
        require_told(ready.body["error"], "disk", "full")
        assert (await local.ask("GET", "/healthz")).status == 200
        writer.execute("PRAGMA max_page_count = 1000000")
        while (again := await local.post("decisions", {"state": 1, "request_id": "after"})).status == 503:
            await asyncio.sleep(0.001)  # the loops are being read from disk
        assert again.status == 200
        assert (await local.ask("GET", "/readyz")).status == 200
        state = local.service.loops["depot"].ledger
        assert state.decisions == before[0] + len(answers) - 1 + 1
        assert state.observations == before[1]
        for number, answer in enumerate(answers[:-1]):
            body = {"state": 1, "request_id": f"full-{number}"}
            assert (await local.post("decisions", body)).body == answer.body

    served(tmp_path, test)
    audit(tmp_path, "depot")


def test_a_disk_that_works_again_is_noticed_though_nothing_is_asked(tmp_path: Path):
    """A balancer asks nothing of a server that is not ready: it must find out by itself."""

    async def test(local: Local) -> None:
        await some(local)
        log, loops = local.service.log, local.service.loops
        told = {"decision_id": (await local.decide(1, "r1"))["decision_id"], "next_state": 1}
        await local.post("observations", told)
        await local.rest()
        log._writer.execute("PRAGMA query_only = ON")
        assert (await local.post("decisions", {"state": 1, "request_id": "r2"})).status == 503
        while local.service.loops is loops or local.service._reading:
            await asyncio.sleep(0.001)
        duplicate = await local.post("observations", told)
        assert duplicate.body == {"recorded": 0, "duplicates": 1}, "what is on disk needs no disk that works"
        loops = local.service.loops
        for works, status in ((False, 503), (True, 200)):
            log._writer.execute(f"PRAGMA query_only = {'OFF' if works else 'ON'}")
            log.probe()
            while log._under_way is not None:
                await asyncio.sleep(0.001)
            assert (await local.ask("GET", "/readyz")).status == status
            assert local.service.loops is loops, "nothing was lost, so nothing is read again"
        assert log.written.failures == 1

    served(tmp_path, test)
    audit(tmp_path, "depot")


def test_a_folder_that_becomes_read_only_is_said_and_got_over(tmp_path: Path):
    """SQLite's own switch raises the very error that a disk does which the system has made read-only."""

    async def test(local: Local) -> None:
        await some(local)
        writer, before = local.service.log._writer, local.service.loops["depot"].ledger.decisions
        writer.execute("PRAGMA query_only = ON")
        answer = await local.post("decisions", {"state": 1, "request_id": "r"})
        assert answer.status == 503
        require_told(answer.body["error"], "folder", "read-only", "writable")
        assert (await local.ask("GET", "/readyz")).status == 503
        writer.execute("PRAGMA query_only = OFF")
        while (again := await local.post("decisions", {"state": 1, "request_id": "r"})).status == 503:
            await asyncio.sleep(0.001)
        assert again.status == 200
        assert local.service.loops["depot"].ledger.decisions == before + 1

    served(tmp_path, test)
    audit(tmp_path, "depot")


def test_a_program_that_locks_the_database_for_a_while_is_waited_for(tmp_path: Path):
    async def test(local: Local) -> None:
        await some(local)
        other = sqlite3.connect(tmp_path / "events.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        asked = asyncio.ensure_future(local.post("decisions", {"state": 1, "request_id": "r"}))
        done, _ = await asyncio.wait([asked], timeout=0.2)
        assert not done, "what is not on disk is not answered"
        assert (await local.ask("GET", "/v1/loops/depot")).status == 200, "reading goes on"
        other.execute("ROLLBACK")
        other.close()
        assert (await asked).status == 200

    served(tmp_path, test)
    audit(tmp_path, "depot")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path):
    folder = tmp_path / "folder"
    served(folder, some)
    for path in (folder, folder / "snapshots", *folder.glob("*.db*"), folder / "lock"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        line = refusal(folder, before=as_anyone())
    finally:
        for path in (folder, folder / "snapshots"):
            path.chmod(0o755)
    require_told(line, str(folder), "Permission denied", "folder of its own")
    audit(folder, "depot")


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with refused(str(tmp_path / "file"), "folder of its own"):
        Folder(tmp_path / "file")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_are_for_the_user_of_the_server_alone(tmp_path: Path):
    """Whatever the umask says, and also where a folder was opened to others, or restored."""
    folder = tmp_path / "folder"
    before = os.umask(0o022)
    try:

        async def test(local: Local) -> None:
            if not local.service.loops:
                await some(local)
            made = [folder, *folder.rglob("*")]
            assert {"events.db", "events.db-wal", "lock", "snapshots"} <= {path.name for path in made}
            for path in made:
                assert mode_of(path) == (0o700 if path.is_dir() else 0o600), path

        served(folder, test, snapshot_every=5)
        assert list((folder / "snapshots").glob("*.npz"))
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        served(folder, test)
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_that_others_can_read_is_refused(mode: int, tmp_path: Path):
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    assert read_token(path) == TOKEN
    path.chmod(mode)
    with refused("--token-file", str(path), f"{mode:04o}", "chmod 600"):
        read_token(path)


@pytest.mark.parametrize("place", [0, 5000])
def test_a_damaged_database_is_refused_in_one_line(place: int, tmp_path: Path):
    served(tmp_path, some)
    path = tmp_path / "events.db"
    content = bytearray(path.read_bytes())
    content[place : place + 3000] = b"\xa5" * 3000
    path.write_bytes(content)
    line = refusal(tmp_path)
    require_told(line, str(path), "damaged", "backup")
    assert path.read_bytes() == content, "nothing was written into it"


def test_an_event_that_was_changed_is_noticed(tmp_path: Path):
    served(tmp_path, some)
    connection = sqlite3.connect(tmp_path / "events.db")
    connection.executescript(
        "DROP TRIGGER events_stay; UPDATE events SET body = replace(body, '\"state\":0', '\"state\":1') WHERE seq = 2"
    )
    connection.close()
    with refused("event 2", "loop depot", "backup", by=DamagedLog):
        served(tmp_path, some)


def test_an_event_that_its_index_has_lost_is_noticed(tmp_path: Path):
    served(tmp_path, some)
    path = tmp_path / "events.db"
    whole = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'events_of_a_loop'"
        ((page,),) = connection.execute(query)
        ((size,),) = connection.execute("PRAGMA page_size")
    start = (page - 1) * size
    at = whole.rindex(b"depot", start, start + size)
    path.write_bytes(whole[:at] + b"depor" + whole[at + 5 :])
    line = refusal(tmp_path)
    require_told(line, str(path), "index", "backup")


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ("UPDATE events SET kind = 'creates' WHERE seq = 1", ("event 1", "'depot'")),
        ("UPDATE events SET loop = 'other' WHERE seq = 3", ("event 3", "'other'")),
        ("UPDATE events SET key = 'other' WHERE seq = 2", ("event 2", "depot")),
        ("UPDATE models SET npz = x'00'", ("model depot",)),
        ("UPDATE models SET fingerprint = 'other'", ("model depot",)),
    ],
)
def test_what_stands_beside_an_event_is_checked_too(change: str, facts: tuple[str, ...], tmp_path: Path):
    served(tmp_path, some)
    connection = sqlite3.connect(tmp_path / "events.db")
    connection.executescript(f"DROP TRIGGER events_stay; {change}")
    connection.close()
    with refused(*facts, by=DamagedLog):
        served(tmp_path, some)


def test_a_later_format_is_refused(tmp_path: Path):
    served(tmp_path, some)
    connection = sqlite3.connect(tmp_path / "events.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with refused(str(tmp_path / "events.db"), "99", "1", "install"):
        Folder(tmp_path)


def test_a_second_server_on_the_folder_is_refused(tmp_path: Path):
    with process(tmp_path) as first:
        line = refusal(tmp_path)
        number = first.process.pid
        require_told(line, str(tmp_path), f"process {number}", "stop", "another folder")
        first.client().put_model("depot", NPZ)
        assert first.stop() == 0


def test_a_power_cut_keeps_what_was_answered(tmp_path: Path):
    """Whatever was appended to the write-ahead log after an answer may be lost, in part or as garbage."""
    folder, sizes = tmp_path / "folder", []

    async def test(local: Local) -> None:
        await local.make()
        local.service.log._writer.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(12):
            await local.decide(number % 4, f"r{number}")
            sizes.append((folder / "events.db-wal").stat().st_size)
        shutil.copytree(folder, tmp_path / "cut")

    served(folder, test)
    cut = tmp_path / "cut"
    whole = (cut / "events.db-wal").read_bytes()
    for answered, size in enumerate(sizes, start=1):
        following = sizes[answered] if answered < len(sizes) else len(whole)
        for end in {size, (size + following) // 2, max(size, following - 1)}:
            for tail in (b"", b"\xa5" * 4096):
                shutil.rmtree(tmp_path / "trial", ignore_errors=True)
                shutil.copytree(cut, tmp_path / "trial")
                (tmp_path / "trial" / "events.db-shm").unlink(missing_ok=True)
                (tmp_path / "trial" / "events.db-wal").write_bytes(whole[:end] + tail)
                assert audit(tmp_path / "trial", "depot").decisions >= answered


def test_a_token_is_needed_everywhere_but_for_health(tmp_path: Path):
    async def test(local: Local) -> None:
        paths = ["/", "/metrics", "/openapi.json", "/v1/loops", "/v1/models", "/v1/loops/depot", "/nothing"]
        for path in paths:
            without = await local.ask("GET", path)
            assert without.status == 401
            assert without.headers["www-authenticate"].startswith("Basic ")
            wrong = await local.ask("GET", path, headers={"authorization": "Bearer wrong"})
            assert wrong.status == 401
            require_told(wrong.body["error"], "token", "wrong", "--token-file")
            right = await local.ask("GET", path, headers={"authorization": f"Bearer {TOKEN}"})
            assert right.status != 401
        basic = await local.ask(
            "GET", "/v1/loops", headers={"authorization": "Basic OmEtdG9rZW4tb2YtZW5vdWdoLWNoYXJhY3RlcnM="}
        )
        assert basic.status == 200
        for path in ("/healthz", "/readyz"):
            assert (await local.ask("GET", path)).status == 200

    served(tmp_path, test, token=TOKEN)


def test_a_token_by_the_command_line(tmp_path: Path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    with process(tmp_path / "folder", "--token-file", str(tmp_path / "token"), "--host", "0.0.0.0") as server:
        server.url = (server.url or "").replace("0.0.0.0", "127.0.0.1")
        with refused("token", "Authorization: Bearer", by=Refused):
            server.client().put_model("depot", NPZ)
        assert server.client(TOKEN).put_model("depot", NPZ)["states"] == 4


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (
            ["--host", "0.0.0.0"],
            ("--host", "0.0.0.0", "--token-file"),
        ),
        (
            ["--token-file", "no-such-file"],
            ("--token-file", "no-such-file", "No such file or directory"),
        ),
        (
            ["--host", "no.such.host.invalid", "--token-file", "TOKEN"],
            ("no.such.host.invalid", "--host", "--port"),
        ),
        (["--token-file", "SHORT"], ("--token-file", "5", "16", "openssl rand -hex 32")),
    ],
)
def test_what_the_command_line_refuses(arguments: list[str], facts: tuple[str, ...], tmp_path: Path):
    for name, token in (("TOKEN", TOKEN), ("SHORT", "short")):
        (tmp_path / name).write_text(token)
        (tmp_path / name).chmod(0o600)
    paths = {name: str(tmp_path / name) for name in ("TOKEN", "SHORT")}
    command = [
        sys.executable,
        "-m",
        "vbmle",
        "serve",
        str(tmp_path / "folder"),
        *(paths.get(a, a) for a in arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    require_told(done.stderr.removesuffix("\n"), *facts)


def test_a_port_that_is_taken_is_refused(tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "vbmle", "serve", str(tmp_path), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    require_told(done.stderr.removesuffix("\n"), "127.0.0.1", f"port {port}", "already in use", "--port")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "localhost:8417"}, 200),
        ({"host": "127.0.0.1:8417", "origin": "http://127.0.0.1:8417"}, 200),
        ({"host": "[::1]:8417"}, 200),
        ({"host": "rebound.example"}, 403),
        ({"host": "localhost:8417", "origin": "http://evil.example"}, 403),
        ({"host": "localhost:8417", "origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_are_refused(headers: dict[str, str], status: int, tmp_path: Path):
    async def test(local: Local) -> None:
        answer = await local.ask("GET", "/v1/loops", headers=headers)
        assert answer.status == status

    served(tmp_path, test)


BAD: list[tuple[str, dict[str, Any], int, tuple[str, ...]]] = [
    ("decisions", {"body": {"state": 9, "request_id": "r"}}, 422, ("state", "9", "0", "3")),
    ("decisions", {"body": {"state": True, "request_id": "r"}}, 422, ("state", "true", "whole number", "text")),
    ("decisions", {"body": {"state": 1}}, 422, ("body", "request_id")),
    ("decisions", {"body": {"state": 1, "request_id": ""}}, 422, ("request_id", "1")),
    ("decisions", {"body": {"state": 1, "request_id": "r", "x": 1}}, 422, ("body", "x")),
    ("decisions", {"body": {"state": 1, "request_id": "r", "allowed": []}}, 422, ("allowed", "1")),
    ("decisions", {"body": {"state": 1, "request_id": "r", "allowed": [0, 7]}}, 422, ("allowed[1]", "7", "0", "2")),
    ("decisions", {"content": b"{", "headers": {"content-type": "application/json"}}, 422, ("body", "JSON")),
    ("decisions", {"content": b"{}", "headers": {"content-type": "text/plain"}}, 422, ("body", "application/json")),
    ("observations", {"body": {"decision_id": "d1", "next_state": 0}}, 422, ("decision_id", "'d1'", "loop depot")),
    ("observations", {"body": [{"decision_id": "d2"}]}, 422, ("[0]", "next_state")),
    ("mode", {"body": {"mode": "off"}}, 422, ("mode", "'off'", "shadow", "live", "frozen")),
    ("mode", {"content": b'{"x": tru}', "headers": {"content-type": "application/json"}}, 422, ("'x'", "no field")),
    ("decisions", {"body": {"state": 1, "request_id": "r" * 201}}, 422, ("request_id", "201", "at most 200")),
    ("decisions", {"body": {"state": 1.5, "request_id": "r"}}, 422, ("state", "1.5", "whole number")),
    ("decisions", {"content": b"[" * 9000, "headers": {"content-type": "application/json"}}, 422, ("body", "object")),
    ("cancel", {"body": {"decision_id": "d01"}}, 422, ("decision_id", "'d01'")),
    ("replay", {"body": {"agent": "VBMEL"}}, 422, ("agent", "'VBMEL'", "'VBMLE'")),
    ("replay", {"body": {"agent": "Oracle"}}, 422, ("agent", "Oracle", "truth")),
    ("mode", {"content": b"[" * (2**20 + 1), "headers": {"content-type": "application/json"}}, 413, ("1048576",)),
]  # fmt: skip


@pytest.mark.parametrize(("what", "request_", "status", "facts"), BAD)
def test_bad_input_is_refused_in_one_line(
    what: str, request_: dict[str, Any], status: int, facts: tuple[str, ...], tmp_path: Path
):
    async def test(local: Local) -> None:
        await local.make()
        answer = await local.ask("POST", f"/v1/loops/depot/{what}", **request_)
        assert answer.status == status
        require_told(answer.body["error"], *facts)
        for foreign in ("Expected", "Invalid", "Object", "`"):
            assert foreign not in answer.body["error"], "these are the words of a library"
        assert local.service.loops["depot"].ledger.length == 1

    served(tmp_path, test)


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        (["", "b", "c", "d"], ("state_names[0]", "''", "1 to 200")),
        (["a", "b\n", "c", "d"], ("state_names[1]", "'b\\n'", "printed")),
        (["a", "b", "c" * 10**6, "d"], ("state_names[2]", "1000000 characters", "200")),
        (["1", "0", "2", "3"], ("state_names[0]", "'1'", "number of '0'", "no numbers")),
    ],
)
def test_names_that_cannot_be_shown_or_mean_two_things_are_refused(
    names: list[str], facts: tuple[str, ...], tmp_path: Path
):
    """They come in a file, so a user's library has not looked at them."""
    content = npz_of(named(names))

    async def test(local: Local) -> None:
        answer = await local.ask("PUT", "/v1/models/depot", content=content)
        assert answer.status == 422
        require_told(answer.body["error"], *facts)

    served(tmp_path, test)


def named(names: list[str]) -> dict[str, Any]:
    """The arrays of the depot's file, with other names of its states."""
    told = json.dumps([names, None, None]).encode()
    return model_file.arrays_of(DEPOT.mdp) | {"names": np.frombuffer(told, np.uint8)}
