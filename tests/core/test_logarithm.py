"""The core's own logarithm, which loops can be vectorised over, against the C library's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts.climbing import logs, weighted_log_sum

TINY = float(np.finfo(float).tiny)  # the least number that is not subnormal
ODD = [0.0, -0.0, -1.0, TINY / 2.0, 5e-324, math.inf, -math.inf, math.nan]


def assert_close(x: np.ndarray) -> None:
    """Within two units in the last place of the true logarithm; the C library's is within half a one."""
    expected = np.array([math.log(value) for value in x])
    assert (np.abs(logs(x) - expected) <= 2.5 * np.spacing(np.abs(expected))).all()


def test_probabilities():
    assert_close(np.random.default_rng(0).random(100_000))


def test_all_magnitudes():
    rng = np.random.default_rng(1)
    assert_close(np.ldexp(rng.uniform(1.0, 2.0, 100_000), rng.integers(-1022, 1024, 100_000)))


def test_near_one_and_where_pieces_meet():
    """log x is small near 1, where every bit of x counts; the pieces of the computation meet at sqrt(1/2) 2^k."""
    steps = np.arange(-2000, 2001)
    for middle in (1.0, math.sqrt(0.5), math.sqrt(2.0), 2.0, 0.5):
        assert_close(middle + steps * np.spacing(middle))
        assert_close(middle * (1.0 + steps * 1e-6))


def test_the_least_and_the_greatest():
    assert_close(np.array([TINY, np.nextafter(TINY, 1.0), np.finfo(float).max]))
    assert logs(np.array([1.0]))[0] == 0.0


@pytest.mark.parametrize("x", ODD)
def test_odd_numbers_are_left_to_the_c_library(x: float):
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(logs(np.array([x])), np.log(np.array([x])))


@given(seed=st.integers(0, 2**20), n=st.integers(0, 300))
def test_weighted_sums(seed: int, n: int):
    """To the rounding of a sum of n terms, of whatever length."""
    rng = np.random.default_rng(seed)
    weight, x = rng.integers(1, 1000, n).astype(float), rng.random(n) + 1e-12
    terms = weight * np.log(x)
    expected = math.fsum(terms)
    bound = (n + 4) * np.finfo(float).eps * math.fsum(np.abs(terms))
    assert abs(weighted_log_sum(weight, x) - expected) <= bound


@pytest.mark.parametrize("n", [1, 7, 64, 257])
@pytest.mark.parametrize("x", [0.0, -0.0, -0.25, -math.inf])
def test_one_number_that_is_not_positive_is_enough(n: int, x: float):
    for place in {0, n // 2, n - 1}:
        numbers = np.full(n, 0.5)
        numbers[place] = x
        assert weighted_log_sum(np.ones(n), numbers) == -math.inf


@pytest.mark.parametrize("n", [1, 7, 64, 257])
def test_a_number_that_is_none_is_not_hidden(n: int):
    for place in {0, n // 2, n - 1}:
        numbers = np.full(n, 0.5)
        numbers[place] = math.nan
        assert math.isnan(weighted_log_sum(np.ones(n), numbers))


def test_subnormal_numbers_count():
    numbers = np.array([0.5, 5e-324, 0.25])
    assert weighted_log_sum(np.ones(3), numbers) == pytest.approx(np.log(numbers).sum(), rel=1e-15)
