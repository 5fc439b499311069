"""A sweep on a real dask cluster: the same records as at home, though a worker is killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sweeps import count, found, same

from vbmle.cli import app
from vbmle.experiments.cluster import Cluster
from vbmle.experiments.compute import PoolGone
from vbmle.experiments.spec_file import read

SPEC = """
name = "cluster"
trials = 12
horizon = 150
[record]
distance = true
[worlds.net]
world = "random_network"
states = 5
actions = 3
dimension = 4
[agents.VBMLE]
[agents.MaximumLikelihood]
"""
PATIENCE = 900  # seconds, against hanging only

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `python ARGUMENTS`; all that runs is killed in the end."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object, **extra: Any) -> subprocess.Popen[str]:
        command = [sys.executable, *map(str, arguments)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, **(pipes | extra)))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened for too long"
        time.sleep(0.02)


def scheduler(start: Start, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A scheduler, and its address."""
    file = folder / "scheduler.json"
    place = ["--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = start("-m", "distributed.cli.dask_scheduler", *place, **quiet)
    until(lambda: file.exists() and file.read_text().strip().endswith("}"))
    return process, json.loads(file.read_text())["address"]


def worker(start: Start, address: str, folder: Path) -> subprocess.Popen[str]:
    options = ["--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", folder]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return start("-m", "distributed.cli.dask_worker", address, *options, **quiet)


def vbmle(start: Start, *arguments: object) -> subprocess.Popen[str]:
    return start("-c", "from vbmle.cli import app; app()", *arguments)


OWN = """
[agents.mine]
agent = "mine_on_a_cluster:Mine"
"""
MINE = """
import vbmle

class Mine(vbmle.MaximumLikelihood):
    def act(self, state):
        return super().act(state)
"""


def test_a_cluster_that_loses_a_worker_makes_the_records_of_home(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
):
    """An agent of one's own among them, whose file lies beside the spec and in no worker's path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec, home, away = tmp_path / "spec.toml", tmp_path / "home", tmp_path / "away"
    spec.write_text(SPEC + OWN)
    (tmp_path / "mine_on_a_cluster.py").write_text(MINE)
    _, address = scheduler(start, tmp_path)
    workers = [worker(start, address, tmp_path / name) for name in ("one", "two")]
    run = vbmle(start, "run", spec, "--out", away, "--dask", address)
    until(lambda: count(away) or run.poll() is not None)
    workers[0].send_signal(signal.SIGKILL)
    assert count(away) < 36, "the run was over before the worker was killed"
    _, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, err
    assert f"threads of the cluster at {address}" in err
    done = vbmle(start, "run", spec, "--out", home, "--jobs", 2)
    assert done.wait(PATIENCE) == 0
    experiment = read(spec)
    at_home, there = found(home, experiment), found(away, experiment)
    assert len(at_home) == len(there) == len(experiment.all_trials())
    for name, record in at_home.items():
        same(record, there[name])
    assert (away / "report.html").exists()


def test_an_interrupt_and_the_end_of_the_cluster_keep_what_is_complete(tmp_path: Path, start: Start):
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    boss, address = scheduler(start, tmp_path)
    run = vbmle(start, "run", spec, "--trials", 2000, "--out", out, "--dask", address)
    worker(start, address, tmp_path / "one")  # later than the run: it waits for one
    until(lambda: count(out) or run.poll() is not None)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=PATIENCE)
    assert (run.returncode, err.splitlines()[-1][:18]) == (130, "vbmle: interrupted"), err
    kept = count(out)
    assert kept < len(read(spec, trials=2000).all_trials()) / 2, "it did not go on to the end"
    again = vbmle(start, "run", spec, "--trials", 2000, "--out", out, "--dask", address)
    until(lambda: count(out) > kept or again.poll() is not None)
    boss.kill()
    _, err = again.communicate(timeout=PATIENCE)
    assert again.returncode == 1, err
    assert err.splitlines()[-1].startswith("vbmle: the cluster is gone")
    assert "Traceback" not in err


class Executor:
    """Refuses every task, as that of a client that has lost its scheduler."""

    def submit(self, *_: object) -> None:
        raise RuntimeError("Can't send update-graph message.")


class Lost:
    """A client, and what it knows of its cluster."""

    def __init__(self, status: str) -> None:
        self.status = status

    def get_executor(self, **_: object) -> Executor:
        return Executor()


def test_a_cluster_that_is_lost_while_tasks_are_handed_over_is_gone():
    """What a client refuses for another reason is no loss of the cluster."""
    for status in ("closing", "closed", "connecting"):
        with pytest.raises(PoolGone):
            Cluster(Lost(status)).submit(print)
    with pytest.raises(RuntimeError, match="update-graph"):
        Cluster(Lost("running")).submit(print)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line about bad input."""
    with pytest.raises(SystemExit) as end:
        app([str(item) for item in arguments], prog_name="vbmle")
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err


def test_what_keeps_a_cluster_from_being_used_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    command = ["run", spec, "--out", out, "--dask"]
    assert "missing port number" in refused(capsys, *command, "127.0.0.1")
    assert "unknown address scheme" in refused(capsys, *command, "carrier-pigeon://coop:1")
    assert "--jobs" in refused(capsys, *command, "127.0.0.1:1", "--jobs", 2)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'vbmle[cluster]'" in refused(capsys, *command, "127.0.0.1:1")
    assert not out.exists()


def test_an_address_where_nobody_answers_is_one_line(tmp_path: Path, start: Start):
    (tmp_path / "spec.toml").write_text(SPEC)
    run = vbmle(start, "run", tmp_path / "spec.toml", "--out", tmp_path / "out", "--dask", "127.0.0.1:9")
    _, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert len(err.splitlines()) == 1
    assert "--dask 127.0.0.1:9: no scheduler answers there" in err
    assert not os.path.exists(tmp_path / "out")
