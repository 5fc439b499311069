"""An agent in a world, and its regret against the best policy.

    R(T) = sum_{t <= T} [ V*(s_t; theta*) - V^{pi_t}(s_t; theta*) ],

where pi_t is the stationary policy in force at t. Both values are exact, so this is pseudo-regret: no
sampling noise but that of the path. Where the truth changes (`vbmle.DriftingWorld`), theta*_t of step t takes the
place of theta*: regret is against the moving optimum, the policy that would be best if nothing changed from then on.

Chance enters through one uniform number per step, drawn from the seed alone: agents that run with the
same seed in the same world are paired, and a longer run begins like a shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from vbmle.common import extras, showing, validation
from vbmle.common.keeper import Rows, Shown, Value
from vbmle.common.validation import Floats, Ints
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.naming import Names
from vbmle.model.world import World
from vbmle.planning import planner

if TYPE_CHECKING:
    import polars

REPORT_EVERY = 50
"""Steps between two calls of `progress`."""

INT64 = np.dtype(np.int64)

RECORDABLE = ("thetas", "distance", "trouble")
"""What `simulate` keeps only when it is asked to."""

PATH = ("states", "actions", "next_states", "regret", "seconds")
"""What it keeps of every step."""

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


class Step(NamedTuple):
    """What happened in a step: what metrics of your own and conditions to stop are called with.

    Attributes
    ----------
    t : int
        The number of the step, from 1.
    state : int
        Where it began.
    action : int
        What was done.
    next_state : int
        What followed.
    reward : float
        What was earned, in your units.
    regret : float
        Cumulative, after this step.
    agent : Player
        The agent, which has observed the step.
    world : World
        The world as it was in this step.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> def at_the_end(step: vbmle.Step) -> float:
    ...     return step.next_state == 5
    >>> history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, 50, metrics={"at the end": at_the_end})
    >>> history.metrics["at the end"].shape
    (50,)
    """

    t: int
    state: int
    action: int
    next_state: int
    reward: float
    regret: float
    agent: Player
    world: World


Metric = Callable[[Step], float]


@dataclass(frozen=True, eq=False, repr=False)
class History(Shown, Value):
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
        1 in steps whose decision failed (see `vbmle.agents.decision`), else 0, if recorded.
    metrics : dict of (T,) arrays
        Metrics of your own, by name.
    world : World, or None
        Where it happened.
    before : Moment, or None
        Where the run stood before the first of these steps; None at its beginning.

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
    metrics: Mapping[str, Floats] = field(default_factory=dict)
    world: World | None = None
    before: Moment | None = None

    @property
    def begun(self) -> int:
        """How many steps came before the first of these."""
        return self.before.step if self.before else 0

    @property
    def end(self) -> Moment | None:
        """Where the run stands after its last step; None where it has not begun."""
        if not len(self.states):
            return self.before
        return Moment(self.begun + len(self.states), int(self.next_states[-1]), float(self.regret[-1]))

    def _shown(self) -> Rows:
        steps = f"{self.begun + 1} to {self.begun + len(self.states)}" if len(self.states) else "none"
        if not len(self.states):
            return [("steps", steps)]
        mdp = self.world.mdp if self.world else None
        names = mdp.names if mdp else Names()
        visited = np.bincount(self.states)
        often = [s for s in np.argsort(-visited, kind="stable").tolist() if visited[s]]
        rows = [
            ("steps", steps),
            ("regret", showing.number(float(self.regret[-1]))),
            *(
                [("reward per step", showing.number(float(earned(self.world, self).mean())))]
                if self.world
                else []
            ),
            ("now in", names.state(int(self.next_states[-1]))),
            ("visits", showing.some(f"{names.state(s)} {visited[s]}" for s in often)),
            ("seconds", showing.number(float(self.seconds.sum()))),
        ]
        kept = [name for name in RECORDABLE if getattr(self, name) is not None] + list(self.metrics)
        return rows + ([("recorded", showing.some(kept))] if kept else [])

    def to_frame(self) -> polars.DataFrame:
        """A polars frame with a row for each step; states and actions by name where they have names.

        Columns: step (from 1), state, action, next_state, reward, regret, seconds, and what else was recorded; theta
        has a column for each weight, and so has each metric of your own.
        """
        names = self.world.mdp.names if self.world else Names()
        thetas: Sequence[Floats] = [] if self.thetas is None else list(self.thetas.T)
        weights = names.models or range(len(thetas))
        columns = {
            "step": np.arange(self.begun + 1, self.begun + 1 + len(self.states)),
            "state": names.of_states(self.states),
            "action": names.of_actions(self.actions),
            "next_state": names.of_states(self.next_states),
            "reward": earned(self.world, self) if self.world else None,
            **{name: getattr(self, name) for name in ("regret", "seconds", "trouble")},
            **{name: getattr(self, name) for name in ("distance", "distance_mean")},
            **{f"theta_{name}": weight for name, weight in zip(weights, thetas, strict=True)},
            **self.metrics,
        }
        return extras.frame(columns)

    @staticmethod
    def of(error: BaseException) -> History:
        """What a run had done when this exception, or Ctrl-C, ended it."""
        found = vars(error).get("history")
        if not isinstance(found, History):
            raise ValueError(f"no run of simulate was ended by this {type(error).__name__}")
        return found


def simulate(
    agent: Player,
    world: World,
    horizon: int,
    seed: int = 0,
    record: Collection[str] = (),
    progress: Callable[[int], Any] | None = None,
    after: History | None = None,
    metrics: Mapping[str, Metric] | None = None,
    stop: Callable[[Step], bool] | None = None,
) -> History:
    """Let the agent act in the world for `horizon` steps and return what happened.

    An exception, or Ctrl-C, ends the run and is raised as it came; the steps that were complete by then are
    `vbmle.History.of(error)`, in a notebook `vbmle.History.of(sys.last_value)`.

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
    after : History, optional
        The history that this one continues, with the agent as it was then, the same world, seed, record and metrics.
        What is returned has all steps up to `horizon`, as if the run had never stopped.
    metrics : dict of functions, optional
        Metrics of your own by name: each is called with the `Step` after every step, and returns a number.
    stop : function, optional
        Called with the `Step` after every step; the run ends with the first for which it returns True.

    Raises
    ------
    ValueError
        If an argument is out of range, or the agent returns something other than an action.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.VBMLE(world.mdp)
    >>> history = vbmle.simulate(agent, world, horizon=20)
    >>> history = vbmle.simulate(agent, world, horizon=50, after=history)
    >>> history.regret.shape
    (50,)
    """
    _require_kinds(agent, world)
    horizon = validation.positive_integer("horizon", horizon)
    begun = after.begun + len(after.states) if after else 0
    if begun >= horizon:
        raise ValueError(f"horizon is {horizon}; it needs more than the {begun} steps that have been taken")
    run = _Run(agent, world, horizon, after, record, metrics or {})
    try:
        run.play(_uniforms(seed, horizon + 1), stop, progress)
    except BaseException as error:
        vars(error)["history"] = run.history()
        error.add_note(f"the {run.done} complete steps before it are vbmle.History.of(error)")
        raise
    return run.history()


class _Run:
    """A run, and what it has kept so far."""

    def __init__(
        self,
        agent: Player,
        world: World,
        horizon: int,
        after: History | None,
        record: Collection[str],
        metrics: Mapping[str, Metric],
    ) -> None:
        self.agent, self.world, self.after = agent, world, after
        self.before = after.end if after else None
        self.begun = self.before.step if self.before else 0
        self.done = self.begun
        """The number of steps that are complete."""
        self.here = world.at(self.begun)
        self._losses = {id(self.here): _loss(self.here)}
        self._keep = _recorders(agent, lambda: self.here.theta, record)
        self._metrics = checked_metrics(metrics)
        self.path = np.empty((3, horizon - self.begun), dtype=np.int64)
        self.regret, self.seconds = np.empty((2, horizon - self.begun))
        self.kept: dict[str, list[Any]] = {name: [] for name in self._keep}
        self.measured: dict[str, list[float]] = {name: [] for name in self._metrics}
        if after:
            _require_same_kept(after, self.kept, self.measured)

    def play(
        self,
        uniforms: list[float],
        stop: Callable[[Step], bool] | None,
        progress: Callable[[int], Any] | None,
    ) -> None:
        agent, world, begun = self.agent, self.world, self.begun
        horizon = begun + len(self.regret)
        state = self.before.state if self.before else world.first_state(uniforms[0])
        regret = self.before.regret if self.before else 0.0
        loss, worth = self._losses[id(self.here)], _worth(world) if self._metrics or stop else None
        masked = not world.mdp.allowed.all()
        for t in range(begun, horizon):
            if self.here is not (now := world.at(t)):
                self.here = now
                loss = self._losses[id(now)] = self._losses.get(id(now)) or _loss(now)
            start = perf_counter()
            action = agent.act(state)
            acted = perf_counter()
            action = _require_action(agent, action, t, world.mdp.num_actions)
            if masked:
                _require_allowed(agent, world, state, action, t)
            at = t - begun
            regret += loss(_key(agent))[state]
            next_state = self.here.next_state(state, action, uniforms[t + 1])
            for name, value in self._keep.items():
                self.kept[name].append(value())
            resumed = perf_counter()
            agent.observe(state, action, next_state)
            self.seconds[at] = perf_counter() - resumed + acted - start
            self.path[:, at] = state, action, next_state
            self.regret[at] = regret
            ended = False
            if worth is not None:
                earned_now = worth(state, action, next_state)
                step = Step(t + 1, state, action, next_state, earned_now, regret, agent, self.here)
                for name, metric in self._metrics.items():
                    self.measured[name].append(_number(name, metric(step)))
                ended = stop is not None and bool(stop(step))
            state, self.done = next_state, t + 1
            if progress and (self.done % REPORT_EVERY == 0 or self.done == horizon or ended):
                progress(self.done)
            if ended:
                return

    def history(self) -> History:
        """The steps that are complete, with those that came before."""
        new = self.done - self.begun
        columns: dict[str, Any] = dict(zip(PATH, (*self.path, self.regret, self.seconds), strict=True))
        columns = {name: array[:new].copy() for name, array in columns.items()}
        columns |= {name: np.array(rows[:new], dtype=np.float64) for name, rows in self.kept.items()}
        measured = {name: np.array(rows[:new], dtype=np.float64) for name, rows in self.measured.items()}
        if self.after:
            columns = {name: _joined(getattr(self.after, name), new) for name, new in columns.items()}
            measured = {name: _joined(self.after.metrics[name], new) for name, new in measured.items()}
        before = self.after.before if self.after else None
        return History(**columns, metrics=measured, world=self.world, before=before)


def _joined(old: Floats, new: Floats) -> Floats:
    return np.concatenate([old, new]) if len(old) else new


def checked_metrics(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Metrics by name, refused where one is no function or has the name of something else that is kept."""
    taken = {*PATH, *RECORDABLE, *TAKEN}
    for name, metric in metrics.items():
        if not isinstance(name, str) or name in taken:
            raise ValueError(f"metrics has the name {name!r}; it needs a text other than {sorted(taken)}")
        if not callable(metric):
            raise ValueError(f"metrics has {metric!r} under {name!r}; it needs a function of a vbmle.Step")
    return dict(metrics)


TAKEN = (
    *("distance_mean", "mle_error", "step", "state", "action", "next_state", "reward"),
    *("experiment", "world", "agent", "trial", "dimension", "p_min_true"),
)
"""Names of columns beside those of a history."""


def _require_same_kept(after: History, kept: Collection[str], measured: Collection[str]) -> None:
    """Refuse to go on where the steps before have not kept the same."""
    missing = [name for name in kept if getattr(after, name) is None]
    missing += [name for name in measured if name not in after.metrics]
    if missing:
        raise ValueError(
            f"after has no {missing[0]!r}; its steps need the same record and metrics as the new ones"
        )


def _require_allowed(agent: Player, world: World, state: int, action: int, t: int) -> None:
    if not world.mdp.allowed[state, action]:
        where = world.mdp.names.pair(state, action)
        raise ValueError(
            f"{type(agent).__name__} takes an action that is not allowed, {where}, in step {t + 1}"
        )


def _worth(world: World) -> Callable[[int, int, int], float]:
    """The reward of a transition, in the user's units."""
    find, values = world.mdp.transitions.find, rewards(world.mdp)
    return lambda state, action, next_state: float(values[find(state, action, next_state)])


def _number(name: str, value: Any) -> float:
    """What a metric returned."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"the metric {name!r} returns {value!r}; it needs a number") from None


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
    """Tells, each time it is called, whether the agent has taken a decision since the last time that failed."""
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
