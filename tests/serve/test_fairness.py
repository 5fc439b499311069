"""A loop whose agent takes for ever keeps no other from being made, from learning and from being looked at."""

import asyncio
import signal
import threading
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from refusals import refused, require_told
from serving import DEPOT, NPZ, Hands, Local, audit, happened, process, saved, served

from vbmle import InformationDirected, LinearMixtureMDP
from vbmle.serve import events, insight, service, solves, workers
from vbmle.serve.client import Refused
from vbmle.serve.cost import FEW, TRIAL_SECONDS, require_affordable, seconds_a_decision
from vbmle.serve.insight import STALE_SECONDS

ENDLESS = {"draws": 1000, "fresh": 1000, "rounds": 1000, "thinning": 100_000}
"""More than a minute a decision, on the smallest model."""

SECONDS = {"draws": 20, "fresh": 20, "thinning": 100_000}
"""More than a second a decision."""


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes longer than some tenths of a second is slow."""
    monkeypatch.setattr(workers, "SLOW_SECONDS", 0.5)
    monkeypatch.setattr(workers, "ROUND_SECONDS", 0.02)
    monkeypatch.setattr(service, "ANSWER_SECONDS", 0.1)


def computing(local: Local) -> Any:
    assert local.service.workers is not None
    return local.service.workers


async def until_slow(local: Local, loop: str) -> None:
    while not any(item.loop == loop and item.slow for item in computing(local).items()):
        await asyncio.sleep(0.01)


def endless(agent: str = "InformationDirected") -> dict[str, Any]:
    return {"model": "depot", "agent": agent, "settings": ENDLESS}


@pytest.mark.usefixtures("quickly")
def test_a_loop_that_takes_for_ever_to_make_is_answered_at_once_and_keeps_nobody_waiting(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.ask("PUT", "/v1/models/depot", content=NPZ)
        for name in ("one", "two", "three"):  # more than may be slow at once
            answer = await local.ask("PUT", f"/v1/loops/{name}", endless())
            assert (answer.status, answer.body["state"]) == (202, "making")
        await local.make("VBMLE")
        await local.play(3)
        await local.rest()
        await local.seen()
        again = await local.ask("PUT", "/v1/loops/one", endless())
        assert again.status == 202
        other = await local.ask("PUT", "/v1/loops/one", {"model": "depot"})
        assert other.status == 409
        waiting = await local.post("decisions", {"state": 1, "request_id": "r"}, "one")
        assert waiting.status == 503
        require_told(waiting.body["error"], "loop one", "made", "again")

    served(tmp_path, test, apart=True)
    assert happened(tmp_path, "one") == []


@pytest.mark.usefixtures("quickly")
def test_an_operator_sees_work_and_ends_it(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.ask("PUT", "/v1/models/depot", content=NPZ)
        assert (await local.ask("PUT", "/v1/loops/one", endless())).status == 202
        await until_slow(local, "one")
        (item,) = (await local.ask("GET", "/v1/work")).body
        assert (item["loop"], item["kind"], item["state"], item["priority"]) == (
            "one",
            "make",
            "running",
            "normal",
        )
        assert item["deadline"] == workers.DEADLINES["make"]
        raised = await local.post("work", {"priority": "high"}, "one")
        assert raised.body == {"loop": "one", "stopped": 0, "priority": "high"}
        assert (await local.ask("GET", "/v1/work")).body[0]["priority"] == "high"
        assert (await local.post("work", {"stop": True}, "one")).body["stopped"] == 1
        while (told := await local.ask("PUT", "/v1/loops/one", endless())).status == 202:
            assert computing(local).items() == []
        assert told.status == 422
        require_told(told.body["error"], "not made", "operator")
        assert (await local.ask("GET", "/v1/loops/one")).status == 404
        assert (await local.post("work", {"stop": True}, "one")).status == 404

    served(tmp_path, test, apart=True)


@pytest.mark.usefixtures("quickly")
def test_who_is_slow_learns_what_it_would_have_learnt_and_others_go_on(tmp_path: Path):
    """It moves to a process of its own; the others, whose process it took along, are read from disk."""

    async def test(local: Local) -> None:
        await local.make("VBMLE", "quick")
        await local.play(5, "quick")
        await local.rest()
        body = {"model": "depot", "agent": "InformationDirected", "settings": SECONDS}
        assert (await local.put_loop("depot", body)).status == 201
        for number in range(3):
            await local.play(1, prefix=f"slow-{number}", seed=number)
            await local.play(2, "quick", prefix=f"quick-{number}", seed=number)
            await local.rest()
        slow, quick = (computing(local)._home[name] for name in ("depot", "quick"))
        assert slow is not quick
        assert local.service.loops["quick"].ledger.failure is None

    served(tmp_path, test, apart=True)
    assert audit(tmp_path, "depot").observations == 3
    assert audit(tmp_path, "quick").observations == 11


def test_a_solve_that_passes_its_deadline_is_on_record_and_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quickly: None
):
    async def test(local: Local) -> None:
        body = {"model": "depot", "agent": "InformationDirected", "settings": SECONDS}
        await local.ask("PUT", "/v1/models/depot", content=NPZ)
        assert (await local.put_loop("depot", body)).status == 201
        before = local.service.loops["depot"].solves.policy.actions
        monkeypatch.setitem(workers.DEADLINES, "solve", 0.02)
        await local.play(1)
        await local.rest()
        monkeypatch.setitem(workers.DEADLINES, "solve", 600.0)
        status = (await local.ask("GET", "/v1/loops/depot")).body
        require_told(status["policy"]["failure"], "0 s", "lower", "settings")
        assert status["verdict"]["title"] == "The last solve failed"
        assert local.service.loops["depot"].solves.policy.actions == before
        await local.play(1, prefix="more")
        await local.rest()
        assert local.service.loops["depot"].ledger.failure is None

    async def again(local: Local) -> list[int]:
        return local.service.loops["depot"].solves.policy.actions

    served(tmp_path, test, apart=True)
    stopped = [event.stopped for event in happened(tmp_path, "depot") if isinstance(event, events.PolicySet)]
    assert stopped == [True, False]
    assert audit(tmp_path, "depot").observations == 2
    assert served(tmp_path, again, apart=True) == served(tmp_path, again)


def test_a_loop_whose_process_dies_in_a_solve_learns_on(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make("VBMLE")
        await local.play(5)
        await local.rest()
        computing(local)._home["depot"].process.send_signal(signal.SIGKILL)
        await local.play(5, prefix="more")
        await local.rest()
        await local.play(1, prefix="last")
        await local.rest()
        assert local.service.loops["depot"].ledger.failure is None

    served(tmp_path, test, apart=True)
    assert audit(tmp_path, "depot").observations == 11


def test_replays_and_exports_take_turns_and_each_loop_has_one(tmp_path: Path, quickly: None):
    async def test(local: Local) -> None:
        await local.make("VBMLE")
        await local.play(3)
        await local.rest()
        replaying = asyncio.ensure_future(
            local.post("replay", {"agent": "InformationDirected", "settings": ENDLESS})
        )
        await until_slow(local, "depot")
        second = await local.post("replay", {"agent": "PSRL"})
        assert second.status == 503
        await local.make("VBMLE", "other")
        assert (await local.post("replay", {"agent": "PSRL"}, "other")).status == 200
        assert (await local.ask("GET", "/v1/loops/other/export.parquet")).status == 200
        await local.play(3, prefix="more")
        await local.rest()
        await local.seen()  # the alarm of neither loop waits for it
        await local.seen("other")
        assert (await local.post("work", {"stop": True})).body["stopped"] == 1
        told = await replaying
        assert told.status == 422
        require_told(told.body["error"], "replay", "operator")

    served(tmp_path, test, apart=True)


def test_an_alarm_that_is_out_of_date_is_not_known(tmp_path: Path):
    """A look that never ends: the figure for the alarm is not 0 then, and the page says that nobody has looked."""
    clock, gate = Hands(), threading.Event()

    async def test(local: Local) -> None:
        async def figures() -> tuple[str, str]:
            text = (await local.ask("GET", "/metrics")).body.decode()
            lines = [
                line.split()[1]
                for line in text.splitlines()
                if line.startswith(("vbmle_misfit", "vbmle_insight"))
            ]
            return lines[0], lines[1]

        await local.make("VBMLE")
        await local.seen()
        await local.play(3)
        await local.rest()
        await local.seen()
        assert await figures() == ("0.0", "0.0")
        held = local.service._aside.submit(gate.wait)
        try:
            await local.play(1, prefix="more")
            await local.rest()
            clock.pass_by(STALE_SECONDS - 1.0)
            assert await figures() == ("0.0", str(STALE_SECONDS - 1.0))
            clock.pass_by(2.0)
            assert await figures() == ("-1.0", str(STALE_SECONDS + 1.0))
            verdict = (await local.ask("GET", "/v1/loops/depot")).body["verdict"]
            assert (verdict["level"], verdict["title"]) == ("watch", "The alarm is out of date")
        finally:
            gate.set()
        assert held.result()
        await local.seen()
        assert await figures() == ("0.0", "0.0")

    served(tmp_path, test, clock)


def test_a_snapshot_comes_after_much_solving_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solves, "SNAPSHOT_SECONDS", 1e-9)

    async def test(local: Local) -> None:
        await local.make("VBMLE")
        await local.play(1)
        await local.rest()

    served(tmp_path, test)
    assert len(list((tmp_path / "snapshots").glob("depot-*.npz"))) == 1


def test_the_order_to_stop_ends_everything(tmp_path: Path):
    """A loop that is being made, a replay and a solve that would take minutes."""
    with process(tmp_path) as server:
        client = server.client(patience=0.0)
        client.put_model("depot", NPZ)
        loop = server.client().loop("depot")
        loop.create("depot", "VBMLE")
        loop.observe(loop.act(1), 2)
        with pytest.raises(Refused):
            client.loop("one").create("depot", "InformationDirected", ENDLESS)
        asking = threading.Thread(target=_replay, args=(server.client(patience=0.0),))
        asking.start()
        kinds: set[str] = set()
        while kinds != {"make", "replay"}:
            kinds = {item["kind"] for item in client.ask("GET", "/v1/work") if item["state"] == "running"}
        assert loop.act(DEPOT.mdp.num_states - 1).action in range(3)
        assert server.stop() == 0
        asking.join()


def _replay(client: Any) -> None:
    with pytest.raises((Refused, ConnectionError)):
        client.loop("depot").replay("InformationDirected", ENDLESS)


def test_settings_that_would_take_too_long_are_refused_with_an_estimate():
    """The estimate is of the size that it is measured to be, and in proportion to draws and to thinning."""
    high: dict[str, Any] = {"draws": 40, "fresh": 40, "thinning": 20_000}
    began = process_time()
    InformationDirected(DEPOT.mdp, **high).act(0)
    taken = process_time() - began
    assert taken / 10 < seconds_a_decision(InformationDirected, DEPOT.mdp, high) < taken * 10
    for usual in ("VBMLE", "PSRL", "InformationDirected", "UCLK", "InformedVBMLE"):
        require_affordable(DEPOT.mdp, usual, {}, most=TRIAL_SECONDS * FEW)
    with refused(
        "InformationDirected", "seconds a decision", "0 seconds", "lower draws or fresh or thinning"
    ):
        require_affordable(DEPOT.mdp, "InformationDirected", high, most=taken / 20)
    require_affordable(DEPOT.mdp, "UCLK", {"sweeps": 2_000_000})  # it ends long before


def test_a_loop_that_costs_too_much_is_refused_before_its_agent_is_made(tmp_path: Path):
    models = np.random.default_rng(0).dirichlet(np.ones(6), (40, 6, 2))
    many = LinearMixtureMDP.from_models(list(models), np.full((6, 2), 0.5), 0.9)

    async def test(local: Local) -> None:
        await local.ask("PUT", "/v1/models/depot", content=saved(many))
        told = await local.put_loop("one", endless())
        assert told.status == 422
        require_told(
            told.body["error"], "settings", "InformationDirected", "a decision on this model", "10 minutes"
        )

    served(tmp_path, test, apart=True)


def test_turns_go_to_whoever_has_priority_and_then_to_whoever_came_first():
    async def test() -> list[int]:
        turns, order = workers.Turns(1), []

        async def work(job: workers.Job) -> None:
            await turns.enter(job)
            await asyncio.sleep(0)
            order.append(job.number)
            turns.leave()

        levels = [0, 0, -1, 1, 0]
        jobs = [workers.Job(n, "", "solve", 0.0, levels[n].__int__) for n in range(len(levels))]
        tasks = [asyncio.ensure_future(work(job)) for job in jobs]
        await asyncio.sleep(0)
        given_up = asyncio.ensure_future(work(workers.Job(9, "", "solve", 0.0, lambda: 1)))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(*tasks)
        return order

    assert asyncio.run(test()) == [0, 3, 1, 4, 2]


def test_insight_that_takes_long_leaves_the_turn_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(insight, "SLOW_SECONDS", 0.05)
    gate = asyncio.Event()

    async def test(local: Local) -> None:
        usual = local.service._means.looking

        async def looking(loop: str, *others: Any) -> Any:
            if loop == "slow":
                await gate.wait()
            return await usual(loop, *others)

        local.service._means = local.service._means._replace(looking=looking)
        await local.make("VBMLE", "slow")
        await local.make("VBMLE", "quick")
        await local.seen("quick")
        assert local.service.loops["slow"].insights.latest is None
        gate.set()
        await local.seen("slow")

    served(tmp_path, test)
