"""Sudden ends of six kinds, over and over: what goes on afterwards ends as if nothing had happened.

`python tests/kills.py 5` makes so many of each kind (`make torture`). The test suite has each of them once, here and in
test_cli_run, test_cli and experiments/test_cluster.

- a worker of a sweep is killed, which goes on;
- a sweep is killed with its workers, interrupted (Ctrl-C), or finds the disk full: run again, it has the records of a
  sweep that nothing happened to, value for value;
- a worker of a dask cluster is killed;
- a process is killed while it saves an agent: the file is the old one or the new one, and either goes on.

Every end comes at a moment of its own, drawn from the number of the case: `--only worker:3` makes one again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sweeps import count, found, same

import vbmle
from vbmle.experiments.spec_file import read

SPEC = """
name = "kills"
trials = 10
horizon = 120
[record]
steps = "log"
[worlds.net]
world = "random_network"
states = 5
actions = 3
dimension = 3
[agents.VBMLE]
[agents.MaximumLikelihood]
"""
TRIALS = 2 * 10
PATIENCE = 300.0  # seconds, against hanging only
# What a shell starts in the background ignores interrupts, and so does all that it starts, but for this.
RUN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from vbmle.cli import app; app()"


def start(*arguments: object, code: str = RUN, **extra: Any) -> subprocess.Popen[str]:
    """A Python process in a group of its own, so that all of it can be ended at once."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    return subprocess.Popen(command, **(pipes | extra))


def finish(process: subprocess.Popen[str]) -> int:
    _, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in (err or ""), err
    return process.returncode


def sweep(spec: Path, out: Path, *options: object, **extra: Any) -> subprocess.Popen[str]:
    return start("run", spec, "--out", out, *(options or ("--jobs", 2)), **extra)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened for too long"
        time.sleep(0.005)


def middle(run: subprocess.Popen[str], out: Path, moment: random.Random) -> bool:
    """Wait for a moment in the middle; False where the run was over before."""
    wanted = moment.randrange(TRIALS - 4)
    until(lambda: count(out) >= wanted or run.poll() is not None)
    time.sleep(moment.random() * 0.05)
    return run.poll() is None


def workers_of(run: subprocess.Popen[str]) -> list[int]:
    """The processes that a run computes in."""
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    return [n for n in map(int, children) if b"spawn_main" in Path(f"/proc/{n}/cmdline").read_bytes()]


class Sweeps:
    """A spec, and the records of a run that nothing happens to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.spec = folder, folder / "kills.toml"
        self.spec.write_text(SPEC)
        self.experiment = read(self.spec)
        assert len(self.experiment.all_trials()) == TRIALS
        assert finish(sweep(self.spec, folder / "whole")) == 0

    def again(self, out: Path) -> None:
        """Run to the end what was ended."""
        assert finish(sweep(self.spec, out)) == 0
        self.require_same(out)

    def require_same(self, out: Path) -> None:
        """Every record equal, value for value."""
        whole, there = found(self.folder / "whole", self.experiment), found(out, self.experiment)
        assert len(whole) == len(there) == TRIALS
        for name, record in whole.items():
            same(record, there[name])
        assert [path.name for path in out.glob("records*")] == ["records.sqlite"]
        assert not list(out.rglob("*.part"))


def worker(sweeps: Sweeps, out: Path, moment: random.Random) -> bool:
    """One of two workers is killed; the run goes on by itself."""
    run = sweep(sweeps.spec, out)
    wanted = moment.randrange(1, TRIALS - 4)
    until(lambda: count(out) >= wanted or run.poll() is not None)
    victims = [] if run.poll() is not None else workers_of(run)
    if victims:
        os.kill(moment.choice(victims), signal.SIGKILL)
    assert finish(run) == 0
    sweeps.require_same(out)
    return bool(victims)


def whole_run(sweeps: Sweeps, out: Path, moment: random.Random) -> bool:
    """The run and its workers are killed at once, as by a power cut."""
    run = sweep(sweeps.spec, out)
    in_time = middle(run, out, moment)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE)
    sweeps.again(out)
    return in_time


def interrupt(sweeps: Sweeps, out: Path, moment: random.Random) -> bool:
    """Ctrl-C."""
    run = sweep(sweeps.spec, out)
    until(lambda: count(out) or run.poll() is not None)  # its own beginning is Python's to end
    time.sleep(moment.random() * 0.2)
    in_time = run.poll() is None
    if in_time:
        os.killpg(run.pid, signal.SIGINT)
    code = finish(run)
    assert code in (0, 130), code
    sweeps.again(out)
    return code == 130


def full_disk(sweeps: Sweeps, out: Path, moment: random.Random) -> bool:
    """No file may grow beyond some bytes: records do not fit, or reports do not."""
    most = moment.choice([200, 500, 1000, 2000, 3000, 5000, 20_000, 100_000])

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    run = sweep(sweeps.spec, out, "--jobs", 1, preexec_fn=small)
    assert finish(run) in (1, 2)
    sweeps.again(out)
    return True


def cluster_worker(sweeps: Sweeps, out: Path, moment: random.Random) -> bool:
    """One of two workers of a dask cluster is killed; the run goes on by itself."""
    out.mkdir()
    file, quiet = out / "scheduler.json", {"stderr": subprocess.DEVNULL}
    dask = "from distributed.cli.dask_{0} import main; main()"
    place = ["--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file]
    started = [start(*place, code=dask.format("scheduler"), **quiet)]
    try:
        until(lambda: file.exists() and file.read_text().strip().endswith("}"))
        address = json.loads(file.read_text())["address"]
        plain = ["--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", out / "dask"]
        started += [start(address, *plain, code=dask.format("worker"), **quiet) for _ in range(2)]
        run = sweep(sweeps.spec, out / "sweep", "--dask", address)
        wanted = moment.randrange(1, TRIALS - 4)
        until(lambda: count(out / "sweep") >= wanted or run.poll() is not None)
        in_time = run.poll() is None
        started[1 + moment.randrange(2)].kill()
        assert finish(run) == 0
    finally:
        for process in started:
            process.kill()
            process.communicate()
    sweeps.require_same(out / "sweep")
    return in_time


SAVE = """
import sys, vbmle
world = vbmle.worlds.riverswim(length=5, features="mixture")
agent = vbmle.VBMLE.load(sys.argv[1], world.mdp)
while True:
    vbmle.simulate(agent, world, 1, seed=agent.counts.total)
    agent.save(sys.argv[1])
"""


def saving(sweeps: Sweeps | None, out: Path, moment: random.Random) -> bool:
    """Killed while it saves: what is there goes on as an agent would that nobody killed."""
    out.mkdir()
    path, world = out / "agent.npz", vbmle.worlds.riverswim(length=5, features="mixture")
    vbmle.VBMLE(world.mdp, seed=3).save(path)
    first = path.stat().st_ino
    process = start(path, code=SAVE)
    until(lambda: path.stat().st_ino != first or process.poll() is not None)
    time.sleep(moment.random() * 0.3)
    process.kill()
    process.communicate(timeout=PATIENCE)
    found = vbmle.VBMLE.load(path, world.mdp)
    steps, alone = found.counts.total, vbmle.VBMLE(world.mdp, seed=3)
    for step in range(steps):
        vbmle.simulate(alone, world, 1, seed=step)
    for step in range(steps, steps + 5):
        one, two = (vbmle.simulate(agent, world, 1, seed=step) for agent in (found, alone))
        assert one.actions.tolist() == two.actions.tolist()
        assert one.next_states.tolist() == two.next_states.tolist()
    assert (found.counts.values == alone.counts.values).all()
    assert (found.theta == alone.theta).all()
    found.save(path)
    assert [file.name for file in out.iterdir()] == ["agent.npz"]
    return steps > 0


KINDS: dict[str, Callable[[Any, Path, random.Random], bool]] = {
    "worker": worker,
    "run": whole_run,
    "interrupt": interrupt,
    "disk": full_disk,
    "cluster": cluster_worker,
    "saving": saving,
}
WORDS = {
    "worker": "a worker of a sweep killed",
    "run": "a sweep and its workers killed",
    "interrupt": "a sweep interrupted",
    "disk": "a full disk under a sweep",
    "cluster": "a worker of a dask cluster killed",
    "saving": "killed while it saves an agent",
}


def one(sweeps: Sweeps, kind: str, number: int) -> bool:
    """A case; whether its end came in the middle."""
    out = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=sweeps.folder)) / "out"
    try:
        return KINDS[kind](sweeps, out, random.Random(f"{kind} {number}"))
    finally:
        shutil.rmtree(out.parent, ignore_errors=True)


def main(count: int, only: str | None) -> int:
    broken = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        sweeps = Sweeps(Path(name))
        for kind in KINDS if only is None else [only.split(":")[0]]:
            made = 0
            for number in range(count) if only is None else [int(only.split(":")[1])]:
                try:
                    made += one(sweeps, kind, number)
                except Exception as error:
                    broken += 1
                    print(f"{kind}:{number}: {error!r}"[:400], flush=True)
            print(f"{WORDS[kind]}: {count if only is None else 1} times, {made} in the middle", flush=True)
    print(f"{broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1, help="of each kind")
    parser.add_argument("--only", help="KIND:NUMBER of one that is made again")
    given = parser.parse_args()
    sys.exit(main(given.count, given.only))
