"""A model as arrays by name, and back: what `LinearMixtureMDP.save` writes and `load` reads.

A file is checked field by field before anything is built from it. What is saved twice has to agree: the sums of a
pair's features over all next states are made again from the features and from those that must have probability 0.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vbmle.common import validation
from vbmle.common.files import UNREADABLE, field, load_npz, pack, unpack
from vbmle.common.keeper import require_within
from vbmle.common.validation import Bools, Floats
from vbmle.model import naming
from vbmle.model.feasible_set import Constraints
from vbmle.model.naming import Names
from vbmle.model.transitions import NEGLIGIBLE_FEATURE, Transitions, row_norms

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP

Arrays = dict[str, NDArray[Any]]
TRANSITION = re.compile(r"\(s=(\d{1,12}), a=(\d{1,12}), s'=(\d{1,12})\)")
MOST_PAIRS = 2**40

FORMAT = "vbmle-model-1"


def arrays_of(mdp: LinearMixtureMDP) -> dict[str, NDArray[Any]]:
    """All that is known, as arrays by name."""
    transitions, c = mdp.transitions, mdp.constraints
    meta = {
        "format": FORMAT,
        "shape": [mdp.num_states, mdp.num_actions, mdp.dimension],
        "discount": mdp.discount,
        "p_min": mdp.p_min,
        "domain": mdp.domain,
        "is_sparse": mdp.is_sparse,
        "reward_offset": mdp.reward_offset,
        "reward_scale": mdp.reward_scale,
        "zero_names": c.zero_names,
    }
    if transitions.left_out:
        meta["left_out"] = transitions.left_out
    arrays: dict[str, NDArray[Any]] = {
        "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
        "indptr": transitions.indptr,
        "successor": transitions.successor,
        "initial": mdp.initial,
        "row_reward": mdp.pair_reward,
        "transition_reward": mdp.transition_reward,
    }
    if not mdp.allowed.all():
        arrays["allowed"] = mdp.allowed
    if mdp.prior is not None:
        arrays["prior"] = mdp.prior
    if mdp.names != Names():
        text = json.dumps([mdp.names.states, mdp.names.actions, mdp.names.models])
        arrays["names"] = np.frombuffer(text.encode(), dtype=np.uint8)
    for name, matrix in (("phi", transitions.phi), ("sums", c.sums), ("zeros", c.zeros)):
        arrays |= pack(name, matrix)
    return arrays


def digest(mdp: LinearMixtureMDP) -> str:
    """A hash of all that is known, the same for one model whether it came dense, sparse or from a table.

    Names and the prior are left out: with others it is the same model. Sums of features are rounded: each form
    adds in its own order.
    """
    transitions, c = mdp.transitions, mdp.constraints
    numbers = [mdp.num_states, mdp.num_actions, mdp.dimension, mdp.discount, mdp.p_min, mdp.domain]
    total = hashlib.sha256(json.dumps([*numbers, mdp.reward_offset, mdp.reward_scale]).encode())
    arrays: list[NDArray[Any]] = [transitions.indptr, transitions.successor, mdp.initial, mdp.allowed]
    arrays += [mdp.pair_reward, mdp.transition_reward]
    for matrix, digits in ((transitions.phi, None), (c.sums, 9), (c.zeros, None)):
        entries = sparse.csr_array(matrix, copy=True)
        entries.sum_duplicates()
        entries.eliminate_zeros()
        values = entries.data if digits is None else np.round(entries.data, digits)
        arrays += [entries.indptr.astype(np.int64), entries.indices.astype(np.int64), values]
    for array in arrays:
        total.update(str(array.shape).encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


def read(
    path: str | os.PathLike[str], domains: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[float, float], Floats | None]:
    """What a model is built from, offset and scale of rewards, and the prior; ValueError where it is damaged."""
    arrays, meta = load_npz(path, FORMAT, "a model written by LinearMixtureMDP.save")
    try:
        found = _checked(arrays, meta, domains)
    except UNREADABLE as error:
        raise damaged(path, error) from error
    parts = found._asdict()
    return parts, (parts.pop("reward_offset"), parts.pop("reward_scale")), parts.pop("prior")


def damaged(path: str | os.PathLike[str], error: BaseException) -> ValueError:
    """One line about a file from which no model can be built."""
    why = str(error) if isinstance(error, ValueError) else repr(error)
    return ValueError(f"{path} is a damaged model file: {why}")


class _Saved(NamedTuple):
    """What a model is built from again."""

    constraints: Constraints
    reward: Floats | sparse.csr_array
    discount: float
    initial: Floats
    is_sparse: bool
    allowed: Bools
    names: Names
    reward_offset: float
    reward_scale: float
    prior: Floats | None


def _checked(arrays: Arrays, meta: dict[str, Any], domains: tuple[str, ...]) -> _Saved:
    """The parts of a model; ValueError names the field and the rule that it breaks."""
    states, actions, dimension = _shape(meta)
    _require_fields(arrays)
    left_out = float(field({"left_out": 0.0} | meta, "left_out", (int, float)))
    if not 0.0 <= left_out <= states * dimension * NEGLIGIBLE_FEATURE:
        raise ValueError(f"left_out is {left_out}; what is left out is below {NEGLIGIBLE_FEATURE:g} each")
    transitions = replace(_transitions(arrays, states, actions, dimension), left_out=left_out)
    sums, zeros = (_matrix(name, arrays, dimension) for name in ("sums", "zeros"))
    zero_names = field(meta, "zero_names", list)
    _check_sums(transitions, sums, zeros, _pairs_of_zeros(zero_names, zeros.shape[0], states, actions))
    names = _names(arrays, states, actions, dimension)
    allowed = naming.action_mask(_mask(arrays, states, actions), states, actions, names)
    p_min = validation.probability("p_min", field(meta, "p_min", (int, float)))
    domain = validation.one_of("domain", field(meta, "domain", str), domains)
    offset, scale = (float(field(meta, f"reward_{name}", (int, float))) for name in ("offset", "scale"))
    if not (math.isfinite(offset) and math.isfinite(scale) and scale > 0.0):
        raise ValueError(
            f"reward_offset, reward_scale are {offset}, {scale}; both are finite, the scale above 0"
        )
    return _Saved(
        Constraints(transitions, sums, zeros, zero_names, p_min, domain),
        _reward(arrays, transitions, allowed),
        float(field(meta, "discount", (int, float))),
        _array(arrays, "initial", np.float64, (states,)),
        field(meta, "is_sparse", bool),
        allowed,
        names,
        offset,
        scale,
        _array(arrays, "prior", np.float64, (dimension,)) if "prior" in arrays else None,
    )


def _shape(meta: dict[str, Any]) -> tuple[int, int, int]:
    shape = field(meta, "shape", list)
    whole = len(shape) == 3 and all(type(n) is int and 0 < n < MOST_PAIRS for n in shape)
    if not whole or shape[0] * shape[1] >= MOST_PAIRS:
        raise ValueError(f"shape is {str(shape)[:60]}; it needs states, actions and dimension")
    return shape[0], shape[1], shape[2]


def _require_fields(arrays: Arrays) -> None:
    known = {"indptr", "successor", "initial", "row_reward", "transition_reward"}
    known |= {"allowed", "names", "prior"} & set(arrays)  # which not every model has
    for name in ("phi", "sums", "zeros"):
        parts = {f"{name}.{part}" for part in ("data", "indices", "indptr", "shape")}
        known |= {name} if name in arrays else parts
    for name in sorted(set(arrays) ^ known):
        raise ValueError(f"{name[:40]} is missing" if name in known else f"unknown field {name[:40]!r}")


def _array(arrays: Arrays, name: str, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    array = arrays[name]
    if array.dtype != kind or array.shape != shape:
        raise ValueError(
            f"{name} holds {array.dtype} of shape {array.shape}; it needs {np.dtype(kind)} of {shape}"
        )
    if array.dtype.kind == "f":
        validation.require_finite(name, array)
    return np.ascontiguousarray(array)


def _transitions(arrays: Arrays, states: int, actions: int, dimension: int) -> Transitions:
    begin = _array(arrays, "indptr", np.int64, (states * actions + 1,))
    count = len(arrays["successor"]) if arrays["successor"].ndim == 1 else -1
    successor = _array(arrays, "successor", np.int64, (count,))
    _check_pattern("indptr", begin, "successor", successor, states)
    phi = _matrix("phi", arrays, dimension)
    if phi.shape[0] != count:
        raise ValueError(f"phi has {phi.shape[0]} rows; it needs one for each of {count} transitions")
    if not (row_norms(phi) >= NEGLIGIBLE_FEATURE).all():
        raise ValueError(
            f"phi has a row of zeros at {int(row_norms(phi).argmin())}; such a transition is left out"
        )
    return Transitions(states, actions, begin, successor, phi)


def _check_pattern(begin_name: str, begin: NDArray[Any], name: str, index: NDArray[Any], size: int) -> None:
    """Rows from `begin` to the next, each with increasing numbers below `size`."""
    if len(begin) == 0 or begin[0] != 0 or begin[-1] != len(index) or (np.diff(begin) < 0).any():
        raise ValueError(f"{begin_name} does not rise from 0 to {len(index)}")
    require_within(name, index, 0, size - 1)
    rises = np.diff(index) > 0
    first = begin[(begin > 0) & (begin < len(index))]
    rises[first - 1] = True  # a new row begins
    if not rises.all():
        raise ValueError(f"{name} does not rise at {int(np.argmin(rises)) + 1}; a row's entries are in order")


def _matrix(name: str, arrays: Arrays, dimension: int) -> Floats | sparse.csr_array:
    """A dense or CSR matrix of finite numbers with `dimension` columns."""
    if name in arrays:
        height = len(arrays[name]) if arrays[name].ndim == 2 else -1
        return _array(arrays, name, np.float64, (height, dimension))
    shape = _array(arrays, f"{name}.shape", np.int64, (2,))
    data, index, begin = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    if shape[1] != dimension or not 0 <= shape[0] < MOST_PAIRS:
        raise ValueError(f"{name}.shape is {shape.tolist()}; it needs {dimension} columns")
    if data.dtype != np.float64 or any(part.dtype not in (np.int32, np.int64) for part in (index, begin)):
        raise ValueError(
            f"{name} holds {data.dtype}, {index.dtype} and {begin.dtype}; it needs float64, int, int"
        )
    if data.ndim != 1 or data.shape != index.shape or begin.shape != (int(shape[0]) + 1,):
        raise ValueError(f"{name} has {data.shape} numbers, {index.shape} columns and {begin.shape} rows")
    validation.require_finite(f"{name}.data", data)
    _check_pattern(f"{name}.indptr", begin, f"{name}.indices", index, dimension)
    return unpack(name, arrays)


def _pairs_of_zeros(names: list[Any], count: int, states: int, actions: int) -> list[int]:
    """The pair of each transition that must have probability 0."""
    if len(names) != count:
        raise ValueError(f"zero_names has {len(names)} entries; zeros has {count} rows")
    pairs = []
    for name in names:
        found = TRANSITION.fullmatch(name) if isinstance(name, str) else None
        s, a, to = (int(part) for part in found.groups()) if found else (-1, -1, -1)
        if not (0 <= s < states and 0 <= a < actions and 0 <= to < states):
            raise ValueError(f"zero_names holds {str(name)[:40]!r}; it needs (s=.., a=.., s'=..) in range")
        pairs.append(s * actions + a)
    return pairs


def _check_sums(transitions: Transitions, sums: Any, zeros: Any, pairs: list[int]) -> None:
    count = len(transitions.indptr) - 1
    if sums.shape[0] != count:
        raise ValueError(f"sums has {sums.shape[0]} rows; it needs one for each of {count} pairs")
    adds = sparse.csr_array(
        (np.ones(transitions.count), np.arange(transitions.count), transitions.indptr),
        shape=(count, transitions.count),
    )
    made = adds @ sparse.csr_array(transitions.phi)
    if pairs:
        where = (np.ones(len(pairs)), (np.array(pairs), np.arange(len(pairs))))
        made = made + sparse.csr_array(where, shape=(count, len(pairs))) @ sparse.csr_array(zeros)
    off = sparse.csr_array(made - sparse.csr_array(sums))
    largest = 1.0 + np.abs(sparse.csr_array(transitions.phi).data).max(initial=0.0)
    worst = float(np.abs(off.data).max(initial=0.0))
    if not worst <= (1e-9 + transitions.num_states * NEGLIGIBLE_FEATURE) * largest:
        raise ValueError(f"sums is off by {worst:.3g} from the sums of phi and zeros")


def _mask(arrays: Arrays, states: int, actions: int) -> Bools | None:
    """Which actions are allowed; None where all are, which is saved as nothing."""
    if "allowed" not in arrays:
        return None
    mask = _array(arrays, "allowed", np.bool_, (states, actions))
    if mask.all():
        raise ValueError("allowed leaves nothing out; a mask is saved only where it does")
    return mask


def _names(arrays: Arrays, states: int, actions: int, dimension: int) -> Names:
    """What states, actions and base models are called, each a list or null."""
    if "names" not in arrays:
        return Names()
    text = _array(arrays, "names", np.uint8, (arrays["names"].size,)).tobytes()
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"names is not JSON ({type(error).__name__})") from error
    if (
        not isinstance(given, list)
        or len(given) != 3
        or not all(one is None or type(one) is list for one in given)
    ):
        raise ValueError("names needs three lists or null: of states, actions and base models")
    if given == [None, None, None]:
        raise ValueError("names is empty; names are saved only where there are any")
    models = naming.named("names of models", given[2], dimension)
    return replace(naming.make_names(given[0], given[1], states, actions), models=models)


def _reward(arrays: Arrays, transitions: Transitions, allowed: Bools) -> Floats | sparse.csr_array:
    """By pair, or by transition; that of a pair that is not allowed is minus infinity."""
    saved = arrays["row_reward"]
    if saved.shape == (allowed.size,) and saved.dtype == np.float64:
        if not (saved[~allowed.ravel()] == -np.inf).all():
            raise ValueError("row_reward is not -inf where an action is not allowed")
        arrays = arrays | {"row_reward": np.where(allowed.ravel(), saved, 0.0)}
    by_pair = _array(arrays, "row_reward", np.float64, (allowed.size,))
    if len(arrays["transition_reward"]) == 0:
        return by_pair.reshape(transitions.num_states, transitions.num_actions)
    if by_pair.any():
        raise ValueError("row_reward is not 0, though rewards depend on the next state")
    return transitions.csr(_array(arrays, "transition_reward", np.float64, (transitions.count,)))
