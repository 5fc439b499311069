"""kill -9 wherever something is written, and at random moments under load: nothing that was answered is lost, and what
comes next is what would have come.

VBMLE_SOAK=1 in the environment makes the random moments a hundred (`make soak`).
"""

import os
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from serving import DEPOT, NPZ, PATIENCE, Process, audit, happened, process

from vbmle import Client
from vbmle.serve.client import Decision, Refused, Unreachable
from vbmle.serve.crash_points import POINTS

SOAK = bool(os.environ.get("VBMLE_SOAK"))
MOMENTS = 100 if SOAK else 2
STEPS = 14
SNAPSHOT_EVERY = 12

AT_THE_START = ("folder locked", "schema half made", "schema made")
ONCE = {point for point in POINTS if point in AT_THE_START or "snapshot" in point}
OFTEN = (1, 2, 3, 5, 8, 13, 21, 34) if SOAK else (2, 20)
CASES = [f"{point}:{number}" for point in POINTS for number in ((1,) if point in ONCE else OFTEN)]


def step(client: Client, number: int, state: int) -> tuple[Decision, int]:
    """One decision and its outcome; sent again, it is the same."""
    loop = client.loop("depot")
    decision = loop.act(state, request_id=f"r{number}")
    following = DEPOT.next_state(state, decision.action, (number * 0.618034) % 1.0)
    loop.observe(decision, following)
    return decision, following


def learnt(client: Client) -> None:
    """Wait until the policy in force knows of everything."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        policy = client.loop("depot").status()["policy"]
        if not policy["solving"] and policy["unseen_observations"] == 0:
            return
        time.sleep(0.002)
    raise AssertionError("the agent does not come to rest")


def walk(client: Client) -> list[Decision]:
    """The whole story, from the model on; where it was told before, it only repeats it."""
    client.put_model("depot", NPZ)
    client.loop("depot").create("depot", "VBMLE")
    told, state = [], 0
    for number in range(STEPS):
        decision, state = step(client, number, state)
        learnt(client)
        told.append(decision)
    return told


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Decision], list[Any]]:
    """The story and its log where nothing happens."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with process(folder, snapshot_every=SNAPSHOT_EVERY) as server:
        story = walk(server.client())
        assert server.stop() == 0
    return story, happened(folder, "depot")


@pytest.mark.parametrize("crash", CASES)
def test_killed_where_something_is_written_the_story_is_the_same(
    crash: str, tmp_path: Path, undisturbed: tuple[list[Decision], list[Any]]
):
    with process(tmp_path, crash=crash, snapshot_every=SNAPSHOT_EVERY) as server:
        if server.url is not None:
            with pytest.raises(Unreachable):
                walk(server.client(patience=0.0))
        assert server.process.wait(PATIENCE) == -9, "the point was passed"
    with process(tmp_path, snapshot_every=SNAPSHOT_EVERY) as server:
        story = walk(server.client())
        assert server.stop() == 0
    assert (story, happened(tmp_path, "depot")) == undisturbed
    audit(tmp_path, "depot")


class Load(threading.Thread):
    """A client that decides and observes until the server is gone, and remembers what was answered."""

    def __init__(self, url: str, name: str, begin: int) -> None:
        super().__init__()
        self.client, self.name_, self.begin = Client(url, patience=0.0, timeout=PATIENCE), name, begin
        self.decisions: list[tuple[int, str, Decision]] = []
        self.outcomes: list[tuple[Decision, int]] = []

    def run(self) -> None:
        loop, state, number = self.client.loop("depot"), 0, self.begin
        try:
            while True:
                request_id, number = f"{self.name_}-{number}", number + 1
                decision = loop.act(state, request_id=request_id)
                self.decisions.append((state, request_id, decision))
                state = DEPOT.next_state(state, decision.action, (number * 0.618034) % 1.0)
                loop.observe(decision, state)
                self.outcomes.append((decision, state))
        except (Unreachable, Refused):
            return


def test_killed_at_any_moment_under_load_nothing_answered_is_lost(tmp_path: Path):
    rng, folder, answered = random.Random(11), tmp_path / "folder", 0
    for moment in range(MOMENTS):
        server = Process(folder, snapshot_every=100)
        assert server.url is not None
        client = server.client()
        client.put_model("depot", NPZ)
        client.loop("depot").create("depot", "VBMLE")
        load = [Load(server.url, f"{moment}-{k}", 0) for k in range(4)]
        for thread in load:
            thread.start()
        wanted = rng.randrange(1, 60)
        while sum(len(thread.outcomes) for thread in load) < wanted:
            time.sleep(0.0005)
        time.sleep(rng.random() * 0.02)
        server.close()
        for thread in load:
            thread.join()
            thread.client.close()
        answered += sum(len(thread.decisions) + len(thread.outcomes) for thread in load)
        _require_kept(folder, tmp_path / "copy", load)
        if (moment + 1) % 10 == 0 or moment + 1 == MOMENTS:
            print(f"{moment + 1} kills under load, {answered} answers, none lost", flush=True)


def _require_kept(folder: Path, copy: Path, load: list[Load]) -> None:
    """All answers are given again, nothing is recorded twice, and the next action is that of the log."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    before = audit(copy, "depot")
    with process(folder) as server:
        client = server.client()
        loop = client.loop("depot")
        for thread in load:
            for state, request_id, decision in thread.decisions:
                assert loop.act(state, request_id=request_id) == decision
            if thread.outcomes:
                answer = loop.observe_many(thread.outcomes)
                assert answer == {"recorded": 0, "duplicates": len(thread.outcomes)}
        status = loop.status()
        assert (status["decisions"], status["observations"]) == (before.decisions, before.observations)
        learnt(client)
        following = [loop.act(state, request_id=f"next-{before.seq}-{state}") for state in range(4)]
        assert server.stop() == 0
    with process(copy) as twin:  # the same log, from its first event
        learnt(twin.client())
        loop = twin.client().loop("depot")
        assert [
            (d.action, d.policy_version) for d in (loop.act(s, request_id=f"twin-{s}") for s in range(4))
        ] == [(d.action, d.policy_version) for d in following]
    audit(folder, "depot")
