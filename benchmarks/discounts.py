"""The first decision of every agent: what it costs at gamma = .99999 beside what it costs at .99."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import stopwatch
from benchmarks.effort import Effort
from benchmarks.speed_table import Row, at_most
from vbmle.experiments import catalogue
from vbmle.model.mdp import LinearMixtureMDP

SECTION = "discounts"
NEAR, NEARER = 0.99, 0.99999
TIMES = 3.0
SIZE = (8, 3, 4)  # states, actions, base models
DECISION_REPEATS = 5
LEAST = 2e-4  # seconds: below this, a cost is the time of a few calls


def _dense(discount: float) -> LinearMixtureMDP:
    models, reward = _draw()
    return LinearMixtureMDP.from_models(models, reward, discount)


def _sparse(discount: float) -> LinearMixtureMDP:
    models, reward = _draw()
    flat = [sparse.csr_array(model.reshape(-1, SIZE[0])) for model in models]
    return LinearMixtureMDP.from_models(flat, reward, discount)


def _tabular(discount: float) -> LinearMixtureMDP:
    models, reward = _draw()
    return LinearMixtureMDP.tabular(models[0] > 0.02, reward, discount)


def _draw() -> tuple[list[np.ndarray], np.ndarray]:
    states, actions, count = SIZE
    rng = np.random.default_rng(np.random.SeedSequence(0))
    models = [rng.dirichlet(np.full(states, 0.5), size=(states, actions)) for _ in range(count)]
    return models, rng.random((states, actions))


MODEL_KINDS: dict[str, Callable[[float], LinearMixtureMDP]] = {
    "dense": _dense,
    "sparse": _sparse,
    "tabular": _tabular,
}


def measure(kind: str, effort: Effort) -> list[Row]:
    """Making an agent and its first decision, for every agent: the least of a few times."""
    models = [MODEL_KINDS[kind](discount) for discount in (NEAR, NEARER)]
    rows = []
    for name, agent in catalogue.general().items():
        near, nearer = (
            min(_first(agent, mdp) for _ in range(min(DECISION_REPEATS, effort.horizon))) for mdp in models
        )
        details = {"near": near, "nearer": nearer}
        ratio = max(nearer, LEAST) / max(near, LEAST)
        measured = f"{name}: first decision, gamma {NEARER} over {NEAR}"
        rows.append(Row(SECTION, measured, kind, ratio, "times", at_most(TIMES), details))
    return rows


def _first(kind: Any, mdp: LinearMixtureMDP) -> float:
    settings = {"theta": mdp.polytope.interior.tolist()} if kind.needs_truth else {}
    mdp.core  # noqa: B018  made before the clock runs: it belongs to the model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        begun = stopwatch.start()
        kind(mdp, **settings).act(0)
        return stopwatch.since(begun)
