"""Worlds: the numbers of the literature, closed forms, and an obvious slow version of the random network."""

import math
from typing import Any

import numpy as np
import pytest
from refusals import refused

import vbmle
from vbmle import worlds
from vbmle.model.world import World
from vbmle.planning.planner import plan
from vbmle.simulation import simulate
from vbmle.worlds import closed_loop_trap, from_gymnasium, frozen_lake, hypercube, random_network, riverswim
from vbmle.worlds.closed_loop_trap import HOME, RISKY, SAFE

EXACT = 1e-10

SAMPLES: dict[str, Any] = {
    "cliff_walking": worlds.cliff_walking,
    "closed_loop_trap": closed_loop_trap,
    "two_suspects": worlds.two_suspects,
    "from_gymnasium": lambda: from_gymnasium("FrozenLake-v1", [0.9, 0.1]),
    "frozen_lake": frozen_lake,
    "hypercube": lambda: hypercube(4),
    "inventory": worlds.inventory,
    "maintenance": worlds.maintenance,
    "pricing": worlds.pricing,
    "queue": worlds.queue,
    "random_network": lambda: random_network(3, 2, 5),
    "riverswim": riverswim,
    "suppliers": worlds.suppliers,
    "taxi": worlds.taxi,
}


def transition(world: World, theta: Any = None) -> np.ndarray:
    """P_theta as (S, A, S); the truth unless told otherwise."""
    p: Any = world.mdp.transition(world.theta if theta is None else theta)
    mdp = world.mdp
    return np.asarray(p.toarray().reshape(mdp.num_states, -1, mdp.num_states) if mdp.is_sparse else p)


# ---- all of them


def test_the_registry_has_every_world_and_each_says_what_it_is():
    assert set(worlds.WORLDS) == set(worlds.__all__) == set(SAMPLES)
    for name, build in worlds.WORLDS.items():
        assert build is getattr(worlds, name)
        assert build.__doc__


@pytest.mark.parametrize("name", SAMPLES)
def test_worlds_are_markov_chains_and_come_out_the_same_each_time(name: str):
    one, two = SAMPLES[name](), SAMPLES[name]()
    p = transition(one)
    assert p.min() >= -1e-15
    np.testing.assert_allclose(p.sum(axis=2), 1.0, atol=1e-11)
    assert one.mdp.fingerprint() == two.mdp.fingerprint()
    np.testing.assert_array_equal(one.theta, two.theta)


@pytest.mark.parametrize(
    ("build", "facts"),
    [
        (lambda: random_network(0, 2, 5), ("states", "0")),
        (lambda: random_network(3, 2.5, 5), ("actions", "2.5")),  # type: ignore[arg-type]
        (lambda: random_network(3, 2, -1), ("dimension", "-1")),
        (lambda: random_network(3, 2, 5, hidden=0), ("hidden", "0")),
        (lambda: random_network(3, 2, 5, temperature=0.0), ("temperature", "0")),
        (lambda: random_network(3, 2, 5, temperature=math.nan), ("temperature", "nan")),
        (lambda: random_network(3, 2, 5, seed=-1), ("seed", "-1")),
        (lambda: random_network(3, 2, 5, discount=1.0), ("discount", "1.0")),
        (lambda: random_network(3, 2, 5, reward="rare"), ("reward", "'rare'", "'uniform'", "'sparse'")),
        (lambda: riverswim(2), ("length", "2", "3")),
        (lambda: riverswim(6.0), ("length", "6.0")),  # type: ignore[arg-type]
        (lambda: riverswim(features="linear"), ("features", "'linear'", "'tabular'", "'mixture'")),
        (lambda: riverswim(discount=0.0), ("discount", "0.0")),
        (lambda: hypercube(1), ("dimension", "1", "2", "13")),
        (lambda: hypercube(14), ("dimension", "14", "2", "13")),
        (lambda: hypercube(4, gap=0.0), ("gap", "0.0")),
        (lambda: hypercube(4, gap=1.5), ("gap", "1.5")),
        (lambda: hypercube(4, gap=math.nan), ("gap", "nan")),
        (lambda: hypercube(4, delta=0.0), ("delta", "0.0")),
        (lambda: hypercube(4, delta=0.9, gap=0.5), ("delta", "0.9", "0.666667")),
        (lambda: hypercube(4, seed=-1), ("seed", "-1")),
        (lambda: closed_loop_trap(discount=1.0), ("discount", "1.0")),
    ],
)
def test_bad_arguments_are_refused_by_name(build: Any, facts: tuple[str, ...]):
    with refused(*facts):
        build()


# ---- RiverSwim

LEFT, RIGHT = 0, 1


@pytest.mark.parametrize("features", ["tabular", "mixture"])
@pytest.mark.parametrize("length", [3, 6, 9])
def test_riverswim_has_the_numbers_of_the_literature(features: str, length: int):
    """Osband, Russo and Van Roy (2013), figure 1, for six states."""
    world = riverswim(length, features)
    p = transition(world)
    last = length - 1
    for s in range(length):
        expected = dict.fromkeys(range(length), 0.0)
        if s == 0:
            expected |= {0: 0.4, 1: 0.6}
        elif s == last:
            expected |= {last: 0.6, last - 1: 0.4}
        else:
            expected |= {s + 1: 0.35, s: 0.6, s - 1: 0.05}
        np.testing.assert_allclose(p[s, RIGHT], list(expected.values()), atol=EXACT)
        np.testing.assert_array_equal(p[s, LEFT], np.eye(length)[max(s - 1, 0)])
    reward = world.mdp.pair_reward.reshape(length, 2)
    assert (reward[0, LEFT], reward[last, RIGHT]) == (0.005, 1.0)
    assert reward.sum() == pytest.approx(1.005)
    assert world.first_state(0.999) == 0


@pytest.mark.parametrize("features", ["tabular", "mixture"])
def test_swimming_right_has_the_stationary_law_of_a_birth_and_death_chain(features: str):
    """Detailed balance: pi(s+1) / pi(s) = up(s) / down(s+1)."""
    up = [0.6, 0.35, 0.35, 0.35, 0.35]
    down = [0.05, 0.05, 0.05, 0.05, 0.4]
    law = np.cumprod([1.0, *(u / d for u, d in zip(up, down, strict=True))])
    law /= law.sum()
    np.testing.assert_allclose(law @ transition(riverswim(6, features))[:, RIGHT], law, atol=EXACT)


def test_only_inner_swims_to_the_right_depend_on_theta():
    world = riverswim(5, "mixture")
    here, there = transition(world), transition(world, [0.1, 0.2, 0.7])
    same = np.isclose(here, there, atol=EXACT).all(axis=2)
    assert same[:, LEFT].all()
    assert same[:, RIGHT].tolist() == [True, False, False, False, True]
    np.testing.assert_allclose(there[2, RIGHT], [0.0, 0.7, 0.2, 0.1, 0.0], atol=EXACT)


def test_the_best_swimmer_goes_right():
    world = riverswim(6)
    np.testing.assert_array_equal(plan(world.mdp, world.theta).policy, RIGHT)


# ---- the hypercube


def corner(action: int, width: int) -> np.ndarray:
    return np.array([1.0 if action >> j & 1 else -1.0 for j in range(width)])


@pytest.mark.parametrize(("dimension", "delta", "gap"), [(2, 0.1, 0.5), (4, 0.1, 0.9), (6, 0.5, 1.0)])
def test_hypercube_probabilities(dimension: int, delta: float, gap: float):
    world = hypercube(dimension, delta, gap, seed=3)
    p, width = transition(world), dimension - 1
    assert world.mdp.num_actions == 2**width
    np.testing.assert_allclose(np.abs(world.theta), [*[gap * delta / width] * width, 1.0])
    for a in range(2**width):
        to = delta + corner(a, width) @ world.theta[:-1]
        np.testing.assert_allclose(p[0, a], [1 - to, to], atol=EXACT)
        np.testing.assert_allclose(p[1, a], [delta, 1 - delta], atol=EXACT)
    np.testing.assert_array_equal(
        world.mdp.pair_reward.reshape(2, -1), np.repeat([[0.0], [1.0]], 2**width, axis=1)
    )
    assert world.first_state(0.999) == 0


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99])
def test_hypercube_optimal_value_in_closed_form(discount: float):
    """With q = delta(1 + gap): V1 - V0 = 1/(1 - gamma(1 - delta - q)), V0 (1 - gamma) = gamma q (V1 - V0)."""
    delta, gap = 0.1, 0.5
    world = hypercube(4, delta, gap, seed=1, discount=discount)
    q = delta * (1 + gap)
    ahead = 1 / (1 - discount * (1 - delta - q))
    low = discount * q * ahead / (1 - discount)
    found = plan(world.mdp, world.theta)
    np.testing.assert_allclose(found.V, [low, low + ahead], atol=found.error_bound + EXACT)
    np.testing.assert_array_equal(corner(int(found.policy[0]), 3), np.sign(world.theta[:-1]))


def test_hypercube_signs_come_from_the_seed():
    signs = {tuple(np.sign(hypercube(4, seed=seed).theta)) for seed in range(40)}
    assert len(signs) == 8  # all of them: missing one in 40 draws has probability 8 (7/8)^40 = .04, once


# ---- the paper's environment


def slow_network(states: int, actions: int, d: int, hidden: int, temperature: float, seed: int) -> np.ndarray:
    """Base models (S, A, S, d), one number at a time, from the stream of the network."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[0])

    def layer(fan_in: int, fan_out: int) -> tuple[np.ndarray, np.ndarray]:
        weights = rng.uniform(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in), (fan_in, fan_out))
        return weights, rng.uniform(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in), fan_out)

    def apply(layer: tuple[np.ndarray, np.ndarray], x: list[float]) -> list[float]:
        weights, bias = layer
        columns = range(len(bias))
        return [math.fsum([*(x[i] * weights[i, j] for i in range(len(x))), bias[j]]) for j in columns]

    first, second = layer(states + actions, hidden), layer(hidden, hidden)
    heads = [layer(hidden, states) for _ in range(d)]
    out = np.zeros((states, actions, states, d))
    for s in range(states):
        for a in range(actions):
            x = [float(i == s) for i in range(states)] + [float(i == a) for i in range(actions)]
            for middle in (first, second):
                x = [max(v, 0.0) for v in apply(middle, x)]
            for j, head in enumerate(heads):
                z = [v / temperature for v in apply(head, x)]
                e = [math.exp(v - max(z)) for v in z]
                out[s, a, :, j] = [v / math.fsum(e) for v in e]
    return out


@pytest.mark.parametrize(("hidden", "temperature", "seed"), [(32, 0.01, 0), (7, 0.1, 5), (64, 1.0, 2)])
def test_random_network_is_its_slow_version(hidden: int, temperature: float, seed: int):
    """Rounding of the logits, 1e-14, is divided by the temperature; features under 1e-12 are dropped."""
    world = random_network(3, 2, 4, hidden, temperature, seed)
    expected = slow_network(3, 2, 4, hidden, temperature, seed)
    for j, only in enumerate(np.eye(4)):
        np.testing.assert_allclose(
            transition(world, only), expected[..., j], atol=1e-12 + 1e-14 / temperature
        )


def test_random_network_has_a_random_reward_and_truth():
    world = random_network(15, 4, 10)
    reward = world.mdp.pair_reward
    assert 0.0 <= reward.min() < 0.1  # 60 uniform draws: all above .1 has probability .9^60 = .002
    assert 0.9 < reward.max() <= 1.0
    assert world.theta.min() > 0.0
    assert world.theta.sum() == pytest.approx(1.0, abs=EXACT)
    assert world.mdp.domain == "polytope"
    assert world.mdp.p_min == 0.0
    np.testing.assert_allclose(world.mdp.initial, 1 / 15)


def test_network_reward_and_truth_have_streams_of_their_own():
    base, wide, more = (random_network(3, 2, *size, seed=4) for size in ((5, 32), (5, 16), (6, 32)))
    np.testing.assert_array_equal(base.mdp.pair_reward, wide.mdp.pair_reward)
    np.testing.assert_array_equal(base.mdp.pair_reward, more.mdp.pair_reward)
    np.testing.assert_array_equal(base.theta, wide.theta)
    for j in range(5):
        np.testing.assert_array_equal(transition(base, np.eye(5)[j]), transition(more, np.eye(6)[j]))
    other = random_network(3, 2, 5, seed=5)
    assert not np.array_equal(base.mdp.pair_reward, other.mdp.pair_reward)
    assert not np.array_equal(base.theta, other.theta)


def test_sparse_networks_pay_for_one_pair_and_are_otherwise_the_same():
    paid = set()
    for seed in range(30):
        usual, sparse = (random_network(3, 2, 4, seed=seed, reward=kind) for kind in ("uniform", "sparse"))
        np.testing.assert_array_equal(np.sort(sparse.mdp.pair_reward), [0.0] * 5 + [1.0])
        np.testing.assert_array_equal(usual.theta, sparse.theta)
        np.testing.assert_array_equal(transition(usual), transition(sparse))
        paid.add(int(sparse.mdp.pair_reward.argmax()))
    assert len(paid) == 6  # all pairs: missing one of 6 in 30 draws has probability 6 (5/6)^30 = .025, once


def test_the_usual_reward_is_the_first_draw_of_its_stream():
    rng = np.random.default_rng(np.random.SeedSequence(7).spawn(3)[1])
    np.testing.assert_array_equal(random_network(3, 2, 4, seed=7).mdp.pair_reward, rng.random((3, 2)).ravel())


def test_cold_networks_are_nearly_deterministic_and_hot_ones_nearly_uniform():
    cold, hot = random_network(3, 2, 5, temperature=1e-4), random_network(3, 2, 5, temperature=1e4)
    certain = [transition(cold, only).max(axis=2).min() for only in np.eye(5)]
    assert min(certain) > 0.99
    np.testing.assert_allclose(transition(hot), 1 / 3, atol=1e-3)


# ---- the trap

DISCOUNTS = pytest.mark.parametrize("discount", [0.3, 0.9, 0.99])


def home_values(discount: float, luck: float) -> tuple[float, float]:
    """Of always safe and always risky, at home, by their own recursions."""
    reward = closed_loop_trap(discount).mdp.pair_reward.reshape(3, 2)
    safe = reward[HOME, SAFE] / (1 - discount)
    risky = (reward[HOME, RISKY] + discount * luck * 1.0) / (1 - discount**2)
    return safe, risky


@DISCOUNTS
def test_risky_pays_under_the_truth_and_not_at_the_least_norm(discount: float):
    world = closed_loop_trap(discount)
    for luck, best in ((0.0, SAFE), (0.29, SAFE), (0.31, RISKY), (0.9, RISKY)):
        found = plan(world.mdp, [luck, 1.0])
        assert found.policy[HOME] == best
        assert found.V[HOME] == pytest.approx(max(home_values(discount, luck)), abs=found.error_bound + EXACT)
    assert world.theta[0] == 0.9


def test_what_safe_shows_is_the_same_under_every_model():
    world = closed_loop_trap()
    for luck in np.linspace(0.0, 1.0, 11):
        np.testing.assert_array_equal(transition(world, [luck, 1.0])[HOME, SAFE], np.eye(3)[HOME])


@DISCOUNTS
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 10.0])
def test_maximum_likelihood_locks_on_every_path(discount: float, ridge: float):
    """The induction of the docstring, with a search along P in place of our own estimator.

    At home with n observations of (home, safe, home): the estimate makes safe best, and safe leads home with
    certainty, so that n + 1 of them is the only thing that can follow.
    """
    world = closed_loop_trap(discount)
    for n in (0, 1, 10, 1000):

        def objective(luck: float, n: int = n) -> float:
            stays = transition(world, [luck, 1.0])[HOME, SAFE, HOME]
            return n * math.log(stays) - ridge / 2 * (luck**2 + 1.0)

        guess = max(np.linspace(0.0, 1.0, 1001), key=objective)
        assert guess == 0.0
        assert plan(world.mdp, [guess, 1.0]).policy[HOME] == SAFE
    assert [world.next_state(HOME, SAFE, u) for u in (0.0, 0.5, 1.0 - 2**-53)] == [HOME] * 3


def test_without_data_our_estimator_takes_the_least_norm():
    mdp = closed_loop_trap().mdp
    estimate = vbmle.maximum_likelihood(mdp, vbmle.TransitionCounts(mdp))
    assert estimate.converged
    np.testing.assert_allclose(estimate.theta, [0.0, 1.0], atol=1e-6)


@DISCOUNTS
def test_the_agent_of_maximum_likelihood_is_caught(discount: float):
    world = closed_loop_trap(discount)
    steps = 120
    history = simulate(vbmle.MaximumLikelihood(world.mdp), world, steps, seed=1)
    assert set(history.actions) == {SAFE}
    safe, risky = home_values(discount, 0.9)
    np.testing.assert_allclose(history.regret, (risky - safe) * np.arange(1, steps + 1), rtol=1e-9)


@pytest.mark.parametrize("agent", ["VBMLE", "ApproximateVBMLE"])
@pytest.mark.parametrize("seed", range(5))
def test_the_value_bias_gets_out(agent: str, seed: int):
    world = closed_loop_trap()
    history = simulate(getattr(vbmle, agent)(world.mdp), world, 300, seed=seed)
    at_home = history.actions[history.states == HOME]
    if agent == "VBMLE":
        assert at_home[0] == RISKY  # as the docstring works out
    assert (at_home[-50:] == RISKY).all()
    assert history.regret[-1] < history.regret[149] + 1e-9  # nothing lost in the second half
