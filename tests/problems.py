"""Random estimation problems over every kind of feasible set, and optimality checked from the raw constraints.

Nothing here uses the package's solvers or its polytope: what the model was told is taken as it was told.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import cvxpy
import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP, TransitionCounts, World
from vbmle.worlds import hypercube, random_network, riverswim

cp: Any = cvxpy  # its annotations know neither its overloaded operators nor its functions


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


class Raw(NamedTuple):
    """P as the model was told it: lower @ theta >= bound (rows of length one), equal @ theta = target."""

    lower: np.ndarray
    bound: np.ndarray
    equal: np.ndarray
    target: np.ndarray


def raw(mdp: LinearMixtureMDP) -> Raw:
    c, d = mdp.constraints, mdp.dimension
    lower, bound = dense(mdp.transitions.phi), np.full(mdp.transitions.count, mdp.p_min)
    equal = np.vstack([dense(c.sums), dense(c.zeros).reshape(-1, d)])
    target = np.concatenate([np.ones(c.sums.shape[0]), np.zeros(c.zeros.shape[0])])
    if mdp.domain == "simplex":
        lower, bound = np.vstack([lower, np.eye(d)]), np.append(bound, np.zeros(d))
        equal, target = np.vstack([equal, np.ones(d)]), np.append(target, 1.0)
    size = np.linalg.norm(lower, axis=1)
    return Raw(lower / size[:, None], bound / size, equal, target)


def outside(mdp: LinearMixtureMDP, theta: np.ndarray) -> float:
    """By how much theta misses the constraint it misses most."""
    lower, bound, equal, target = raw(mdp)
    return float(max((bound - lower @ theta).max(), np.abs(equal @ theta - target).max(), 0.0))


class Optimality(NamedTuple):
    """How far theta is from satisfying the KKT conditions for a gradient, and what that compares to."""

    residual: float  # norm of (g + lower' mu + equal' nu, mu * slack), the smallest there is with mu >= 0
    scale: float  # max(1, |g|)
    terms: int  # how many numbers the residual collects


def optimality(mdp: LinearMixtureMDP, theta: np.ndarray, g: np.ndarray) -> Optimality:
    """The best multipliers, by non-negative least squares on all rows at once.

    A slack is known up to the rounding of its sum: where weights of 1e9 cancel, that is 1e-6, however exact the solver.
    """
    lower, bound, equal, _ = raw(mdp)
    rounding = 8.0 * np.finfo(float).eps * (abs(lower) @ np.abs(theta))
    slack = np.maximum(lower @ theta - bound - rounding, 0.0)
    _, sigma, right = np.linalg.svd(equal)
    along = right[(sigma > 1e-9 * sigma[0]).sum() :]  # directions in which the equalities leave theta free
    matrix, target = np.vstack([along @ lower.T, np.diag(slack)]), np.append(-along @ g, np.zeros(len(slack)))
    scale = max(1.0, float(np.abs(g).max()))
    _, residual = nnls(matrix, target / scale, maxiter=100 * matrix.shape[1])
    return Optimality(float(residual) * scale, scale, len(target))


class Problem(NamedTuple):
    """A world with counts drawn from it, and a ridge."""

    name: str
    world: World
    counts: TransitionCounts
    ridge: float


def draw(world: World, steps: int, rng: np.random.Generator) -> TransitionCounts:
    """Counts of a walk that takes actions at random and starts anew now and then."""
    counts = TransitionCounts(world.mdp)
    state = world.first_state(rng.random())
    for _ in range(steps):
        if rng.random() < 0.1:
            state = int(rng.integers(world.mdp.num_states))
        action = int(rng.integers(world.mdp.num_actions))
        following = world.next_state(state, action, rng.random())
        counts.add(state, action, following)
        state = following
    return counts


def random_world(seed: int) -> World:
    """A world of a kind that the seed chooses."""
    rng = np.random.default_rng([seed, 77])
    states, actions, d = (int(rng.integers(*span)) for span in ((2, 6), (1, 4), (2, 7)))
    reward = rng.random((states, actions, states) if rng.random() < 0.5 else (states, actions))
    models, theta = rng.dirichlet(np.full(states, 0.5), (d, states, actions)), rng.dirichlet(np.ones(d))
    kind = seed % 7
    if kind == 0:
        return World(LinearMixtureMDP.from_models(list(models), reward, 0.9), theta)
    if kind == 1:
        return World(LinearMixtureMDP.from_models(list(models), reward, 0.9, domain="polytope"), theta)
    if kind == 2:
        least = float((theta @ models.reshape(d, -1)).min())
        return World(LinearMixtureMDP.from_models(list(models), reward, 0.9, p_min=0.7 * least), theta)
    if kind == 3:
        return random_network(states, actions, d, temperature=float(rng.choice([0.01, 0.1, 1.0])), seed=seed)
    if kind == 4:
        return hypercube(int(rng.integers(2, 6)), gap=float(rng.uniform(0.1, 1.0)), seed=seed)
    if kind == 5:
        support = rng.random((states, actions, states)) < 0.6
        support[..., 0] |= ~support.any(-1)
        mdp = LinearMixtureMDP.tabular(support, reward, 0.9)
        truth = np.concatenate([rng.dirichlet(np.ones(k)) for k in support.sum(-1).ravel()])
        return World(mdp, truth)
    return riverswim(int(rng.integers(3, 8)), features="mixture" if rng.random() < 0.5 else "tabular")


def problems(per_example: int = 7, others: int = 154) -> Iterator[Problem]:
    """Every example several times and as many random worlds, with little data and with much."""
    worlds = [*EXAMPLES.items()] * per_example + [(f"random {k}", random_world(k)) for k in range(others)]
    for k, (name, world) in enumerate(worlds):
        rng = np.random.default_rng([k, 99])
        steps = int(rng.choice([0, 1, 5, 30, 300, 3000]))
        ridge = float(rng.choice([0.0, 1e-3, 1.0, 10.0]))
        yield Problem(
            f"{name}, {steps} steps, ridge {ridge:g}, number {k}", world, draw(world, steps, rng), ridge
        )


def likelihood_gradient(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """grad l = sum n phi / p - ridge theta."""
    phi, n = dense(problem.world.mdp.transitions.phi), problem.counts.values
    seen = n > 0.0
    return phi[seen].T @ (n[seen] / (phi[seen] @ theta)) - problem.ridge * theta


def clarabel(problem: Problem) -> float:
    """The maximum of the likelihood over P by another solver."""
    mdp, n = problem.world.mdp, problem.counts.values
    lower, bound, equal, target = raw(mdp)
    phi, seen = dense(mdp.transitions.phi), n > 0.0
    theta = cp.Variable(mdp.dimension)
    goal = -0.5 * problem.ridge * cp.sum_squares(theta)
    if seen.any():
        goal = goal + n[seen] @ cp.log(phi[seen] @ theta)
    program = cp.Problem(cp.Maximize(goal), [lower @ theta >= bound, equal @ theta == target])
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert program.status in ("optimal", "optimal_inaccurate"), program.status
    return float(program.value)


def play(agent: Any, world: World, steps: int, state: int = 0, rng: np.random.Generator | int = 0) -> int:
    """Let the agent act, on the chance of a generator or of a seed; returns the state it ends in."""
    rng = np.random.default_rng(rng)
    for _ in range(steps):
        action = agent.act(state)
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following
    return state


def small_world(seed: int = 0, p_min: float = 0.05) -> World:
    """Three states, two actions, three base models; every transition has at least p_min."""
    rng = np.random.default_rng(seed)
    models = 0.8 * rng.dirichlet(np.ones(3), (3, 3, 2)) + 0.2 / 3.0
    mdp = LinearMixtureMDP.from_models(list(models), rng.random((3, 2)), 0.9, p_min=p_min)
    return World(mdp, rng.dirichlet(np.full(3, 2.0)))
