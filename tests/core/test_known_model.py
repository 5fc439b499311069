"""Planning in the core for one known model, dense or sparse: promises that are kept, and what is refused."""

from typing import Any

import numpy as np
import pytest
from known_models import Known, known, ring

from vbmle.core.planning import plan_dense, plan_sparse, rounding


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
