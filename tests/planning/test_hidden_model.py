"""Bounds on the Bayes-optimal value: published instances, brute force over counts, closed forms, laws of beliefs."""

from typing import Any

import numpy as np
import pytest
from hidden_models import by_counts, finch, from_low, random_candidates, two

import vbmle
from vbmle import LinearMixtureMDP
from vbmle.core.bayes import BeliefSearch, HiddenArrays
from vbmle.model.priors import weights
from vbmle.planning.hidden_model import BayesSolution, Effort, HiddenModel


def solved(
    mdp: LinearMixtureMDP, steps: int | None = None, prior: object = None, **effort: object
) -> BayesSolution:
    model = HiddenModel(mdp, weights(mdp, prior), steps)  # type: ignore[arg-type]
    return BayesSolution(model, Effort(**effort))  # type: ignore[arg-type]


# What a stored SARSOP policy earns at least, and what is earned where the model is known.
PUBLISHED = {"finch": (finch, 85.0915, 100.4155), "two": (two, 41.8128, 44.4942)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_instances_are_solved_to_a_thousandth(name: str):
    make, sarsop, known = PUBLISHED[name]
    solution = solved(make(), gap=0.001)
    low, high = solution.bounds()
    assert high - low <= 0.001 * high
    assert low <= high
    assert sarsop <= high < known
    assert low >= sarsop * (1.0 - 0.001)


@pytest.mark.parametrize(("make", "more"), [(finch, 7e-4), (two, 5e-4)])
def test_more_work_only_narrows_the_bounds(make, more: float):
    loose, tight = (solved(make(), gap=gap).bounds() for gap in (0.01, more))
    assert tight[0] <= loose[1]
    assert loose[0] <= tight[1]
    assert tight[1] - tight[0] <= more * tight[1]


TINY = [
    (random_candidates(0, 2, 2, 3), 6),
    (random_candidates(1, 3, 2, 2), 5),
    (random_candidates(2, 3, 2, 4), 4),
    (finch(), 5),
    (two(), 6),
]


@pytest.mark.parametrize(("mdp", "steps"), TINY)
@pytest.mark.parametrize("even", [True, False], ids=["even", "uneven"])
def test_a_number_of_steps_agrees_with_brute_force_over_counts(mdp: LinearMixtureMDP, steps: int, even: bool):
    prior = np.arange(1.0, mdp.dimension + 1) ** (0 if even else 2)
    prior /= prior.sum()
    first = int(np.argmax(mdp.initial))
    exact = by_counts(mdp, prior, steps, first)
    low, high = solved(mdp, steps, prior, gap=1e-9).bounds()
    assert low <= exact + 1e-9
    assert high >= exact - 1e-9
    assert high - low <= 1e-7


def test_random_instances_are_solved_to_a_hundredth_or_say_the_gap():
    for seed, (states, actions, candidates) in enumerate([(4, 2, 3), (6, 3, 6), (10, 6, 24), (5, 4, 12)]):
        mdp = random_candidates(seed, states, actions, candidates)
        low, high = solved(mdp, gap=0.01, nodes=20_000).bounds()
        known = solved(mdp, gap=10.0).bounds()[1]
        assert 0.0 < low <= high <= known + 1e-9
        assert high - low <= (0.01 if candidates <= 12 else 0.05) * high


def test_a_candidate_that_is_certain_is_planned_for():
    mdp = finch()
    for k in range(mdp.dimension):
        theta = np.eye(mdp.dimension)[k]
        V = mdp.in_units(vbmle.plan(mdp, theta).V)[0]
        np.testing.assert_allclose(solved(mdp, prior=theta).bounds(), V, rtol=1e-8)


def test_candidates_that_agree_are_one():
    """The finch with each expert asked twice, and one of another opinion without weight: nothing changes."""
    plain, base = finch(), [np.asarray(finch().transition(theta)) for theta in np.eye(4)]
    reward = np.asarray(plain.reward)
    with pytest.warns(UserWarning, match="no data tell them apart"):
        more = from_low([*base, *base, np.full((2, 4, 2), 0.5)], reward)
    prior = np.append(np.full(8, 0.125), 0.0)
    model = HiddenModel(more, prior)
    assert model.candidates.tolist() == [0, 1, 2, 3]
    assert model.group.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, -1]
    assert solved(more, prior=prior, gap=0.01).bounds() == solved(plain, gap=0.01).bounds()


def test_the_value_is_convex_in_the_prior():
    mdp, rng = finch(), np.random.default_rng(0)
    for _ in range(5):
        one, other = rng.dirichlet(np.ones(4), size=2)
        low_between = solved(mdp, prior=0.5 * one + 0.5 * other, gap=0.002).bounds()[0]
        ends = [solved(mdp, prior=p, gap=0.002).bounds()[1] for p in (one, other)]
        assert low_between <= 0.5 * sum(ends) + 1e-9


def test_first_states_are_weighed():
    models = [np.asarray(finch().transition(theta)) for theta in np.eye(4)]
    reward = np.asarray(finch().reward)
    each = [
        solved(from_low(models, reward, initial), gap=0.002).bounds()
        for initial in ([1, 0], [0, 1], [0.3, 0.7])
    ]
    (low1, high1), (low2, high2), (low, high) = each
    assert low <= 0.3 * high1 + 0.7 * high2 + 1e-9
    assert high >= 0.3 * low1 + 0.7 * low2 - 1e-9


def test_room_that_runs_out_leaves_true_bounds():
    tight = solved(finch(), gap=0.001).bounds()
    for nodes in (100, 1000):
        low, high = solved(finch(), gap=1e-6, nodes=nodes).bounds()
        assert low <= tight[1]
        assert high >= tight[0]
    low, high = solved(finch(), gap=1e-9, seconds=0.05).bounds()
    assert low <= tight[1]
    assert high >= tight[0]


def test_what_is_no_set_of_candidates_is_refused():
    with pytest.raises(ValueError, match="needs finitely many candidates, and domain is 'polytope'"):
        vbmle.BayesOptimal(vbmle.worlds.riverswim().mdp)
    with pytest.raises(ValueError, match="prior"):
        vbmle.BayesOptimal(finch(), prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="prior"):
        vbmle.BayesOptimal(finch(), prior=[1.5, -0.5, 0, 0])


def search(**changes: Any) -> BeliefSearch:
    """One of two candidates: action 1 pays where the second is true."""
    arrays = HiddenArrays(
        pair_begin=np.array([0, 1, 2]),
        successor=np.array([0, 0]),
        p=np.ones((2, 2)),
        reward=np.array([[0.5, 0.5], [0.0, 1.0]]),
        known=np.array([[1.0, 2.0]]),
    )
    given = arrays._replace(**changes)
    return BeliefSearch(given, 1, 0.5, 0, 100)


@pytest.mark.parametrize(
    "changes",
    [
        {"pair_begin": np.array([0, 3, 2])},
        {"pair_begin": np.array([1, 1, 2])},
        {"successor": np.array([0, 1])},
        {"p": np.array([[1.0, -1.0], [1.0, 1.0]])},
        {"p": np.full((2, 2), np.nan)},
        {"reward": np.full((2, 2), -np.inf)},
        {"reward": np.array([[np.nan, 0.5], [0.0, 1.0]])},
        {"known": np.array([[np.inf, 2.0]])},
    ],
    ids=str,
)
def test_the_core_refuses_arrays_that_are_no_model(changes: dict[str, Any]):
    with pytest.raises(ValueError, match="out of range"):
        search(**changes)


def test_the_core_refuses_a_search_that_cannot_be_made():
    core = search()
    even = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match="out of range"):
        core.improve(0, even, 0.1, 10)  # nothing was added
    core.add(np.array([0]), np.array([[1.0, 1.0]]))
    for place, belief, tolerance in (
        (1, even, 0.1),
        (0, np.array([0.5, 0.6]), 0.1),
        (0, even, -1.0),
        (0, even, np.nan),
    ):
        with pytest.raises(ValueError, match="out of range"):
            core.improve(place, belief, tolerance, 10)
    with pytest.raises(ValueError, match="out of range"):
        core.add(np.array([2]), np.array([[1.0, 1.0]]))
    # With a belief that never changes, the better action is played for ever.
    low, high, _ = core.improve(0, np.array([0.25, 0.75]), 1e-12, 1000)
    assert (low, high) == pytest.approx((1.5, 1.5))
