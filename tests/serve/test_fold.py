"""A loop and its agent are the fold of their events: from a snapshot and from the first event, the same bytes."""

import asyncio
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from serving import Local, audit, happened, learner_of, saved, served

from vbmle import VBMLE, worlds
from vbmle.experiments import catalogue
from vbmle.serve import snapshots
from vbmle.serve.event_log import INSERTED_AT_ONCE
from vbmle.serve.events import SolveBegun
from vbmle.serve.learner import Learner, agent_bytes
from vbmle.serve.ledger import Ledger, encode_ledger
from vbmle.serve.restoring import restore

RIVER = worlds.riverswim(4)
"""Tabular, so that every agent can learn it."""

AGENTS = [name for name, kind in catalogue.general().items() if not kind.needs_truth]


def image(state: Ledger, learner: Learner) -> tuple[bytes, bytes, list[int]]:
    """Everything that later answers depend on, as bytes."""
    return encode_ledger(state), agent_bytes(learner.agent), learner.policy.actions


async def play(local: Local, steps: int, agent: str) -> list[dict[str, Any]]:
    """Decisions in a river, from wherever the log ends; each is learnt from before the next is asked for."""
    if "river" not in local.service.loops:
        await local.ask("PUT", "/v1/models/river", content=saved(RIVER.mdp))
        made = await local.ask("PUT", "/v1/loops/river", {"model": "river", "agent": agent})
        assert made.status == 201, made.body
    loop, answers = local.service.loops["river"].ledger, []
    for number in range(loop.decisions, loop.decisions + steps):
        state = loop.last_state or 0
        body = {"state": state, "request_id": f"r{number}"}
        answers.append((await local.post("decisions", body, "river")).body)
        following = RIVER.next_state(state, answers[-1]["action"], (number * 0.618034) % 1.0)
        told = {"decision_id": answers[-1]["decision_id"], "next_state": following}
        await local.post("observations", told, "river")
        await local.rest()
    return answers


@pytest.mark.parametrize("agent", AGENTS)
def test_from_a_snapshot_and_from_the_first_event_the_same_bytes(agent: str, tmp_path: Path):
    async def first(local: Local) -> tuple[Any, ...]:
        await play(local, 30, agent)
        controller = local.service.loops["river"]
        return image(controller.ledger, learner_of(controller))

    async def then(local: Local) -> list[tuple[Any, ...]]:
        log, mdp = local.service.log, local.service.loops["river"].outcomes.mdp
        assert snapshots.found(log.folder.snapshots, "river"), "there is a snapshot to start from"
        return [image(*restore(log, "river", mdp, lambda line: None, shortcut)) for shortcut in (True, False)]

    running = served(tmp_path, first, snapshot_every=40)
    from_snapshot, from_first_event = served(tmp_path, then)
    assert from_snapshot == from_first_event
    assert from_snapshot == running


@pytest.mark.parametrize("agent", AGENTS)
def test_stopping_and_starting_changes_no_answer(agent: str, tmp_path: Path):
    async def at_once(local: Local) -> list[dict[str, Any]]:
        return await play(local, 24, agent)

    async def some(local: Local) -> list[dict[str, Any]]:
        return await play(local, 8, agent)

    parts = [served(tmp_path / "parts", some, snapshot_every=20) for _ in range(3)]
    assert [answer for part in parts for answer in part] == served(tmp_path / "whole", at_once)
    assert happened(tmp_path / "parts", "river") == happened(tmp_path / "whole", "river")


def test_a_solve_that_was_cut_short_is_done_again_with_the_same_outcomes(tmp_path: Path):
    """Killed in the middle of a solve, and with more outcomes by then: the same policy as if nothing had happened."""

    async def until_a_solve(local: Local) -> None:
        await local.make("VBMLE")
        await local.play(5)
        await local.rest()
        controller = local.service.loops["depot"]
        answers = [await local.decide(1, f"r{k}") for k in range(3)]
        controller.solves._start(asyncio.sleep(3600))  # as if the pool were busy: what begins is not done
        controller.solves._append(_begun(controller))
        for answer in answers:
            await local.post("observations", {"decision_id": answer["decision_id"], "next_state": 2})
        for task in controller.solves._jobs:
            task.cancel()
        controller.solves.abandon()

    def _begun(controller: Any) -> Any:
        return SolveBegun(controller.ledger.version + 1, controller.ledger.through, 1)

    async def afterwards(local: Local) -> tuple[Any, ...]:
        await local.rest()
        controller = local.service.loops["depot"]
        return image(controller.ledger, learner_of(controller))[1:]

    served(tmp_path / "a", until_a_solve)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    one, two = (served(tmp_path / name, afterwards) for name in ("a", "b"))
    assert one == two


def test_a_copy_of_an_agent_is_what_it_would_save(tmp_path: Path):
    agent = VBMLE(RIVER.mdp)
    agent.observe(0, 1, 1)
    agent.save(tmp_path / "agent.npz")
    assert agent_bytes(agent) == (tmp_path / "agent.npz").read_bytes()


def test_crashes_do_not_put_off_snapshots(tmp_path: Path):
    """However few events there are between two crashes, they add up."""

    async def some(local: Local) -> int:
        if "depot" not in local.service.loops:
            await local.make("PSRL")
        for _ in range(3):  # four events each: a decision, its outcome, a solve and its policy
            await local.play(1, prefix=f"after {local.service.loops['depot'].ledger.seq}")
            await local.rest()
        return len(snapshots.found(tmp_path / "snapshots", "depot"))

    assert [served(tmp_path, some, snapshot_every=30) for _ in range(3)] == [0, 0, 1]


@pytest.mark.parametrize("damage", ["cut", "changed", "of another history"])
def test_a_snapshot_that_does_not_fit_is_passed_over(damage: str, tmp_path: Path):
    async def first(local: Local) -> None:
        await local.make("PSRL")
        await local.play(20)
        await local.rest()

    async def then(local: Local) -> tuple[Any, ...]:
        controller = local.service.loops["depot"]
        return image(controller.ledger, learner_of(controller))

    served(tmp_path / "a", first, snapshot_every=25)
    expected = served(tmp_path / "a", then)
    (path,) = snapshots.found(tmp_path / "a" / "snapshots", "depot")[:1]
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-10])
    elif damage == "changed":
        path.write_bytes(content[:100] + b"x" + content[101:])
    else:
        served(tmp_path / "b", first, snapshot_every=25)
        for old in (tmp_path / "a" / "snapshots").iterdir():
            old.unlink()
        for other in (tmp_path / "b" / "snapshots").iterdir():
            shutil.copy(other, tmp_path / "a" / "snapshots")
    assert served(tmp_path / "a", then) == expected


def test_events_cannot_be_changed_or_deleted(tmp_path: Path):
    async def first(local: Local) -> None:
        await local.make()
        await local.play(3)

    served(tmp_path, first)
    connection = sqlite3.connect(tmp_path / "events.db")
    for statement in ("UPDATE events SET time = 0", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    connection.close()


def test_commits_wait_for_the_disk_and_are_shared(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        (level,) = local.service.log._writer.execute("PRAGMA synchronous").fetchone()
        (journal,) = local.service.log._writer.execute("PRAGMA journal_mode").fetchone()
        assert (level, journal) == (2, "wal")  # 2 is FULL
        log: Any = local.service.log
        gate, commit, written = threading.Event(), log._commit, log.written
        log._commit = lambda batch: (gate.wait(), commit(batch))[1]
        before = (written.commits, written.events)
        many = 2 * INSERTED_AT_ONCE + 1
        requests = [asyncio.ensure_future(local.decide(1, f"r{k}")) for k in range(many)]
        while local.service.loops["depot"].ledger.decisions < many:
            await asyncio.sleep(0)
        gate.set()  # the first commit was on its way when the others came
        await asyncio.gather(*requests)
        assert written.events - before[1] == many
        assert written.commits - before[0] <= 2

    served(tmp_path, test)
    audit(tmp_path, "depot")
