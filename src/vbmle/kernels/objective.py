"""The value-biased objective, its gradient and its Hessian, in theta and in the coordinates y of P.

f(theta) = sum_i n_i log p_i - ridge/2 |theta|^2 + <linear, theta> + bias * V*(state; theta)
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.solve import solve_factored_rows, solve_transposed
from vbmle.kernels.value import (
    adjoint_by_sweeps,
    evaluate_by_sweeps,
    factor_policy,
    modified_policy_iteration,
    policy_iteration,
    precision,
    probabilities,
    solve_by_sweeps,
)

CURVATURE = 1e-7  # the accuracy of the value's curvature where sweeps compute it


@kernel
def assemble(domain, y, theta):
    """theta = center + basis @ y, block by block."""
    for b in range(len(domain.coord_ptr) - 1):
        first, free = domain.coord_ptr[b], domain.free_ptr[b]
        k, m = domain.coord_ptr[b + 1] - first, domain.free_ptr[b + 1] - free
        at = domain.basis_ptr[b]
        for i in range(k):
            total = domain.center[domain.coords[first + i]]
            for j in range(m):
                total += domain.basis[at + i * m + j] * y[free + j]
            theta[domain.coords[first + i]] = total


@kernel
def reduce(domain, g, out):
    """out = basis' g: a gradient in theta as a gradient in y."""
    for b in range(len(domain.coord_ptr) - 1):
        first, free = domain.coord_ptr[b], domain.free_ptr[b]
        k, m = domain.coord_ptr[b + 1] - first, domain.free_ptr[b + 1] - free
        at = domain.basis_ptr[b]
        for j in range(m):
            out[free + j] = 0.0
        for i in range(k):
            value = g[domain.coords[first + i]]
            for j in range(m):
                out[free + j] += domain.basis[at + i * m + j] * value


@kernel
def optimal_value(model, p, policy, lu, V):
    """V* and its policy, from the policy given: by factors, or by sweeps for many states."""
    if lu.shape[0] > 0:
        policy_iteration(model, p, policy, lu, V)
    else:
        error = precision(model.discount)
        modified_policy_iteration(model, p, policy, V, np.empty(len(V)), error, 20, 1000000)


@kernel
def held_value(model, p, policy, lu, V):
    """V of the policy as it is."""
    if lu.shape[0] > 0:
        factor_policy(model, p, policy, lu, V)
    else:
        evaluate_by_sweeps(model, p, policy, V, precision(model.discount), 1000000)


@kernel
def rounding_error(model, goal, lu, f):
    """By how much two computations of the same f may differ."""
    error = 1e-14 * (1.0 + abs(f))
    if goal.bias > 0.0 and lu.shape[0] == 0:
        error += 2.0 * goal.bias * precision(model.discount)
    return error


@kernel
def objective_value(model, goal, theta, p, policy, lu, V):
    """f(theta); p, policy, lu and V are set on the way. Minus infinity where an observed p is not positive."""
    probabilities(model, theta, p)
    f = 0.0
    for k in range(goal.num_observed):
        i = goal.observed[k]
        if p[i] <= 0.0:
            return -np.inf
        f += goal.counts[i] * np.log(p[i])
    square = 0.0
    for j in range(len(theta)):
        square += theta[j] * theta[j]
    f -= 0.5 * goal.ridge * square
    if len(goal.linear) > 0:
        for j in range(len(theta)):
            f += goal.linear[j] * theta[j]
    if goal.bias > 0.0:
        if goal.fixed:
            held_value(model, p, policy, lu, V)
        else:
            optimal_value(model, p, policy, lu, V)
        f += goal.bias * V[goal.state]
    return f


@kernel
def add_row(model, i, weight, g):
    """g += weight * phi[i]."""
    if model.phi.shape[0] > 0:
        for j in range(len(g)):
            g[j] += weight * model.phi[i, j]
    else:
        for k in range(model.f_indptr[i], model.f_indptr[i + 1]):
            g[model.f_indices[k]] += weight * model.f_data[k]


@kernel
def occupancy(model, p, policy, lu, state, w):
    """w = (I - gamma P_pi')^{-1} e_state, the discounted visits from the state on."""
    if lu.shape[0] > 0:
        w[:] = 0.0
        w[state] = 1.0
        solve_transposed(lu, w)
    else:
        adjoint_by_sweeps(model, p, policy, state, w, precision(model.discount))


@kernel
def value_gradient(model, p, policy, lu, V, state, weight, w, g):
    """g += weight * grad V*(state): envelope theorem, sum_s w(s) sum_s' phi(s'|s,pi) (r + gamma V(s'))."""
    occupancy(model, p, policy, lu, state, w)
    indptr, successor, reward_next, phi = (model.indptr, model.successor, model.reward_next, model.phi)
    actions, discount, dense = model.num_actions, model.discount, model.phi.shape[0] > 0
    for s in range(len(V)):
        if w[s] == 0.0:
            continue
        row = s * actions + policy[s]
        for i in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            gain = discount * V[np.uint64(successor[i])]
            if len(reward_next) > 0:
                gain += reward_next[i]
            gain *= weight * w[s]
            if dense:
                for j in range(len(g)):
                    g[j] += gain * phi[i, j]
            else:
                add_row(model, i, gain, g)


@kernel
def gradient(model, goal, theta, p, policy, lu, V, w, g):
    """g = grad f(theta), from what `objective_value` left in p, policy, lu and V."""
    for j in range(len(theta)):
        g[j] = -goal.ridge * theta[j]
    if len(goal.linear) > 0:
        for j in range(len(theta)):
            g[j] += goal.linear[j]
    for k in range(goal.num_observed):
        i = goal.observed[k]
        add_row(model, i, goal.counts[i] / p[i], g)
    if goal.bias > 0.0:
        value_gradient(model, p, policy, lu, V, goal.state, goal.bias, w, g)


@kernel
def project(phi, coords, basis, i, out):
    """out = phi[i] in the coordinates y, where they are not kept."""
    m = len(out)
    out[:] = 0.0
    for j in range(phi.shape[1]):
        value = phi[i, coords[j]]
        for a in range(m):
            out[a] += value * basis[j * m + a]


@kernel
def dense_hessian(model, domain, goal, p, B):
    """Minus the Hessian of the concave part in y, for one block of dense features.

    sum_i n_i/p_i^2 phi_i phi_i' + ridge I, with phi in the coordinates of the orthonormal basis.
    """
    m, count, ridge = B.shape[0], goal.num_observed, goal.ridge
    observed, counts, row = goal.observed, goal.counts, np.empty(m)
    phi, phi_free, coords, basis = model.phi, model.phi_free, domain.coords, domain.basis
    scaled = np.empty((m, count))  # a row per coordinate, so that every entry of B is one dot product
    for k in range(count):
        i = observed[k]
        weight = np.sqrt(counts[i]) / p[i]
        if phi_free.shape[0] > 0:
            for a in range(m):
                scaled[a, k] = weight * phi_free[i, a]
        else:
            project(phi, coords, basis, i, row)
            for a in range(m):
                scaled[a, k] = weight * row[a]
    for a in range(m):
        for c in range(0, a - a % 4, 4):
            one, two, three, four = 0.0, 0.0, 0.0, 0.0
            for k in range(count):
                value = scaled[a, k]
                one += value * scaled[c, k]
                two += value * scaled[c + 1, k]
                three += value * scaled[c + 2, k]
                four += value * scaled[c + 3, k]
            B[a, c], B[a, c + 1], B[a, c + 2], B[a, c + 3] = one, two, three, four
        for c in range(a - a % 4, a + 1):
            total = 0.0
            for k in range(count):
                total += scaled[a, k] * scaled[c, k]
            B[a, c] = total
        B[a, a] += ridge
        for c in range(a):
            B[c, a] = B[a, c]


@kernel
def block_hessians(model, domain, goal, p, hessian):
    """Minus the Hessian of the concave part in theta, for sparse features: lower triangles, block by block."""
    hessian[:] = 0.0
    for k in range(goal.num_observed):
        i = goal.observed[k]
        weight = goal.counts[i] / (p[i] * p[i])
        if model.f_indptr[i + 1] > model.f_indptr[i]:
            b = domain.block_of[model.f_indices[model.f_indptr[i]]]
            n = domain.coord_ptr[b + 1] - domain.coord_ptr[b]
            for x in range(model.f_indptr[i], model.f_indptr[i + 1]):
                a = domain.place_of[model.f_indices[x]]
                for z in range(model.f_indptr[i], model.f_indptr[i + 1]):
                    c = domain.place_of[model.f_indices[z]]
                    if c <= a:
                        hessian[domain.hessian_ptr[b] + a * n + c] += (
                            weight * model.f_data[x] * model.f_data[z]
                        )
    for b in range(len(domain.coord_ptr) - 1):
        n = domain.coord_ptr[b + 1] - domain.coord_ptr[b]
        for a in range(n):
            hessian[domain.hessian_ptr[b] + a * n + a] += goal.ridge


@kernel
def value_hessian(model, domain, p, policy, lu, V, w, Z, Y, out):
    """Hessian of V^pi(state) in y for one block of dense features, pi held fixed.

    With X_k = d(R + gamma P V)/d y_k at fixed V, Z = (I - gamma P)^{-1} X and Y = sum_s w_s phi(.|s,pi):
    H_jk = gamma (Y_j . Z_k + Y_k . Z_j). Z and Y are (S, free) work arrays.
    """
    states, m = Z.shape
    actions, discount, projected = model.num_actions, model.discount, np.empty(m)
    phi, phi_free, coords, basis = model.phi, model.phi_free, domain.coords, domain.basis
    indptr, successor, reward_next = model.indptr, model.successor, model.reward_next
    Z[:, :] = 0.0
    Y[:, :] = 0.0
    for s in range(states):
        row = s * actions + policy[s]
        for i in range(indptr[row], indptr[row + 1]):
            t = successor[i]
            gain = discount * V[t]
            if len(reward_next) > 0:
                gain += reward_next[i]
            if phi_free.shape[0] > 0:
                for j in range(m):
                    Z[s, j] += gain * phi_free[i, j]
                    Y[t, j] += w[s] * phi_free[i, j]
            else:
                project(phi, coords, basis, i, projected)
                for j in range(m):
                    Z[s, j] += gain * projected[j]
                    Y[t, j] += w[s] * projected[j]
    if lu.shape[0] > 0:
        solve_factored_rows(lu, Z)
    else:
        solve_by_sweeps(model, p, policy, Z, CURVATURE, 1000000)
    for j in range(m):
        for k in range(m):
            out[j, k] = 0.0
    for s in range(states):
        for j in range(m):
            y, z = discount * Y[s, j], discount * Z[s, j]
            for k in range(j + 1):
                out[j, k] += y * Z[s, k] + z * Y[s, k]
    for j in range(m):
        for k in range(j):
            out[k, j] = out[j, k]


@kernel
def reduce_block(domain, hessian, b, B, half):
    """B = basis' H basis for block b, from the lower triangle of its Hessian."""
    n = domain.coord_ptr[b + 1] - domain.coord_ptr[b]
    m = domain.free_ptr[b + 1] - domain.free_ptr[b]
    at, hp = domain.basis_ptr[b], domain.hessian_ptr[b]
    for a in range(n):
        for j in range(m):
            half[a, j] = 0.0
    for a in range(n):
        for c in range(a + 1):
            value = hessian[hp + a * n + c]
            if value != 0.0:
                for j in range(m):
                    half[a, j] += value * domain.basis[at + c * m + j]
                if c != a:
                    for j in range(m):
                        half[c, j] += value * domain.basis[at + a * m + j]
    for i in range(m):
        for j in range(m):
            B[i, j] = 0.0
    for a in range(n):
        for i in range(m):
            value = domain.basis[at + a * m + i]
            for j in range(i + 1):
                B[i, j] += value * half[a, j]
    for i in range(m):
        for j in range(i):
            B[j, i] = B[i, j]


@kernel
def value_features(model, V, row, weight, out):
    """out = weight * phi_V(s, a) = weight * sum_s' phi(s'|s,a) V(s') for one (s, a) row."""
    out[:] = 0.0
    for i in range(model.indptr[row], model.indptr[row + 1]):
        add_row(model, i, weight * V[model.successor[i]], out)


@kernel
def plan_at(model, theta, p, policy, lu, V):
    """p, the optimal policy (from the one given) and V* at theta."""
    probabilities(model, theta, p)
    optimal_value(model, p, policy, lu, V)


@kernel
def plan_and_gradient(model, theta, state, p, policy, lu, V, w, g):
    """The least any method must do at a theta: assemble P, plan from the policy at hand, differentiate V*."""
    plan_at(model, theta, p, policy, lu, V)
    g[:] = 0.0
    value_gradient(model, p, policy, lu, V, state, 1.0, w, g)


@kernel
def add_information(model, domain, inverse, i):
    """Add phi_i phi_i' to the information of its block, kept as an inverse; returns (block, log-det growth).

    Sherman-Morrison: log det(A + phi phi') - log det A = log(1 + phi' A^{-1} phi).
    """
    if model.phi.shape[0] > 0:
        b, n = 0, model.phi.shape[1]
        phi = model.phi[i].copy()
    else:
        b = domain.block_of[model.f_indices[model.f_indptr[i]]]
        n = domain.coord_ptr[b + 1] - domain.coord_ptr[b]
        phi = np.zeros(n)
        for k in range(model.f_indptr[i], model.f_indptr[i + 1]):
            phi[domain.place_of[model.f_indices[k]]] = model.f_data[k]
    at = domain.hessian_ptr[b]
    matrix = inverse[at : at + n * n].reshape((n, n))
    image = np.zeros(n)
    growth = 1.0
    for j in range(n):
        for k in range(n):
            image[j] += matrix[j, k] * phi[k]
        growth += image[j] * phi[j]
    for j in range(n):
        for k in range(n):
            matrix[j, k] -= image[j] * image[k] / growth
    return b, np.log(growth)
