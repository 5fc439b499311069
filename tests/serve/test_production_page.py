"""The commands that are shown work as they stand: those of "Run it in production", and those of the page at /."""

import configparser
import html
import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from serving import DEPOT, NPZ, PATIENCE, as_anyone, audit, process

from vbmle import Client
from vbmle.serve.client import Unreachable

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "production.md").read_text()
ADDRESS = "http://127.0.0.1:8417"


def blocks(kind: str) -> list[str]:
    """What is shown in blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def shell(command: str, folder: Path) -> str:
    """Run a command; what it prints."""
    strict = re.sub(r"^curl ", "curl -sS --fail-with-body ", command, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-euc", strict], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def learnt(client: Client) -> None:
    """Wait until nothing is being computed, so that the next event has the number that the page shows."""
    while "pump-1" in client.ask("GET", "/v1/loops"):
        policy = client.loop("pump-1").status()["policy"]
        if not policy["solving"] and policy["unseen_observations"] == 0:
            return
        time.sleep(0.002)


def test_the_requests_of_the_page_get_the_answers_that_it_shows(tmp_path: Path):
    subprocess.run(
        [sys.executable, "-c", "\n".join(blocks("python"))], cwd=tmp_path, check=True, timeout=PATIENCE
    )
    shown = re.findall(r"^```(sh|json|py)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    with process(tmp_path / "folder") as server:
        assert server.url is not None
        answers, printed = 0, ""
        for kind, text in shown:
            if kind == "json":
                assert json.loads(printed) == json.loads(text)
                answers += 1
            elif kind == "py":
                code = text.replace(ADDRESS, server.url)
                done = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
                )
                assert (done.returncode, done.stdout) == (0, "run\n"), done.stderr
                learnt(server.client())
            elif text.startswith("curl") and "Authorization" not in text:
                for command in re.split(r"\n(?=curl )", text):
                    printed = shell(command.replace(ADDRESS, server.url), tmp_path)
                    learnt(server.client())
        assert answers == 2
        status = server.client().loop("pump-1").status()
        assert (status["decisions"], status["observations"], status["cancelled"]) == (3, 2, 1)
        assert status["mode"] == "shadow"
        assert (tmp_path / "pump-1.parquet").read_bytes()[:4] == b"PAR1"


def test_the_requests_of_the_first_page_work(tmp_path: Path):
    (tmp_path / "depot.npz").write_bytes(NPZ)
    with process(tmp_path / "folder") as server:
        page = shell(f"curl {server.url}/", tmp_path)
        commands = [html.unescape(text) for text in re.findall(r"<pre>(curl.*?)</pre>", page, re.DOTALL)]
        assert len(commands) == 3
        for command in commands:
            shell(command, tmp_path)
        status = server.client().loop("depot").status()
        assert (status["decisions"], status["observations"], status["mode"]) == (1, 1, "shadow")


def test_a_backup_that_is_made_under_load_has_everything_answered_before_it(tmp_path: Path):
    (command,) = [
        line for block in blocks("sh") for line in block.splitlines() if line.startswith("sqlite3 ")
    ]
    match = re.fullmatch(
        r'sqlite3 /var/lib/vbmle/events.db "(VACUUM INTO \'/backup/events-.*.db\')"', command
    )
    assert match
    (tmp_path / "restored").mkdir()
    copy = f"'{tmp_path}/restored/events.db'"
    statement = re.sub(r"'.*'", copy, match[1])
    with process(tmp_path / "folder") as server:
        client = server.client()
        client.put_model("depot", NPZ)
        client.loop("depot").create("depot", "VBMLE")
        answered: list[str] = []

        def load() -> None:
            loop, state = server.client(patience=0.0).loop("depot"), 0
            try:
                while True:
                    decision = loop.act(state)
                    state = DEPOT.next_state(state, decision.action, 0.5)
                    loop.observe(decision, state)
                    answered.append(decision.decision_id)
            except Unreachable:
                return

        thread = threading.Thread(target=load)
        thread.start()
        while len(answered) < 20:
            thread.join(0.001)
        before = list(answered)
        connection = sqlite3.connect(tmp_path / "folder" / "events.db")
        connection.execute(statement)
        connection.close()
        while len(answered) < len(before) + 5:  # the server went on
            thread.join(0.001)
        server.kill()
        thread.join()
    state = audit(tmp_path / "restored", "depot")
    assert state.observations >= len(before)
    with process(tmp_path / "restored") as server:
        loop = server.client().loop("depot")
        assert loop.status()["observations"] == state.observations
        assert loop.act(0).action in range(3)


def test_a_backup_is_restored_as_the_page_says_for_a_server_that_is_not_root(tmp_path: Path):
    """Whoever copies the backup owns the copy: the unit's user may not write it before it is handed over."""
    (text,) = [block for block in blocks("sh") if "chown --reference" in block]
    commands = text.replace("/var/lib/vbmle", f"{tmp_path}/folder").replace("/backup", f"{tmp_path}/backup")
    commands = "\n".join(line for line in commands.splitlines() if not line.startswith("systemctl"))
    commands = re.sub(r"events-\S+\.db", "events-day.db", commands)
    (tmp_path / "backup").mkdir()
    with process(tmp_path / "folder") as server:
        client = server.client()
        client.put_model("depot", NPZ)
        client.loop("depot").create("depot", "VBMLE")
        before = client.loop("depot").act(0, request_id="before")
        with closing(sqlite3.connect(tmp_path / "folder" / "events.db")) as connection:
            connection.execute(f"VACUUM INTO '{tmp_path}/backup/events-day.db'")
        client.loop("depot").act(1, request_id="after")
        assert server.stop() == 0
    copied, handed_over = commands.strip().rsplit("\n", 1)
    assert handed_over.startswith("chown")
    shell(copied, tmp_path)
    database = tmp_path / "folder" / "events.db"
    if os.geteuid() == 0:  # as the copy of root is to the user of the unit
        os.chown(database, 12345, 12345)
        with process(tmp_path / "folder", before=as_anyone()) as server:
            assert server.url is None
            assert server.lines[0].endswith(handed_over)
    shell(handed_over, tmp_path)
    with process(tmp_path / "folder", before=as_anyone()) as server:
        loop = server.client().loop("depot")
        assert loop.act(0, request_id="before") == before
        assert loop.status()["decisions"] == 1


def test_the_token_is_sent_as_the_page_says(tmp_path: Path):
    (command,) = [block for block in blocks("sh") if "Authorization" in block]
    token = tmp_path / "token"
    token.write_text("0123456789abcdef\n")
    token.chmod(0o600)
    with process(tmp_path / "folder", "--token-file", str(token)) as server:
        assert server.url is not None
        right = command.replace(ADDRESS, server.url).replace("/etc/vbmle/token", str(token))
        assert json.loads(shell(right, tmp_path)) == {}
        token.write_text("fedcba9876543210\n")  # another one than the server has read
        with pytest.raises(AssertionError, match="error: 401"):
            shell(right, tmp_path)


def options() -> set[str]:
    """What the command line of `vbmle serve` takes."""
    done = subprocess.run(
        [sys.executable, "-m", "vbmle", "serve", "--help"], capture_output=True, text=True, timeout=PATIENCE
    )
    return set(re.findall(r"--[a-z-]+", done.stdout))


@pytest.mark.parametrize("kind", ["ini", "dockerfile"])
def test_unit_and_container_start_the_server_as_it_can_be_started(kind: str):
    (text,) = blocks(kind)
    if kind == "ini":
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str  # type: ignore[assignment]
        unit.read_string(text)
        command = unit["Service"]["ExecStart"].split()
        assert command[0].endswith("/vbmle")
        assert command[2] == f"/var/lib/{unit['Service']['StateDirectory']}"
    else:
        (entry,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
        command = json.loads(entry)
        assert f"VOLUME {command[2]}\n" in text
    assert command[1] == "serve"
    given = {word for word in command if word.startswith("--")}
    assert "--token-file" in given
    assert given <= options()


def test_every_figure_that_the_page_names_is_there(tmp_path: Path):
    with process(tmp_path) as server:
        client = server.client()
        client.put_model("depot", NPZ)
        client.loop("depot").create("depot", "MaximumLikelihood")
        text = shell(f"curl {server.url}/metrics", tmp_path)
    there = set(re.findall(r"^(vbmle_\w+)[ {]", text, re.MULTILINE))
    named = set(re.findall(r"vbmle_[a-z_]+", PAGE)) - {"vbmle_request_seconds"}
    assert named <= there
    assert "vbmle_request_seconds_bucket" in there
