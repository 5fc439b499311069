"""The contract, once: every agent that the catalogue finds, in every example world, and with every choice it offers."""

from typing import Any

import numpy as np
import pytest
from small_worlds import EXAMPLES

from vbmle import Agent, LinearMixtureMDP
from vbmle.agents.model_agent import ModelAgent
from vbmle.common.settings import choices_of
from vbmle.experiments import catalogue
from vbmle.testing import check_agent

AGENTS = catalogue.general()
SEVERAL = ("tabular, a product of simplices", "hypercube, a cross-polytope", "reward of the next state")
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("VBMLE", {"bias": "log", "bias_scale": 0.3, "ridge": 0.0}),
    ("VBMLE", {"seed": 5}),
    ("MaximumLikelihood", {"ridge": 0.0}),
    ("Random", {"seed": 3}),
    ("QLearning", {"learning_rate": "visits", "optimistic": False, "epsilon": 0.3, "seed": 2}),
    ("QLearning", {"learning_rate": 0.2}),
    ("UCRL2", {"delta": 0.5, "radius_scale": 0.1}),
    ("RBMLE", {"bias": "sqrt", "bias_scale": 0.3}),
    ("PSRL", {"update": "every-step", "sampler": "hit-and-run", "thinning": 2, "seed": 4}),
    *(
        (name, settings)
        for name in ("UCLK", "UCLKPlus", "UPACUCLK")
        for settings in (
            {"sweeps": 20},
            {"radius_scale": 0.01, "update": "every-step"},
            {"radius_scale": 0.0},
            {"delta": 0.5, "ridge": 0.01, "tolerance": 1e-3},
        )
    ),
]
"""Numbers other than the defaults, and several choices at once."""

CHOICES = [
    (name, {setting: choice})
    for name, kind in AGENTS.items()
    for setting, choices in choices_of(kind).items()
    for choice in choices
]


def check(name: str, example: str, settings: dict[str, Any], steps: int) -> None:
    kind, world = AGENTS[name], EXAMPLES[example]
    truth = {"theta": world.theta.tolist()} if kind.needs_truth else {}

    def make(mdp: LinearMixtureMDP) -> Agent:
        return kind(mdp, **truth, **settings)

    check_agent(make, world, steps=steps)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_in_every_world(name: str, example: str):
    check(name, example, {}, steps=60)


@pytest.mark.filterwarnings("ignore:.*no feasible theta:RuntimeWarning")
@pytest.mark.parametrize(("name", "settings"), [*CHOICES, *OTHERS], ids=str)
def test_every_choice_in_several_worlds(name: str, settings: dict[str, Any]):
    for example in SEVERAL:
        if settings.get("sampler") == "dirichlet" and not example.startswith("tabular"):
            continue
        check(name, example, settings, steps=60)


@pytest.mark.parametrize("name", AGENTS)
def test_at_most_two_classes_stand_above_an_agent(name: str):
    above = [kind for kind in AGENTS[name].__mro__[1:] if issubclass(kind, Agent)]
    assert len(above) <= 2


class Follower(ModelAgent):
    """An agent of one's own that knows none of the settings that every `ModelAgent` may have."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        super().__init__(mdp)
        self._policy = np.zeros(mdp.num_states, np.int64)

    saved = ("_policy",)

    @property
    def policy(self) -> np.ndarray:
        return self._policy

    def _decide(self, state: int) -> None:
        self._policy[state] = self.counts.total % self.mdp.num_actions


def test_an_agent_of_ones_own_keeps_the_contract():
    check_agent(Follower, EXAMPLES["three-parameter river"], steps=60)
