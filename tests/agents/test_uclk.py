"""UCLK, UCLK+ and UPAC-UCLK: radii, sums, plans and optimism against slow versions and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from small_worlds import EXAMPLES

from benchmarks.obvious_uclk import ObviousUCLK
from vbmle import UCLK, UPACUCLK, LinearMixtureMDP, UCLKPlus, World, plan, simulate
from vbmle.agents.triggers import EveryObservation
from vbmle.agents.uclk import OptimisticAgent, log_det_radius, paper_radius, published_sweeps
from vbmle.agents.uclk_plus import radii
from vbmle.agents.upac_uclk import most_samples
from vbmle.worlds import hypercube, random_network, riverswim

AGENTS = [UCLK, UCLKPlus, UPACUCLK]
Kind = type[UCLK] | type[UCLKPlus] | type[UPACUCLK]
each_agent = pytest.mark.parametrize("agent", AGENTS)


def walk(
    agent: OptimisticAgent, world: World, steps: int, seed: int = 0
) -> list[tuple[int, np.ndarray, int]]:
    """Let the agent act; returns (row, V in force, next state) for every step."""
    rng, path = np.random.default_rng(seed), []
    state = world.first_state(rng.random())
    for _ in range(steps):
        action = agent.act(state)
        following = world.next_state(state, action, rng.random())
        path.append((state * world.mdp.num_actions + action, agent.V.copy(), following))
        agent.observe(state, action, following)
        state = following
    return path


def replan(agent: OptimisticAgent) -> None:
    """Plan now, with all that is known, whether it is due or not."""
    agent._trigger = EveryObservation()
    agent._plan_if_due()


def feature(mdp: LinearMixtureMDP, row: int, V: np.ndarray) -> np.ndarray:
    """phi_V(s, a) from the dense model."""
    phi, at = mdp.transitions.phi, slice(mdp.transitions.indptr[row], mdp.transitions.indptr[row + 1])
    return np.asarray(phi[at].T @ V[mdp.transitions.successor[at]])


# ---- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"update": "often"}, "update is 'often'; it needs one of 'every-step', 'doubling'"),
        ({"radius": "small"}, "radius is 'small'; it needs one of 'paper', 'logdet'"),
        ({"ridge": 0.0}, "ridge is 0.0; it needs a finite number above 0"),
        ({"delta": 1.0}, "delta is 1.0; it needs a number strictly between 0 and 1"),
        ({"radius_scale": -1.0}, "radius_scale is -1.0; it needs a finite number that is at least 0"),
        ({"sweeps": 0}, "sweeps is 0; it needs a whole number that is at least 1"),
        ({"tolerance": 0.0}, "tolerance is 0.0; it needs a finite number above 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        UCLK(EXAMPLES["simplex mixture"].mdp, **settings)


@each_agent
def test_a_setting_of_another_name_is_refused_in_one_line(agent: Kind):
    mdp = EXAMPLES["simplex mixture"].mdp
    unknown: dict[str, Any] = {"ridges": 1.0}
    with pytest.raises(TypeError, match=rf"{agent.__name__}.*'ridges'"):
        agent(mdp, **unknown)


# ---- radii, by hand


def test_radii_of_uclk_by_hand():
    """d = 1, gamma = 1/2, ridge = 1: H = 2 and (ridge (1-gamma)^2 + t d)/(delta ridge (1-gamma)^2) = 50 at t = 1."""
    assert paper_radius(1, 1, 0.5, 1.0, 0.1) == pytest.approx(
        2.0 * math.sqrt(math.log(50.0)) + 1.0, rel=1e-14
    )
    # d = 4, gamma = .9, ridge = 4: (.04 + 99 * 4)/(.1 * .04) = 99010; H = 10, sqrt(ridge d) = 4
    expected = 10.0 * math.sqrt(4.0 * math.log(99010.0)) + 4.0
    assert paper_radius(99, 4, 0.9, 4.0, 0.1) == pytest.approx(expected, rel=1e-12)
    # log det = 2, delta = e^-1: the root is of 4
    assert log_det_radius(2.0, 9, 0.5, 1.0, math.exp(-1.0)) == pytest.approx(2.0 * 2.0 + 3.0, rel=1e-14)


def test_the_published_number_of_sweeps():
    """T = 500, gamma = .9: log(5000)/.1 = 85.17, the 86 of the notes; gamma^U/(1-gamma) is then at most 1/T."""
    assert published_sweeps(500, 0.9) == 86
    for horizon, gamma in ((10, 0.5), (500, 0.9), (10_000, 0.99)):
        assert gamma ** published_sweeps(horizon, gamma) / (1.0 - gamma) <= 1.0 / horizon


def test_radii_of_uclk_plus_by_hand():
    """t = 1, delta = 4/e: log(4t^2/delta) = 1. ridge = 1/(e-1): log(1 + t/ridge) = 1. d = 4, gamma = .5."""
    ridge = 1.0 / (math.e - 1.0)
    hat, check, tilde = radii(1, 4, 0.5, ridge, 4.0 / math.e)
    size = math.sqrt(4.0 * ridge)
    assert hat == pytest.approx(8.0 * 2.0 + 4.0 * 2.0 + size, rel=1e-12)
    assert check == pytest.approx(8.0 * 4.0 + 4.0 * 2.0 + size, rel=1e-12)
    growth = math.log(1.0 + 16.0 / (4.0 * ridge))
    assert tilde == pytest.approx(8.0 * 4.0 * math.sqrt(4.0 * growth) + 4.0 * 4.0 + size, rel=1e-12)


@pytest.mark.parametrize("level", [1, 2, 4])
def test_samples_of_a_level_are_a_fixed_point(level: int):
    """n = 2 d 4^l log(1 + n H^2/ridge), rounded up."""
    n = most_samples(level, 5, 0.9, 2.0)
    assert n == pytest.approx(10.0 * 4.0**level * math.log1p(100.0 * n / 2.0), abs=1.0)


# ---- sums


@pytest.mark.parametrize(
    "name", ["paper, larger than the simplex", "separate blocks", "raw one-hot features, sparse"]
)
def test_sums_of_uclk_are_those_of_the_definition(name: str):
    world = EXAMPLES[name]
    mdp, agent = world.mdp, UCLK(world.mdp, ridge=0.5)
    sigma, b = 0.5 * np.eye(mdp.dimension), np.zeros(mdp.dimension)
    for row, V, following in walk(agent, world, 150):
        x = feature(mdp, row, V)
        sigma += np.outer(x, x)
        b += x * V[following]
    known, whole = agent._regression, np.zeros_like(sigma)
    for block, part in zip(mdp.polytope.blocks, matrices(mdp, known.sigma), strict=True):
        whole[np.ix_(block.coordinates, block.coordinates)] = part
    np.testing.assert_allclose(whole, sigma, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(known.b, b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(known.estimate(), np.linalg.solve(sigma, b), rtol=0.0, atol=1e-8)
    log_det = np.linalg.slogdet(sigma)[1] - mdp.dimension * math.log(0.5)
    assert known.log_det == pytest.approx(log_det, rel=1e-9)
    beta = log_det_radius(log_det, mdp.dimension, mdp.discount, 0.5, 0.1)
    assert UCLK.beta(_with(agent, radius="logdet")) == pytest.approx(beta, rel=1e-9)


def _with(agent: UCLK, **settings: object) -> UCLK:
    vars(agent).update(settings)
    return agent


def test_weights_of_uclk_plus_are_those_of_the_definition():
    """A slow copy of every formula, on a walk of 100 steps."""
    world = random_network(4, 3, 4, temperature=0.3, seed=2)
    mdp, agent = world.mdp, UCLKPlus(world.mdp, radius_scale=0.01)
    d, H = mdp.dimension, 1.0 / (1.0 - mdp.discount)
    hat, tilde = (np.eye(d), np.zeros(d)), (np.eye(d), np.zeros(d))
    weights = []
    for t, (row, V, following) in enumerate(walk(agent, world, 100), start=1):
        _, beta_check, beta_tilde = (0.01 * beta for beta in radii(t, d, mdp.discount, 1.0, 0.1))
        x, x2 = feature(mdp, row, V), feature(mdp, row, V**2)
        mean = np.clip(x @ np.linalg.solve(*hat), 0.0, H)
        second = np.clip(x2 @ np.linalg.solve(*tilde), 0.0, H**2)
        doubt = min(H**2, 2.0 * H * beta_check * math.sqrt(x @ np.linalg.solve(hat[0], x)))
        doubt += min(H**2, beta_tilde * math.sqrt(x2 @ np.linalg.solve(tilde[0], x2)))
        weight = 1.0 / max(H**2 / d, second - mean**2 + doubt)
        hat = (hat[0] + weight * np.outer(x, x), hat[1] + weight * x * V[following])
        tilde = (tilde[0] + np.outer(x2, x2), tilde[1] + x2 * V[following] ** 2)
        weights.append(weight)
    np.testing.assert_allclose(agent._hat.sigma.reshape(d, d), hat[0], rtol=1e-8)
    np.testing.assert_allclose(agent._hat.b, hat[1], rtol=1e-8)
    np.testing.assert_allclose(agent._tilde.sigma.reshape(d, d), tilde[0], rtol=1e-8)
    assert len(set(weights)) > 10  # neither bound decided everywhere


def test_a_sample_joins_the_first_level_where_it_is_new():
    world = random_network(4, 3, 4, temperature=0.3, seed=2)
    mdp, agent = world.mdp, UPACUCLK(world.mdp)
    levels = [np.eye(mdp.dimension)]
    held = [0]
    for row, V, _ in walk(agent, world, 600):
        x = feature(mdp, row, V)
        norms = [math.sqrt(x @ np.linalg.solve(sigma, x)) for sigma in levels]
        joined = next((k for k, norm in enumerate(norms) if norm > 2.0 ** -(k + 1)), len(levels))
        if joined == len(levels):
            levels.append(np.eye(mdp.dimension))
            held.append(0)
        levels[joined] += np.outer(x, x)
        held[joined] += 1
    assert len(levels) >= 3
    for level, (sigma, known) in enumerate(zip(levels, agent._levels.regressions, strict=True), start=1):
        np.testing.assert_allclose(known.sigma.reshape(sigma.shape), sigma, rtol=1e-8)
        assert held[level - 1] <= most_samples(level, mdp.dimension, mdp.discount, 1.0)


@each_agent
def test_one_hot_features_reduce_to_counts(agent: Kind):
    """Under one plan the block of (s, a) is ridge I + n(s, a) V V', V over its successors: visits, nothing else."""
    world = riverswim(5)
    player = agent(world.mdp)
    optimist = player._optimist
    optimist.restore(optimist.snapshot() | {"V": np.linspace(1.0, 5.0, 5)})
    rng, visits = np.random.default_rng(0), np.zeros(10)
    state = 0
    for _ in range(80):
        player._trigger.decided()  # no plan comes between
        action = int(rng.integers(2))
        following = world.next_state(state, action, rng.random())
        player.observe(state, action, following)
        visits[2 * state + action] += 1
        state = following
    V = np.linspace(1.0, 5.0, 5)
    if isinstance(player, UCLK):
        _check_blocks(world.mdp, player._regression.sigma, 1.0, visits, V)
    elif isinstance(player, UCLKPlus):
        _check_blocks(world.mdp, player._tilde.sigma, 1.0, visits, V**2)
    else:
        assert isinstance(player, UPACUCLK)
        sigmas = np.array(
            [level.sigma for level in player._levels.regressions]
        )  # the levels share the visits among them
        _check_blocks(world.mdp, sigmas.sum(axis=0), len(sigmas), visits, V)


def matrices(mdp: LinearMixtureMDP, flat: np.ndarray) -> list[np.ndarray]:
    """The square matrices of all blocks, which lie one after another."""
    sizes = [len(block.coordinates) for block in mdp.polytope.blocks]
    ends = np.cumsum([size**2 for size in sizes])
    return [part.reshape(k, k) for part, k in zip(np.split(flat, ends[:-1]), sizes, strict=True)]


def _check_blocks(
    mdp: LinearMixtureMDP, sigma: np.ndarray, ridge: float, visits: np.ndarray, V: np.ndarray
) -> None:
    parts = matrices(mdp, sigma)
    for row, block in enumerate(mdp.block_of_pair):
        at = slice(mdp.transitions.indptr[row], mdp.transitions.indptr[row + 1])
        x = V[mdp.transitions.successor[at]]
        np.testing.assert_allclose(
            parts[block], ridge * np.eye(len(x)) + visits[row] * np.outer(x, x), rtol=1e-12
        )


# ---- plans


@pytest.mark.parametrize("size", [(3, 2, 3), (4, 2, 4)])
def test_every_step_is_that_of_the_obvious_version(size: tuple[int, int, int]):
    """Same world, same chance: V, policy and sums as NumPy and cvxpy have them."""
    world = random_network(*size, temperature=0.3, seed=5)
    ours, theirs = UCLK(world.mdp, update="every-step", sweeps=6), ObviousUCLK(world.mdp, sweeps=6)
    rng, state = np.random.default_rng(1), 0
    for _ in range(6):
        theirs.act(state)
        action = ours.act(state)
        np.testing.assert_allclose(ours.V, theirs.V, rtol=0.0, atol=1e-6)  # Clarabel's accuracy
        following = world.next_state(state, action, rng.random())
        theirs.V = ours.V.copy()
        ours.observe(state, action, following)
        theirs.observe(state, action, following)
        np.testing.assert_allclose(ours._regression.sigma.reshape(size[2], -1), theirs.sigma, rtol=1e-10)
        state = following


@pytest.mark.parametrize("scale", [1.0, 0.05])
@pytest.mark.parametrize(
    "name", ["paper, larger than the simplex", "tabular, a product of simplices", "reward of the next state"]
)
def test_both_ways_to_the_fixed_point_agree(name: str, scale: float):
    """After U sweeps V is above the fixed point by at most what the last sweep promises."""
    world = EXAMPLES[name]
    agent = UCLK(world.mdp, radius_scale=scale, tolerance=1e-9)
    walk(agent, world, 80)
    replan(agent)
    fixed = agent.V.copy()
    assert agent._optimist.error_bound <= 1e-9
    agent.settings["sweeps"] = 120
    replan(agent)
    swept = agent.V
    assert agent._optimist.error_bound < 0.01
    assert (swept - fixed).min() >= -1e-8
    assert (swept - fixed).max() <= agent._optimist.error_bound + 1e-8


def test_plans_double():
    """log det Sigma grows by log 2 between plans, so there are at most log2 det + 1 of them, while steps go on."""
    world = hypercube(4)
    agent, plans = UCLK(world.mdp), 0
    rng, state = np.random.default_rng(0), 0
    for _ in range(1500):
        plans += agent._trigger.due()
        action = agent.act(state)
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following
    assert 3 < plans <= agent._regression.log_det / math.log(2.0) + 1.0
    assert agent._regression.log_det > 0.5 * 4 * math.log(
        1500
    )  # it would not fit without logarithms for long


def test_determinants_beyond_floating_point():
    """400 coordinates at ridge 1e-3: det Sigma is about 1e-1200 at the start."""
    world = riverswim(100)
    agent = UCLK(world.mdp, ridge=1e-3)
    assert world.mdp.dimension * math.log10(1e-3) < -700
    regret = simulate(agent, world, 30).regret
    assert np.isfinite(regret).all()
    assert math.isfinite(agent.beta())


def test_the_empty_set_is_told_and_the_nearest_theta_planned_for():
    world = random_network(4, 2, 4, seed=3)
    agent = UCLK(world.mdp, radius_scale=1e-6)
    with pytest.warns(RuntimeWarning, match="no feasible theta is within the radius at t = 1; planning for"):
        walk(agent, world, 40)
    before = agent.empty_sets
    replan(agent)
    policy = agent.policy
    assert agent._optimist.empty
    assert agent.empty_sets == before + 1
    best = plan(world.mdp, agent.theta)
    np.testing.assert_allclose(agent.V, best.V, rtol=0.0, atol=1e-8)
    np.testing.assert_array_equal(policy, best.policy)
    np.testing.assert_array_equal(agent.thetas, np.broadcast_to(agent.theta, agent.thetas.shape))


# ---- optimism


def _misses(agent: Kind, world: World, steps: int, seed: int, **settings: Any) -> int:
    """Plans of one run in which V falls below V* somewhere."""
    player = agent(world.mdp, update="every-step", **settings)
    best = plan(world.mdp, world.theta).V
    rng, missed = np.random.default_rng(seed), 0
    state = world.first_state(rng.random())
    for _ in range(steps):
        action = player.act(state)
        missed += bool((player.V - best < -1e-5).any())
        following = world.next_state(state, action, rng.random())
        player.observe(state, action, following)
        state = following
    return missed


@each_agent
def test_plans_are_optimistic_with_the_promised_probability(agent: Kind):
    """In at least 1 - delta of runs V >= V* in every plan: 20 runs at delta = .1, none may fail often."""
    failed = 0
    for seed in range(20):
        world = (random_network(3, 2, 4, seed=seed), hypercube(3, gap=0.9, seed=seed), riverswim(4))[seed % 3]
        failed += _misses(agent, world, 60, seed) > 0
    # 20 runs that each fail with probability .1: more than 6 happen once in 400.
    assert failed <= 6


def test_optimism_can_be_lost():
    """The test above can fail: with a thousandth of the radius it does in most runs."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = [
            _misses(UCLK, hypercube(3, gap=0.9, seed=s), 60, s, radius_scale=1e-3) > 0 for s in range(8)
        ]
    assert sum(failed) >= 5


@each_agent
def test_the_truth_stays_in_the_set(agent: Kind):
    """|theta* - theta_hat| in Sigma <= beta for all levels, along 8 runs."""
    outside = 0
    for seed in range(8):
        world = random_network(3, 2, 4, temperature=0.3, seed=seed)
        player = agent(world.mdp)
        walk(player, world, 200, seed)
        for one in player._sets():
            away = world.theta - one.estimate
            outside += bool(away @ one.sigma.reshape(len(away), -1) @ away > one.radius**2)
    assert outside <= 3  # eight runs that fail with probability at most .1: four or more once in 200


def test_thetas_are_those_that_were_chosen():
    """V is the fixed point of its own thetas: one feasible theta for every (s, a), inside the ellipsoid."""
    world = random_network(5, 3, 4, temperature=0.2, seed=1)
    mdp, agent = world.mdp, UCLK(world.mdp, radius_scale=0.02)
    walk(agent, world, 200)
    replan(agent)
    thetas, V = agent.thetas, agent.V
    one = agent._sets()[0]
    Q = np.empty((5, 3))
    for s in range(5):
        for a in range(3):
            theta = thetas[s, a]
            assert mdp.contains(theta, tol=1e-9)
            away = theta - one.estimate
            assert away @ one.sigma.reshape(4, 4) @ away <= one.radius**2 * (1.0 + 1e-9)
            Q[s, a] = mdp.pair_reward[3 * s + a] + mdp.discount * theta @ feature(mdp, 3 * s + a, V)
    np.testing.assert_allclose(Q.max(axis=1), V, rtol=0.0, atol=1e-5)  # tolerance 1e-6, times a few
    np.testing.assert_array_equal(Q.argmax(axis=1), agent.policy)
    assert np.ptp(thetas.reshape(15, 4), axis=0).max() > 1e-3
