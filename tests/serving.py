"""What tests of the service share: a world, a server as a process of its own, and one inside this process."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from vbmle import Client, LinearMixtureMDP, TransitionCounts, World
from vbmle.common.files import from_npz_bytes
from vbmle.serve import events
from vbmle.serve.application import application
from vbmle.serve.clock import Clock
from vbmle.serve.controller import Controller
from vbmle.serve.events import AnyEvent
from vbmle.serve.learner import Learner
from vbmle.serve.ledger import Ledger
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.service import Service
from vbmle.serve.solves import Here

PATIENCE = 900.0
"""Seconds after which a test gives up on something that hangs; no test waits that long for anything that works."""

Result = TypeVar("Result")


def depot(seed: int = 3) -> World:
    """Four states, three actions, three candidate models; from state 0, action 0 never leads to state 3."""
    rng = np.random.default_rng(seed)
    models = rng.dirichlet(np.ones(4), (3, 4, 3))
    models[:, 0, 0] = [0.5, 0.3, 0.2, 0.0]
    mdp = LinearMixtureMDP.from_models(list(models), rng.uniform(0, 50, (4, 3)), 0.9, normalise_reward=True)
    return World(mdp, [0.6, 0.3, 0.1])


class Hands(Clock):
    """A clock that goes as it is told."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now, self.ticks = now, 0.0

    def wall(self) -> float:
        return self.now

    def steady(self) -> float:
        return self.ticks

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.ticks += seconds


DEPOT = depot()


def saved(mdp: LinearMixtureMDP) -> bytes:
    """The file that `save` writes, as a user would send it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        mdp.save(path)
        return path.read_bytes()


NPZ = saved(DEPOT.mdp)


def audit(folder: Path, name: str) -> Ledger:
    """Lead an agent through the log of its loop: every decision is what the policy in force says."""
    log = sqlite3.connect(folder / "events.db")
    (npz,) = log.execute("SELECT npz FROM models").fetchone()
    mdp = from_npz_bytes(npz, LinearMixtureMDP.load)
    query = "SELECT seq, time, body, chain FROM events WHERE loop = ? ORDER BY seq"
    ledger, learner, outcomes, check = Ledger(name), None, Outcomes(mdp), b""
    for seq, time, body, chain in log.execute(query, (name,)):
        entry, check = (
            events.Entry(seq, time, events.decode(body), chain),
            events.chained(check, seq, time, body),
        )
        assert chain == check
        match entry.event:
            case events.Created(agent=agent, settings=settings):
                learner = Learner.fresh(mdp, agent, settings)
                policy = learner.policy
            case events.PolicySet() as event:
                assert learner is not None
                assert ledger.solving is not None
                learner.follow(event, ledger.batch, ledger.solving.state)
                policy = learner.policy
            case events.Decided(allowed=None) as event:
                assert event.policy_version == policy.version
                assert event.suggested == policy.actions[event.state]
        ledger.apply(entry, outcomes.reward)
    log.close()
    return ledger


def happened(folder: Path, name: str) -> list[AnyEvent]:
    """The events of a loop, without their times."""
    log = sqlite3.connect(folder / "events.db")
    rows = log.execute("SELECT body FROM events WHERE loop = ? ORDER BY seq", (name,)).fetchall()
    log.close()
    return [events.decode(body) for (body,) in rows]


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: dict[str, str]


class Local:
    """A service inside this process, asked through its ASGI application: HTTP without a network."""

    def __init__(self, service: Service, token: str | None = None) -> None:
        self.service, self.app = service, application(service, token)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
        sent: list[dict[str, Any]] | None = None,
    ) -> Answer:
        """Ask, and wait for the answer; `sent` takes what was sent before something broke."""
        given = {"host": "localhost", **(headers or {})}
        if body is not None:
            content = json.dumps(body).encode()
            given.setdefault("content-type", "application/json")
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
            "scheme": "http",
            "server": ("localhost", 80),
            "root_path": "",
        }
        sent = [] if sent is None else sent
        messages = [{"type": "http.request", "body": content or b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        raw = b"".join(message.get("body", b"") for message in sent[1:])
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        plain = found.get("content-type", "").startswith("application/json")
        return Answer(sent[0]["status"], json.loads(raw) if plain else raw, found)

    async def post(self, what: str, body: Any, loop: str = "depot") -> Answer:
        return await self.ask("POST", f"/v1/loops/{loop}/{what}", body)

    async def make(self, agent: str = "MaximumLikelihood", loop: str = "depot", **others: Any) -> None:
        """The depot's model, and a loop on it."""
        assert (await self.ask("PUT", "/v1/models/depot", content=NPZ)).status in (200, 201)
        made = await self.put_loop(loop, {"model": "depot", "agent": agent, **others})
        assert made.status == 201, made.body

    async def put_loop(self, loop: str, body: dict[str, Any]) -> Answer:
        """Make a loop, asking again while that goes on."""
        while (made := await self.ask("PUT", f"/v1/loops/{loop}", body)).status == 202:
            assert made.body["state"] == "making"
        return made

    async def decide(self, state: int, request_id: str, **others: Any) -> dict[str, Any]:
        answer = await self.post("decisions", {"state": state, "request_id": request_id, **others})
        assert answer.status == 200, answer.body
        return answer.body

    async def play(self, steps: int, loop: str = "depot", seed: int = 0, prefix: str = "play") -> None:
        """Decide and observe for a while, on the chance of a seed."""
        uniforms, state = np.random.default_rng(seed).random(steps), 0
        for number, uniform in enumerate(uniforms):
            body = {"state": state, "request_id": f"{prefix}-{number}"}
            decision = (await self.post("decisions", body, loop)).body
            state = DEPOT.next_state(state, decision["action"], float(uniform))
            told = {"decision_id": decision["decision_id"], "next_state": state}
            assert (await self.post("observations", told, loop)).status == 200

    async def seen(self, loop: str = "depot") -> None:
        """Wait until a loop that rests has been looked at."""
        controller = self.service.loops[loop]
        async with asyncio.timeout(PATIENCE):
            while getattr(controller.insights.latest, "policy_version", -1) != controller.ledger.version:
                controller.insights.refresh()
                await asyncio.sleep(0.001)

    async def rest(self) -> None:
        """Wait until every agent has learnt from everything, and that is on disk."""
        async with asyncio.timeout(PATIENCE):
            while not all(controller.solves.idle for controller in self.service.loops.values()):
                await asyncio.sleep(0.001)
            await self.service.log.settled()


def counted(local: Local) -> tuple[int, ...]:
    """What must not change when a request is sent again."""
    state = local.service.loops["depot"].ledger
    return (
        state.seq,
        state.decisions,
        state.observations,
        state.cancelled,
        state.refusals,
        len(state.pending),
    )


def learner_of(controller: Controller) -> Learner:
    """What a loop has learnt, in a service that keeps its agents here."""
    hand = controller.solves.hand
    assert isinstance(hand, Here)
    return hand.learner


def counts(local: Local, loop: str) -> TransitionCounts:
    """What the agent of a loop has learnt from."""
    agent: Any = learner_of(local.service.loops[loop]).agent
    return agent.counts


def served(
    folder: Path, test: Callable[[Local], Awaitable[Result]], clock: Clock | None = None, **others: Any
) -> Result:
    """Open a service on a folder, run a test in it, and close it as a crash would: nothing is kept."""

    async def run() -> Result:
        token = others.pop("token", None)
        service = await Service.open(folder, clock, **others)
        try:
            return await asyncio.wait_for(test(Local(service, token)), PATIENCE)
        finally:
            await service.close(keep=False)

    with ThreadPoolExecutor(1) as thread:  # a browser may have this one's event loop
        return thread.submit(lambda: asyncio.run(run())).result()


def as_anyone() -> list[str]:
    """Before a command: root, too, may then do only what modes of files allow it."""
    bound = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={bound}", f"--inh-caps={bound}"] if os.geteuid() == 0 else []


LAUNCH = """
import sys
from pathlib import Path
from vbmle.serve.server import run
run(Path(sys.argv[1]), "127.0.0.1", 0, None, lambda line: print(line, file=sys.stderr, flush=True), int(sys.argv[2]))
"""


class Process:
    """`vbmle serve` as a process of its own, on a free port; with `snapshot_every`, without its command line."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        crash: str | None = None,
        before: Sequence[str] = (),
        snapshot_every: int | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        environment = {**(environment or os.environ), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        if crash is not None:
            environment["VBMLE_CRASH"] = crash
        command = [*before, sys.executable, "-m", "vbmle", "serve", str(folder), "--port", "0", *arguments]
        if snapshot_every is not None:
            command = [sys.executable, "-c", LAUNCH, str(folder), str(snapshot_every)]
        self.lines: list[str] = []
        self._clients: list[Client] = []
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
        )
        self.url = self._address()

    def _address(self) -> str | None:
        """The address it says, or None where it ends before it says one."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.strip())
            if line.startswith("serving "):
                return line.split(" at ")[1].split()[0].rstrip("/")
        self.process.wait(PATIENCE)
        return None

    def client(self, token: str | None = None, patience: float = PATIENCE) -> Client:
        assert self.url is not None, self.lines
        self._clients.append(Client(self.url, token, patience, timeout=PATIENCE))
        return self._clients[-1]

    def close(self) -> None:
        """Let go of everything, the process included."""
        if self.process.poll() is None:
            self.kill()
        for client in self._clients:
            client.close()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def kill(self) -> None:
        """At once, as a power cut."""
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self) -> int:
        """As systemd does it."""
        self.process.terminate()
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(PATIENCE)
        if self.process.stderr is not None and not self.process.stderr.closed:
            self.lines += [line.strip() for line in self.process.stderr]
            self.process.stderr.close()
        return code


@contextmanager
def process(folder: Path, *arguments: str, **others: Any) -> Iterator[Process]:
    """A server that is gone in the end, whatever happens."""
    server = Process(folder, *arguments, **others)
    try:
        yield server
    finally:
        server.close()
