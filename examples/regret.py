"""Draw what it costs not to explore: regret of three agents on two worlds that hide their best part.

python examples/regret.py [FILE.png] [TRIALS] [STEPS]
"""

import sys

import numpy as np

import vbmle
from vbmle.report import figures
from vbmle.report.styles import assign

AGENTS = (vbmle.VBMLE, vbmle.ApproximateVBMLE, vbmle.MaximumLikelihood)
LOOKS = assign(agent.label for agent in AGENTS)


def main(path: str = "regret.png", trials: int = 10, steps: int = 1500) -> None:
    worlds = {
        "RiverSwim, 6 states": lambda seed: vbmle.worlds.riverswim(6, features="mixture"),
        "hypercube, d = 4, gap .9": lambda seed: vbmle.worlds.hypercube(4, gap=0.9, seed=seed),
    }
    figure, axes = figures.sheet(len(worlds))
    for axis, (title, make) in zip(axes, worlds.items(), strict=True):
        for agent in AGENTS:
            look, runs = LOOKS[agent.label], []
            for seed in range(trials):
                world = make(seed)
                runs.append(vbmle.simulate(agent(world.mdp), world, steps, seed=seed).regret)
            mean, error = np.mean(runs, axis=0), 1.96 * np.std(runs, axis=0) / np.sqrt(trials)
            t = np.arange(1, steps + 1)
            axis.plot(t, mean, color=look.color, linestyle=look.line, label=agent.label)
            axis.fill_between(
                t, np.maximum(mean - error, 0.0), mean + error, color=look.color, alpha=0.15, lw=0
            )
        axis.set(title=title, xlabel="step t", ylabel="regret (units of reward)")
    figures.finish(figure, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*arguments[:1], *(int(number) for number in arguments[1:]))
