"""The worlds on the page: five to explore, or your own, with the words for what happens in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vbmle import worlds
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World

HORIZON = 300
"""Steps that a run on the page can take."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A world and how to show it.

    models: what the three base models are called. verbs: what a learner does, as in "the learner ...". glyphs: a
    sign for each action. at: where each state stands, (x, y), in tiles;
    in rows where it is empty. caption: what the tiles are. marks: a text in a tile.
    """

    key: str
    title: str
    about: str
    world: World
    models: tuple[str, ...]
    states: tuple[str, ...]
    actions: tuple[str, ...]
    verbs: tuple[str, ...]
    glyphs: tuple[str, ...]
    at: tuple[tuple[float, float], ...] = ()
    unit: str = "reward"
    caption: str = ""
    marks: dict[int, str] = field(default_factory=dict)
    seed: int = 0

    def words(self) -> dict[str, Any]:
        """Everything but the numbers of the model."""
        plain = (
            "key",
            "title",
            "about",
            "models",
            "states",
            "actions",
            "verbs",
            "glyphs",
            "at",
            "unit",
            "caption",
            "seed",
        )
        return {
            **{name: getattr(self, name) for name in plain},
            "marks": {str(state): mark for state, mark in self.marks.items()},
            "truth": [float(part) for part in self.world.theta],
            "horizon": HORIZON,
        }


def scenes() -> list[Scene]:
    """The worlds that every page has."""
    return [trap(), river(), desk(), shop(), lake()]


def trap() -> Scene:
    """`vbmle.worlds.closed_loop_trap` with three ways for the risk to end instead of two.

    Going out leads to luck, to bad luck or nowhere with the odds theta. For equal odds staying at home is worth
    more, 5.8 against 5, and it shows nothing of the odds: the ridge keeps the most likely theta there
    indefinitely. Under the truth going out is worth 6.7.
    """
    home, luck, bad_luck = 0, 1, 2
    models = np.zeros((3, 3, 2, 3))
    for k, to in enumerate((luck, bad_luck, home)):
        models[k, home, 0, home] = models[k, home, 1, to] = 1.0
        models[k, [luck, bad_luck], :, home] = 1.0
    reward = np.array([[0.58, 0.5], [1.0, 1.0], [0.0, 0.0]])
    mdp = LinearMixtureMDP.from_models(list(models), reward, 0.9, initial=[1.0, 0.0, 0.0])
    return Scene(
        key="trap",
        title="The trap",
        about="Stay at home for a sure 0.58, or go out for 0.5 and perhaps luck, which pays 1. "
        "Staying tells you nothing about the odds outside.",
        world=World(mdp, [0.8, 0.1, 0.1]),
        models=("luck", "bad luck", "nothing"),
        states=("at home", "in luck", "in bad luck"),
        actions=("stay", "go out"),
        verbs=("stays at home", "goes out"),
        glyphs=("•", "↔"),
        at=((1.3, 0.0), (2.6, 0.0), (0.0, 0.0)),
        marks={home: "home", luck: "luck, 1", bad_luck: "bad luck, 0"},
        seed=1,
    )


def river() -> Scene:
    """RiverSwim as a mixture of moving forward, staying and drifting back."""
    world = worlds.riverswim(6, features="mixture")
    names = [f"at position {s}" for s in range(6)]
    names[0], names[-1] = "at the left bank", "at the right bank"
    return Scene(
        key="river",
        title="The river",
        about="Drift left to a crumb, or swim right against the current to a reward of 1. "
        "Only those who swim learn how strong it is.",
        world=world,
        models=("forward", "stay", "back"),
        states=tuple(names),
        actions=("left", "right"),
        verbs=("drifts left", "swims right"),
        glyphs=("←", "→"),
        marks={0: "0.005", 5: "1"},
        seed=1,
    )


def desk() -> Scene:
    """The service desk of `vbmle.worlds.queue`, with room for twelve."""
    return Scene(
        key="desk",
        title="The service desk",
        about="Open the door (7 euros a minute) or not; use the slow or the fast server. "
        "Behind a closed door nobody sees whether it is a rush hour.",
        world=worlds.queue(12),
        models=("calm", "steady", "rush"),
        states=(
            "with nobody inside",
            "with 1 person inside",
            *(f"with {n} people inside" for n in range(2, 13)),
        ),
        actions=(
            "door closed, slow server",
            "door open, slow server",
            "door closed, fast server",
            "door open, fast server",
        ),
        verbs=(
            "closes the door",
            "opens the door",
            "closes the door and works fast",
            "opens the door and works fast",
        ),
        glyphs=("\N{EN DASH}", "↑", "=", "⇈"),
        unit="euros",
        caption="people inside",
        marks={n: str(n) for n in range(13)},
    )


def shop() -> Scene:
    """The shop of `vbmle.worlds.inventory`, with a shelf for twenty."""
    return Scene(
        key="shop",
        title="The shop",
        about="Order bread for tomorrow without knowing how busy the days are. "
        "Every sale tells you something, whatever you order.",
        world=worlds.inventory(20, lot=4),
        models=("quiet", "usual", "busy"),
        states=tuple(f"with {n} on the shelf" for n in range(21)),
        actions=tuple(f"order {4 * a}" for a in range(5)),
        verbs=("orders nothing", *(f"orders {4 * a}" for a in range(1, 5))),
        glyphs=("·", "4", "8", "12", "16"),
        unit="euros",
        caption="loaves on the shelf",
        marks={n: str(n) for n in range(21)},
    )


def lake() -> Scene:
    """Gymnasium's FrozenLake, on ice that may turn a step to the side or back."""
    import gymnasium

    env = gymnasium.make("FrozenLake-v1", map_name="4x4", is_slippery=False)
    world = worlds.from_gymnasium(env, slip=(0.15, 0.15, 0.7))
    plain: Any = env.unwrapped  # of its class, with the map
    signs = "".join(sign.decode() for sign in plain.desc.ravel())
    names = {"S": "at the start", "F": "on the ice", "H": "in a hole", "G": "at the goal"}
    return Scene(
        key="lake",
        title="The frozen lake",
        about="Cross the ice to the goal without falling into a hole. "
        "A step comes out as meant, turned to the side, or backwards: which is it here?",
        world=world,
        models=("as meant", "turned", "backwards"),
        states=tuple(
            f"{names[sign]}{f' of row {s // 4 + 1}, column {s % 4 + 1}' * (sign == 'F')}"
            for s, sign in enumerate(signs)
        ),
        actions=("left", "down", "right", "up"),
        verbs=tuple(f"steps {way}" for way in ("left", "down", "right", "up")),
        glyphs=tuple("←↓→↑"),
        at=tuple((float(s % 4), float(s // 4)) for s in range(16)),
        marks={
            s: {"S": "start", "H": "hole", "G": "goal"}[sign] for s, sign in enumerate(signs) if sign != "F"
        },
    )


def read(path: Path | None, theta: str | None) -> Scene | None:
    """The scene of a saved model and its true weights, as given on the command line; none where none is given."""
    if path is None:
        if theta is not None:
            raise ValueError(f"--theta is {theta}, but there is no --model for it")
        return None
    mdp = LinearMixtureMDP.load(path)
    if theta is None:
        raise ValueError(
            f"--model needs --theta: {mdp.dimension} weights, as in {','.join(['.5'] * mdp.dimension)}"
        )
    try:
        weights = [float(part) for part in theta.split(",")]
    except ValueError:
        raise ValueError(
            f"--theta is {theta}; it needs numbers separated by commas, as in .2,.3,.5"
        ) from None
    return own(mdp, weights, path.stem)


def own(mdp: LinearMixtureMDP, theta: Any, name: str) -> Scene:
    """A model of your own with the theta that is to be the truth; its names where it has any."""
    states = getattr(mdp, "state_names", None) or [f"state {s}" for s in range(mdp.num_states)]
    actions = getattr(mdp, "action_names", None) or [f"action {a}" for a in range(mdp.num_actions)]
    return Scene(
        key="own",
        title=name,
        about=f"Your own model: {mdp.num_states} states, {mdp.num_actions} actions, {mdp.dimension} base models.",
        world=World(mdp, theta),
        models=tuple(f"model {k + 1}" for k in range(mdp.dimension)),
        states=tuple(f"in {state}" for state in states),
        actions=tuple(str(action) for action in actions),
        verbs=tuple(f"plays {action}" for action in actions),
        glyphs=tuple(str(a) for a in range(mdp.num_actions)),
    )
