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
from typing import Any, Protocol

import numpy as np

from vbmle.common import validation
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning import planner

REPORT_EVERY = 50
"""Steps between two calls of `progress`."""

RECORDABLE = ("thetas", "distance", "trouble")
"""What `simulate` keeps only when it is asked to."""

CACHED_VALUES = 2_000_000
"""Numbers kept of the policies met before: up to 4096 policies, fewer in large worlds."""


class Player(Protocol):
    """What `simulate` asks of an agent: two methods and the policy in force."""

    @property
    def policy(self) -> Ints: ...

    def act(self, state: int, /) -> int: ...

    def observe(self, state: int, action: int, next_state: int, /) -> None: ...


@dataclass(frozen=True, eq=False)
class History:
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


def simulate(
    agent: Player,
    world: World,
    horizon: int,
    seed: int = 0,
    record: Collection[str] = (),
    progress: Callable[[int], Any] | None = None,
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
    here = world.at(0)
    keep = _recorders(agent, lambda: here.theta, record)
    uniforms = _uniforms(seed, horizon + 1)
    loss = _loss(here)
    losses_in = {id(here): loss}
    path = np.empty((3, horizon), dtype=np.int64)
    losses, seconds = np.empty(horizon), np.empty(horizon)
    kept: dict[str, list[Any]] = {name: [] for name in keep}
    state, masked = world.first_state(uniforms[0]), not world.mdp.allowed.all()
    for t in range(horizon):
        if here is not world.at(t):
            here = world.at(t)
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
        losses[t] = loss(_key(agent))[state]
        next_state = here.next_state(state, action, uniforms[t + 1])
        for name, value in keep.items():
            kept[name].append(value())
        resumed = perf_counter()
        agent.observe(state, action, next_state)
        seconds[t] = perf_counter() - resumed + acted - start
        path[:, t] = state, action, next_state
        state = next_state
        if progress and ((t + 1) % REPORT_EVERY == 0 or t + 1 == horizon):
            progress(t + 1)
    states, actions, next_states = path
    extra = {name: np.array(values, dtype=np.float64) for name, values in kept.items()}
    return History(states, actions, next_states, np.cumsum(losses), seconds, **extra, world=world)


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
        return seen > before and agent.last is not None and agent.last.in_trouble

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
    policy = np.asarray(agent.policy)
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
