"""A model as arrays by name, and back: what `LinearMixtureMDP.save` writes and `load` reads."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbmle.common.files import load_npz, pack, unpack
from vbmle.model import naming
from vbmle.model.feasible_set import Constraints
from vbmle.model.naming import Names
from vbmle.model.transitions import Transitions

if TYPE_CHECKING:
    from vbmle.model.mdp import LinearMixtureMDP

FORMATS = ("vbmle-model-1", "vbmle-model-2")
"""Those that can be read. The second is written where a model has what the first cannot say: a mask, or candidates."""


def arrays_of(mdp: LinearMixtureMDP) -> dict[str, NDArray[Any]]:
    """All that is known, as arrays by name."""
    rows, c = mdp.transitions, mdp.constraints
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
    arrays: dict[str, NDArray[Any]] = {
        "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
        "indptr": rows.indptr,
        "successor": rows.successor,
        "initial": mdp.initial,
        "row_reward": mdp.row_reward,
        "transition_reward": mdp.transition_reward,
    }
    if not mdp.allowed.all():
        arrays["allowed"] = mdp.allowed
    if mdp.names != Names():
        text = json.dumps([mdp.names.states, mdp.names.actions, mdp.names.models])
        arrays["names"] = np.frombuffer(text.encode(), dtype=np.uint8)
    for name, matrix in (("phi", rows.phi), ("sums", c.sums), ("zeros", c.zeros)):
        arrays |= pack(name, matrix)
    return arrays


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata of a file, and what a model is built from; ValueError where it is damaged or foreign."""
    arrays, meta = load_npz(path, FORMATS, "a model written by LinearMixtureMDP.save")
    try:
        states, actions, _ = meta["shape"]
        rows = Transitions(states, actions, arrays["indptr"], arrays["successor"], unpack("phi", arrays))
        sums, zeros = unpack("sums", arrays), unpack("zeros", arrays)
        known = (meta["zero_names"], meta["p_min"], meta["domain"])
        by_transition = len(arrays["transition_reward"]) > 0
        reward = rows.csr(arrays["transition_reward"]) if by_transition else arrays["row_reward"]
        called = json.loads(arrays["names"].tobytes()) if "names" in arrays else [None, None, None]
        names = naming.make_names(called[0], called[1], states, actions)
        names = replace(names, models=None if called[2] is None else tuple(called[2]))
        return meta, {
            "constraints": Constraints(rows, sums, zeros, *known),
            "reward": reward if by_transition else reward.reshape(states, actions),
            "discount": meta["discount"],
            "initial": arrays["initial"],
            "is_sparse": meta["is_sparse"],
            "allowed": naming.action_mask(arrays.get("allowed"), states, actions, names),
            "names": names,
        }
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"{path} is a damaged model file: {error!r}") from error
