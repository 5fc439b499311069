"""Pictures of worlds: every one is drawn, and shows the policy that planning finds."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vbmle import LinearMixtureMDP, World, plan
from vbmle.cli import app
from vbmle.plot.world_picture import draw
from vbmle.worlds import (
    EXAMPLES,
    WORLDS,
    cliff_walking,
    frozen_lake,
    pricing,
    queue,
    random_network,
    riverswim,
    suppliers,
)


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_has_a_picture(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    picture = tmp_path / "world.png"
    with pytest.raises(SystemExit) as end:
        app(["worlds", "--draw", name, str(picture)])
    assert end.value.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("rivrswim", "x.png", "unknown world 'rivrswim' (did you mean 'riverswim'?)"),
        ("riverswim", "no-such-folder/x.png", "cannot write"),
        ("riverswim", "x.nonsense", "cannot write"),
    ],
)
def test_what_cannot_be_drawn_costs_one_line(
    name: str, file: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as end:
        app(["worlds", "--draw", name, str(tmp_path / file)])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def texts(figure: Any) -> list[str]:
    return [text.get_text() for axis in figure.axes for text in axis.texts if text.get_text()]


def test_names_are_used_where_there_are_some():
    world = suppliers()
    assert [text for text in texts(draw(world, "shop")) if "first" in text] == [
        f"{s}\nfirst" for s in range(4)
    ]
    mdp = world.mdp
    models = [mdp.transition([1.0, 0.0]), mdp.transition([0.0, 1.0])]
    named = LinearMixtureMDP.from_models(
        models, mdp.pair_reward.reshape(4, 2), 0.9, state_names=["none", "one", "two", "three"]
    )
    assert {text.split("\n")[0] for text in texts(draw(World(named, world.theta), "shop"))} >= {
        "none",
        "three",
    }


def test_arrows_are_those_of_the_best_policy():
    world = frozen_lake()
    policy, said = plan(world.mdp, world.theta).policy, texts(draw(world, "lake"))
    decided = [s for s in range(16) if s not in {5, 7, 11, 12, 15}]  # holes and goal
    assert [text for text in said if text in "←↓→↑"] == ["←↓→↑"[policy[s]] for s in decided]
    V = plan(world.mdp, world.theta).V
    assert [text for text in said if text[0].isdigit()] == [f"{v:.3g}" for v in V]


def test_the_cliff_is_marked_and_keeps_out_of_the_colours():
    figure = draw(cliff_walking(), "cliff")
    assert texts(figure).count("cliff") == 10
    image = figure.axes[0].get_images()[0]
    assert image.get_clim()[0] > -25.0  # euros of steps; standing on the cliff would be near -39


def test_bands_of_a_curve_are_where_the_policy_plays():
    world = queue()
    policy = plan(world.mdp, world.theta).policy
    _, below = draw(world, "desk").axes
    for container, tick in zip(below.containers, below.get_yticklabels(), strict=True):
        at = sorted(round(bar.get_x() + bar.get_width() / 2) for bar in container)
        action = world.labels.actions.index(tick.get_text())
        np.testing.assert_array_equal(at, np.nonzero(policy == action)[0])


def test_maps_show_actions_and_euros():
    world = pricing(6, 3)
    left, right, *_ = draw(world, "seats").axes
    policy = plan(world.mdp, world.theta).policy.reshape(7, 4)
    np.testing.assert_array_equal(left.get_images()[0].get_array(), policy[:6, :0:-1].T)
    V = plan(world.mdp, world.theta).V.reshape(7, 4) * world.mdp.reward_scale
    np.testing.assert_allclose(right.get_images()[0].get_array(), V[:6, :0:-1].T)  # type: ignore[arg-type]


def test_graphs_tell_odds_and_many_states_become_a_curve():
    said = texts(draw(riverswim(4), "river"))
    assert said.count("0.35") == 2  # the two inner states
    assert "0\na=1" in said
    assert len(draw(riverswim(60), "long").axes) == 2
    assert len(draw(random_network(3, 2, 5), "net").axes) == 2  # the graph and its scale of colours


@pytest.fixture
def run_example(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """An example by name, with words of the command line; in this process, which has the kernels already."""
    folder = Path(__file__).parents[2] / "examples"
    monkeypatch.syspath_prepend(str(folder))

    def run(name: str, *words: str) -> None:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
        runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")

    return run


MONEY = ["inventory", "service_desk", "maintenance", "pricing"]


@pytest.mark.parametrize("name", MONEY)
def test_examples_count_money(
    name: str, tmp_path: Path, run_example: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    """Each of the four, short, with its picture."""
    picture = tmp_path / "money.png"
    run_example(name, str(picture), "1", "12")
    said = capsys.readouterr().out
    assert said.startswith("12 ")
    assert "s, 1 trial; " in said
    assert "euros lost" in said
    last = said.splitlines()[-1]
    assert last.startswith("VBMLE, log bias")
    assert last.split()[-2] == "-"  # one trial has no standard error
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_error_of_two_trials_is_half_their_distance(
    run_example: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    """Of x and y the standard error of the mean is |x - y| / 2; y is twice the mean of both less x."""

    def average_model(trials: str) -> list[float]:
        run_example("service_desk", trials, "40")
        row = capsys.readouterr().out.splitlines()[2]
        assert row.startswith("plan for the average model")
        return [float(word.replace(",", "")) for word in row.split()[5:-1] if word != "-"]

    (first,) = average_model("1")
    mean, error = average_model("2")
    assert abs(error - abs(first - mean)) <= 1.5  # three numbers rounded to euros
    assert error > 5.0  # so that the rounding could not hide a division by the wrong number


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_there_is_no_half_day(
    steps: int, tmp_path: Path, run_example: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    saved: list[Any] = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, *_, **__: saved.append(self))
    run_example("inventory", str(tmp_path / "money.png"), "1", str(steps))
    axes = saved[-1].axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), np.arange(steps + 1))
    ticks = axes.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


@pytest.mark.parametrize("name", MONEY)
def test_examples_tell_what_they_do(
    name: str,
    tmp_path: Path,
    run_example: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as end:
        run_example(name, "--help")
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert f"{name}.py [-h] [FILE.png] [TRIALS] [STEPS]" in said
    assert "mix of" in said  # the first sentence of the script
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0"], "TRIALS: '0' is not a whole number of at least 1"),
        (["-4"], "TRIALS: '-4' is not"),
        (["x.png", "2.5"], "TRIALS: '2.5' is not"),
        (["x.png", "1", "many"], "STEPS: 'many' is not"),
        (["1", "0"], "STEPS: '0' is not"),
        (["1", "1", "1"], "unrecognized arguments: 1"),
        (["x.png", "1", "1", "1"], "unrecognized arguments: 1"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["x.txt"], "cannot write 'x.txt'"),
        (["x"], "cannot write 'x'"),
        (["no-such-folder/x.png"], "there is no folder 'no-such-folder'"),
        (["."], "it is a folder"),
    ],
)
def test_what_an_example_cannot_do_it_says_before_the_run(
    words: list[str],
    message: str,
    tmp_path: Path,
    run_example: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("vbmle.simulate", lambda *_: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as end:
        run_example("inventory", *words)
    assert end.value.code == 2
    usage, said = capsys.readouterr().err.splitlines()
    assert usage == "usage: inventory.py [-h] [FILE.png] [TRIALS] [STEPS]"
    assert message in said
    assert not list(tmp_path.iterdir())


def test_worlds_with_settings_of_their_own_are_named():
    assert set(EXAMPLES) <= set(WORLDS)


def test_a_model_of_your_own_has_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, picture = tmp_path / "brook.npz", tmp_path / "brook.png"
    riverswim(length=4).mdp.save(model)
    with pytest.raises(SystemExit) as end:
        app(["worlds", "--draw", str(model), str(picture)])
    assert end.value.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit) as end:
        app(["worlds", "--draw", str(tmp_path / "none.npz"), str(picture)])
    assert end.value.code == 2
    assert "none.npz" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        app(["worlds", "--draw", "rivrswim", str(picture)])
    assert "MODEL.npz" in capsys.readouterr().err
