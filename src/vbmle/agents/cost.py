"""What decisions of an agent will cost on a model: seconds and memory, before one starts.

The unit is the floor: the transition probabilities at one theta, V* from nothing, and its gradient, the least that any
method must do once. It is timed on this machine, for this model. What agents need in floors was measured over sizes
from 100 to 100,000 states (`vbmle bench --surface`); models differ, so that the estimate is good to a factor of three
or four. Memory is counted: what solvers, planners and draws keep, beside the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vbmle.agents.base import Agent
from vbmle.agents.information_directed import InformationDirected
from vbmle.agents.informed_vbmle import InformedVBMLE
from vbmle.agents.maximum_likelihood import MaximumLikelihood
from vbmle.agents.psrl import PSRL
from vbmle.agents.vbmle import VBMLE
from vbmle.common.watch import seconds_of
from vbmle.estimation.maximiser import POOL
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import make_planner, uses_factors


class Needs(NamedTuple):
    """What an agent needs: floors, and things that it keeps."""

    first: float  # floors for the first decision, the making of the agent included
    step: float  # floors for a step, on average over the first 200
    maxima: int  # that its solvers keep, 0 without a solver
    draws: int  # that it judges by


NEEDS: dict[type[Agent], Needs] = {
    VBMLE: Needs(35.0, 7.0, POOL, 0),
    InformedVBMLE: Needs(80.0, 8.0, 5, 32),
    MaximumLikelihood: Needs(4.0, 1.5, 1, 0),
    PSRL: Needs(3.0, 0.1, 0, 0),
    InformationDirected: Needs(30.0, 18.0, 0, 12),
}
"""Measured by `vbmle bench --surface`, rounded: the middle of the cells."""

BYTES = 8
"""Of a number, and of an action in a policy."""


@dataclass(frozen=True)
class Cost:
    """What decisions of an agent are expected to cost, as `cost` returns it.

    Attributes
    ----------
    agent : str
        The agent's class.
    first : float
        Processor seconds of the first decision, the making of the agent included.
    step : float
        Processor seconds of a step, on average over the first 200.
    memory : int
        Bytes beyond the model.

    Examples
    --------
    >>> import vbmle
    >>> found = vbmle.cost(vbmle.worlds.riverswim().mdp)
    >>> found.agent, found.first > found.step, found.memory < 1e6
    ('InformedVBMLE', True, True)
    """

    agent: str
    first: float
    step: float
    memory: int

    def __str__(self) -> str:
        return (
            f"{self.agent}: about {_told(self.first)} for the first decision, {_told(self.step)} a step, "
            f"{self.memory / 1e6:.3g} MB beyond the model"
        )


def cost(mdp: LinearMixtureMDP, agent: Agent | type[Agent] | None = None) -> Cost:
    """What decisions of an agent will cost on a model: an estimate, good to a factor of three or four.

    It times one plan of the model, which may take a second where the model is very large.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    agent : Agent or class of agents, optional
        By default the recommended one. There are estimates for InformedVBMLE, VBMLE, MaximumLikelihood, PSRL and
        InformationDirected, with their default settings.

    Raises
    ------
    ValueError
        If there is no estimate for that agent.

    Examples
    --------
    >>> import vbmle
    >>> mdp = vbmle.worlds.riverswim(length=6).mdp
    >>> vbmle.cost(mdp, vbmle.VBMLE).step < 1.0
    True
    """
    kind = InformedVBMLE if agent is None else agent if isinstance(agent, type) else type(agent)
    needs = NEEDS.get(kind)
    if needs is None:
        known = ", ".join(one.__name__ for one in NEEDS)
        raise ValueError(f"agent is {kind.__name__}, for which there is no estimate; it needs one of {known}")
    floor = _floor(mdp)
    return Cost(kind.__name__, needs.first * floor, needs.step * floor, _memory(mdp, needs))


def _floor(mdp: LinearMixtureMDP) -> float:
    """Seconds of the floor on this machine."""
    mdp.core  # noqa: B018  made before the clock runs: it belongs to the model
    planner, start = make_planner(mdp), int(np.argmax(mdp.initial))
    planner.put(theta=mdp.polytope.interior)
    policy = planner.policy.copy()

    def once() -> Any:
        planner.put(policy=policy, V=0.0)
        planner.floor(start)

    return seconds_of(once)


def _memory(mdp: LinearMixtureMDP, needs: Needs) -> int:
    """Bytes that the agent keeps: p, factors and vectors of states of its solvers, planners and draws."""
    states, actions, d = mdp.num_states, mdp.num_actions, mdp.dimension
    transitions = mdp.transitions.count
    each = transitions + (states**2 if uses_factors(mdp) else 0)
    vectors = 30 * states + 3 * states * actions
    solver = 2 * each + vectors + needs.maxima * (2 * states + 3 * d) if needs.maxima else 0
    judge = each + vectors + needs.draws * 2 * (states + d) + 4 * states * (actions + 3) if needs.draws else 0
    planner = 0 if needs.maxima or needs.draws else each + vectors
    return BYTES * (solver + judge + planner)


def _told(seconds: float) -> str:
    """So many seconds, to two digits, in a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 1e-6:.2g} µs"
