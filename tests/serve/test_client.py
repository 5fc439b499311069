"""The Python client: what it sends again, what it does not, and what it says."""

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from refusals import refused
from serving import DEPOT, NPZ, PATIENCE, Process, process

from vbmle import Client
from vbmle.serve.client import Refused, Unreachable


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("client")) as found:
        found.client().put_model("depot", DEPOT.mdp)
        yield found


class Lossy(BaseHTTPRequestHandler):
    """Passes every request on; of three answers it loses one, and makes another "not now"."""

    protocol_version = "HTTP/1.1"
    behind: tuple[str, int]
    count = 0

    def _pass_on(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", "0")))
        connection = http.client.HTTPConnection(*self.behind, timeout=PATIENCE)
        kept = {name: self.headers[name] for name in ("content-type",) if name in self.headers}
        connection.request(self.command, self.path, content, kept)
        answer = connection.getresponse()
        body, status = answer.read(), answer.status
        connection.close()
        type(self).count += 1
        if self.count % 3 == 1:
            self.close_connection = True
            return
        if self.count % 3 == 2:
            status, body = 503, b'{"error": "not now"}'
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = _pass_on

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def lossy(server: Process) -> Iterator[str]:
    """An address through which most answers are lost."""
    parts = urlsplit(server.url or "")
    handler = type("Handler", (Lossy,), {"behind": (parts.hostname, parts.port)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()
        thread.join()


def test_answers_that_are_lost_change_nothing(lossy: str, server: Process):
    """Each request arrives three times; the loop has each decision and each outcome once."""
    with Client(lossy, patience=PATIENCE, timeout=PATIENCE) as client:
        loop, state = client.loop("lossy"), 0
        loop.create("depot")
        for number in range(4):
            decision = loop.act(state)
            state = DEPOT.next_state(state, decision.action, (number * 0.618034) % 1.0)
            loop.observe(decision, state)
        undone = loop.act(state)
        loop.cancel(undone)
        assert loop.set_mode("frozen") == {"mode": "frozen"}
    status = server.client().loop("lossy").status()
    assert (status["decisions"], status["observations"], status["cancelled"]) == (5, 4, 1)


def test_many_outcomes_and_a_replay(server: Process):
    loop = server.client().loop("many")
    loop.create("depot", "VBMLE", {"seed": 1}, mode="shadow", expire_after=60.0)
    told = [(loop.act(state, allowed=[0, 1], baseline_action=1), 1) for state in range(4)]
    assert [decision.action for decision, _ in told] == [1] * 4
    assert {decision.suggested for decision, _ in told} <= {0, 1}
    assert loop.observe_many(told) == {"recorded": 4, "duplicates": 0}
    assert loop.observe_many(told) == {"recorded": 0, "duplicates": 4}
    assert loop.replay("Random", {"seed": 2})["decisions"] == 4


def test_what_is_refused_is_not_sent_again(server: Process):
    loop = server.client().loop("refused")
    loop.create("depot")
    with refused("state", "9", "0", "3", by=Refused) as answer:
        loop.act(9)
    assert answer.value.status == 422
    with refused("loop", "nowhere", by=Refused) as missing:
        server.client().loop("nowhere").act(0)
    assert missing.value.status == 404


def test_a_server_that_is_not_there(tmp_path: Path):
    with process(tmp_path) as gone:
        assert gone.stop() == 0
        address = str(gone.url).removeprefix("http://")
        with refused(address, by=Unreachable):
            gone.client(patience=0.0).put_model("depot", NPZ)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8417", "ftp://somewhere"])
def test_an_address_that_is_none(url: str):
    with refused("url", repr(url), "http://127.0.0.1:8417"):
        Client(url)
