"""The alarm that no theta fits: exact expectations, false alarms, and power where the model is wrong."""

from itertools import product

import numpy as np
import pytest
from problems import draw

import vbmle
from vbmle import theory
from vbmle.estimation.counts import TransitionCounts
from vbmle.worlds import closed_loop_trap, random_network, riverswim


def three_models(seed: int = 0, states: int = 4, actions: int = 2) -> tuple[list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    return list(rng.dirichlet(np.ones(states), (3, states, actions))), rng.random((states, actions))


def walk(truth: np.ndarray, mdp: vbmle.LinearMixtureMDP, steps: int, seed: int) -> TransitionCounts:
    """Counts of a path under any transition law, with actions at random."""
    rng, counts, state = np.random.default_rng(seed), TransitionCounts(mdp), 0
    below = truth.cumsum(axis=2)
    for action, u in zip(rng.integers(truth.shape[1], size=steps), rng.random(steps), strict=True):
        to = min(int((below[state, action] <= u).sum()), truth.shape[0] - 1)
        counts.add(state, int(action), to)
        state = to
    return counts


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_its_expectation_is_at_most_one(share: float):
    """Over all paths of six steps from state 0, exactly; actions depend on what was seen."""
    rng = np.random.default_rng(1)
    models, reward = list(rng.dirichlet(np.ones(2), (2, 2, 2))), rng.random((2, 2))
    mdp = vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)
    truth = np.asarray(mdp.transition([share, 1.0 - share]))
    for steps in (1, 4, 6):
        total = 0.0
        for path in product((0, 1), repeat=steps):
            counts, state, chance = TransitionCounts(mdp), 0, 1.0
            for to in path:
                action = int(counts.values.sum() + counts.values[0]) % 2
                chance *= truth[state, action, to]
                counts.add(state, action, to)
                state = to
            total += chance * np.exp(theory.misfit(counts).evidence)
        assert total <= 1.0 + 1e-9


@pytest.mark.parametrize(
    "world",
    [riverswim(features="mixture"), random_network(4, 2, 3, seed=1), closed_loop_trap()],
    ids=["riverswim", "random_network", "closed_loop_trap"],
)
def test_false_alarms_are_rare(world: vbmle.World):
    """40 runs of 400 steps, looked at 8 times: with delta = 0.05, 9 alarms or more have probability below 1e-3."""
    alarms = 0
    for run in range(40):
        agent, rng = vbmle.Random(world.mdp, seed=run), np.random.default_rng(run)
        counts, state, raised = TransitionCounts(world.mdp), world.first_state(rng.random()), False
        for t in range(400):
            action = agent.act(state)
            to = world.next_state(state, action, rng.random())
            agent.observe(state, action, to)
            counts.add(state, action, to)
            state = to
            raised = raised or (t % 50 == 49 and theory.misfit(counts).alarm)
        alarms += raised
    assert alarms <= 8


@pytest.mark.parametrize(("off", "steps"), [(0.2, 4_000), (0.1, 16_000), (0.05, 64_000)])
def test_it_finds_one_row_that_is_off(off: float, steps: int):
    """`off` of the row goes to the successor that is least likely. Steps grow as 1/off^2, as the divergence falls."""
    models, reward = three_models()
    mdp = vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)
    truth = np.asarray(mdp.transition([0.2, 0.5, 0.3])).copy()
    odd = int(truth[2, 1].argmin())
    truth[2, 1] = (1.0 - off) * truth[2, 1] + off * np.eye(4)[odd]
    found = theory.misfit(walk(truth, mdp, steps, seed=3))
    assert found.alarm
    assert (found.where[0].state, found.where[0].action) == (2, 1)
    worst = found.where[0]
    assert worst.observed.sum() == worst.visits
    assert worst.expected.sum() == pytest.approx(worst.visits)
    assert (worst.observed - worst.expected).argmax() == odd


@pytest.mark.parametrize(("off", "steps"), [(0.2, 2_000), (0.1, 8_000), (0.05, 32_000)])
def test_it_finds_all_rows_a_little_off(off: float, steps: int):
    models, reward = three_models()
    mdp = vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)
    truth = np.asarray(mdp.transition([0.2, 0.5, 0.3]))
    truth = (1.0 - off) * truth + off * np.eye(4)[truth.argmin(axis=2)]
    assert theory.misfit(walk(truth, mdp, steps, seed=3)).alarm


def test_it_finds_a_fourth_model_and_not_a_mix_of_the_three():
    models, reward = three_models()
    mdp = vbmle.LinearMixtureMDP.from_models(models, reward, 0.9)
    fourth = np.random.default_rng(77).dirichlet(np.ones(4), (4, 2))
    assert theory.misfit(walk(fourth, mdp, 500, seed=0)).alarm
    inside = theory.misfit(draw(vbmle.World(mdp, [0.2, 0.5, 0.3]), 5_000, np.random.default_rng(0)))
    assert not inside.alarm
    assert inside.evidence < 0.0


def test_a_table_fits_everything():
    mdp = vbmle.LinearMixtureMDP.tabular(np.ones((3, 2, 3), bool), np.zeros((3, 2)), 0.9)
    counts = walk(np.random.default_rng(0).dirichlet(np.ones(3), (3, 2)), mdp, 2_000, seed=0)
    assert theory.misfit(counts).evidence < 0.0


def test_agents_have_it_and_it_changes_nothing():
    world = riverswim(features="mixture")
    agent = vbmle.VBMLE(world.mdp)
    vbmle.simulate(agent, world, 50)
    before = {name: array.tobytes() for name, array in agent.snapshot().items()}
    assert not agent.misfit(delta=0.01).alarm
    assert {name: array.tobytes() for name, array in agent.snapshot().items()} == before
    assert agent.misfit().threshold == pytest.approx(np.log(20.0))
    with pytest.raises(ValueError, match="Random keeps no transition counts; a test of the model needs them"):
        vbmle.Random(world.mdp).misfit()
    with pytest.raises(ValueError, match="delta is 2"):
        agent.misfit(delta=2)
