"""Planning for a given theta: exact evaluation and optimal policies, with an error that is promised.

    (T V)(s)    = max_a  R_theta(s,a) + gamma sum_s' P_theta(s'|s,a) V(s')      Bellman operator
    V^pi        = (I - gamma P_pi)^{-1} R_pi                                    `evaluate`, exact
    |V - V*|   <= gamma/(1-gamma) |V - V_before|                                after V = T V_before

`plan` uses policy iteration (exact up to rounding) while dense factors are cheap, and modified policy
iteration with MacQueen's bounds above that. Tolerances are on the error of V, never on the residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.keeper import Rows, Shown, Value
from vbmle.common.validation import Floats, Ints
from vbmle.core import planning as core
from vbmle.core.library import TUNING
from vbmle.core.model import Purpose
from vbmle.core.planning import Planner
from vbmle.model import feasible_set
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.naming import Names

if TYPE_CHECKING:
    import polars

DENSE_STATES = int(TUNING["factors_most_states"].value)
"""Up to this many states policies are evaluated by dense factors."""

EPSILON = float(np.finfo(np.float64).eps)
"""A probability is known to this, so V to V times this over 1-gamma; a few times that bounds what rounding does."""

METHODS = ("auto", "policy-iteration", "modified-policy-iteration")


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Shown, Value):
    """An optimal policy for one theta, as `plan` and `plan_known` return it.

    Attributes
    ----------
    V : (S,) array
        The optimal value of each state, of the reward in [0, 1] that is planned with.
    Q : (S, A) array
        The value of each action, followed by the policy.
    policy : (S,) integer array
        The greedy policy.
    error_bound : float
        A bound on |V - V*| in every state. It counts rounding, and transitions that were too small to be kept: near
        gamma = 1 that may be more than the tolerance, however long one computes.
    converged : bool
        Whether `error_bound` is within the tolerance that was asked for.
    mdp : LinearMixtureMDP, optional
        The model that was planned for. It knows the units of your reward, in which `value`, `action_value` and
        `value_error` give V, Q and the bound.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> found = vbmle.plan(world.mdp, world.theta)
    >>> found.Q.shape, found.error_bound < 1e-8
    ((6, 2), True)
    """

    V: Floats
    Q: Floats
    policy: Ints
    error_bound: float
    converged: bool
    mdp: LinearMixtureMDP | None = None

    @property
    def value(self) -> Floats:
        """V in the units of your reward, (S,)."""
        return self.V if self.mdp is None else self.mdp.in_units(self.V)

    @property
    def action_value(self) -> Floats:
        """Q in the units of your reward, (S, A)."""
        return self.Q if self.mdp is None else self.mdp.in_units(self.Q)

    @property
    def value_error(self) -> float:
        """The error bound in the units of your reward."""
        return self.error_bound * (1.0 if self.mdp is None else self.mdp.reward_scale)

    def _shown(self) -> Rows:
        from vbmle.common import showing

        names = Names() if self.mdp is None else self.mdp.names
        ends = f"{showing.number(self.value.min())} to {showing.number(self.value.max())}"
        error = f"{self.value_error:.2g}" + ("" if self.converged else " (not converged)")
        return [
            ("states", str(len(self.V))),
            ("value", ends),
            ("error at most", error),
            ("policy", showing.choices(names.states, names.actions, self.policy)),
        ]

    def to_frame(self) -> polars.DataFrame:
        """A polars frame with a row for each state and action that is allowed there, by name where they have names.

        Columns: state, action, value (of the state) and action_value, in your units, and best, where the policy takes
        that action.
        """
        from vbmle.common import extras

        states, actions = (numbers.ravel() for numbers in np.indices(self.Q.shape))
        may = np.ones(self.Q.shape, dtype=bool) if self.mdp is None else self.mdp.allowed
        names, kept = Names() if self.mdp is None else self.mdp.names, may.ravel()
        return extras.frame(
            {
                "state": names.of_states(states[kept]),
                "action": names.of_actions(actions[kept]),
                "value": self.value[states[kept]],
                "action_value": self.action_value.ravel()[kept],
                "best": (actions == self.policy[states])[kept],
            }
        )


def plan(mdp: LinearMixtureMDP, theta: ArrayLike, tolerance: float = 1e-8, method: str = "auto") -> Plan:
    """The optimal value and policy of the model at theta, within `tolerance` of V*.

    Among actions whose values tie within rounding the lowest index is chosen.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    theta : (d,) array
        A feasible theta.
    tolerance : float, default 1e-8
        The error of V that is promised, in units of value; reward lies in [0, 1], so V in [0, 1/(1-gamma)].
    method : {"auto", "policy-iteration", "modified-policy-iteration"}, default "auto"
        "auto" uses policy iteration up to 200 states.

    Raises
    ------
    ValueError
        If theta is not feasible (the message says by how much and where), or a setting is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> found = vbmle.plan(world.mdp, world.theta)
    >>> found.policy.tolist(), found.converged
    ([1, 1, 1, 1, 1, 1], True)
    """
    point = mdp.require_feasible(theta)
    _require_tolerance(tolerance)
    validation.one_of("method", method, METHODS)
    factors = method == "policy-iteration" or (
        method == "auto" and mdp.core.factors_pay(Purpose.VB_FOR_ONE_PLAN)
    )
    planner = Planner(mdp.core, factors)
    planner.put(theta=point)
    planner.assemble()
    least = rounding(mdp)
    if factors:
        error = planner.optimal() + _blur(mdp, point) * float(np.abs(planner.V).max()) / (1.0 - mdp.discount)
    else:
        error = max(planner.iterate(max(tolerance, least)), least)
    left_out = mdp.transitions.left_out * float(np.abs(point).sum()) / (1.0 - mdp.discount) ** 2
    return _settled(mdp, planner, error + left_out, tolerance)


def _blur(mdp: LinearMixtureMDP, theta: Floats) -> float:
    """How far rounding may move a row of probabilities: a few times EPSILON, more where large weights cancel."""
    each = feasible_set.rounding_of(mdp.transitions.phi, theta)
    if isinstance(each, float):
        return 8.0 * EPSILON
    return max(8.0 * EPSILON, float(np.add.reduceat(each, mdp.transitions.indptr[:-1]).max()))


def plan_known(
    transition: ArrayLike | sparse.csr_array, reward: ArrayLike, discount: float, tolerance: float = 1e-8
) -> Plan:
    """The optimal value and policy of one model that is fully known, without a mixture around it.

    By modified policy iteration; where the model mixes so slowly that factors of I - gamma P_pi are cheaper, sparse
    ones if they fill little, policy iteration takes over.

    Parameters
    ----------
    transition : (S, A, S) array, or SciPy sparse (S*A, S)
        The probability of each next state; every row sums to 1.
    reward : (S, A) array
        Of any range.
    discount : float
        gamma, strictly between 0 and 1.
    tolerance : float, default 1e-8
        The error of V that is promised, in units of the reward.

    Raises
    ------
    ValueError
        If a row of `transition` is not a probability distribution, or a shape or setting is wrong.

    Examples
    --------
    >>> import vbmle
    >>> stay_or_swap = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    >>> found = vbmle.plan_known(stay_or_swap, reward=[[0, 0], [1, 1]], discount=0.5)
    >>> found.policy.tolist(), found.V.round(6).tolist()
    ([1, 0], [1.0, 2.0])
    """
    table = validation.contiguous("reward", reward)
    if table.ndim != 2:
        raise ValueError(f"reward has shape {table.shape}; it needs (S, A)")
    _require_tolerance(tolerance)
    gamma = validation.fraction("discount", discount)
    p: Any = transition
    try:
        if type(p) is np.ndarray or not sparse.issparse(p):
            p = validation.contiguous("transition", p)
            validation.require_shape("transition", p, (*table.shape, table.shape[0]), "(S, A, S)")
            found = core.plan_dense(p, table, gamma, tolerance)
        else:
            rows = p if isinstance(p, sparse.csr_array) else sparse.csr_array(p)
            found = _plan_sparse(rows, table, gamma, tolerance)
    except ValueError:
        validation.require_finite("reward", table)
        raise
    if found.broken_pair >= 0 or found.least_reward == -inf:
        _refuse(found, p, table)
    return Plan(found.V, found.Q, found.policy, found.error_bound, found.error_bound <= tolerance)


def _plan_sparse(moves: sparse.csr_array, reward: Floats, gamma: float, tolerance: float) -> core.KnownPlan:
    states, actions = reward.shape
    validation.require_shape("transition", moves, (states * actions, states), "(S*A, S)")
    p = validation.contiguous("transition.data", moves.data)
    pattern = (np.ascontiguousarray(moves.indptr, np.int32), np.ascontiguousarray(moves.indices, np.int32))
    return core.plan_sparse(pattern, p, reward, gamma, tolerance)


def _refuse(found: core.KnownPlan, transition: Any, reward: Floats) -> NoReturn:
    """Say what is wrong. The core looks at every number anyway, so that nothing else does before it has complained."""
    validation.require_finite("reward", reward)
    if sparse.issparse(transition):
        validation.require_finite("transition.data", transition.data)
    else:
        validation.require_finite("transition", transition)
    state, action = divmod(found.broken_pair, reward.shape[1])
    raise ValueError(
        f"transition is not a probability distribution at (s={state}, a={action}); rows are >= 0 and sum to 1"
    )


def make_planner(mdp: LinearMixtureMDP) -> Planner:
    """A planner for a model that is planned for again and again: by factors where they pay, else by sweeps."""
    return Planner(mdp.core, uses_factors(mdp))


def uses_factors(mdp: LinearMixtureMDP) -> bool:
    """Whether to keep (S, S) factors of I - gamma P, when planning again and again, or to sweep: the core decides."""
    return mdp.core.factors_pay(Purpose.VB_FOR_MANY_PLANS)


def value_iteration(
    mdp: LinearMixtureMDP, theta: ArrayLike, tolerance: float = 1e-8, sweeps: int | None = None
) -> Plan:
    """The paper's Algorithm 2: V = 1/(1-gamma), then V = T V, `sweeps` times or until the error is promised.

    The error after a sweep is at most gamma/(1-gamma) max |T V - V|.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    theta : (d,) array
        A feasible theta.
    tolerance : float, default 1e-8
        The error of V at which it stops, in units of value.
    sweeps : int, optional
        A fixed number of sweeps instead.

    Raises
    ------
    ValueError
        If theta is not feasible (the message says by how much and where), or a setting is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.value_iteration(world.mdp, world.theta, tolerance=1e-6).error_bound <= 1e-6
    True
    """
    point = mdp.require_feasible(theta)
    _require_tolerance(tolerance)
    limit = 10_000_000 if sweeps is None else validation.positive_integer("sweeps", sweeps)
    planner = Planner(mdp.core, factors=False)
    planner.put(theta=point, V=1.0 / (1.0 - mdp.discount))
    planner.assemble()
    error = np.inf
    for _ in range(limit):
        planner.sweep()
        planner.put(V=planner.next)
        low, high = planner.change
        error = mdp.discount / (1.0 - mdp.discount) * max(-low, high, 0.0)
        error = max(error, rounding(mdp))
        if sweeps is None and error <= max(tolerance, rounding(mdp)):
            break
    return _settled(mdp, planner, float(error), tolerance)


def evaluate(mdp: LinearMixtureMDP, theta: ArrayLike, policy: ArrayLike) -> Floats:
    """V^pi(.; theta) of a stationary deterministic policy: by one linear solve, exact up to rounding.

    Above a thousand states by sweeps, to 1e-11 of the largest possible value, 1/(1-gamma). The value is of the reward
    in [0, 1] that is planned with: `mdp.in_units(V)` gives it in the units of your reward.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The model.
    theta : (d,) array
        A feasible theta.
    policy : (S,) ints
        An action for each state.

    Raises
    ------
    ValueError
        If theta is not feasible (the message says by how much and where), or a setting is out of range.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.evaluate(world.mdp, world.theta, [0] * 6).shape
    (6,)
    """
    chosen = require_policy(mdp, policy)
    planner = Planner(mdp.core, factors=mdp.core.factors_pay(Purpose.VB_FOR_ONE_VALUE))
    planner.put(theta=mdp.require_feasible(theta), policy=chosen)
    planner.assemble()
    planner.evaluate()
    return planner.V.copy()


def expected_reward(mdp: LinearMixtureMDP, p: Floats) -> Floats:
    """R_theta by pair (s, a), from the transition probabilities p."""
    if len(mdp.transition_reward) == 0:
        return mdp.pair_reward
    return mdp.pair_reward + np.add.reduceat(p * mdp.transition_reward, mdp.transitions.indptr[:-1])


def require_policy(mdp: LinearMixtureMDP, policy: ArrayLike) -> Ints:
    """A policy as (S,) ints in range."""
    array = np.asarray(policy)
    validation.require_shape("policy", array, (mdp.num_states,), "(S,)")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"policy has type {array.dtype}; it needs whole numbers, one action per state")
    bad = np.nonzero((array < 0) | (array >= mdp.num_actions))[0]
    if len(bad):
        raise ValueError(
            f"policy is {array[bad[0]]} at state {bad[0]}; actions are 0 to {mdp.num_actions - 1}"
        )
    forbidden = np.nonzero(~mdp.allowed[np.arange(mdp.num_states), array])[0]
    if len(forbidden):
        s = int(forbidden[0])
        raise ValueError(f"policy takes an action that is not allowed: {mdp.names.pair(s, int(array[s]))}")
    return array.astype(np.int64)


def rounding(mdp: LinearMixtureMDP) -> float:
    """The error of V below which sweeps cannot promise anything."""
    return core.rounding(mdp.discount)


def _require_tolerance(tolerance: float) -> None:
    if not 0.0 < tolerance < inf:
        raise ValueError(f"tolerance is {tolerance}; it needs a positive finite number")


def _settled(mdp: LinearMixtureMDP, planner: Planner, error: float, tolerance: float) -> Plan:
    """The plan that a planner holds, the lowest action chosen among those that tie."""
    planner.settle()
    return Plan(planner.V.copy(), planner.Q.copy(), planner.policy.copy(), error, error <= tolerance, mdp)
