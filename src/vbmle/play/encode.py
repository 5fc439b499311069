"""Arrays as text, for a page that has no second file to load them from."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning.planner import evaluate
from vbmle.play.grid import Floats, Grid

TYPES = {"f4": np.float32, "f8": np.float64, "u1": np.uint8, "u2": np.uint16, "i4": np.int32}


def pack(array: Any, kind: str) -> dict[str, str]:
    """An array as its type and its bytes, little-endian, in base 64."""
    plain = np.ascontiguousarray(array, dtype=np.dtype(TYPES[kind]).newbyteorder("<"))
    return {"type": kind, "bytes": base64.b64encode(plain.tobytes()).decode()}


def base_models(mdp: LinearMixtureMDP) -> Floats:
    """The base models as one array, (S*A, S, d)."""
    found = []
    for corner in np.eye(mdp.dimension):
        moves = mdp.transition(corner)
        dense = moves if isinstance(moves, np.ndarray) else moves.toarray()
        found.append(np.asarray(dense).reshape(mdp.num_states * mdp.num_actions, mdp.num_states))
    return np.stack(found, axis=-1)


def base_rewards(mdp: LinearMixtureMDP, models: Floats) -> Floats:
    """R(s, a) under each base model, (S*A, d), read off the values of policies: R = V - gamma P V."""
    states, actions = mdp.num_states, mdp.num_actions
    allowed, every = mdp.allowed, np.arange(states)
    rewards = np.zeros((states * actions, mdp.dimension))
    for k, corner in enumerate(np.eye(mdp.dimension)):
        for action in range(actions):
            policy = np.where(allowed[:, action], action, allowed.argmax(axis=1))
            V = np.asarray(evaluate(mdp, corner, policy))
            pairs = every * actions + policy
            rewards[pairs, k] = V - mdp.discount * models[pairs, :, k] @ V
    return np.round(rewards, 13)  # what is left of the linear solve is rounding


def model(mdp: LinearMixtureMDP, grid: Grid) -> dict[str, Any]:
    """All numbers that a page needs to act, learn and plan in a mixture of three base models."""
    phi = base_models(mdp)
    possible = np.argwhere(phi.max(axis=2) > 0.0)
    counts = np.bincount(possible[:, 0], minlength=len(phi))
    return {
        "states": mdp.num_states,
        "actions": mdp.num_actions,
        "discount": mdp.discount,
        "scale": mdp.reward_scale,
        "offset": mdp.reward_offset,
        "resolution": grid.resolution,
        "indptr": pack(np.concatenate([[0], np.cumsum(counts)]), "i4"),
        "successor": pack(possible[:, 1], "u2"),
        "phi": pack(phi[possible[:, 0], possible[:, 1]], "f8"),
        "reward": pack(base_rewards(mdp, phi), "f8"),
        "allowed": pack(mdp.allowed, "u1"),
        "initial": pack(mdp.initial, "f8"),
        "values": pack(grid.values, "f4"),
        "policies": pack(grid.policies, "u1"),
    }
