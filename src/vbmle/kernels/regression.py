"""Ridge regression of V(s') on phi_V(s, a), block by block: Sigma, its inverse and b, by rank-one updates.

Blocks are those of the feasible set: the features of a row (s, a) act in one block alone, so that Sigma is
block-diagonal. Matrices of all blocks lie one after another (see `Domain.hessian_ptr`); x has the coordinates
of one block.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel


@kernel
def expected_feature(model, domain, block, row, V, x):
    """x = phi_V(s, a) = sum_s' phi(s'|s,a) V(s') in the coordinates of the block."""
    k = domain.coord_ptr[block + 1] - domain.coord_ptr[block]
    for j in range(k):
        x[j] = 0.0
    for i in range(model.indptr[row], model.indptr[row + 1]):
        value = V[model.successor[i]]
        if model.phi.shape[0] > 0:  # dense features: one block, coordinates in order
            for j in range(k):
                x[domain.place_of[j]] += value * model.phi[i, j]
        else:
            for e in range(model.f_indptr[i], model.f_indptr[i + 1]):
                x[domain.place_of[model.f_indices[e]]] += value * model.f_data[e]


@kernel
def square_norm(domain, inverse, block, x):
    """x' Sigma^{-1} x."""
    at, k = domain.hessian_ptr[block], domain.coord_ptr[block + 1] - domain.coord_ptr[block]
    total = 0.0
    for i in range(k):
        inner = 0.0
        for j in range(k):
            inner += inverse[at + i * k + j] * x[j]
        total += inner * x[i]
    return total


@kernel
def prediction(domain, inverse, b, block, x):
    """x' Sigma^{-1} b."""
    first, at = domain.coord_ptr[block], domain.hessian_ptr[block]
    k = domain.coord_ptr[block + 1] - first
    total = 0.0
    for i in range(k):
        inner = 0.0
        for j in range(k):
            inner += inverse[at + i * k + j] * b[domain.coords[first + j]]
        total += inner * x[i]
    return total


@kernel
def add_sample(domain, regression, block, x, target, weight):
    """Sigma += weight x x', b += weight x target; returns the growth of log det Sigma."""
    sigma, inverse, b = regression
    first, at = domain.coord_ptr[block], domain.hessian_ptr[block]
    k = domain.coord_ptr[block + 1] - first
    column = np.empty(k)
    norm = 0.0
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += inverse[at + i * k + j] * x[j]
        column[i] = total
        norm += total * x[i]
    shrink = weight / (1.0 + weight * norm)
    for i in range(k):
        b[domain.coords[first + i]] += weight * x[i] * target
        for j in range(k):
            sigma[at + i * k + j] += weight * x[i] * x[j]
            inverse[at + i * k + j] -= shrink * column[i] * column[j]
    return np.log1p(weight * norm)


@kernel
def solve(domain, inverse, b, theta):
    """theta = Sigma^{-1} b."""
    for block in range(len(domain.coord_ptr) - 1):
        first, at = domain.coord_ptr[block], domain.hessian_ptr[block]
        k = domain.coord_ptr[block + 1] - first
        for i in range(k):
            total = 0.0
            for j in range(k):
                total += inverse[at + i * k + j] * b[domain.coords[first + j]]
            theta[domain.coords[first + i]] = total
