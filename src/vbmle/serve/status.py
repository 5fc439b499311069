"""How a loop stands, in the user's units and names, and one line on whether to trust it."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from vbmle.serve import events
from vbmle.serve.clock import moment
from vbmle.serve.controller import Controller
from vbmle.serve.events import Decided, Mode, Observed
from vbmle.serve.insight import STALE_SECONDS, Bounds, Insight
from vbmle.serve.ledger import Ledger

SHOWN_PENDING = 100
SHOWN_STATES = 200
SHOWN_DECISIONS = 12
SHOWN_DAYS = 90
ENOUGH = 20
"""Outcomes from which on their rhythm and the share of those that never came say something."""

FIGURES, PLACES = 4, 12
"""Of an amount: figures that are shown, and places after the point at most."""

QUIET_SECONDS, QUIET_GAPS = 86400.0, 20.0
"""For how long nothing comes until a person should look: a day, and so many times the usual pause."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether to trust the loop: `stop` needs a person now, `watch` one soon; `learning` is as it should be."""

    level: Literal["good", "learning", "watch", "stop"]
    title: str
    text: str


class Pending(msgspec.Struct, frozen=True):
    """A decision whose outcome is waited for."""

    decision_id: str
    state: str
    action: str
    since: str


class DayOfLoop(msgspec.Struct, frozen=True):
    """What was observed on one day (UTC)."""

    day: str
    outcomes: int
    reward: float


class Shown(msgspec.Struct, frozen=True):
    """A decision and what came of it."""

    decision_id: str
    time: str
    state: str
    action: str
    suggested: str
    policy_version: int
    mode: Mode
    next_state: str | None
    reward: float | None


class Choice(msgspec.Struct, frozen=True):
    """What the policy in force does in a state."""

    state: str
    action: str


class PolicyInForce(msgspec.Struct, frozen=True):
    """Which policy answers, and whether a newer one is being computed."""

    version: int
    solving: bool
    unseen_observations: int
    failure: str | None
    choices: list[Choice]


class Status(msgspec.Struct, frozen=True):
    """A loop as it stands."""

    loop: str
    model: str
    agent: str
    settings: dict[str, Any]
    mode: Mode
    created: str
    verdict: Verdict
    decisions: int
    observations: int
    refused: int
    cancelled: int
    expired: int
    pending: int
    pending_decisions: list[Pending]
    baseline_agreement: float | None
    last_decision: str | None
    last_observation: str | None
    policy: PolicyInForce
    insight: Insight | None
    insight_age: float  # seconds for which there have been data that it does not know
    days: list[DayOfLoop]
    recent: list[Shown]
    expire_after: float
    discount: float
    range_of_reward: tuple[float, float]  # the least and the most that one step can earn


def status(controller: Controller, trouble: str | None = None) -> Status:
    """How a loop stands now. What is proven about it may lag behind (`insight.observations`)."""
    ledger, outcomes, created = controller.ledger, controller.outcomes, controller.ledger.created
    assert created is not None
    controller.insights.refresh()
    insight = controller.insights.latest
    pending = [
        Pending(name, outcomes.state_name(w.state), outcomes.action_name(w.action), moment(w.time))
        for name, w in list(ledger.pending.items())[:SHOWN_PENDING]
    ]
    days = [DayOfLoop(day, d.outcomes, d.reward) for day, d in sorted(ledger.days.items())[-SHOWN_DAYS:]]
    return Status(
        controller.name,
        created.model,
        created.agent,
        created.settings,
        ledger.mode,
        moment(ledger.created_at),
        verdict(controller, trouble),
        ledger.decisions,
        ledger.observations,
        ledger.refusals,
        ledger.cancelled,
        ledger.missing,
        len(ledger.pending),
        pending,
        ledger.agreed / ledger.compared if ledger.compared else None,
        None if ledger.last_decision is None else moment(ledger.last_decision),
        None if ledger.last_observation is None else moment(ledger.last_observation),
        _policy(controller),
        insight,
        controller.insights.age,
        days,
        recent(controller),
        created.expire_after,
        outcomes.mdp.discount,
        (outcomes.least, outcomes.most),
    )


def _policy(controller: Controller) -> PolicyInForce:
    ledger, outcomes = controller.ledger, controller.outcomes
    choices = [
        Choice(outcomes.state_name(s), outcomes.action_name(a))
        for s, a in enumerate(controller.solves.policy.actions[:SHOWN_STATES])
    ]
    unseen = len(ledger.unseen) + len(ledger.batch)
    return PolicyInForce(ledger.version, ledger.solving is not None, unseen, ledger.failure, choices)


def recent(controller: Controller) -> list[Shown]:
    """The last decisions that are on disk, the latest first."""
    shown = []
    for entry in controller.log.recent(controller.name, "decided", SHOWN_DECISIONS):
        event, name = entry.event, events.decision_id(entry.seq)
        assert isinstance(event, Decided)
        told = controller.log.lookup(controller.name, "observed", name)
        outcome = told.event.next_state if told is not None and isinstance(told.event, Observed) else None
        names = controller.outcomes
        shown.append(
            Shown(
                name,
                moment(entry.time),
                names.state_name(event.state),
                names.action_name(event.action),
                names.action_name(event.suggested),
                event.policy_version,
                event.mode,
                None if outcome is None else names.state_name(outcome),
                None if outcome is None else names.reward(event.state, event.action, outcome),
            )
        )
    return shown


def verdict(controller: Controller, trouble: str | None = None) -> Verdict:
    """One line for the operator; the worst that is true comes first."""
    ledger, insight = controller.ledger, controller.insights.latest
    if trouble is not None:
        return Verdict("stop", "Nothing can be recorded", trouble)
    if controller.insights.alarm:
        baseline = (
            "leave it to the baseline" if ledger.mode == "shadow" else "hand over to the baseline (shadow)"
        )
        text = f"no mix of the models explains what was observed: {baseline}, and find out what changed"
        return Verdict("stop", "The model does not fit", text)
    if ledger.odd:
        count = len(ledger.odd)
        what = (
            f"decision {ledger.odd[-1]} has an outcome" if count == 1 else f"{count} decisions have outcomes"
        )
        remedy = "report the right one, cancel the decision, or correct the model"
        return Verdict("stop", "The impossible happened", f"{what} that the model calls impossible: {remedy}")
    if ledger.failure is not None:
        return Verdict(
            "stop", "The last solve failed", f"{ledger.failure}: the policy before it stays in force"
        )
    if controller.insights.age > STALE_SECONDS:
        return Verdict("watch", "The alarm is out of date", _out_of_date(controller))
    closed = ledger.observations + ledger.missing
    if closed >= ENOUGH and ledger.missing > 0.5 * closed:
        text = (
            f"{ledger.missing} of {closed} decisions never got an outcome: make sure that they are reported"
        )
        return Verdict("watch", "Outcomes are missing", text)
    if (pause := _pause(controller)) is not None:
        text = f"no outcome has come for {pause}: see whether the system still runs and reports"
        return Verdict("watch", "It has gone quiet", text)
    if ledger.observations == 0:
        return Verdict(
            "learning", "No data yet", "until you report outcomes, the agent goes by the models alone"
        )
    return _progress(ledger, insight, _unproven(controller))


def _out_of_date(controller: Controller) -> str:
    """Since when bounds and alarm are not those of the data, and why."""
    insights = controller.insights
    if controller.solves.since is None:
        why = insights.trouble or "other loops take the time"
    else:
        why = "a solve takes longer than that"
    remedy = "see /v1/work, and replay the log with lower settings"
    return f"for {insights.age / 60.0:.0f} minutes nobody has looked whether the models fit ({why}): {remedy}"


def _pause(controller: Controller) -> str | None:
    """For how long nothing has come, where that is longer than usual."""
    ledger = controller.ledger
    if ledger.last_observation is None or ledger.observations < ENOUGH:
        return None
    usual = (ledger.last_observation - ledger.created_at) / ledger.observations
    quiet = controller.clock.wall() - ledger.last_observation
    if quiet <= max(QUIET_SECONDS, QUIET_GAPS * usual):
        return None
    days = round(quiet / 86400.0)
    return "a day" if days == 1 else f"{days} days"


def _unproven(controller: Controller) -> str:
    """What the data have not settled yet, and how much hangs on it."""
    insight, outcomes = controller.insights.latest, controller.outcomes
    if insight is None:
        return controller.insights.trouble or "what the data prove is being computed"
    if insight.bounds is None:
        return insight.notes[0] if insight.notes else "nothing is proven yet"
    fits = "the models fit, and at most" if insight.misfit is not None else "at most"
    gain = f"{amount(insight.bounds.loss)} per step is still to be gained, at {_confidence(insight.bounds)} confidence"
    return f"{fits} {gain} (a step earns {amount(outcomes.least)} to {amount(outcomes.most)})"


def _progress(ledger: Ledger, insight: Insight | None, proven: str) -> Verdict:
    """Where nothing is wrong: how far learning has come, and who acts meanwhile."""
    if insight is not None and insight.bounds is not None and insight.bounds.certified:
        sure = _confidence(insight.bounds)
        text = f"nothing to do: no other policy is better than the one in force, at {sure} confidence"
        return Verdict("good", "Learning is over", text)
    if ledger.mode == "frozen":
        kept = len(ledger.unseen) + len(ledger.batch)
        outcomes = "1 outcome waits" if kept == 1 else f"{kept} outcomes wait"
        text = f"the policy stays as it is, and {outcomes} to be learnt from; {proven}"
        return Verdict("learning", "Frozen", text)
    if ledger.mode == "shadow":
        agreed = f"{ledger.agreed / ledger.compared:.0%}" if ledger.compared else "an unknown share"
        text = f"the baseline acts, and the agent would do the same in {agreed} of decisions; {proven}"
        return Verdict("learning", "Learning in shadow", text)
    known = insight is not None and insight.bounds is not None
    return Verdict("learning", "Learning", f"nothing to do: {proven}" if known else proven)


def amount(value: float) -> str:
    """A reward as people read money: four figures or all before the point, thousands apart, never a power of ten."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    places = min(max(FIGURES - 1 - math.floor(math.log10(abs(value))), 0), PLACES)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _confidence(bounds: Bounds) -> str:
    return f"{100 * (1 - bounds.delta):g}%"
