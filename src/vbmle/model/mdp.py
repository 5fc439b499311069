"""What is known: the structure of a linear mixture MDP.

`LinearMixtureMDP` holds the known structure of a discounted linear mixture MDP,

    P_theta(s'|s,a) = <phi(s'|s,a), theta>,   R_theta(s,a) = r(s,a)  or  sum_s' P_theta(s'|s,a) r(s,a,s'),

finite states and actions, known features, known reward in [0, 1], discount gamma < 1, and the feasible set P
of theta (see `vbmle.model.feasible_set`). What is hidden is in `vbmle.model.world`. Data and
validation only: nothing here solves anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from vbmle.common import validation
from vbmle.common.files import load_npz, pack, save_npz, unpack
from vbmle.common.validation import Floats, Ints
from vbmle.core.model import Model
from vbmle.model import core_model, feasible_set, transitions
from vbmle.model.core_model import FlatSet
from vbmle.model.feasible_set import Constraints
from vbmle.model.transitions import Transitions

DOMAINS = ("polytope", "simplex", "vertices")
FORMAT = "vbmle-model-1"
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
        The latter for rewards that depend on the next state; values in [0, 1].
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
    ) -> None:
        phi = validation.finite_array("features", features, 4)
        states, actions, successors, dimension = phi.shape
        if min(phi.shape) == 0 or successors != states:
            raise ValueError(f"features has shape {phi.shape}; it needs (S, A, S, d) with no empty axis")
        excluded = validation.mask("impossible", impossible, (states, actions, states))
        rows = transitions.from_dense(phi, excluded)
        zero_at = np.argwhere(excluded & (np.abs(phi).max(axis=3) >= transitions.NEGLIGIBLE))
        constraints = Constraints(
            rows,
            transitions.compact(phi.sum(axis=2).reshape(states * actions, dimension)),
            phi[tuple(zero_at.T)].reshape(len(zero_at), dimension),
            [f"(s={s}, a={a}, s'={t})" for s, a, t in zero_at],
            validation.probability("p_min", p_min),
            validation.one_of("domain", domain, DOMAINS),
        )
        self._set(constraints, reward, discount, initial, normalise_reward, is_sparse=False)

    def _set(
        self,
        constraints: Constraints,
        reward: ArrayLike | Matrix,
        discount: float,
        initial: ArrayLike | None,
        normalise_reward: bool,
        is_sparse: bool,
    ) -> None:
        rows = constraints.transitions
        self.constraints = constraints
        self.transitions: Transitions = rows
        self.num_states, self.num_actions, self.dimension = rows.num_states, rows.num_actions, rows.dimension
        self.discount = validation.fraction("discount", discount)
        self.p_min, self.domain, self.is_sparse = constraints.p_min, constraints.domain, is_sparse
        self.initial = validation.distribution("initial", initial, self.num_states)
        empty = np.nonzero(np.diff(rows.indptr) == 0)[0]
        if len(empty):
            state, action = divmod(int(empty[0]), self.num_actions)
            raise ValueError(f"(s={state}, a={action}) has no possible successor; every pair needs one")
        self.row_reward, self.transition_reward = transitions.reward_tables(rows, reward)
        self.reward_offset, self.reward_scale = 0.0, 1.0
        self._check_reward(normalise_reward)
        self.polytope = feasible_set.build(constraints)
        for array in (self.initial, self.row_reward, self.transition_reward, rows.indptr, rows.successor):
            array.flags.writeable = False

    def _check_reward(self, normalise: bool) -> None:
        values = self.transition_reward if len(self.transition_reward) else self.row_reward
        low, high = float(values.min()), float(values.max())
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

    def _pair(self, row: int) -> str:
        state, action = divmod(row, self.num_actions)
        return f"(s={state}, a={action})"

    @classmethod
    def _build(
        cls, constraints: Constraints, reward: ArrayLike | Matrix, discount: float, **rest: Any
    ) -> Self:
        self = cls.__new__(cls)
        self._set(
            constraints,
            reward,
            discount,
            rest.pop("initial", None),
            rest.pop("normalise_reward", False),
            rest.pop("is_sparse", False),
        )
        return self

    @classmethod
    def from_models(
        cls,
        models: Sequence[ArrayLike] | Sequence[sparse.sparray],
        reward: ArrayLike | Matrix,
        discount: float,
        *,
        p_min: float = 0.0,
        impossible: ArrayLike | None = None,
        initial: ArrayLike | None = None,
        domain: str = "simplex",
        normalise_reward: bool = False,
    ) -> Self:
        """A mix of d known base models: P_theta = sum_k theta_k models[k]; one of them where domain="vertices".

        Each model is an (S, A, S) array, or a SciPy sparse (S*A, S) array whose row s*A + a holds the pair
        (s, a); sparse models stay sparse throughout.
        """
        if len(models) == 0:
            raise ValueError("models is empty; it needs at least one base model")
        if not any(sparse.issparse(m) for m in models):
            arrays = [validation.finite_array(f"models[{k}]", m, 3) for k, m in enumerate(models)]
            for k, array in enumerate(arrays):
                validation.require_shape(f"models[{k}]", array, arrays[0].shape, "the shape of models[0]")
                validation.require_stochastic(f"models[{k}]", array)
            features = np.stack(arrays, axis=-1)
            return cls(features, reward, discount, p_min, impossible, initial, domain, normalise_reward)
        if not all(sparse.issparse(m) for m in models):
            raise ValueError("models mixes sparse and dense arrays; give all of them in one form")
        if impossible is not None:
            raise ValueError("impossible is for dense models; leave entries out of sparse models instead")
        rows = transitions.sparse_mixture([sparse.csr_array(m) for m in models])
        constraints = Constraints(
            rows,
            np.ones((len(rows.indptr) - 1, len(models))),
            np.zeros((0, len(models))),
            [],
            validation.probability("p_min", p_min),
            validation.one_of("domain", domain, DOMAINS),
        )
        return cls._build(
            constraints, reward, discount, initial=initial, normalise_reward=normalise_reward, is_sparse=True
        )

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
    ) -> Self:
        """One parameter per possible transition. `support` is boolean: (S, A, S), or sparse (S*A, S).

        theta[i] is the probability of the i-th possible transition, ordered by (s, a, s').
        """
        is_sparse = sparse.issparse(support)
        if is_sparse:
            pattern = sparse.csr_array(support).astype(np.float64)
            states = pattern.shape[1]
            if states == 0 or pattern.shape[0] % states or pattern.shape[0] == 0:
                raise ValueError(f"support has shape {pattern.shape}; a sparse one needs (S*A, S)")
        else:
            mask = validation.mask("support", support, None)
            states = mask.shape[0]
            pattern = sparse.csr_array(mask.reshape(-1, states).astype(np.float64))
        rows = transitions.one_parameter_each(pattern, pattern.shape[0] // states)
        count = rows.count
        sums = sparse.csr_array(
            (np.ones(count), np.arange(count), rows.indptr), shape=(len(rows.indptr) - 1, count)
        )
        zeros = sparse.csr_array((0, count))
        constraints = Constraints(rows, sums, zeros, [], validation.probability("p_min", p_min), "polytope")
        return cls._build(
            constraints,
            reward,
            discount,
            initial=initial,
            normalise_reward=normalise_reward,
            is_sparse=is_sparse,
        )

    @classmethod
    def bilinear(
        cls, psi: ArrayLike, mu: ArrayLike, reward: ArrayLike, discount: float, **settings: Any
    ) -> Self:
        """P = psi(s,a)^T M mu(s'), psi (S, A, p) and mu (S, q) known: theta = vec M, row by row (d = p q).

        `settings` are those of the class: p_min, impossible, initial, domain, normalise_reward.
        """
        left = validation.finite_array("psi", psi, 3)
        right = validation.finite_array("mu", mu, 2)
        states, actions, p = left.shape
        validation.require_shape("mu", right, (states, right.shape[1]), "(states of psi, q)")
        features = np.einsum("sap,tq->satpq", left, right).reshape(
            states, actions, states, p * right.shape[1]
        )
        return cls(features, reward, discount, **settings)

    def transition(self, theta: ArrayLike) -> Floats | sparse.csr_array:
        """P_theta as (S, A, S), or as a sparse (S*A, S) array for a model built from sparse parts."""
        p = self.transitions.probabilities(self.require_theta(theta))
        return self.transitions.csr(p) if self.is_sparse else self.transitions.dense(p)

    def contains(self, theta: ArrayLike, tol: float = 1e-9) -> bool:
        """Whether theta lies in the feasible set, up to tol on scaled rows."""
        return self.constraints.violation(self.require_theta(theta))[0] <= tol

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

    def fingerprint(self) -> str:
        """A hash of everything known, so that saved agents are not continued on another model."""
        digest = hashlib.sha256()
        for name, array in sorted(self._arrays().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        rows, c = self.transitions, self.constraints
        meta = {
            "format": FORMAT,
            "shape": [self.num_states, self.num_actions, self.dimension],
            "discount": self.discount,
            "p_min": self.p_min,
            "domain": self.domain,
            "is_sparse": self.is_sparse,
            "reward_offset": self.reward_offset,
            "reward_scale": self.reward_scale,
            "zero_names": c.zero_names,
        }
        arrays: dict[str, NDArray[Any]] = {
            "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
            "indptr": rows.indptr,
            "successor": rows.successor,
            "initial": self.initial,
            "row_reward": self.row_reward,
            "transition_reward": self.transition_reward,
        }
        for name, matrix in (("phi", rows.phi), ("sums", c.sums), ("zeros", c.zeros)):
            arrays |= pack(name, matrix)
        return arrays

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as .npz (no pickle), aside first and then renamed."""
        save_npz(path, self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`; ValueError names the file when it is damaged or foreign."""
        arrays, meta = load_npz(path, FORMAT, "a model written by LinearMixtureMDP.save")
        try:
            states, actions, _ = meta["shape"]
            rows = Transitions(states, actions, arrays["indptr"], arrays["successor"], unpack("phi", arrays))
            c = Constraints(
                rows,
                unpack("sums", arrays),
                unpack("zeros", arrays),
                meta["zero_names"],
                meta["p_min"],
                meta["domain"],
            )
            by_transition = len(arrays["transition_reward"]) > 0
            reward = rows.csr(arrays["transition_reward"]) if by_transition else arrays["row_reward"]
            reward = reward if by_transition else reward.reshape(states, actions)
            self = cls._build(
                c, reward, meta["discount"], initial=arrays["initial"], is_sparse=meta["is_sparse"]
            )
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"{path} is a damaged model file: {error!r}") from error
        self.reward_offset, self.reward_scale = meta["reward_offset"], meta["reward_scale"]
        return self

    def __repr__(self) -> str:
        shape = f"states={self.num_states}, actions={self.num_actions}, dimension={self.dimension}"
        return f"LinearMixtureMDP({shape}, discount={self.discount:g}, domain={self.domain!r})"
