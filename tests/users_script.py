"""A user's script that uses what a notebook uses, checked by mypy as `--strict` does (pyproject.toml), and run."""

from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import vbmle


def depth(step: vbmle.Step) -> float:
    return float(step.next_state)


def main(home: Path) -> pl.DataFrame:
    world = vbmle.worlds.riverswim(length=4, features="mixture")
    agent = vbmle.VBMLE(world.mdp, bias="log")
    history = vbmle.simulate(agent, world, 20, record=["thetas"], metrics={"depth": depth})
    history = vbmle.simulate(agent, world, 30, after=history, record=["thetas"], metrics={"depth": depth})
    plan = vbmle.plan(world.mdp, world.theta)
    frames: list[pl.DataFrame] = [history.to_frame(), plan.to_frame(), agent.counts.to_frame()]
    assert all(len(frame) for frame in frames)

    runs = {
        "VBMLE": vbmle.simulate_many(partial(vbmle.VBMLE, update="doubling"), world, 20, range(6), jobs=2),
        "greedy": vbmle.simulate_many(vbmle.MaximumLikelihood, world, 20, range(6), metrics={"depth": depth}),
    }
    figure, axes = plt.subplots(2, 4)
    vbmle.plot.regret(runs, axes[0, 0]).set_title("regret")
    vbmle.plot.comparison(runs, "VBMLE", "greedy", axes[0, 1])
    vbmle.plot.league(runs, axes[0, 2])
    vbmle.plot.world(world, axes[0, 3])
    vbmle.plot.policy(plan, axes[1, 0])
    vbmle.plot.values({"truth": plan, "set": agent.confidence(0.1)}, axes[1, 1])
    vbmle.plot.theta_path(history, axes[1, 2])
    vbmle.plot.simplex(agent.counts, axes[1, 3], theta=world.theta)
    vbmle.plot.belief(history)
    figure.savefig(home / "all.png")

    sweep = vbmle.Sweep(
        worlds={"river": {"world": "riverswim", "length": {"sweep": [4, 5]}}, "mine": world},
        agents={"VBMLE": partial(vbmle.VBMLE, bias="log"), "greedy": vbmle.MaximumLikelihood},
        trials=6,
        horizon=10,
        metrics={"depth": "users_script:depth"},
    ).run(home / "records", jobs=1)
    vbmle.plot.sweep(sweep, "length", measure="depth")
    (home / "table.tex").write_text(sweep.compare("VBMLE", "greedy").to_latex())
    records: pl.DataFrame = sweep.records
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = records["regret"].to_numpy()
    assert (values >= 0.0).all()
    plt.close("all")
    return records
