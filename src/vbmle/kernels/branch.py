"""Branch and bound for the value-biased objective: a true upper bound on its maximum over P.

P is cut into simplices. On one with vertices v and barycentric coordinates lambda,

    V*(s; theta) <= sum_v lambda_v V_v(s) + c(s),    V_v = V*(.; v),

where c is the least solution of c(s) >= delta_vu(s,a) + gamma (P_v + P_u)/2 (s,a) c for every action and every
pair of vertices, and delta_vu(s,a) = (R_v + R_u)/2 + gamma (P_v V_u + P_u V_v)/2 - (V_v + V_u)/2. For then
W(theta) = sum lambda_v V_v + c satisfies W >= T_theta W: both sides are quadratic forms in lambda and the
inequality holds for each pair's coefficient. c is the optimal value of a decision process with actions
(a, v, u), found by policy iteration. It is of second order in the size of the cell, because linear
interpolation is; and it is added to a concave function of lambda, log-likelihood plus interpolated value,
which is maximised together and bounded by its tangent. Cells are bisected, the most promising first.
"""

from __future__ import annotations

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.objective import assemble
from vbmle.kernels.solve import factor_in_place, solve_factored
from vbmle.kernels.value import policy_iteration, probabilities


@kernel
def expected(model, p, x, row):
    """sum_s' p(s') x(s') over one (s, a) row."""
    total = 0.0
    for i in range(model.indptr[row], model.indptr[row + 1]):
        total += p[i] * x[model.successor[i]]
    return total


@kernel
def reward_of(model, p, row):
    total = model.reward[row]
    if len(model.reward_next) > 0:
        for i in range(model.indptr[row], model.indptr[row + 1]):
            total += p[i] * model.reward_next[i]
    return total


@kernel
def defects(model, P, V, cell, out):
    """out[pair, row] = delta_vu(s, a) for every pair v <= u of the cell's vertices."""
    n, actions = len(cell), model.num_actions
    pair = 0
    for i in range(n):
        for j in range(i + 1):
            v, u = cell[i], cell[j]
            for row in range(out.shape[1]):
                s = row // actions
                cross = expected(model, P[v], V[u], row) + expected(model, P[u], V[v], row)
                reward = reward_of(model, P[v], row) + reward_of(model, P[u], row)
                out[pair, row] = 0.5 * (reward + model.discount * cross - V[v, s] - V[u, s])
            pair += 1


@kernel
def correction(model, P, cell, delta, c, lu, chosen, ahead):
    """The least c, by policy iteration over choices (action, pair); made valid against rounding at the end."""
    states, actions, n = len(c), model.num_actions, len(cell)
    c[:] = 0.0
    for _ in range(100):
        for i in range(n):
            for row in range(delta.shape[1]):
                ahead[i, row] = expected(model, P[cell[i]], c, row)
        changed, excess = False, 0.0
        for s in range(states):
            best, at, pair_at = c[s] + 1e-12, -1, 0
            for row in range(s * actions, (s + 1) * actions):
                pair = 0
                for i in range(n):
                    for j in range(i + 1):
                        value = delta[pair, row] + 0.5 * model.discount * (ahead[i, row] + ahead[j, row])
                        if value > best:
                            best, at, pair_at = value, row, i * n + j
                        pair += 1
            if at >= 0:
                changed = True
                excess = max(excess, best - c[s])
                chosen[s, 0], chosen[s, 1] = at, pair_at
            elif chosen[s, 0] < 0:
                chosen[s, 0], chosen[s, 1] = s * actions, 0
        if not changed:
            break
        lu[:, :] = 0.0
        for s in range(states):
            row, i, j = chosen[s, 0], chosen[s, 1] // n, chosen[s, 1] % n
            c[s] = delta[i * (i + 1) // 2 + j, row]
            lu[s, s] = 1.0
            for k in range(model.indptr[row], model.indptr[row + 1]):
                weight = 0.5 * model.discount * (P[cell[i], k] + P[cell[j], k])
                lu[s, model.successor[k]] -= weight
        factor_in_place(lu)
        solve_factored(lu, c)
    margin = 0.0  # whatever is left of T c - c, paid for everywhere
    for i in range(n):
        for row in range(delta.shape[1]):
            ahead[i, row] = expected(model, P[cell[i]], c, row)
    for row in range(delta.shape[1]):
        pair = 0
        for i in range(n):
            for j in range(i + 1):
                value = delta[pair, row] + 0.5 * model.discount * (ahead[i, row] + ahead[j, row])
                margin = max(margin, value - c[row // actions])
                pair += 1
    for s in range(states):
        c[s] += margin / (1.0 - model.discount)


@kernel
def concave_part(goal, theta, P, V, cell, weights, mix, q, g):
    """h = l + bias * interpolated value at the weights, and its gradient g in them; mix = theta there."""
    n = len(cell)
    mix[:] = 0.0
    for i in range(n):
        for j in range(len(mix)):
            mix[j] += weights[i] * theta[cell[i], j]
    h = 0.0
    for i in range(n):
        g[i] = goal.bias * V[cell[i], goal.state]
        h += weights[i] * g[i]
    for j in range(len(mix)):
        h -= 0.5 * goal.ridge * mix[j] * mix[j]
    for i in range(n):
        for j in range(len(mix)):
            g[i] -= goal.ridge * mix[j] * theta[cell[i], j]
    for k in range(goal.num_observed):
        o = goal.observed[k]
        total = 0.0
        for i in range(n):
            total += weights[i] * P[cell[i], o]
        if total <= 0.0:
            return -np.inf
        q[k] = total
        h += goal.counts[o] * np.log(total)
        rate = goal.counts[o] / total
        for i in range(n):
            g[i] += rate * P[cell[i], o]
    return h


@kernel
def slope(goal, theta, P, V, toward, away, mix, q, x):
    """Derivative of h, and minus its second, after moving weight x from vertex `away` to `toward`."""
    first = goal.bias * (V[toward, goal.state] - V[away, goal.state])
    second = 0.0
    for j in range(len(mix)):
        change = theta[toward, j] - theta[away, j]
        first -= goal.ridge * (mix[j] + x * change) * change
        second += goal.ridge * change * change
    for k in range(goal.num_observed):
        o = goal.observed[k]
        change = P[toward, o] - P[away, o]
        value = q[k] + x * change
        if value <= 0.0:
            return -np.inf, 1.0
        first += goal.counts[o] * change / value
        second += goal.counts[o] * change * change / (value * value)
    return first, second


@kernel
def concave_bound(goal, theta, P, V, cell, weights, mix, q, g, extra, target, accuracy):
    """An upper bound on h over the cell, by pairwise Frank-Wolfe; stops once the cell is decided.

    extra is added to the bound by the caller and target is what it is compared with. Minus infinity where an
    observed transition has probability 0 in the whole cell.
    """
    n = len(cell)
    weights[:] = 1.0 / n
    bound = np.inf
    for _ in range(200):
        h = concave_part(goal, theta, P, V, cell, weights, mix, q, g)
        if h == -np.inf:
            return h
        mean, toward, away = 0.0, 0, -1
        for i in range(n):
            mean += weights[i] * g[i]
            if g[i] > g[toward]:
                toward = i
            if weights[i] > 0.0 and (away < 0 or g[i] < g[away]):
                away = i
        gap = g[toward] - mean
        bound = min(bound, h + gap)
        if bound + extra <= target or gap <= max(accuracy, 0.05 * (h + extra - target)):
            break
        low, high = 0.0, weights[away]
        x = high
        for _ in range(30):
            first, second = slope(goal, theta, P, V, cell[toward], cell[away], mix, q, x)
            if first >= 0.0:
                if x == high:
                    break
                low = x
            else:
                high = x
            step = x + first / second if first > -np.inf and second > 0.0 else low
            x = step if low < step < high else 0.5 * (low + high)
            if high - low <= 1e-6 * weights[away]:
                break
        weights[toward] += x
        weights[away] = max(0.0, weights[away] - x)
    return bound


@kernel
def push(heap, size, bounds, cell):
    """Insert a cell into the heap ordered by bound, the greatest first."""
    heap[size] = cell
    k = size
    while k > 0:
        parent = (k - 1) // 2
        if bounds[heap[parent]] >= bounds[heap[k]]:
            break
        heap[parent], heap[k] = heap[k], heap[parent]
        k = parent
    return size + 1


@kernel
def pop(heap, size, bounds):
    """Remove the cell with the greatest bound; returns it and the new size."""
    top = heap[0]
    size -= 1
    heap[0] = heap[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and bounds[heap[child + 1]] > bounds[heap[child]]:
            child += 1
        if bounds[heap[k]] >= bounds[heap[child]]:
            break
        heap[k], heap[child] = heap[child], heap[k]
        k = child
    return top, size


@kernel
def add_vertex(model, domain, goal, store, at, lu):
    """Fill in theta, p, V and policy of the vertex at y; returns the objective there."""
    y, theta, P, V, policy = store
    assemble(domain, y[at], theta[at])
    probabilities(model, theta[at], P[at])
    for i in range(P.shape[1]):
        P[at, i] = max(P[at, i], 0.0)
    policy_iteration(model, P[at], policy[at], lu, V[at])
    f = goal.bias * V[at, goal.state]
    for j in range(theta.shape[1]):
        f -= 0.5 * goal.ridge * theta[at, j] * theta[at, j]
    for k in range(goal.num_observed):
        o = goal.observed[k]
        f = f + goal.counts[o] * np.log(P[at, o]) if P[at, o] > 0.0 else -np.inf
    return f


@kernel
def widest_edge(P, cell):
    """The two vertices of the cell whose probabilities differ most."""
    widest, one, two = -1.0, 0, 1
    for i in range(len(cell)):
        for j in range(i):
            width = 0.0
            for k in range(P.shape[1]):
                width = max(width, abs(P[cell[i], k] - P[cell[j], k]))
            if width > widest:
                widest, one, two = width, i, j
    return one, two


@kernel
def branch_and_bound(model, domain, goal, store, num_vertices, cells, num_cells, best, tolerance):
    """Bisect until the bound is within `tolerance` of the best value known, or the room for cells is used up.

    The first num_vertices rows of store and num_cells of cells are P's triangulation. Returns (upper bound,
    cells used, best value seen at a vertex, its row or -1).
    """
    y, theta, P, V, policy = store
    n, states = cells.shape[1], V.shape[1]
    rows = states * model.num_actions
    lu, c, chosen = np.empty((states, states)), np.empty(states), np.empty((states, 2), np.int64)
    delta, ahead = np.empty((n * (n + 1) // 2, rows)), np.empty((n, rows))
    weights, g, mix, q = np.empty(n), np.empty(n), np.empty(theta.shape[1]), np.empty(goal.num_observed)
    bounds, heap, size = np.empty(len(cells)), np.empty(len(cells), np.int64), 0
    found = -1
    for v in range(num_vertices):
        f = add_vertex(model, domain, goal, store, v, lu)
        if f > best:
            best, found = f, v
    new, closed = 0, best  # closed: the greatest bound among cells that were set aside
    while True:
        while new < num_cells:
            cell = cells[new]
            chosen[:] = -1
            defects(model, P, V, cell, delta)
            correction(model, P, cell, delta, c, lu, chosen, ahead)
            extra = goal.bias * c[goal.state]
            bounds[new] = extra + concave_bound(
                goal, theta, P, V, cell, weights, mix, q, g, extra, best + tolerance, 0.02 * tolerance
            )
            if bounds[new] > best + tolerance:
                size = push(heap, size, bounds, new)
            else:
                closed = max(closed, bounds[new])
            new += 1
        if size == 0:
            return max(best, closed), num_cells, best, found
        if num_cells + 2 > len(cells) or num_vertices + 1 > len(y):
            return max(closed, bounds[heap[0]]), num_cells, best, found
        top, size = pop(heap, size, bounds)
        one, two = widest_edge(P, cells[top])
        a, b = cells[top, one], cells[top, two]
        for j in range(y.shape[1]):
            y[num_vertices, j] = 0.5 * (y[a, j] + y[b, j])
        policy[num_vertices] = policy[a]
        f = add_vertex(model, domain, goal, store, num_vertices, lu)
        if f > best:
            best, found = f, num_vertices
        for kept in range(2):
            cells[num_cells] = cells[top]
            cells[num_cells, one if kept == 0 else two] = num_vertices
            num_cells += 1
        num_vertices += 1
