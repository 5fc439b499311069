"""Expected regret and information by draws, and the two agents that weigh them."""

import math
from typing import Any

import numpy as np
import pytest
from small_worlds import EXAMPLES

import vbmle
from vbmle.agents import informed_vbmle
from vbmle.agents.information_ratio import PosteriorDraws, Score
from vbmle.agents.informed_vbmle import InformedVBMLE, choose
from vbmle.agents.triggers import Trigger
from vbmle.planning.planner import expected_reward

EXACT = 1e-9
"""Linear algebra of values up to 1/(1 - gamma) = 10 or 100; sweeps promise 1e-11/(1 - gamma)."""


def drawn(world: vbmle.World, steps: int = 30) -> tuple[PosteriorDraws, vbmle.TransitionCounts]:
    """Draws after a few random steps, and the counts."""
    counts = vbmle.TransitionCounts(world.mdp)
    P = dense(world.mdp, world.theta)
    rng, state = np.random.default_rng(1), 0
    for _ in range(steps):
        action = int(rng.integers(world.mdp.num_actions))
        after = int(rng.choice(world.mdp.num_states, p=P[state, action]))
        counts.add(state, action, after)
        state = after
    draws = PosteriorDraws(counts, draws=5, fresh=2, thinning=5, seed=3)
    draws.refresh()
    return draws, counts


def dense(mdp: vbmle.LinearMixtureMDP, theta: np.ndarray) -> np.ndarray:
    """P as (S, A, S), whatever the model is kept as."""
    P: Any = mdp.transition(theta)
    full = np.asarray(P.toarray() if mdp.is_sparse else P)
    return full.reshape(mdp.num_states, mdp.num_actions, mdp.num_states)


def kl(mdp: vbmle.LinearMixtureMDP, thetas: np.ndarray) -> np.ndarray:
    """mean_m KL(P_m || P_mean), written down plainly, (S, A)."""
    mean = dense(mdp, thetas.mean(axis=0))
    total = np.zeros(mean.shape[:2])
    for theta in thetas:
        P = dense(mdp, theta)
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(P > 1e-200, P * np.log(P / mean), 0.0).sum(axis=2)
    return total / len(thetas)


@pytest.mark.parametrize("name", EXAMPLES)
def test_regret_and_information_are_what_their_definitions_say(name: str):
    world = EXAMPLES[name]
    mdp, state = world.mdp, 1
    draws, _ = drawn(world)
    thetas = np.array(draws.thetas)
    policy = np.random.default_rng(2).integers(mdp.num_actions, size=mdp.num_states)
    (found,) = draws.score([policy], state)
    loss = [vbmle.plan(mdp, theta).V[state] - vbmle.evaluate(mdp, theta, policy)[state] for theta in thetas]
    assert found.regret == pytest.approx(np.mean(loss), abs=EXACT / (1.0 - mdp.discount))
    information, mean = kl(mdp, thetas), dense(mdp, thetas.mean(axis=0))
    rows = np.arange(mdp.num_states), policy
    visits = np.linalg.inv(np.eye(mdp.num_states) - mdp.discount * mean[rows])[state]
    assert draws.information.reshape(information.shape) == pytest.approx(information, abs=1e-9)
    assert found.information == pytest.approx(visits @ information[rows], abs=EXACT / (1.0 - mdp.discount))


@pytest.mark.parametrize("tilt", [0.0, 0.7, 1e9])
def test_the_tilted_regret_is_what_its_definition_says(tilt: float):
    world = EXAMPLES["hypercube, a cross-polytope"]
    mdp, state = world.mdp, 1
    draws, _ = drawn(world)
    thetas = np.array(draws.thetas)
    policy = np.zeros(mdp.num_states, np.int64)
    best = np.array([vbmle.plan(mdp, theta).V[state] for theta in thetas])
    loss = best - [vbmle.evaluate(mdp, theta, policy)[state] for theta in thetas]
    expected = loss[best.argmax()]  # in the limit the most valuable draw alone counts
    if tilt < 1e9:
        weights = np.exp(tilt * best)
        expected = (weights * loss).sum() / weights.sum()
    assert best.max() - np.sort(best)[-2] > 1e-6  # so that the limit is reached
    (found,) = draws.score([policy], state, tilt)
    assert found.regret == pytest.approx(expected, abs=EXACT / (1.0 - mdp.discount))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_tilt_changes_the_regret_by_no_more_than_values_differ(name: str):
    mdp, state, tilt = EXAMPLES[name].mdp, 0, 0.4
    draws, _ = drawn(EXAMPLES[name])
    best = draws.best[:, state]
    most = math.exp(tilt * np.ptp(best))
    policy = np.random.default_rng(4).integers(mdp.num_actions, size=mdp.num_states)
    neutral, tilted = (draws.score([policy], state, by)[0].regret for by in (0.0, tilt))
    assert neutral / most - EXACT <= tilted <= neutral * most + EXACT


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_plan_for_information_is_optimal_on_the_mean_model(name: str):
    mdp = EXAMPLES[name].mdp
    draws, _ = drawn(EXAMPLES[name])
    thetas = np.array(draws.thetas)
    P, price = dense(mdp, thetas.mean(axis=0)), 3.0
    reward = expected_reward(mdp, mdp.core.probabilities(thetas.mean(axis=0)))
    gain = reward.reshape(P.shape[:2]) + price * kl(mdp, thetas)
    best = vbmle.plan_known(P, gain, mdp.discount)
    policy = draws.best_for(price, np.zeros(mdp.num_states, np.int64))
    rows = np.arange(mdp.num_states), policy
    V = np.linalg.solve(np.eye(mdp.num_states) - mdp.discount * P[rows], gain[rows])
    assert pytest.approx(best.V, abs=1e-6 * max(1.0, float(np.abs(best.V).max()))) == V


def test_the_ratio_at_its_edges():
    assert Score(0.0, 0.0).ratio() == 0.0
    assert Score(1.0, 0.0).ratio() == math.inf
    assert Score(3.0, 2.0).ratio() == 4.5
    assert Score(3.0, 2.0).ratio(3.0) == 13.5
    assert Score(0.0, 0.0).order() < Score(1e-9, 1e9).order()  # nothing to lose is never passed over
    assert Score(1.0, 0.0).order() < Score(2.0, 0.0).order()


def test_what_cannot_pay_for_itself_takes_no_part():
    stay, explore = Score(0.0625, 0.0), Score(4.0, 1.0)
    assert choose([stay, explore], horizons=0.0) == 0  # 4 - 1/16 > 60/16
    assert choose([stay, explore], horizons=62.0) == 0
    assert choose([stay, explore], horizons=63.0) == 1  # 4 - 1/16 = 63/16: a longer run can afford it
    assert choose([Score(0.125, 0.0), explore], horizons=0.0) == 1  # 4 - 1/8 <= 60/8
    assert choose([Score(0.0, 0.0), explore], horizons=1e9) == 0  # nothing can be gained
    assert choose([Score(0.2, 0.1), Score(0.4, 1.0)], horizons=0.0) == 1  # by cubes, 0.08 against 0.064
    assert (
        choose([Score(0.2, 0.1), Score(0.4, 0.5)], horizons=0.0) == 0
    )  # 0.08 against 0.128; squares would say 1


def test_what_teaches_little_has_to_be_followed_for_longer():
    stay = Score(0.0625, 0.0)
    assert choose([stay, Score(2.0625, 0.5)], horizons=0.0) == 0  # two horizons to a nat: 2 * 2 > 60/16
    assert choose([stay, Score(2.0625, 0.5)], horizons=64.0) == 1  # 2 * 2 = 64/16
    assert choose([stay, Score(2.0625, 8.0)], horizons=0.0) == 1  # never less than one horizon: 2 <= 60/16
    assert choose([stay, Score(4.0, 8.0)], horizons=0.0) == 0
    assert choose([stay, Score(0.07, 0.0)], horizons=1e9) == 0  # loses more and teaches nothing


def test_a_door_that_should_stay_closed_stays_closed():
    world = vbmle.worlds.queue(capacity=6, mix=[1.0, 0.0, 0.0])
    history = vbmle.simulate(vbmle.recommended(world.mdp, seed=1), world, 600, seed=2)
    assert np.isin(history.actions[-200:], (0, 2)).all()


@pytest.mark.parametrize(
    "seed", [13, 50, 109, 112]
)  # with these, the first few starts all end on the left bank
def test_no_seed_leaves_it_on_the_left_bank(seed: int):
    world = vbmle.worlds.riverswim(length=12, features="mixture")
    history = vbmle.simulate(vbmle.recommended(world.mdp, seed=seed), world, 60, seed=1)
    assert (history.actions[:20] == 1).all()


def test_it_decides_again_when_time_has_doubled_whatever_was_learnt(monkeypatch: pytest.MonkeyPatch):
    class Never(Trigger):
        def due(self, state: int = 0) -> bool:
            return False

    monkeypatch.setattr(informed_vbmle, "informed_trigger", lambda mdp, update: Never())
    world = vbmle.worlds.queue(capacity=6)
    agent = vbmle.recommended(world.mdp)
    vbmle.simulate(agent, world, 100)
    assert agent.decisions == 7  # after 1, 2, 4, 8, 16, 32 and 64 observations


@pytest.mark.parametrize("steps", [100, 1000])
@pytest.mark.parametrize("name", ["hypercube", "pricing"])
def test_decisions_are_as_few_as_promised(name: str, steps: int):
    world = {"hypercube": vbmle.worlds.hypercube(4), "pricing": vbmle.worlds.pricing(5, 2)}[name]
    agent = vbmle.recommended(world.mdp)
    vbmle.simulate(agent, world, steps, seed=2)
    mdp, d = world.mdp, world.mdp.dimension
    squared = max(float((dense(mdp, unit) ** 2).max()) for unit in np.eye(d)) * d  # bounds |phi|^2
    growth = d * math.log1p(steps * squared / d)
    assert 5 < agent.decisions <= 1.0 + growth / math.log(1.1) + math.log2(steps)


def test_draws_are_replaced_in_turn_and_only_after_observations():
    world = EXAMPLES["hypercube, a cross-polytope"]
    draws, counts = drawn(world)
    before = np.array(draws.thetas)
    draws.refresh()
    assert np.array_equal(before, np.array(draws.thetas))
    counts.add(0, 0, 1)
    draws.refresh()
    changed = (before != np.array(draws.thetas)).any(axis=1)
    assert changed.tolist() == [True, True, False, False, False]


def test_with_the_bias_0_alone_it_is_maximum_likelihood():
    world = vbmle.worlds.random_network(4, 2, 3, seed=2)
    one = vbmle.simulate(InformedVBMLE(world.mdp, multiples=(0.0,)), world, 150, seed=4)
    other = vbmle.simulate(vbmle.MaximumLikelihood(world.mdp), world, 150, seed=4)
    assert np.array_equal(one.actions, other.actions)


def scaled(world: vbmle.World, factor: float) -> vbmle.World:
    """The same hypercube or network with its reward multiplied."""
    mdp = world.mdp
    shape = (mdp.num_states, mdp.num_actions)
    features = np.zeros((*shape, mdp.num_states, mdp.dimension))
    for k, unit in enumerate(np.eye(mdp.dimension)):
        features[..., k] = dense(mdp, unit)
    reward = factor * mdp.pair_reward.reshape(shape)
    kept = vbmle.LinearMixtureMDP(features, reward, mdp.discount, initial=mdp.initial, domain=mdp.domain)
    return vbmle.World(kept, world.theta)


@pytest.mark.parametrize("factor", [0.5, 0.0625])  # powers of two: not even rounding differs
def test_the_recommended_agent_does_not_care_in_what_unit_rewards_are(factor: float):
    world = vbmle.worlds.random_network(5, 3, 4, seed=6)
    runs = [
        vbmle.simulate(vbmle.recommended(w.mdp, seed=5), w, 200, seed=7)
        for w in (scaled(world, 1.0), scaled(world, factor))
    ]
    assert np.array_equal(runs[0].actions, runs[1].actions)
    assert runs[1].regret == pytest.approx(factor * runs[0].regret, abs=1e-12)


def test_vbmle_as_published_does_care():
    world = vbmle.worlds.hypercube(3, gap=0.9, seed=1)
    runs = [
        vbmle.simulate(vbmle.VBMLE(w.mdp), w, 200, seed=7)
        for w in (scaled(world, 1.0), scaled(world, 2.0**-6))
    ]
    assert not np.array_equal(runs[0].actions, runs[1].actions)


def test_recommended_is_the_informed_vbmle_by_default():
    mdp = vbmle.worlds.riverswim().mdp
    agent = vbmle.recommended(mdp, seed=9)
    assert type(agent) is InformedVBMLE
    assert agent.settings == InformedVBMLE(mdp, seed=9).settings


def test_a_bias_that_is_negative_is_refused():
    with pytest.raises(ValueError, match="feel_good is -1"):
        InformedVBMLE(vbmle.worlds.riverswim().mdp, feel_good=-1.0)


def test_no_multiples_are_refused():
    with pytest.raises(ValueError, match="multiples is empty"):
        InformedVBMLE(vbmle.worlds.riverswim().mdp, multiples=())


@pytest.mark.parametrize("kind", [InformedVBMLE, vbmle.InformationDirected])
def test_both_get_out_of_the_trap_that_holds_maximum_likelihood(kind: type[vbmle.Agent]):
    world = vbmle.worlds.closed_loop_trap()
    steps = 400
    found = vbmle.simulate(kind(world.mdp), world, steps, seed=3).regret
    trapped = vbmle.simulate(vbmle.MaximumLikelihood(world.mdp), world, steps, seed=3).regret
    assert found[-1] == found[-100]  # nothing is lost any more
    assert trapped[-1] > trapped[-100]


@pytest.mark.parametrize(
    "kind",
    [InformedVBMLE, vbmle.InformationDirected, vbmle.FeelGoodSampling, vbmle.OMLE],
    ids=lambda k: k.__name__,
)
def test_actions_that_are_not_allowed_are_never_taken(kind: type[vbmle.Agent]):
    rng = np.random.default_rng(5)
    models = [rng.dirichlet(np.ones(3), (3, 3)) for _ in range(3)]
    allowed = np.array([[False, True, True], [True, False, True], [False, False, True]])
    mdp = vbmle.LinearMixtureMDP.from_models(models, rng.random((3, 3)), 0.9, allowed=allowed)
    history = vbmle.simulate(kind(mdp), vbmle.World(mdp, [0.2, 0.3, 0.5]), 60, seed=1)
    assert allowed[history.states, history.actions].all()
    assert math.isfinite(history.regret[-1])
