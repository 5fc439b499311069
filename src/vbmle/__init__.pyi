"""The public names, each with its home: `vbmle/__init__.py` reads this list, and so do type checkers and editors."""

from vbmle import testing as testing
from vbmle import theory as theory
from vbmle import worlds as worlds
from vbmle.agents.base import Agent as Agent
from vbmle.agents.belief import Belief as Belief
from vbmle.agents.evill import EVILL as EVILL
from vbmle.agents.feel_good import FeelGoodSampling as FeelGoodSampling
from vbmle.agents.information_directed import InformationDirected as InformationDirected
from vbmle.agents.informed_vbmle import InformedVBMLE as InformedVBMLE
from vbmle.agents.informed_vbmle import recommended as recommended
from vbmle.agents.maximum_likelihood import MaximumLikelihood as MaximumLikelihood
from vbmle.agents.omle import OMLE as OMLE
from vbmle.agents.oracle import Oracle as Oracle
from vbmle.agents.psrl import PSRL as PSRL
from vbmle.agents.q_learning import QLearning as QLearning
from vbmle.agents.random_policy import Random as Random
from vbmle.agents.rbmle import RBMLE as RBMLE
from vbmle.agents.uclk import UCLK as UCLK
from vbmle.agents.uclk_plus import UCLKPlus as UCLKPlus
from vbmle.agents.ucrl2 import UCRL2 as UCRL2
from vbmle.agents.upac_uclk import UPACUCLK as UPACUCLK
from vbmle.agents.vbmle import VBMLE as VBMLE
from vbmle.agents.vbmle import ApproximateVBMLE as ApproximateVBMLE
from vbmle.estimation.counts import TransitionCounts as TransitionCounts
from vbmle.estimation.likelihood import Estimate as Estimate
from vbmle.estimation.likelihood import log_likelihood as log_likelihood
from vbmle.estimation.likelihood import maximum_likelihood as maximum_likelihood
from vbmle.estimation.likelihood import value_biased as value_biased
from vbmle.experiments.record_table import read_records as read_records
from vbmle.gym import Drive as Drive
from vbmle.gym import PolicyPlayer as PolicyPlayer
from vbmle.gym import WorldEnv as WorldEnv
from vbmle.gym import drive as drive
from vbmle.model.from_files import models_from_logs as models_from_logs
from vbmle.model.from_files import models_from_npz as models_from_npz
from vbmle.model.from_files import models_from_table as models_from_table
from vbmle.model.from_files import read_log as read_log
from vbmle.model.mdp import LinearMixtureMDP as LinearMixtureMDP
from vbmle.model.world import DriftingWorld as DriftingWorld
from vbmle.model.world import World as World
from vbmle.planning.planner import Plan as Plan
from vbmle.planning.planner import evaluate as evaluate
from vbmle.planning.planner import plan as plan
from vbmle.planning.planner import plan_known as plan_known
from vbmle.planning.planner import value_iteration as value_iteration
from vbmle.serve.client import Client as Client
from vbmle.simulation import History as History
from vbmle.simulation import Step as Step
from vbmle.simulation import earned as earned
from vbmle.simulation import simulate as simulate
from vbmle.theory.hardness import Hardness as Hardness
from vbmle.theory.hardness import hardness as hardness

__all__: list[str]
__version__: str
