"""The contract for agents: what keeps it passes, and each way to break it is found and named."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import vbmle
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.testing import check_agent, example_models
from vbmle.worlds import closed_loop_trap


class Minimal:
    """Two methods and a policy, which turns with the number of visits in a way that needs them all."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        self.mdp = mdp
        self.visits = np.zeros(mdp.num_states, dtype=np.int64)

    @property
    def policy(self) -> np.ndarray:
        return (self.visits**2 // 7) % self.mdp.num_actions

    def act(self, state: int) -> Any:
        return int(self.policy[state])

    def observe(self, state: int, action: int, next_state: int) -> Any:
        self.visits[state] += 1


class Saving(Minimal):
    """Can be stopped and continued."""

    def save(self, path: Path) -> None:
        np.savez(path, visits=self.visits)

    @classmethod
    def load(cls, path: Path, mdp: LinearMixtureMDP) -> Self:
        agent = cls(mdp)
        with np.load(path) as file:
            agent.visits = file["visits"]
        return agent


class Learning(Minimal):
    """Has counts, and a theta that stays at the interior point."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        super().__init__(mdp)
        self.theta = mdp.polytope.interior.copy()
        self.counts = vbmle.TransitionCounts(mdp)

    def observe(self, state: int, action: int, next_state: int) -> Any:
        self.counts.add(state, action, next_state)
        super().observe(state, action, next_state)


class Random(Minimal):
    """Explores by chance, from a generator of its own, and says so."""

    randomised = True

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        super().__init__(mdp)
        self.rng = np.random.default_rng(0)

    def act(self, state: int) -> Any:
        return int(self.rng.integers(self.mdp.num_actions))


@pytest.mark.parametrize("agent", [Minimal, Saving, Learning, Random])
def test_agents_that_keep_the_contract_pass(agent: Any):
    check_agent(agent)
    check_agent(agent, world=closed_loop_trap(), steps=30, seed=7)


# ---- each way to break it


class NoNumber(Minimal):
    def act(self, state: int) -> Any:
        return 0.0


class OutOfRange(Minimal):
    def act(self, state: int) -> Any:
        return self.mdp.num_actions


class ShortPolicy(Minimal):
    @property
    def policy(self) -> np.ndarray:
        return super().policy[:2]


class FloatPolicy(Minimal):
    @property
    def policy(self) -> np.ndarray:
        return super().policy.astype(float)


class WildPolicy(Minimal):
    @property
    def policy(self) -> np.ndarray:
        return super().policy + 5

    def act(self, state: int) -> Any:
        return 0


class Disobedient(Minimal):
    def act(self, state: int) -> Any:
        return 1 - int(self.policy[state])


class Chatty(Minimal):
    def observe(self, state: int, action: int, next_state: int) -> Any:
        super().observe(state, action, next_state)
        return next_state


class Unseeded(Minimal):
    rng = np.random.default_rng(0)  # shared by all instances: a second agent goes on where the first stopped

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        super().__init__(mdp)
        self.visits += self.rng.integers(100, size=mdp.num_states)


class Fickle(Minimal):
    asked = 0

    @property
    def policy(self) -> np.ndarray:
        return np.full(self.mdp.num_states, self.asked % 2)

    def act(self, state: int) -> Any:
        self.asked += 1
        return self.asked % 2


class Forgetful(Saving):
    @classmethod
    def load(cls, path: Path, mdp: LinearMixtureMDP) -> Self:
        return cls(mdp)


class ForgetfulTheSecondTime(Saving):
    loaded = False

    def save(self, path: Path) -> None:
        if not self.loaded:
            super().save(path)
        else:
            np.savez(path, visits=np.zeros_like(self.visits))

    @classmethod
    def load(cls, path: Path, mdp: LinearMixtureMDP) -> Self:
        agent = super().load(path, mdp)
        agent.loaded = True
        return agent


class Outside(Learning):
    def __init__(self, mdp: LinearMixtureMDP) -> None:
        super().__init__(mdp)
        self.theta = self.theta + 1e-3


class Credulous(Learning):
    def observe(self, state: int, action: int, next_state: int) -> Any:
        Minimal.observe(self, state, action, next_state)


class Shaken(Learning):
    """Refuses the impossible, but too late."""

    def observe(self, state: int, action: int, next_state: int) -> Any:
        Minimal.observe(self, state, action, next_state)
        self.counts.add(state, action, next_state)


class Meddler(Minimal):
    def observe(self, state: int, action: int, next_state: int) -> Any:
        super().observe(state, action, next_state)
        if self.visits.sum() == 50:
            self.mdp.polytope.interior[0] += 1e-9


class Silent(Minimal):
    """Says that it decided, but not how that ended."""

    last = "fine"


class Skimming(Minimal):
    """Reads only the first step of a log."""

    def observe_many(self, states: Any, actions: Any, next_states: Any) -> None:
        self.observe(states[0], actions[0], next_states[0])


class Reading(Minimal):
    def observe_many(self, states: Any, actions: Any, next_states: Any) -> None:
        for step in zip(states, actions, next_states, strict=True):
            self.observe(*step)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Skimming, r"Skimming: observe_many leads to the actions \[.*\], one by one to \["),
        (NoNumber, r"NoNumber, step 1, state 0: act returned 0.0, of type float"),
        (OutOfRange, r"OutOfRange, step 1, .* act returned 2; actions go from 0 to 1"),
        (ShortPolicy, r"policy has shape \(2,\)"),
        (FloatPolicy, r"policy holds float64, not whole numbers"),
        (WildPolicy, r"policy has actions from 5 to 5, out of range"),
        (Disobedient, r"act returned 1, but policy says 0"),
        (Chatty, r"observe returned \d; it must return None"),
        (Unseeded, r"Unseeded, two fresh agents, same world, same seed: \w+ differs in step"),
        (Fickle, r"act said 1, and 0 when asked again"),
        (Forgetful, r"saved and loaded after steps 66 and 100: \w+ differs in step"),
        (ForgetfulTheSecondTime, r"saved and loaded after steps 66 and 100: \w+ differs in step 1\d\d"),
        (Outside, r"theta lies outside the feasible set by 0.003"),
        (Credulous, r"Credulous: observe took \(0, 0, 1\), which is impossible; it must raise ValueError"),
        (Shaken, r"after the impossible transition \(0, 0, 1\) was refused: \w+ differs in step 1\d\d"),
        (Silent, r"Silent, step 1, state 0: last has no status, converged, residual, gap, upper_bound"),
        (Meddler, r"Meddler changed the model: polytope"),
    ],
)
def test_each_way_to_break_it_is_named(agent: Any, message: str):
    with pytest.raises(AssertionError, match=message):
        check_agent(agent)


def test_reading_a_log_step_by_step_keeps_the_contract():
    check_agent(Reading)


def test_the_catalogue_is_the_same_each_time_and_each_kind_is_there():
    one, two = example_models(), example_models()
    assert [w.mdp.fingerprint() for w in one.values()] == [w.mdp.fingerprint() for w in two.values()]
    models = [world.mdp for world in one.values()]
    assert {mdp.domain for mdp in models} == {"simplex", "polytope"}
    assert {mdp.is_sparse for mdp in models} == {True, False}
    assert {mdp.p_min > 0 for mdp in models} == {True, False}
    assert {len(mdp.transition_reward) > 0 for mdp in models} == {True, False}
    assert {mdp.polytope.dimension == 0 for mdp in models} == {True, False}
    assert {len(mdp.polytope.blocks) > 1 for mdp in models} == {True, False}
    assert {len(mdp.constraints.zero_names) > 0 for mdp in models} == {True, False}
