"""Likelihood-ratio sets and what they prove, against brute force over the set."""

from pathlib import Path

import numpy as np
import pytest
from problems import draw, random_world, small_world
from small_worlds import EXAMPLES

import vbmle
from vbmle import theory
from vbmle.estimation.confidence import _Expansion
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.likelihood_set import (
    LikelihoodSet,
    likelihood_set,
    log_krichevsky_trofimov,
    log_mixture,
)


def points(likely: LikelihoodSet, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Members of the set: in random directions from the most likely theta, on its boundary and on the way there."""
    found = [likely.theta]
    for _ in range(count):
        direction = np.zeros(likely.mdp.dimension)
        for block in likely.mdp.polytope.blocks:
            if rng.random() < 0.5 or len(likely.mdp.polytope.blocks) == 1:
                direction[block.coordinates] = block.basis @ rng.normal(size=block.dimension)
        low, high = 0.0, 3.0 / max(float(np.linalg.norm(direction)), 1e-9)
        for _ in range(40):
            middle = 0.5 * (low + high)
            if likely.contains(likely.theta + middle * direction):
                low = middle
            else:
                high = middle
        found += [likely.theta + low * direction, likely.theta + 0.5 * low * direction]
    return found


def two_models(seed: int = 3) -> vbmle.World:
    rng = np.random.default_rng(seed)
    models, reward = rng.dirichlet(np.ones(3), (2, 3, 2)), rng.random((3, 2))
    return vbmle.World(vbmle.LinearMixtureMDP.from_models(list(models), reward, 0.9), np.array([0.7, 0.3]))


# The set


def test_the_row_predictor_is_the_product_of_its_predictions():
    world, rng = random_world(5), np.random.default_rng(0)
    mdp = world.mdp
    walked, seen, total = TransitionCounts(mdp), np.zeros(mdp.transitions.count), 0.0
    for _ in range(200):
        s, a = int(rng.integers(mdp.num_states)), int(rng.integers(mdp.num_actions))
        i = walked.add(s, a, world.next_state(s, a, rng.random()))
        row = slice(*mdp.transitions.indptr[[s * mdp.num_actions + a, s * mdp.num_actions + a + 1]])
        k = row.stop - row.start
        total += np.log((seen[i] + 0.5) / (seen[row].sum() + 0.5 * k))
        seen[i] += 1.0
    assert log_krichevsky_trofimov(walked) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("steps", [1, 5, 50, 2000])
def test_the_mixture_gives_at_least_what_is_claimed(steps: int):
    """Two models: the mixture over the segment of theta is an integral in one variable."""
    world = two_models()
    counts = draw(world, steps, np.random.default_rng(steps))
    share = np.linspace(0.0, 1.0, 200_001)[1:-1]
    phi, n = np.asarray(world.mdp.transitions.phi), counts.values
    p = np.outer(share, phi[n > 0, 0]) + np.outer(1.0 - share, phi[n > 0, 1])
    values = np.log(p) @ n[n > 0]
    exact = values.max() + np.log(np.exp(values - values.max()).mean())
    claimed = log_mixture(counts)
    assert claimed <= exact + 1e-6
    assert exact - claimed <= 2.0 + 0.6 * np.log(steps)  # half of m log n, with m = 1, and a constant


@pytest.mark.parametrize("number", range(12))
def test_outer_bounds_contain_the_set(number: int):
    world, rng = random_world(number), np.random.default_rng(number)
    likely = likelihood_set(draw(world, (3, 60, 2000)[number % 3], rng))
    functionals = rng.normal(size=(6, world.mdp.dimension))
    reach = likely.reach(functionals)
    bounds = np.array([likely.support(c, r) for c, r in zip(functionals, reach, strict=True)])
    assert (bounds <= reach).all()
    for theta in points(likely, 40, rng):
        off = theta - likely.theta
        p = world.mdp.transitions.probabilities(theta)
        assert (functionals @ off <= bounds + 1e-7 * (1.0 + bounds)).all()
        assert (np.abs(p - likely.p) <= likely.probability_reach + 1e-7).all()


@pytest.mark.parametrize("steps", [0, 20, 3000])
def test_the_dual_bound_is_tight(steps: int):
    """On a segment the set has two ends, which points finds."""
    likely = likelihood_set(draw(two_models(), steps, np.random.default_rng(1)))
    ends = np.array([theta[0] - likely.theta[0] for theta in points(likely, 4, np.random.default_rng(2))])
    for sign, end in ((1.0, ends.max()), (-1.0, -ends.min())):
        c = sign * np.array([1.0, 0.0])
        bound = likely.support(c, float(likely.reach(c[None, :])[0]))
        assert end - 1e-9 <= bound <= end * 1.01 + 1e-6


@pytest.fixture(scope="module")
def excess() -> np.ndarray:
    """For 200 runs of 30 steps and both predictors, max over t of log q_t - l_t(theta*)."""
    world, found = small_world(2), []
    true_p = np.log(world.mdp.transitions.probabilities(world.theta))
    for seed in range(200):
        history = vbmle.simulate(vbmle.Random(world.mdp, seed=seed), world, 30, seed=seed)
        watch, most = theory.Prequential(world.mdp), np.full(2, -np.inf)
        for s, a, n in zip(history.states, history.actions, history.next_states, strict=True):
            watch.observe(int(s), int(a), int(n))
            counted = np.logaddexp(log_mixture(watch.counts), log_krichevsky_trofimov(watch.counts)) - np.log(
                2.0
            )
            most = np.maximum(most, np.array([watch.log_q, counted]) - watch.counts.values @ true_p)
        found.append(most)
    return np.array(found)


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_sets_cover_the_truth_at_all_times_at_once(excess: np.ndarray, delta: float):
    """Neither set loses theta* in more than a share delta of the runs, whenever one looks."""
    lost = excess > np.log(1.0 / delta)
    assert (lost.mean(axis=0) <= delta).all()
    if delta == 0.5:
        assert lost[:, 0].any()  # it can happen, so the line above could fail


def test_the_prequential_set_is_the_smaller_one():
    world = small_world()
    watch = theory.Prequential(world.mdp)
    history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, 1000)
    for s, a, n in zip(history.states, history.actions, history.next_states, strict=True):
        watch.observe(int(s), int(a), int(n))
    plain = likelihood_set(watch.counts)
    assert watch.set().threshold < 0.7 * plain.threshold
    assert watch.set().contains(world.theta)
    assert plain.contains(world.theta)
    known = theory.constants(world.mdp)
    ellipsoid = theory.beta(1001, *known[:5])
    off = points(plain, 50, np.random.default_rng(0)) - plain.theta
    A = np.asarray(world.mdp.transitions.phi).T @ (watch.counts.values[:, None] * world.mdp.transitions.phi)
    widest = np.einsum("ij,jk,ik->i", off, A + np.eye(3), off).max()
    assert widest < 1e-3 * ellipsoid


# What it proves


@pytest.mark.parametrize("number", range(14))
def test_nothing_in_the_set_contradicts_what_was_proved(number: int):
    """All kinds of worlds, little data and much, the best policy and a bad one: every member of the set agrees."""
    world, rng = random_world(number), np.random.default_rng([number, 5])
    mdp = world.mdp
    for steps in (20, 3000, 100_000):
        counts = draw_many(world, steps, rng)
        likely = likelihood_set(counts)
        good = vbmle.plan(mdp, likely.theta).policy
        for policy in (good, rng.integers(mdp.num_actions, size=mdp.num_states)):
            found = theory.confidence(counts, policy)
            for theta in points(likely, 8, rng):
                plan = vbmle.plan(mdp, theta)
                lost = (plan.V - vbmle.evaluate(mdp, theta, policy)).max()
                assert (found.V_low - 1e-6 <= plan.V).all()
                assert (found.V_high + 1e-6 >= plan.V).all()
                assert lost <= found.loss + 1e-6
                better = plan.Q - plan.Q[np.arange(mdp.num_states), policy][:, None] > 1e-6
                if found.certified:
                    assert not better.any()


@pytest.mark.parametrize("number", range(30))
def test_advantages_stay_below_their_bounds_at_the_very_ends_of_the_set(number: int):
    """On a segment linear parts are bounded tightly, so that a remainder left out would show."""
    world, rng = two_models(number), np.random.default_rng([number, 6])
    mdp = world.mdp
    likely = likelihood_set(draw_many(world, int(rng.choice([300, 3000, 30_000])), rng))
    policy = rng.integers(2, size=3) if number % 2 else vbmle.plan(mdp, likely.theta).policy
    local = _Expansion(likely, policy)
    low, high = local.value_bounds()
    bounds = local.advantages(np.maximum(high - local.V, local.V - low), np.ones(3, dtype=bool))
    members = sorted(points(likely, 6, rng), key=lambda theta: theta[0])
    for theta in (members[0], members[-1]):
        V = vbmle.evaluate(mdp, theta, policy)
        Q = mdp.pair_reward.reshape(3, 2) + 0.9 * np.asarray(mdp.transition(theta)) @ V
        assert (Q - V[:, None] <= bounds + 1e-9).all()
        assert ((low <= V + 1e-9) & (high >= V - 1e-9)).all()


def draw_many(world: vbmle.World, steps: int, rng: np.random.Generator) -> TransitionCounts:
    """Counts of that many draws, evenly over all (s, a)."""
    counts, rows = TransitionCounts(world.mdp), world.mdp.transitions
    p = np.maximum(rows.probabilities(world.theta), 0.0)
    for row in range(len(rows.indptr) - 1):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        drawn = rng.multinomial(max(1, steps // (len(rows.indptr) - 1)), p[part] / p[part].sum())
        for successor, times in zip(rows.successor[part], drawn, strict=True):
            if times:
                counts.add(*divmod(row, world.mdp.num_actions), int(successor), times=int(times))
    return counts


def every_example() -> list[tuple[str, int]]:
    return [(name, steps) for name in EXAMPLES for steps in (0, 300)]


@pytest.mark.parametrize(("name", "steps"), every_example())
def test_the_truth_is_within_its_bounds_in_every_kind_of_model(name: str, steps: int):
    """Flat sets, single points, duplicated models, no data at all."""
    world = EXAMPLES[name]
    counts = draw(world, steps, np.random.default_rng(steps))
    policy = vbmle.plan(world.mdp, world.theta).policy
    found, best = theory.confidence(counts, policy), vbmle.plan(world.mdp, world.theta)
    assert likelihood_set(counts).contains(world.theta)
    assert ((found.V_low <= best.V + 1e-6) & (found.V_high >= best.V - 1e-6)).all()
    assert 0.0 <= found.loss <= (found.V_high - found.V_low).max() + 1e-6
    assert found.certified == (not found.rivals.any())


def test_learning_ends_the_best_policy_is_certified_and_no_other():
    world, rng = small_world(1), np.random.default_rng(0)
    best = vbmle.plan(world.mdp, world.theta).policy
    other = best.copy()
    other[0] = 1 - other[0]
    widths = []
    for steps in (100, 10_000, 1_000_000):
        counts = draw_many(world, steps, rng)
        found = theory.confidence(counts, best)
        assert not theory.confidence(counts, other).certified
        widths.append(float((found.V_high - found.V_low).max()))
    assert found.certified
    assert found.loss == 0.0
    assert not found.rivals.any()
    assert widths[0] > widths[1] > widths[2]
    assert found.interval(0) == (found.V_low[0], found.V_high[0])


def test_actions_that_are_the_same_do_not_stand_in_the_way():
    """With a third action equal to the first everywhere, no data could tell them apart, and none is needed."""
    world = small_world(1)
    features = np.asarray(world.mdp.transitions.phi).reshape(3, 2, 3, 3)
    reward = world.mdp.pair_reward.reshape(3, 2)
    both = np.concatenate([features, features[:, :1]], axis=1)
    twice = vbmle.LinearMixtureMDP(
        both, np.concatenate([reward, reward[:, :1]], axis=1), 0.9, p_min=0.05, domain="simplex"
    )
    counts = draw_many(vbmle.World(twice, world.theta), 1_000_000, np.random.default_rng(0))
    assert theory.confidence(counts, vbmle.plan(twice, world.theta).policy).certified


def test_states_out_of_reach_do_not_matter():
    """States 0 and 1 never lead to 2 and 3, of which nothing was seen."""
    support = np.zeros((4, 2, 4), dtype=bool)
    support[:2, :, :2], support[2:, :, 2:] = True, True
    reward = np.array([[0.0, 0.5], [1.0, 0.0], [0.0, 0.5], [1.0, 0.0]])
    mdp = vbmle.LinearMixtureMDP.tabular(support, reward, 0.5)
    counts = TransitionCounts(mdp)
    for s in (0, 1):
        for a in (0, 1):
            for n in (0, 1):
                counts.add(s, a, n, times=5000)
    policy = np.array([1, 0, 1, 0])
    assert not theory.confidence(counts, policy).certified
    assert theory.confidence(counts, policy, state=0).certified
    assert not theory.confidence(counts, policy, state=2).certified


def test_an_empty_set_proves_nothing_and_says_so():
    world = small_world()
    counts = draw(world, 50, np.random.default_rng(0))
    found = theory.certify(LikelihoodSet(counts, level=1.0), np.zeros(3, np.int64))
    assert found.empty
    assert not found.certified
    assert found.rivals[:, 1:].all()
    mdp = world.mdp
    assert (found.V_low == mdp.pair_reward.min() / (1.0 - mdp.discount)).all()
    assert (found.V_high == mdp.pair_reward.max() / (1.0 - mdp.discount)).all()


def test_bounds_are_in_the_units_of_the_reward():
    world = two_models()
    models = [np.asarray(world.mdp.transition(theta)) for theta in np.eye(2)]
    euros = 3.0 + 40.0 * world.mdp.pair_reward.reshape(3, 2)
    mdp = vbmle.LinearMixtureMDP.from_models(models, euros, 0.9, normalise_reward=True)
    truth = vbmle.World(mdp, world.theta)
    agent = vbmle.VBMLE(mdp)
    vbmle.simulate(agent, truth, 300)
    found, value = agent.confidence(), vbmle.plan(mdp, world.theta).V
    euro_value = mdp.reward_scale * value + mdp.reward_offset / (1.0 - mdp.discount)
    assert not found.empty
    assert ((found.V_low <= euro_value + 1e-5) & (euro_value <= found.V_high + 1e-5)).all()
    assert found.V_low.min() >= euros.min() / (1.0 - 0.9) - 1e-6


def test_a_large_model_is_refused():
    ring = np.zeros((1001, 1, 1001), dtype=bool)
    ring[np.arange(1001), 0, (np.arange(1001) + 1) % 1001] = True
    large = vbmle.LinearMixtureMDP.tabular(ring, np.ones((1001, 1)), 0.9)
    with pytest.raises(ValueError, match="1001 states"):
        theory.confidence(TransitionCounts(large), np.zeros(1001, np.int64))


@pytest.mark.parametrize(
    "kind", ["VBMLE", "ApproximateVBMLE", "MaximumLikelihood", "PSRL", "UCLK", "UCRL2", "RBMLE"]
)
def test_agents_say_what_they_can_prove_and_saving_keeps_it(kind: str, tmp_path: Path):
    world = vbmle.worlds.riverswim(3)
    agent = getattr(vbmle, kind)(world.mdp)
    assert not agent.confidence().certified
    vbmle.simulate(agent, world, 50)
    found = agent.confidence(delta=0.2, state=0)
    np.testing.assert_array_equal(found.policy, agent.policy)
    agent.save(tmp_path / "agent.npz")
    again = type(agent).load(tmp_path / "agent.npz", world.mdp)
    other = again.confidence(delta=0.2, state=0)
    np.testing.assert_array_equal(other.V_high, found.V_high)
    np.testing.assert_array_equal(other.V_low, found.V_low)
    assert [again.act(s) for s in range(3)] == [agent.act(s) for s in range(3)]
