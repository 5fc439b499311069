"""Pictures of models and plans: a world, what is done where, what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.base import Agent
from vbmle.common.validation import Floats
from vbmle.estimation.confidence import Confidence
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.naming import Names
from vbmle.model.world import World
from vbmle.planning import planner
from vbmle.planning.planner import Plan
from vbmle.plot import world_picture
from vbmle.plot.panels import frame
from vbmle.plot.stage import legend, stage
from vbmle.plot.styles import BLUE, assign

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMED = 14
"""States up to which each has its name on the axis."""


def world(world: World | LinearMixtureMDP, ax: Axes | None = None, *, theta: ArrayLike | None = None) -> Axes:
    """A world with its best policy and value: as the grid it is, as a graph of states, or as a curve.

    Parameters
    ----------
    world : World or LinearMixtureMDP
        A world, which is drawn under its truth, or any model.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    theta : (d,) array, optional
        Draw it under this theta; by default the truth, and for a model a theta inside its set, or the first candidate.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If it is neither a world nor a model, or theta is not feasible.

    Examples
    --------
    >>> import vbmle
    >>> vbmle.plot.world(vbmle.worlds.riverswim(length=6)).get_title()
    '6 states, 2 actions, d = 22, discount 0.9'
    """
    shown = _under(world, theta)
    mdp = shown.mdp
    with stage(ax, (4.6, 4.2)) as axes:
        world_picture.on_axes(axes, shown, planner.plan(mdp, shown.theta))
        size = f"{mdp.num_states} states, {mdp.num_actions} actions, d = {mdp.dimension}"
        axes.set_title(f"{size}, discount {mdp.discount:g}", fontsize="medium")
    return axes


def policy(plan: Plan | Agent, ax: Axes | None = None) -> Axes:
    """What is done in each state; of a plan also how much worse every other action is.

    Parameters
    ----------
    plan : Plan or Agent
        From `vbmle.plan`, or an agent, whose policy in force is shown.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If it has no policy.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> vbmle.plot.policy(vbmle.plan(world.mdp, world.theta)).get_xlabel()
    'state'
    """
    chosen, mdp = getattr(plan, "policy", None), getattr(plan, "mdp", None)
    if not isinstance(chosen, np.ndarray):
        raise ValueError(f"plan is of type {type(plan).__name__}; it needs a Plan or an agent")
    names = mdp.names if mdp is not None else Names()
    states = np.arange(len(chosen))
    actions = mdp.num_actions if mdp is not None else int(chosen.max()) + 1
    with stage(ax, (4.2, 1.4 + 0.22 * min(actions, 12))) as axes:
        if isinstance(plan, Plan):
            _advantages(axes, plan)
        size = max(1.5, min(7.0, 150.0 / len(chosen)))
        axes.plot(
            states, chosen, "o", color="white" if isinstance(plan, Plan) else BLUE, ms=size, mec="black"
        )
        axes.set(xlabel="state", ylabel="action", xlim=(-0.5, len(chosen) - 0.5), ylim=(actions - 0.5, -0.5))
        if actions <= MOST_NAMED:
            axes.set_yticks(range(actions), names.actions or [str(a) for a in range(actions)])
        _name_states(axes, names, len(chosen))
    return axes


def values(
    plans: Plan | Agent | Confidence | Mapping[str, Plan | Agent | Confidence], ax: Axes | None = None
) -> Axes:
    """The value of each state, in your units; for a confidence set the bounds that contain it.

    Parameters
    ----------
    plans : Plan, Agent, Confidence, or a dict of them by name
        Of an agent the value that its theta promises.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If one of them has no value.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.riverswim(length=6)
    >>> agent = vbmle.VBMLE(world.mdp)
    >>> axes = vbmle.plot.values({"truth": vbmle.plan(world.mdp, world.theta), "95%": agent.confidence(0.05)})
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['truth', '95%']
    """
    named = dict(plans) if isinstance(plans, Mapping) else {"": plans}
    styles, names = assign(named), Names()
    with stage(ax) as axes:
        count = 0
        for label, one in named.items():
            if isinstance(one, Confidence):
                low, high = one.V_low, one.V_high
                count = len(low)
                color = styles[label].color
                axes.fill_between(range(count), low, high, color=color, alpha=0.2, linewidth=0, label=label)
                continue
            V, names = _value(one)
            count = len(V)
            style = styles[label]
            marker = style.symbol if count <= MOST_NAMED else ""
            axes.plot(V, color=style.color, linestyle=style.line, marker=marker, label=label)
        frame(axes, "y")
        axes.set(xlabel="state", ylabel="value (units of reward)")
        _name_states(axes, names, count)
        legend(axes)
    return axes


def inside(mdp: LinearMixtureMDP) -> Floats:
    """A theta well inside the feasible set; of candidates the first."""
    return np.eye(mdp.dimension)[0] if mdp.domain == "vertices" else mdp.polytope.interior


def _under(given: World | LinearMixtureMDP, theta: ArrayLike | None) -> World:
    if isinstance(given, World):
        return given if theta is None else World(given.mdp, theta)
    if isinstance(given, LinearMixtureMDP):
        return World(given, inside(given) if theta is None else theta)
    raise ValueError(f"world is of type {type(given).__name__}; it needs a vbmle.World or a LinearMixtureMDP")


def _advantages(axes: Axes, plan: Plan) -> None:
    """Q - V as colour; what is not allowed is left white."""
    worse = plan.action_value - plan.value[:, None]
    shown = np.where(np.isfinite(worse), worse, np.nan)
    image = axes.imshow(shown.T, cmap=world_picture.VALUE_COLOURS, aspect="auto")
    axes.figure.colorbar(image, ax=axes, label="value minus best")


def _value(one: Any) -> tuple[Floats, Names]:
    """In the units of the reward, and the names of the states."""
    if isinstance(one, Plan):
        return one.value, one.mdp.names if one.mdp is not None else Names()
    if isinstance(one, Agent) and hasattr(one, "theta"):
        return planner.plan(one.mdp, one.theta).value, one.mdp.names
    raise ValueError(
        f"{type(one).__name__} has no value; it needs a Plan, a Confidence or an agent that has a theta"
    )


def _name_states(axes: Axes, names: Names, count: int) -> None:
    """Names, turned where they are long; numbers are left to matplotlib."""
    if names.states and count <= MOST_NAMED:
        turned: dict[str, Any] = {"rotation": 40, "ha": "right"} if max(map(len, names.states)) > 3 else {}
        axes.set_xticks(range(count), names.states, **turned)
    else:
        axes.locator_params(axis="x", integer=True)
