"""Reward-biased maximum likelihood with one distribution per (s, a): single pairs, and the handle."""

import gc

import numpy as np
import pytest
from parts.tabular import biased_pair, pair_score
from scipy.optimize import minimize

from vbmle import LinearMixtureMDP
from vbmle.core.tabular import RewardBiasedRows
from vbmle.worlds import riverswim

REFUSED = r"core|out of range"


def row(counts: list[float], gain: list[float], weight: float) -> np.ndarray:
    return biased_pair(np.array(counts), np.array(gain), weight)


# ---- one row


def test_a_row_without_weight_is_its_frequencies():
    np.testing.assert_allclose(row([3.0, 0.0, 1.0], [1.0, 5.0, 2.0], 0.0), [0.75, 0.0, 0.25], atol=1e-15)


def test_a_row_without_counts_goes_to_the_best_successor():
    np.testing.assert_array_equal(row([0.0, 0.0, 0.0], [1.0, 5.0, 5.0], 2.0), [0.0, 1.0, 0.0])


def test_a_row_by_hand():
    """n = (1, 1), g = (1, 0), c = 1: 1/(nu-1) + 1/nu = 1 has nu = (3 + sqrt 5)/2."""
    nu = (3.0 + np.sqrt(5.0)) / 2.0
    np.testing.assert_allclose(row([1.0, 1.0], [1.0, 0.0], 1.0), [1.0 / (nu - 1.0), 1.0 / nu], atol=1e-14)


def test_mass_on_an_unseen_successor_by_hand():
    """n = (1, 0), g = (0, 1): log p + c (1 - p) has p = 1/c where c > 1, and p = 1 below."""
    np.testing.assert_allclose(row([1.0, 0.0], [0.0, 1.0], 4.0), [0.25, 0.75], atol=1e-14)
    np.testing.assert_allclose(row([1.0, 0.0], [0.0, 1.0], 0.9), [1.0, 0.0], atol=1e-14)


@pytest.mark.parametrize("case", range(80))
def test_rows_satisfy_kkt(case: int):
    """nu with n/p + c g = nu where p > 0, and c g <= nu where p = 0: sufficient, since the problem is concave."""
    rng = np.random.default_rng([case, 2])
    m = int(rng.integers(2, 9))
    counts = rng.integers(0, 4, m) * float(rng.choice([1, 1000]))
    counts[rng.integers(m)] += 1.0
    gain, weight = rng.random(m) * 10.0, float(rng.choice([1e-3, 0.3, 5.0, 1e4]))
    p = row(counts.tolist(), gain.tolist(), weight)
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert (p[counts > 0.0] > 0.0).all()
    inside = p > 0.0
    slopes = counts[inside] / p[inside] + weight * gain[inside]
    nu, scale = slopes.max(), max(1.0, slopes.max())
    np.testing.assert_allclose(slopes, nu, rtol=0.0, atol=1e-8 * scale)
    assert (weight * gain[~inside] <= nu + 1e-8 * scale).all()


def test_rows_against_another_optimiser():
    rng = np.random.default_rng(0)
    for _ in range(10):
        counts, gain, weight = rng.integers(1, 6, 4).astype(float), rng.random(4), 3.0 * rng.random()

        def loss(z: np.ndarray, n: np.ndarray = counts, g: np.ndarray = gain, c: float = weight) -> float:
            p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
            return -float(n @ np.log(p) + c * p @ g)

        best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
        p = row(counts.tolist(), gain.tolist(), weight)
        assert counts @ np.log(p) + weight * p @ gain >= -best.fun - 1e-9
        score = pair_score(counts, gain, weight, p)
        offset = counts @ np.log(counts / counts.sum())
        assert score == pytest.approx(-best.fun - offset, abs=1e-7)


# ---- the handle


def task(mdp: LinearMixtureMDP, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts by transition, and visits by pair."""
    counts = np.random.default_rng(seed).integers(0, 5, mdp.transitions.count).astype(float)
    return counts, np.add.reduceat(counts, mdp.transitions.indptr[:-1])


def test_it_begins_uniform():
    mdp = riverswim(5).mdp
    rows = RewardBiasedRows(mdp.core, factors=True)
    np.testing.assert_array_equal(np.add.reduceat(rows.p, mdp.transitions.indptr[:-1]), 1.0)
    np.testing.assert_array_equal(rows.policy, 0)


@pytest.mark.parametrize("seed", range(10))
def test_sweeps_and_factors_find_the_same(seed: int):
    """Sweeps are right to 1e-11 of 1/(1 - gamma)."""
    mdp = riverswim(6).mdp
    counts, visits = task(mdp, seed)
    both = [RewardBiasedRows(mdp.core, factors) for factors in (True, False)]
    found = [rows.solve(counts, visits, 3.0, seed % 6) for rows in both]
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-8)
    np.testing.assert_array_equal(both[0].policy, both[1].policy)


@pytest.mark.parametrize("factors", [True, False])
def test_p_and_policy_are_all_of_its_state(factors: bool):
    """Nothing else of the last problem is left: a solver that is handed both finds the same, bit by bit."""
    mdp = riverswim(6).mdp
    old, new = RewardBiasedRows(mdp.core, factors), RewardBiasedRows(mdp.core, factors)
    old.solve(*task(mdp, 0), 2.0, 0)
    new.put(old.p, old.policy)
    assert old.solve(*task(mdp, 1), 4.0, 3) == new.solve(*task(mdp, 1), 4.0, 3)
    np.testing.assert_array_equal(old.p, new.p)


def test_what_does_not_fit_is_refused():
    mdp = riverswim(4).mdp
    rows, (counts, visits) = RewardBiasedRows(mdp.core, factors=True), task(mdp, 0)
    for bad in (
        (counts[1:], visits, 1.0, 0),
        (counts, visits[1:], 1.0, 0),
        (counts, visits, np.nan, 0),
        (counts, visits, -1.0, 0),
        (counts, visits, 1.0, 4),
        (counts, visits, 1.0, -1),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            rows.solve(*bad)
    rows.put(rows.p, np.full(4, 2))
    with pytest.raises(ValueError, match=REFUSED):
        rows.solve(counts, visits, 1.0, 0)


def test_views_outlive_the_handle():
    p = RewardBiasedRows(riverswim(4).mdp.core, factors=True).p
    gc.collect()
    assert p.sum() == pytest.approx(8.0)
