"""Pictures of what is known of theta: its path, the likelihood of three candidates, and beliefs over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.belief import belief as posterior_of
from vbmle.common.validation import Floats
from vbmle.estimation.confidence import confidence
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.planning import planner
from vbmle.plot.panels import frame
from vbmle.plot.plans import inside
from vbmle.plot.stage import legend, stage
from vbmle.plot.styles import BLUE, RED, assign
from vbmle.simulation import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Of the triangle of mixtures."""

FINENESS = 60
"""Points along a side of it."""

MOST_WEIGHTS = 7
"""Weights that are drawn: of more, those that moved most."""

MOMENTS = 25
"""At which the belief in a mixture is drawn; each costs a thousand draws."""


def theta_path(history: History, ax: Axes | None = None) -> Axes:
    """The weights that the agent acted on, step by step, with the truth as dashed lines.

    Parameters
    ----------
    history : History
        From `simulate(..., record=["thetas"])`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If theta was not recorded.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, 30, record=["thetas"])
    >>> len(vbmle.plot.theta_path(history).lines)
    6
    """
    if history.thetas is None or not len(history.thetas):
        raise ValueError('the history has no theta; it needs simulate(..., record=["thetas"])')
    mdp = history.world.mdp if history.world else None
    moved = np.argsort(-np.ptp(history.thetas, axis=0), kind="stable")[:MOST_WEIGHTS]
    steps = history.begun + np.arange(1, len(history.thetas) + 1)
    names = {int(k): _weight(mdp, int(k)) for k in np.sort(moved)}
    styles = assign(names.values())
    with stage(ax) as axes:
        for k, name in names.items():
            axes.plot(steps, history.thetas[:, k], color=styles[name].color, lw=1.4, label=name)
            if history.world is not None:
                axes.axhline(history.world.theta[k], color=styles[name].color, lw=0.9, ls="--")
        frame(axes, "y")
        axes.set(xlabel="step t", ylabel="weight (dashed: truth)")
        legend(axes)
    return axes


def simplex(
    counts: TransitionCounts,
    ax: Axes | None = None,
    *,
    theta: ArrayLike | None = None,
    delta: float = 0.1,
) -> Axes:
    """What the data say of mixtures of three models: likelihood, the most likely mix, and the confidence set.

    Colour is the likelihood relative to its maximum, the line is the boundary of the set that contains the truth with
    probability 1 - delta at all times. Where theta is one of the candidates (domain "vertices"), the area of each dot
    is its posterior instead, and a ring says that it is in the confidence set.

    Parameters
    ----------
    counts : TransitionCounts
        What was observed: `agent.counts`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    theta : (3,) array, optional
        A theta to mark, such as the truth.
    delta : float, default 0.1
        The probability with which the set may miss the truth.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If the model is no mix of three.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(features="mixture")
    >>> agent = vbmle.VBMLE(world.mdp)
    >>> _ = vbmle.simulate(agent, world, 100)
    >>> vbmle.plot.simplex(agent.counts, theta=world.theta).get_title()
    '100 observations, 90% confidence set'
    """
    mdp = counts.mdp
    if mdp.dimension != 3 or not all(mdp.contains(corner) for corner in np.eye(3)):
        raise ValueError(f"the model has d = {mdp.dimension}; a simplex needs mixtures of three models")
    found = confidence(counts, planner.plan(mdp, inside(mdp)).policy, delta)
    with stage(ax, (3.6, 3.3)) as axes:
        axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="0.3", lw=1)
        if mdp.domain == "vertices":
            _candidates(axes, counts, found.threshold)
        else:
            _mixtures(axes, counts, found.theta, found.threshold)
        if theta is not None:
            place = np.asarray(theta, dtype=float) @ CORNERS
            axes.plot(*place, "*", color=RED, ms=13, mec="white", mew=0.8, label="truth", ls="none")
        for k, (x, y) in enumerate(CORNERS.tolist()):
            shift = (0, -14 if y == 0.0 else 6)
            name = mdp.names.models[k] if mdp.names.models else f"model {k + 1}"
            axes.annotate(name, (x, y), shift, textcoords="offset points", ha="center", fontsize="small")
        axes.set(xlim=(-0.12, 1.12), ylim=(-0.12, 1.0), aspect="equal")
        axes.set_axis_off()
        title = f"{counts.total:g} observations, {1.0 - delta:.0%} confidence set"
        axes.set_title(title, fontsize="medium")
        legend(axes, loc="upper left")
    return axes


def belief(history: History, ax: Axes | None = None, *, prior: ArrayLike | None = None) -> Axes:
    """The posterior over time, from what was seen alone: each candidate's, or mean and 90% interval of each weight.

    Parameters
    ----------
    history : History
        From `simulate`, from the first step on.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    prior : (d,) array, optional
        Of the candidates, where theta is one of them; uniform by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If the history does not begin at the first step, or the prior does not fit.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.two_suspects()
    >>> history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, 30)
    >>> vbmle.plot.belief(history).get_ylabel()
    'probability'
    """
    if history.world is None or history.begun or not len(history.states):
        raise ValueError("the history needs its world, and the steps from the first on")
    mdp = history.world.mdp
    steps, means, lows, highs = _beliefs(history, mdp, prior)
    moved = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:MOST_WEIGHTS])
    names = {int(k): _weight(mdp, int(k)) for k in moved}
    styles, alone = assign(names.values()), mdp.domain == "vertices"
    with stage(ax) as axes:
        for k, name in names.items():
            style = styles[name]
            axes.plot(steps, means[:, k], color=style.color, ls=style.line, lw=1.8, label=name)
            if not alone:
                axes.fill_between(steps, lows[:, k], highs[:, k], color=style.color, alpha=0.15, lw=0)
        frame(axes, "y")
        label = "probability" if alone else "weight: posterior mean, 90%"
        axes.set(xlabel="observations", ylabel=label)
        if alone:
            axes.set_ylim(-0.03, 1.03)
        legend(axes)
    return axes


def _beliefs(
    history: History, mdp: LinearMixtureMDP, prior: ArrayLike | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """At which numbers of observations, the means, and the ends of the intervals."""
    total = len(history.states)
    count = total + 1 if mdp.domain == "vertices" else MOMENTS
    at = np.unique(np.round(np.linspace(0, total, min(count, total + 1))).astype(int))
    counts, found, before = TransitionCounts(mdp), [], 0
    path = np.column_stack([history.states, history.actions, history.next_states]).tolist()
    for step in at.tolist():
        for state, action, next_state in path[before:step]:
            counts.add(state, action, next_state)
        before = step
        one = posterior_of(counts, prior)
        found.append((one.mean, one.low, one.high))
    means, lows, highs = np.array(found).transpose(1, 0, 2)
    return at.astype(float), means, lows, highs


def _mixtures(axes: Axes, counts: TransitionCounts, likely: Floats, threshold: float) -> None:
    """Likelihood as colour, the confidence set as a line, the most likely mix as a dot."""
    n = FINENESS
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    grid = 0.998 * grid + 0.002 / 3.0  # inside, where every likelihood is above 0
    transitions = counts.mdp.transitions
    logs = np.array([_log_likelihood(transitions.probabilities(theta), counts.values) for theta in grid])
    top = _log_likelihood(transitions.probabilities(likely), counts.values)
    relative = np.exp(np.minimum(logs - top, 0.0))
    x, y = (grid @ CORNERS).T
    axes.tricontourf(x, y, relative, levels=np.linspace(0.0, 1.0, 11), cmap="Blues", vmax=1.3)
    inside = logs - top + threshold
    if inside.min() < 0.0 < inside.max():
        axes.tricontour(x, y, inside, levels=[0.0], colors=["black"], linewidths=1.2)
    axes.plot(*(likely @ CORNERS), "o", color=BLUE, ms=6, mec="white", label="most likely", ls="none")


def _log_likelihood(p: Floats, counts: Floats) -> float:
    seen = counts > 0.0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(p[seen]))


def _candidates(axes: Axes, counts: TransitionCounts, threshold: float) -> None:
    """A dot for each, as large as it is probable, with a ring where it is not ruled out."""
    found = posterior_of(counts).mean
    logs = np.array(
        [_log_likelihood(counts.mdp.transitions.probabilities(e), counts.values) for e in np.eye(3)]
    )
    for (x, y), p, left in zip(CORNERS.tolist(), found, logs >= logs.max() - threshold, strict=True):
        axes.scatter(x, y, s=900 * p + 4, color=BLUE, alpha=0.8, lw=0)
        if left:
            axes.scatter(x, y, s=1100, facecolors="none", edgecolors="black", linewidths=1.2)
        axes.annotate(f"{p:.2g}", (x, y), (16, 8), textcoords="offset points", fontsize="small")


def _weight(mdp: LinearMixtureMDP | None, k: int) -> str:
    """What a weight is called."""
    named: Any = mdp.names.models if mdp is not None else None
    if named:
        return str(named[k])
    return f"weight {k + 1}"
