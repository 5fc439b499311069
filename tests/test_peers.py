"""The comparison with other libraries: what it counts, how it resumes, and DQN's part with a stand-in for DQN."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import vbmle

SCRIPT = Path(__file__).parents[1] / "examples" / "peers" / "peers.py"
OURS = ["VBMLE", "VBMLE, log bias", "posterior sampling", "Q-learning", "Q-learning, epsilon .1"]


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    import importlib

    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return importlib.import_module("peers")


class StandIn:
    """Learns nothing, and plays one policy in the way that Stable-Baselines3 drives an environment."""

    def __init__(self, policy, kind, env, **settings):
        self.policy, self.kind, self.env, self.settings, self.seen = policy, kind, env, settings, []

    def predict(self, observation, deterministic=False):
        return np.int64(self.policy[observation]), None

    def learn(self, total_timesteps):
        state, _ = self.env.reset(seed=self.settings["seed"])
        for _ in range(total_timesteps):
            state, reward, terminated, truncated, _ = self.env.step(np.int64(self.policy[state]))
            self.seen.append(reward)
            if terminated or truncated:
                self.env.reset()


def test_the_loss_is_the_running_difference_of_rewards(peers):
    assert peers.lost([1.0, 1.0, 0.0], [0.0, 1.0, 2.0]).tolist() == [1.0, 1.0, -1.0]


def test_runs_of_different_length_are_not_compared(peers):
    with pytest.raises(ValueError, match="3 steps and the agent for 2"):
        peers.lost([1.0, 1.0, 0.0], [0.0, 1.0])


@pytest.mark.parametrize("world_name", ["riverswim", "frozen_lake", "inventory", "queue"])
@pytest.mark.parametrize("agent", ["DQN, defaults", "DQN, set up"])
def test_a_dqn_that_plays_the_best_policy_loses_nothing(peers, tmp_path: Path, world_name: str, agent: str):
    """Chance is that of `simulate`, step by step, in one run without truncation; rewards are in the world's units."""
    world = vbmle.worlds.WORLDS[world_name](**peers.SETTINGS[world_name])
    oracle, made = vbmle.Oracle(world.mdp, world.theta), []
    best = vbmle.earned(world, vbmle.simulate(oracle, world, 1200, seed=3))

    def make(*arguments, **settings):
        made.append(StandIn(oracle.policy, *arguments, **settings))
        return made[-1]

    got, player = peers.deep_q(peers.Task(world_name, agent, 3, 1200, str(tmp_path)), world, make)
    np.testing.assert_array_equal(player.policy, oracle.policy)
    assert peers.learnt(world, player) == pytest.approx(1.0)
    np.testing.assert_allclose(got, best, rtol=0.0, atol=1e-9)
    (model,) = made
    assert model.settings["gamma"] == world.mdp.discount
    assert model.settings["seed"] != 3, "exploration would share the world's chance"
    if agent == "DQN, set up":
        assert 0.0 <= min(model.seen) <= max(model.seen) <= 1.0 + 1e-12
        assert "unit_rewards" not in model.settings
    else:
        assert model.seen == got.tolist()


def test_a_dqn_whose_run_was_broken_is_refused(peers, tmp_path: Path):
    class Twice(StandIn):
        def learn(self, total_timesteps):
            super().learn(total_timesteps)
            self.env.reset()

    world = vbmle.worlds.riverswim()
    task = peers.Task("riverswim", "DQN, defaults", 0, 5, str(tmp_path))
    with pytest.raises(RuntimeError, match="reset 2 times"):
        peers.deep_q(task, world, lambda *a, **s: Twice(np.zeros(6, np.int64), *a, **s))


def test_a_record_holds_what_simulate_says(peers, tmp_path: Path):
    task = peers.Task("riverswim", "Q-learning", 1, 250, str(tmp_path))
    record = peers.run(task)
    world = vbmle.worlds.riverswim(6)
    history = vbmle.simulate(vbmle.QLearning(world.mdp, seed=peers.AGENT_SEED + 1), world, 250, seed=1)
    best = vbmle.earned(world, vbmle.simulate(vbmle.Oracle(world.mdp, world.theta), world, 250, seed=1))
    assert record["regret"] == history.regret[-1]
    assert record["best"] == best.sum()
    assert record["steps"][-1] == 250
    assert record["lost"][-1] == pytest.approx((best - vbmle.earned(world, history)).sum(), abs=1e-9)
    assert peers.finished(task) == json.loads(json.dumps(record))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"asked": {}}', "7"])
def test_a_record_that_is_damaged_or_of_another_run_is_made_again(peers, tmp_path: Path, damage: str):
    task = peers.Task("riverswim", "Q-learning", 0, 20, str(tmp_path))
    peers.run(task)
    assert peers.finished(peers.Task("riverswim", "Q-learning", 0, 21, str(tmp_path))) is None
    task.file.write_text(damage)
    assert peers.finished(task) is None


def test_every_agent_has_a_file_and_a_look_of_its_own(peers):
    tasks = [peers.Task("queue", agent, 0, 1, "") for agent in peers.AGENTS]
    assert len({task.file for task in tasks}) == len(tasks)
    assert len({peers.LOOKS[agent] for agent in peers.AGENTS}) == len(peers.AGENTS)


def test_the_picture_can_be_drawn_again_from_the_table_of_the_page(peers, tmp_path: Path):
    tasks = [
        peers.Task(world, agent, trial, 60, "")
        for trial in range(8)  # from fewer than six there is no interval
        for world in peers.SETTINGS
        for agent in OURS
    ]
    records = {
        task: {
            "lost": [100.0 + 10 * task.trial],
            "best": 4000.0,
            "regret": 1.0,
            "learnt": 1.0,
            "seconds": 1.0,
        }
        for task in tasks
    }
    page = tmp_path / "peers.md"
    page.write_text(f"{peers.table(records, OURS)}\n")
    made, read = peers.shares(records, OURS), peers.shares_on(page)
    assert read.keys() == made.keys()
    for world in made:
        assert list(read[world]) == OURS
        for agent in OURS:
            # the table rounds to whole numbers, of 4000
            assert vars(read[world][agent]) == pytest.approx(vars(made[world][agent]), abs=100 * 0.5 / 4000)
    (tmp_path / "images").mkdir()
    peers.main(["--redraw", "--page", str(page)])
    assert (tmp_path / "images" / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_runs_resumes_and_fills_the_page(tmp_path: Path):
    page = tmp_path / "docs" / "peers.md"
    (page.parent / "images").mkdir(parents=True)
    page.write_text("before\n<!-- measured -->\nold\n<!-- /measured -->\nafter\n")
    out = tmp_path / "out"
    size = ["--trials", "2", "--steps", "30", "--jobs", "1", "--agents", *OURS]
    command = [sys.executable, str(SCRIPT), "--out", str(out), "--page", str(page), *size]
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    assert "40 runs, 0 of them done before" in first.stdout
    assert (page.parent / "images" / "peers.png").read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert (out / "peers.md").read_text() in text
    assert "old" not in text
    assert text.startswith("before\n<!-- measured -->")
    assert text.endswith("<!-- /measured -->\nafter\n")
    records = sorted((out / "records").iterdir())
    assert len(records) == 40
    kept = {path: path.stat().st_mtime_ns for path in records[1:]}
    records[0].unlink()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "40 runs, 39 of them done before" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert sorted((out / "records").iterdir()) == records


def test_one_trial_makes_tables_without_intervals(peers, tmp_path: Path):
    tasks = [peers.Task(world, "posterior sampling", 0, 10, str(tmp_path)) for world in peers.SETTINGS]
    records = {task: peers.run(task) for task in tasks}
    text = peers.table(records, ["posterior sampling"])
    assert "nan" not in text
    assert "] " not in text.split("share of the best:")[1]
    peers.draw(peers.shares(records, ["posterior sampling"]), tmp_path / "one.png")
    assert (tmp_path / "one.png").exists()


@pytest.mark.parametrize(
    ("value", "text"), [(-0.0, "0"), (0.04, "0"), (-0.3, "-0.3"), (1234.5, "1,234"), (-99.96, "-100")]
)
def test_numbers_are_rounded_for_reading(peers, value: float, text: str):
    assert peers.number(value) == text


def test_a_page_without_marks_is_refused(peers, tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("nothing here\n")
    with pytest.raises(SystemExit, match="needs one <!-- measured -->"):
        peers.into_page(page, "text", tmp_path / "peers.png")
    assert page.read_text() == "nothing here\n"


def test_the_package_never_imports_the_peers_libraries():
    for path in (SCRIPT.parents[2] / "src").rglob("*.py"):
        assert "import stable_baselines3" not in path.read_text()
        assert "import torch" not in path.read_text()
