"""Reward-biased maximum likelihood where each (s, a) has a distribution of its own: row by row in closed form.

    f(p) = sum_i n_i log p_i + bias * V*(state; p)

Linearised in V at the model at hand (envelope theorem, w the discounted visits from the state on), each row is

    maximise  sum_y n(y) log p(y) + c sum_y p(y) g(y),    c = bias * w(s) on the policy, 0 off it,   g = r + gamma V,

and its solution p(y) = n(y)/(nu - c g(y)), with nu such that the sum is 1. Where that would need nu < c g(y0) for
an unseen y0, nu = c max g over the unseen and what is left of the mass goes to the best of them. Each step
moves all rows towards these solutions, which is uphill, as far as f rises enough; at a fixed point they are
the rows themselves, and KKT holds. Rows never visited cost no likelihood: they stand on their best successor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vbmle.kernels.jit import kernel
from vbmle.kernels.layout import Floats, Ints
from vbmle.kernels.objective import occupancy, optimal_value

ARMIJO = 1e-4
TIE = 1e-9  # relative: a switch must gain more
ROUNDS = 100  # switches of one action that may be taken
HALVINGS = 40


class Rows(NamedTuple):
    """Data of one problem, and room to work in."""

    counts: Floats  # (nnz,)
    visits: Floats  # (S*A,)
    bias: float
    state: int
    lu: Floats  # (S, S), or (0, 0) for many states
    V: Floats  # (S,)
    w: Floats  # (S,)
    gain: Floats  # (nnz,)
    target: Floats  # (nnz,)
    trial: Floats  # (nnz,)
    trial_policy: Ints  # (S,)


@kernel
def biased_row(counts, gain, weight, start, stop, out):
    """out[start:stop] = argmax of sum n log p + weight <p, gain>; the first best successor without counts."""
    top, unseen = -1, -1
    for i in range(start, stop):
        out[i] = 0.0
        if counts[i] > 0.0:
            if top < 0 or gain[i] > gain[top]:
                top = i
        elif unseen < 0 or gain[i] > gain[unseen]:
            unseen = i
    if top < 0:
        out[unseen] = 1.0
        return
    x = counts[top]  # nu - weight * gain[top]; the root lies between this and all counts
    for _ in range(200):
        total, slope = 0.0, 0.0
        for i in range(start, stop):
            if counts[i] > 0.0:
                part = 1.0 / (x + weight * (gain[top] - gain[i]))
                total += counts[i] * part
                slope += counts[i] * part * part
        step = total * (total - 1.0) / slope  # Newton on 1/total = 1: concave, so it comes from the left
        x += step
        if step <= 1e-15 * x:
            break
    if unseen >= 0:
        x = max(x, weight * (gain[unseen] - gain[top]))
    mass = 0.0
    for i in range(start, stop):
        if counts[i] > 0.0:
            out[i] = counts[i] / (x + weight * (gain[top] - gain[i]))
            mass += out[i]
    if unseen >= 0 and weight * (gain[unseen] - gain[top]) >= x:
        out[unseen] = max(0.0, 1.0 - mass)
        mass += out[unseen]
    for i in range(start, stop):
        out[i] /= mass


@kernel
def row_score(counts, visits, gain, weight, start, stop, row):
    """sum n log(p/phat) + weight <p, gain> of a row: what it is worth to the objective, 0 without weight."""
    total = 0.0
    for i in range(start, stop):
        if counts[i] > 0.0:
            total += counts[i] * np.log(row[i] * visits / counts[i])
        total += weight * row[i] * gain[i]
    return total


@kernel
def objective(model, rows, p, policy):
    """f(p), with policy and V made optimal for p; minus infinity where an observed transition has none."""
    f = 0.0
    for i in range(len(p)):
        if rows.counts[i] > 0.0:
            if p[i] <= 0.0:
                return -np.inf
            f += rows.counts[i] * np.log(p[i])
    optimal_value(model, p, policy, rows.lu, rows.V)
    return f + rows.bias * rows.V[rows.state]


@kernel
def make_possible(model, rows, p):
    """Rows that all but exclude something observed move half-way to the frequencies."""
    for row in range(len(rows.visits)):
        start, stop = model.indptr[row], model.indptr[row + 1]
        scarce = False
        for i in range(start, stop):
            if p[i] * rows.visits[row] < 1e-3 * rows.counts[i]:
                scarce = True
        if scarce:
            for i in range(start, stop):
                p[i] = 0.5 * (p[i] + rows.counts[i] / rows.visits[row])


@kernel
def aim(model, rows, p, policy):
    """The target of every row, and how much the linearised objective gains by going there."""
    actions = model.num_actions
    occupancy(model, p, policy, rows.lu, rows.state, rows.w)
    gap = 0.0
    for row in range(len(rows.visits)):
        s, start, stop = row // actions, model.indptr[row], model.indptr[row + 1]
        for i in range(start, stop):
            rows.gain[i] = model.discount * rows.V[model.successor[i]]
            if len(model.reward_next) > 0:
                rows.gain[i] += model.reward_next[i]
        weight = rows.bias * rows.w[s] if policy[s] == row - s * actions else 0.0
        biased_row(rows.counts, rows.gain, weight, start, stop, rows.target)
        for i in range(start, stop):
            if rows.counts[i] > 0.0:
                gap += rows.counts[i] * np.log(rows.target[i] / p[i])
            gap += weight * (rows.target[i] - p[i]) * rows.gain[i]
    return gap


@kernel
def climb(model, rows, p, policy, tolerance, limit):
    """Raise f from p to a fixed point; returns f and the linearised gap, at most tolerance (1 + |f|) there."""
    f = objective(model, rows, p, policy)
    gap = np.inf
    for _ in range(limit):
        gap = aim(model, rows, p, policy)
        if gap <= tolerance * (1.0 + abs(f)):
            break
        step, risen = 1.0, False
        for _ in range(HALVINGS):
            for i in range(len(p)):
                rows.trial[i] = p[i] + step * (rows.target[i] - p[i])
            new = objective(model, rows, rows.trial, policy)
            if new >= f + ARMIJO * step * gap:
                risen = True
                break
            step *= 0.5
        if not risen:  # only rounding is left
            f = objective(model, rows, p, policy)
            break
        p[:] = rows.trial
        f = new
    return f, gap


@kernel
def best_switch(model, rows, policy, refused):
    """The (s, a) row off the policy that gains most by the linearised objective, or -1."""
    actions = model.num_actions
    best, chosen = 0.0, -1
    for s in range(len(policy)):
        weight = rows.bias * rows.w[s]
        if weight == 0.0:
            continue
        scores = 0.0
        for turn in range(actions + 1):  # the policy's own action first, the measure for the others
            a = policy[s] if turn == 0 else turn - 1
            row = s * actions + a
            start, stop = model.indptr[row], model.indptr[row + 1]
            biased_row(rows.counts, rows.gain, weight, start, stop, rows.trial)
            score = weight * model.reward[row] + row_score(
                rows.counts, rows.visits[row], rows.gain, weight, start, stop, rows.trial
            )
            if turn == 0:
                scores = score
            elif not refused[row] and score - scores > best + TIE * (1.0 + abs(scores)):
                best, chosen = score - scores, row
    return chosen


@kernel
def switch_to(model, rows, p, policy, row):
    """A trial model in which the row is on the policy, and the row it replaces back at its frequencies."""
    s = row // model.num_actions
    rows.trial[:] = p
    rows.trial_policy[:] = policy
    rows.trial_policy[s] = row - s * model.num_actions
    start, stop = model.indptr[row], model.indptr[row + 1]
    biased_row(rows.counts, rows.gain, rows.bias * rows.w[s], start, stop, rows.trial)
    old = s * model.num_actions + policy[s]
    if rows.visits[old] > 0.0:
        for i in range(model.indptr[old], model.indptr[old + 1]):
            rows.trial[i] = rows.counts[i] / rows.visits[old]


@kernel
def fixed_point(model, rows, p, policy, tolerance, limit):
    """Climb, then switch one action at a time for as long as f rises; returns f and the gap left."""
    make_possible(model, rows, p)
    f, gap = climb(model, rows, p, policy, tolerance, limit)
    refused = np.zeros(len(rows.visits), np.bool_)
    for _ in range(ROUNDS):
        row = best_switch(model, rows, policy, refused)
        if row < 0:
            break
        switch_to(model, rows, p, policy, row)
        new = objective(model, rows, rows.trial, rows.trial_policy)
        if new > f + TIE * (1.0 + abs(f)):
            p[:] = rows.trial
            policy[:] = rows.trial_policy
            refused[:] = False
            f, gap = climb(model, rows, p, policy, tolerance, limit)
        else:
            refused[row] = True
            f = objective(model, rows, p, policy)
    return f, gap
