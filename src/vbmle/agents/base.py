"""An agent is two methods and a policy: act(state) -> action, observe(state, action, next_state), policy.

Its settings are its annotated fields (`vbmle.common.stated`). It saves its parts (counts, trigger, solver, sampler,
...), each of which says what it saves, and the attributes that the class names in `saved`; the file is that of
`vbmle.agents.agent_file`. `ModelAgent`, for agents that learn a model from counts, is in `vbmle.agents.model_agent`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import keeper
from vbmle.common.keeper import Keeper, Part, same
from vbmle.common.stated import REQUIRED, Stated, settings_of
from vbmle.common.validation import Among, Floats, Ints, index, one_of
from vbmle.estimation.counts import ForgettingCounts, TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import require_policy

if TYPE_CHECKING:
    from vbmle.agents.belief import Belief
    from vbmle.agents.decision import Decision
    from vbmle.estimation.confidence import Confidence
    from vbmle.estimation.misfit import Misfit

MODEL_CHANGED = ("refuse", "recount")


def a_policy(agent: Any, name: str, array: Ints) -> None:
    """A saved policy takes allowed actions."""
    require_policy(agent.mdp, array)


def a_theta(agent: Any, name: str, array: Floats) -> None:
    """A saved theta is feasible."""
    agent.mdp.require_feasible(array, 1e-6)


def a_state_or_none(agent: Any, name: str, array: Ints) -> None:
    """A state, or -1."""
    keeper.require_within(name, array, -1, agent.mdp.num_states - 1)


def _is_part(value: Any) -> bool:
    """Whether it has what a Part has; isinstance would take ten times as long, and a service asks at every save."""
    kind = type(value)
    return hasattr(kind, "snapshot") and hasattr(kind, "restore")


Role = Literal["explorer", "greedy", "random", "oracle"]
"""What a comparison takes an agent for: one that explores in order to learn, one that learns and does not explore, one
that ignores what it sees, one that knows the truth. The last two are there to be measured by, not to win."""


class Knob(NamedTuple):
    """The setting of an agent that comparisons tune, and the values tried."""

    setting: str
    grid: tuple[float | str, ...]


class Agent(Stated, Keeper, ABC):
    """The base class of all agents. A subclass needs `observe` and `policy`, and `act` if it decides when asked.

    Its settings are annotated fields, or the keyword arguments that it hands to `super().__init__`: `load` makes it
    with them. Every attribute that is a `Part` is saved with the agent, and so are the attributes named in `saved`.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        What is known.
    **settings
        What the agent is made with beside the model, where its class has an `__init__` of its own.

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

    given: ClassVar[dict[str, tuple[str, str]]] = {
        "mdp": ("LinearMixtureMDP", "What is known. The agent never sees the hidden theta.")
    }

    mdp: LinearMixtureMDP

    made_of_fields = True  # its subclasses are; its own `__init__` is for those that write one

    randomised: ClassVar[bool] = False
    """Whether actions may differ from `policy`."""

    needs_truth: ClassVar[bool] = False
    """Whether the setting `theta` is the hidden truth of the world, filled in by the code that runs it there."""

    needs_candidates: ClassVar[bool] = False
    """Whether theta has to be one of finitely many (`domain="vertices"`)."""

    role: ClassVar[Role] = "explorer"
    """How comparisons take it: see `Role`."""

    learns_from_counts: ClassVar[bool] = False
    """Whether counts are all that observations leave behind, so that they can be recounted on another model."""

    label: ClassVar[str] = ""
    """What it is called in comparisons; the name of the class where this is empty."""

    tuning: ClassVar[Knob | None] = None
    """What is tuned in comparisons."""

    decisions = 0
    """How often it has solved something in order to decide."""

    def __init__(self, mdp: LinearMixtureMDP, **settings: Any) -> None:
        _require_model(type(self).__name__, mdp)
        self.mdp = mdp
        self.settings = settings

    def __post_init__(self) -> None:
        """Check the settings, and start: what the `__init__` that is made of the fields ends with."""
        _require_model(type(self).__name__, self.mdp)
        self.settings = {}
        for setting in settings_of(type(self)):
            value = setting.checked(getattr(self, setting.name))
            self.settings[setting.name] = value
            vars(self)[setting.name] = value
        self._set_up()

    def _set_up(self) -> None:
        """Make ready to act, with nothing learnt."""
        self._start()

    def _start(self) -> None:
        """Make what is kept between decisions, from the model and the settings: a subclass says what that is."""

    @property
    def _given(self) -> LinearMixtureMDP:
        """The model that the agent was made with; the one at work is `mdp`."""
        return self.mdp

    @property
    def _wide(self) -> list[int]:
        """The pairs that were widened on the way from one to the other."""
        return []

    def _widen(self, pairs: list[int]) -> None:
        """Go on with those pairs widened."""
        raise ValueError(f"{type(self).__name__} does not widen, and pairs are {pairs[:3]}; it needs none")

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

        prior: (d,) probabilities of the candidates, where theta is one of them (domain "vertices"); by default the
        model's own, else uniform.
        """
        from vbmle.agents.belief import belief

        return belief(self._require_counts("a belief"), prior)

    def _all_counts(self, needed_for: str) -> TransitionCounts:
        counts = self._require_counts(needed_for)
        if isinstance(counts, ForgettingCounts):
            raise ValueError(
                f"{type(self).__name__} forgets (forget=...); {needed_for} needs all observations"
            )
        return counts

    def _require_counts(self, needed_for: str) -> TransitionCounts:
        counts: TransitionCounts | None = getattr(self, "counts", None)
        if counts is None:
            raise ValueError(f"{type(self).__name__} keeps no transition counts; {needed_for} needs them")
        return counts

    def _parts(self) -> dict[str, Part]:
        """Every attribute that is one; the trigger last, for what it kept is checked against the others."""
        found = {name.lstrip("_"): value for name, value in vars(self).items() if _is_part(value)}
        return dict(sorted(found.items(), key=lambda part: part[0] == "trigger"))

    def __copy__(self) -> Self:
        """Another that shares nothing with this one: an agent is a value."""
        return deepcopy(self)

    def __eq__(self, other: object) -> bool:
        """Of one class, with equal settings, on equal models, and they have learnt the same."""
        if not isinstance(other, Agent) or type(self) is not type(other):
            return NotImplemented
        mine, theirs = ([one.mdp, one.settings, one.snapshot()] for one in (self, other))
        return same(mine, theirs)

    def __repr__(self) -> str:
        defaults = {setting.name: setting.default for setting in settings_of(type(self))}
        told = [f"{k}={v!r}" for k, v in self.settings.items() if not same(v, defaults.get(k, REQUIRED))]
        total = getattr(getattr(self, "counts", None), "total", None)
        seen = "" if total is None else f" after {total} observations"
        return f"<{type(self).__name__}({', '.join([repr(self.mdp), *told])}){seen}>"

    def _repr_html_(self) -> str:
        from vbmle.common import showing

        names, defaults = self.mdp.names, {one.name: one.default for one in settings_of(type(self))}
        changed = [f"{k}={v!r}" for k, v in self.settings.items() if not same(v, defaults.get(k, REQUIRED))]
        total = getattr(getattr(self, "counts", None), "total", None)
        last = getattr(self, "last", None)
        rows = [
            (
                "model",
                f"{self.mdp.num_states} states, {self.mdp.num_actions} actions, d = {self.mdp.dimension}",
            ),
            ("settings", showing.some(changed) if changed else "defaults"),
            *([("observations", str(total))] if total is not None else []),
            *([("last decision", f"{last.solved}: {last.status}")] if last is not None else []),
            ("policy", showing.choices(names.states, names.actions, self.policy)),
        ]
        return showing.as_html(type(self).__name__, rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent as .npz (no pickle): after `load`, act and observe go on exactly as before."""
        from vbmle.agents import agent_file

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
        "recount": what was counted carries over, for agents that learn from counts (`vbmle.estimation.evidence`).
        """
        one_of("model_changed", model_changed, MODEL_CHANGED)
        if isinstance(path, LinearMixtureMDP):
            raise ValueError(f"the arguments of load are swapped; it needs {cls.__name__}.load(path, mdp)")
        _require_model(f"{cls.__name__}.load", mdp)
        from vbmle.agents import agent_file

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
    from vbmle.model.world import World

    what = "a World; its model is world.mdp" if isinstance(mdp, World) else f"of type {type(mdp).__name__}"
    raise ValueError(f"{name} needs a LinearMixtureMDP, and mdp is {what}")


def require_convex(name: str, mdp: LinearMixtureMDP) -> None:
    """Refuse a model whose theta is one of finitely many, for agents that need a convex set."""
    if mdp.domain == "vertices":
        raise ValueError(
            f"{name} needs a convex set of thetas, and domain='vertices' has single candidates; "
            "VBMLE, MaximumLikelihood and PSRL choose among them, or take domain='simplex'"
        )
