"""Many climbs in one call: a pool of distinct local maxima, the incumbent first.

Row 0 of a pool is the incumbent. It gives way only to a maximum that is better by more than rounding, so
exact ties keep the one found first.
"""

from __future__ import annotations

from vbmle.kernels.ascent import ascend
from vbmle.kernels.jit import kernel
from vbmle.kernels.layout import Objective

TIE = 1e-9  # relative: objectives closer than this count as equal
SAME = 1e-6  # relative: points closer than this count as one
ITERATIONS = 300


@kernel
def climb(model, domain, goal, pool, k, p, lu):
    """Climb from row k of the pool and write down the result."""
    f, residual, gap, _ = ascend(
        model,
        domain,
        goal,
        pool.y[k],
        pool.theta[k],
        p,
        pool.policy[k],
        lu,
        pool.V[k],
        pool.active[k],
        pool.counts[k],
        ITERATIONS,
    )
    pool.result[k, 0], pool.result[k, 1], pool.result[k, 2] = f, residual, gap


@kernel
def copy_row(pool, source, target):
    pool.y[target] = pool.y[source]
    pool.theta[target] = pool.theta[source]
    pool.policy[target] = pool.policy[source]
    pool.V[target] = pool.V[source]
    pool.active[target] = pool.active[source]
    pool.counts[target] = pool.counts[source]
    pool.result[target] = pool.result[source]


@kernel
def same_point(pool, j, k):
    """Whether rows j and k hold the same maximum."""
    f = pool.result[j, 0]
    if abs(f - pool.result[k, 0]) > 1e-7 * (1.0 + abs(f)):
        return False
    size, distance = 1.0, 0.0
    for i in range(pool.y.shape[1]):
        size = max(size, abs(pool.y[j, i]))
        distance = max(distance, abs(pool.y[j, i] - pool.y[k, i]))
    return distance <= SAME * size


@kernel
def admit(pool, size):
    """Take the scratch row (the last) into the pool unless it is known; returns the new size."""
    scratch = pool.y.shape[0] - 1
    for k in range(size):
        if same_point(pool, k, scratch):
            if pool.result[scratch, 0] > pool.result[k, 0]:
                copy_row(pool, scratch, k)
            return size
    if size < scratch:
        copy_row(pool, scratch, size)
        return size + 1
    worst = 0
    for k in range(1, size):
        if worst == 0 or pool.result[k, 0] < pool.result[worst, 0]:
            worst = k
    if size > 1 and pool.result[scratch, 0] > pool.result[worst, 0]:
        copy_row(pool, scratch, worst)
    elif size == 1 and better(pool.result[scratch, 0], pool.result[0, 0]):
        copy_row(pool, scratch, 0)
    return size


@kernel
def better(new, old):
    return new > old + TIE * (1.0 + abs(old))


@kernel
def crown(pool, size):
    """Put the best row first; the incumbent stays unless beaten by more than a tie."""
    best = 0
    for k in range(1, size):
        if better(pool.result[k, 0], pool.result[0, 0]) and (
            best == 0 or better(pool.result[k, 0], pool.result[best, 0])
        ):
            best = k
    if best > 0:
        scratch = pool.y.shape[0] - 1
        copy_row(pool, 0, scratch)
        copy_row(pool, best, 0)
        copy_row(pool, scratch, best)


@kernel
def merge(pool, size):
    """Drop rows that climbed to a maximum which an earlier row holds; returns the new size."""
    k = 1
    while k < size:
        known = False
        for j in range(k):
            if same_point(pool, j, k):
                known = True
                break
        if known:
            size -= 1
            if k < size:
                copy_row(pool, size, k)
        else:
            k += 1
    return size


@kernel
def track(model, domain, goal, pool, size, p, lu):
    """Climb from every row of the pool; returns the new size, the best first."""
    for k in range(size):
        climb(model, domain, goal, pool, k, p, lu)
    crown(pool, size)
    return merge(pool, size)


@kernel
def try_starts(model, domain, goal, pool, size, starts, p, lu):
    """Climb from each start (rows of y) with the incumbent's policy; returns the new size."""
    scratch = pool.y.shape[0] - 1
    for i in range(starts.shape[0]):
        pool.y[scratch] = starts[i]
        pool.policy[scratch] = pool.policy[0]
        pool.V[scratch] = pool.V[0]
        pool.counts[scratch] = 0
        climb(model, domain, goal, pool, scratch, p, lu)
        size = admit(pool, size)
        crown(pool, size)
    return size


@kernel
def try_switches(model, domain, goal, pool, size, states, actions, p, lu):
    """From the incumbent, play another action in one state, climb for that policy, then freely.

    max over theta of max over policies can be taken in either order, so a better maximum that goes with a
    neighbouring policy is found this way even where the value is flat in between. Returns the new size.
    """
    scratch = pool.y.shape[0] - 1
    held = Objective(
        goal.counts, goal.observed, goal.num_observed, goal.linear, goal.ridge, goal.bias, goal.state, True
    )
    for i in range(len(states)):
        if pool.policy[0, states[i]] == actions[i]:
            continue
        copy_row(pool, 0, scratch)
        pool.policy[scratch, states[i]] = actions[i]
        climb(model, domain, held, pool, scratch, p, lu)
        climb(model, domain, goal, pool, scratch, p, lu)
        size = admit(pool, size)
        crown(pool, size)
    return size
