"""The sampler's parts: the ends of a slice, the shares of facets, and a chain that can be taken up again."""

import gc
from typing import Any

import numpy as np
import pytest
from parts.sampling import crossing, excess
from scipy.optimize import brentq
from small_worlds import EXAMPLES

from vbmle import LinearMixtureMDP
from vbmle.core.sampling import Sampler
from vbmle.worlds import random_network

REFUSED = r"core|out of range"
NETWORK = random_network(15, 4, 10)
LEAST_SHARE = 0.1  # kLeastShare in core/src/sampling/reference.hpp


# ---- the ends of a slice


@pytest.mark.parametrize("case", range(100))
def test_slices_end_where_the_density_crosses_the_level(case: int):
    """Against Brent's method; ends near probability 0, where the logarithm is steep, included."""
    rng = np.random.default_rng([case, 4])
    m = int(rng.integers(1, 6))
    p, q = rng.dirichlet(np.ones(m + 1))[:m], rng.normal(size=m)
    weight, level = rng.integers(1, 1000, m).astype(float), -float(rng.choice([1e-3, 0.5, 5.0, 40.0]))
    for sign in (1.0, -1.0):
        ratio = sign * q / p
        bound = 1.0 / -ratio.min() if ratio.min() < 0.0 else 7.0
        end = crossing(weight, q / p, level, sign, bound)
        assert 0.0 < end <= bound

        def f(t: float, weight: Any = weight, ratio: Any = ratio, level: float = level) -> float:
            return float(weight @ np.log(np.maximum(1.0 + t * ratio, 1e-300)) - level)

        if f(bound) >= 0.0:
            assert end == bound
        else:
            peak = max(np.linspace(0.0, bound, 2001), key=f)
            assert end == pytest.approx(brentq(f, peak, bound, xtol=1e-14), rel=1e-6)


def test_excess_and_its_slope():
    weight, ratio, t = np.array([2.0, 3.0]), np.array([0.5, -0.2]), 0.7
    value, slope = excess(weight, ratio, t, -1.0)
    assert value == pytest.approx(2 * np.log(1.35) + 3 * np.log(0.86) + 1.0, abs=1e-14)
    step = 1e-6
    numeric = (excess(weight, ratio, t + step, 0.0)[0] - excess(weight, ratio, t - step, 0.0)[0]) / (2 * step)
    assert slope == pytest.approx(numeric, rel=1e-8)
    assert excess(weight, ratio, 5.0, -1.0)[0] == -np.inf


# ---- shares of facets


def facets(mdp: LinearMixtureMDP) -> tuple[np.ndarray, np.ndarray]:
    """Normals and offsets of a P of one block."""
    flat = mdp.flat_set
    return flat.normals.reshape(len(flat.offsets), -1), flat.offsets


def shares(mdp: LinearMixtureMDP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares without their floor, normals divided by their slack, and the centre: of a P of one block."""
    sampler = Sampler(mdp.core)
    normals, offsets, y = *facets(mdp), sampler.center
    floor = LEAST_SHARE * len(y) / len(normals)
    return sampler.share - floor, normals / (normals @ y + offsets)[:, None], y


@pytest.mark.parametrize("mdp", [EXAMPLES["simplex mixture"].mdp, NETWORK.mdp], ids=["simplex", "network"])
def test_shares_are_those_of_the_largest_ellipsoid_inside(mdp: LinearMixtureMDP):
    """John: sum share a a' = M, sum share a = 0, no leverage a' M^-1 a above 1, and all shares add up to m."""
    share, a, y = shares(mdp)
    M = (a * share[:, None]).T @ a
    leverage = np.einsum("ij,jk,ik->i", a, np.linalg.inv(M), a)
    assert share.min() >= 0.0
    assert share.sum() == pytest.approx(len(y), rel=1e-6)
    assert leverage.max() < 1.1  # a hundred multiplications, not the limit
    pull = share @ a
    assert pull @ np.linalg.solve(M, pull) < 1e-2


def test_the_faces_of_a_simplex_have_equal_shares():
    share, _, _ = shares(EXAMPLES["simplex mixture"].mdp)
    np.testing.assert_allclose(share, 2 / 3, rtol=0.0, atol=1e-6)


# ---- a chain


def counts(mdp: LinearMixtureMDP, seed: int, steps: int = 50) -> np.ndarray:
    """Counts of transitions that are possible at the interior point."""
    possible = np.nonzero(mdp.core.probabilities(mdp.polytope.interior) > 1e-9)[0]
    chosen = np.random.default_rng(seed).choice(possible, steps)
    return np.bincount(chosen, minlength=mdp.transitions.count).astype(float)


@pytest.mark.parametrize("name", EXAMPLES)
def test_draws_are_feasible_and_belong_to_the_chain(name: str):
    mdp, rng = EXAMPLES[name].mdp, np.random.default_rng(0)
    sampler, seen = Sampler(mdp.core), counts(mdp, 1)
    for _ in range(20):
        theta = sampler.sample(seen, 3, rng)
        np.testing.assert_array_equal(theta, mdp.core.assemble(sampler.y))
        assert mdp.constraints.violation(theta)[0] < 1e-12
        assert (mdp.core.probabilities(theta)[seen > 0.0] > 0.0).all()


@pytest.mark.parametrize("name", ["simplex mixture", "separate blocks", "tabular, a product of simplices"])
def test_y_and_reference_are_all_of_its_state(name: str):
    """A sampler that is handed both goes on exactly as the other would."""
    mdp = EXAMPLES[name].mdp
    one, two, seen = Sampler(mdp.core), Sampler(mdp.core), counts(mdp, 2)
    rng = np.random.default_rng(0)
    for _ in range(5):
        one.sample(seen, 2, rng)
    two.restore(one.snapshot())
    first, second = (sampler.sample(seen, 2, np.random.default_rng(1)) for sampler in (one, two))
    np.testing.assert_array_equal(first, second)


def test_random_numbers_that_do_not_fit_are_refused():
    mdp = EXAMPLES["simplex mixture"].mdp
    sampler, seen = Sampler(mdp.core), counts(mdp, 4)
    normals, uniforms = np.zeros(sampler.num_normals), np.zeros((sampler.num_steps, 2))
    sampler.sample_with(seen, normals, uniforms + 0.5)
    for bad in (
        (seen[1:], normals, uniforms),
        (seen, normals[1:], uniforms),
        (seen, normals, uniforms[:, :1]),
        (seen, normals, uniforms[:0]),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            sampler.sample_with(*bad)


def test_views_outlive_the_sampler():
    y = Sampler(EXAMPLES["simplex mixture"].mdp.core).y
    gc.collect()
    np.testing.assert_array_equal(y, 0.0)
