"""Draw the README's example: four agents at a service desk, what they earn and their regret.

python examples/regret.py [FILE.png] [TRIALS] [STEPS]
"""

import sys

import numpy as np

import vbmle
from vbmle.plot.styles import assign
from vbmle.report import figures

AGENTS = {
    "recommended": vbmle.recommended,
    "VBMLE": vbmle.VBMLE,
    "VBMLE (log bias)": lambda mdp: vbmle.VBMLE(mdp, bias="log"),
    "maximum likelihood": vbmle.MaximumLikelihood,
}
LOOKS = assign(AGENTS)


def main(path: str = "regret.png", trials: int = 10, steps: int = 2000) -> None:
    world = vbmle.worlds.queue(capacity=12)
    figure, (money, regret) = figures.sheet(2)
    t, last = np.arange(1, steps + 1), {}
    best = vbmle.Oracle(world.mdp, theta=world.theta)
    known = [vbmle.earned(world, vbmle.simulate(best, world, steps, seed)) for seed in range(trials)]
    money.plot(t, np.cumsum(np.mean(known, axis=0)), color="0.6", lw=3, label="best policy")
    for name, make in AGENTS.items():
        look = LOOKS[name]
        runs = [vbmle.simulate(make(world.mdp), world, steps, seed) for seed in range(trials)]
        euros = np.cumsum([vbmle.earned(world, run) for run in runs], axis=1)
        for axis, curves in ((money, euros), (regret, np.array([run.regret for run in runs]))):
            axis.plot(t, curves.mean(axis=0), color=look.color, linestyle=look.line, label=name)
            if axis is regret:
                last[name] = curves.mean(axis=0)[-1]
    money.set(title="Earned so far (euros)", xlabel="minute")
    regret.set(title="Regret (euros)", xlabel="minute", ylim=(0.0, 1.2 * sorted(last.values())[-2]))
    off = f"maximum likelihood is off the scale:\n{last['maximum likelihood']:,.0f} at the end"
    regret.annotate(off, (0.1, 0.96), xycoords="axes fraction", va="top", fontsize="small")
    figures.finish(figure, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*arguments[:1], *(int(number) for number in arguments[1:]))
