"""Extended value iteration over L1 balls (Jaksch, Ortner and Auer 2010), discounted.

    (T V)(s) = max_a max_p  sum_y p(y) [r(s,a) or r(s,a,y)] + gamma sum_y p(y) V(y),
               p on the successors of (s, a) with |p - phat(.|s,a)|_1 <= radius(s, a)

The inner maximum puts radius/2 more on the best successor and takes it from the worst. Successors are kept
sorted from one sweep to the next, so that sorting costs little once values settle.
"""

from __future__ import annotations

from vbmle.kernels.jit import kernel


@kernel
def sort_successors(gain, order, start, stop):
    """order[start:stop] by increasing gain: insertion, quick where it is nearly sorted."""
    for j in range(start + 1, stop):
        moving = order[j]
        value = gain[moving]
        k = j
        while k > start and gain[order[k - 1]] > value:
            order[k] = order[k - 1]
            k -= 1
        order[k] = moving


@kernel
def best_mean(estimate, gain, radius, order, start, stop):
    """max <p, gain> over distributions p within `radius` of estimate[start:stop] in L1."""
    sort_successors(gain, order, start, stop)
    top = order[stop - 1]
    extra = min(0.5 * radius, 1.0 - estimate[top])
    total = (estimate[top] + extra) * gain[top]
    for j in range(start, stop - 1):
        i = order[j]
        taken = min(extra, estimate[i])
        extra -= taken
        total += (estimate[i] - taken) * gain[i]
    return total


@kernel
def optimistic_sweep(model, estimate, radius, V, out, policy, gain, order):
    """out = T V and a greedy policy, the lowest action among equals; returns max |T V - V|."""
    actions = model.num_actions
    change = 0.0
    for s in range(len(V)):
        best = -1.0
        for a in range(actions):
            row = s * actions + a
            start, stop = model.indptr[row], model.indptr[row + 1]
            for i in range(start, stop):
                gain[i] = model.discount * V[model.successor[i]]
                if len(model.reward_next) > 0:
                    gain[i] += model.reward_next[i]
            q = model.reward[row] + best_mean(estimate, gain, radius[row], order, start, stop)
            if a == 0 or q > best:
                best = q
                policy[s] = a
        out[s] = best
        change = max(change, abs(best - V[s]))
    return change


@kernel
def extended_value_iteration(model, estimate, radius, V, other, policy, gain, order, tolerance, max_sweeps):
    """V within `tolerance` of the fixed point of T, from the V given; returns the error that is promised."""
    factor = model.discount / (1.0 - model.discount)
    error = factor
    for _ in range(max_sweeps):
        error = factor * optimistic_sweep(model, estimate, radius, V, other, policy, gain, order)
        V[:] = other
        if error <= tolerance:
            break
    return error
