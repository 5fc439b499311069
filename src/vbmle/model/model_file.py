"""A model as arrays by name, and back: what `LinearMixtureMDP.save` writes and `load` reads."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vbmle.common.files import UNREADABLE, load_npz, pack
from vbmle.model import saved_model
from vbmle.model.naming import Names

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP

FORMATS = ("vbmle-model-1", "vbmle-model-2")
"""Those that can be read. The second is written where a model has what the first cannot say: a mask, or candidates."""


def arrays_of(mdp: LinearMixtureMDP) -> dict[str, NDArray[Any]]:
    """All that is known, as arrays by name."""
    transitions, c = mdp.transitions, mdp.constraints
    plain = mdp.domain != "vertices" and bool(mdp.allowed.all())
    meta = {
        "format": FORMATS[0 if plain else 1],
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
    if mdp.names != Names():
        text = json.dumps([mdp.names.states, mdp.names.actions, mdp.names.models])
        arrays["names"] = np.frombuffer(text.encode(), dtype=np.uint8)
    for name, matrix in (("phi", transitions.phi), ("sums", c.sums), ("zeros", c.zeros)):
        arrays |= pack(name, matrix)
    return arrays


def digest(mdp: LinearMixtureMDP) -> str:
    """A hash of all that is known, the same for one model whether it came dense, sparse or from a table.

    Names are left out: a model with other names is the same model. Sums of features are rounded: each form adds in its
    own order.
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
) -> tuple[dict[str, Any], tuple[float, float]]:
    """What a model is built from, and the offset and scale of its rewards; ValueError where the file is damaged."""
    arrays, meta = load_npz(path, FORMATS, "a model written by LinearMixtureMDP.save")
    try:
        found = saved_model.read(arrays, meta, domains)
    except UNREADABLE as error:
        raise damaged(path, error) from error
    parts = found._asdict()
    return parts, (parts.pop("reward_offset"), parts.pop("reward_scale"))


def damaged(path: str | os.PathLike[str], error: BaseException) -> ValueError:
    """One line about a file from which no model can be built."""
    why = str(error) if isinstance(error, ValueError) else repr(error)
    return ValueError(f"{path} is a damaged model file: {why}")
