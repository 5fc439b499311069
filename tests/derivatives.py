"""What tests of derivatives share: differences, and points where they are taken."""

from collections.abc import Callable

import numpy as np
from problems import dense

from vbmle import TransitionCounts, World

ACCURACY = 1e-6
"""Five-point differences: with the steps used here h^4 f''''' and eps |f| / h stay below this part of f'."""


def differences(f: Callable[[np.ndarray], np.ndarray | float], theta: np.ndarray, h: float) -> np.ndarray:
    """Five-point central differences of f along every coordinate."""
    rows = []
    for e in h * np.eye(len(theta)):
        ahead, behind = np.asarray(f(theta + e)), np.asarray(f(theta - e))
        far_ahead, far_behind = np.asarray(f(theta + 2 * e)), np.asarray(f(theta - 2 * e))
        rows.append((8.0 * (ahead - behind) - (far_ahead - far_behind)) / (12.0 * h))
    return np.array(rows)


def inside(world: World) -> np.ndarray:
    """A point well inside P where no two actions tie by symmetry."""
    return 0.6 * world.mdp.polytope.interior + 0.4 * world.theta


def short(world: World, counts: TransitionCounts, theta: np.ndarray) -> float:
    """A step that changes no observed probability by more than a part in a thousand."""
    phi, seen = dense(world.mdp.transitions.phi), counts.values > 0
    p = phi[seen] @ theta
    return float(min(1e-4, 1e-3 * (p / np.abs(phi[seen]).max(1)).min(initial=1.0)))
