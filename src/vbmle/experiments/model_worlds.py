"""A world from a file of yours, for sweeps: `world = { model = "depot.npz", theta = "random" }`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vbmle.common import validation
from vbmle.common.validation import Floats
from vbmle.gym import random_theta
from vbmle.model import frames
from vbmle.model.from_files import models_from_table
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

TABLES = (".csv", ".parquet")


def from_file(
    model: str,
    theta: str | list[float] = "random",
    reward: str | None = None,
    discount: float | None = None,
    domain: str = "simplex",
    seed: int = 0,
) -> World:
    """A world of your own: a model from a file, and the theta that governs it, given or drawn for each trial.

    model: an .npz file by `LinearMixtureMDP.save`, or a table of base models (`models_from_table`); a table needs
    `reward`, a table with the columns s, a, r, and `discount`. theta: weights, or "random", uniform on the set of them.
    """
    suffix = Path(model).suffix.lower()
    if suffix in TABLES:
        mdp = _from_table(model, reward, discount, domain)
    elif suffix == ".npz":
        if reward is not None or discount is not None:
            raise ValueError(f"{model} has its reward and discount; leave reward and discount out")
        mdp = LinearMixtureMDP.load(model)
    else:
        raise ValueError(f"model is {model!r}; it needs a file that ends in .npz, .csv or .parquet")
    if isinstance(theta, str):
        validation.one_of("theta", theta, ("random",))
        return World(mdp, random_theta(mdp, np.random.default_rng(seed)))
    return World(mdp, theta)


def _from_table(model: str, reward: str | None, discount: float | None, domain: str) -> LinearMixtureMDP:
    for name, value in (("reward", reward), ("discount", discount)):
        if value is None:
            raise ValueError(f"{model} is a table, which needs a {name}")
    models = models_from_table(model)
    states = models[0].shape[1]
    actions = models[0].shape[0] // states
    paid = _rewards(str(reward), models.names.states or states, models.names.actions or actions)
    return LinearMixtureMDP.from_models(
        models,
        paid,
        discount or 0.0,
        domain=domain,
        normalise_reward=bool(paid.min() < 0.0 or paid.max() > 1.0),
    )


def _rewards(path: str, states: frames.Size, actions: frames.Size) -> Floats:
    """(S, A) from a table with the columns s, a, r: each pair once."""
    table = frames.read(path, ("s", "a", "r"))
    (s,), _ = frames.numbers(table, ("s",), states, [])
    (a,), _ = frames.numbers(table, ("a",), actions, [])
    sizes = tuple(size if isinstance(size, int) else len(size or ()) for size in (states, actions))
    found = np.full(sizes, np.nan)
    found[s, a] = frames.column_of_numbers(table, "r")
    if len(s) != found.size or np.isnan(found).any():
        raise ValueError(f"{path} needs every pair (s, a) once, {found.size} rows; it has {len(s)}")
    return found
