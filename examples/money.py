"""What the examples share: agents side by side in one world, and the money each lost while learning."""

import sys

import numpy as np
from matplotlib.figure import Figure

import vbmle

COLOURS = ("#000000", "#D55E00", "#CC79A7", "#009E73", "#0072B2", "#E69F00")
LINES = (":", "--", "-.", (0, (5, 1)), "-", "-")


def agents(mdp):
    """What one would do otherwise, and VBMLE with its two schedules."""
    average = np.full(mdp.dimension, 1.0 / mdp.dimension)
    return {
        "plan for the average model": vbmle.Oracle(mdp, average),
        "certainty equivalence": vbmle.MaximumLikelihood(mdp),
        "posterior sampling": vbmle.PSRL(mdp, update="every-step"),
        "Q-learning": vbmle.QLearning(mdp),
        "VBMLE": vbmle.VBMLE(mdp),
        "VBMLE, log bias": vbmle.VBMLE(mdp, bias="log"),
    }


def compare(world, step, trials, steps, path=None):
    """Print the money lost against who knows the truth, on the same days with the same luck; draw it if asked."""
    lost, regret, most = {}, {}, []
    for seed in range(trials):
        knows = vbmle.earned(world, vbmle.simulate(vbmle.Oracle(world.mdp, world.theta), world, steps, seed))
        most.append(knows.mean())
        for name, agent in agents(world.mdp).items():
            history = vbmle.simulate(agent, world, steps, seed)
            lost.setdefault(name, []).append(np.cumsum(knows - vbmle.earned(world, history)))
            regret.setdefault(name, []).append(history.regret[-1])
    print(f"{steps} {step}s, {trials} trials; who knows the truth earns {np.mean(most):.2f} euros a {step}")
    print(f"{'':28}{'euros lost':>12}{'+-':>8}{'regret':>12}")
    for name, curves in lost.items():
        final = np.array(curves)[:, -1]
        error = final.std() / trials**0.5
        print(f"{name:28}{final.mean():12,.0f}{error:8,.0f}{np.mean(regret[name]):12,.0f}")
    if path:
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for (name, curves), colour, line in zip(lost.items(), COLOURS, LINES, strict=True):
            axes.plot(np.mean(curves, axis=0), color=colour, linestyle=line, lw=2, label=name)
        axes.set(xlabel=step, ylabel="euros lost to who knows the truth", title=f"mean of {trials} trials")
        axes.legend(frameon=False)
        figure.savefig(path, dpi=130)


def arguments(trials, steps):
    """[FILE.png] [TRIALS] [STEPS] of the command line."""
    path = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].isdigit() else None
    given = [int(word) for word in sys.argv[1:]]
    return *given, *(trials, steps)[len(given) :], path
