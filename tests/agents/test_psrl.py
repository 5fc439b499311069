"""PSRL: draws against the exact Dirichlet posterior and against numerical integration; when it draws."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.stats import beta, kstest
from small_worlds import EXAMPLES

from vbmle import PSRL, LinearMixtureMDP, TransitionCounts, World, plan, simulate
from vbmle.agents.posterior import Dirichlet, HitAndRun
from vbmle.worlds import closed_loop_trap, random_network, riverswim

SIGMAS = 5.0


def chain(mdp: LinearMixtureMDP, counts: TransitionCounts, draws: int, thinning: int = 10) -> np.ndarray:
    """Draws of one chain, after its burn-in."""
    sampler, rng = HitAndRun(mdp, thinning), np.random.default_rng(0)
    sampler.draw(counts, rng)
    return np.array([sampler.draw(counts, rng) for _ in range(draws)])


def effective_size(x: np.ndarray) -> float:
    """n / (1 + 2 sum of autocorrelations), summed up to the first that is not positive."""
    centred, n = x - x.mean(), len(x)
    if centred.std() == 0.0:
        return float(n)
    total = 0.0
    for lag in range(1, n // 10):
        rho = float(centred[lag:] @ centred[:-lag]) / float(centred @ centred)
        if rho <= 0.0:
            break
        total += rho
    return n / (1.0 + 2.0 * total)


def spread_of_variance(x: np.ndarray) -> float:
    """Standard deviation of (x - mean)^2: that of the sample variance times sqrt(n)."""
    return float(np.std((x - x.mean()) ** 2))


def filled(mdp: LinearMixtureMDP, counts: Sequence[float]) -> TransitionCounts:
    """Counts by transition."""
    table, values = TransitionCounts(mdp), np.array(counts, dtype=float)
    table.load_values(values, np.nonzero(values)[0])
    return table


# ---- against the exact posterior of a table

TABLE = LinearMixtureMDP.tabular(np.ones((3, 1, 3), bool), np.full((3, 1), 0.5), 0.9)
LITTLE = [0, 0, 0, 1, 0, 0, 2, 5, 1]
LEANING = [100, 0, 0, 0, 30, 1, 400, 300, 300]
MUCH = [50_000, 10, 0, 20_000, 20_000, 20_000, 0, 99_999, 1]


@pytest.mark.parametrize("counts", [LITTLE, LEANING, MUCH], ids=["little", "leaning", "much"])
def test_the_chain_has_the_moments_and_marginals_of_the_dirichlet_posterior(counts: Sequence[float]):
    """Each row is Dirichlet(1 + n), so a coordinate is Beta(1 + n_i, sum of the others + 2)."""
    draws = chain(TABLE, filled(TABLE, counts), 4000)
    for row in range(3):
        parameters = 1.0 + np.array(counts[3 * row : 3 * row + 3], dtype=float)
        for i in range(3):
            x, law = draws[:, 3 * row + i], beta(parameters[i], parameters.sum() - parameters[i])
            size = effective_size(x)
            assert size >= 1000  # the chain mixes: at least a quarter of an independent sample
            assert abs(x.mean() - law.mean()) < SIGMAS * law.std() / np.sqrt(size)
            assert abs(x.var() - law.var()) < SIGMAS * spread_of_variance(x) / np.sqrt(size)
            # sqrt(n) D exceeds 2.4 with probability 2e-5.
            assert kstest(x, law.cdf).statistic < 2.4 / np.sqrt(size)


def test_dirichlet_draws_have_the_moments_of_their_law():
    sampler, rng = Dirichlet(TABLE), np.random.default_rng(0)
    draws = np.array([sampler.draw(filled(TABLE, LITTLE), rng) for _ in range(4000)])
    for i in range(3):
        law = beta([3.0, 6.0, 2.0][i], 11.0 - [3.0, 6.0, 2.0][i])
        assert abs(draws[:, 6 + i].mean() - law.mean()) < SIGMAS * law.std() / np.sqrt(4000)
        assert kstest(draws[:, 6 + i], law.cdf).statistic < 2.4 / np.sqrt(4000)


@pytest.mark.parametrize("counts", [LITTLE, LEANING], ids=["little", "leaning"])
def test_a_step_leaves_the_posterior_as_it_is(counts: Sequence[float]):
    """From independent exact draws, one step of the chain each: still exact, so no burn-in can hide an error."""
    table, rng, runs = filled(TABLE, counts), np.random.default_rng(1), 3000
    exact, sampler, after = Dirichlet(TABLE), HitAndRun(TABLE, 1), np.empty((runs, 9))
    sampler.draw(table, rng)
    moved = 0.0
    for k in range(runs):
        start = exact.draw(table, rng)
        sampler._chain.restore(sampler._chain.snapshot() | {"y": TABLE.core.place(start)})
        after[k] = sampler.draw(table, rng)
        moved += float(np.abs(after[k] - start).max() > 1e-12)
    assert moved > 0.99 * runs
    for j in range(9):
        parameters = 1.0 + np.array(counts[j - j % 3 : j - j % 3 + 3], dtype=float)
        law = beta(parameters[j % 3], parameters.sum() - parameters[j % 3])
        assert abs(after[:, j].mean() - law.mean()) < SIGMAS * law.std() / np.sqrt(runs)
        assert kstest(after[:, j], law.cdf).statistic < 2.4 / np.sqrt(runs)


# ---- against integration on a grid


def integrate(mdp: LinearMixtureMDP, counts: TransitionCounts) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of theta under the posterior, on a grid that closes in on it."""
    (block,) = mdp.polytope.blocks
    phi = np.asarray(mdp.transitions.phi) @ block.basis
    base, seen = mdp.transitions.probabilities(block.center), counts.values > 0.0
    low, high = np.full(block.dimension, -3.0), np.full(block.dimension, 3.0)
    for _ in range(8):
        axes = [np.linspace(a, b, 161) for a, b in zip(low, high, strict=True)]
        y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, block.dimension)
        y = y[(y @ block.normals.T + block.offsets >= 0.0).all(axis=1)]
        p = np.maximum(base[seen] + y @ phi[seen].T, 1e-300)
        log = np.log(p) @ counts.values[seen]
        weight = np.exp(log - log.max(initial=-np.inf))
        weight /= weight.sum()
        mean = weight @ y
        spread = np.sqrt(weight @ (y - mean) ** 2) + 1e-12
        low, high = np.maximum(low, mean - 9.0 * spread), np.minimum(high, mean + 9.0 * spread)
    theta = block.center + y @ block.basis.T
    mean = weight @ theta
    return mean, np.sqrt(weight @ (theta - mean) ** 2)


def seen_by_chance(world: World, steps: int) -> TransitionCounts:
    counts, rng, state = TransitionCounts(world.mdp), np.random.default_rng(steps), 0
    for _ in range(steps):
        action = int(rng.integers(world.mdp.num_actions))
        following = world.next_state(state, action, rng.random())
        counts.add(state, action, following)
        state = following
    return counts


WORLDS: dict[str, Callable[[], World]] = {
    "trap, one free coordinate": closed_loop_trap,
    "simplex": lambda: EXAMPLES["simplex mixture"],
    "polytope": lambda: random_network(3, 2, 3, temperature=0.05, seed=2),
    "p_min": lambda: EXAMPLES["p_min"],
}


@pytest.mark.parametrize("steps", [0, 20, 3000])
@pytest.mark.parametrize("name", WORLDS)
def test_the_chain_has_the_moments_of_the_integrated_posterior(name: str, steps: int):
    world = WORLDS[name]()
    counts = seen_by_chance(world, steps)
    draws = chain(world.mdp, counts, 3000)
    mean, spread = integrate(world.mdp, counts)
    for j in range(world.mdp.dimension):
        x, size = draws[:, j], effective_size(draws[:, j])
        if spread[j] < 1e-9:
            np.testing.assert_allclose(x, mean[j], rtol=0.0, atol=1e-9)
            continue
        assert size >= 750
        # A grid of 161 points over 18 standard deviations, or over P: cells at its edge blur by one part in 160.
        assert abs(x.mean() - mean[j]) < (SIGMAS / np.sqrt(size) + 0.03) * spread[j]
        assert (
            abs(x.var() - spread[j] ** 2)
            < SIGMAS * spread_of_variance(x) / np.sqrt(size) + 0.03 * spread[j] ** 2
        )


# ---- mixing where P has hundreds of faces

NETWORK = random_network(15, 4, 10)


@pytest.mark.parametrize("steps", [0, 300])
def test_the_chain_mixes_in_the_largest_world_of_the_paper(steps: int):
    """Many faces nearly coincide there, and with 300 steps two coordinates are known four times worse than others."""
    draws = chain(NETWORK.mdp, seen_by_chance(NETWORK, steps), 1200)
    sizes = [effective_size(x) for x in draws.T]
    assert min(sizes) >= 300
    assert max(NETWORK.mdp.constraints.violation(theta)[0] for theta in draws[::50]) < 1e-12


# ---- the agent


def test_auto_takes_the_exact_sampler_where_there_is_one():
    def first(mdp: LinearMixtureMDP, sampler: str) -> np.ndarray:
        agent = PSRL(mdp, sampler=sampler)
        agent.act(0)
        return agent.theta

    table, lake = riverswim(4).mdp, riverswim(4, features="mixture").mdp
    np.testing.assert_array_equal(first(table, "auto"), first(table, "dirichlet"))
    assert (first(table, "auto") != first(table, "hit-and-run")).any()
    np.testing.assert_array_equal(first(lake, "auto"), first(lake, "hit-and-run"))
    bounded = LinearMixtureMDP.tabular(np.ones((2, 2, 2), bool), np.full((2, 2), 0.5), 0.9, p_min=0.2)
    assert first(bounded, "auto").min() >= 0.2 - 1e-12


def test_seeds_decide():
    world = riverswim(5)
    paths = [simulate(PSRL(world.mdp, seed=seed), world, 80, record=["thetas"]).thetas for seed in (1, 1, 2)]
    np.testing.assert_array_equal(paths[0], paths[1])
    assert not np.array_equal(np.array(paths[0]), np.array(paths[2]))


def test_a_draw_stands_until_something_new_is_seen():
    """Asked about other states in between: the same theta and policy."""
    agent = PSRL(riverswim(4).mdp, update="every-step")
    agent.act(0)
    theta = agent.theta.copy()
    for state in (1, 0, 3):
        agent.act(state)
        np.testing.assert_array_equal(agent.theta, theta)
    agent.observe(0, 1, 1)
    agent.act(1)
    assert (agent.theta != theta).any()


def test_doubling_draws_seldom_and_every_step_always():
    world, steps = riverswim(4, features="mixture"), 1000
    drawn = {}
    for update in ("doubling", "every-step"):
        history = simulate(PSRL(world.mdp, update=update), world, steps, record=["thetas"])
        assert history.thetas is not None
        drawn[update] = 1 + int((np.diff(history.thetas, axis=0) != 0.0).any(axis=1).sum())
    assert drawn["every-step"] == steps
    assert 3 <= drawn["doubling"] <= 60


def test_the_policy_is_optimal_for_the_draw():
    world = EXAMPLES["simplex mixture"]
    agent = PSRL(world.mdp, update="every-step")
    rng, state = np.random.default_rng(0), 0
    for _ in range(30):
        action = agent.act(state)
        best = plan(world.mdp, agent.theta)
        chosen = best.Q[np.arange(world.mdp.num_states), agent.policy]
        np.testing.assert_allclose(chosen, best.V, rtol=0.0, atol=1e-9)
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following


@pytest.mark.parametrize("features", ["tabular", "mixture"])
def test_it_learns_to_swim(features: str):
    """RiverSwim needs exploration: the second half of 2,000 steps loses less than the first, and little."""
    world = riverswim(6, features=features)
    regret = np.mean(
        [simulate(PSRL(world.mdp, seed=s), world, 2000, seed=s).regret for s in range(5)], axis=0
    )
    assert regret[-1] - regret[999] <= 0.5 * regret[999] + 1e-9
    assert regret[-1] < 750.0  # what maximum likelihood loses in 600 steps
