"""Models of the core: points of the feasible set, features, and what cannot be a model."""

from typing import Any

import numpy as np
import pytest
from parts import climbing
from problems import dense, outside
from small_worlds import EXAMPLES

from vbmle.core.model import Model
from vbmle.worlds import random_network, riverswim

each_example = pytest.mark.parametrize("name", EXAMPLES)
DENSE = random_network(4, 2, 3, seed=0).mdp
SPARSE = riverswim(4).mdp


@each_example
def test_points_of_the_blocks_and_gradients_along_them_fit_together(name: str):
    """theta(y) is affine and `reduce` is its transpose; `reduce_hessian` turns a Hessian in theta into one in y."""
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(0)
    core, free = mdp.core, mdp.core.num_free
    jacobian = np.zeros((mdp.dimension, free))
    point = core.assemble(np.zeros(free))
    np.testing.assert_allclose(point, mdp.polytope.interior, rtol=0.0, atol=1e-10)
    for j, e in enumerate(np.eye(free)):
        jacobian[:, j] = core.assemble(e) - mdp.polytope.interior
    g = rng.normal(size=mdp.dimension)
    np.testing.assert_allclose(climbing.reduce(core, g), jacobian.T @ g, rtol=0.0, atol=1e-10)
    first = 0
    for b, block in enumerate(mdp.polytope.blocks):
        k, m = len(block.coordinates), block.dimension
        half = rng.normal(size=(k, k))
        B = climbing.reduce_hessian(core, b, np.tril(half @ half.T), m)
        part = jacobian[block.coordinates][:, first : first + m]
        np.testing.assert_allclose(B, part.T @ half @ half.T @ part, rtol=0.0, atol=1e-9)
        first += m


@each_example
def test_value_features_weigh_the_next_states(name: str):
    """<phi_V(s,a), theta> is the expected V of the next state."""
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, V = world.mdp, rng.normal(size=world.mdp.num_states)
    expected = dense(mdp.transition(world.theta)).reshape(-1, mdp.num_states) @ V
    out = np.empty(mdp.dimension)
    for pair, mean in enumerate(expected):
        mdp.core.value_feature(pair, V, out, 2.0)
        assert out @ world.theta == pytest.approx(2.0 * mean, abs=1e-10)


@each_example
def test_a_point_of_the_set_stays_and_others_move_into_it(name: str):
    world, rng = EXAMPLES[name], np.random.default_rng(0)
    mdp, core = world.mdp, world.mdp.core
    placed = core.probabilities(core.assemble(core.place(world.theta)))  # theta itself may not be identified
    np.testing.assert_allclose(placed, core.probabilities(world.theta), rtol=0.0, atol=1e-9)
    for _ in range(20):
        moved = core.assemble(core.place(world.theta + rng.normal(size=mdp.dimension)))
        assert outside(mdp, moved) <= 1e-9


@each_example
def test_probabilities_are_products_with_features(name: str):
    mdp = EXAMPLES[name].mdp
    theta = np.random.default_rng(0).normal(size=mdp.dimension)
    expected = dense(mdp.transitions.phi) @ theta
    np.testing.assert_allclose(mdp.core.probabilities(theta), expected, rtol=0.0, atol=1e-13)


# ---- what is refused


def parts(core: Model) -> tuple[dict[str, int], dict[str, Any]]:
    """What a model was made from, to be made again with a change."""
    names = ("num_states", "num_actions", "num_transitions", "dimension", "num_blocks")
    return {name: getattr(core, name) for name in names}, dict(core._kept)


def changed(array: np.ndarray, place: int, value: float) -> np.ndarray:
    out = array.copy()
    out.flat[place] = value
    return out


def test_the_parts_of_a_model_make_it_again():
    for mdp in (DENSE, SPARSE):
        sizes, arrays = parts(mdp.core)
        again = Model(sizes, mdp.discount, arrays)
        theta = mdp.polytope.interior
        np.testing.assert_array_equal(again.probabilities(theta), mdp.core.probabilities(theta))


@pytest.mark.parametrize("discount", [1.0, -0.1, np.nan, np.inf])
def test_a_discount_out_of_range_is_refused(discount: float):
    sizes, arrays = parts(DENSE.core)
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, discount, arrays)


@pytest.mark.parametrize("size", [0, -1, 2**31])
@pytest.mark.parametrize("name", ["num_states", "num_actions", "dimension", "num_blocks"])
def test_a_size_out_of_range_is_refused(name: str, size: int):
    sizes, arrays = parts(DENSE.core)
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes | {name: size}, 0.9, arrays)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("pair_begin", 0, 1),
        ("pair_begin", 1, 10**6),
        ("pair_begin", -1, 1),
        ("successor", 0, -1),
        ("successor", 0, 4),
        ("successor", 1, 0),
        ("reward", 0, np.nan),
        ("reward", 0, np.inf),
        ("center", 0, np.nan),
        ("coordinates", 0, -1),
        ("coordinates", 0, 3),
        ("coordinates", 0, 1),
        ("coordinate_begin", -1, 2),
        ("free_begin", -1, 4),
        ("facet_begin", 0, 1),
        ("facet_begin", -1, -1),
        ("offsets", 0, np.nan),
        ("diameter", 0, 0.0),
        ("diameter", 0, np.nan),
    ],
)
def test_a_number_out_of_range_is_refused(name: str, place: int, value: float):
    sizes, arrays = parts(DENSE.core)
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | {name: changed(arrays[name], place, value)})


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("feature_begin", 1, 10**6),
        ("feature_begin", 0, 1),
        ("feature_coordinate", 0, -1),
        ("feature_coordinate", 0, SPARSE.dimension),
        ("free_begin", 1, -1),
        ("facet_begin", 1, 10**6),
    ],
)
def test_a_number_of_sparse_features_out_of_range_is_refused(name: str, place: int, value: float):
    sizes, arrays = parts(SPARSE.core)
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | {name: changed(arrays[name], place, value)})


def test_features_of_a_transition_in_two_blocks_are_refused():
    """Its Hessian would have entries between blocks, for which there is no room."""
    sizes, arrays = parts(SPARSE.core)
    count = sizes["num_transitions"]
    last = np.arange(count)[::-1]
    both = {
        "feature_begin": 2 * np.arange(count + 1),
        "feature_coordinate": np.column_stack([np.arange(count), last]).ravel(),
        "feature_weight": np.full(2 * count, 0.5),
    }
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | both)


@pytest.mark.parametrize(
    "name",
    ["pair_begin", "successor", "reward", "phi", "center", "coordinates", "basis", "normals", "offsets"],
)
def test_a_missing_array_is_refused(name: str):
    sizes, arrays = parts(DENSE.core)
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | {name: None})


def test_a_state_where_nothing_is_allowed_is_refused():
    sizes, arrays = parts(DENSE.core)
    reward = changed(arrays["reward"], 0, -np.inf)
    assert Model(sizes, 0.9, arrays | {"reward": reward}).num_states == 4
    reward[1] = -np.inf
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | {"reward": reward})


def test_dense_features_over_several_blocks_are_refused():
    sizes, arrays = parts(SPARSE.core)
    phi = np.ascontiguousarray(dense(SPARSE.transitions.phi))
    sparse = dict.fromkeys(("feature_begin", "feature_coordinate", "feature_weight"))
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | sparse | {"phi": phi})
    with pytest.raises(ValueError, match="out of range"):
        Model(sizes, 0.9, arrays | {"phi": phi})  # which of the two?


def test_arrays_of_another_kind_or_length_are_refused():
    core = DENSE.core
    with pytest.raises(ValueError, match=r"float32 .* was given"):
        core.probabilities(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"shape \(4,\) was given"):
        core.probabilities(np.zeros(4))
    with pytest.raises(ValueError, match="contiguous"):
        core.probabilities(np.zeros(6)[::2])
    for given in (core.place, core.probabilities):
        with pytest.raises(ValueError, match=r"shape \(2,\) was given"):
            given(np.zeros(2))


def test_theta_without_a_place_is_refused():
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="out of range"):
            DENSE.core.place(np.full(3, value))


@pytest.mark.parametrize("pair", [-1, 8, 2**40])
def test_a_pair_out_of_range_is_refused(pair: int):
    with pytest.raises(ValueError, match="out of range"):
        DENSE.core.value_feature(pair, np.zeros(4), np.zeros(3))
