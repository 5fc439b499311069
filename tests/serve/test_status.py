"""What is told of a loop is what its agent says, in the user's units and names."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import Hands, Local, happened, learner_of, saved, served

from vbmle import LinearMixtureMDP, World, plan
from vbmle.serve.events import Observed
from vbmle.serve.insight import DELTA
from vbmle.serve.status import amount, status
from vbmle.serve.web_pages import _template, loop_content
from vbmle.value_of_learning import still_worth

STATES, ACTIONS, MODELS = ["new", "worn", "broken"], ["run", "repair"], ["gentle", "harsh"]
EUROS = np.array([[100.0, 20.0], [80.0, 20.0], [0.0, -50.0]])


def pump() -> World:
    def wear(p: float) -> np.ndarray:
        run = [[1 - p, p, 0.0], [0.0, 1 - p, p], [0.0, 0.0, 1.0]]
        return np.stack([run, [[1.0, 0.0, 0.0]] * 3], axis=1)

    models = dict(zip(MODELS, (wear(0.05), wear(0.4)), strict=True))
    mdp = LinearMixtureMDP.from_models(
        models, EUROS, 0.9, normalise_reward=True, state_names=STATES, action_names=ACTIONS
    )
    return World(mdp, [0.5, 0.5])


PUMP = pump()


async def filled(local: Local, steps: int) -> dict[str, Any]:
    """A loop that has learnt from some steps, asked for by name, and its status once that is looked at."""
    await local.ask("PUT", "/v1/models/pump", content=saved(PUMP.mdp))
    await local.ask("PUT", "/v1/loops/pump", {"model": "pump", "agent": "VBMLE"})
    state = 0
    for number in range(steps):
        body = {"state": STATES[state], "request_id": f"r{number}"}
        decision = (await local.post("decisions", body, "pump")).body
        assert decision["action_name"] == ACTIONS[decision["action"]]
        state = PUMP.next_state(state, decision["action"], (number * 0.618034) % 1.0)
        told = {"decision_id": decision["decision_id"], "next_state": STATES[state]}
        assert (await local.post("observations", told, "pump")).body["recorded"] == 1
    await local.rest()
    while True:
        found = (await local.ask("GET", "/v1/loops/pump")).body
        if found["insight"] and found["insight"]["observations"] == steps:
            return found
        await asyncio.sleep(0.001)


def test_what_learning_is_still_worth_is_told_where_there_are_candidates(tmp_path: Path):
    """In the status and in a line of the page; of a mix there is none."""
    base = [np.asarray(PUMP.mdp.transition(theta)) for theta in np.eye(2)]
    one = LinearMixtureMDP.from_models(base, EUROS, 0.9, normalise_reward=True, domain="vertices")

    async def test(local: Local) -> None:
        assert (await filled(local, 3))["insight"]["learning"] is None
        await local.ask("PUT", "/v1/models/one", content=saved(one))
        await local.ask("PUT", "/v1/loops/one", {"model": "one", "agent": "VBMLE"})
        await local.post("decisions", {"state": 1, "request_id": "r"}, "one")
        while not (found := (await local.ask("GET", "/v1/loops/one")).body)["insight"]:
            await asyncio.sleep(0.001)
        told = found["insight"]["learning"]
        belief = learner_of(local.service.loops["one"]).agent.belief().mean
        assert (told["low"], told["high"]) == pytest.approx(still_worth(one, belief, 1))
        shown = loop_content(status(local.service.loops["one"]))
        assert "learning is still worth" in " ".join(_template("loop.html").render(shown).split())

    served(tmp_path, test)


def test_bounds_belief_and_misfit_are_the_agent_s(tmp_path: Path):
    async def test(local: Local) -> None:
        insight = (await filled(local, 60))["insight"]
        controller = local.service.loops["pump"]
        agent: Any = learner_of(controller).agent
        state = controller.ledger.last_state
        expected = agent.confidence(delta=DELTA, state=state)
        bounds = insight["bounds"]
        assert bounds["state"] == STATES[state or 0]
        assert (bounds["low"], bounds["high"]) == pytest.approx(expected.interval(state), rel=1e-9)
        assert bounds["loss"] == pytest.approx(expected.loss * (1 - PUMP.mdp.discount), rel=1e-9, abs=1e-12)
        assert insight["learning_over"] == bounds["certified"] == expected.certified
        believed = agent.belief()
        assert [weight["name"] for weight in insight["belief"]] == MODELS
        assert [weight["mean"] for weight in insight["belief"]] == pytest.approx(believed.mean.tolist())
        assert [weight["low"] for weight in insight["belief"]] == pytest.approx(believed.low.tolist())
        misfit = agent.misfit(DELTA)
        assert insight["misfit"]["alarm"] is bool(misfit.alarm) is False
        assert insight["misfit"]["evidence"] == pytest.approx(misfit.evidence)

    served(tmp_path, test)


def test_the_truth_is_within_the_bounds_and_in_euros(tmp_path: Path):
    async def test(local: Local) -> dict[str, Any]:
        return await filled(local, 60)

    found = served(tmp_path, test)
    truth = plan(PUMP.mdp, PUMP.theta).V[STATES.index(found["insight"]["bounds"]["state"])]
    euros = truth * PUMP.mdp.reward_scale + PUMP.mdp.reward_offset / (1 - PUMP.mdp.discount)
    assert found["insight"]["bounds"]["low"] <= euros <= found["insight"]["bounds"]["high"]
    assert found["range_of_reward"] == [-50.0, 100.0]
    told = [event for event in happened(tmp_path, "pump") if isinstance(event, Observed)]
    assert sum(day["outcomes"] for day in found["days"]) == len(told) == 60
    earned = sum(EUROS[event.state, event.action] for event in told)
    assert sum(day["reward"] for day in found["days"]) == pytest.approx(earned)
    for row in found["recent"]:
        assert row["reward"] == EUROS[STATES.index(row["state"]), ACTIONS.index(row["action"])]


def test_what_is_waited_for_is_named(tmp_path: Path):
    async def test(local: Local) -> None:
        await filled(local, 3)
        asked = (await local.post("decisions", {"state": "worn", "request_id": "open"}, "pump")).body
        (pending,) = (await local.ask("GET", "/v1/loops/pump")).body["pending_decisions"]
        assert pending["decision_id"] == asked["decision_id"]
        assert (pending["state"], pending["action"]) == ("worn", asked["action_name"])
        choices = (await local.ask("GET", "/v1/loops/pump")).body["policy"]["choices"]
        assert [choice["state"] for choice in choices] == STATES

    served(tmp_path, test)


@pytest.mark.parametrize("rule", ["skip", "widen"])
def test_an_impossible_outcome_follows_the_rule_of_the_agent(rule: str, tmp_path: Path):
    async def test(local: Local) -> tuple[list[int], float]:
        if "odd" not in local.service.loops:
            await local.ask("PUT", "/v1/models/pump", content=saved(PUMP.mdp))
            body = {"model": "pump", "agent": "VBMLE", "settings": {"on_impossible": rule}}
            assert (await local.ask("PUT", "/v1/loops/odd", body)).status == 201
            for number, following in enumerate(
                ["broken", "new", "worn"]
            ):  # a new pump does not break at once
                asked = {"state": "new", "request_id": f"r{number}", "allowed": ["run"]}
                decision = (await local.post("decisions", asked, "odd")).body
                told = {"decision_id": decision["decision_id"], "next_state": following}
                assert (await local.post("observations", told, "odd")).body["recorded"] == 1
        await local.rest()
        body = (await local.ask("GET", "/v1/loops/odd")).body
        assert (body["observations"], body["refused"], body["policy"]["failure"]) == (3, 0, None)
        assert (await local.ask("GET", "/v1/loops/odd/export.parquet")).status == 200
        agent: Any = learner_of(local.service.loops["odd"]).agent
        return local.service.loops["odd"].solves.policy.actions, float(agent.counts.total)

    first = served(tmp_path, test)
    assert first == served(tmp_path, test)
    assert first[1] == (3.0 if rule == "widen" else 2.0)


def test_a_loop_that_has_gone_quiet_is_to_be_watched(tmp_path: Path):
    clock = Hands()

    async def test(local: Local) -> None:
        await local.make()
        for number in range(20):
            await local.play(1, prefix=f"p{number}", seed=number)
            clock.pass_by(60.0)
        await local.rest()
        await local.seen()
        clock.pass_by(86000.0 - 60.0)
        assert (await local.ask("GET", "/v1/loops/depot")).body["verdict"]["level"] == "learning"
        clock.pass_by(2 * 86400.0)
        verdict = (await local.ask("GET", "/v1/loops/depot")).body["verdict"]
        assert (verdict["level"], verdict["title"]) == ("watch", "It has gone quiet")
        assert "no outcome has come for 3 days" in verdict["text"]
        metrics = (await local.ask("GET", "/metrics")).body.decode()
        assert 'vbmle_verdict{loop="depot"} 1.0' in metrics

    served(tmp_path, test, clock)


def test_the_verdict_says_who_acts(tmp_path: Path):
    async def verdict(local: Local, mode: str) -> tuple[str, str]:
        await local.post("mode", {"mode": mode})
        found = (await local.ask("GET", "/v1/loops/depot")).body["verdict"]
        assert found["level"] == "learning"
        return found["title"], found["text"]

    async def test(local: Local) -> None:
        await local.make()
        decisions = [await local.decide(1, f"r{k}", baseline_action=k) for k in range(3)]
        for decision in decisions:
            await local.post("observations", {"decision_id": decision["decision_id"], "next_state": 2})
        await local.rest()
        assert (await verdict(local, "live"))[0] == "Learning"
        title, text = await verdict(local, "shadow")
        assert (title, "would do the same in 33% of decisions" in text) == ("Learning in shadow", True)
        await verdict(local, "frozen")
        last = await local.decide(1, "last")
        await local.post("observations", {"decision_id": last["decision_id"], "next_state": 2})
        title, text = await verdict(local, "frozen")
        assert (title, "and 1 outcome waits to be learnt from" in text) == ("Frozen", True)

    served(tmp_path, test)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(121_800.0, "121,800"), (1218.4, "1,218"), (12.345, "12.35"), (-0.5, "-0.5"), (0.00012345, "0.0001234"),
     (2.5e9, "2,500,000,000"), (0.0, "0"), (3.0, "3"), (999.96, "1,000"), (1e-20, "0")],
)  # fmt: skip
def test_money_reads_as_money(value: float, shown: str):
    assert amount(value) == shown
