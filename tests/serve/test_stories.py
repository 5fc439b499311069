"""Stories of clients with retries, duplicates, reordering, delays, lost answers and crashes, against a model in memory.

The model knows what every request means and nothing of how the service works: a table of requests with their answers,
and one of decisions with what came of them. In the end the log is led through an agent of its own: every decision is
what the policy in force says, and the agent has learnt from exactly the outcomes that the model has.

VBMLE_SOAK=1 in the environment makes them 10,000, and others in every run (`make soak`); VBMLE_STORIES=2500 makes them
fewer, for one of four processes beside each other.
"""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from serving import PATIENCE, Answer, Hands, Local, audit, learner_of

from vbmle.serve.event_log import Batch
from vbmle.serve.service import Service

SOAK = bool(os.environ.get("VBMLE_SOAK"))
STORIES = int(os.environ.get("VBMLE_STORIES", 10_000 if SOAK else 40))
MEMORY = Path("/dev/shm")
EXPIRE_AFTER = 100.0
SHOWN_EVERY = 250
told_so_far: list[int] = []  # of each story, how many decisions it had: a soak says how far it is (pytest -s)

places = st.integers(0, 3)
agents = st.sampled_from(["MaximumLikelihood", "VBMLE", "PSRL", "QLearning", "UCRL2"])


def power_cut(log: Any) -> None:
    """From now on nothing comes to disk, and nobody is told."""
    log._open.error = "the power is gone"
    log._open.done.set()
    log._open = Batch()
    log._commit = lambda batch: "the power is gone"
    log._committed = lambda batch, seconds: batch.done.set()


@dataclass
class Made:
    """A decision, as the model sees it."""

    answer: dict[str, Any]
    state: int
    outcome: int | None = None
    cancelled: bool = False

    @property
    def impossible(self) -> set[int]:
        """Where it cannot have led to."""
        return {3} if (self.state, self.answer["action"]) == (0, 0) else set()


@dataclass
class Memory:
    """What every request so far means."""

    mode: str = "live"
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: dict[str, Made] = field(default_factory=dict)
    refused: set[tuple[str, int]] = field(default_factory=set)


class Stories(RuleBasedStateMachine):
    """Everything that clients may do, and what may happen to a server."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.runner, self.clock, self.memory = asyncio.Runner(), Hands(), Memory()

    def run(self, work: Any) -> Any:
        return self.runner.run(asyncio.wait_for(work, PATIENCE))

    def ask(self, *requests: tuple[str, Any]) -> list[Answer]:
        """Requests that are sent together."""

        async def together() -> list[Answer]:
            return await asyncio.gather(*(self.local.post(what, body) for what, body in requests))

        return self.run(together())

    async def _open(self) -> None:
        self.local = Local(await Service.open(self.folder, self.clock, snapshot_every=15))

    @initialize(agent=agents, mode=st.sampled_from(["live", "shadow"]))
    def begin(self, agent: str, mode: str) -> None:
        self.run(self._open())
        self.run(self.local.make(agent, mode=mode, expire_after=EXPIRE_AFTER))
        self.memory.mode = mode

    @rule(
        state=places,
        allowed=st.none() | st.sets(st.integers(0, 2), min_size=1),
        baseline=st.integers(0, 2),
        twice=st.booleans(),
    )
    def decide(self, state: int, allowed: set[int] | None, baseline: int, twice: bool) -> None:
        name = f"r{len(self.memory.requests)}"
        body: dict[str, Any] = {"state": state, "request_id": name}
        if allowed is not None:
            body["allowed"] = sorted(allowed)
        if self.memory.mode == "shadow" or baseline == 0:
            body["baseline_action"] = baseline
        answers = self.ask(*[("decisions", body)] * (2 if twice else 1))
        assert all(answer == answers[0] for answer in answers)
        self._decided(body, answers[0])

    def _decided(self, body: dict[str, Any], answer: Answer) -> None:
        assert answer.status == 200, answer.body
        found = answer.body
        assert found["mode"] == self.memory.mode
        assert found["decision_id"] not in self.memory.decisions
        assert found["suggested"] in body.get("allowed", range(3))
        expected = body["baseline_action"] if found["mode"] == "shadow" else found["suggested"]
        assert found["action"] == expected
        self.memory.requests[body["request_id"]] = body
        self.memory.decisions[found["decision_id"]] = Made(found, body["state"])

    @precondition(lambda self: self.memory.requests)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.memory.requests) - 1))
        (answer,) = self.ask(("decisions", list(self.memory.requests.values())[number]))
        assert answer.body == list(self.memory.decisions.values())[number].answer

    @precondition(lambda self: self.memory.requests)
    @rule(data=st.data(), state=places)
    def ask_otherwise(self, data: st.DataObject, state: int) -> None:
        body = data.draw(st.sampled_from(list(self.memory.requests.values())))
        (answer,) = self.ask(("decisions", {**body, "state": (body["state"] + 1 + state % 3) % 4}))
        assert answer.status == 409

    @rule(state=places, ticks=st.integers(0, 6), baseline=st.integers(0, 2))
    def lose_the_answer(self, state: int, ticks: int, baseline: int) -> None:
        """The client hangs up at some moment, and asks again."""
        body = {"state": state, "request_id": f"r{len(self.memory.requests)}", "baseline_action": baseline}

        async def hang_up() -> None:
            task = asyncio.ensure_future(self.local.post("decisions", body))
            for _ in range(ticks):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.run(hang_up())
        self._decided(body, self.ask(("decisions", body))[0])

    @precondition(lambda self: self.memory.decisions)
    @rule(data=st.data(), following=places, twice=st.booleans())
    def observe(self, data: st.DataObject, following: int, twice: bool) -> None:
        name = data.draw(st.sampled_from(list(self.memory.decisions)))
        body = {"decision_id": name, "next_state": following}
        answers = self.ask(*[("observations", body)] * (2 if twice else 1))
        expected = self._expected(name, following)
        assert [answer.status for answer in answers] == [expected] * len(answers), answers[0].body
        if expected == 200:
            new = self.memory.decisions[name].outcome is None
            assert sum(answer.body["recorded"] for answer in answers) == new
            self.memory.decisions[name].outcome = following

    def _expected(self, name: str, following: int) -> int:
        """The status of an observation."""
        made = self.memory.decisions[name]
        if made.cancelled or made.outcome not in (None, following):
            return 409
        if made.outcome is None and following in made.impossible:
            self.memory.refused.add((name, following))
            return 422
        return 200

    @precondition(lambda self: self.memory.decisions)
    @rule(data=st.data())
    def observe_many(self, data: st.DataObject) -> None:
        """Late ones too, in any order, and all or none."""
        some = st.lists(st.sampled_from(list(self.memory.decisions)), min_size=1, max_size=6, unique=True)
        told = {name: data.draw(st.integers(0, 2)) for name in data.draw(some)}
        (answer,) = self.ask(
            (
                "observations",
                [{"decision_id": name, "next_state": following} for name, following in told.items()],
            )
        )
        made = self.memory.decisions
        if any(made[name].cancelled or made[name].outcome not in (None, to) for name, to in told.items()):
            assert answer.status == 409
            return
        new = sum(made[name].outcome is None for name in told)
        assert answer.body == {"recorded": new, "duplicates": len(told) - new}
        for name, following in told.items():
            made[name].outcome = following

    @precondition(lambda self: self.memory.decisions)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(list(self.memory.decisions)))
        (answer,) = self.ask(("cancel", {"decision_id": name}))
        made = self.memory.decisions[name]
        assert answer.status == (200 if made.outcome is None else 409)
        made.cancelled = made.outcome is None

    @rule(mode=st.sampled_from(["live", "shadow", "frozen"]))
    def set_mode(self, mode: str) -> None:
        assert self.ask(("mode", {"mode": mode}))[0].body == {"mode": mode}
        self.memory.mode = mode

    @rule(seconds=st.sampled_from([1.0, EXPIRE_AFTER + 1.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.pass_by(seconds)

        async def expire() -> None:
            self.local.service.loops["depot"].expire()

        self.run(expire())

    @rule(seconds=st.sampled_from([1.0, 1e6]))
    def the_clock_is_set_back(self, seconds: float) -> None:
        self.clock.now -= seconds

    @rule()
    def learning_catches_up(self) -> None:
        self.run(self.local.rest())

    @rule(cleanly=st.booleans())
    def the_server_starts_again(self, cleanly: bool) -> None:
        self.run(self._close(cleanly))
        self.run(self._open())

    async def _close(self, cleanly: bool) -> None:
        service = self.local.service
        if not cleanly:  # what has not been committed is gone
            for controller in service.loops.values():
                controller.abandon()
            power_cut(service.log)
        await service.close(keep=cleanly)

    @invariant()
    def the_loop_is_as_the_model_says(self) -> None:
        if not hasattr(self, "local"):
            return
        state, made = self.local.service.loops["depot"].ledger, self.memory.decisions
        assert state.decisions == len(made)
        assert state.observations == sum(one.outcome is not None for one in made.values())
        assert state.cancelled == sum(one.cancelled for one in made.values())
        assert state.refusals == len(self.memory.refused)
        assert state.mode == self.memory.mode
        open_ = {name for name, one in made.items() if one.outcome is None and not one.cancelled}
        assert set(state.pending) <= open_

    def teardown(self) -> None:
        try:
            if hasattr(self, "local"):
                self.ask(("mode", {"mode": "frozen"}), ("mode", {"mode": "live"}))
                self.run(self.local.rest())
                learner = learner_of(self.local.service.loops["depot"])
                self.run(self._close(cleanly=True))
                self._require_learnt(learner.agent)
            told_so_far.append(len(self.memory.decisions))
            if len(told_so_far) % SHOWN_EVERY == 0:
                print(f"{len(told_so_far)} stories, {sum(told_so_far)} decisions", flush=True)
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    def _require_learnt(self, agent: Any) -> None:
        state = audit(self.folder, "depot")
        assert not state.unseen
        told = Counter(
            (one.state, one.answer["action"], one.outcome)
            for one in self.memory.decisions.values()
            if one.outcome is not None
        )
        rows, values = agent.mdp.transitions, agent.counts.values
        seen = Counter(
            {
                (*divmod(int(rows.pair_of[i]), agent.mdp.num_actions), int(rows.successor[i])): int(values[i])
                for i in range(rows.count)
                if values[i]
            }
        )
        assert seen == told


Stories.TestCase.settings = settings(
    max_examples=STORIES, stateful_step_count=25, deadline=None, derandomize=not SOAK
)
TestStories = Stories.TestCase
