"""The likelihood agents: exact continuation, schedules, what they lose, what a step costs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import play
from small_worlds import EXAMPLES

from vbmle import VBMLE, ApproximateVBMLE, MaximumLikelihood, World, plan, simulate
from vbmle.core.solver import Objective
from vbmle.estimation.maximiser import POOL, Solver, make_objective
from vbmle.worlds import closed_loop_trap, hypercube, random_network, riverswim

Kind = type[VBMLE] | type[ApproximateVBMLE] | type[MaximumLikelihood]
AGENTS: list[Kind] = [VBMLE, ApproximateVBMLE, MaximumLikelihood]
SEEDS = range(10)
each_agent = pytest.mark.parametrize("agent", AGENTS)


@pytest.mark.parametrize("name", ["raw one-hot features", "simplex mixture", "three-parameter river"])
@each_agent
def test_the_policy_is_optimal_for_theta(agent: Kind, name: str):
    """a_t = argmax_a Q*(s_t, a; theta_t), in every state."""
    world = EXAMPLES[name]
    player, rng, state = agent(world.mdp), np.random.default_rng(0), 0
    for _ in range(20):
        state = play(player, world, 5, state, rng)
        player.act(state)
        best = plan(world.mdp, player.theta)
        chosen = best.Q[np.arange(world.mdp.num_states), player.policy]
        # theta and V are exact up to rounding, and actions that tie within it are equal.
        np.testing.assert_allclose(chosen, best.V, rtol=0.0, atol=1e-8)


# ---- exact continuation

CONTINUE = """
import sys
import numpy as np
import vbmle
from vbmle import LinearMixtureMDP, World

folder = sys.argv[1]
mdp = LinearMixtureMDP.load(folder + "/model.npz")
world = World(mdp, np.load(folder + "/truth.npy"))
for name in sys.argv[2:]:
    agent = getattr(vbmle, name).load(f"{folder}/{name}.npz", mdp)
    state, rng = 0, np.random.default_rng(1)
    for _ in range(60):
        action = agent.act(state)
        print(name, state, action, agent.theta.tobytes().hex(), agent.policy.tolist())
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following
"""


def test_another_process_goes_on_exactly_where_this_one_stopped(tmp_path: Path):
    world = riverswim(4)
    world.mdp.save(tmp_path / "model.npz")
    np.save(tmp_path / "truth.npy", world.theta)
    expected = []
    for kind in AGENTS:
        agent = kind(world.mdp)
        play(agent, world, 50, 0, np.random.default_rng(0))
        agent.save(tmp_path / f"{kind.__name__}.npz")
        state, rng = 0, np.random.default_rng(1)
        for _ in range(60):
            action = agent.act(state)
            policy = agent.policy.tolist()
            expected.append(f"{kind.__name__} {state} {action} {agent.theta.tobytes().hex()} {policy}")
            following = world.next_state(state, action, rng.random())
            agent.observe(state, action, following)
            state = following
    names = [kind.__name__ for kind in AGENTS]
    command = [sys.executable, "-c", CONTINUE, str(tmp_path), *names]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == expected


@each_agent
def test_a_file_is_refused_by_another_model_and_another_agent(agent: Kind, tmp_path: Path):
    path = tmp_path / "agent.npz"
    agent(riverswim(4).mdp).save(path)
    with pytest.raises(ValueError, match="was saved on another model"):
        agent.load(path, riverswim(5).mdp)
    other = AGENTS[AGENTS.index(agent) - 1]
    with pytest.raises(ValueError, match=f"holds a {agent.__name__}; load it with {agent.__name__}.load"):
        other.load(path, riverswim(4).mdp)


@pytest.mark.parametrize("damage", [b"", b"not an archive", None])
def test_a_damaged_file_is_named(damage: bytes | None, tmp_path: Path):
    path, mdp = tmp_path / "agent.npz", riverswim(4).mdp
    VBMLE(mdp).save(path)
    path.write_bytes(path.read_bytes()[:200] if damage is None else damage)
    with pytest.raises(ValueError, match=r"agent\.npz is not an agent"):
        VBMLE.load(path, mdp)


# ---- the bias


def test_a_function_of_t_is_a_schedule():
    """It sees t = 1, 2, ...; sqrt by hand is sqrt by name."""
    world, seen = riverswim(4), []

    def schedule(t: int) -> float:
        seen.append(t)
        return float(np.sqrt(t))

    one, two = VBMLE(world.mdp, bias=schedule), VBMLE(world.mdp)
    for agent in (one, two):
        play(agent, world, 30, 0, np.random.default_rng(0))
    assert sorted(set(seen)) == list(range(1, 31))
    np.testing.assert_array_equal(one.theta, two.theta)


@pytest.mark.parametrize(("name", "formula"), [("sqrt", np.sqrt), ("log", np.log1p)])
@pytest.mark.parametrize("kind", [VBMLE, ApproximateVBMLE])
def test_schedules_by_name(kind: Any, name: str, formula: Callable[[float], float]):
    world = riverswim(4)
    agent = kind(world.mdp, bias=name, bias_scale=0.5)
    for t in range(1, 5):
        assert agent.alpha() == pytest.approx(0.5 * formula(t))
        play(agent, world, 1, 0, np.random.default_rng(0))


@pytest.mark.parametrize("kind", [VBMLE, ApproximateVBMLE])
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_bias_that_goes_bad_is_refused_when_it_does(kind: Any, bad: float):
    world = riverswim(4)
    agent = kind(world.mdp, bias=lambda t: 1.0 if t <= 5 else bad)
    state = play(agent, world, 5, 0, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"the bias is .* at t = 6; it needs a finite number"):
        agent.act(state)
    assert agent.counts.total == 5


def test_a_schedule_that_is_a_function_is_asked_for_on_loading(tmp_path: Path):
    world = riverswim(4)
    agent = VBMLE(world.mdp, bias=lambda t: 0.5 * t**0.5)
    play(agent, world, 20, 0, np.random.default_rng(0))
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="used a function for 'bias'; give it again"):
        VBMLE.load(tmp_path / "agent.npz", world.mdp)
    loaded = VBMLE.load(tmp_path / "agent.npz", world.mdp, bias=lambda t: 0.5 * t**0.5)
    assert loaded.act(2) == agent.act(2)
    np.testing.assert_array_equal(loaded.theta, agent.theta)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bias": "cube"}, "bias is 'cube'; it needs one of 'sqrt', 'log'"),
        ({"bias_scale": -1.0}, "bias_scale is -1.0; it needs a finite number that is at least 0"),
        ({"ridge": np.nan}, "ridge is nan; it needs a finite number that is at least 0"),
        ({"update": "never"}, "update is 'never'; it needs one of 'every-step', 'doubling'"),
        ({"search": "lucky"}, "search is 'lucky'; it needs one of 'global', "),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        VBMLE(riverswim(4).mdp, **settings)


# ---- reductions and the paper: what agents lose


def test_without_bias_vbmle_is_maximum_likelihood():
    world = random_network(4, 2, 3, temperature=0.1, seed=4)
    for kind in (VBMLE, ApproximateVBMLE):
        plain, biased = MaximumLikelihood(world.mdp), kind(world.mdp, bias_scale=0.0)
        histories = [simulate(agent, world, 100, seed=3) for agent in (plain, biased)]
        np.testing.assert_array_equal(histories[0].actions, histories[1].actions)
        np.testing.assert_allclose(plain.theta, biased.theta, rtol=0.0, atol=1e-6)


def regret(kind: Kind, world: World, horizon: int, seeds: range = SEEDS) -> np.ndarray:
    return np.array([simulate(kind(world.mdp), world, horizon, seed=seed).regret[-1] for seed in seeds])


def test_riverswim_needs_the_bias():
    """Six states, tabular, gamma = .9, 600 steps: measured before, plain estimation loses 750 and VBMLE 0 to 13."""
    world = riverswim(6)
    assert regret(MaximumLikelihood, world, 600).mean() > 300
    assert regret(VBMLE, world, 600).mean() < 30


@pytest.mark.parametrize(
    "world",
    [
        riverswim(6),
        riverswim(6, features="mixture"),
        hypercube(3),
        random_network(3, 2, 5),
        closed_loop_trap(),
    ],
    ids=["river", "river, mixture", "hypercube", "network", "trap"],
)
def test_the_approximation_works_on_the_same_worlds(world: World):
    """No step can lose more than the best value of any state."""
    lost = regret(ApproximateVBMLE, world, 200, range(3))
    most = 200 * plan(world.mdp, world.theta).V.max()
    assert np.isfinite(lost).all()
    assert (lost >= 0.0).all()
    assert (lost < most).all()


def test_the_approximation_learns_where_nothing_is_hidden():
    """Its regret stops growing on the paper's world."""
    world = random_network(3, 2, 3, temperature=0.1, seed=1)
    histories = [simulate(ApproximateVBMLE(world.mdp), world, 1000, seed=seed) for seed in range(3)]
    early = sum(h.regret[499] for h in histories)
    late = sum(h.regret[999] - h.regret[499] for h in histories)
    assert late <= max(early, 1e-6)


# ---- the cost of a step does not grow with the number of steps


@each_agent
def test_what_an_agent_carries_does_not_grow(agent: Kind, tmp_path: Path):
    """The same arrays of the same shapes after 100 steps and after 2,000, once everything was seen."""
    world = riverswim(4, features="mixture")
    player, rng = agent(world.mdp), np.random.default_rng(0)
    for row in range(8):  # see every possible transition once
        for i in range(*world.mdp.transitions.indptr[row : row + 2]):
            player.observe(*divmod(row, 2), int(world.mdp.transitions.successor[i]))
    state, shapes = 0, []
    for steps in (100, 1900):
        state = play(player, world, steps, state, rng)
        player.save(tmp_path / "agent.npz")
        with np.load(tmp_path / "agent.npz") as file:
            shapes.append({name: file[name].shape for name in file.files if name != "meta"})
    assert shapes[0] == shapes[1]
    assert player.counts.num_observed == world.mdp.transitions.count


def iterations(agent: VBMLE | MaximumLikelihood, objective: Objective) -> int:
    """How many iterations the solver takes from the agent's theta to the maximum of the objective."""
    solver = Solver(agent.mdp)
    solver.start(agent.theta.copy())
    solver.climb(objective)
    return int(solver._core.views["iterations"][0])


@pytest.mark.parametrize("name", ["tabular, a product of simplices", "paper, larger than the simplex"])
@pytest.mark.parametrize("biased", [True, False], ids=["VBMLE", "MaximumLikelihood"])
def test_late_steps_take_no_more_iterations_than_early_ones(name: str, biased: bool):
    """Of 10,000 steps: the solver sees arrays of one size, and needs no more iterations at the end."""
    world, rng, state = EXAMPLES[name], np.random.default_rng(0), 0
    agent = VBMLE(world.mdp, search="local") if biased else MaximumLikelihood(world.mdp)
    taken: dict[bool, list[int]] = {False: [], True: []}
    for t in range(10_000):
        if t % 10 == 0 and (500 <= t < 1500 or t >= 9000):
            bias = agent.alpha() if isinstance(agent, VBMLE) else 0.0
            objective = make_objective(agent.counts, 1.0, bias, state)
            assert agent.counts.num_observed <= len(agent.counts.core.observed) == world.mdp.transitions.count
            taken[t >= 9000].append(iterations(agent, objective))
        state = play(agent, world, 1, state, rng)
    assert np.mean(taken[True]) <= np.mean(taken[False]) + 0.5  # a whole iteration more would be a trend


def test_a_global_search_tries_as_much_late_as_early():
    """Apart from the first step: as many starts and other policies, now and then for ever, and never more maxima."""
    world, rng = riverswim(4), np.random.default_rng(0)
    agent = VBMLE(world.mdp)
    state = play(agent, world, 1, 0, rng)
    assert isinstance(agent._solver, Solver)
    tried, kept, pool = [], [], agent._solver._core
    for step in range(1000):
        size, climbs = pool.size, pool.climbs
        state = play(agent, world, 1, state, rng)
        assert pool.turn == step + 2
        tried.append(pool.climbs - climbs - size)  # besides those from the maxima it has
        kept.append(size)
    assert max(kept) <= POOL
    assert min(tried) >= 0
    assert max(tried[900:]) <= max(tried[:100])
    assert sum(climbs > 0 for climbs in tried[900:]) >= 25  # of a hundred steps: it goes on looking
