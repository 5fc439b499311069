"""UCRL2: the inner maximum against linear programming, planning against a slow version, radius, episodes, optimism."""

import numpy as np
import pytest
from scipy.optimize import linprog

from vbmle import UCRL2, LinearMixtureMDP, World, plan, simulate
from vbmle.core.optimism import L1Optimist
from vbmle.core.parts_optimism import best_mean
from vbmle.testing import example_models
from vbmle.worlds import riverswim

EXAMPLES = example_models()


def by_program(estimate: np.ndarray, gain: np.ndarray, radius: float) -> float:
    """max <p, gain> with p a distribution and sum |p - estimate| <= radius, |.| split into two parts."""
    m = len(estimate)
    result = linprog(
        np.concatenate([-gain, np.zeros(m)]),
        A_ub=np.vstack(
            [
                np.hstack([np.eye(m), -np.eye(m)]),
                np.hstack([-np.eye(m), -np.eye(m)]),
                np.concatenate([np.zeros(m), np.ones(m)])[None, :],
            ]
        ),
        b_ub=np.concatenate([estimate, -estimate, [radius]]),
        A_eq=np.concatenate([np.ones(m), np.zeros(m)])[None, :],
        b_eq=[1.0],
        method="highs",
    )
    assert result.status == 0
    return float(-result.fun)


@pytest.mark.parametrize("case", range(60))
def test_the_inner_maximum_is_that_of_a_linear_program(case: int):
    rng = np.random.default_rng([case, 1])
    m = int(rng.integers(1, 8))
    estimate = rng.dirichlet(np.full(m, 0.5))
    if case % 3 == 0:  # frequencies, some of them 0
        estimate = rng.multinomial(5, estimate) / 5.0
    gain = np.round(rng.random(m), 1 if case % 2 else 6)  # with ties
    radius = float(rng.choice([0.0, 0.1, 0.7, 2.0, 5.0]))
    order = rng.permutation(m)
    found = best_mean(estimate, gain, radius, order)
    assert found == pytest.approx(by_program(estimate, gain, radius), abs=1e-9)
    assert (np.diff(gain[order]) >= 0.0).all()


def slow_iteration(
    mdp: LinearMixtureMDP, estimate: np.ndarray, radius: np.ndarray, sweeps: int
) -> np.ndarray:
    """Extended value iteration in plain NumPy: sort, move radius/2 up to the best, take it from the worst."""
    V, indptr = np.full(mdp.num_states, 1.0 / (1.0 - mdp.discount)), mdp.transitions.indptr
    extra = mdp.transition_reward if len(mdp.transition_reward) else np.zeros(mdp.transitions.count)
    for _ in range(sweeps):
        Q = np.empty(mdp.num_states * mdp.num_actions)
        for row in range(len(Q)):
            span = slice(indptr[row], indptr[row + 1])
            gain = extra[span] + mdp.discount * V[mdp.transitions.successor[span]]
            order = np.argsort(-gain)
            p = estimate[span][order].copy()
            p[0] = min(1.0, p[0] + radius[row] / 2.0)
            worst = len(p) - 1
            while p.sum() > 1.0 + 1e-15 and worst > 0:
                p[worst] = max(0.0, p[worst] - (p.sum() - 1.0))
                worst -= 1
            Q[row] = mdp.row_reward[row] + p @ gain[order]
        V = Q.reshape(mdp.num_states, -1).max(axis=1)
    return V


@pytest.mark.parametrize(
    "name", ["tabular, a product of simplices", "reward of the next state", "sparse mixture"]
)
@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0])
def test_planning_agrees_with_a_slow_version_within_its_promise(name: str, scale: float):
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(3)
    indptr = mdp.transitions.indptr
    estimate = np.concatenate([rng.dirichlet(np.ones(n)) for n in np.diff(indptr)])
    radius = scale * rng.random(len(indptr) - 1)
    for tolerance in (1e-3, 1e-8):
        optimist = L1Optimist(mdp.core)
        assert optimist.plan(estimate, radius, tolerance, 100_000)
        V, error = optimist.V, optimist.error_bound
        assert error <= tolerance
        # gamma = .9: after 400 sweeps the slow version is off by at most .9^400 * 10 < 1e-17.
        off = np.abs(V - slow_iteration(mdp, estimate, radius, 400)).max()
        assert off <= error + 1e-11


def test_without_a_radius_it_plans_for_the_frequencies():
    """Every pair visited, radius_scale = 0: certainty equivalence."""
    world, rng = riverswim(5), np.random.default_rng(0)
    agent, mdp = UCRL2(world.mdp, radius_scale=0.0), world.mdp
    for _ in range(5):
        for row in range(10):
            state, action = divmod(row, 2)
            agent.observe(state, action, world.next_state(state, action, rng.random()))
    agent.act(0)
    visits = np.add.reduceat(agent.counts.values, mdp.transitions.indptr[:-1])
    frequencies = agent.counts.values / np.repeat(visits, np.diff(mdp.transitions.indptr))
    exact = plan(mdp, frequencies)
    np.testing.assert_allclose(agent.V, exact.V, rtol=0.0, atol=agent.error_bound)
    assert 0.0 < agent.error_bound <= 1e-6 * 11


def test_unvisited_pairs_may_lead_anywhere_however_small_the_radius():
    """Nothing seen: V is the value of a controller who chooses every successor, solved as a deterministic MDP."""
    world = riverswim(4)
    for scale in (1.0, 0.0):
        agent = UCRL2(world.mdp, radius_scale=scale)
        agent.act(0)
        # From state s straight to the right end, then reward 1 for ever: gamma^(3-s) * 10.
        np.testing.assert_allclose(
            agent.V, 10.0 * 0.9 ** np.arange(3, -1, -1), rtol=0.0, atol=agent.error_bound
        )
        assert agent.policy.tolist() == [1, 1, 1, 1]


def test_the_radius_is_the_published_one_on_the_known_support():
    """sqrt(14 m log(2 A t/delta) / n), by hand for RiverSwim: m = 3 inside to the right, 1 to the left."""
    world = riverswim(4)
    agent = UCRL2(world.mdp, delta=0.2, radius_scale=0.5)
    for _ in range(4):
        agent.observe(1, 1, 2)
    agent.observe(1, 0, 0)
    radius = agent.radius()
    log = np.log(2 * 2 * 6 / 0.2)
    assert radius[3] == pytest.approx(0.5 * np.sqrt(14 * 3 * log / 4), abs=1e-12)
    assert radius[2] == pytest.approx(0.5 * np.sqrt(14 * 1 * log / 1), abs=1e-12)
    assert radius[0] == 2.0


def test_plans_are_made_when_episodes_start_and_not_else():
    world, made = riverswim(4), list[int]()
    agent, rng, state = UCRL2(world.mdp), np.random.default_rng(0), 0
    for _ in range(2000):
        before = agent.decisions
        action = agent.act(state)
        if agent.decisions > before:
            made.append(agent.counts.total)
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following
    pairs = world.mdp.num_states * world.mdp.num_actions
    # Each pair can end at most 1 + log2(visits) + 1 episodes.
    assert 5 < len(made) <= pairs * (2 + np.log2(2000))
    assert made == sorted(set(made))


def optimistic_runs(runs: int, **settings: float) -> int:
    """In how many runs, in random worlds of three states, V >= V* held in every state and every episode."""
    rng, good = np.random.default_rng(0), 0
    for k in range(runs):
        p = rng.dirichlet(np.ones(3), (3, 2))
        mdp = LinearMixtureMDP.tabular(np.ones((3, 2, 3), bool), rng.random((3, 2)), 0.8)
        world = World(mdp, p.reshape(-1))
        best, agent, state, fine = plan(mdp, world.theta).V, UCRL2(mdp, **settings), 0, True
        for u in np.random.default_rng([k, 7]).random(300):
            action = agent.act(state)
            fine = fine and float((agent.V - best).min()) >= -1e-12
            following = world.next_state(state, action, u)
            agent.observe(state, action, following)
            state = following
        good += fine
    return good


def test_values_are_optimistic_as_often_as_promised():
    assert optimistic_runs(40, delta=0.1) >= 0.9 * 40


def test_optimism_is_lost_when_the_balls_are_too_small():
    assert optimistic_runs(40, delta=0.1, radius_scale=0.01) < 0.9 * 40


def test_values_shrink_to_the_truth_with_data():
    """Counts of a million per pair: the optimistic value is near V*, and still above."""
    world = riverswim(4)
    agent = UCRL2(world.mdp)
    mdp = world.mdp
    agent.counts.load_values(np.round(1e6 * world.theta), np.arange(mdp.transitions.count))
    agent.act(0)
    best = plan(mdp, world.theta).V
    # |V - V*| <= gamma/(1-gamma) * span/2 * radius, span <= 10.
    bound = 9.0 * 5.0 * agent.radius().max()
    assert (agent.V - best).min() >= -1e-12
    assert (agent.V - best).max() <= bound
    assert bound < 2.0


def test_features_are_ignored():
    """The three-parameter river as a mixture and as a table: the same moves, value and policy."""
    table, mixture = riverswim(5), riverswim(5, features="mixture")
    one, two = UCRL2(table.mdp), UCRL2(mixture.mdp)
    histories = [simulate(agent, world, 300) for agent, world in ((one, table), (two, mixture))]
    np.testing.assert_array_equal(histories[0].actions, histories[1].actions)
    np.testing.assert_array_equal(one.V, two.V)
