"""Over a real connection: events as they come, figures, bodies without an end, and files that must not be trusted."""

import http.client
import io
import json
import pickle
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from refusals import refused, require_told
from serving import NPZ, PATIENCE, Local, Process, process, served

from vbmle import Client
from vbmle.serve.client import Refused
from vbmle.serve.http_api import BODY_BYTES


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with process(tmp_path / "folder") as found:
        found.client().put_model("depot", NPZ)
        found.client().loop("depot").create("depot", "MaximumLikelihood")
        yield found


def connect(server: Process) -> http.client.HTTPConnection:
    parts = urlsplit(server.url or "")
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)


def listen(
    server: Process, after: int | None = None
) -> tuple[http.client.HTTPConnection, Iterator[dict[str, Any]]]:
    """The stream of a loop's events, from after a number on."""
    connection = connect(server)
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    connection.request("GET", "/v1/loops/depot/events", headers=headers)
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")

    def events() -> Iterator[dict[str, Any]]:
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    return connection, events()


def test_events_come_as_they_happen_and_a_listener_that_was_away_misses_none(server: Process):
    loop = server.client().loop("depot")
    connection, events = listen(server)
    assert next(events)["kind"] == "created"
    decision = loop.act(1, request_id="r1")
    heard = next(events)
    assert (heard["kind"], heard["decision_id"], heard["action"]) == (
        "decided",
        decision.decision_id,
        decision.action,
    )
    connection.close()
    loop.observe(decision, 2)
    connection, events = listen(server, after=heard["seq"])
    kinds = [next(events) for _ in range(3)]
    assert [event["kind"] for event in kinds] == ["observed", "solve", "policy"]
    assert [event["seq"] for event in kinds] == [heard["seq"] + k for k in (1, 2, 3)]
    assert server.stop() == 0, "listeners do not keep a server from stopping"
    assert list(events) == []
    connection.close()


def figures(server: Process) -> dict[str, float]:
    connection = connect(server)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.read().decode()
    connection.close()
    return {name: float(value) for name, value in re.findall(r"^([^#].*) (\S+)$", text, re.MULTILINE)}


def test_the_figures_are_those_of_the_loop(server: Process):
    loop = server.client().loop("depot")
    told = [loop.act(1, request_id=f"r{number}") for number in range(5)]
    loop.observe(told[0], 2)
    loop.observe(told[0], 2)
    loop.cancel(told[1])
    found, status = figures(server), loop.status()
    label = '{loop="depot"}'
    assert found[f"vbmle_decisions_total{label}"] == status["decisions"] == 5
    assert found[f"vbmle_observations_total{label}"] == status["observations"] == 1
    assert found[f"vbmle_cancelled_total{label}"] == 1
    assert found[f"vbmle_pending{label}"] == status["pending"] == 3
    assert found[f"vbmle_duplicates_total{label}"] == 1
    assert found[f"vbmle_misfit_alarm{label}"] in (-1.0, 0.0), "not known until it was looked at"
    assert 0.0 <= found[f"vbmle_insight_age_seconds{label}"] < PATIENCE
    assert found["vbmle_ready"] == 1
    asked = 'vbmle_request_seconds_count{operation="POST /v1/loops/{loop}/decisions"}'
    assert found[asked] == 5
    assert found["vbmle_events_total"] >= 8
    assert 1 <= found["vbmle_commits_total"] <= found["vbmle_events_total"] + 1


def test_a_body_without_an_end_is_cut_off(server: Process):
    """Sent in chunks, so that its size is not known before: it is refused as soon as it is too large."""
    connection = connect(server)
    connection.putrequest("POST", "/v1/loops/depot/decisions")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    size = 2**16
    for _ in range(BODY_BYTES // size + 1):
        connection.send(b"%x\r\n%b\r\n" % (size, b" " * size))
    answer = connection.getresponse()
    assert answer.status == 413
    require_told(json.loads(answer.read())["error"], "body", str(BODY_BYTES))
    connection.close()
    assert server.client().loop("depot").act(1).action in range(3)


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def test_a_model_with_a_pickle_in_it_is_refused_and_not_opened(server: Process, tmp_path: Path):
    trap = tmp_path / "sprung"
    content, hidden = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(hidden, np.array([Trap(trap)], object), allow_pickle=True)
    with zipfile.ZipFile(io.BytesIO(NPZ)) as model, zipfile.ZipFile(content, "w") as changed:
        for name in model.namelist():
            changed.writestr(name, hidden.getvalue() if name == model.namelist()[-1] else model.read(name))
    with refused("body", ".npz", "model", by=Refused) as answer:
        server.client().put_model("trap", content.getvalue())
    assert (answer.value.status, trap.exists()) == (422, False)
    pickle.loads(pickle.dumps(Trap(trap)))
    assert trap.exists(), "the trap works"


@pytest.mark.parametrize("path", ["/v1/loops/depot/decisions", "/v1/loops/depot"])
def test_a_request_that_breaks_something_is_told_so_and_the_log_says_where(path: str, tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        controller: Any = local.service.loops["depot"]
        controller.outcomes = None  # nothing works without
        sent: list[Any] = []
        decision = {"state": 1, "request_id": "r1"} if "decisions" in path else None
        with pytest.raises(AttributeError):  # which the server logs
            await local.ask("POST" if decision else "GET", path, decision, sent=sent)
        assert sent[0]["status"] == 500
        require_told(json.loads(sent[1]["body"])["error"], path, "log")

    served(tmp_path, test)


SLOW_READING = """
import asyncio, sys
from pathlib import Path
from vbmle.serve.server import run
from vbmle.serve.service import Service

restored, gate = Service._restored, Path(sys.argv[2])

async def slow(self, workers, name):
    while name != "first" and not gate.exists():
        await asyncio.sleep(0.001)
    return await restored(self, workers, name)

Service._restored = slow
run(Path(sys.argv[1]), "127.0.0.1", int(sys.argv[3]), None, lambda line: print(line, file=sys.stderr, flush=True))
"""


def test_health_is_told_while_loops_are_read_at_the_start(tmp_path: Path):
    async def fill(local: Local) -> None:
        for loop in ("first", "second", "third"):
            await local.make("VBMLE", loop)

    served(tmp_path / "folder", fill)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-c",
        SLOW_READING,
        str(tmp_path / "folder"),
        str(tmp_path / "gate"),
        str(port),
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        client = Client(f"http://127.0.0.1:{port}", timeout=PATIENCE, patience=PATIENCE)
        assert client.ask("GET", "/healthz") == {"status": "alive"}
        impatient = Client(f"http://127.0.0.1:{port}", timeout=PATIENCE, patience=0.0)
        line = ""
        while "1 of 3" not in line:
            with pytest.raises(Refused, match="loops are being read from disk") as caught:
                impatient.ask("GET", "/readyz")
            line = str(caught.value)
        for path in ("/v1/loops", "/v1/loops/first"):
            with pytest.raises(Refused, match="1 of 3 so far; send the request again"):
                impatient.ask("GET", path)
        (tmp_path / "gate").touch()
        assert client.ask("GET", "/readyz") == {"status": "ready"}
        assert sorted(client.ask("GET", "/v1/loops")) == ["first", "second", "third"]
        client.close()
        impatient.close()
        server.terminate()
        assert server.wait(PATIENCE) == 0
        server.stderr.close()
    finally:
        server.kill()
        server.wait()
