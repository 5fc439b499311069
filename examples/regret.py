"""Draw what it costs not to explore: regret of three agents on two worlds that hide their best part.

python examples/regret.py [FILE.png] [TRIALS] [STEPS]
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import vbmle
from vbmle.report.styles import BLUE, ORANGE, RED

LOOKS = {
    "VBMLE": (BLUE, "-"),
    "ApproximateVBMLE": (ORANGE, "--"),
    "MaximumLikelihood": (RED, ":"),
}


def main(path: str = "regret.png", trials: int = 10, steps: int = 1500) -> None:
    worlds = {
        "RiverSwim, 6 states": lambda seed: vbmle.worlds.riverswim(6, features="mixture"),
        "hypercube, d = 4, gap .9": lambda seed: vbmle.worlds.hypercube(4, gap=0.9, seed=seed),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, (title, make) in zip(axes, worlds.items(), strict=True):
        for name, (colour, style) in LOOKS.items():
            runs = []
            for seed in range(trials):
                world = make(seed)
                runs.append(vbmle.simulate(getattr(vbmle, name)(world.mdp), world, steps, seed=seed).regret)
            mean, error = np.mean(runs, axis=0), 1.96 * np.std(runs, axis=0) / np.sqrt(trials)
            t = np.arange(1, steps + 1)
            axis.plot(t, mean, style, color=colour, label=name, lw=2)
            axis.fill_between(t, np.maximum(mean - error, 0.0), mean + error, color=colour, alpha=0.2, lw=0)
        axis.set(title=title, xlabel="step t", ylabel="cumulative regret (units of reward)")
        axis.grid(alpha=0.3)
    axes[0].legend(title=f"mean of {trials} trials, 95% band")
    figure.savefig(path, dpi=130)
    print(f"wrote {path}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*arguments[:1], *(int(number) for number in arguments[1:]))
