"""The feasible set: every kind of it, against linear programs on the constraints as they were given."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scipy import sparse
from scipy.optimize import linprog
from small_worlds import EXAMPLES

from vbmle.model.feasible_set import Block
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.worlds import hypercube, random_network

FLAT = 1e-7  # an LP solver is right to about 1e-9; extents here are either 0 or above 1e-3
each_example = pytest.mark.parametrize("name", EXAMPLES)


class Raw:
    """P as the model was told it: lower @ theta >= bound, equal @ theta = target; small rows scaled up."""

    def __init__(self, mdp: LinearMixtureMDP) -> None:
        c, d = mdp.constraints, mdp.dimension
        phi = dense(mdp.transitions.phi)
        size = np.minimum(1.0, np.linalg.norm(phi, axis=1))
        self.phi = phi
        self.lower, self.bound = phi / size[:, None], mdp.p_min / size
        self.equal = np.vstack([dense(c.sums), dense(c.zeros).reshape(-1, d)])
        self.target = np.concatenate([np.ones(c.sums.shape[0]), np.zeros(c.zeros.shape[0])])
        if mdp.domain == "simplex":
            self.lower, self.bound = np.vstack([self.lower, np.eye(d)]), np.append(self.bound, np.zeros(d))
            self.equal, self.target = np.vstack([self.equal, np.ones(d)]), np.append(self.target, 1.0)

    def furthest(self, direction: np.ndarray) -> np.ndarray:
        """The theta in P that maximises <direction, theta>."""
        result = linprog(
            -direction,
            A_ub=-self.lower,
            b_ub=-self.bound,
            A_eq=self.equal,
            b_eq=self.target,
            bounds=(None, None),
        )
        assert result.status == 0, result.message
        return np.asarray(result.x)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def dimension_by_lp(raw: Raw) -> int:
    """Extent after extent: look in a direction not yet covered until none is left.

    Seen through `lower`: directions of theta that change no constraint do not count.
    """
    rng = np.random.default_rng(0)
    image = np.zeros((len(raw.lower), 0))
    while True:
        free = rng.standard_normal(len(raw.lower))
        free -= image @ (image.T @ free)
        ends = [raw.lower @ raw.furthest(sign * free @ raw.lower) for sign in (1.0, -1.0)]
        extent = ends[0] - ends[1]
        extent -= image @ (image.T @ extent)
        if np.linalg.norm(extent) < FLAT:
            return image.shape[1]
        image = np.column_stack([image, extent / np.linalg.norm(extent)])


def point(mdp: LinearMixtureMDP, steps: list[np.ndarray]) -> np.ndarray:
    """theta from coordinates y of every block."""
    theta = np.zeros(mdp.dimension)
    for block, y in zip(mdp.polytope.blocks, steps, strict=True):
        theta[block.coordinates] = block.center + block.basis @ y
    return theta


def to_the_wall(block: Block, direction: np.ndarray) -> float:
    """How far one can go from the centre of the block before the first of its rows is met."""
    speed = block.normals @ direction
    times = block.offsets[speed < 0] / -speed[speed < 0]
    return float(times.min())


# ---- every kind of P


@each_example
def test_the_interior_is_strictly_inside(name: str):
    """Every inequality that can be loose is loose."""
    mdp = EXAMPLES[name].mdp
    raw, inside = Raw(mdp), mdp.polytope.interior
    assert mdp.contains(inside, tol=1e-10)
    slack = raw.lower @ inside - raw.bound
    loosest = np.array([row @ raw.furthest(row) for row in raw.lower]) - raw.bound
    can_be_loose = loosest > FLAT
    assert (slack[can_be_loose] > 1e-6).all()


@each_example
def test_the_dimension_is_that_of_the_constraints(name: str):
    mdp = EXAMPLES[name].mdp
    assert mdp.polytope.dimension == dimension_by_lp(Raw(mdp))


@each_example
def test_blocks_share_out_the_coordinates(name: str):
    mdp = EXAMPLES[name].mdp
    joined = np.concatenate([block.coordinates for block in mdp.polytope.blocks])
    assert sorted(joined) == list(range(mdp.dimension))


@each_example
def test_coordinates_are_orthonormal_and_rows_of_length_one(name: str):
    for block in EXAMPLES[name].mdp.polytope.blocks:
        np.testing.assert_allclose(block.basis.T @ block.basis, np.eye(block.dimension), atol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(block.normals, axis=1), 1.0, atol=1e-10)
        assert (block.offsets > 0.0).all()  # y = 0 is inside


@each_example
@given(seed=st.integers(0, 2**20))
def test_rows_end_where_the_set_ends(name: str, seed: int):
    """Just before the first row is met theta is feasible, just after it is not."""
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(seed)
    still = [np.zeros(block.dimension) for block in mdp.polytope.blocks]
    for k, block in enumerate(mdp.polytope.blocks):
        if block.dimension == 0:
            continue
        direction = rng.standard_normal(block.dimension)
        wall = to_the_wall(block, direction)
        for step, inside in ((wall * (1 - 1e-6), True), (wall * (1 + 1e-3), False)):
            moved = [*still[:k], step * direction, *still[k + 1 :]]
            assert mdp.contains(point(mdp, moved)) == inside


@each_example
def test_nothing_of_the_set_is_left_out(name: str):
    """Each corner found by an LP has the probabilities of a point of the blocks."""
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(0)
    raw = Raw(mdp)
    for _ in range(10):
        corner = raw.furthest(rng.standard_normal(len(raw.phi)) @ raw.phi)
        for block in mdp.polytope.blocks:
            y = block.basis.T @ (corner[block.coordinates] - block.center)
            assert (block.normals @ y + block.offsets >= -FLAT).all()
        steps = [b.basis.T @ (corner[b.coordinates] - b.center) for b in mdp.polytope.blocks]
        np.testing.assert_allclose(raw.phi @ point(mdp, steps), raw.phi @ corner, atol=FLAT)


@each_example
def test_the_truth_is_a_point_of_the_blocks(name: str):
    world = EXAMPLES[name]
    for block in world.mdp.polytope.blocks:
        y = block.basis.T @ (world.theta[block.coordinates] - block.center)
        assert (block.normals @ y + block.offsets >= -1e-10).all()


# ---- shapes that are known in closed form


@pytest.mark.parametrize("seed", range(3))
def test_the_papers_set_is_larger_than_the_simplex(seed: int):
    """Some coordinate can be clearly negative, while every point of the simplex is inside."""
    mdp = random_network(3, 2, 5, seed=seed).mdp
    raw = Raw(mdp)
    lowest = min(raw.furthest(-e)[k] for k, e in enumerate(np.eye(5)))
    assert lowest < -0.05
    for corner in np.eye(5):
        assert mdp.contains(corner)


@pytest.mark.parametrize(("delta", "radius"), [(0.1, 0.1), (0.45, 0.45), (0.6, 0.4)])
def test_the_hypercubes_set_is_a_cross_polytope(delta: float, radius: float):
    """|theta_1| + |theta_2| + |theta_3| <= min(delta, 1 - delta), last coordinate 1."""
    mdp = hypercube(4, delta=delta, gap=0.3).mdp
    assert mdp.polytope.dimension == 3
    np.testing.assert_allclose(mdp.polytope.interior, [0.0, 0.0, 0.0, 1.0], atol=1e-9)
    (block,) = mdp.polytope.blocks
    assert len(block.normals) == 8  # one facet for every sign pattern, doubles removed
    np.testing.assert_allclose(block.offsets, radius / np.sqrt(3.0), atol=1e-9)
    assert mdp.contains([radius / 3, -radius / 3, radius / 3, 1.0])
    assert not mdp.contains([radius / 3, -radius / 3, radius / 3 + 1e-6, 1.0])


def test_the_tabular_set_is_a_product_of_simplices():
    support = np.array([[[1, 1, 1]], [[1, 0, 1]], [[0, 0, 1]]], dtype=bool)
    mdp = LinearMixtureMDP.tabular(support, np.zeros((3, 1)), 0.9, p_min=0.1)
    assert [block.dimension for block in mdp.polytope.blocks] == [2, 1, 0]
    assert mdp.contains([0.8, 0.1, 0.1, 0.9, 0.1, 1.0])
    assert not mdp.contains([0.85, 0.05, 0.1, 0.9, 0.1, 1.0])
    np.testing.assert_allclose(mdp.polytope.interior, [1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1.0])


def test_a_single_point_is_found():
    np.testing.assert_allclose(
        EXAMPLES["a single point by its sums"].mdp.polytope.interior, [1.0, 0.5], atol=1e-10
    )
    mdp = EXAMPLES["a single point by p_min"].mdp
    assert mdp.polytope.dimension == 0
    np.testing.assert_allclose(mdp.transition(mdp.polytope.interior), 0.5, atol=1e-8)


def test_p_min_of_one_in_k_leaves_the_centre_alone():
    mdp = LinearMixtureMDP.tabular(np.ones((3, 1, 3), dtype=bool), np.zeros((3, 1)), 0.9, p_min=1 / 3)
    assert mdp.polytope.dimension == 0
    np.testing.assert_allclose(mdp.polytope.interior, 1 / 3)


def test_unidentifiable_directions_stay_where_the_ridge_puts_them():
    """Two equal base models: their weights are equal, inside and everywhere."""
    mdp = EXAMPLES["duplicated base model"].mdp
    (block,) = mdp.polytope.blocks
    assert abs(mdp.polytope.interior[1] - mdp.polytope.interior[2]) < 1e-10
    np.testing.assert_allclose(block.basis[1], block.basis[2], atol=1e-10)


def test_a_coordinate_that_acts_nowhere_is_no_obstacle():
    features = np.zeros((2, 1, 2, 3))
    features[..., 0, 0] = features[..., 1, 2] = 1.0
    mdp = LinearMixtureMDP(features, np.zeros((2, 1)), 0.9)
    assert mdp.polytope.dimension == 1
    assert mdp.polytope.interior[1] == 0.0
    assert mdp.contains([0.3, 0.0, 0.7])


def tiny(size: float) -> LinearMixtureMDP:
    """theta_1 in [-1, 3] by the first row; theta_1 >= 0 only because size * theta_1 is a probability."""
    features = np.zeros((2, 1, 2, 2))
    features[0, 0] = [[0.5, 0.25], [0.5, 0.75]]  # p = 1/4 + theta_1/4 with theta_2 = 1 - theta_1
    features[1, 0] = [[size, 0.0], [1.0 - size, 1.0]]
    return LinearMixtureMDP(features, np.zeros((2, 1)), 0.9)


@pytest.mark.parametrize("size", [1e-2, 1e-6, 1e-9, 1e-11, 2e-12])
def test_tiny_features_still_bound_theta(size: float):
    mdp = tiny(size)
    assert mdp.contains([1e-6, 1.0 - 1e-6])
    assert not mdp.contains([-1e-6, 1.0 + 1e-6])
    (block,) = mdp.polytope.blocks
    ends = sorted(
        block.center[0] + block.basis[0, 0] * s * to_the_wall(block, np.array([s])) for s in (-1.0, 1.0)
    )
    assert ends[0] == pytest.approx(0.0, abs=1e-6)


def test_features_below_the_threshold_bound_nothing():
    assert tiny(5e-13).contains([-0.5, 1.5])


# ---- nothing is feasible: say why


def test_conflicting_sums_are_named():
    features = np.full((2, 2, 2, 1), 0.5)
    features[1, 0] = 0.7
    with refused("(s=1, a=0)", "1"):
        LinearMixtureMDP(features, np.zeros((2, 2)), 0.9)


def test_conflicting_sums_are_named_within_their_block():
    """State 0 has a coordinate of its own: the conflict lies in state 1."""
    features = np.zeros((2, 2, 2, 2))
    features[0, ..., 0] = features[1, ..., 1] = 0.5
    features[1, 1, :, 1] = 0.7
    with refused("s=1"):
        LinearMixtureMDP(features, np.zeros((2, 2)), 0.9)


def test_an_impossible_set_that_takes_everything_is_named():
    """Both base models need the transition that is declared impossible."""
    features = np.full((2, 1, 2, 2), 0.5)
    impossible = np.zeros((2, 1, 2), dtype=bool)
    impossible[0, 0, 1] = True
    with refused("empty", "impossible"):
        LinearMixtureMDP(features, np.zeros((2, 1)), 0.9, impossible=impossible)


def test_inequalities_that_cannot_hold_together_are_named():
    """P(0|0) = theta_1 - 1/2 and P(0|1) = 1/4 - theta_1 are never both at least 0."""
    features = np.zeros((2, 1, 2, 2))
    features[0, 0] = [[1.0, -0.5], [-1.0, 1.5]]
    features[1, 0] = [[-1.0, 0.25], [1.0, 0.75]]
    with refused("P(s=0, a=0, s'=0) >= 0", "P(s=1, a=0, s'=0) >= 0"):
        LinearMixtureMDP(features, np.zeros((2, 1)), 0.9)


def test_an_inequality_that_fails_alone_is_named():
    """The sums leave one theta, and it makes a probability negative."""
    features = np.zeros((2, 1, 2, 1))
    features[0, 0, :, 0] = [0.5, 0.5]
    features[1, 0, :, 0] = [-0.25, 1.25]
    with refused("(s=1, a=0, s'=0)", "0", "0.25"):
        LinearMixtureMDP(features, np.zeros((2, 1)), 0.9)


def test_p_min_too_large_for_a_mixture_is_named():
    models = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3, 1))
    with refused("empty", "0.4"):
        LinearMixtureMDP.from_models(list(models), np.zeros((3, 1)), 0.9, p_min=0.4)


# ---- worlds that were hard for a solver


@pytest.mark.parametrize(
    ("size", "temperature", "seed"),
    [((15, 4, 10), 0.01, 37), ((3, 2, 5), 0.003, 9), ((5, 4, 5), 0.003, 21), ((4, 2, 12), 0.003, 33)],
)
def test_the_interior_of_cold_worlds_is_feasible(size: tuple[int, int, int], temperature: float, seed: int):
    """Nearly deterministic base models: P is long where two of them nearly agree."""
    mdp = random_network(*size, temperature=temperature, seed=seed).mdp
    assert mdp.contains(mdp.polytope.interior)
    assert (mdp.transitions.probabilities(mdp.polytope.interior) > 0.0).all()
