"""What the examples share: agents side by side in one world, and the money each lost while learning."""

import argparse
import io
import os
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

import vbmle
from vbmle.plot.styles import assign
from vbmle.report import figures

LOOKS_AS = {
    "plan for the average model": "Random",
    "certainty equivalence": "maximum likelihood",
    "posterior sampling": "PSRL",
}
"""By what it is called here: the agent of the reports whose look it has."""

NO_PICTURE = ""  # what stands for FILE.png where it is left out


def agents(mdp):
    """What you would do without it, and VBMLE with its two schedules."""
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
    """Print the money lost against an agent that knows the truth, on the same days with the same luck; draw it if asked."""
    lost, regret, most = {}, {}, []
    for seed in range(trials):
        knows = vbmle.earned(world, vbmle.simulate(vbmle.Oracle(world.mdp, world.theta), world, steps, seed))
        most.append(knows.mean())
        for name, agent in agents(world.mdp).items():
            history = vbmle.simulate(agent, world, steps, seed)
            lost.setdefault(name, []).append(np.cumsum(knows - vbmle.earned(world, history)))
            regret.setdefault(name, []).append(history.regret[-1])
    runs = counted(trials, "trial")
    print(
        f"{counted(steps, step)}, {runs}; an agent that knows the truth earns {np.mean(most):.2f} euros a {step}"
    )
    print(f"{'':28}{'euros lost':>12}{'+-':>8}{'regret':>12}")
    for name, curves in lost.items():
        final = np.array(curves)[:, -1]
        # One trial does not tell how much trials differ.
        error = f"{final.std(ddof=1) / trials**0.5:,.0f}" if trials > 1 else "-"
        print(f"{name:28}{final.mean():12,.0f}{error:>8}{np.mean(regret[name]):12,.0f}")
    if path:
        draw(lost, step, f"mean of {runs}", path)


def draw(lost, step, title, path):
    """Euros lost by agent, step by step, in the look of the reports."""
    looks = assign(LOOKS_AS.get(name, name) for name in lost)
    figure, (axes,) = figures.sheet(1, height=3.2)
    for name, curves in lost.items():
        look = looks[LOOKS_AS.get(name, name)]
        mean = np.append(0.0, np.mean(curves, axis=0))
        axes.plot(mean, color=look.color, linestyle=look.line, lw=2, label=name)
    axes.set(xlabel=step, ylabel="euros lost against the best policy", title=title)
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    figures.finish(figure, path)


def counted(number, thing):
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def whole(word):
    """A number of trials or steps."""
    try:
        number = int(word)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number of at least 1")
    return number


def picture(word):
    """A file that can be written: better known before the run than after it."""
    if word == NO_PICTURE:
        return None
    path = Path(word)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {word!r}: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {word!r}: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write {word!r}: no permission")
    try:  # a trial, because some formats need programs that may be missing
        page = Figure()
        page.text(0.5, 0.5, "euros")
        page.savefig(io.BytesIO(), format=path.suffix[1:] or "none")
    except (OSError, RuntimeError, ValueError):
        raise argparse.ArgumentTypeError(f"cannot write {word!r}: use .png, .svg or .pdf") from None
    return word


def arguments(about, trials, steps):
    """[FILE.png] [TRIALS] [STEPS] of the command line; a number first means that there is no file."""
    parser = argparse.ArgumentParser(
        description=f"{about.splitlines()[0]} Prints the euros that each agent lost against one that knows the truth."
    )
    parser.add_argument("path", nargs="?", type=picture, metavar="FILE.png", help="draw the losses, too")
    for name, usual in (("trials", trials), ("steps", steps)):
        about = f"how many {name}; without it {usual}"
        parser.add_argument(name, nargs="?", type=whole, default=usual, metavar=name.upper(), help=about)
    words = sys.argv[1:]
    if words and words[0].lstrip("+-").isdigit():
        words.insert(0, NO_PICTURE)
    given = parser.parse_args(words)
    return given.trials, given.steps, given.path
