"""What Python hands to the page: the grid, the numbers of a model, recorded runs, and the command."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused, warned
from typer.testing import CliRunner

import vbmle
from vbmle.play import encode, grid, page, recorded
from vbmle.play.scenes import own, read, scenes


def unpacked(data: dict[str, str]) -> Any:
    return np.frombuffer(base64.b64decode(data["bytes"]), dtype=encode.TYPES[data["type"]])


def own_world(dimension: int, states: int = 5) -> vbmle.World:
    return vbmle.worlds.random_network(states, 2, dimension, seed=3)


def test_the_points_of_the_grid_are_all_mixtures_of_whole_parts():
    thetas = grid.points(7)
    assert len(np.unique(np.round(7 * thetas), axis=0)) == 8 * 9 // 2
    np.testing.assert_allclose(thetas.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert thetas.min() == 0.0


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.key)
def test_the_worlds_of_the_page_are_triangles_with_words_for_everything(scene):
    mdp = scene.world.mdp
    assert grid.is_triangle(mdp)
    assert len(scene.models) == 3
    assert len(scene.states) == mdp.num_states
    assert len(scene.actions) == len(scene.verbs) == len(scene.glyphs) == mdp.num_actions
    assert scene.at == () or len(scene.at) == mdp.num_states


def test_what_is_no_triangle_is_told_apart():
    stochastic = np.full((2, 2, 2), 0.5)
    models, reward = [np.eye(2)[[[0, 1], [0, 1]]], np.eye(2)[[[1, 0], [0, 1]]], stochastic], np.zeros((2, 2))
    simplex = vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)
    assert grid.is_triangle(simplex)
    with warned("models[1]", "models[2]"):
        larger = vbmle.LinearMixtureMDP.from_models(
            [*models[:1], stochastic, stochastic], reward, 0.9, domain="polytope"
        )
    assert not grid.is_triangle(larger)  # the last weight may be negative there
    assert not grid.is_triangle(vbmle.LinearMixtureMDP.from_models(models[:2], reward, 0.9))
    assert not grid.is_triangle(vbmle.worlds.closed_loop_trap().mdp)


@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.key)
def test_the_numbers_of_a_model_are_those_of_the_package(scene):
    """Transitions, features and rewards, put together again, give the values of the package."""
    mdp, rng = scene.world.mdp, np.random.default_rng(0)
    data = encode.model(mdp, grid.lay(mdp, 4))
    phi = unpacked(data["phi"]).reshape(-1, 3)
    reward = unpacked(data["reward"]).reshape(-1, 3)
    indptr, successor = unpacked(data["indptr"]), unpacked(data["successor"])
    theta = rng.dirichlet(np.ones(3))
    policy = rng.integers(mdp.num_actions, size=mdp.num_states)
    moves = np.zeros((mdp.num_states, mdp.num_states))
    rows = np.arange(mdp.num_states) * mdp.num_actions + policy
    for s, row in enumerate(rows):
        span = slice(indptr[row], indptr[row + 1])
        moves[s, successor[span]] = phi[span] @ theta
    value = np.linalg.solve(np.eye(mdp.num_states) - mdp.discount * moves, reward[rows] @ theta)
    np.testing.assert_allclose(value, vbmle.evaluate(mdp, theta, policy), rtol=0, atol=1e-10)
    values, thetas = unpacked(data["values"]).reshape(-1, mdp.num_states), grid.points(4)
    for g in (0, 7, 14):
        np.testing.assert_allclose(values[g], vbmle.plan(mdp, thetas[g]).V, rtol=1e-6)


def test_a_large_model_gets_a_coarser_grid():
    mdp = vbmle.worlds.queue(80).mdp
    laid = grid.lay(mdp, 60)
    assert laid.resolution < 60
    assert laid.values.nbytes + laid.policies.nbytes <= grid.LARGEST_GRID


def test_a_recorded_run_is_that_of_simulate():
    world = own_world(4)
    data = recorded.runs(own(world.mdp, world.theta, "mine"), horizon=30)
    history = vbmle.simulate(vbmle.VBMLE(world.mdp), world, 31, seed=0, record=("thetas",))
    run = data["runs"]["biased"]
    assert unpacked(run["states"]).tolist() == history.states.tolist()
    np.testing.assert_allclose(unpacked(run["regret"]), history.regret[:30], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        unpacked(run["thetas"]).reshape(31, 4), np.asarray(history.thetas), rtol=0, atol=1e-6
    )
    policies, chosen = unpacked(run["policies"]).reshape(-1, world.mdp.num_states), unpacked(run["chosen"])
    acted = policies[chosen, history.states]
    assert acted.tolist() == history.actions.tolist()


def test_a_page_closes_no_script_early():
    """Names are the user's own, and may hold anything."""
    text = page.page([{"title": "</script><b>{{ script }}"}], "own")
    assert text.count("</script>") == 2
    (data,) = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data)["scenes"][0]["title"] == "</script><b>{{ script }}"


@pytest.mark.parametrize(
    ("theta", "facts"),
    [
        (None, ("--model", "--theta", "3")),
        ("a,b,c", ("a,b,c", "numbers")),
        (".5,.5", ("theta", "(3,)")),
        (".5,.5,.5", ("theta", "1.5")),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, theta: str | None, facts: tuple[str, ...]):
    mdp = own_world(3).mdp
    mdp.save(tmp_path / "depot.npz")
    with refused(*facts):
        read(tmp_path / "depot.npz", theta)


def test_weights_without_a_model_are_refused():
    with refused("--model"):
        read(None, ".2,.3,.5")


def test_the_command_writes_the_page(tmp_path: Path):
    from vbmle.cli import app

    vbmle.LinearMixtureMDP.save(vbmle.worlds.queue(5).mdp, tmp_path / "depot.npz")
    given = ["--model", str(tmp_path / "depot.npz"), "--theta", ".2,.3,.5", "--no-open"]
    out = tmp_path / "mine.html"
    done = CliRunner().invoke(app, ["play", "--out", str(out), *given])
    assert done.exit_code == 0
    assert out.stat().st_size < page.LARGEST_PAGE
    (data,) = re.findall(r'id="data">(.*?)</script>', out.read_text(), re.DOTALL)
    assert json.loads(data)["first"] == "own"
    assert json.loads(data)["scenes"][0]["truth"] == [0.2, 0.3, 0.5]
    assert CliRunner().invoke(app, ["play", "--theta", "1", "--no-open"]).exit_code == 2
