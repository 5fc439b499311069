"""Many runs at once: an agent and a world made anew for each seed, in threads or processes.

The numbers are those of `simulate`, one by one. The first run is timed: what is left goes to processes where it takes
longer than they take to start and what is to be made can be sent there, and otherwise to threads, which share the time
that the core, without Python's lock, computes.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
import pickle
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import process_time
from typing import Any

from vbmle.common import validation
from vbmle.common.threads import ONE_THREAD, main_only_for
from vbmle.model.world import World
from vbmle.simulation import History, Metric, Player, Step, simulate

WORTH_A_PROCESS = 5.0
"""Seconds of work for each of them."""


@dataclass(frozen=True)
class _Job:
    """What is done for each seed."""

    make_agent: Callable[..., Player]
    make_world: Callable[..., World] | World
    horizon: int
    record: Collection[str]
    metrics: Mapping[str, Metric]
    stop: Callable[[Step], bool] | None

    def __call__(self, seed: int) -> History:
        world = self.make_world if isinstance(self.make_world, World) else _made(self.make_world, seed)
        truth = {"theta": world.theta.tolist()} if getattr(self.make_agent, "needs_truth", False) else {}
        agent = _made(self.make_agent, seed, world.mdp, **truth)
        return simulate(agent, world, self.horizon, seed, self.record, metrics=self.metrics, stop=self.stop)


def simulate_many(
    make_agent: Callable[..., Player],
    make_world: Callable[..., World] | World,
    horizon: int,
    seeds: Iterable[int] = range(100),
    *,
    jobs: int | None = None,
    record: Collection[str] = (),
    metrics: Mapping[str, Metric] | None = None,
    stop: Callable[[Step], bool] | None = None,
) -> list[History]:
    """Let an agent act in a world once for each seed, and return the histories in the order of the seeds.

    Each is what `simulate(agent, world, horizon, seed)` returns for `world = make_world(seed=seed)` and
    `agent = make_agent(world.mdp, seed=seed)`: with the same seeds, agents meet the same worlds with the same luck.

    Parameters
    ----------
    make_agent : function or class
        Called with the model, and with `seed` if it takes one: `vbmle.VBMLE`, a `functools.partial` of it, or any
        function. One with the attribute `needs_truth` also gets the truth, as `theta`.
    make_world : function or World
        Called with `seed` if it takes one; or a world, which is the same for every seed.
    horizon : int
        The number of steps, at least 1.
    seeds : iterable of int, default range(100)
        One run for each.
    jobs : int, optional
        How many run at once; by default one per processor.
    record : collection of {"thetas", "distance", "trouble"}, default ()
        What else is kept of each step.
    metrics : dict of functions, optional
        Metrics of your own, as in `simulate`.
    stop : function, optional
        Ends a run, as in `simulate`.

    Raises
    ------
    ValueError
        If an argument is out of range, or what is made is no agent or no world.

    Examples
    --------
    >>> import vbmle
    >>> runs = vbmle.simulate_many(vbmle.VBMLE, vbmle.worlds.riverswim, horizon=30, seeds=range(4), jobs=2)
    >>> len(runs), runs[0].regret.shape
    (4, (30,))
    """
    jobs = validation.positive_integer("jobs", jobs) if jobs is not None else os.cpu_count() or 1
    job, left = _Job(make_agent, make_world, horizon, tuple(record), dict(metrics or {}), stop), list(seeds)
    if not left:
        return []
    start = process_time()
    found = [job(left[0])]
    if len(left) == 1 or jobs == 1:
        return found + [job(seed) for seed in left[1:]]
    expected = (process_time() - start) * (len(left) - 1)
    home = found[0].world
    with _pool(job, jobs, expected) as pool:
        runs = list(pool.map(job, left[1:], chunksize=max(1, len(left) // (4 * jobs))))
    if isinstance(make_world, World):  # not a copy for each that a process sent back
        runs = [replace(run, world=home) for run in runs]
    return found + runs


def _pool(job: _Job, jobs: int, expected: float) -> Executor:
    """Processes where they pay and can do it, else threads."""
    if expected < WORTH_A_PROCESS * jobs or not _can_be_sent(job):
        return ThreadPoolExecutor(jobs)
    return _Processes(jobs)


class _Processes(ProcessPoolExecutor):
    """Spawned with one thread each, and without the main script."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, mp_context=multiprocessing.get_context("spawn"))

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)  # processes read it when they start
        try:
            with main_only_for(function):
                return super().submit(function, *arguments, **named)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def _can_be_sent(job: _Job) -> bool:
    """Whether another process can load it: what stands in the script or notebook itself cannot be found there."""
    try:
        return b"__main__" not in pickle.dumps(job)
    except Exception:  # whatever keeps a thing of yours from being pickled
        return False


def _made(maker: Callable[..., Any], seed: int, *arguments: Any, **given: Any) -> Any:
    """What a maker makes, with the seed where it takes one."""
    if not callable(maker):
        raise ValueError(
            f"what makes an agent or a world is of type {type(maker).__name__}; it needs a function"
        )
    try:
        takes = "seed" in inspect.signature(maker).parameters
    except ValueError:  # a partial with settings that there are not: the call says which
        takes = False
    set_before = isinstance(maker, partial) and "seed" in maker.keywords
    return maker(*arguments, **given, **({"seed": seed} if takes and not set_before else {}))
