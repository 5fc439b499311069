"""The Bayes-optimal controller of finitely many candidates: the physical limit of learning, with a certificate.

What is optimised is the expected discounted sum of rewards, over the prior and over what happens
(`vbmle.planning.hidden_model` has the equations): each step is worth what it earns and what it teaches, and nothing is
explored for its own sake. That is not the regret that `simulate` measures. Regret charges a step V* - V^pi of the
stationary policy pi in force, as if that policy were played for ever; the sum of rewards charges what the step itself
costs. An agent that tries something costly once, because it teaches, pays that once here, and the price of doing it for
ever in the regret of that step.

The agent carries out the policy behind the lower bound: at the belief of now, the best of its vectors says what to do.
What it earns on average lies between `lower` and `upper`, whose gap says how far from optimal it can be. After data
that its own policy would not have produced, that bound does not count, and it does at least as well as the best of the
candidates' own policies.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.base import a_policy
from vbmle.agents.decision import Decision
from vbmle.agents.model_agent import ModelAgent
from vbmle.agents.triggers import EveryObservation
from vbmle.common import keeper
from vbmle.common.files import Snapshot
from vbmle.common.keeper import Saved
from vbmle.common.stated import ABOVE_0, AT_LEAST_1, Check, up_to
from vbmle.common.validation import Floats, Ints, positive
from vbmle.core.bayes import Vectors
from vbmle.estimation.candidates import Candidates
from vbmle.model.priors import weights
from vbmle.planning.hidden_model import (
    BayesSolution,
    Effort,
    HiddenModel,
    require_candidates,
)

MOST_NODES = 10_000_000

NOTHING = Vectors(np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0, np.int64))
"""What is known before the search."""


def _steps(name: str, value: int | None) -> int | None:
    return None if value is None else AT_LEAST_1.check(name, value)


def _time(name: str, value: float | None) -> float | None:
    return None if value is None else positive(name, value)


class BayesOptimal(ModelAgent):
    """Earns the most that any controller can, on average over the prior, where theta is one of the candidates.

    Examples
    --------
    >>> import vbmle
    >>> agent = vbmle.BayesOptimal(vbmle.worlds.two_suspects(chance=0.75).mdp)
    >>> agent.act(0), bool(agent.lower <= agent.upper)
    (1, True)
    """

    label = "Bayes-optimal"
    needs_candidates = True
    saved: ClassVar[Saved] = {"_policy": a_policy}

    prior: Annotated[
        ArrayLike | None, "The probability of each candidate; by default that of the model, else uniform."
    ] = None
    gap: Annotated[
        float,
        ABOVE_0,
        "How far apart the bounds may be, relative to the value (or to the range of one reward, where that is larger).",
    ] = 0.01
    horizon: Annotated[
        int | None, Check("", _steps), "After how many steps nothing more is earned; for ever by default."
    ] = None
    nodes: Annotated[
        int,
        up_to(MOST_NODES),
        "Pairs of a state and a belief that are looked at, at most: a bound on time and memory.",
    ] = 200_000
    seconds: Annotated[
        float | None,
        Check("", _time),
        "After how long the search ends, whatever it has reached; by default no clock has a say.",
    ] = None

    def _start(self) -> None:
        require_candidates(type(self).__name__, self.mdp)
        self._weights = weights(self.mdp, self.prior)
        if self.prior is not None:
            vars(self)["prior"] = self.settings["prior"] = self._weights.copy()
        self._trigger = EveryObservation()
        self._policy: Ints = self.mdp.allowed.argmax(axis=1)  # the first allowed action
        if (
            getattr(self, "_found_on", None) is not self.mdp
        ):  # what is known does not change when counts begin anew
            self._found_on, self._found = self.mdp, Found(self)
        self._candidates = Candidates(self.mdp)

    @property
    def policy(self) -> Ints:
        return self._policy

    @property
    def bounds(self) -> tuple[float, float]:
        """What is earned on average from the first state on: the policy earns the first, and none more than the second.

        In the units of your reward, under the prior, before anything is observed.
        """
        low, high = self._found.bounds.tolist()
        return low, high

    @property
    def lower(self) -> float:
        """What the policy earns at least, in the units of your reward."""
        return self.bounds[0]

    @property
    def upper(self) -> float:
        """What no controller exceeds, in the units of your reward."""
        return self.bounds[1]

    def _decide(self, state: int) -> None:
        found = self._found
        evidence = self._candidates.log_likelihoods(self.counts.values) + found.log_prior
        weight = np.exp(evidence - evidence.max())
        belief = np.bincount(found.group, weights=weight, minlength=found.groups + 1)[:-1]
        scores = found.vectors.values @ belief
        stage = min(self.counts.total, found.stages - 1)
        first = stage * self.mdp.num_states
        for s in range(self.mdp.num_states):
            start, stop = found.begin[first + s], found.begin[first + s + 1]
            self._policy[s] = found.vectors.action[start + int(scores[start:stop].argmax())]

    def _outcome(self) -> Decision:
        low, high = self.bounds
        wanted = self.gap * max(abs(low), abs(high), self.mdp.reward_scale)
        fine = high - low <= wanted * (1.0 + 1e-9)
        status = "converged" if fine else f"the bounds are {high - low:.4g} apart, not {wanted:.4g}"
        return Decision(
            "the Bayes-optimal policy, between bounds", status, fine, objective=low, gap=high - low
        )


class Found:
    """What the search has found: the bounds, and the vectors of the policy. It searches when it is first asked."""

    def __init__(self, agent: BayesOptimal) -> None:
        self._agent = agent
        self.model = HiddenModel(agent.mdp, agent._weights, agent.horizon)
        self.groups, self.stages = len(self.model.candidates), self.model.stages
        self.group = np.where(self.model.group < 0, self.groups, self.model.group)
        self._bounds: Floats | None = None
        self._vectors = NOTHING
        with np.errstate(divide="ignore"):
            self.log_prior: Floats = np.log(agent._weights)

    @property
    def bounds(self) -> Floats:
        """Lower and upper, in the units of the reward."""
        if self._bounds is None:
            agent = self._agent
            solution = BayesSolution(self.model, Effort(agent.gap, agent.nodes, agent.seconds))
            bounds = np.array(solution.bounds())
            self._take(bounds, solution.vectors())
        return self._bounds  # type: ignore[return-value]

    @property
    def vectors(self) -> Vectors:
        """In the order of their places."""
        _ = self.bounds
        return self._vectors

    def _take(self, bounds: Floats, vectors: Vectors) -> None:
        order = np.argsort(vectors.place, kind="stable")
        self._vectors = Vectors(vectors.values[order], vectors.place[order], vectors.action[order])
        places = self.model.stages * self._agent.mdp.num_states
        self.begin: list[int] = np.searchsorted(self._vectors.place, np.arange(places + 1)).tolist()
        self._bounds = bounds

    def snapshot(self) -> Snapshot:
        """Bounds and vectors; empty before the search."""
        bounds = np.zeros(0) if self._bounds is None else self._bounds
        return {"bounds": bounds, **self._vectors._asdict()}

    def restore(self, snapshot: Snapshot) -> None:
        """Go on with what was found, without a search."""
        fresh = {"bounds": np.zeros(0), **NOTHING._asdict()}
        for name, array in fresh.items():
            if name not in snapshot:
                raise ValueError(f"{name} is missing")
            given = snapshot[name]
            if given.dtype != array.dtype or given.ndim != array.ndim:
                raise ValueError(
                    f"{name} is {given.dtype} with {given.ndim} axes; it needs {array.dtype}, {array.ndim}"
                )
        if others := set(snapshot) - set(fresh):
            raise ValueError(f"there is no {min(others)[:40]}")
        if len(snapshot["bounds"]) == 0 and len(snapshot["place"]) == 0 and snapshot["values"].size == 0:
            return
        vectors = Vectors(*(snapshot[name] for name in Vectors._fields))
        self._check(snapshot["bounds"], vectors)
        self._take(snapshot["bounds"].copy(), vectors)

    def _check(self, bounds: Floats, vectors: Vectors) -> None:
        """Refuse what no search has found."""
        mdp, model = self._agent.mdp, self.model
        count, places = len(vectors.place), model.stages * mdp.num_states
        shapes = bounds.shape, vectors.values.shape, vectors.action.shape
        if shapes != ((2,), (count, len(model.candidates)), (count,)):
            raise ValueError(f"bounds, values and actions have shapes {shapes}; they do not belong together")
        keeper.require_finite("bounds", bounds)
        worst = 2.0 * model.largest()
        keeper.require_within("values", vectors.values, -worst, worst)
        keeper.require_within("place", vectors.place, 0, places - 1)
        keeper.require_within("action", vectors.action, 0, mdp.num_actions - 1)
        if len(np.unique(vectors.place)) != places:
            raise ValueError("place does not name every place; each needs a vector")
        if not mdp.allowed[vectors.place % mdp.num_states, vectors.action].all():
            raise ValueError("action names one that is not allowed")
