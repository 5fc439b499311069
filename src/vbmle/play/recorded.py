"""Runs made beforehand, for models that a page can't compute: not three base models, or too many states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbmle.agents.maximum_likelihood import MaximumLikelihood
from vbmle.agents.psrl import PSRL
from vbmle.agents.vbmle import VBMLE
from vbmle.planning.planner import evaluate
from vbmle.play.encode import pack
from vbmle.play.scenes import HORIZON, Scene
from vbmle.simulation import simulate

LARGEST_RECORDING = 500_000
"""Bytes for the recorded runs of one model, about."""


class Witness:
    """An agent that remembers the policy it played in each step, and what it believed states to be worth.

    The value is that of the theta for which a policy was first made: policies are few, steps are many.
    """

    def __init__(self, agent: Any) -> None:
        self.agent, self.chosen = agent, list[int]()
        self.policies: list[NDArray[Any]] = []
        self.values: list[NDArray[Any]] = []
        self._known: dict[bytes, int] = {}

    @property
    def policy(self) -> NDArray[Any]:
        return np.asarray(self.agent.policy)

    @property
    def theta(self) -> NDArray[Any]:
        return np.asarray(self.agent.theta)

    def act(self, state: int) -> int:
        action = int(self.agent.act(state))
        policy = self.policy.copy()
        key = policy.tobytes()
        if key not in self._known:
            self._known[key] = len(self.policies)
            self.policies.append(policy)
            self.values.append(np.asarray(evaluate(self.agent.mdp, self.theta, policy)))
        self.chosen.append(self._known[key])
        return action

    def observe(self, state: int, action: int, next_state: int) -> None:
        self.agent.observe(state, action, next_state)


def runs(scene: Scene, horizon: int | None = None) -> dict[str, Any]:
    """What the page plays: for each learner its path, policies, values, thetas and regret."""
    mdp = scene.world.mdp
    if mdp.num_states > 65_535 or mdp.num_actions > 255:
        raise ValueError(
            f"the model has {mdp.num_states} states and {mdp.num_actions} actions; "
            "a page shows up to 65535 states and 255 actions"
        )
    if horizon is None:
        horizon = int(
            np.clip(LARGEST_RECORDING // (3 * (4 * mdp.dimension + 5 * mdp.num_states // 4)), 20, HORIZON)
        )
    agents = {
        "biased": VBMLE(mdp),
        "likely": MaximumLikelihood(mdp),
        "sampling": PSRL(mdp, seed=scene.seed),
    }
    made = {key: _record(Witness(agent), scene, horizon) for key, agent in agents.items()}
    thetas = np.concatenate([thetas for _, thetas in made.values()])
    return {
        "recorded": True,
        "horizon": horizon,
        "range": {"low": float(thetas.min()), "high": float(thetas.max())},
        "runs": {key: run for key, (run, _) in made.items()},
    }


def _record(witness: Witness, scene: Scene, horizon: int) -> tuple[dict[str, Any], NDArray[Any]]:
    """One learner: `horizon` steps, and where it stands and what it has decided after them."""
    world, mdp = scene.world, scene.world.mdp
    # One more step than is shown: its decision is, its outcome is not.
    history = simulate(witness, world, horizon + 1, seed=scene.seed, record=("thetas",))
    shift = mdp.reward_offset / (1.0 - mdp.discount)
    thetas = np.asarray(history.thetas)
    return {
        "states": pack(history.states, "u2"),
        "chosen": pack(witness.chosen, "u2"),
        "policies": pack(witness.policies, "u1"),
        "values": pack(mdp.reward_scale * np.array(witness.values) + shift, "f4"),
        "thetas": pack(thetas, "f4"),
        "regret": pack(history.regret[:horizon], "f8"),
    }, thetas
