"""Many runs at once: the numbers of one by one, in threads and in processes."""

import functools
from typing import Any

import pytest

import vbmle
from vbmle import batch

RIVER = vbmle.worlds.riverswim(length=4)
SEEDS = (3, 1, 4, 15)


def one_by_one(make_world: Any, make_agent: Any, **extra: Any) -> list[vbmle.History]:
    found = []
    for seed in SEEDS:
        world = make_world(seed=seed)
        found.append(vbmle.simulate(make_agent(world.mdp, seed=seed), world, 25, seed=seed, **extra))
    return found


def same(one: list[vbmle.History], other: list[vbmle.History]) -> bool:
    names = ("states", "actions", "next_states", "regret", "thetas", "metrics", "world")
    return len(one) == len(other) and all(
        repr(getattr(a, name)) == repr(getattr(b, name))
        for a, b in zip(one, other, strict=True)
        for name in names
    )


NETWORK = functools.partial(vbmle.worlds.random_network, states=3, actions=2, dimension=2)


@pytest.mark.parametrize("worth", [0.0, 1e9], ids=["processes", "threads"])
def test_the_numbers_are_those_of_one_by_one(worth: float, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batch, "WORTH_A_PROCESS", worth)
    pools, made = [], batch._pool

    def noted(*given: Any) -> Any:
        pools.append(made(*given))
        return pools[-1]

    monkeypatch.setattr(batch, "_pool", noted)
    found = vbmle.simulate_many(vbmle.PSRL, NETWORK, 25, SEEDS, jobs=2, record=["thetas"])
    assert same(found, one_by_one(NETWORK, vbmle.PSRL, record=["thetas"]))
    assert isinstance(pools[0], batch._Processes) == (worth == 0.0)


def test_what_stands_in_the_notebook_runs_in_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(batch, "WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr(batch, "_Processes", None)
    found = vbmle.simulate_many(
        lambda mdp: vbmle.VBMLE(mdp), RIVER, 25, SEEDS, jobs=2, metrics={"place": lambda step: step.state}
    )
    for seed, history in zip(SEEDS, found, strict=True):
        alone = vbmle.simulate(vbmle.VBMLE(RIVER.mdp), RIVER, 25, seed=seed)
        assert history.regret.tolist() == alone.regret.tolist()
        assert history.metrics["place"].tolist() == alone.states.tolist()
        assert history.world is RIVER


def test_seed_and_truth_go_to_those_who_ask():
    (history,) = vbmle.simulate_many(vbmle.Oracle, RIVER, 20, seeds=[7])
    assert history.regret.max() == 0.0
    fixed = functools.partial(vbmle.PSRL, seed=5)
    (one,) = vbmle.simulate_many(fixed, RIVER, 20, seeds=[7])
    assert (
        one.actions.tolist()
        == vbmle.simulate(vbmle.PSRL(RIVER.mdp, seed=5), RIVER, 20, seed=7).actions.tolist()
    )
    assert vbmle.simulate_many(vbmle.PSRL, RIVER, 20, seeds=[]) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((vbmle.VBMLE, RIVER, 0, [0]), "horizon"),
        ((vbmle.VBMLE(RIVER.mdp), RIVER, 5, [0]), "function"),
        ((vbmle.VBMLE, RIVER.mdp, 5, [0]), "function"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple[Any, ...], words: str):
    with pytest.raises(ValueError, match=words):
        vbmle.simulate_many(*arguments)
    with pytest.raises(ValueError, match="jobs"):
        vbmle.simulate_many(vbmle.VBMLE, RIVER, 5, jobs=0)
