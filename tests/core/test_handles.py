"""Handles: views keep memory alive, threads may share a model, calls leave the interpreter to others."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from parts import lib as parts_library
from parts.climbing import Probe
from problems import draw, play

from vbmle import PSRL, UCLK, VBMLE, LinearMixtureMDP, MaximumLikelihood, World
from vbmle.core import library
from vbmle.core import model as models
from vbmle.core.generated import vb_objective, vb_statuses
from vbmle.core.library import Handle
from vbmle.core.model import Counts
from vbmle.core.optimism import L1Optimist, Optimist
from vbmle.core.planning import Planner
from vbmle.core.regression import Information, Regression
from vbmle.core.sampling import Sampler
from vbmle.core.solver import Objective, Solver
from vbmle.core.tabular import RewardBiasedRows
from vbmle.worlds import random_network, riverswim

WORLD = random_network(4, 2, 3, seed=0)
PATIENCE = 900.0
"""Seconds after which a test that hangs fails."""


# ---- nothing dangles


def fresh() -> models.Model:
    """A model that nobody else holds."""
    core = WORLD.mdp.core
    names = ("num_states", "num_actions", "num_transitions", "dimension", "num_blocks")
    arrays = {name: array.copy() for name, array in core._kept.items()}
    return models.Model({name: getattr(core, name) for name in names}, 0.9, arrays)


def all_views(wrapper: Any) -> list[np.ndarray]:
    """Arrays over memory of the core, not those that own theirs."""
    held = [value for value in vars(wrapper).values() if isinstance(value, np.ndarray) and value.size]
    found = [array for array in held if array.base is not None]
    return found + list(getattr(wrapper, "views", {}).values())


MAKERS: dict[str, Callable[[models.Model], Any]] = {
    "counts": lambda core: Counts(core, np.ones(core.num_transitions, bool)),
    "solver": lambda core: Solver(core, 2, factors=True),
    "part_probe": lambda core: Probe(core),
    "planner": lambda core: Planner(core, factors=True),
    "sampler": lambda core: Sampler(core),
    "rows": lambda core: RewardBiasedRows(core, True),
    "optimist": lambda core: Optimist(core, factors=True),
    "l1_optimist": lambda core: L1Optimist(core),
    "regression": lambda core: Regression(core, 1.0),
    "information": lambda core: Information(core, 1.0),
}


def watch_freeing(monkeypatch: pytest.MonkeyPatch, *kinds: str) -> list[str]:
    """What is freed from now on, in order."""
    freed: list[str] = []
    for kind in kinds:
        owner = parts_library if kind == "part_probe" else library.lib
        free = getattr(owner, f"vb_{kind}_free")

        def watched(address: int, kind: str = kind, free: Callable[[int], None] = free) -> None:
            freed.append(kind)
            free(address)

        monkeypatch.setattr(owner, f"vb_{kind}_free", watched)
    return freed


@pytest.mark.parametrize("kind", MAKERS)
def test_any_view_keeps_the_memory_of_its_handle_and_of_the_model(kind: str, monkeypatch: pytest.MonkeyPatch):
    """Each view alone, after every wrapper is gone; with it goes all of it, in the right order."""
    make = MAKERS[kind]
    count = len(all_views(make(fresh())))
    assert count >= 2
    freed = watch_freeing(monkeypatch, kind, "model")
    for place in range(count):
        freed.clear()
        wrapper = make(fresh())
        view = all_views(wrapper)[place]
        part, copy = view[..., :1], view.copy()
        del wrapper, view
        gc.collect()
        assert freed == []
        junk = [np.full(2000, 7.0) for _ in range(200)]  # would land in memory that was given back
        np.testing.assert_array_equal(part, copy[..., :1])
        if part.flags.writeable:
            part[...] = copy[..., :1]
        del part, junk
        gc.collect()
        assert freed == [kind, "model"]


@pytest.mark.parametrize("kind", sorted(set(MAKERS) - {"part_probe"}))
def test_the_memory_of_the_core_is_shown_to_look_at(kind: str):
    """It is written by methods alone; what tests see of the parts is another matter."""
    assert [view for view in all_views(MAKERS[kind](fresh())) if view.flags.writeable] == []


def test_a_handle_goes_before_what_it_uses(monkeypatch: pytest.MonkeyPatch):
    order = watch_freeing(monkeypatch, "solver", "model")
    core = fresh()
    held = Solver(core, 1, factors=True)
    del core
    assert held.views["theta"].shape == (2, 3)
    del held
    gc.collect()
    assert order == ["solver", "model"]


def test_an_objective_keeps_its_counts_and_its_linear_part():
    counts = draw(WORLD, 20, np.random.default_rng(0))
    target = Objective(counts.core, 1.0, linear=np.arange(3.0))
    reference = Objective(counts.core, 1.0, linear=np.arange(3.0))
    one, two = (Solver(WORLD.mdp.core, 1, factors=True) for _ in range(2))
    one.climb(reference)
    del counts, reference
    gc.collect()
    junk = [np.full(n, np.nan) for n in range(1, 100) for _ in range(10)]
    two.climb(target)
    np.testing.assert_array_equal(one.views["theta"][0], two.views["theta"][0])
    del junk


def test_what_was_not_made_is_not_freed():
    freed: list[int] = []

    def library_that_says(status: int) -> SimpleNamespace:
        return SimpleNamespace(vb_thing_new=lambda out: status, vb_thing_free=freed.append)

    with pytest.raises(ValueError, match="out of range"):
        Handle("thing", None, library=library_that_says(vb_statuses.VB_BAD_ARGUMENT))
    with pytest.raises(MemoryError):
        Handle("thing", None, library=library_that_says(vb_statuses.VB_OUT_OF_MEMORY))
    gc.collect()
    assert freed == []


# ---- null where a handle must be


def nulls() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name in ("climb", "search", "follow", "climb_from_few"):
        yield f"vb_solver_{name}", (None, None)
    yield "vb_solver_new", (None, 1, 1, None)
    yield "vb_solver_plan", (None,)
    yield "vb_solver_stand_at", (None, None)
    yield "vb_solver_add_start", (None, None, None)
    yield "vb_solver_restore", (None, 1, 0)
    yield "vb_solver_look", (None, None)
    yield "vb_solver_set_starts", (None, None)
    yield "vb_bayes_new", (None, None)
    yield "vb_bayes_add", (None, None, None)
    yield "vb_bayes_improve", (None, None, None)
    yield "vb_bayes_look", (None, None)
    yield "vb_bayes_keep", (None, None)
    yield "vb_counts_new", (None, None, None)
    yield "vb_counts_load", (None, None, None, 0)
    yield "vb_counts_look", (None, None)
    yield "vb_model_new", (None, None)
    yield "vb_model_probabilities", (None, None, None)
    yield "vb_model_assemble", (None, None, None)
    yield "vb_model_place", (None, None, None)


@pytest.mark.parametrize(
    ("name", "arguments"), list(nulls()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_null_is_refused(name: str, arguments: tuple[Any, ...]):
    function = getattr(library.lib, name)
    assert library.status_text(function(*arguments)) == "a size, an index or a number is out of range"


def test_freeing_nothing_does_nothing():
    for name in ("model", "counts", "solver", "bayes"):
        getattr(library.lib, f"vb_{name}_free")(None)


# ---- threads


def together(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the tasks return, each in a thread of its own; they begin at the same time."""
    gate, found = threading.Barrier(len(tasks)), [None] * len(tasks)

    def run(k: int) -> None:
        gate.wait(PATIENCE)
        found[k] = tasks[k]()

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return found


def trace(make: Callable[[LinearMixtureMDP], Any], world: World, seed: int, steps: int = 40) -> bytes:
    """All that can be seen of an agent on its way."""
    agent, rng, state, seen = make(world.mdp), np.random.default_rng(seed), 0, []
    for _ in range(steps):
        state = play(agent, world, 1, state, rng)
        seen.append(bytes([state]) + np.asarray(agent.theta).tobytes() + np.asarray(agent.policy).tobytes())
    return b"".join(seen)


AGENTS: list[Callable[[LinearMixtureMDP], Any]] = [
    VBMLE,
    lambda mdp: VBMLE(mdp, search="local"),
    MaximumLikelihood,
    PSRL,
    UCLK,
]


@pytest.mark.parametrize(
    "make", [lambda: riverswim(5), lambda: random_network(6, 3, 4)], ids=["table", "network"]
)
def test_agents_in_threads_on_one_model_are_those_one_after_another(make: Callable[[], World]):
    """Two of every kind. The threads are also the first to touch the model, of which there must be one handle."""
    world, expected = make(), []
    for seed, agent in enumerate(AGENTS * 2):
        expected.append(trace(agent, world, seed))
    world = make()  # a model that has no handle yet
    tasks = [partial(trace, agent, world, seed) for seed, agent in enumerate(AGENTS * 2)]
    assert together(tasks) == expected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_finds_the_same_bits(threads: int):
    world = random_network(8, 3, 6, seed=1)
    counts = draw(world, 60, np.random.default_rng(0))

    def climbed() -> bytes:
        held = Solver(world.mdp.core, 4, factors=True)
        for state in range(8):
            held.climb_from_few(Objective(counts.core, 1.0, 2.0, state))
        return b"".join(array[: held.size].tobytes() for array in held.views.values())

    assert set(together([climbed] * threads)) == {climbed()}


BITS = """
import numpy as np
from vbmle import VBMLE, worlds
world = worlds.random_network(30, 3, 8)
agent, rng, state = VBMLE(world.mdp), np.random.default_rng(0), 0
for _ in range(30):
    action = agent.act(state)
    following = world.next_state(state, action, rng.random())
    agent.observe(state, action, following)
    state = following
print(agent.theta.tobytes().hex(), agent.policy.tobytes().hex())
"""


def test_threads_of_blas_change_no_bits():
    found = set()
    for threads in ("1", "4"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        command = [sys.executable, "-c", BITS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1


# ---- the interpreter is free during a call


@pytest.fixture
def _no_switches() -> Iterator[None]:
    """Threads take turns only where one waits, or lets go of the interpreter by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(10.0 * PATIENCE)
    yield
    sys.setswitchinterval(before)


def others_run_during(call: Callable[[], Any], calls: int) -> bool:
    """Whether another thread gets to run while this one does nothing but call, so many times at most."""
    ready, met = threading.Event(), threading.Event()

    waiting = threading.Lock()
    waiting.acquire()

    def waits() -> None:
        ready.set()
        waiting.acquire()  # lets the caller go on; comes back once the lock and the interpreter are free
        met.set()

    thread = threading.Thread(target=waits, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    waiting.release()  # from here on the other thread lacks nothing but the interpreter
    for _ in range(calls):
        call()
        if met.is_set():
            break
    found = met.is_set()
    thread.join(PATIENCE)
    return found


@pytest.mark.usefixtures("_no_switches")
def test_a_call_leaves_the_interpreter_to_others():
    world = random_network(15, 4, 10)
    counts = draw(world, 100, np.random.default_rng(0))
    held, target = Solver(world.mdp.core, 8, factors=True), Objective(counts.core, 1.0, 5.0)
    assert others_run_during(lambda: held.climb_from_few(target), calls=10_000)


@pytest.mark.usefixtures("_no_switches")
def test_a_call_that_does_not_would_be_seen():
    """The same function through ctypes' other door, which holds on to the interpreter."""
    world = random_network(15, 4, 10)
    counts = draw(world, 100, np.random.default_rng(0))
    held, target = Solver(world.mdp.core, 8, factors=True), Objective(counts.core, 1.0, 5.0)
    selfish = ctypes.PyDLL(library.lib._name).vb_solver_climb_from_few
    selfish.argtypes = [ctypes.c_void_p, ctypes.POINTER(vb_objective)]
    assert not others_run_during(lambda: selfish(held.handle, target.given), calls=50)
