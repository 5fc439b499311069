"""An agent is two methods and a policy: act(state) -> action, observe(state, action, next_state), policy.

`Agent` adds saving and exact continuation: it saves its parts (counts, trigger, solver, sampler, ...), each of which
says what it saves, and the attributes that the class names in `saved`. The file is that of `vbmle.agents.agent_file`.
`ModelAgent`, for agents that learn a model from transition counts, is in `vbmle.agents.model_agent`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents import agent_file
from vbmle.agents.decision import Decision
from vbmle.agents.recount import MODEL_CHANGED
from vbmle.agents.tuning import Knob, Role
from vbmle.common import saved_checks
from vbmle.common.files import Snapshot
from vbmle.common.validation import Among, Ints, index, one_of
from vbmle.estimation.counts import ImpossibleTransition, TransitionCounts
from vbmle.estimation.forgetting import ForgettingCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning.planner import require_policy

if TYPE_CHECKING:
    from vbmle.agents.belief import Belief
    from vbmle.estimation.confidence import Confidence
    from vbmle.estimation.misfit import Misfit

RAISE_OR_SKIP = ("raise", "skip")
RaiseOrSkip = Annotated[str, Among(RAISE_OR_SKIP)]
"""Of agents that do not estimate theta by likelihood: widening changes the likelihood, which they do not use."""


class Part(Protocol):
    """What an agent is made of: anything that says what it saves, and goes on from there."""

    def snapshot(self) -> Snapshot:
        """What was learnt, as arrays by name."""

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""


def _is_part(value: Any) -> bool:
    """Whether it has what a Part has; isinstance would take ten times as long, and a service asks at every save."""
    kind = type(value)
    return hasattr(kind, "snapshot") and hasattr(kind, "restore")


class Agent(ABC):
    """The base class of all agents. A subclass needs `observe` and `policy`, and `act` if it decides when asked.

    Every attribute that is a `Part` is saved with the agent, and so are the attributes named in `saved`.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known.
    **settings
        The keyword arguments that rebuild the agent; `load` calls the class with them.

    Raises
    ------
    ValueError
        If mdp is not a LinearMixtureMDP.

    Examples
    --------
    >>> import numpy, vbmle
    >>> class AlwaysRight(vbmle.Agent):
    ...     policy = property(lambda self: numpy.ones(self.mdp.num_states, int))
    ...     def observe(self, state, action, next_state):
    ...         pass
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.simulate(AlwaysRight(world.mdp), world, horizon=20).regret.round(6)[-1].item()
    0.0
    """

    randomised: ClassVar[bool] = False
    """Whether actions may differ from `policy`."""

    needs_truth: ClassVar[bool] = False
    """Whether the setting `theta` is the hidden truth of the world, filled in by the code that runs it there."""

    role: ClassVar[Role] = "explorer"
    """How comparisons take it: see `Role`."""

    saved: ClassVar[tuple[str, ...]] = ()
    """Attributes, arrays or numbers, that are saved beside the parts; those of base classes come on top."""

    learns_from_counts: ClassVar[bool] = False
    """Whether counts are all that observations leave behind, so that they can be recounted on another model."""

    label: ClassVar[str] = ""
    """What it is called in comparisons; the name of the class where this is empty."""

    tuning: ClassVar[Knob | None] = None
    """What is tuned in comparisons."""

    renamed: ClassVar[dict[str, str]] = {}
    """Settings that were renamed: the old name, and the current one."""

    decisions = 0
    """How often it has solved something in order to decide."""

    counts: TransitionCounts

    def __init__(self, mdp: LinearMixtureMDP, **settings: Any) -> None:
        _require_model(type(self).__name__, mdp)
        self.mdp = self._given = mdp  # the model at work, and the one that was given
        self.settings = settings
        self._wide: list[int] = []  # the pairs that were widened on the way from one to the other

    def act(self, state: Any) -> Any:
        """The action to take in `state`, that of the policy in force; asking twice gives the same answer.

        If the state is given by name, so is the action, where actions have names.
        """
        if isinstance(state, str):
            return self._act_by_name(state)
        return int(self.policy[index("state", state, self.mdp.num_states)])

    def _require_transition(self, state: Any, action: Any, next_state: Any) -> None:
        """Refuse what is out of range: for agents that keep no counts, which would."""
        state, action, next_state = self._numbers(state, action, next_state)
        index("state", state, self.mdp.num_states)
        index("action", action, self.mdp.num_actions)
        index("next_state", next_state, self.mdp.num_states)

    def _act_by_name(self, state: str) -> int | str:
        action: int = self.act(self.mdp.state_number(state))
        return self.mdp.names.action(action) if self.mdp.names.actions else action

    def _numbers(self, state: Any, action: Any, next_state: Any) -> tuple[int, int, int]:
        """A transition by numbers, of which any may be given by name."""
        if isinstance(state, str) or isinstance(action, str) or isinstance(next_state, str):
            known = self.mdp
            return (
                known.state_number(state),
                known.action_number(action),
                known.state_number(next_state, "next_state"),
            )
        return state, action, next_state

    @abstractmethod
    def observe(self, state: int, action: int, next_state: int, *more: Any, **named: Any) -> None:
        """Learn from one transition. Rewards are known, so nothing else may be given."""

    def observe_many(self, states: ArrayLike, actions: ArrayLike, next_states: ArrayLike) -> Ints | None:
        """Learn from logged transitions, in their order: the same as observing them one by one."""
        columns = (np.asarray(column).tolist() for column in (states, actions, next_states))
        for state, action, next_state in zip(*columns, strict=True):
            self.observe(state, action, next_state)
        return None

    @property
    @abstractmethod
    def policy(self) -> Ints:
        """The stationary policy in force, (S,) ints."""

    @property
    def last(self) -> Decision | None:
        """What the last decision solved, and how that ended; None before the first, or where nothing is solved."""
        return self._outcome() if self.decisions else None

    def _outcome(self) -> Decision | None:
        """`last`, once there was a decision: made when it is asked for, so that steps do not pay for it."""
        return None

    def confidence(self, delta: float = 0.1, state: int | None = None) -> Confidence:
        """What the data prove about V* and about the policy in force, at confidence 1 - delta at all times at once.

        Needs the counts alone (see `vbmle.estimation.likelihood_set`), and changes nothing. With a `state`, it is
        about the states that can be reached from there. Values are in the units of your reward. Where no theta is
        left (`empty`), the bounds are those of the rewards alone.
        """
        from vbmle.estimation.confidence import confidence

        return confidence(self._all_counts("a confidence set"), self.policy, delta, state)

    def misfit(self, delta: float = 0.05) -> Misfit:
        """Whether any feasible theta fits what was observed, and where it does not.

        Look as often as you like: if some theta fits, the probability that there is ever a false alarm is at most delta
        (see `vbmle.estimation.misfit`). Needs the counts alone, and changes nothing.
        """
        from vbmle.estimation.misfit import misfit

        return misfit(self._all_counts("a test of the model"), delta)

    def belief(self, prior: ArrayLike | None = None) -> Belief:
        """What the observations say about theta: each candidate's posterior, or mean and 90% interval of each weight.

        prior: (d,) probabilities of the candidates, where theta is one of them (domain "vertices"); uniform by default.
        """
        from vbmle.agents.belief import belief

        return belief(self._require_counts("a belief"), prior)

    def _all_counts(self, needed_for: str) -> TransitionCounts:
        if isinstance(self._require_counts(needed_for), ForgettingCounts):
            raise ValueError(
                f"{type(self).__name__} forgets (forget=...); {needed_for} needs all observations"
            )
        return self.counts

    def _counted(self, state: int, action: int, next_state: int) -> int | None:
        """Count a transition and return its index; None for one that no feasible theta allows, where it is skipped."""
        try:
            return self.counts.add(state, action, next_state)
        except ImpossibleTransition:
            if self.settings.get("on_impossible", "raise") == "raise":
                raise
            self.counts.skip(state, action, next_state)
            return None

    def _require_counts(self, needed_for: str) -> TransitionCounts:
        if not hasattr(self, "counts"):
            raise ValueError(f"{type(self).__name__} keeps no transition counts; {needed_for} needs them")
        return self.counts

    def _parts(self) -> dict[str, Part]:
        """The parts by name."""
        return {name.lstrip("_"): value for name, value in vars(self).items() if _is_part(value)}

    def _saved(self) -> list[str]:
        """The attributes that are saved beside the parts."""
        return [name for kind in reversed(type(self).__mro__) for name in vars(kind).get("saved", ())]

    def snapshot(self) -> Snapshot:
        """What was learnt, as arrays by name."""
        found = {name.lstrip("_"): np.array(getattr(self, name)) for name in self._saved()}
        for name, part in self._parts().items():
            found |= {f"{name}.{key}": np.array(value) for key, value in part.snapshot().items()}
        return found

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of an agent with the same settings; ValueError names the field that does not fit."""
        own = {name.lstrip("_") for name in self._saved()}
        parts = self._parts()
        for key in snapshot:
            if key not in own and key.split(".")[0] not in parts:
                raise ValueError(f"{type(self).__name__} has no {key[:40]!r}")
        fresh = {name: array for name, array in self.snapshot().items() if name in own}
        saved_checks.require_like("", {name: snapshot[name] for name in own if name in snapshot}, fresh)
        self._check(snapshot)
        for name in self._saved():
            value, kept = getattr(self, name), snapshot[name.lstrip("_")]
            if isinstance(value, np.ndarray):
                value[...] = kept  # in place: it may be a view of the core's memory
            else:
                setattr(self, name, type(value)(kept))
        for name, part in self._in_order(parts):
            start = f"{name}."
            try:
                part.restore(
                    {key.removeprefix(start): snapshot[key] for key in snapshot if key.startswith(start)}
                )
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error

    @staticmethod
    def _in_order(parts: dict[str, Part]) -> list[tuple[str, Part]]:
        """The trigger last: what it kept is checked against the other parts."""
        return sorted(parts.items(), key=lambda part: part[0] == "trigger")

    def _check(self, snapshot: Snapshot) -> None:
        """Refuse saved attributes that are out of range; their kinds and shapes are right."""
        for name in self._saved():
            key = name.lstrip("_")
            if key == "policy":
                require_policy(self.mdp, snapshot[key])
            elif key == "V":
                worst = 2.0 / (1.0 - self.mdp.discount)
                saved_checks.require_within(key, snapshot[key], -worst, worst)
            elif key == "decided":
                saved_checks.require_within(key, snapshot[key], -1, self.mdp.num_states - 1)
            elif key == "theta":
                self.mdp.require_feasible(snapshot[key], 1e-6)
            elif key in ("decisions", "empty_sets", "steps"):
                saved_checks.require_within(key, snapshot[key], 0, 2**62)
            elif key in ("error_bound", "alpha"):
                saved_checks.require_within(key, snapshot[key], 0.0, np.inf)

    def _learnt(self) -> Snapshot:
        """All that is written to a file: the snapshot, and what a subclass needs for a model that has changed."""
        return self.snapshot()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent as .npz (no pickle): after `load`, act and observe go on exactly as before."""
        agent_file.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        mdp: LinearMixtureMDP,
        model_changed: Annotated[str, Among(MODEL_CHANGED)] = "refuse",
        **functions: Any,
    ) -> Self:
        """Rebuild a saved agent on the same model; settings that are functions have to be passed again by name.

        model_changed: what to do if the model has changed, say its reward was corrected. "refuse" it, or
        "recount": what was counted carries over, for agents that learn from counts (`vbmle.agents.recount`).
        """
        one_of("model_changed", model_changed, MODEL_CHANGED)
        if isinstance(path, LinearMixtureMDP):
            raise ValueError(f"the arguments of load are swapped; it needs {cls.__name__}.load(path, mdp)")
        _require_model(f"{cls.__name__}.load", mdp)
        return agent_file.load(cls, path, mdp, model_changed == "recount", functions)


def refuse_more(agent: object, *given: Any, **named: Any) -> None:
    """Refuse what `observe` has no use for, most likely a reward, in one line."""
    shown = ", ".join([*map(repr, given), *(f"{name}={value!r}" for name, value in named.items())])
    raise ValueError(
        f"observe({shown}) gives {type(agent).__name__} {len(given) + len(named)} values; it needs "
        "(state, action, next_state) and no reward, which the model knows"
    )


def _require_model(name: str, mdp: object) -> None:
    """Refuse what is not a model, in one line that says what it is."""
    if isinstance(mdp, LinearMixtureMDP):
        return
    what = "a World; its model is world.mdp" if isinstance(mdp, World) else f"of type {type(mdp).__name__}"
    raise ValueError(f"{name} needs a LinearMixtureMDP, and mdp is {what}")


def require_convex(name: str, mdp: LinearMixtureMDP) -> None:
    """Refuse a model whose theta is one of finitely many, for agents that need a convex set."""
    if mdp.domain == "vertices":
        raise ValueError(
            f"{name} needs a convex set of thetas, and domain='vertices' has single candidates; "
            "VBMLE, MaximumLikelihood and PSRL choose among them, or take domain='simplex'"
        )


def require_every_action(name: str, mdp: LinearMixtureMDP) -> None:
    """Refuse a model with actions that are not allowed, for agents that try them all."""
    if not mdp.allowed.all():
        raise ValueError(
            f"{name} needs every action in every state, and allowed= leaves some out; VBMLE respects it"
        )


def rule_for_impossible(rule: str) -> dict[str, str]:
    """The setting `on_impossible` of an agent that can refuse or skip; none where it is the default."""
    one_of("on_impossible", rule, RAISE_OR_SKIP)
    return {} if rule == "raise" else {"on_impossible": rule}
