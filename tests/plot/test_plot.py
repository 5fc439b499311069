"""`vbmle.plot`: what is drawn is what the data say, on the axes that were given."""

from typing import Any

import matplotlib
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

import vbmle
from vbmle.common import statistics
from vbmle.estimation.confidence import confidence

matplotlib.use("Agg")

RIVER = vbmle.worlds.riverswim(length=4)
MIX = vbmle.worlds.riverswim(features="mixture")


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def runs() -> dict[str, list[vbmle.History]]:
    agents: dict[str, Any] = {"greedy": vbmle.MaximumLikelihood, "random": vbmle.Random}
    return {name: vbmle.simulate_many(a, RIVER, 30, seeds=range(7), jobs=1) for name, a in agents.items()}


def frame_of(runs: dict[str, list[vbmle.History]], world: str = "river", **settings: Any) -> pl.DataFrame:
    """Records as `read_records` has them."""
    rows = [
        {
            "world": world,
            "agent": agent,
            "trial": trial,
            "step": step + 1,
            "regret": value,
            "agent_name": agent,
        }
        | settings
        for agent, histories in runs.items()
        for trial, history in enumerate(histories)
        for step, value in enumerate(history.regret.tolist())
    ]
    return pl.DataFrame(rows)


def line(axes: Axes, label: str) -> np.ndarray:
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return np.asarray(found.get_ydata())


def test_regret_is_the_mean_over_seeds_with_the_band_of_the_report(runs):
    _, ax = pyplot.subplots()
    assert vbmle.plot.regret(runs, ax) is ax
    curves = np.array([history.regret for history in runs["random"]])
    np.testing.assert_array_equal(line(ax, "random"), curves.mean(axis=0))
    low, high = statistics.mean_band(curves)
    drawn = ax.collections[1].get_paths()[0].vertices
    assert np.ptp(np.asarray(drawn)[:, 1]) == pytest.approx(high.max() - low.min())
    colors = {one.get_color() for one in ax.lines}
    assert len(colors) == 2


def test_records_and_histories_give_the_same_curves(runs):
    one, other = vbmle.plot.regret(runs), vbmle.plot.regret(frame_of(runs))
    for label in runs:
        np.testing.assert_array_equal(line(one, label), line(other, label))
    assert one is not other


def test_one_history_is_a_curve_without_a_band(runs):
    axes = vbmle.plot.regret(runs["greedy"][0])
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), runs["greedy"][0].regret)
    assert not axes.collections
    assert axes.get_legend() is None


def test_metrics_are_drawn_too(runs):
    history = vbmle.simulate(vbmle.Random(RIVER.mdp), RIVER, 10, metrics={"place": lambda step: step.state})
    np.testing.assert_array_equal(
        vbmle.plot.regret(history, measure="place").lines[0].get_ydata(), history.states
    )
    with pytest.raises(ValueError, match="did you mean 'place'"):
        vbmle.plot.regret(history, measure="plce")


def test_one_of_several_worlds_has_to_be_named(runs):
    both = pl.concat([frame_of(runs), frame_of(runs, "brook")])
    with pytest.raises(ValueError, match="river, brook"):
        vbmle.plot.regret(both)
    with pytest.raises(ValueError, match="no world 'lake'"):
        vbmle.plot.regret(both, world="lake")
    assert vbmle.plot.regret(both, world="brook").get_title() == "brook"


def test_a_comparison_is_the_paired_difference_with_its_interval(runs):
    axes = vbmle.plot.comparison(runs, "greedy", "random")
    gaps = np.array(
        [a.regret[-1] - b.regret[-1] for a, b in zip(runs["greedy"], runs["random"], strict=True)]
    )
    interval, dot, _ = axes.lines
    assert float(np.asarray(dot.get_xdata())[0]) == pytest.approx(gaps.mean())
    np.testing.assert_allclose(np.asarray(interval.get_xdata()), statistics.hall(gaps))
    shifted = frame_of(runs).filter(~((pl.col("agent") == "random") & (pl.col("trial") < 3)))
    paired = vbmle.plot.comparison(shifted, "greedy", "random").lines[1]
    assert float(np.asarray(paired.get_xdata())[0]) == pytest.approx(gaps[3:].mean())
    with pytest.raises(ValueError, match="did you mean 'random'"):
        vbmle.plot.comparison(runs, "greedy", "randon")
    apart = frame_of(runs).filter((pl.col("agent") == "random") == (pl.col("trial") < 3))
    with pytest.raises(ValueError, match="no trial in common"):
        vbmle.plot.comparison(apart, "greedy", "random")


def test_the_league_has_ratios_to_the_best_of_each_world(runs):
    texts = [text.get_text() for text in vbmle.plot.league(frame_of(runs)).texts]
    means = [np.mean([history.regret[-1] for history in histories]) for histories in runs.values()]
    assert texts == [f"{mean / min(means):.3g}" for mean in means]


def test_a_sweep_is_the_last_step_against_the_setting(runs):
    parts = [frame_of(runs, f"river length={n}", world_length=n) for n in (4, 6)]
    axes = vbmle.plot.sweep(pl.concat(parts), "length")
    (drawn,) = [box for box in axes.containers if box.get_label() == "greedy"]
    assert isinstance(drawn, ErrorbarContainer)
    mean = np.mean([history.regret[-1] for history in runs["greedy"]])
    np.testing.assert_allclose(np.asarray(drawn.lines[0].get_xydata()), [[4, mean], [6, mean]])
    of_agents = [
        frame_of({f"A x={x}": runs["random"]}, agent_x=x).with_columns(agent_name=pl.lit("A"))
        for x in (0.1, 10.0)
    ]
    axes = vbmle.plot.sweep(pl.concat(of_agents), "x")
    assert axes.get_xscale() == "log"
    assert [box.get_label() for box in axes.containers] == ["A"]
    for setting, words in {"lenght": "did you mean 'length'", "name": "no number"}.items():
        with pytest.raises(ValueError, match=words):
            vbmle.plot.sweep(pl.concat(parts), setting)
    with pytest.raises(ValueError, match="unknown measure"):
        vbmle.plot.sweep(pl.concat(parts), "length", measure="regert")
    mixed = pl.concat([part.with_columns(agent_x=pl.lit(1.0)) for part in parts])
    with pytest.raises(ValueError, match="several worlds"):
        vbmle.plot.sweep(mixed, "agent_x")


def test_a_policy_is_a_dot_in_the_row_of_its_action():
    plan = vbmle.plan(RIVER.mdp, RIVER.theta)
    axes = vbmle.plot.policy(plan)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), plan.policy)
    image = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(image, (plan.action_value - plan.value[:, None]).T)
    agent = vbmle.VBMLE(RIVER.mdp)
    np.testing.assert_array_equal(vbmle.plot.policy(agent).lines[0].get_ydata(), agent.policy)
    with pytest.raises(ValueError, match="Plan"):
        vbmle.plot.policy(RIVER)  # type: ignore[arg-type]


def test_values_are_in_your_units_and_bounds_are_a_band():
    mdp = vbmle.LinearMixtureMDP.tabular(
        np.ones((2, 1, 2), dtype=bool), np.array([[0.0], [10.0]]), 0.5, normalise_reward=True
    )
    plan = vbmle.plan(mdp, np.full(4, 0.5))
    agent = vbmle.VBMLE(mdp)
    found = agent.confidence(0.1)
    axes = vbmle.plot.values({"plan": plan, "set": found, "agent": agent})
    np.testing.assert_array_equal(line(axes, "plan"), plan.value)
    np.testing.assert_allclose(line(axes, "agent"), vbmle.plan(mdp, agent.theta).value)
    band = np.asarray(axes.collections[0].get_paths()[0].vertices)
    assert band[:, 1].max() == pytest.approx(found.V_high.max())
    with pytest.raises(ValueError, match="no value"):
        vbmle.plot.values(vbmle.Random(mdp))


@pytest.mark.parametrize(
    "world",
    [RIVER, vbmle.worlds.frozen_lake(), vbmle.worlds.inventory(), vbmle.worlds.queue()],
    ids=["graph", "grid", "curve", "map"],
)
def test_any_world_and_any_model_can_be_drawn(world: vbmle.World):
    axes = vbmle.plot.world(world)
    axes.figure.canvas.draw()
    assert f"{world.mdp.num_states} states" in axes.get_title()
    _, ax = pyplot.subplots()
    assert vbmle.plot.world(world.mdp, ax) is ax


def test_what_is_no_world_is_refused():
    with pytest.raises(ValueError, match="World"):
        vbmle.plot.world(vbmle.VBMLE(RIVER.mdp))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="theta"):
        vbmle.plot.world(MIX, theta=[2.0, 0.0, 0.0])


def test_the_path_of_theta_and_the_truth():
    history = vbmle.simulate(vbmle.VBMLE(MIX.mdp), MIX, 20, record=["thetas"])
    assert history.thetas is not None
    axes = vbmle.plot.theta_path(history)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), history.thetas[:, 0])
    assert np.asarray(axes.lines[1].get_ydata())[0] == MIX.theta[0]
    with pytest.raises(ValueError, match="thetas"):
        vbmle.plot.theta_path(vbmle.simulate(vbmle.VBMLE(MIX.mdp), MIX, 2))


def test_the_boundary_on_the_simplex_is_that_of_the_confidence_set():
    agent = vbmle.VBMLE(MIX.mdp)
    vbmle.simulate(agent, MIX, 120)
    axes = vbmle.plot.simplex(agent.counts, theta=MIX.theta)
    found = confidence(agent.counts, agent.policy, 0.1)
    boundary = np.vstack([path.vertices for path in axes.collections[1].get_paths()])
    third = boundary[:, 1] / np.sqrt(0.75)
    thetas = np.column_stack([1.0 - boundary[:, 0] - third / 2.0, boundary[:, 0] - third / 2.0, third])
    p = np.array([MIX.mdp.transitions.probabilities(theta) for theta in thetas])
    top = MIX.mdp.transitions.probabilities(found.theta)
    seen = agent.counts.values > 0
    below = ((np.log(top) - np.log(p))[:, seen] * agent.counts.values[seen]).sum(axis=1)
    assert np.abs(below - found.threshold).max() < 0.15 * found.threshold  # contours are straight in a cell
    with pytest.raises(ValueError, match="three"):
        vbmle.plot.simplex(vbmle.TransitionCounts(RIVER.mdp))


def candidates() -> vbmle.World:
    models = np.random.default_rng(0).dirichlet(np.ones(3), (3, 3, 2))
    mdp = vbmle.LinearMixtureMDP.from_models(list(models), np.eye(3, 2), 0.9, domain="vertices")
    return vbmle.World(mdp, [0.0, 1.0, 0.0])


def test_candidates_are_dots_as_large_as_they_are_probable():
    world = candidates()
    agent = vbmle.VBMLE(world.mdp)
    vbmle.simulate(agent, world, 40)
    axes = vbmle.plot.simplex(agent.counts)
    probability = agent.belief().probability
    assert probability is not None
    texts = [text.get_text() for text in axes.texts]
    assert [f"{p:.2g}" for p in probability] == [text for text in texts if "model" not in text]


def test_beliefs_over_time_end_with_that_of_the_agent():
    for world in (candidates(), MIX):
        agent = vbmle.VBMLE(world.mdp)
        history = vbmle.simulate(agent, world, 15)
        axes = vbmle.plot.belief(history)
        wanted = agent.belief().mean
        for k, drawn in enumerate(axes.lines):
            assert np.asarray(drawn.get_ydata())[-1] == wanted[k]
    with pytest.raises(ValueError, match="prior"):
        vbmle.plot.belief(history, prior=[0.2, 0.3, 0.5])
    later = vbmle.simulate(agent, MIX, 5)
    with pytest.raises(ValueError, match="first"):
        vbmle.plot.belief(
            vbmle.History(
                *[getattr(later, n)[2:] for n in ("states", "actions", "next_states", "regret", "seconds")]
            )
        )


def test_pictures_can_be_read_in_a_column():
    """Scaled to 3.4 inches, no text of the axes is below 6 points."""
    plan = vbmle.plan(RIVER.mdp, RIVER.theta)
    for axes in (vbmle.plot.policy(plan), vbmle.plot.values(plan)):
        scale = min(1.0, 3.4 / axes.figure.get_size_inches()[0])  # type: ignore[union-attr]
        texts = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
        assert min(float(text.get_fontsize()) for text in texts) * scale >= 6.0
