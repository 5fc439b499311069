"""Sparse arrays whose indices are damaged are refused: they would be read beyond their memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import sparse

import vbmle

DAMAGE: dict[str, Callable[[Any], None]] = {
    "a row that ends far beyond the data": lambda array: array.indptr.__setitem__(3, 10**6),
    "a row that ends before it begins": lambda array: array.indptr.__setitem__(3, -5),
    "a column beyond the last": lambda array: array.indices.__setitem__(2, 10**6),
    "a column before the first": lambda array: array.indices.__setitem__(2, -7),
}
USES: dict[str, Callable[[Any, Any], Any]] = {
    "models[1]": lambda bad, whole: vbmle.LinearMixtureMDP.from_models([whole, bad], np.zeros((4, 2)), 0.9),
    "support": lambda bad, whole: vbmle.LinearMixtureMDP.tabular(bad, np.zeros((4, 2)), 0.9),
    "reward": lambda bad, whole: vbmle.LinearMixtureMDP.from_models([whole], bad, 0.9),
}


@pytest.mark.parametrize("what", USES)
@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_damaged_indices_are_refused(form: Any, how: str, what: str):
    whole, other = (sparse.csr_array(np.random.default_rng(k).dirichlet(np.ones(4), 8)) for k in range(2))
    bad = form(other)
    DAMAGE[how](bad)
    with refused(what, "damaged sparse array"):
        USES[what](bad, whole)


def test_a_known_plan_refuses_them_too():
    bad = sparse.csr_array(np.random.default_rng(0).dirichlet(np.ones(4), 8))
    bad.indptr[3] = 10**6
    with refused("out of range"):
        vbmle.plan_known(bad, np.zeros((4, 2)), 0.9)
