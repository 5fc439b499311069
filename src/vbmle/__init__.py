"""Learning to control Markov decision processes whose dynamics are an unknown mix of known models.

Names load on first use, so that `import vbmle` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vbmle import testing, theory, worlds
    from vbmle.agents.base import Agent
    from vbmle.agents.belief import Belief
    from vbmle.agents.evill import EVILL
    from vbmle.agents.feel_good import FeelGoodSampling
    from vbmle.agents.information_directed import InformationDirected
    from vbmle.agents.informed_vbmle import InformedVBMLE, recommended
    from vbmle.agents.maximum_likelihood import MaximumLikelihood
    from vbmle.agents.omle import OMLE
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
    from vbmle.estimation.counts import TransitionCounts
    from vbmle.estimation.likelihood import Estimate, log_likelihood, maximum_likelihood, value_biased
    from vbmle.gym import Drive, PolicyPlayer, WorldEnv, drive
    from vbmle.model.drifting_world import DriftingWorld
    from vbmle.model.from_files import models_from_logs, models_from_npz, models_from_table, read_log
    from vbmle.model.mdp import LinearMixtureMDP
    from vbmle.model.world import World
    from vbmle.planning.planner import Plan, evaluate, plan, plan_known, value_iteration
    from vbmle.serve.client import Client
    from vbmle.simulation import History, earned, simulate
    from vbmle.theory.hardness import Hardness, hardness

_HOME = {
    "Agent": "vbmle.agents.base",
    "ApproximateVBMLE": "vbmle.agents.vbmle",
    "Belief": "vbmle.agents.belief",
    "Client": "vbmle.serve.client",
    "Drive": "vbmle.gym",
    "DriftingWorld": "vbmle.model.drifting_world",
    "Estimate": "vbmle.estimation.likelihood",
    "EVILL": "vbmle.agents.evill",
    "FeelGoodSampling": "vbmle.agents.feel_good",
    "Hardness": "vbmle.theory.hardness",
    "History": "vbmle.simulation",
    "InformationDirected": "vbmle.agents.information_directed",
    "InformedVBMLE": "vbmle.agents.informed_vbmle",
    "LinearMixtureMDP": "vbmle.model.mdp",
    "MaximumLikelihood": "vbmle.agents.maximum_likelihood",
    "OMLE": "vbmle.agents.omle",
    "Oracle": "vbmle.agents.oracle",
    "PSRL": "vbmle.agents.psrl",
    "Plan": "vbmle.planning.planner",
    "PolicyPlayer": "vbmle.gym",
    "QLearning": "vbmle.agents.q_learning",
    "RBMLE": "vbmle.agents.rbmle",
    "Random": "vbmle.agents.random_policy",
    "TransitionCounts": "vbmle.estimation.counts",
    "UCLK": "vbmle.agents.uclk",
    "UCLKPlus": "vbmle.agents.uclk_plus",
    "UPACUCLK": "vbmle.agents.upac_uclk",
    "UCRL2": "vbmle.agents.ucrl2",
    "VBMLE": "vbmle.agents.vbmle",
    "World": "vbmle.model.world",
    "WorldEnv": "vbmle.gym",
    "drive": "vbmle.gym",
    "earned": "vbmle.simulation",
    "evaluate": "vbmle.planning.planner",
    "hardness": "vbmle.theory.hardness",
    "log_likelihood": "vbmle.estimation.likelihood",
    "maximum_likelihood": "vbmle.estimation.likelihood",
    "models_from_logs": "vbmle.model.from_files",
    "models_from_npz": "vbmle.model.from_files",
    "models_from_table": "vbmle.model.from_files",
    "plan": "vbmle.planning.planner",
    "plan_known": "vbmle.planning.planner",
    "read_log": "vbmle.model.from_files",
    "recommended": "vbmle.agents.informed_vbmle",
    "simulate": "vbmle.simulation",
    "testing": "vbmle.testing",
    "theory": "vbmle.theory",
    "value_biased": "vbmle.estimation.likelihood",
    "value_iteration": "vbmle.planning.planner",
    "worlds": "vbmle.worlds",
}

__all__ = [
    "EVILL",
    "OMLE",
    "PSRL",
    "RBMLE",
    "UCLK",
    "UCRL2",
    "UPACUCLK",
    "VBMLE",
    "Agent",
    "ApproximateVBMLE",
    "Belief",
    "Client",
    "DriftingWorld",
    "Drive",
    "Estimate",
    "FeelGoodSampling",
    "Hardness",
    "History",
    "InformationDirected",
    "InformedVBMLE",
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
    "hardness",
    "log_likelihood",
    "maximum_likelihood",
    "models_from_logs",
    "models_from_npz",
    "models_from_table",
    "plan",
    "plan_known",
    "read_log",
    "recommended",
    "simulate",
    "testing",
    "theory",
    "value_biased",
    "value_iteration",
    "worlds",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import the module that holds `name` and hand it out; the next time it is there."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'vbmle' has no attribute {name!r}")
    module = import_module(home)
    found = globals()[name] = module if home == f"vbmle.{name}" else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
