"""Pictures of worlds: every one is drawn, and shows the policy that planning finds."""

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vbmle import plan
from vbmle.cli import app
from vbmle.report.draw import draw
from vbmle.worlds import (
    EXAMPLES,
    WORLDS,
    cliff_walking,
    frozen_lake,
    pricing,
    queue,
    random_network,
    riverswim,
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
        ("rivrswim", "x.png", "there is no world 'rivrswim'; did you mean 'riverswim'?"),
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


@pytest.mark.parametrize("name", ["inventory", "service_desk", "maintenance", "pricing"])
def test_examples_count_money(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Each of the four, short, with its picture; in this process, which has the kernels already."""
    folder, picture = Path(__file__).parents[1] / "examples", tmp_path / "money.png"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "argv", [name, str(picture), "1", "12"])
    runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert said.startswith("12 ")
    assert "euros lost" in said
    assert "VBMLE, log bias" in said
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_worlds_with_settings_of_their_own_are_named():
    assert set(EXAMPLES) <= set(WORLDS)
