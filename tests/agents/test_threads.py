"""What threads may share: models and worlds freely, an agent behind a lock (see tests/core/test_handles.py too)."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import vbmle

WORLDS: list[Callable[[], vbmle.World]] = [
    lambda: vbmle.worlds.riverswim(length=5, features="mixture"),
    lambda: vbmle.worlds.suppliers(every=30),
]


@pytest.mark.parametrize("make", WORLDS, ids=["still", "drifting"])
def test_threads_share_a_world_and_each_has_its_own_agent(make: Callable[[], vbmle.World]):
    """As one after the other, each on a world that nobody shares."""
    world = make()

    def run(seed: int, where: vbmle.World) -> np.ndarray:
        agent = vbmle.VBMLE(where.mdp, update="doubling", restart="on-alarm")
        history = vbmle.simulate(agent, where, 120, seed=seed)
        return np.concatenate([history.states, history.regret, agent.theta])

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: run(seed, world), range(8)))
    for seed, got in enumerate(found):
        np.testing.assert_array_equal(got, run(seed, make()))


def test_threads_share_an_agent_behind_a_lock(tmp_path: Path):
    """One thread asks, one learns, one saves: nothing is lost, and every file goes on from a moment that was."""
    world = vbmle.worlds.riverswim(length=5, features="mixture")
    seen = vbmle.simulate(vbmle.Random(world.mdp), world, 200)
    steps = list(zip(seen.states.tolist(), seen.actions.tolist(), seen.next_states.tolist(), strict=True))
    agent, lock, totals = vbmle.VBMLE(world.mdp, update="doubling"), threading.Lock(), []

    def learn(part: int) -> None:
        for step in steps[part::2]:
            with lock:
                agent.observe(*step)

    def ask() -> None:
        for t in range(100):
            with lock:
                assert agent.act(t % 5) in (0, 1)

    def save() -> None:
        for _ in range(10):
            with lock:
                agent.save(tmp_path / "agent.npz")
            totals.append(vbmle.VBMLE.load(tmp_path / "agent.npz", world.mdp).counts.total)

    with ThreadPoolExecutor(4) as pool:
        for task in [pool.submit(learn, 0), pool.submit(learn, 1), pool.submit(ask), pool.submit(save)]:
            task.result(timeout=900)
    assert totals == sorted(totals)
    alone = vbmle.TransitionCounts(world.mdp)
    alone.add_many(seen.states, seen.actions, seen.next_states)
    np.testing.assert_array_equal(agent.counts.values, alone.values)
