"""Agents in processes of their own say what they would say here, and end with the server, but it not with them."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusals import refused
from serving import DEPOT, PATIENCE, Local, process, served

from vbmle.agents.catalogue import agents
from vbmle.serve import insight
from vbmle.serve.insight import Insight, Unseen, look
from vbmle.serve.outcomes import Outcomes
from vbmle.serve.workers import Lane, looking_apart


def workers(local: Local) -> Any:
    """The processes of a service."""
    assert local.service.workers is not None
    return local.service.workers


def pid(lane: Lane) -> int:
    assert lane.worker is not None
    return lane.worker.process.pid


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


async def seen(local: Local, loop: str) -> Insight:
    """The insight into a loop that has come to rest."""
    await local.rest()
    controller = local.service.loops[loop]
    await until(
        lambda: getattr(controller.insights.latest, "policy_version", -1) == controller.ledger.version
    )
    assert controller.insights.latest is not None
    return controller.insights.latest


@pytest.mark.parametrize("agent", ["VBMLE", "PSRL", "QLearning"])
def test_what_is_seen_apart_is_what_is_seen_here(agent: str, tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make(agent)
        await local.play(20)
        found = await seen(local, "depot")
        controller = local.service.loops["depot"]
        copy, created = await controller.solves.copy(), controller.ledger.created
        assert copy is not None
        assert created is not None
        assert found == look(copy, agents()[created.agent], Outcomes(DEPOT.mdp))

    served(tmp_path, test, apart=True)


def test_the_process_is_started_again_where_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(insight, "AGAIN_SECONDS", 0.0)

    async def test(local: Local) -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        await local.make()
        await local.play(3)
        await seen(local, "depot")
        lane = workers(local)._lanes["insight"]
        first = pid(lane)
        os.kill(first, signal.SIGKILL)
        await local.play(3, prefix="more")
        await seen(local, "depot")
        assert pid(lane) != first
        assert local.service.loops["depot"].insights.trouble is None
        assert complaints
        assert isinstance(complaints[0]["exception"], Unseen)
        assert "SIGKILL" in str(complaints[0]["exception"])

    served(tmp_path, test, apart=True)


def test_an_error_while_looking_is_said_and_ends_nothing(tmp_path: Path):
    async def test(local: Local) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await local.make()
        await local.play(1)
        controller = local.service.loops["depot"]
        await seen(local, "depot")
        created, copy = controller.ledger.created, await controller.solves.copy()
        assert created is not None
        assert copy is not None
        looking, lane = looking_apart(workers(local)), workers(local)._lanes["insight"]
        before = pid(lane)
        with refused("bounds", "alarm", by=Unseen):
            await looking("depot", copy._replace(agent=b"no agent"), created, controller.outcomes)
        assert (await looking("depot", copy, created, controller.outcomes)).policy_version == 1
        assert pid(lane) == before

    served(tmp_path, test, apart=True)


def test_where_no_process_can_be_started_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(insight, "AGAIN_SECONDS", 0.0)

    def no_memory(folder: Path, nice: int) -> None:
        raise OSError("no memory")

    async def test(local: Local) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await local.make()
        await local.rest()
        await until(lambda: local.service.loops["depot"].insights.latest is not None)
        workers(local)._lanes["insight"].worker.kill("")
        monkeypatch.setattr("vbmle.serve.workers.start", no_memory)
        await local.play(1)
        insights = local.service.loops["depot"].insights
        await until(lambda: "no process can be started for it (no memory)" in str(insights.trouble))

    served(tmp_path, test, apart=True)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    done = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in done.stdout.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("killed", [True, False])
def test_nothing_is_left_when_the_server_is_gone(killed: bool, tmp_path: Path):
    with process(tmp_path) as server:
        client, limit = server.client(), time.monotonic() + PATIENCE
        client.put_model("depot", DEPOT.mdp)
        loop = client.loop("depot")
        loop.create("depot", "VBMLE")
        loop.observe(loop.act(1, request_id="r"), 2)
        while loop.status()["insight"] is None and time.monotonic() < limit:
            time.sleep(0.02)
        started = children(server.process.pid)
        assert len(started) == 2, "one for agents, one for insight"
        if killed:
            server.kill()
        else:
            assert server.stop() == 0
        while any(alive(pid) for pid in started) and time.monotonic() < limit:
            time.sleep(0.01)
        assert not any(alive(pid) for pid in started)
