"""Gymnasium environments with a transition table, as slip mixtures.

A table `env.unwrapped.P[s][a]` lists (probability, next state, reward, done). The world slips: what was meant
to be action a comes out as action (a + k) mod A with an unknown probability theta_k,

    P_theta(s'|s,a) = sum_k theta_k P_env(s'|s, (a+k) mod A),      theta on the simplex,

so each slip k is a base model. The reward r(s,a,s') is known, hence must not depend on which slip led to s'
(it is the expected one where the table lists a successor several times). Play goes on for ever: from a terminal
state the next step leads to the environment's first states ("restart"), or stays there ("absorb"); both
without reward. Rewards outside [0, 1] are mapped to it, and regret is reported in the environment's units.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle import validation
from vbmle.model import LinearMixtureMDP, World
from vbmle.validation import Among, Floats

TERMINALS = ("restart", "absorb")
Terminal = Annotated[str, Among(TERMINALS)]
SLIPPERY = (1 / 3, 1 / 3, 0.0, 1 / 3)
"""As meant, or turned to either side with equal odds: the slip of Gymnasium's own slippery lake."""

DENSE_LIMIT = 4_000_000
"""Up to this many features models are dense arrays, above sparse."""

Entry = tuple[int, int, float, float]  # row, next state, probability, reward


def from_gymnasium(
    env: Any, slip: ArrayLike = (1.0,), discount: float = 0.95, terminal: Terminal = "restart"
) -> World:
    """The slip mixture of an environment with a transition table, or of the one that Gymnasium has by that name.

    slip: the hidden theta, one weight for each of the slips k = 0, 1, ..., at most as many as there are actions;
    (1,) is the environment itself, with nothing to learn. terminal: "restart" draws the step after a terminal
    state from the environment's first states, "absorb" stays.
    """
    theta = validation.finite_array("slip", slip, 1)
    validation.one_of("terminal", terminal, TERMINALS)
    table, initial = _table(env)
    states, actions = len(table), len(table[0])
    if not 1 <= len(theta) <= actions:
        raise ValueError(f"slip has {len(theta)} weights; it needs 1 to {actions}, one for each way to slip")
    models, gains = [], []
    for k in range(len(theta)):
        entries = _slipped(table, k, _after(table, initial, terminal))
        rows, to, p, r = (np.array(column) for column in zip(*entries, strict=True))
        shape, where = (states * actions, states), (rows.astype(np.int64), to.astype(np.int64))
        models.append(sparse.csr_array(sparse.coo_array((p, where), shape=shape)))
        gains.append(sparse.csr_array(sparse.coo_array((p * r, where), shape=shape)))
    reward = _reward(models, gains, actions)
    settings: dict[str, Any] = {"initial": initial, "normalise_reward": True}
    if states * actions * states * len(theta) > DENSE_LIMIT:
        return World(LinearMixtureMDP.from_models(models, reward, discount, **settings), theta)
    cube = (states, actions, states)
    arrays = [model.toarray().reshape(cube) for model in models]
    mdp = LinearMixtureMDP.from_models(arrays, reward.toarray().reshape(cube), discount, **settings)
    return World(mdp, theta)


def frozen_lake(
    size: int = 4,
    slip: ArrayLike | str = SLIPPERY,
    seed: int = 0,
    discount: float = 0.95,
    terminal: Terminal = "restart",
) -> World:
    """Gymnasium's FrozenLake on its 4x4 or 8x8 map, where how the ice makes one slip is to be learnt.

    slip: the hidden weights of coming out as meant, turned one to the side, opposite, to the other side; by default
    1/3, 1/3, 0, 1/3, which is Gymnasium's slippery lake. "random" draws them from the simplex by `seed`.
    """
    if size not in (4, 8):
        raise ValueError(f"size is {size!r}; it needs 4 or 8, the maps of FrozenLake")
    if isinstance(slip, str):
        validation.one_of("slip", slip, ("random",))
        sequence = np.random.SeedSequence(validation.index("seed", seed, 2**63))
        slip = np.random.default_rng(sequence).dirichlet(np.ones(4))
    import gymnasium

    env = gymnasium.make("FrozenLake-v1", map_name=f"{size}x{size}", is_slippery=False)
    return from_gymnasium(env, slip, discount, terminal)


def _table(env: Any) -> tuple[list[list[list[Any]]], Floats]:
    """The transition table as lists by state and action, and the distribution of the first state."""
    if isinstance(env, str):
        import gymnasium

        env = gymnasium.make(env)
    plain = getattr(env, "unwrapped", env)
    table = getattr(plain, "P", None)
    if table is None:
        raise ValueError(f"{plain} has no transition table P; only environments with one can be mixed")
    states = len(table)
    if sorted(table) != list(range(states)) or len({len(table[s]) for s in range(states)}) != 1:
        raise ValueError(f"the table P of {plain} needs states 0 .. S-1 with the same actions in each")
    first = getattr(plain, "initial_state_distrib", None)
    if first is None:
        raise ValueError(f"{plain} has no initial_state_distrib, the distribution of its first state")
    rows = [[list(table[s][a]) for a in range(len(table[s]))] for s in range(states)]
    return rows, validation.distribution("initial_state_distrib", first, states)


def _after(
    table: list[list[list[Any]]], initial: Floats, terminal: str
) -> dict[int, list[tuple[float, int]]]:
    """Where terminal states lead, as (probability, next state)."""
    steps = [
        (state, int(to), bool(done))
        for state, actions in enumerate(table)
        for entries in actions
        for p, to, _, done in entries
        if p > 0.0
    ]
    ends = {to for _, to, done in steps if done}
    both = sorted(ends & {to for state, to, done in steps if not done and state not in ends})
    if both:
        raise ValueError(
            f"state {both[0]} ends an episode on some ways into it but not on others; it needs to be one or the other"
        )
    restart = [(float(initial[s]), int(s)) for s in np.nonzero(initial)[0]]
    return {s: restart if terminal == "restart" else [(1.0, s)] for s in sorted(ends)}


def _slipped(table: list[list[list[Any]]], k: int, after: dict[int, list[tuple[float, int]]]) -> list[Entry]:
    """The base model of slip k: entries (row, next state, probability, reward)."""
    entries: list[Entry] = []
    actions = len(table[0])
    for state in range(len(table)):
        for action in range(actions):
            row = state * actions + action
            if state in after:
                entries += [(row, to, p, 0.0) for p, to in after[state]]
            else:
                outcome = table[state][(action + k) % actions]
                entries += [(row, int(to), float(p), float(r)) for p, to, r, _ in outcome if p > 0.0]
    return entries


def _reward(models: list[sparse.csr_array], gains: list[sparse.csr_array], actions: int) -> sparse.csr_array:
    """r(s,a,s') by row, refused where it depends on the slip; successors of no model have 0."""
    found: dict[tuple[int, int], float] = {}
    for k, (model, gain) in enumerate(zip(models, gains, strict=True)):
        rows = np.repeat(np.arange(model.shape[0]), np.diff(model.indptr))
        amounts = np.asarray(gain[rows, model.indices]).ravel() / model.data
        for row, to, amount in zip(rows.tolist(), model.indices.tolist(), amounts.tolist(), strict=True):
            known = found.setdefault((row, to), amount)
            if abs(known - amount) > 1e-9 * (1.0 + abs(known)):
                state, action = divmod(row, actions)
                raise ValueError(
                    f"the reward of (s={state}, a={action}, s'={to}) is {known:g}, but {amount:g} when slipping by "
                    f"{k}; a known reward r(s,a,s') needs it to be the same however s' was reached"
                )
    rows, columns = np.array(list(found)).T
    return sparse.csr_array((list(found.values()), (rows, columns)), shape=models[0].shape)
