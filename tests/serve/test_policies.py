"""Which policy answers: the one in force, whatever is being solved, and whoever made it."""

import asyncio
import threading
from pathlib import Path
from typing import Any

from serving import DEPOT, NPZ, Local, counted, counts, learner_of, saved, served

from vbmle import plan, recommended
from vbmle.serve.learner import agent_bytes
from vbmle.worlds import two_suspects


def test_frozen_keeps_the_policy_and_the_data(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        await local.play(10)
        await local.rest()
        controller = local.service.loops["depot"]
        assert (await local.post("mode", {"mode": "frozen"})).body == {"mode": "frozen"}
        version, policy = controller.ledger.version, controller.solves.policy
        await local.play(10, seed=1, prefix="more")
        await local.rest()
        assert (controller.ledger.version, controller.solves.policy) == (version, policy)
        assert controller.ledger.observations == 20
        await local.post("mode", {"mode": "live"})
        await local.rest()
        assert counts(local, "depot").total == 20
        before = counted(local)
        await local.post("mode", {"mode": "live"})
        assert counted(local) == before

    served(tmp_path, test)


def test_allowed_actions_are_kept_to_and_the_best_of_them_is_played(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        await local.play(30)
        await local.rest()
        policy = local.service.loops["depot"].solves.policy
        assert policy.theta is not None
        Q = plan(DEPOT.mdp, policy.theta).Q
        for state in range(4):
            others = [action for action in range(3) if action != policy.actions[state]]
            answer = await local.decide(state, f"allowed-{state}", allowed=others)
            assert answer["action"] == others[int(Q[state, others].argmax())]
            assert await local.decide(state, f"allowed-{state}", allowed=others) == answer

    served(tmp_path, test)


def test_a_loop_without_a_named_agent_has_the_recommended_one(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.ask("PUT", "/v1/models/depot", content=NPZ)
        made = await local.ask("PUT", "/v1/loops/depot", {"model": "depot"})
        agent = recommended(DEPOT.mdp)
        assert (made.status, made.body["agent"]) == (201, type(agent).__name__)
        agent.act(int(DEPOT.mdp.initial.argmax()))
        assert agent_bytes(learner_of(local.service.loops["depot"]).agent) == agent_bytes(agent)
        for body, status in (({}, 200), ({"agent": made.body["agent"]}, 200), ({"agent": "VBMLE"}, 409)):
            assert (await local.ask("PUT", "/v1/loops/depot", {"model": "depot", **body})).status == status
        suspects = saved(two_suspects().mdp)
        await local.ask("PUT", "/v1/models/suspects", content=suspects)
        one_of_two = await local.ask("PUT", "/v1/loops/suspects", {"model": "suspects"})
        assert (one_of_two.status, one_of_two.body["agent"]) == (201, made.body["agent"])
        named = {"model": "depot", "agent": "VBMLE"}
        assert (await local.ask("PUT", "/v1/loops/named", named)).status == 201
        assert (await local.ask("PUT", "/v1/loops/named", {"model": "depot"})).status == 409

    served(tmp_path, test)


def test_decisions_are_answered_while_a_solve_runs(tmp_path: Path):
    """The solve is held up until the decision has come: it would wait for ever if the decision waited for it."""

    async def test(local: Local) -> None:
        await local.make()
        controller = local.service.loops["depot"]
        learner: Any = learner_of(controller)
        gate, solve = threading.Event(), learner.solve

        def slow(*arguments: Any) -> Any:
            gate.wait()
            return solve(*arguments)

        learner.solve = slow
        first = await local.decide(1, "r1")
        await local.post("observations", {"decision_id": first["decision_id"], "next_state": 2})
        while controller.ledger.solving is None:  # it begins when it is its turn
            await asyncio.sleep(0.01)
        assert (await local.decide(2, "r2"))["policy_version"] == 0
        gate.set()
        await local.rest()
        assert (await local.decide(2, "r3"))["policy_version"] == 1

    served(tmp_path, test)


def test_nothing_that_is_asked_for_waits_for_solves(tmp_path: Path):
    """Every thread for solves is held up: decisions among allowed actions, events, models and loops still come."""

    async def test(local: Local) -> None:
        await local.make()
        gate, pool = threading.Event(), local.service._threads
        held = [pool.submit(gate.wait) for _ in range(64)]
        try:
            best = local.service.loops["depot"].solves.policy.actions[1]
            others = [action for action in range(3) if action != best]
            assert (await local.decide(1, "r1", allowed=others))["action"] in others
            assert (await local.ask("GET", "/v1/loops/depot/events?follow=false")).status == 200
            assert (await local.ask("GET", "/v1/loops/depot/export.parquet")).status == 200
            await local.make(loop="another")
        finally:
            gate.set()
        assert all(job.result() for job in held)

    served(tmp_path, test)


def test_a_failing_agent_keeps_its_loop_alive(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        agent: Any = learner_of(local.service.loops["depot"]).agent
        agent.act = lambda state: 1 / 0
        await local.play(3)
        await local.rest()
        body = (await local.ask("GET", "/v1/loops/depot")).body
        assert body["policy"]["failure"] == "ZeroDivisionError: division by zero"
        assert body["verdict"]["level"] == "stop"

    served(tmp_path, test)
