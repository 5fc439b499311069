"""Draw the theory against runs: every bound, the martingale, confidence sets on the simplex, and when learning is over.

python examples/theory.py [DIRECTORY] [TRIALS] [STEPS]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

import vbmle
from vbmle import theory
from vbmle.estimation.value_regression import Regression
from vbmle.plot.styles import BLUE, GREEN, GREY, ORANGE, PINK, RED
from vbmle.report import figures

DELTA = 0.1
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def small_world(seed: int = 18) -> vbmle.World:
    """Four states, two actions, d = 3 base models; every transition has at least p_min = 0.05."""
    rng = np.random.default_rng(seed)
    models = 0.8 * rng.dirichlet(np.full(4, 0.4), (3, 4, 2)) + 0.2 / 4
    reward = np.round(rng.random((4, 2)) ** 3, 2)
    mdp = vbmle.LinearMixtureMDP.from_models(list(models), reward, 0.9, p_min=0.05)
    return vbmle.World(mdp, np.array([0.2, 0.3, 0.5]))


def run(world: vbmle.World, steps: int, seed: int, thetas: bool = False) -> vbmle.History:
    record = ["thetas"] if thetas else []
    return vbmle.simulate(vbmle.VBMLE(world.mdp), world, steps, seed=seed, record=record)


def draw_bounds(world: vbmle.World, trials: int, steps: int, path: Path) -> None:
    """Figure 2b and figures like it: what is bounded, over trials, and the bound."""
    traces = [theory.trace(run(world, steps, seed), delta=DELTA) for seed in range(trials)]
    panels = {
        "error": (r"$|\theta^* - \theta^{MLE}_t|^2_{A_t}$", r"Figure 2b, $\beta_t$"),
        "Delta": (r"$\Delta_t = \sum z_i$", "Lemma 5"),
        "norms": (r"$\sum |\phi_i|^2_{A_i^{-1}}$", "Lemma 1"),
        "regret": ("regret", "Theorem 2"),
    }
    figure, axes = figures.sheet(len(panels))
    for axis, (name, (title, label)) in zip(axes, panels.items(), strict=True):
        values = np.array([getattr(trace, name) for trace in traces])
        low, high = np.maximum(np.quantile(values, [0.05, 0.95], axis=0), 1e-2)
        mean, t, bound = values.mean(axis=0), traces[0].t, getattr(traces[0], f"{name}_bound")
        axis.plot(t[1:], bound[1:], "--", color=RED, lw=2, label="its bound")
        axis.fill_between(t[1:], low[1:], high[1:], color=BLUE, alpha=0.25, lw=0)
        axis.plot(
            t[1:], np.maximum(mean, 1e-2)[1:], color=BLUE, lw=2, label=f"{trials} runs: mean, 90% of them"
        )
        axis.set(title=f"{title}: {label}", xlabel="step t", xscale="log", yscale="log")
        ratio = bound[-1] / max(float(mean[-1]), 1e-9)
        print(f"{name:8s} at t = {steps}: mean {mean[-1]:.3g}, bound {bound[-1]:.3g}, ratio {ratio:.2g}")
    slopes = np.array([trace.slope[-1] for trace in traces])
    print(f"slope    at t = {steps}: mean {slopes.mean():.3g}, bound {traces[0].slope_bound[-1]:.3g}")
    known = traces[0].known
    print(f"regret per step below 0.1 is promised from T = {theory.steps_needed(0.1, known):.2g} on")
    figures.finish(figure, path)


def draw_martingales(world: vbmle.World, trials: int, steps: int, path: Path) -> None:
    traces = [theory.trace(run(world, steps, seed), delta=DELTA) for seed in range(trials)]
    t = traces[0].t
    figure, axes = figures.sheet(3)
    rows = {
        "log_ratio": (axes[0], lambda one: np.exp(one.log_ratio), "likelihood ratio: mean stays 1", 1.0),
        "X": (axes[1], lambda one: one.X, r"$X_t$: falls on average", traces[0].X[0]),
        "max": (axes[2], lambda one: one.log_max_ratio, r"$\log\,\max_\theta L_t(\theta)$: rises", None),
    }
    for axis, value, title, level in rows.values():
        values = np.array([value(one) for one in traces])
        mean, error = values.mean(axis=0), 1.96 * values.std(axis=0) / np.sqrt(trials)
        axis.plot(t, values[:20].T, color=GREY, alpha=0.25, lw=0.7)
        axis.fill_between(t, mean - error, mean + error, color=BLUE, alpha=0.3, lw=0)
        axis.plot(t, mean, color=BLUE, lw=2, label=f"mean of {trials} runs, 95% band")
        if level is not None:
            axis.axhline(level, color=GREY, ls=":", lw=1.5)
        axis.set(title=title, xlabel="step t")
    axes[0].axhline(1.0 / DELTA, color=RED, ls="--", label=r"$1/\delta$, rarely ever crossed (Ville)")
    axes[0].set(yscale="log", ylim=(1e-2, 30))
    ratio = np.array([one.log_ratio for one in traces])
    crossed = (ratio > np.log(1.0 / DELTA)).any(axis=1).mean()
    print(f"1/delta = {1 / DELTA:g} was crossed at some time in {crossed:.1%} of {trials} runs")
    figures.finish(figure, path)


class Simplex:
    """A grid of thetas, the values there, and how to draw them."""

    def __init__(self, world: vbmle.World, state: int = 0, fineness: int = 70) -> None:
        self.world, n = world, fineness
        grid = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
        self.thetas = np.array(grid) / n
        self.xy = self.thetas @ CORNERS
        self.log_p = np.log(self.thetas @ np.asarray(world.mdp.transitions.phi).T)
        self.V = np.array([vbmle.plan(world.mdp, theta).V[state] for theta in self.thetas])

    def likelihood(self, counts: vbmle.TransitionCounts) -> np.ndarray:
        return self.log_p @ counts.values

    def frame(self, axis, title: str) -> None:
        axis.add_patch(plt.Polygon(CORNERS, fill=False, color="black", lw=1))
        for corner, name in zip(CORNERS, ("model 1", "model 2", "model 3"), strict=True):
            low = corner[1] == 0.0
            axis.annotate(
                name, corner, (0, -10 if low else 4), textcoords="offset points", ha="center", fontsize=8
            )
        axis.set(title=title, xlim=(-0.08, 1.08), ylim=(-0.1, 0.98), aspect="equal")
        axis.axis("off")

    def outline(self, axis, inside: np.ndarray, **style) -> None:
        """The boundary of {inside >= 0}."""
        if inside.min() < 0.0 < inside.max():
            axis.tricontour(*self.xy.T, inside, levels=[0.0], **style)

    def star(self, axis, theta: np.ndarray, marker: str, colour: str, size: float, label: str = "") -> None:
        axis.plot(
            *(theta @ CORNERS), marker, color=colour, ms=size, mec="white", mew=0.8, label=label, ls="none"
        )


def sets_after(simplex: Simplex, history: vbmle.History, t: int) -> dict[str, np.ndarray]:
    """For every theta of the grid how far inside each confidence set it is, after t steps; negative is outside."""
    mdp = simplex.world.mdp
    watch, uclk, regression = theory.Prequential(mdp), vbmle.UCLK(mdp, delta=DELTA), Regression(mdp, 1.0)
    for s, a, n in zip(history.states[:t], history.actions[:t], history.next_states[:t], strict=True):
        s, a, n = int(s), int(a), int(n)
        regression.add(s * mdp.num_actions + a, uclk.V, float(uclk.V[n]))
        watch.observe(s, a, n)
        uclk.observe(s, a, n)
    phi, counts = np.asarray(mdp.transitions.phi), watch.counts
    A = phi.T @ (counts.values[:, None] * phi) + np.eye(3)
    off = simplex.thetas - vbmle.maximum_likelihood(mdp, counts).theta
    known, far = theory.constants(mdp, delta=DELTA), simplex.thetas - regression.estimate()
    likely = simplex.likelihood(counts)
    return {
        "paper, Theorem 1": theory.beta(t + 1, *known[:5]) - np.einsum("ij,jk,ik->i", off, A, off),
        "UCLK": uclk.beta() ** 2 - np.einsum("ij,jk,ik->i", far, regression.sigma.reshape(3, 3), far),
        "likelihood ratio, counts": likely - theory.likelihood_set(counts, DELTA).level,
        "likelihood ratio, prequential": likely - watch.set(DELTA).level,
    }


STYLES = [(RED, ":"), (PINK, "-."), (ORANGE, "--"), (BLUE, "-")]


def draw_sets(simplex: Simplex, steps: int, path: Path) -> None:
    history = run(simplex.world, steps, seed=1)
    times = sorted({max(steps // 100, 2), max(steps // 10, 2), steps})
    figure, axes = plt.subplots(1, len(times), figsize=(10.0, 3.4), layout="constrained")
    for axis, t in zip(np.atleast_1d(axes), times, strict=True):
        found = sets_after(simplex, history, t)
        simplex.frame(axis, f"after {t} steps")
        lines = []
        for (name, inside), (colour, style) in zip(found.items(), STYLES, strict=True):
            simplex.outline(axis, inside, colors=colour, linestyles=style, linewidths=2)
            share = (inside >= 0.0).mean()
            (line,) = axis.plot([], [], color=colour, ls=style, lw=2, label=f"{name}: {share:.1%}")
            lines.append(line)
        simplex.star(axis, simplex.world.theta, "*", "black", 13)
        axis.annotate(r"$\theta^*$", simplex.world.theta @ CORNERS, (6, 4), textcoords="offset points")
        axis.legend(
            handles=lines,
            title="share of the simplex",
            fontsize="small",
            title_fontsize="small",
            loc="lower center",
            bbox_to_anchor=(0.5, -0.5),
        )
    figure.savefig(path, dpi=figures.DPI, bbox_inches="tight")
    plt.close(figure)


def measure_sets(simplex: Simplex, trials: int, steps: int) -> None:
    """Coverage and size of each set at the end of runs."""
    truth = int(np.abs(simplex.thetas - simplex.world.theta).sum(axis=1).argmin())
    rows = [sets_after(simplex, run(simplex.world, steps, seed), steps) for seed in range(trials)]
    for name in rows[0]:
        inside = np.array([row[name] for row in rows])
        print(
            f"{name:32s} covers {np.mean(inside[:, truth] >= 0):.1%}, share of P {np.mean(inside >= 0):.2%}"
        )


def measure_coverage(world: vbmle.World, trials: int, steps: int) -> None:
    """How often theta* is ever outside, at any time."""
    lost = np.zeros(2)
    for seed in range(trials):
        history, watch = run(world, steps, seed), theory.Prequential(world.mdp)
        out = np.zeros(2, dtype=bool)
        for s, a, n in zip(history.states, history.actions, history.next_states, strict=True):
            watch.observe(int(s), int(a), int(n))
            truth = vbmle.log_likelihood(world.mdp, watch.counts, world.theta, ridge=0.0)
            counted = theory.likelihood_set(watch.counts, DELTA).level
            out |= np.array([watch.log_q - np.log(1.0 / DELTA), counted]) > truth
        lost += out
    shares = lost / trials
    print(f"theta* was ever outside in {trials} runs: prequential {shares[0]:.1%}, counts {shares[1]:.1%}")


def draw_animation(simplex: Simplex, steps: int, path: Path) -> None:
    """The likelihood, the set, the value, the bias and the path of theta, frame by frame."""
    world, mdp = simplex.world, simplex.world.mdp
    history = run(world, steps, seed=1, thetas=True)
    times = np.unique(np.round(np.geomspace(1, steps, 28)).astype(int))
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.9))
    figure.subplots_adjust(0.01, 0.10, 0.99, 0.90, 0.02)

    def frame(t: int) -> list:
        counts = vbmle.TransitionCounts(mdp)
        for s, a, n in zip(
            history.states[: t - 1], history.actions[: t - 1], history.next_states[: t - 1], strict=True
        ):
            counts.add(int(s), int(a), int(n))
        likely = simplex.likelihood(counts) - 0.5 * (simplex.thetas**2).sum(axis=1)
        biased = likely + np.sqrt(t) * simplex.V
        inside = simplex.likelihood(counts) - theory.likelihood_set(counts, DELTA).level
        for axis, values, title in (
            (left, likely, "likelihood"),
            (right, biased, r"likelihood + $\sqrt{t}\,V^*$"),
        ):
            axis.clear()
            simplex.frame(axis, title)
            # Drawn from the top: 12 in the exponent are enough to see the shape.
            axis.tricontourf(
                *simplex.xy.T, np.maximum(values - values.max(), -12.0), levels=12, cmap="cividis"
            )
            simplex.outline(axis, inside, colors="white", linestyles="--", linewidths=1.5)
            simplex.star(axis, world.theta, "*", RED, 13, r"$\theta^*$")
        simplex.star(left, vbmle.maximum_likelihood(mdp, counts).theta, "o", ORANGE, 8, r"$\theta^{MLE}_t$")
        axis = right
        axis.tricontour(*simplex.xy.T, simplex.V, levels=6, colors="white", linewidths=0.4, alpha=0.6)
        trail = history.thetas[:t] @ CORNERS
        axis.plot(*trail[-200:].T, color=PINK, lw=0.9, alpha=0.8)
        simplex.star(axis, history.thetas[t - 1], "o", PINK, 8, r"$\theta^{VBMLE}_t$")
        for one in (left, right):
            one.legend(loc="upper left", fontsize=8, frameon=False)
        figure.suptitle(f"t = {t}", y=0.08, fontsize=11)
        return []

    FuncAnimation(figure, frame, frames=[*times, *[times[-1]] * 4]).save(path, PillowWriter(fps=3), dpi=110)
    frame(int(times[len(times) // 2]))
    figure.savefig(path.with_suffix(".png"), dpi=figures.DPI)
    plt.close(figure)


def draw_confidence(steps: int, path: Path) -> None:
    """RiverSwim: the interval of V* and what the policy can lose, until it is proved optimal."""
    world = vbmle.worlds.riverswim(6, features="mixture")
    agent = vbmle.VBMLE(world.mdp)
    truth, state, rng = vbmle.plan(world.mdp, world.theta).V[0], 0, np.random.default_rng(0)
    times, rows, over = [], [], None
    for t in range(1, steps + 1):
        action = agent.act(state)
        following = world.next_state(state, action, rng.random())
        agent.observe(state, action, following)
        state = following
        if t % max(steps // 80, 1) == 0:
            found = agent.confidence(DELTA)
            times.append(t)
            rows.append((*found.interval(0), found.loss))
            over = over or (t if found.certified else None)
    low, high, loss = np.array(rows).T
    figure, axes = figures.sheet(2)
    axes[0].fill_between(times, low, high, color=BLUE, alpha=0.3, lw=0, label=r"$V^*(s_0)$, proved")
    axes[0].axhline(truth, color="black", ls=":", label=r"$V^*(s_0;\theta^*)$")
    axes[1].plot(times, loss, color=GREEN, lw=2, label="loss, proved at most")
    for axis, name in zip(axes, ("value", "loss of the policy in force"), strict=True):
        if over:
            axis.axvline(over, color=RED, ls="--", label=f"proved optimal at t = {over}")
        axis.set(xlabel="step t", ylabel=name)
    print(f"RiverSwim: proved optimal at t = {over}")
    figures.finish(figure, path)


def main(directory: str = "theory", trials: int = 100, steps: int = 2500) -> None:
    out = Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    world = small_world()
    simplex = Simplex(world, fineness=70 if steps > 100 else 10)
    draw_bounds(world, trials, steps, out / "theory-bounds.png")
    # Few steps and many runs: later on, the mean of the ratio comes from runs too rare to meet.
    draw_martingales(world, 25 * trials, min(steps, 20), out / "theory-martingales.png")
    draw_sets(simplex, steps, out / "theory-sets.png")
    measure_sets(simplex, trials, steps)
    measure_coverage(world, 5 * trials, min(steps, 100))
    draw_animation(simplex, min(steps, 1000), out / "theory-simplex.gif")
    draw_confidence(2 * steps, out / "theory-confidence.png")
    print(f"wrote {out}/theory-*")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*arguments[:1], *(int(number) for number in arguments[1:]))
