"""What is known: the structure of a linear mixture MDP.

`LinearMixtureMDP` holds the known structure of a discounted linear mixture MDP,

    P_theta(s'|s,a) = <phi(s'|s,a), theta>,   R_theta(s,a) = r(s,a)  or  sum_s' P_theta(s'|s,a) r(s,a,s'),

finite states and actions, known features, known reward in [0, 1], discount gamma < 1, and the feasible set P
of theta (see `vbmle.model.feasible_set`). What is hidden is in `vbmle.model.world`. Data and
validation only: nothing here solves anything.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbmle.common import validation
from vbmle.common.files import UNREADABLE, save_npz
from vbmle.common.keeper import Rows
from vbmle.common.validation import Bools, Floats, Ints
from vbmle.core.model import Model
from vbmle.model import core_model, feasible_set, naming, transitions
from vbmle.model.core_model import FlatSet
from vbmle.model.feasible_set import FLAT, Constraints
from vbmle.model.naming import Names
from vbmle.model.transitions import Transitions

DOMAINS = ("polytope", "simplex", "vertices")
Matrix: TypeAlias = Floats | sparse.csr_array

# Agents of two threads must share one handle: what was made on one does not fit what was made on another.
_ONE_HANDLE = threading.Lock()


class LinearMixtureMDP:
    """A discounted MDP whose dynamics are linear in an unknown theta, with everything else known.

    `from_models`, `tabular` and `bilinear` build the features for you.

    Parameters
    ----------
    features : (S, A, S, d) array
        `features[s, a, s']` is phi(s'|s,a).
    reward : (S, A) or (S, A, S) array
        The second form is for rewards that depend on the next state. Values in [0, 1].
    discount : float
        gamma, strictly between 0 and 1.
    p_min : float, default 0.0
        Known lower bound on the probability of every possible transition.
    impossible : (S, A, S) boolean array, optional
        Transitions known to have probability 0 (the set P_0).
    initial : (S,) array, optional
        Distribution of the first state; uniform by default.
    domain : {"polytope", "simplex", "vertices"}, default "polytope"
        The whole feasible set P; P with theta >= 0 and sum theta = 1; or "vertices", where theta is one of the d base
        models: all weight on one of them.
    normalise_reward : bool, default False
        Map rewards linearly to [0, 1] instead of refusing others. Planning and estimation then work with the mapped
        reward, r = (user's r - reward_offset) / reward_scale; regret is reported in the user's units.
    allowed : (S, A) boolean array, optional
        The actions that may be taken; all by default. A state needs at least one. Other pairs are
        ignored: their rewards may be NaN.
    state_names : sequence of str, optional
        What states are called in messages; `act` and `observe` of agents take names too.
    action_names : sequence of str, optional
        The same for actions.

    Raises
    ------
    ValueError
        If an array has the wrong shape or value, or no theta is feasible; the message says where.

    Examples
    --------
    >>> import vbmle
    >>> stay, go = [[[1, 0]], [[0, 1]]], [[[0, 1]], [[1, 0]]]
    >>> mdp = vbmle.LinearMixtureMDP.from_models([stay, go], reward=[[0], [1]], discount=0.9)
    >>> mdp.transition([0.75, 0.25])[0, 0].tolist()
    [0.75, 0.25]
    """

    prior: Floats | None = None
    """What was believed about theta before any data, (d,): `from_models` and `tabular` say in what form."""

    def __init__(
        self,
        features: ArrayLike,
        reward: ArrayLike,
        discount: float,
        p_min: float = 0.0,
        impossible: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        domain: str = "polytope",
        normalise_reward: bool = False,
        allowed: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> None:
        phi = validation.finite_array("features", features, 4)
        states, actions, successors, dimension = phi.shape
        if min(phi.shape) == 0 or successors != states:
            raise ValueError(f"features has shape {phi.shape}; it needs (S, A, S, d) with no empty axis")
        names = naming.make_names(state_names, action_names, states, actions)
        may = naming.action_mask(allowed, states, actions, names)
        phi = naming.filled(phi, may)
        excluded = validation.mask("impossible", impossible, (states, actions, states))
        excluded = naming.filled(excluded, may).astype(bool)
        possible = transitions.from_dense(phi, excluded)
        zero_at = np.argwhere(excluded & (np.abs(phi).max(axis=3) >= transitions.NEGLIGIBLE_FEATURE))
        constraints = Constraints(
            possible,
            transitions.compact(phi.sum(axis=2).reshape(states * actions, dimension)),
            phi[tuple(zero_at.T)].reshape(len(zero_at), dimension),
            [f"(s={s}, a={a}, s'={t})" for s, a, t in zero_at],
            validation.probability("p_min", p_min),
            validation.one_of("domain", domain, DOMAINS),
        )
        self._set(constraints, reward, discount, may, names, initial, normalise_reward)

    def _set(
        self,
        constraints: Constraints,
        reward: ArrayLike | Matrix,
        discount: float,
        allowed: Bools,
        names: Names,
        initial: ArrayLike | None = None,
        normalise_reward: bool = False,
        is_sparse: bool = False,
    ) -> None:
        possible = constraints.transitions
        self.allowed, self.names = allowed, names
        self.constraints = constraints
        self.transitions: Transitions = possible
        """The possible transitions: of each its pair (s, a), its successor and its features."""
        self.num_states, self.num_actions = possible.num_states, possible.num_actions
        self.dimension = possible.dimension
        self.discount = validation.fraction("discount", discount)
        self.p_min, self.domain, self.is_sparse = constraints.p_min, constraints.domain, is_sparse
        self.initial = validation.distribution("initial", initial, self.num_states)
        empty = np.nonzero(np.diff(possible.indptr) == 0)[0]
        if len(empty):
            state, action = divmod(int(empty[0]), self.num_actions)
            raise ValueError(f"{names.pair(state, action)} has no possible successor; every pair needs one")
        self.pair_reward, self.transition_reward = transitions.reward_tables(possible, reward, allowed)
        self.reward_offset, self.reward_scale = 0.0, 1.0
        self._check_reward(normalise_reward)
        self.pair_reward[~allowed.ravel()] = -np.inf
        self.polytope = feasible_set.build(constraints)
        self._freeze()

    def _freeze(self) -> None:
        """Refuse changes of the arrays that others may see."""
        own = (self.allowed, self.initial, self.pair_reward, self.transition_reward)
        for array in (*own, self.transitions.indptr, self.transitions.successor):
            array.flags.writeable = False

    def _check_reward(self, normalise: bool) -> None:
        values = self.transition_reward if len(self.transition_reward) else self.pair_reward
        pairs = self.transitions.pair_of if len(self.transition_reward) else np.arange(len(values))
        counted = values[self.allowed.ravel()[pairs]]
        values[~self.allowed.ravel()[pairs]] = counted.min()
        low, high = float(counted.min()), float(counted.max())
        if low >= 0.0 and high <= 1.0:
            return
        if not normalise:
            i = int(values.argmin() if low < 0.0 else values.argmax())
            where = self.transitions.name(i) if len(self.transition_reward) else self._pair(i)
            raise ValueError(
                f"reward is {values[i]:g} at {where}; it must lie in [0, 1] "
                "(normalise_reward=True maps any range to [0, 1])"
            )
        self.reward_offset, self.reward_scale = low, (high - low) or 1.0
        values -= self.reward_offset
        values /= self.reward_scale

    def _pair(self, number: int) -> str:
        return self.names.pair(*divmod(number, self.num_actions))

    @classmethod
    def _build(
        cls, constraints: Constraints, reward: ArrayLike | Matrix, discount: float, **rest: Any
    ) -> Self:
        self = cls.__new__(cls)
        self._set(constraints, reward, discount, **rest)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """All but what is computed on first use: a handle on the core belongs to one process."""
        return {name: value for name, value in vars(self).items() if name not in core_model.COMPUTED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._freeze()  # which pickle does not keep

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A model never changes, so that a copy would only take memory."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearMixtureMDP):
            return NotImplemented
        return self is other or self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash((self.num_states, self.num_actions, self.dimension, self.discount))

    @classmethod
    def from_models(
        cls,
        models: Mapping[str, Any] | Sequence[ArrayLike] | Sequence[sparse.sparray],
        reward: ArrayLike | Matrix,
        discount: float,
        *,
        p_min: float = 0.0,
        impossible: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        domain: str = "simplex",
        normalise_reward: bool = False,
        allowed: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        renormalise: str = "warn",
        prior: ArrayLike | None = None,
    ) -> Self:
        """A mix of d known base models: P_theta = sum_k theta_k models[k]; one of them where domain="vertices".

        The settings that are not listed are those of the class. Candidates that are nearly equal give a warning.

        Parameters
        ----------
        models : sequence or dict of arrays
            Each an (S, A, S) array, or a SciPy sparse (S*A, S) array whose row `s * A + a` holds (s, a); sparse
            models stay sparse throughout. A dict gives models names; a table may name states and actions too.
        reward : (S, A) or (S, A, S) array
            As in the class; SciPy sparse (S*A, S) too.
        domain : {"simplex", "vertices", "polytope"}, default "simplex"
            Theta is a mix of the models; one of them; or any theta that gives valid probabilities.
        renormalise : {"warn", "error", "any"}, default "warn"
            What to do with rows that do not sum to 1. Those that miss it by less than 1e-4 are divided by their sum,
            with a warning; "error" refuses them, "any" divides every row.
        prior : (d,) array, optional
            Where theta is one of the models, the probability of each; for mixes of them, the parameters of a Dirichlet
            distribution, at least 1. Agents that are Bayesian begin with it; without one they are uniform.
        """
        from vbmle.model.base_models import BaseModels, warn_of_twins

        given = BaseModels(models, renormalise, allowed, state_names, action_names)
        names = given.names
        if not given.is_sparse:
            rest = (p_min, impossible, initial, domain, normalise_reward, given.allowed)
            made = cls(given.features(), reward, discount, *rest, names.states, names.actions)
            warn_of_twins(made.transitions, names.models)
            made.names = names
            return made._with_prior(prior)
        if impossible is not None:
            raise ValueError("impossible is for dense models; leave entries out of sparse models instead")
        constraints = given.constraints(
            validation.probability("p_min", p_min), validation.one_of("domain", domain, DOMAINS)
        )
        warn_of_twins(constraints.transitions, names.models)
        known = {"initial": initial, "normalise_reward": normalise_reward, "allowed": given.allowed}
        made = cls._build(constraints, reward, discount, is_sparse=True, names=names, **known)
        return made._with_prior(prior)

    @classmethod
    def tabular(
        cls,
        support: ArrayLike | sparse.sparray,
        reward: ArrayLike | Matrix,
        discount: float,
        *,
        p_min: float = 0.0,
        initial: ArrayLike | None = None,
        normalise_reward: bool = False,
        allowed: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        prior: ArrayLike | None = None,
    ) -> Self:
        """One parameter per possible transition: theta[i] is the probability of the i-th, ordered by (s, a, s').

        The settings that are not listed are those of the class. A pair that is not allowed has a single transition, of
        probability 1.

        Parameters
        ----------
        support : boolean (S, A, S) array, or SciPy sparse (S*A, S)
            Which transitions are possible.
        prior : (d,) array, optional
            Parameters of independent Dirichlet distributions, one for each pair, in the order of theta. Agents that are
            Bayesian begin with them; without them they are uniform.
        """
        pattern, actions = transitions.support_pattern(support)
        names = naming.make_names(state_names, action_names, pattern.shape[1], actions)
        may = naming.action_mask(allowed, pattern.shape[1], actions, names)
        if not may.all():
            pattern = naming.one_successor(pattern, may)
        possible = transitions.one_parameter_each(pattern, actions)
        constraints = feasible_set.tabular(possible, validation.probability("p_min", p_min))
        known = {"initial": initial, "normalise_reward": normalise_reward, "allowed": may, "names": names}
        made = cls._build(constraints, reward, discount, is_sparse=sparse.issparse(support), **known)
        return made._with_prior(prior)

    @classmethod
    def bilinear(
        cls, psi: ArrayLike, mu: ArrayLike, reward: ArrayLike, discount: float, **settings: Any
    ) -> Self:
        """P = psi(s,a)^T M mu(s') with psi and mu known: theta = vec M, row by row (d = p q).

        Parameters
        ----------
        psi : (S, A, p) array
            Features of the pair (s, a).
        mu : (S, q) array
            Features of the next state.
        **settings
            Those of the class: p_min, impossible, initial, domain, normalise_reward, allowed, names.
        """
        left = validation.finite_array("psi", psi, 3)
        right = validation.finite_array("mu", mu, 2)
        states, actions, p = left.shape
        validation.require_shape("mu", right, (states, right.shape[1]), "(states of psi, q)")
        features = np.einsum("sap,tq->satpq", left, right).reshape(
            states, actions, states, p * right.shape[1]
        )
        return cls(features, reward, discount, **settings)

    def _with_prior(self, prior: ArrayLike | None) -> Self:
        """This model, new until now, with a prior."""
        if prior is not None:
            from vbmle.model import priors

            self.prior = priors.checked(self, prior)
        return self

    def transition(self, theta: ArrayLike) -> Floats | sparse.csr_array:
        """P_theta as (S, A, S), or as a sparse (S*A, S) array for a model built from sparse parts."""
        p = self.transitions.probabilities(self.require_theta(theta))
        return self.transitions.csr(p) if self.is_sparse else self.transitions.dense(p)

    def contains(self, theta: ArrayLike, tol: float = 1e-9) -> bool:
        """Whether theta lies in the feasible set, up to tol on scaled rows."""
        return self.constraints.violation(self.require_theta(theta))[0] <= tol

    @property
    def reward(self) -> Matrix:
        """The known reward as you gave it, in your units: (S, A), NaN where an action is not allowed.

        (S, A, S) where it depends on the next state, 0 for transitions that cannot happen; sparse (S*A, S) for a model
        built from sparse parts.
        """
        if not len(self.transition_reward):
            table = self.pair_reward * self.reward_scale + self.reward_offset
            return np.where(self.allowed, table.reshape(self.num_states, self.num_actions), np.nan)
        values = self.transition_reward * self.reward_scale + self.reward_offset
        values = np.where(self.allowed.ravel()[self.transitions.pair_of], values, np.nan)
        return self.transitions.csr(values) if self.is_sparse else self.transitions.dense(values)

    def require_theta(self, theta: ArrayLike) -> Floats:
        """theta as a float array of the right shape, without NaN or infinity; feasible or not."""
        array = validation.finite_array("theta", theta, 1)
        validation.require_shape("theta", array, (self.dimension,), "(d,)")
        return array

    def require_feasible(self, theta: ArrayLike, tol: float = 1e-9) -> Floats:
        """theta as an array, refused when it lies outside the feasible set."""
        array = self.require_theta(theta)
        amount, where = self.constraints.violation(array)
        if amount > tol:
            raise ValueError(f"theta lies outside the feasible set by {amount:.3g}: {where}")
        return array

    def in_units(self, V: ArrayLike) -> Floats:
        """V (S,) or Q (S, A) of the reward that is planned with, converted to the units of your reward (euros, say).

        Nothing changes if your rewards lie in [0, 1]; otherwise r was mapped, and V with it.
        """
        shift = self.reward_offset / (1.0 - self.discount)
        return np.asarray(V, dtype=np.float64) * self.reward_scale + shift

    def state_number(self, state: int | str, what: str = "state") -> int:
        """The number of a state, given by number or by name."""
        return naming.number_of(what, state, self.names.states, self.num_states)

    def action_number(self, action: int | str) -> int:
        """The number of an action, given by number or by name."""
        return naming.number_of("action", action, self.names.actions, self.num_actions)

    @cached_property
    def core(self) -> Model:
        """The core's handle on all of it."""
        with _ONE_HANDLE:
            if "core" not in vars(self):
                vars(self)["core"] = core_model.core_model(self)
            handle: Model = vars(self)["core"]
            return handle

    @cached_property
    def flat_set(self) -> FlatSet:
        """The feasible set in flat arrays."""
        return core_model.flat_set(self.polytope)

    @cached_property
    def block_of_pair(self) -> Ints:
        """The block of the feasible set that governs each pair (s, a)."""
        return core_model.block_of_pairs(self)

    @cached_property
    def possible(self) -> Bools:
        """Which of `transitions` some feasible theta gives a probability above 0, for an action that is allowed."""
        # Where P is flat, a probability that is 0 all over it comes out as rounding of either sign.
        least = FLAT * np.minimum(1.0, transitions.row_norms(self.transitions.phi))
        found = self.transitions.probabilities(self.polytope.interior) > least
        return found & self.allowed.ravel()[self.transitions.pair_of]

    def fingerprint(self) -> str:
        """A hash of everything known, so that saved agents are not continued on another model."""
        from vbmle.model import model_file

        return model_file.digest(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as .npz (no pickle), under another name first and then renamed."""
        from vbmle.model import model_file

        save_npz(path, model_file.arrays_of(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; a ValueError names the file if it is damaged or something else."""
        from vbmle.model import model_file

        parts, units, prior = model_file.read(path, DOMAINS)
        try:
            self = cls._build(**parts)._with_prior(prior)
        except UNREADABLE as error:
            raise model_file.damaged(path, error) from error
        self.reward_offset, self.reward_scale = units
        return self

    def _repr_html_(self) -> str:
        from vbmle.common import showing

        return showing.as_html(type(self).__name__, self._shown())

    def _shown(self) -> Rows:
        from vbmle.common import showing

        low, high = self.reward_offset, self.reward_offset + self.reward_scale
        listed = {
            "states": self.names.states,
            "actions": self.names.actions,
            "base models": self.names.models,
        }
        counts = {"states": self.num_states, "actions": self.num_actions, "base models": self.dimension}
        what = {"simplex": "a mix of the base models", "vertices": "one of the base models"}.get(
            self.domain, "theta in the polytope"
        )
        rows = [
            (kind, f"{counts[kind]} ({showing.some(names)})" if names else str(counts[kind]))
            for kind, names in listed.items()
        ]
        if self.domain == "polytope" and not self.names.models:
            rows[-1] = ("dimension", str(self.dimension))
        reward = f"from {showing.number(low)} to {showing.number(high)}"
        return [*rows, ("truth", what), ("reward", reward), ("discount", f"{self.discount:g}")]

    def __repr__(self) -> str:
        shape = f"states={self.num_states}, actions={self.num_actions}, dimension={self.dimension}"
        return f"LinearMixtureMDP({shape}, discount={self.discount:g}, domain={self.domain!r})"
