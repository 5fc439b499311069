"""What requests mean: the same again changes nothing, contradictions are refused, what is late counts."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from refusals import require_told
from serving import NPZ, Hands, Local, counted, counts, saved, served

from vbmle.worlds import riverswim


def test_the_same_request_gets_the_same_answer(tmp_path: Path):
    async def test(local: Local) -> dict[str, Any]:
        await local.make()
        first = await local.decide(1, "r1")
        before = counted(local)
        assert await local.decide(1, "r1") == first
        both = await asyncio.gather(local.decide(2, "r2"), local.decide(2, "r2"))
        assert both[0] == both[1]
        assert counted(local)[1] == before[1] + 1
        return first

    async def again(local: Local) -> dict[str, Any]:
        return await local.decide(1, "r1")

    assert served(tmp_path, test) == served(tmp_path, again)


@pytest.mark.parametrize(
    "other", [{"state": 2}, {"state": 1, "allowed": [0]}, {"state": 1, "baseline_action": 0}]
)
def test_a_used_request_id_with_another_body_is_a_conflict(tmp_path: Path, other: dict[str, Any]):
    async def test(local: Local) -> None:
        await local.make()
        await local.decide(1, "r1")
        before = counted(local)
        answer = await local.post("decisions", {"request_id": "r1", **other})
        assert answer.status == 409
        require_told(answer.body["error"], "request_id", "'r1'")
        assert counted(local) == before

    served(tmp_path, test)


def test_observations_are_counted_once_and_contradictions_refused(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        told = {"decision_id": (await local.decide(1, "r1"))["decision_id"], "next_state": 2}
        assert (await local.post("observations", told)).body == {"recorded": 1, "duplicates": 0}
        await local.rest()
        before = counted(local)
        assert (await local.post("observations", told)).body == {"recorded": 0, "duplicates": 1}
        answer = await local.post("observations", {**told, "next_state": 3})
        assert answer.status == 409
        require_told(answer.body["error"], told["decision_id"], "state 2", "state 3")
        assert counted(local) == before

    served(tmp_path, test)


def test_many_observations_are_recorded_together_or_not_at_all(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        names = [(await local.decide(1, f"r{k}"))["decision_id"] for k in range(3)]
        many = [{"decision_id": name, "next_state": 2} for name in names]
        wrong = await local.post("observations", [*many, {"decision_id": "d999", "next_state": 2}])
        assert wrong.status == 422
        require_told(wrong.body["error"], "observations[3]", "decision_id", "'d999'")
        twice = await local.post("observations", [*many, {"decision_id": names[0], "next_state": 1}])
        assert twice.status == 409
        assert local.service.loops["depot"].ledger.observations == 0
        answer = await local.post("observations", [*many, many[0]])
        assert answer.body == {"recorded": 3, "duplicates": 1}

    served(tmp_path, test)


def test_late_and_out_of_order_observations_teach_what_prompt_ones_do(tmp_path: Path):
    """Estimates depend on counts: two loops, the same outcomes in another order, the same theta in the end."""

    async def test(local: Local) -> None:
        await local.make(loop="prompt", expire_after=10.0)
        await local.make(loop="late", expire_after=10.0)
        outcomes = [(s, t) for s in range(4) for t in (0, 1, 2)]
        for loop, order in (("prompt", 1), ("late", -1)):
            told = []
            for number, (state, following) in enumerate(outcomes):
                body = {"state": state, "request_id": f"r{number}", "allowed": [1]}
                name = (await local.post("decisions", body, loop)).body["decision_id"]
                told.append({"decision_id": name, "next_state": following})
            if loop == "late":
                clock.pass_by(1e6)
                local.service.loops[loop].expire()
                assert local.service.loops[loop].ledger.expired == len(outcomes)
            for item in told[::order]:
                assert (await local.post("observations", item, loop)).body["recorded"] == 1
        await local.rest()
        one, two = (counts(local, name) for name in ("prompt", "late"))
        assert one.values.tolist() == two.values.tolist()
        assert one.total == len(outcomes)

    clock = Hands()
    served(tmp_path, test, clock)


def test_a_decision_without_an_outcome_expires_without_being_data(tmp_path: Path):
    clock = Hands()

    async def test(local: Local) -> None:
        await local.make(expire_after=60.0)
        await local.decide(1, "r1")
        clock.pass_by(59.0)
        await local.decide(2, "r2")
        controller = local.service.loops["depot"]
        controller.expire()
        assert controller.ledger.expired == 0
        clock.pass_by(2.0)
        controller.expire()
        assert (controller.ledger.expired, len(controller.ledger.pending)) == (1, 1)
        assert controller.ledger.observations == 0
        assert (await local.post("cancel", {"decision_id": "d2"})).status == 200

    served(tmp_path, test, clock)


def test_an_outcome_that_comes_late_is_missing_no_more(tmp_path: Path):
    clock = Hands()

    async def test(local: Local) -> None:
        if not local.service.loops:
            await local.make(expire_after=60.0)
            made = [await local.decide(1, f"r{number}") for number in range(30)]
            clock.pass_by(61.0)
            local.service.loops["depot"].expire()
            loop = (await local.ask("GET", "/v1/loops/depot")).body
            assert (loop["expired"], loop["verdict"]["title"]) == (30, "Outcomes are missing")
            told = [{"decision_id": one["decision_id"], "next_state": 1} for one in made[:28]]
            assert (await local.post("observations", told)).body["recorded"] == 28
            assert (await local.post("cancel", {"decision_id": made[28]["decision_id"]})).status == 200
        loop = (await local.ask("GET", "/v1/loops/depot")).body
        assert (loop["expired"], loop["observations"], loop["cancelled"]) == (1, 28, 1)
        assert loop["verdict"]["title"] != "Outcomes are missing"
        metrics = (await local.ask("GET", "/metrics")).body.decode()
        assert 'vbmle_expired_total{loop="depot"} 30.0' in metrics, "a counter never falls"
        assert 'vbmle_late_total{loop="depot"} 29.0' in metrics

    served(tmp_path, test, clock)
    served(tmp_path, test, clock)


def test_a_clock_that_is_set_back_loses_nothing(tmp_path: Path):
    clock = Hands()

    async def before(local: Local) -> None:
        await local.make(expire_after=60.0)
        await local.play(20)
        await local.decide(1, "open")

    async def after(local: Local) -> None:
        controller = local.service.loops["depot"]
        controller.expire()
        assert len(controller.ledger.pending) == 1  # it is waited for, for as long as at first
        first = await local.decide(2, "later")
        told = {"decision_id": first["decision_id"], "next_state": 1}
        assert (await local.post("observations", told)).body["recorded"] == 1
        clock.ticks += 61.0
        controller.expire()
        assert (controller.ledger.expired, controller.ledger.observations) == (1, 21)
        assert (await local.ask("GET", "/v1/loops/depot")).status == 200

    served(tmp_path, before, clock)
    clock.now -= 10 * 86400.0
    served(tmp_path, after, clock)


def test_cancelled_is_neither_data_nor_waited_for(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        one, two = [(await local.decide(1, f"r{k}"))["decision_id"] for k in range(2)]
        assert (await local.post("cancel", {"decision_id": one})).body == {
            "decision_id": one,
            "cancelled": True,
        }
        before = counted(local)
        assert (await local.post("cancel", {"decision_id": one})).status == 200
        late = await local.post("observations", {"decision_id": one, "next_state": 0})
        assert late.status == 409
        require_told(late.body["error"], one, "cancelled")
        assert counted(local) == before
        await local.post("observations", {"decision_id": two, "next_state": 0})
        answer = await local.post("cancel", {"decision_id": two})
        assert answer.status == 409
        require_told(answer.body["error"], two, "observed")

    served(tmp_path, test)


def test_in_shadow_the_baseline_acts_and_the_agent_learns(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make(mode="shadow")
        refused = await local.post("decisions", {"state": 0, "request_id": "r0"})
        assert refused.status == 422
        require_told(refused.body["error"], "baseline_action")
        answer = await local.decide(0, "r1", baseline_action=2)
        assert (answer["action"], answer["mode"]) == (2, "shadow")
        assert answer["suggested"] == local.service.loops["depot"].solves.policy.actions[0]
        await local.post("observations", {"decision_id": answer["decision_id"], "next_state": 3})
        await local.rest()
        assert counts(local, "depot").total == 1
        status = (await local.ask("GET", "/v1/loops/depot")).body
        assert status["baseline_agreement"] in (0.0, 1.0)

    served(tmp_path, test)


def test_an_impossible_outcome_is_refused_and_remembered_once(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        answer = await local.decide(0, "r1", allowed=[0])
        told = {"decision_id": answer["decision_id"], "next_state": 3}
        refused = [await local.post("observations", told) for _ in range(2)]
        assert [one.status for one in refused] == [422, 422]
        require_told(refused[0].body["error"], "impossible", "action 0", "state 0", "state 3")
        assert refused[0].body == refused[1].body
        state = local.service.loops["depot"].ledger
        assert (state.refusals, state.observations, len(state.pending)) == (1, 0, 1)
        assert (await local.ask("GET", "/v1/loops/depot")).body["verdict"]["level"] == "stop"
        told["next_state"] = 2  # the report was wrong, and is corrected
        assert (await local.post("observations", told)).body["recorded"] == 1
        await local.rest()
        body = (await local.ask("GET", "/v1/loops/depot")).body
        assert (body["verdict"]["level"], body["refused"]) == ("learning", 1)
        answer = await local.decide(0, "r2", allowed=[0])
        await local.post("observations", {"decision_id": answer["decision_id"], "next_state": 3})
        assert (await local.ask("GET", "/v1/loops/depot")).body["verdict"]["level"] == "stop"
        await local.post("cancel", {"decision_id": answer["decision_id"]})
        assert (await local.ask("GET", "/v1/loops/depot")).body["verdict"]["level"] == "learning"

    served(tmp_path, test)


def test_models_and_loops_can_be_put_again_but_not_otherwise(tmp_path: Path):
    async def test(local: Local) -> None:
        put = [await local.ask("PUT", "/v1/models/depot", content=NPZ) for _ in range(2)]
        assert [answer.status for answer in put] == [201, 200]
        assert put[0].body == put[1].body
        other = saved(riverswim(4).mdp)
        assert (await local.ask("PUT", "/v1/models/depot", content=other)).status == 409
        body = {"model": "depot", "agent": "PSRL", "settings": {"seed": 1}}
        made = [await local.ask("PUT", "/v1/loops/a", body) for _ in range(2)]
        assert [answer.status for answer in made] == [201, 200]
        assert made[0].body == made[1].body
        changed = await local.ask("PUT", "/v1/loops/a", {**body, "settings": {"seed": 2}})
        assert changed.status == 409
        require_told(changed.body["error"], "settings", "{'seed': 1}", "{'seed': 2}")
        both = await asyncio.gather(*(local.ask("PUT", "/v1/loops/b", body) for _ in range(3)))
        assert sorted(answer.status for answer in both) == [200, 200, 201]

    served(tmp_path, test)
