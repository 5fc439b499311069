"""Gymnasium environments with a transition table, as mixtures: of ways to slip, of several environments, or both.

A table `env.unwrapped.P[s][a]` lists (probability, next state, reward, done). With one environment the world
slips: what was meant to be action a comes out as action (a + k) mod A with an unknown probability theta_k,

    P_theta(s'|s,a) = sum_k theta_k P_env(s'|s, (a+k) mod A),      theta on the simplex,

so each slip k is a base model. With a list of environments on the same states and actions each of them is one;
with both, each pair (environment, slip) is, in that order. Rewards are r(s,a,s'); where base models disagree on
one, the next state is split into versions that remember it (`vbmle.worlds.gymnasium_tables`), which is exact.

Play never ends: from a terminal state the next step leads to the environment's first states ("restart"),
or stays there ("absorb"); both without reward. Rewards outside [0, 1] are mapped to it, and regret is reported in
the environment's units.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Among, Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.worlds import gymnasium_tables
from vbmle.worlds.labels import LabelledWorld, Labels, Mix, weights

TERMINALS = ("restart", "absorb")
Terminal = Annotated[str, Among(TERMINALS)]
SLIPPERY = (1 / 3, 1 / 3, 0.0, 1 / 3)
"""As meant, or turned to either side with equal odds: the slip of Gymnasium's own slippery lake."""

GUSTY = (0.8, 0.1, 0.0, 0.1)
"""As meant, or blown to either side: the wind on the cliff."""

DENSE_FEATURES = 1_000_000
"""Up to this many features models are dense arrays, above sparse."""


class GymWorld(LabelledWorld):
    """A world made of tables; `state_after` says which of its states an outcome of the environment is."""

    def __init__(
        self, mdp: LinearMixtureMDP, theta: ArrayLike, labels: Labels, merged: gymnasium_tables.Merged
    ) -> None:
        super().__init__(mdp, theta, labels)
        self._merged = merged

    def state_after(self, state: int, action: int, seen: int, reward: float, ended: bool) -> int:
        """The state of this world, for what the environment showed after (state, action).

        It is the observation itself, except where that was split into versions (see `vbmle.worlds.gymnasium_tables`).
        """
        return self._merged.version(state, action, int(seen), float(reward), bool(ended))[0]


@suggesting
def from_gymnasium(
    env: Any,
    slip: ArrayLike | Mix = (1.0,),
    discount: float = 0.95,
    terminal: Terminal = "restart",
    weights: ArrayLike | None = None,
    seed: int = 0,
) -> GymWorld:
    """The mixture of an environment with a transition table and of its slips, or of a list of environments.

    theta = weights x slip. The first states are `initial_state_distrib` of the environment; without it, the
    frequencies of `reset(seed=k)` for k = 0 .. 999.

    Parameters
    ----------
    env : environment, str, or a list of these
        An environment or its name; those of a list have the same states and actions.
    slip : array or "random", default (1.0,)
        One hidden weight for each of the slips k = 0, 1, ..., at most as many as there are actions; (1,) does not slip,
        and "random" draws one weight for each action from the simplex by `seed`.
    discount : float, default 0.95
        gamma, strictly between 0 and 1.
    terminal : {"restart", "absorb"}, default "restart"
        "restart" draws the step after a terminal state from the environment's first states, "absorb" stays there.
    weights : array, optional
        One hidden weight for each environment of a list; all the same by default.
    seed : int, default 0
        Seeds the draw of "random"; it has no other effect.

    Raises
    ------
    ValueError
        If an environment has no transition table, or a setting is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.from_gymnasium("FrozenLake-v1", slip=[0.9, 0.1])
    >>> world.mdp.dimension, world.theta.tolist()
    (2, [0.9, 0.1])
    """
    validation.one_of("terminal", terminal, TERMINALS)
    envs = list(env) if isinstance(env, list | tuple) else [env]
    if not envs:
        raise ValueError("env is an empty list; it needs at least one environment")
    shares = np.full(len(envs), 1.0 / len(envs)) if weights is None else _shares(weights, len(envs))
    read, initial = _same_space(envs)
    states, actions = len(read[0]), len(read[0][0])
    slips = _slips(slip, seed, actions) if isinstance(slip, str) else validation.finite_array("slip", slip, 1)
    if not 1 <= len(slips) <= actions:
        raise ValueError(f"slip has {len(slips)} weights; it needs 1 to {actions}, one for each way to slip")
    validation.mixture("slip", slips)
    merged = gymnasium_tables.Merged(
        [gymnasium_tables.slipped(table, k) for table in read for k in range(len(slips))]
    )
    models, reward = merged.matrices(initial, terminal == "restart")
    size = models[0].shape[1]
    settings: dict[str, Any] = {
        "initial": np.append(initial, np.zeros(size - states)),
        "normalise_reward": True,
    }
    if size * actions * size * len(models) > DENSE_FEATURES:
        mdp = LinearMixtureMDP.from_models(models, reward, discount, **settings)
    else:
        cube = (size, actions, size)
        arrays = [model.toarray().reshape(cube) for model in models]
        mdp = LinearMixtureMDP.from_models(arrays, reward.toarray().reshape(cube), discount, **settings)
    return GymWorld(mdp, np.outer(shares, slips).ravel(), _labels(envs[0], states, actions), merged)


@suggesting
def frozen_lake(
    size: int = 4,
    slip: ArrayLike | Mix = SLIPPERY,
    seed: int = 0,
    discount: float = 0.95,
    terminal: Terminal = "restart",
) -> GymWorld:
    """Gymnasium's FrozenLake on its 4x4 or 8x8 map, where you learn how the ice makes you slip.

    Parameters
    ----------
    size : {4, 8}, default 4
        The length of a side of the map.
    slip : (4,) array or "random", default (1/3, 1/3, 0, 1/3)
        The hidden weights of moving as meant, turned to one side, opposite, and turned to the other side. The default
        is Gymnasium's slippery lake. "random" draws them from the simplex by `seed`.
    seed : int, default 0
        Seeds the draw of "random"; it has no other effect.
    discount : float, default 0.95
        gamma, strictly between 0 and 1.
    terminal : {"restart", "absorb"}, default "restart"
        What follows a hole or the goal: the start, or staying there.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.frozen_lake(slip=[0.8, 0.1, 0.0, 0.1])
    >>> world.mdp.num_states, world.mdp.num_actions, world.mdp.dimension
    (16, 4, 4)
    """
    if size not in (4, 8):
        raise ValueError(f"size is {size!r}; it needs 4 or 8, the maps of FrozenLake")
    env = gymnasium_tables.make("FrozenLake-v1", map_name=f"{size}x{size}", is_slippery=False)
    return from_gymnasium(env, _slips(slip, seed), discount, terminal)


@suggesting
def cliff_walking(
    slip: ArrayLike | Mix = GUSTY, seed: int = 0, discount: float = 0.95, terminal: Terminal = "restart"
) -> GymWorld:
    """Gymnasium's CliffWalking in an unknown wind: walk far from the edge until you know it.

    The start has two states, 36 and 48: after a step and after a fall (-100).

    Parameters
    ----------
    slip : (4,) array or "random", default (0.8, 0.1, 0.0, 0.1)
        The hidden weights of moving as meant, turned to one side, opposite, and turned to the other side. "random"
        draws them from the simplex by `seed`.
    seed : int, default 0
        Seeds the draw of "random"; it has no other effect.
    discount : float, default 0.95
        gamma, strictly between 0 and 1.
    terminal : {"restart", "absorb"}, default "restart"
        What follows the goal: the start, or staying there.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.cliff_walking()
    >>> world.mdp.num_states, world.mdp.num_actions
    (49, 4)
    """
    return from_gymnasium("CliffWalking-v1", _slips(slip, seed), discount, terminal)


@suggesting
def taxi(rain: float = 0.5, discount: float = 0.95, terminal: Terminal = "restart") -> GymWorld:
    """Gymnasium's Taxi on a day with a hidden share of rain: a mix of its dry and its rainy town.

    In the rain you move as meant with probability .8 and to either side with probability .1. theta = (1-rain, rain).

    Parameters
    ----------
    rain : float, default 0.5
        The hidden share of rain, in [0, 1].
    discount : float, default 0.95
        gamma, strictly between 0 and 1.
    terminal : {"restart", "absorb"}, default "restart"
        What follows the end of a ride: another one, or staying there.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> vbmle.worlds.taxi(rain=0.25).theta.tolist()
    [0.75, 0.25]
    """
    share = validation.probability("rain", rain)
    towns = [gymnasium_tables.make("Taxi-v4", is_rainy=rainy) for rainy in (False, True)]
    return from_gymnasium(towns, discount=discount, terminal=terminal, weights=[1.0 - share, share])


def _slips(slip: ArrayLike | str, seed: int, actions: int = 4) -> Floats:
    return weights("slip", slip, actions, seed)


def _shares(given: ArrayLike, count: int) -> Floats:
    if not isinstance(given, str):
        validation.require_shape("weights", np.asarray(given), (count,), "(environments,)")
    return validation.mixture("weights", given)


def _same_space(envs: list[Any]) -> tuple[list[gymnasium_tables.Table], Floats]:
    """All tables, and the first states that they share."""
    names = [f"env[{k}]" for k in range(len(envs))] if len(envs) > 1 else ["env"]
    read = [gymnasium_tables.read(env, name) for env, name in zip(envs, names, strict=True)]
    table, initial = read[0]
    for k, (other, first) in enumerate(read):
        for what, here, wanted in (
            ("states", len(other), len(table)),
            ("actions", len(other[0]), len(table[0])),
        ):
            if here != wanted:
                raise ValueError(f"env[{k}] has {here} {what}, but env[0] has {wanted}; they must match")
        if not np.allclose(first, initial, rtol=0.0, atol=1e-9):
            raise ValueError(f"env[{k}] starts in other states than env[0]; their first states must match")
    return [table for table, _ in read], initial


def _labels(env: Any, states: int, actions: int) -> Labels:
    """Grids for the environments whose layout is known, one long row for the others."""
    plain: Any = getattr(gymnasium_tables.make(env) if isinstance(env, str) else env, "unwrapped", None)
    numbers, kind = np.arange(states), type(plain).__name__
    if kind == "FrozenLakeEnv":
        grid = numbers.reshape(plain.desc.shape)
        marks = {int(s): c.decode() for s, c in zip(numbers, plain.desc.ravel(), strict=True) if c != b"F"}
        return Labels({"": grid}, ("left", "down", "right", "up"), glyphs=tuple("←↓→↑"), marks=marks)
    if kind == "CliffWalkingEnv":
        marks = {36: "start", 47: "goal", **dict.fromkeys(range(37, 47), "cliff")}
        names = ("up", "right", "down", "left")
        return Labels({"": numbers.reshape(4, 12)}, names, glyphs=tuple("↑→↓←"), marks=marks)
    if kind == "TaxiEnv":
        town = numbers.reshape(5, 5, 5, 4)  # row, column, where the passenger is, destination
        panels = {"passenger waits at G (top right), wants B": town[:, :, 1, 3]}
        panels["passenger in the taxi, wants B (bottom)"] = town[:, :, 4, 3]
        moves = ("south", "north", "east", "west", "pick up", "drop off")
        return Labels(panels, moves, glyphs=("↓", "↑", "→", "←", "pick", "drop"), marks={})
    return Labels({"": numbers[None, :]}, tuple(f"action {a}" for a in range(actions)), x="state")
