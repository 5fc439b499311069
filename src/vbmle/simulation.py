"""An agent in a world, and what it lost against the best policy.

    R(T) = sum_{t <= T} [ V*(s_t; theta*) - V^{pi_t}(s_t; theta*) ],

where pi_t is the stationary policy in force at t. Both values are exact, so this is pseudo-regret: no
sampling noise but that of the path. Where the truth changes (`vbmle.DriftingWorld`), theta*_t of step t takes the
place of theta*: regret is against the moving optimum, the policy that would be best if nothing changed from then on.

Chance enters through one uniform number per step, drawn from the seed alone: agents that run with the
same seed in the same world are paired, and a longer run begins like a shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from vbmle.common import validation
from vbmle.common.keeper import Value
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning import planner

REPORT_EVERY = 50
"""Steps between two calls of `progress`."""

INT64 = np.dtype(np.int64)

RECORDABLE = ("thetas", "distance", "trouble")
"""What `simulate` keeps only when it is asked to."""

CACHED_VALUES = 2_000_000
"""Numbers kept of the policies met before: up to 4096 policies, fewer in large worlds."""


class Moment(NamedTuple):
    """Where a run stands between two steps: what it takes, beside the agent, to go on with it."""

    step: int
    """How many steps have been taken."""
    state: int
    regret: float
    """Cumulative."""


class Player(Protocol):
    """What `simulate` asks of an agent: two methods and the policy in force."""

    @property
    def policy(self) -> Ints: ...

    def act(self, state: int, /) -> int: ...

    def observe(self, state: int, action: int, next_state: int, /) -> None: ...


@dataclass(frozen=True, eq=False)
class History(Value):
    """What happened, step by step, as `simulate` returns it; arrays of length T.

    Attributes
    ----------
    states : (T,) integer array
        The state at each step.
    actions : (T,) integer array
        The action taken there.
    next_states : (T,) integer array
        The state that followed.
    regret : (T,) array
        Cumulative exact pseudo-regret, in the units of your reward.
    seconds : (T,) array
        Wall time of the agent's `act` and `observe` in each step.
    thetas : (T, d) array, or None
        The agent's theta in each step, if recorded.
    distance : (T,) array, or None
        |theta_t - theta*|^2, if recorded; NaN for an agent that has no theta. For an agent with one theta for each
        (s, a), in an attribute `thetas` of shape (S, A, d), the smallest of them.
    distance_mean : (T,) array, or None
        For an agent with one theta for each (s, a), the mean of their distances, if recorded.
    trouble : (T,) array, or None
        1 in steps whose decision was in trouble (see `vbmle.agents.decision`), else 0, if recorded.
    world : World, or None
        Where it happened, for `vbmle.theory.trace`.
    begun : int
        How many steps came before: 0, unless this goes on from another history.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> history = vbmle.simulate(vbmle.Oracle(world.mdp, world.theta), world, horizon=20, record=["distance"])
    >>> history.states[0].item(), history.regret.round(6)[-1].item(), history.distance.max().item()
    (0, 0.0, 0.0)
    """

    states: Ints
    actions: Ints
    next_states: Ints
    regret: Floats
    seconds: Floats
    thetas: Floats | None = None
    distance: Floats | None = None
    distance_mean: Floats | None = None
    trouble: Floats | None = None
    world: World | None = None
    begun: int = 0

    @property
    def end(self) -> Moment:
        """Where the run stands after its last step, for `simulate(..., after=...)`."""
        return Moment(self.begun + len(self.states), int(self.next_states[-1]), float(self.regret[-1]))


def simulate(
    agent: Player,
    world: World,
    horizon: int,
    seed: int = 0,
    record: Collection[str] = (),
    progress: Callable[[int], Any] | None = None,
    after: Moment | None = None,
) -> History:
    """Let the agent act in the world for `horizon` steps and return what happened.

    Parameters
    ----------
    agent : Agent
        Anything with `act`, `observe` and `policy`.
    world : World
        The model and its hidden truth.
    horizon : int
        The number of steps, at least 1.
    seed : int, default 0
        The luck of the world: agents with the same seed meet the same luck.
    record : collection of {"thetas", "distance", "trouble"}, default ()
        What else is kept of each step.
    progress : function, optional
        Called with the number of finished steps, every 50 steps and at the end.
    after : Moment, optional
        The `end` of a history that this one continues, with the agent as it was then, the same world and the same seed.
        What is returned are the steps from there to `horizon`, as if the run had never stopped.

    Raises
    ------
    ValueError
        If an argument is out of range, or the agent returns something other than an action.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, horizon=20)
    >>> history.regret.shape
    (20,)
    """
    _require_kinds(agent, world)
    horizon = validation.positive_integer("horizon", horizon)
    begun = after.step if after else 0
    if begun >= horizon:
        raise ValueError(f"horizon is {horizon}; it needs more than the {begun} steps that have been taken")
    here = world.at(begun)
    keep = _recorders(agent, lambda: here.theta, record)
    uniforms = _uniforms(seed, horizon + 1)
    loss = _loss(here)
    losses_in = {id(here): loss}
    states, actions, next_states = np.empty((3, horizon - begun), dtype=np.int64)
    losses, seconds = np.empty(horizon - begun), np.empty(horizon - begun)
    kept: dict[str, list[Any]] = {name: [] for name in keep}
    state = after.state if after else world.first_state(uniforms[0])
    masked = not world.mdp.allowed.all()
    for t in range(begun, horizon):
        now = world.at(t)
        if here is not now:
            here = now
            loss = losses_in[id(here)] = losses_in.get(id(here)) or _loss(here)
        start = perf_counter()
        action = agent.act(state)
        acted = perf_counter()
        action = _require_action(agent, action, t, world.mdp.num_actions)
        if masked and not world.mdp.allowed[state, action]:
            where = world.mdp.names.pair(state, action)
            raise ValueError(
                f"{type(agent).__name__} takes an action that is not allowed, {where}, in step {t + 1}"
            )
        at = t - begun
        losses[at] = loss(_key(agent))[state]
        next_state = here.next_state(state, action, uniforms[t + 1])
        for name, value in keep.items():
            kept[name].append(value())
        resumed = perf_counter()
        agent.observe(state, action, next_state)
        seconds[at] = perf_counter() - resumed + acted - start
        states[at], actions[at], next_states[at] = state, action, next_state
        state = next_state
        if progress and ((t + 1) % REPORT_EVERY == 0 or t + 1 == horizon):
            progress(t + 1)
    extra = {name: np.array(values, dtype=np.float64) for name, values in kept.items()}
    # summed in the order of the steps, wherever the run was interrupted
    regret = np.cumsum([after.regret, *losses])[1:] if after else np.cumsum(losses)
    return History(states, actions, next_states, regret, seconds, **extra, world=world, begun=begun)


def _require_kinds(agent: Any, world: Any) -> None:
    """Refuse the commonest mix-ups, in one line each."""
    if isinstance(agent, World):
        raise ValueError("agent is a World; it needs simulate(agent, world, horizon), in that order")
    if isinstance(agent, type):
        raise ValueError(f"agent is the class {agent.__name__}; make one first: {agent.__name__}(world.mdp)")
    if not isinstance(world, World):
        fix = "vbmle.World(mdp, theta)" if isinstance(world, LinearMixtureMDP) else "a vbmle.World"
        raise ValueError(
            f"world is of type {type(world).__name__}; simulate needs the hidden truth too: {fix}"
        )


def rewards(mdp: LinearMixtureMDP) -> Floats:
    """The reward of every possible transition (as ordered in `mdp.transitions`), in the user's units."""
    by_transition = len(mdp.transition_reward) > 0
    values = mdp.transition_reward if by_transition else mdp.pair_reward[mdp.transitions.pair_of]
    return values * mdp.reward_scale + mdp.reward_offset


def earned(world: World, history: History) -> Floats:
    """What was earned in each step of a history, in the user's units: r(s_t, a_t, s_{t+1}).

    Compare two agents that ran with the same seed by this to see money: it counts the reward of each step, whereas
    regret counts discounted futures.

    Parameters
    ----------
    world : World
        Where it happened.
    history : History
        From `simulate`.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, horizon=20)
    >>> vbmle.earned(world, history).shape
    (20,)
    """
    find, values = world.mdp.transitions.find, rewards(world.mdp)
    steps = zip(history.states, history.actions, history.next_states, strict=True)
    return values[[find(int(s), int(a), int(to)) for s, a, to in steps]]


def _recorders(
    agent: Any, truth: Callable[[], Floats], record: Collection[str]
) -> dict[str, Callable[[], Any]]:
    """What is kept of every step, by the name of the field: a function that looks at the agent."""
    for name in [record] if isinstance(record, str) else record:
        validation.one_of("record", name, RECORDABLE)
    found: dict[str, Callable[[], Any]] = {}
    if "thetas" in record:
        if not hasattr(agent, "theta"):
            raise ValueError(f"record asks for thetas, but {type(agent).__name__} has no theta to record")
        found["thetas"] = lambda: np.array(agent.theta, dtype=np.float64)
    if "distance" in record:

        def squared(thetas: Any) -> Floats:
            return np.asarray(((np.asarray(thetas) - truth()) ** 2).sum(axis=-1))

        if hasattr(agent, "thetas"):
            found["distance"] = lambda: squared(agent.thetas).min()
            found["distance_mean"] = lambda: squared(agent.thetas).mean()
        elif hasattr(agent, "theta"):
            found["distance"] = lambda: squared(agent.theta)
        else:
            found["distance"] = lambda: np.nan
    if "trouble" in record:
        found["trouble"] = _troubles(agent)
    return found


def _troubles(agent: Any) -> Callable[[], bool]:
    """Tells, each time it is called, whether the agent has taken a decision since the last time that was in trouble."""
    seen = getattr(agent, "decisions", 0)

    def look() -> bool:
        nonlocal seen
        before, seen = seen, getattr(agent, "decisions", 0)
        last = agent.last if seen > before else None
        return last is not None and last.in_trouble

    return look


def _uniforms(seed: int, count: int) -> list[float]:
    """The uniform numbers that drive a run: the first `count` of the stream that belongs to `seed`."""
    sequence = np.random.SeedSequence(validation.index("seed", seed, 2**63))
    return np.random.default_rng(sequence).random(count).tolist()


def _require_action(agent: Player, action: int, t: int, count: int) -> int:
    if type(action) is int and 0 <= action < count:  # the common case, without building a message
        return action
    return validation.index(f"the action of {type(agent).__name__} in step {t + 1}", action, count)


def _key(agent: Player) -> bytes:
    """The policy in force, in a form that can be looked up."""
    policy = agent.policy
    if type(policy) is np.ndarray and policy.dtype is INT64:  # the common case
        return policy.tobytes()
    policy = np.asarray(policy)
    if policy.dtype.kind not in "iu":
        raise ValueError(f"the policy of {type(agent).__name__} holds {policy.dtype}; it needs whole numbers")
    return policy.astype(np.int64, copy=False).tobytes()


def _loss(world: World) -> Callable[[bytes], list[float]]:
    """V* - V^pi by state, in the user's units, for a policy given as the bytes of its int64 array."""
    mdp, theta = world.mdp, world.theta
    best = planner.evaluate(mdp, theta, planner.plan(mdp, theta).policy)

    @lru_cache(maxsize=min(4096, max(1, CACHED_VALUES // mdp.num_states)))
    def loss(policy: bytes) -> list[float]:
        choice = np.frombuffer(policy, dtype=np.int64)
        validation.require_shape("the agent's policy", choice, (mdp.num_states,), "(states,)")
        value = planner.evaluate(mdp, theta, choice)
        # No policy is better than the best: what falls below 0 is rounding.
        gap: list[float] = (mdp.reward_scale * np.maximum(best - value, 0.0)).tolist()
        return gap

    return loss
