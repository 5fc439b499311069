"""The problems that others published are theirs, and what can be earned in them is what the page says."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import vbmle

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "outside.md").read_text()


@pytest.fixture(scope="module")
def outside() -> ModuleType:
    """examples/outside.py."""
    spec = importlib.util.spec_from_file_location("outside", ROOT / "examples" / "outside.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["outside"] = module
    spec.loader.exec_module(module)
    return module


def gain(law: np.ndarray, reward: np.ndarray) -> float:
    """The average reward of a chain, by its stationary distribution."""
    states = len(law)
    system = np.vstack([(np.eye(states) - law).T, np.ones(states)])
    share = np.linalg.lstsq(system, np.eye(states + 1)[-1], rcond=None)[0]
    return float(share @ (law * reward).sum(axis=1))


def test_sixarms_by_hand(outside: ModuleType):
    """The last arm pays 6,000 a step and is reached in 100 steps on average, but for the very end: 4,900 steps."""
    problem = outside.sixarms()
    assert outside.ceiling(problem) == pytest.approx(4900 * 6000, abs=1e-3)
    assert f"{outside.ceiling(problem):,.0f}" in PAGE
    np.testing.assert_allclose(problem.law.sum(axis=2), 1.0)
    best = [problem.reward[arm].max() for arm in range(1, 7)]
    assert best == [50, 133, 300, 800, 1666, 6000]


def test_riverswim_by_the_average_reward(outside: ModuleType):
    """Backward induction over 5,000 steps is 5,000 times the gain, up to what the start and the end are worth."""
    problem = outside.riverswim()
    right = np.zeros(6, dtype=int)
    each = gain(problem.law[np.arange(6), right], problem.reward[np.arange(6), right])
    assert outside.ceiling(problem) == pytest.approx(3_336_494, abs=0.5)
    assert f"{outside.ceiling(problem):,.0f}" in PAGE
    slack = 5000 * each - outside.ceiling(problem)
    assert 0 < slack < 20 * 10_000 * each / problem.reward.max()
    scaled = np.where(problem.reward == 10_000, 1.0, problem.reward / 1000)
    scaled[5, 0, 4] = 1.0  # the variant with the reward in the last state, whatever comes next
    assert gain(problem.law[np.arange(6), right], scaled[np.arange(6), right]) == pytest.approx(
        0.22294, abs=5e-6
    )
    assert "0.22294" in PAGE


@pytest.mark.parametrize(("draw", "column"), [("chain", 0), ("double_loop", 2)])
def test_drawn_worlds_have_the_means_of_the_page(outside: ModuleType, draw: str, column: int):
    """For whoever knows the drawn world, and at random: of 500 worlds, to the digits that the page shows."""
    problems = [getattr(outside, draw)(np.random.default_rng(seed)) for seed in range(500)]
    chances = np.full(problems[0].law.shape[:2], 1 / problems[0].law.shape[1])
    found = {
        "**ceiling: the drawn world is known**": [outside.ceiling(one, 250, 0.95) for one in problems],
        "actions at random": [outside.played(one, chances) for one in problems],
    }
    for label, values in found.items():
        row = re.search(rf"^\| {re.escape(label)} \| (.+) \|$", PAGE, re.MULTILINE)
        assert row
        shown = row[1].split(" | ")[column].split(" ± ")
        digits = len(shown[0].split(".")[1])
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert shown == [f"{np.mean(values):.{digits}f}", f"{error:.{digits}f}"]


@pytest.mark.parametrize("draw", ["chain", "double_loop"])
def test_backward_induction_agrees_with_the_planner(outside: ModuleType, draw: str):
    """Up to what lies beyond 250 steps."""
    for seed in range(20):
        problem = getattr(outside, draw)(np.random.default_rng(seed))
        reward = (problem.law * problem.reward).sum(axis=2)
        mdp = vbmle.LinearMixtureMDP.from_models([problem.law], reward, 0.95, normalise_reward=True)
        beyond = 0.95**250 * reward.max() / 0.05
        best = outside.ceiling(problem, 250, 0.95)
        assert vbmle.plan(mdp, [1.0]).value @ problem.initial == pytest.approx(best, abs=beyond + 1e-6)


def test_rows_are_uniform_on_what_is_possible(outside: ModuleType):
    laws = np.array([outside.chain(np.random.default_rng(seed)).law for seed in range(2000)])
    back = laws[:, :, :, 0]
    assert abs(back - 0.5).mean() == pytest.approx(0.25, abs=4 * 0.1443 / np.sqrt(back.size))
    np.testing.assert_allclose(back.mean(axis=0), 0.5, atol=5 * 0.2887 / np.sqrt(len(laws)))
    assert set(np.flatnonzero(laws[0, 2, 0])) == {0, 3}


def test_it_prints_a_table_for_each_problem():
    command = [sys.executable, str(ROOT / "examples" / "outside.py"), "1", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split(",")[0] for line in done.stdout.splitlines() if line.endswith("of the ceiling |")] == [
        "| RiverSwim",
        "| SixArms",
        "| GC",
        "| GDL",
    ]
    assert done.stdout.count("vbmle.recommended") == 4
