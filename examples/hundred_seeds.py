"""Two agents, a hundred seeds each in a pool of processes: paired regret with bands, and a table for a paper."""

import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt

import vbmle


def main(home: Path, seeds: int = 100, horizon: int = 500) -> None:
    sweep = vbmle.Sweep(
        worlds={"river": partial(vbmle.worlds.riverswim, features="mixture")},
        agents={"VBMLE": partial(vbmle.VBMLE, update="doubling"), "PSRL": vbmle.PSRL},
        trials=seeds,
        horizon=horizon,
    ).run(home / "records")
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.6), layout="constrained")
    vbmle.plot.regret(sweep, left)
    vbmle.plot.comparison(sweep, "VBMLE", "PSRL", right)
    figure.savefig(home / "regret.pdf")
    (home / "regret.tex").write_text(sweep.compare("VBMLE", "PSRL").to_latex())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
