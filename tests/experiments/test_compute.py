"""Workers: what is left of a run when some of them die, and what an interrupt costs."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vbmle.experiments.compute import Lost, Workers


def test_a_killed_worker_loses_only_who_kills_it():
    tasks = [f"{n} * {n}" for n in range(12)]
    tasks.insert(3, "__import__('os').kill(__import__('os').getpid(), 9)")
    with Workers(2) as workers:
        found = dict(workers.results(eval, tasks))
    lost = [task for task, result in found.items() if isinstance(result, Lost)]
    assert lost == [tasks[3]]
    assert [found[f"{n} * {n}"] for n in range(12)] == [n * n for n in range(12)]


def test_a_worker_killed_once_costs_nothing(tmp_path: Path):
    mark = tmp_path / "killed"
    once = (
        f"(m := __import__('pathlib').Path({str(mark)!r})).exists() or (m.touch(), __import__('os')._exit(1))"
    )
    with Workers(1) as workers:
        assert dict(workers.results(eval, [once, "1 + 1"])) == {once: True, "1 + 1": 2}


def test_when_every_worker_dies_the_rest_is_given_up():
    tasks = [f"__import__('os')._exit({n + 1})" for n in range(40)]
    with Workers(1) as workers:
        found = list(workers.results(eval, tasks))
    assert sorted(task for task, _ in found) == sorted(tasks)
    assert all(isinstance(result, Lost) for _, result in found)


def test_an_interrupt_does_not_wait_for_what_is_in_flight():
    """Even if the system hands the signal to a thread that is not the main one."""
    code = """
import signal, threading, time
from vbmle.experiments.compute import Workers

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored

def interrupt():
    time.sleep(1.0)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

with Workers(1) as workers:
    for _ in workers.results(time.sleep, [0, 600]):
        threading.Thread(target=interrupt).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_workers_leave_interrupts_to_the_parent_from_birth():
    """Ctrl-C reaches the whole group: a worker that is still importing must not print its own traceback."""
    mask = "__import__('signal').pthread_sigmask(0, [])"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with Workers(1) as workers:
        ((_, found),) = workers.results(eval, [f"__import__('signal').SIGINT in {mask}"])
    assert found is True
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    assert signal.SIGINT not in before


def test_workers_have_one_thread_and_leave_the_environment_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with Workers(1) as workers:
        ((_, found),) = workers.results(os.getenv, ["OMP_NUM_THREADS"])
    assert found == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_any_executor_will_do():
    with Workers(2, open_pool=lambda: ThreadPoolExecutor(2)) as workers:
        assert dict(workers.results(abs, [-1, -2, 3])) == {-1: 1, -2: 2, 3: 3}
