"""vbmle run, as a process of its own: what is left when it, or a part of it, comes to a sudden end."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sweeps import count, found, same

from vbmle.experiments.spec_file import read

SPEC = """
name = "sweep"
trials = 12
horizon = 150
[record]
steps = "log"
mle_error = true
[worlds.net]
world = "random_network"
states = 5
actions = 3
dimension = { sweep = [3, 4] }
[agents.VBMLE]
[agents.plain]
agent = "MaximumLikelihood"
"""
TRIALS = 2 * 2 * 12
PATIENCE = 900
"""Seconds, against hanging only."""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "sweep.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture(scope="module")
def whole(spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing happens to, by one worker."""
    folder = tmp_path_factory.mktemp("whole")
    done = finish(start(spec, folder, "--jobs", "1"))
    assert done[0] == 0, done[2]
    return folder


def start(spec: Path, folder: Path, *options: str, first: str = "") -> subprocess.Popen[str]:
    """`vbmle run` in a process of its own, which does `first` before anything else."""
    command = [
        sys.executable,
        "-c",
        f"{first}\nfrom vbmle.cli import app; app()",
        "run",
        str(spec),
        "--out",
        str(folder),
    ]
    return subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def wait_for_records(process: subprocess.Popen[str], folder: Path, least: int = 1) -> None:
    while process.poll() is None and count(folder) < least:
        time.sleep(0.02)
    assert least <= count(folder) < TRIALS, "it must be in the middle"


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes that the run has started to compute in."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [n for n in map(int, children) if b"spawn_main" in Path(f"/proc/{n}/cmdline").read_bytes()]


def assert_same_records(spec: Path, one: Path, two: Path) -> None:
    experiment = read(spec)
    assert len(experiment.all_trials()) == TRIALS
    there = found(two, experiment)
    assert len(there) == TRIALS
    for name, record in found(one, experiment).items():
        same(record, there[name])


def test_a_run_ends_in_a_report_and_again_in_nothing_to_do(spec: Path, whole: Path):
    page = (whole / "report.html").read_bytes()
    content = (whole / "records.sqlite").read_bytes()
    code, _, err = finish(start(spec, whole))
    assert code == 0
    assert "nothing to do: all" in err
    assert "running" not in err
    assert "preparing" not in err
    assert (whole / "records.sqlite").read_bytes() == content
    assert (whole / "report.html").read_bytes() == page


def test_records_are_read_as_the_documentation_says(whole: Path, tmp_path: Path):
    text = (Path(__file__).parents[1] / "docs" / "sweeps.md").read_text()
    (block,) = re.findall(r"^```py\n([^`]*read_records[^`]*)^```", text, re.MULTILINE)
    (tmp_path / "rivers").symlink_to(whole)
    check = (
        "\nassert table['world_dimension'].unique().sort().to_list() == [3, 4], table\nprint(table.columns)"
    )
    command = [sys.executable, "-c", block + check]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (
        "'world', 'agent', 'trial', 'step', 'regret', 'seconds', 'trouble', 'mle_error', 'states'"
        in done.stdout
    )


def test_a_killed_worker_changes_no_record(spec: Path, whole: Path, tmp_path: Path):
    run = start(spec, tmp_path, "--jobs", "2")
    wait_for_records(run, tmp_path)
    victims = workers_of(run)
    assert len(victims) == 2
    os.kill(victims[0], signal.SIGKILL)
    code, _, err = finish(run)
    assert code == 0, err
    assert_same_records(spec, whole, tmp_path)


def test_a_killed_run_loses_only_what_was_in_flight(spec: Path, whole: Path, tmp_path: Path):
    run = start(spec, tmp_path, "--jobs", "2")
    wait_for_records(run, tmp_path, least=4)
    os.killpg(run.pid, signal.SIGKILL)
    finish(run)
    before = found(tmp_path, read(spec))
    assert 4 <= len(before) == count(tmp_path) < TRIALS
    code, _, err = finish(start(spec, tmp_path))
    assert code == 0, err
    assert f"running {TRIALS - len(before)} of {TRIALS} trials" in err
    after = found(tmp_path, read(spec))
    for name, record in before.items():
        np.testing.assert_array_equal(
            record.columns["seconds"], after[name].columns["seconds"]
        )  # not run again
    assert_same_records(spec, whole, tmp_path)


def test_a_full_disk_ends_the_run_in_one_line(spec: Path, whole: Path, tmp_path: Path):
    """No file may grow beyond some bytes: the system refuses to write, as on a disk without space."""
    full = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    )
    code, out, err = finish(start(spec, tmp_path, "--jobs", "1", first=full))
    assert (code, out) == (1, "")
    last = err.splitlines()[-1]
    assert last.startswith(f"vbmle: cannot write {tmp_path / 'records.sqlite'} (")
    assert last.endswith("); run again to go on")
    assert "Traceback" not in err
    kept = found(tmp_path, read(spec))
    assert 0 < len(kept) < TRIALS
    code, _, err = finish(start(spec, tmp_path))
    assert code == 0, err
    assert f"running {TRIALS - len(kept)} of {TRIALS} trials" in err
    assert_same_records(spec, whole, tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(spec: Path, tmp_path: Path):
    """Below a file no folder can be made, not even by root."""
    (tmp_path / "file").write_text("")
    code, out, err = finish(start(spec, tmp_path / "file" / "deep"))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"--out {tmp_path / 'file' / 'deep'}: cannot write there" in err


def test_a_slip_in_the_spec_is_one_line_and_leaves_nothing(tmp_path: Path):
    spec = tmp_path / "sweep.toml"
    spec.write_text(SPEC.replace("[agents.VBMLE]", "[agents.VBMLE]\nserach = 'global'"))
    code, out, err = finish(start(spec, tmp_path / "out"))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(
        f"vbmle: {spec}: agents.VBMLE: unknown setting 'serach' (did you mean 'search'?). Settings of VBMLE: "
    )
    assert not (tmp_path / "out").exists()
