"""Worlds to learn in: the known structure of a model together with the hidden theta that governs it.

One family, one file. A new world is a function that returns a `vbmle.World`; import it here and name it in
`__all__`, and the command line knows it too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vbmle.model.world import World
from vbmle.worlds.closed_loop_trap import closed_loop_trap
from vbmle.worlds.gymnasium_worlds import cliff_walking, from_gymnasium, frozen_lake, taxi
from vbmle.worlds.hypercube import hypercube
from vbmle.worlds.inventory import inventory
from vbmle.worlds.maintenance import maintenance
from vbmle.worlds.pricing import pricing
from vbmle.worlds.queue import queue
from vbmle.worlds.random_network import random_network
from vbmle.worlds.riverswim import riverswim
from vbmle.worlds.suppliers import suppliers
from vbmle.worlds.two_suspects import two_suspects

__all__ = [
    "cliff_walking",
    "closed_loop_trap",
    "from_gymnasium",
    "frozen_lake",
    "hypercube",
    "inventory",
    "maintenance",
    "pricing",
    "queue",
    "random_network",
    "riverswim",
    "suppliers",
    "taxi",
    "two_suspects",
]

WORLDS: dict[str, Callable[..., World]] = {name: globals()[name] for name in __all__}
"""Every world by name."""

EXAMPLES: dict[str, dict[str, Any]] = {
    "from_gymnasium": {"env": "FrozenLake-v1", "slip": [0.9, 0.1]},
    "hypercube": {"dimension": 4},
    "random_network": {"states": 3, "actions": 2, "dimension": 5},
}
"""Settings for worlds that cannot do without."""
