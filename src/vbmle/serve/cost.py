"""What a decision would cost with some settings, measured with lower ones: too much is refused before it is begun."""

from __future__ import annotations

from time import process_time
from typing import Any

from vbmle.agents.base import Agent
from vbmle.common.validation import InputError
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve.learner import agent_class

MOST_SECONDS = 600.0
"""That the first decision of an agent may take."""

TRIAL_SECONDS = 0.1
"""From which on a trial says what more of the same would take."""

LINEAR = ("draws", "fresh")
"""Settings in proportion to which a decision takes time: a trial has a few."""

GROWING = ("thinning", "sweeps")
"""Settings that are raised from a few until a trial takes long enough; who ends early takes no longer with more."""

FEW = 8


def require_affordable(
    mdp: LinearMixtureMDP, agent: str, settings: dict[str, Any], most: float = MOST_SECONDS
) -> None:
    """InputError where a decision would take longer than it may."""
    kind, fitted = agent_class(agent, settings)
    seconds = seconds_a_decision(kind, mdp, fitted)
    if seconds > most:
        high = [name for name in (*LINEAR, *GROWING) if _is_high(fitted.get(name))]
        raise InputError(
            f"settings: {agent} would take about {_words(seconds)} a decision on this model, "
            f"and {_words(most)} is the most; lower {' or '.join(high)}"
        )


def seconds_a_decision(kind: type[Agent], mdp: LinearMixtureMDP, settings: dict[str, Any]) -> float:
    """Seconds of the first decision, estimated; 0 where no setting is high, or where a trial fails."""
    low, factor, first = dict(settings), 1.0, int(mdp.initial.argmax())
    for name in LINEAR:
        if _is_high(settings.get(name)):
            low[name] = FEW
    if low.get("draws") != settings.get("draws"):
        factor = settings["draws"] / FEW
    growing = [name for name in GROWING if _is_high(settings.get(name))]
    if low == settings and not growing:
        return 0.0
    level, top = FEW, max((settings[name] for name in growing), default=FEW)
    while True:
        low |= {name: min(level, settings[name]) for name in growing}
        began = process_time()
        try:
            kind(mdp, **low).act(first)
        except Exception:  # what is wrong is said by the agent with all its settings
            return 0.0
        spent = process_time() - began
        if spent >= TRIAL_SECONDS or level >= top:
            rest = max((settings[name] / low[name] for name in growing), default=1.0)
            return float(spent * factor * rest)
        level *= 10


def _is_high(value: Any) -> bool:
    return isinstance(value, int) and value > FEW


def _words(seconds: float) -> str:
    for size, word in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} seconds"
