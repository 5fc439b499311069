"""A slice of the extremes of `fuzz_extremes`, and each promise at an edge once, with its closed form."""

from fractions import Fraction

import numpy as np
import pytest
from fuzz_extremes import Found, best_values, draw, fuzz, judge_plan, mixture

import vbmle


def test_extremes_keep_every_promise():
    found = fuzz(range(40), seed=2)
    assert found.broken == []
    assert found.models == found.plans == 40
    assert found.solves.calls >= 40
    assert found.gaps > 10
    assert found.largest_count > 1e10
    assert 0.0 < found.tightest <= 1.0


def test_the_judge_of_plans_knows_a_closed_form():
    """One state, one action: V = r / (1 - gamma), in rationals."""
    extreme = next(
        one
        for k in range(1000)
        if (one := draw(np.random.default_rng([7, k]))).mdp.num_states * one.mdp.num_actions == 1
        and one.mdp.reward_scale == 1.0
        and len(one.models) == 1
    )
    gamma, r = Fraction(extreme.mdp.discount), Fraction(float(extreme.reward[0, 0]))
    assert best_values(extreme, np.array([1.0])) == [r / (1 - gamma)]


def test_the_judge_of_plans_refuses_a_bound_that_is_too_small(monkeypatch: pytest.MonkeyPatch):
    from vbmle.planning import planner

    monkeypatch.setattr(planner, "EPSILON", 0.0)
    extremes = [draw(np.random.default_rng([11, k])) for k in range(100)]
    refused = 0
    for extreme in extremes:
        try:
            judge_plan(extreme, np.eye(extreme.mdp.dimension)[0], Found())
        except AssertionError as error:
            refused += "bound" in str(error)
    assert refused > 0


def near_models(states: int = 3) -> list[np.ndarray]:
    """Two base models that are 1e-9 apart."""
    first, other = np.random.default_rng(3).dirichlet(np.ones(states), size=(2, states, 2))
    return [first, (1.0 - 1e-9) * first + 1e-9 * other]


def test_models_that_are_nearly_equal_have_a_theta_that_is_accepted():
    """Weights near 1e9 cancel; they sum to 1 up to rounding, and no float does better."""
    mdp = mixture(near_models(), np.eye(3)[:, :2], 0.9, domain="polytope")
    counts = vbmle.TransitionCounts(mdp)
    counts.add(0, 0, 1, 10**9)
    est = vbmle.maximum_likelihood(mdp, counts, ridge=0.0)
    assert np.abs(est.theta).max() > 1e6
    assert mdp.contains(est.theta)
    plan = vbmle.plan(mdp, est.theta)
    assert np.isfinite(plan.V).all()
    # Rounding of a weight of 1e8 moves a probability by 1e-8, so that more than that cannot be promised.
    assert plan.error_bound > 1e-9
    # A tenth of the digits are gone: the gap says so.
    assert est.gap > 1e9 * np.finfo(float).eps * np.abs(est.theta).max()


def test_a_theta_that_is_off_by_more_than_rounding_is_refused_still():
    mdp = mixture(near_models(), np.eye(3)[:, :2], 0.9, domain="polytope")
    assert mdp.contains([1e6, 1.0 - 1e6])
    assert not mdp.contains([1e6, 1.001 - 1e6])
    assert not mdp.contains([1e10, 1.0 - 1e10])  # some probability is below 0


@pytest.mark.parametrize("gamma", [0.9, 0.999, 0.99999])
def test_a_plan_says_when_rounding_keeps_it_from_the_tolerance(gamma: float):
    """V near 1/(1-gamma) has an ulp of 1e-11 at gamma = .99999, carried on for 1e5 steps."""
    mdp = vbmle.LinearMixtureMDP.from_models([np.ones((1, 1, 1))], [[1.0]], gamma)
    plan = vbmle.plan(mdp, [1.0])
    assert abs(Fraction(float(plan.V[0])) - 1 / (1 - Fraction(gamma))) <= Fraction(plan.error_bound)
    assert plan.converged == (gamma < 0.9999)
    assert vbmle.plan(mdp, [1.0], tolerance=1e-4).converged
