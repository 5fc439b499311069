"""Planning in the core: every way against plain NumPy, the laws of the Bellman operator, promises that are kept."""

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vbmle import LinearMixtureMDP
from vbmle.core.model import Model
from vbmle.core.parts_planning import factor, solve, solve_columns, solve_slow_chain, visits
from vbmle.core.planning import Planner, plan_dense, plan_sparse, rounding, sweep_precision
from vbmle.testing import example_models

EXAMPLES = example_models()
DISCOUNTS = [0.5, 0.9, 0.99, 0.999]
SIZES = [1, 2, 7, 15, 16, 17, 59, 61, 120]  # up to 16 states are factored in registers
EXACT = 1e-10  # what exact algebra is held to
EPS = float(np.finfo(float).eps)
seeds = st.integers(0, 2**20)


def handle(mdp: LinearMixtureMDP) -> Model:
    return mdp.core


class Known(NamedTuple):
    """A model in plain arrays, P (S, A, S) and R (S, A), with minus infinity for actions that are not allowed."""

    P: np.ndarray
    R: np.ndarray
    discount: float

    @property
    def rounding(self) -> float:
        """A probability is known to eps, so rewards to eps/(1-gamma) and V to eps/(1-gamma)^2; times 8."""
        size = max(1.0, float(np.abs(self.R[np.isfinite(self.R)]).max()))
        return 8.0 * EPS / (1.0 - self.discount) ** 2 * size

    @property
    def flat(self) -> np.ndarray:
        return self.P.reshape(-1, self.P.shape[-1])

    @property
    def csr(self) -> sparse.csr_array:
        return sparse.csr_array(self.flat)

    def model(self) -> Model:
        """In the core, as a mixture of one model: theta is (1,), and nothing is free."""
        table = self.csr
        arrays: dict[str, Any] = {
            "pair_begin": table.indptr.astype(np.int64),
            "successor": table.indices.astype(np.int64),
            "reward": np.ascontiguousarray(self.R.ravel()),
            "phi": table.data.reshape(-1, 1).copy(),
            "center": np.ones(1),
            "coordinates": np.zeros(1, np.int64),
            "coordinate_begin": np.array([0, 1]),
            "basis": np.zeros(0),
            "free_begin": np.array([0, 0]),
            "normals": np.zeros(0),
            "offsets": np.zeros(0),
            "facet_begin": np.array([0, 0]),
            "diameter": np.zeros(1),
        }
        states, actions = self.R.shape
        sizes = {"num_states": states, "num_actions": actions, "num_transitions": table.nnz}
        return Model(sizes | {"dimension": 1, "num_blocks": 1}, self.discount, arrays)

    def planner(self, factors: bool) -> Planner:
        planner = Planner(self.model(), factors)
        planner.p[:] = self.csr.data
        return planner

    def value_of(self, policy: np.ndarray) -> np.ndarray:
        """V^pi by NumPy's solver, refined in extended precision until rounding does not matter."""
        rows = np.arange(len(self.R))
        wide = np.eye(len(rows), dtype=np.longdouble) - self.discount * self.P[rows, policy].astype(
            np.longdouble
        )
        V = np.zeros(len(rows), dtype=np.longdouble)
        for _ in range(4):
            V += np.linalg.solve(wide.astype(float), (self.R[rows, policy] - wide @ V).astype(float))
        return V.astype(float)

    def optimal(self) -> np.ndarray:
        """V*: Howard's policy iteration until the value stops rising."""
        policy = self.R.argmax(1)
        V = self.value_of(policy)
        while True:
            policy = (self.R + self.discount * self.P @ V).argmax(1)
            better = self.value_of(policy)
            if (better <= V + 1e-13 * (1.0 + np.abs(V))).all():
                return np.maximum(V, better)
            V = better


def known(
    seed: int, states: int, discount: float, actions: int = 3, is_sparse: bool = False, forbidden: float = 0.0
) -> Known:
    """At most four successors where sparse; a part of the actions may not be allowed, and then leads nowhere."""
    rng = np.random.default_rng([seed, states])
    P = rng.dirichlet(np.full(states, 0.3), (states, actions))
    if is_sparse:
        P[np.sort(P)[..., -min(4, states) :].min(-1, keepdims=True) > P] = 0.0
        P /= P.sum(-1, keepdims=True)
    R = rng.random((states, actions))
    closed = rng.random((states, actions)) < forbidden
    closed[np.arange(states), rng.integers(0, actions, states)] = False
    P[closed], R[closed] = 0.0, -np.inf
    return Known(P, R, discount)


def ring(states: int, discount: float) -> Known:
    """Walked or waited in: values spread one state a sweep. One state is worth a visit."""
    P = np.stack([np.roll(np.eye(states), 1, axis=1), np.eye(states)], axis=1)
    R = np.zeros((states, 2))
    R[0] = [1.0, -1.0]
    return Known(P, R, discount)


# ---- linear systems I - gamma P


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, 5, 8, 10, 15, 16, 17, 31, 32, 33, 47, 48, 60, 61, 97, 120, 144, 145, 150]
)
@pytest.mark.parametrize("discount", [0.5, 0.999])
def test_factors_solve_as_numpy_does(n: int, discount: float):
    """In registers up to 16 columns, by halves above; the condition of I - gamma P is at most 2/(1-gamma)."""
    rng = np.random.default_rng(n)
    matrix = np.eye(n) - discount * rng.dirichlet(np.full(n, 0.2), n)
    lu, right = matrix.copy(), rng.random(n)
    factor(lu)
    lower, upper = np.tril(lu, -1) + np.eye(n), np.triu(lu, 1) + np.diag(1.0 / np.diag(lu))
    np.testing.assert_allclose(lower @ upper, matrix, rtol=0.0, atol=1e-13)
    bound = 1e-13 / (1.0 - discount)
    for transposed, system in ((False, matrix), (True, matrix.T)):
        x = right.copy()
        solve(lu, x, transposed)
        np.testing.assert_allclose(x, np.linalg.solve(system, right), rtol=bound, atol=bound)
    for columns in (1, 4, 11):
        many = rng.random((n, columns))
        expected = np.linalg.solve(matrix, many)
        solve_columns(lu, many)
        np.testing.assert_allclose(many, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
@pytest.mark.parametrize("name", EXAMPLES)
def test_visits_by_sweeps_are_those_of_a_linear_system(name: str, tolerance: float):
    """The promise is on the sum of errors; nothing is visited a negative number of times."""
    world = EXAMPLES[name]
    mdp, states = world.mdp, world.mdp.num_states
    planner = Planner(handle(mdp), factors=False)
    planner.theta[:] = world.theta
    planner.assemble()
    planner.policy[:] = np.arange(states) % mdp.num_actions
    step = mdp.transitions.dense(planner.p)[np.arange(states), planner.policy]
    for state in range(states):
        w = visits(planner, state, tolerance)
        exact = np.linalg.solve(np.eye(states) - mdp.discount * step.T, np.eye(states)[state])
        assert np.abs(w - exact).sum() <= tolerance + EXACT
        assert w.min() >= 0.0


def test_visits_by_factors_are_those_of_a_linear_system():
    case = known(1, 9, 0.9)
    planner = case.planner(factors=True)
    planner.optimal()
    step = case.P[np.arange(9), planner.policy]
    expected = np.linalg.solve(np.eye(9) - 0.9 * step.T, np.eye(9)[2])
    np.testing.assert_allclose(planner.visit_from(2), expected, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("columns", [1, 2, 4, 7])
@pytest.mark.parametrize(
    "make", [lambda: known(2, 40, 0.95, is_sparse=True), lambda: known(2, 40, 0.95), lambda: ring(50, 0.99)]
)
def test_columns_are_solved_to_their_accuracy(make, columns: int):
    case = make()
    policy = np.zeros(len(case.R), np.int64)
    right = np.random.default_rng(columns).normal(size=(len(case.R), columns))
    exact = np.linalg.solve(np.eye(len(case.R)) - case.discount * case.P[:, 0], right)
    for factors, accuracy in ((True, 1e-14), (False, 1e-7), (False, 1e-3)):
        planner, X = case.planner(factors), right.copy()
        planner.policy[:] = policy
        planner.evaluate()
        planner.solve(X, accuracy)
        bound = accuracy * np.abs(right).max(0) / (1.0 - case.discount) + 1e-12
        assert (np.abs(X - exact).max(0) <= bound).all()


@pytest.mark.parametrize("state", [-1, 3])
@pytest.mark.parametrize(
    "make",
    [lambda: ring(300, 0.9995), lambda: known(3, 60, 0.999, is_sparse=True), lambda: known(3, 20, 0.99)],
)
def test_slow_chains_are_solved_to_their_residual(make, state: int):
    """Values to a spread of the residual, visits to a sum of it; far fewer steps than 1/(1-gamma)."""
    case = make()
    states, planner = len(case.R), case.planner(factors=False)
    planner.policy[:] = np.arange(states) % 2 if states < 100 else 0
    step = case.discount * case.P[np.arange(states), planner.policy]
    x = planner.V if state < 0 else planner.visits
    x[:] = 0.0
    assert solve_slow_chain(planner, 1e-9, state)
    if state < 0:
        residual = case.R[np.arange(states), planner.policy] + step @ x - x
        assert np.ptp(residual) <= 1e-9 + 8.0 * EPS / (1.0 - case.discount)
    else:
        residual = np.eye(states)[state] + step.T @ x - x
        assert np.abs(residual).sum() <= 1e-9 + 8.0 * EPS / (1.0 - case.discount)


# ---- the same answer from every way, and from NumPy


@pytest.mark.parametrize("forbidden", [0.0, 0.4], ids=["all allowed", "some not"])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("states", SIZES)
def test_every_way_is_within_the_error_it_promises(
    states: int, discount: float, is_sparse: bool, forbidden: float
):
    """From a policy that is allowed in part only; NaN and infinity stay away."""
    case = known(1, states, discount, is_sparse=is_sparse, forbidden=forbidden)
    exact, tolerance = case.optimal(), 1e-8
    for factors in (True, False):
        planner = case.planner(factors)
        planner.policy[:] = 0
        error = planner.optimal() if factors else planner.iterate(tolerance)
        assert error <= tolerance
        assert np.abs(planner.V - exact).max() <= error + case.rounding
        assert np.isfinite(case.R[np.arange(states), planner.policy]).all()
        planner.settle()
        np.testing.assert_allclose(planner.Q, case.R + discount * case.P @ planner.V, atol=case.rounding)
        lost = exact - case.value_of(planner.policy)
        assert lost.max() <= 2.0 * discount / (1.0 - discount) * (error + case.rounding)
        planner.evaluate()
        bound = sweep_precision(discount) + case.rounding
        np.testing.assert_allclose(planner.V, case.value_of(planner.policy), rtol=0.0, atol=bound)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_of_model_is_planned_for(name: str):
    """Rewards of the next state included; from theta, and with a policy held."""
    world = EXAMPLES[name]
    mdp, states = world.mdp, world.mdp.num_states
    P = mdp.transitions.dense(mdp.transitions.probabilities(world.theta))
    if len(mdp.transition_reward):
        R = (P * mdp.transitions.dense(mdp.transition_reward)).sum(-1)
    else:
        R = mdp.row_reward.reshape(states, mdp.num_actions)
    case = Known(P, R, mdp.discount)
    held = np.arange(states) % mdp.num_actions
    for factors in (True, False):
        planner = Planner(handle(mdp), factors)
        planner.theta[:] = world.theta
        planner.assemble()
        assert planner.broken_pair() == -1
        error = planner.optimal()
        assert np.abs(planner.V - case.optimal()).max() <= error + case.rounding
        planner.policy[:] = held
        planner.evaluate()
        bound = sweep_precision(mdp.discount) + case.rounding
        np.testing.assert_allclose(planner.V, case.value_of(held), rtol=0.0, atol=bound)


@pytest.mark.parametrize("tolerance", [10.0, 1.0, 1e-2, 1e-5])
def test_a_loose_tolerance_is_still_a_bound_on_the_error(tolerance: float):
    case = known(3, 12, 0.999)
    exact, planner = case.optimal(), case.planner(factors=False)
    error = planner.iterate(tolerance)
    assert error <= tolerance
    assert np.abs(planner.V - exact).max() <= error + case.rounding
    policy = planner.policy.copy()
    planner.V[:] = 0.0
    error = planner.evaluate_to(tolerance)
    assert error <= tolerance
    assert np.abs(planner.V - case.value_of(policy)).max() <= error + case.rounding


def test_few_sweeps_promise_what_they_reached():
    case = known(4, 30, 0.99, is_sparse=True)
    exact, planner = case.optimal(), case.planner(factors=False)
    for most in (1, 2, 5, 20):
        planner.V[:], planner.policy[:] = 0.0, 0
        error = planner.iterate(1e-9, most)
        assert np.abs(planner.V - exact).max() <= error + case.rounding


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_floor_is_a_plan_and_its_gradient(name: str):
    """Against differences of V for the policy it found, and against its parts."""
    world = EXAMPLES[name]
    mdp, planner = world.mdp, Planner(handle(world.mdp), factors=True)
    planner.theta[:] = world.theta
    planner.floor(0)
    slope, policy, V = planner.gradient.copy(), planner.policy.copy(), planner.V.copy()
    planner.assemble()
    assert planner.optimal() <= 1e-9
    np.testing.assert_array_equal(planner.policy, policy)
    np.testing.assert_array_equal(planner.V, V)
    for direction in np.random.default_rng(0).normal(size=(3, mdp.dimension)):
        ends = []
        for step in (1e-6, -1e-6):
            planner.theta[:] = world.theta + step * direction
            planner.assemble()
            planner.policy[:] = policy
            planner.evaluate()
            ends.append(planner.V[0])
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(
            slope @ direction, rel=1e-4, abs=1e-4 * np.abs(slope).max()
        )


# ---- laws


@given(
    seed=seeds,
    states=st.integers(1, 12),
    discount=st.sampled_from(DISCOUNTS),
    forbidden=st.sampled_from([0.0, 0.5]),
)
def test_the_bellman_sweep_contracts(seed: int, states: int, discount: float, forbidden: float):
    case = known(seed, states, discount, forbidden=forbidden)
    planner, after = case.planner(factors=False), []
    before = np.random.default_rng(seed).normal(0.0, 10.0, (2, states))
    for V in before:
        planner.V[:] = V
        planner.sweep()
        np.testing.assert_allclose(
            planner.next, (case.R + discount * case.P @ V).max(1), rtol=0.0, atol=EXACT
        )
        change = planner.next - V
        np.testing.assert_allclose(planner.change, [change.min(), change.max()], rtol=0.0, atol=0.0)
        after.append(planner.next.copy())
    assert np.abs(after[0] - after[1]).max() <= discount * np.abs(before[0] - before[1]).max() + case.rounding


@given(seed=seeds, states=st.integers(1, 12))
def test_the_bellman_sweep_is_monotone(seed: int, states: int):
    case, rng = known(seed, states, 0.9), np.random.default_rng(seed)
    planner, V = case.planner(factors=True), rng.normal(0.0, 10.0, states)
    planner.V[:] = V
    planner.sweep()
    less = planner.next.copy()
    planner.V[:] = V + rng.exponential(1.0, states) * rng.integers(0, 2, states)
    planner.sweep()
    assert (less <= planner.next + case.rounding).all()


@given(seed=seeds, states=st.integers(1, 15), discount=st.sampled_from(DISCOUNTS))
def test_the_names_of_states_do_not_matter(seed: int, states: int, discount: float):
    case = known(seed, states, discount, is_sparse=True)
    order = np.random.default_rng(seed).permutation(states)
    renamed = Known(case.P[order][..., order], case.R[order], discount)
    for factors in (True, False):
        one, two = case.planner(factors), renamed.planner(factors)
        bound = one.optimal() + two.optimal() + 8.0 * EPS / (1.0 - discount) ** 2
        np.testing.assert_allclose(two.V, one.V[order], rtol=0.0, atol=bound)


def test_the_action_in_force_stays_where_others_tie():
    case = known(5, 8, 0.9)
    twice = Known(np.repeat(case.P, 2, axis=1), np.repeat(case.R, 2, axis=1), 0.9)
    for factors in (True, False):
        planner = twice.planner(factors)
        planner.policy[:] = 1
        planner.optimal()
        best = planner.policy.copy()
        planner.policy[:] = best ^ 1  # the twin of each action
        planner.optimal()
        np.testing.assert_array_equal(planner.policy, best ^ 1)
        planner.settle()
        np.testing.assert_array_equal(planner.policy, best & ~1)  # the lower of both


def test_two_planners_on_one_model_are_equal_in_two_threads():
    case = known(6, 120, 0.99)
    model = case.model()
    planners = [Planner(model, factors=bool(k % 2)) for k in range(4)]
    for planner in planners:
        planner.p[:] = case.csr.data
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda planner: [planner.optimal() for _ in range(20)], planners))
    for one, two in ((0, 2), (1, 3)):
        np.testing.assert_array_equal(planners[one].V, planners[two].V)


def test_planners_come_and_go():
    case, kept = known(7, 30, 0.9), []
    model = case.model()
    for k in range(2000):
        planner = Planner(model, factors=bool(k % 2))
        planner.p[:] = case.csr.data
        planner.optimal()
        if k % 500 == 0:
            kept.append((planner.V, planner.V.copy()))
    del planner
    gc.collect()
    for view, copy in kept:
        np.testing.assert_array_equal(view, copy)


# ---- one model that is fully known


def plan_as(case: Known, kind: str, tolerance: float) -> Any:
    if kind == "dense":
        return plan_dense(case.P, case.R, case.discount, tolerance)
    table, width = case.csr, np.int32 if kind == "sparse" else np.int64
    pattern = (table.indptr.astype(width), table.indices.astype(width))
    return plan_sparse(pattern, table.data, case.R, case.discount, tolerance)


@pytest.mark.parametrize("forbidden", [0.0, 0.4], ids=["all allowed", "some not"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide sparse"])
@pytest.mark.parametrize("states", [1, 3, 40, 300])
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 0.99])
def test_planning_for_a_known_model_keeps_its_promise(
    states: int, discount: float, kind: str, forbidden: float
):
    """Rewards of any range; values and action values within the error bound."""
    case = known(8, states, discount, forbidden=forbidden)
    case = case._replace(R=40.0 * case.R - 20.0)
    found, exact = plan_as(case, kind, 1e-7), case.optimal()
    assert found.error_bound <= 1e-7
    assert np.abs(found.V - exact).max() <= found.error_bound + case.rounding
    Q, allowed = case.R + discount * case.P @ exact, np.isfinite(case.R)
    assert np.abs(found.Q[allowed] - Q[allowed]).max() <= found.error_bound + case.rounding
    assert (found.Q[~allowed] == -np.inf).all()
    np.testing.assert_allclose(case.value_of(found.policy), exact, rtol=0.0, atol=4e-7 / (1.0 - discount))


@pytest.mark.parametrize(
    ("states", "discount", "kind"),
    [
        (2, 0.99999, "dense"),
        (2, 0.99999, "sparse"),
        (60, 0.999, "dense"),
        (60, 0.999, "sparse"),
        (2000, 0.999, "sparse"),
    ],
)
def test_planning_for_a_known_model_that_never_mixes_keeps_its_promise(
    states: int, discount: float, kind: str
):
    """A long ring. The closed form is a geometric series."""
    tolerance = max(1e-7, 2.0 * rounding(discount))
    found = plan_as(ring(states, discount), kind, tolerance)
    expected = discount ** ((states - np.arange(states)) % states) / (1.0 - discount**states)
    assert found.error_bound <= tolerance
    np.testing.assert_allclose(found.V, expected, rtol=0.0, atol=tolerance)
    np.testing.assert_array_equal(found.policy, 0)


def test_a_tolerance_below_rounding_is_not_promised():
    case = known(9, 60, 0.999)
    found = plan_as(case, "dense", 1e-14)
    assert found.error_bound > 1e-14
    assert np.abs(found.V - case.optimal()).max() <= found.error_bound + case.rounding


@pytest.mark.parametrize("states", [4, 40])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_what_is_no_distribution_is_named(kind: str, states: int):
    case = known(10, states, 0.9)
    for wrong in (2.0, -0.5, np.nan, np.inf):
        P = case.P.copy()
        P[2, 1, 0] = wrong
        assert plan_as(case._replace(P=P), kind, 1e-7).broken_pair == 2 * 3 + 1


def test_what_is_no_model_is_refused():
    case = known(11, 4, 0.9)
    table = case.csr
    pattern, p = (table.indptr, table.indices), table.data
    with pytest.raises(ValueError, match="out of range"):
        plan_dense(case.P, case.R, 1.0, 1e-7)
    with pytest.raises(ValueError, match="out of range"):
        plan_dense(case.P, np.full_like(case.R, -np.inf), 0.9, 1e-7)
    with pytest.raises(ValueError, match="out of range"):
        plan_dense(case.P, np.full_like(case.R, np.nan), 0.9, 1e-7)
    with pytest.raises(ValueError, match="out of range"):
        plan_dense(case.P, case.R, 0.9, np.nan)
    with pytest.raises(ValueError, match="the core needs"):
        plan_dense(case.P[:, :, :3], case.R, 0.9, 1e-7)
    for begin, successor in (
        (pattern[0], pattern[1] + 1),
        (pattern[0], pattern[1] - 1),
        (pattern[0][::-1].copy(), pattern[1]),
    ):
        with pytest.raises(ValueError, match="out of range"):
            plan_sparse((begin, successor), p, case.R, 0.9, 1e-7)


def test_planners_refuse_what_is_out_of_range():
    case = known(12, 5, 0.9, forbidden=0.6)
    planner = case.planner(factors=False)
    for action in (-1, 3):
        planner.policy[2] = action
        for call in (planner.optimal, planner.evaluate, planner.sweep):
            with pytest.raises(ValueError, match="out of range"):
                call()
    planner.policy[:] = case.R.argmin(1)  # minus infinity in some states
    assert not np.isfinite(case.R[np.arange(5), planner.policy]).all()
    with pytest.raises(ValueError, match="out of range"):
        planner.evaluate()
    planner.policy[:] = case.R.argmax(1)
    with pytest.raises(ValueError, match="out of range"):
        planner.visit_from(5)
    with pytest.raises(ValueError, match="out of range"):
        planner.iterate(0.0)
    with pytest.raises(ValueError, match="out of range"):
        Planner(case._replace(R=np.full_like(case.R, -np.inf)).model(), factors=True)
