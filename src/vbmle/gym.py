"""Gymnasium: our worlds as its environments, our agents in any environment, its policies in our worlds.

`import vbmle.gym` registers every world as `vbmle/<Name>-v0` (without it, `gymnasium.make("vbmle.gym:vbmle/<Name>-v0")`
imports it). Settings of the world are those of `gymnasium.make`:

    env = gymnasium.make("vbmle/Inventory-v0", capacity=100)
    env.reset(seed=0, options={"theta": "random"})        # another hidden truth: drawn, or given as numbers

Observation and action are the numbers of state and action, rewards are in the units of the world, and play never
ends by itself (`max_episode_steps` truncates after 1000 steps). `drive` lets our agents act in a plain environment;
`PolicyPlayer` lets a policy with a method `predict`, as Stable-Baselines3 has them, be run by `simulate`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.agents.posterior import Dirichlet, HitAndRun
from vbmle.common import extras, validation
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.simulation import Player, rewards
from vbmle.worlds import EXAMPLES, WORLDS

extras.require("gym")
import gymnasium  # noqa: E402

__all__ = ["Drive", "PolicyPlayer", "WorldEnv", "drive", "register_all"]

EPISODE_STEPS = 1000
"""Steps after which `gymnasium.make` truncates an episode."""

NAMES = {"riverswim": "RiverSwim"}
THETA_THINNING = 100
"""Hit-and-run steps per free coordinate for a new theta."""


def environment_name(world: str) -> str:
    """closed_loop_trap as vbmle/ClosedLoopTrap-v0."""
    camel = "".join(part.capitalize() for part in world.split("_"))
    return f"vbmle/{NAMES.get(world, camel)}-v0"


def register_all() -> None:
    """Register every world that is not yet registered."""
    from gymnasium.envs.registration import register, registry

    for world in WORLDS:
        if environment_name(world) not in registry:
            settings = {"world": world, **EXAMPLES.get(world, {})}
            register(
                environment_name(world),
                entry_point="vbmle.gym:WorldEnv",
                max_episode_steps=EPISODE_STEPS,
                kwargs=settings,
            )


class WorldEnv(gymnasium.Env[Any, Any]):
    """A world as a Gymnasium environment; `gymnasium.make("vbmle.gym:vbmle/RiverSwim-v0")` makes one too.

    `reset(options={"theta": ...})` changes the hidden truth: numbers, or "random" for a draw that is uniform on the
    feasible set, from the environment's own generator.

    Parameters
    ----------
    world : World or str, default "riverswim"
        A world, or the name of one of `vbmle.worlds`.
    render_mode : "ansi" or None, optional
        "ansi" renders the last step as text; by default nothing is rendered.
    **settings
        The settings of a world that is given by name.

    Raises
    ------
    ValueError
        If there is no such world, or a setting of it is out of range.

    Examples
    --------
    >>> import vbmle
    >>> env = vbmle.WorldEnv("riverswim", length=6)
    >>> env.reset(seed=0)
    (0, {})
    >>> env.step(0)
    (0, 0.005, False, False, {})
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self, world: str | World = "riverswim", render_mode: str | None = None, **settings: Any
    ) -> None:
        if isinstance(world, str):
            validation.one_of("world", world, tuple(WORLDS))
            world = WORLDS[world](**settings)
        self.world = world
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Discrete(world.mdp.num_states)
        self.action_space = gymnasium.spaces.Discrete(world.mdp.num_actions)
        self._rewards = rewards(world.mdp)
        self._state = -1  # reset comes first
        self._steps = 0
        self._last = ""

    @property
    def now(self) -> World:
        """The world of the step that comes next: another one after a while, where the mix drifts."""
        return self.world.at(self._steps)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        for option in options or {}:
            validation.one_of("an option of reset", option, ("theta",))
        wanted = (options or {}).get("theta")
        if wanted is not None:
            mdp = self.world.mdp
            if isinstance(wanted, str):
                validation.one_of("options['theta']", wanted, ("random",))
                wanted = random_theta(mdp, self.np_random)
            self.world = World(mdp, wanted)
        self._steps = 0
        self._state = self.world.first_state(float(self.np_random.random()))
        self._last = ""
        return self._state, self._info()

    def action_masks(self) -> Any:
        """Which actions may be taken now, (A,) boolean: what sb3-contrib asks for."""
        return self.world.mdp.allowed[self._state].copy()

    def _info(self) -> dict[str, Any]:
        """The mask of actions, as 0 and 1, where some are not allowed."""
        mdp = self.world.mdp
        return {} if mdp.allowed.all() else {"action_mask": mdp.allowed[self._state].astype(np.int8)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        mdp, state = self.world.mdp, self._state
        if state < 0:
            raise ValueError("step was called before reset; call reset first, for the first state")
        if isinstance(action, np.ndarray) and action.size == 1:
            action = action.reshape(())[()]
        action = validation.index("action", action, mdp.num_actions)
        if not mdp.allowed[state, action]:
            raise ValueError(
                f"the action of {mdp.names.pair(state, action)} is not allowed; see info['action_mask']"
            )
        self._state = self.now.next_state(state, action, float(self.np_random.random()))
        self._steps += 1
        reward = float(self._rewards[mdp.transitions.find(state, action, self._state)])
        self._last = f"state {state}, action {action}, reward {reward:g}, "
        return self._state, reward, False, False, self._info()

    def render(self) -> Any:
        """The last step in words."""
        return f"{self._last}state {self._state}" if self.render_mode == "ansi" else None


def random_theta(mdp: LinearMixtureMDP, rng: np.random.Generator) -> Floats:
    """A theta drawn uniformly from the feasible set: exact for the simplex and tabular models, else by hit-and-run."""
    if mdp.domain == "vertices":
        return np.eye(mdp.dimension)[int(rng.integers(mdp.dimension))]
    counts = TransitionCounts(mdp)
    try:
        return Dirichlet(mdp).draw(counts, rng)
    except ValueError:  # no product of simplices
        if mdp.domain == "simplex" and mdp.p_min == 0.0:
            return rng.dirichlet(np.ones(mdp.dimension))
        return HitAndRun(mdp, THETA_THINNING).draw(counts, rng)


@dataclass(frozen=True, eq=False)
class Drive:
    """What happened in an environment, step by step, as `drive` returns it.

    Attributes
    ----------
    states : (T,) integer array
        The state at each step.
    actions : (T,) integer array
        The action taken there.
    next_states : (T,) integer array
        The state that followed.
    rewards : (T,) array
        What the environment paid.
    episodes : int
        How many were begun.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.frozen_lake()
    >>> run = vbmle.drive(vbmle.PSRL(world.mdp), "FrozenLake-v1", steps=30)
    >>> run.states.shape, run.rewards.sum().item() <= run.episodes
    ((30,), True)
    """

    states: Ints
    actions: Ints
    next_states: Ints
    rewards: Floats
    episodes: int


def drive(
    agent: Player,
    env: Any,
    steps: int,
    seed: int = 0,
    state_after: Callable[[int, int, int, float, bool], int] | None = None,
) -> Drive:
    """Let an agent act and learn in a Gymnasium environment whose observations are the states of its model.

    Only real transitions are observed: where an episode ends, the environment is reset and play goes on.

    Parameters
    ----------
    agent : Agent
        Anything with `act` and `observe`.
    env : environment or str
        An environment or its name; both of its spaces are Discrete, from 0.
    steps : int
        How many steps to take; at least 1.
    seed : int, default 0
        Seeds the environment.
    state_after : function, optional
        `state_after(state, action, observation, reward, terminated)` turns observations into states where they differ,
        as `GymWorld.state_after` does for split states. By default the observation is the state.

    Raises
    ------
    ValueError
        If the spaces of env are not those of the agent's model, or an argument is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.frozen_lake()
    >>> agent = vbmle.PSRL(world.mdp)
    >>> run = vbmle.drive(agent, "FrozenLake-v1", steps=30)
    >>> agent.counts.total
    30
    """
    steps = validation.positive_integer("steps", steps)
    env = gymnasium.make(env) if isinstance(env, str) else env
    _require_fit(agent, env, state_after is None)
    path, paid, episodes = np.empty((3, steps), np.int64), np.empty(steps), 1
    state = int(env.reset(seed=seed)[0])
    for t in range(steps):
        action = agent.act(state)
        seen, paid[t], terminated, truncated, _ = env.step(action)
        following = (
            int(seen) if state_after is None else state_after(state, action, seen, paid[t], terminated)
        )
        agent.observe(state, action, following)
        path[:, t] = state, action, following
        over = terminated or truncated
        state = int(env.reset()[0]) if over and t + 1 < steps else following
        episodes += bool(over and t + 1 < steps)
    states, actions, next_states = path
    return Drive(states, actions, next_states, paid, episodes)


def _require_fit(agent: Any, env: Any, same_states: bool) -> None:
    """Refuse what is not an agent or not an environment, and spaces that are not those of the agent's model."""
    _require_methods("agent", agent, ("act", "observe"), "an agent, made of its class,")
    _require_methods("env", env, ("reset", "step"), "a Gymnasium environment, or its name,")
    mdp = getattr(agent, "mdp", None)
    for what, space in (("state", "observation_space"), ("action", "action_space")):
        found = getattr(env, space, None)
        if found is None:
            continue
        if not isinstance(found, gymnasium.spaces.Discrete) or found.start != 0:
            raise ValueError(f"{space} of env is {found}; it needs Discrete, from 0, one number per {what}")
        wanted = getattr(mdp, f"num_{what}s", found.n)
        if found.n != wanted and (what == "action" or same_states):
            rule = " (or state_after, which tells the states apart)" if what == "state" else ""
            counts = f"{found.n} {what}s, but the model of agent has {wanted}"
            raise ValueError(f"env has {counts}; the numbers must match{rule}")


def _require_methods(name: str, value: Any, methods: tuple[str, ...], wanted: str) -> None:
    if isinstance(value, type) or not all(callable(getattr(value, method, None)) for method in methods):
        kind = f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"
        raise ValueError(f"{name} is {kind}; it needs {wanted} with {' and '.join(methods)}")


def _require_deterministic(predict: Callable[..., Any]) -> None:
    """Refuse a method that cannot be called as predict(observation, deterministic=True)."""
    try:
        inspect.signature(predict).bind(0, deterministic=True)
    except TypeError as error:
        rule = "it needs to take (observation, deterministic=True)"
        raise ValueError(f"predict of policy does not fit: {error}; {rule}") from None
    except ValueError:  # compiled code without a signature
        pass


def _predicted(policy: Any, observation: Any, state: int) -> NDArray[Any]:
    reply = policy.predict(observation, deterministic=True)
    if not isinstance(reply, tuple | list) or not reply:
        raise ValueError(f"predict gave {reply!r} in state {state}; it needs a pair (action, anything)")
    return np.asarray(reply[0])


class PolicyPlayer:
    """A policy with `predict(observation) -> (action, anything)`, to be run by `simulate`; it does not learn.

    Stable-Baselines3 policies and models are of this kind. They are asked once for every state, deterministically, so
    that there is a stationary policy whose regret is exact.

    Parameters
    ----------
    policy : object
        Has `predict(observation, deterministic=True)`.
    mdp : LinearMixtureMDP or World
        The model whose states and actions the policy uses.
    observation : function, optional
        Turns a state into what the policy looks at; by default the number of the state (Stable-Baselines3's own one-hot
        coding follows from the Discrete space).

    Raises
    ------
    ValueError
        If `predict` does not fit, or returns something other than an action of the model.

    Examples
    --------
    >>> import numpy, vbmle
    >>> class Right:
    ...     def predict(self, observation, deterministic=True):
    ...         return numpy.int64(1), None
    >>> vbmle.PolicyPlayer(Right(), vbmle.worlds.riverswim(length=6)).policy.tolist()
    [1, 1, 1, 1, 1, 1]
    """

    def __init__(
        self, policy: Any, mdp: LinearMixtureMDP | World, observation: Callable[[int], Any] | None = None
    ) -> None:
        mdp = mdp.mdp if isinstance(mdp, World) else mdp
        if not isinstance(mdp, LinearMixtureMDP):
            raise ValueError(f"mdp is of type {type(mdp).__name__}; it needs a LinearMixtureMDP or a World")
        _require_methods("policy", policy, ("predict",), "an object")
        see = observation or np.int64
        _require_deterministic(policy.predict)
        actions = [_predicted(policy, see(s), s) for s in range(mdp.num_states)]
        bad = [s for s, a in enumerate(actions) if a.size != 1 or a.dtype.kind not in "iu"]
        if bad:
            raise ValueError(f"predict gave {actions[bad[0]]!r} in state {bad[0]}; it needs one whole number")
        self._policy: Ints = np.array([int(a.item()) for a in actions], dtype=np.int64)
        for state, action in enumerate(self._policy):
            validation.index(f"the action predicted in state {state}", int(action), mdp.num_actions)

    @property
    def policy(self) -> Ints:
        """The action for every state, (S,) ints."""
        return self._policy

    def act(self, state: int, /) -> int:
        """What the policy predicts."""
        return int(self._policy[validation.index("state", state, len(self._policy))])

    def observe(self, state: int, action: int, next_state: int, /) -> None:
        """There is nothing to learn from."""


register_all()
