"""Learning to control Markov decision processes whose dynamics are an unknown mix of known models.

Names load on first use, so that `import vbmle` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vbmle import testing, theory, worlds
    from vbmle.agents.base import Agent
    from vbmle.agents.maximum_likelihood import MaximumLikelihood
    from vbmle.agents.oracle import Oracle
    from vbmle.agents.psrl import PSRL
    from vbmle.agents.q_learning import QLearning
    from vbmle.agents.random_policy import Random
    from vbmle.agents.rbmle import RBMLE
    from vbmle.agents.uclk import UCLK
    from vbmle.agents.uclk_plus import UCLKPlus
    from vbmle.agents.ucrl2 import UCRL2
    from vbmle.agents.upac_uclk import UPACUCLK
    from vbmle.agents.vbmle import VBMLE, ApproximateVBMLE
    from vbmle.counts import TransitionCounts
    from vbmle.estimation import Estimate, log_likelihood, maximum_likelihood, value_biased
    from vbmle.gym import Drive, PolicyPlayer, WorldEnv, drive
    from vbmle.model import LinearMixtureMDP, World
    from vbmle.planning import Plan, evaluate, plan, plan_known, value_iteration
    from vbmle.simulation import History, earned, simulate
    from vbmle.sources import models_from_logs, models_from_npz, models_from_table, read_log

_HOME = {
    "Agent": "vbmle.agents.base",
    "ApproximateVBMLE": "vbmle.agents.vbmle",
    "Drive": "vbmle.gym",
    "Estimate": "vbmle.estimation",
    "History": "vbmle.simulation",
    "LinearMixtureMDP": "vbmle.model",
    "MaximumLikelihood": "vbmle.agents.maximum_likelihood",
    "Oracle": "vbmle.agents.oracle",
    "PSRL": "vbmle.agents.psrl",
    "Plan": "vbmle.planning",
    "PolicyPlayer": "vbmle.gym",
    "QLearning": "vbmle.agents.q_learning",
    "RBMLE": "vbmle.agents.rbmle",
    "Random": "vbmle.agents.random_policy",
    "TransitionCounts": "vbmle.counts",
    "UCLK": "vbmle.agents.uclk",
    "UCLKPlus": "vbmle.agents.uclk_plus",
    "UPACUCLK": "vbmle.agents.upac_uclk",
    "UCRL2": "vbmle.agents.ucrl2",
    "VBMLE": "vbmle.agents.vbmle",
    "World": "vbmle.model",
    "WorldEnv": "vbmle.gym",
    "drive": "vbmle.gym",
    "earned": "vbmle.simulation",
    "evaluate": "vbmle.planning",
    "log_likelihood": "vbmle.estimation",
    "maximum_likelihood": "vbmle.estimation",
    "models_from_logs": "vbmle.sources",
    "models_from_npz": "vbmle.sources",
    "models_from_table": "vbmle.sources",
    "plan": "vbmle.planning",
    "plan_known": "vbmle.planning",
    "read_log": "vbmle.sources",
    "simulate": "vbmle.simulation",
    "testing": "vbmle.testing",
    "theory": "vbmle.theory",
    "value_biased": "vbmle.estimation",
    "value_iteration": "vbmle.planning",
    "worlds": "vbmle.worlds",
}

__all__ = [
    "PSRL",
    "RBMLE",
    "UCLK",
    "UCRL2",
    "UPACUCLK",
    "VBMLE",
    "Agent",
    "ApproximateVBMLE",
    "Drive",
    "Estimate",
    "History",
    "LinearMixtureMDP",
    "MaximumLikelihood",
    "Oracle",
    "Plan",
    "PolicyPlayer",
    "QLearning",
    "Random",
    "TransitionCounts",
    "UCLKPlus",
    "World",
    "WorldEnv",
    "drive",
    "earned",
    "evaluate",
    "log_likelihood",
    "maximum_likelihood",
    "models_from_logs",
    "models_from_npz",
    "models_from_table",
    "plan",
    "plan_known",
    "read_log",
    "simulate",
    "testing",
    "theory",
    "value_biased",
    "value_iteration",
    "worlds",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the module that holds `name` and hand it out."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'vbmle' has no attribute {name!r}")
    module = import_module(home)
    return module if home == f"vbmle.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
