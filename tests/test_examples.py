"""Examples run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from vbmle.experiments.records import load
from vbmle.experiments.spec_file import read

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_picture_of_the_readme_is_drawn(tmp_path: Path):
    picture = tmp_path / "regret.png"
    command = [sys.executable, str(EXAMPLES / "regret.py"), str(picture), "2", "40"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_drifts_is_drawn(tmp_path: Path):
    picture = tmp_path / "drift.png"
    command = [sys.executable, str(EXAMPLES / "drift.py"), str(picture), "1", "60"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_alarms_are_counted():
    """Few of them here; the page has the count of 1,000 runs."""
    command = [sys.executable, str(EXAMPLES / "alarms.py"), "2", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| `riverswim` | 2 | 0 | 0 | at most 0 |" in done.stdout
    assert "| one row |" in done.stdout
    assert "a fourth model, outside the set: 125 steps" in done.stdout


def test_the_depot_goes_from_the_first_table_to_the_alarm(tmp_path: Path):
    """Its own assertions hold, and what it prints is what its page shows."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / "depot.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (EXAMPLES.parent / "docs" / "tutorials" / "depot.md").read_text()
    for line in ("they were divided by their sums", "loudest at (s=empty, a=charge)", "restarts after ["):
        assert line in done.stdout
        assert line in page


def test_the_pictures_of_the_theory_are_drawn(tmp_path: Path):
    command = [sys.executable, str(EXAMPLES / "theory.py"), str(tmp_path), "2", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drawn = {path.name for path in tmp_path.iterdir()}
    shown = {path.name for path in (EXAMPLES.parent / "docs" / "images").glob("theory-*")}
    assert drawn == shown
    assert "covers" in done.stdout


@pytest.mark.parametrize("spec", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_sweep_runs_as_it_stands_but_shorter(spec: Path, tmp_path: Path):
    size = ["--trials", "1", "--horizon", "12", "--jobs", "1"]
    run = "from vbmle.cli import app; app()"
    command = [sys.executable, "-c", run, "run", str(spec), "--out", str(tmp_path), *size]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (results,) = load(tmp_path)
    assert results.experiment == read(spec, trials=1, horizon=12)
    assert len(results.records) == len(results.experiment.worlds) * len(results.experiment.agents)
    assert (tmp_path / "report.html").exists()


def test_a_hundred_seeds_in_a_script_of_25_lines(tmp_path: Path):
    script = EXAMPLES / "hundred_seeds.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(tmp_path), "6", "30"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "regret.pdf").read_bytes().startswith(b"%PDF")
    assert "VBMLE & PSRL & difference" in (tmp_path / "regret.tex").read_text()
    code = [line for line in script.read_text().splitlines() if line.strip()]
    assert len(code) <= 25


def test_a_users_script_runs(tmp_path: Path):
    """What mypy checks in it is that of `mypy --strict`: see pyproject.toml."""
    from users_script import main

    records = main(tmp_path)
    assert {"depth", "regret", "world_length"} <= set(records.columns)
    assert (tmp_path / "all.png").exists()
