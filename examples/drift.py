"""Draw what a mix that changes costs: regret of four ways to forget, where the mix jumps and where it moves slowly.

python examples/drift.py [FILE.png] [TRIALS] [EVERY]
"""

import sys
from typing import Any

import numpy as np

import vbmle
from vbmle.plot.styles import BLUE, ORANGE, RED
from vbmle.report import figures

TURNS = 3


def ways(every: int) -> dict[str, tuple[dict[str, Any], str, str]]:
    return {
        "all observations": ({}, RED, ":"),
        f"half-life of {every // 5}": ({"forget": every / 5}, ORANGE, "--"),
        f"window of {2 * every // 5}": ({"forget": {"window": 2 * every // 5}}, ORANGE, "-"),
        "restart on alarm": ({"restart": "on-alarm"}, BLUE, "-"),
    }


def main(path: str = "drift.png", trials: int = 5, every: int = 500) -> None:
    figure, axes = figures.sheet(2)
    steps = (TURNS + 1) * every
    for axis, change in zip(axes, ("jump", "slow"), strict=True):
        world = vbmle.worlds.suppliers(change=change, every=every, turns=TURNS)
        for label, (settings, colour, style) in ways(every).items():
            runs = [
                vbmle.simulate(vbmle.VBMLE(world.mdp, **settings), world, steps, seed=seed).regret
                for seed in range(trials)
            ]
            axis.plot(np.arange(1, steps + 1), np.mean(runs, axis=0), style, color=colour, label=label, lw=2)
            print(f"{change}, {label}: {np.mean(runs, axis=0)[-1]:.0f}")
        title = "the mix jumps" if change == "jump" else "the mix moves slowly"
        axis.set(title=f"{title}, every {every} steps", xlabel="step t")
    axes[1].sharey(axes[0])
    axes[0].set_ylabel("regret (moving optimum)")
    figures.finish(figure, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*arguments[:1], *(int(number) for number in arguments[1:]))
