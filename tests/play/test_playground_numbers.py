"""The page's own arithmetic against the package: luck, maximiser, policies, paths and regret."""

from typing import Any

import numpy as np
import pytest
from playground import Opened, browser, laptop, path

import vbmle
from vbmle.play.grid import RESOLUTION, points
from vbmle.play.scenes import Scene, scenes

__all__ = ["browser", "laptop", "path"]

SCENES = {scene.key: scene for scene in scenes()}
SITUATIONS = 200
EXACT = 1e-7
"""What `vbmle.Estimate.converged` promises of a maximiser, relative to the objective."""

STEPS = 120


@pytest.fixture(params=list(SCENES))
def scene(request: pytest.FixtureRequest) -> Scene:
    return SCENES[request.param]


def run(page: Opened, key: str, seed: int, extra: str = "") -> Any:
    """The tracks of a run on the page."""
    page.page.evaluate(f"location.hash = '#world={key}&t={STEPS}&seed={seed}{extra}'")
    page.page.wait_for_function(f"playground.app.at.seed === {seed} && playground.app.at.world === '{key}'")
    page.settle()
    return page.tracks()


@pytest.mark.parametrize("entropy", [[0], [1], [12345], [2**40 + 7], [3, 0], [3, 99]])
def test_the_luck_is_that_of_numpy(laptop: Opened, entropy: list[int]):
    ours = laptop.page.evaluate(
        "entropy => { const luck = playground.luck(...entropy);"
        " return Array.from({ length: 50 }, () => luck.next()) }",
        entropy,
    )
    assert ours == np.random.default_rng(entropy).random(50).tolist()
    if len(entropy) == 1:  # as `simulate` draws it
        sequence = np.random.SeedSequence(entropy[0])
        assert ours == np.random.default_rng(sequence).random(50).tolist()


def situation(world: vbmle.World, rng: np.random.Generator) -> tuple[list[list[int]], int, float]:
    """What was seen by random actions under a random truth, where the learner stands, and its bias."""
    hidden = vbmle.World(world.mdp, rng.dirichlet(np.full(3, 0.7)))
    mdp, seen = world.mdp, []
    state = int(rng.integers(mdp.num_states))
    for _ in range(int(rng.integers(0, 150))):
        action = int(rng.integers(mdp.num_actions))
        after = hidden.next_state(state, action, rng.random())
        seen.append([state, action, after])
        state = after
    return seen, int(rng.integers(mdp.num_states)), float(np.exp(rng.uniform(-3.0, 4.0)))


def test_the_maximiser_is_that_of_value_biased(laptop: Opened, scene: Scene):
    rng = np.random.default_rng([16, len(scene.key)])
    mdp = scene.world.mdp
    for _ in range(SITUATIONS):
        seen, state, bias = situation(scene.world, rng)
        ours = laptop.page.evaluate("given => playground.estimate(...given)", [scene.key, seen, state, bias])
        counts = vbmle.TransitionCounts(mdp)
        for transition in seen:
            counts.add(*transition)
        theirs = vbmle.value_biased(mdp, counts, state, bias)
        scale = 1.0 + abs(theirs.objective)
        plan = vbmle.plan(mdp, ours["theta"])
        again = vbmle.log_likelihood(mdp, counts, ours["theta"]) + bias * plan.V[state]
        assert ours["objective"] == pytest.approx(again, abs=1e-9 * scale)
        assert ours["objective"] >= theirs.objective - EXACT * scale
        if ours["objective"] > theirs.objective + EXACT * scale:  # a basin that was not looked into there
            proof = vbmle.value_biased(mdp, counts, state, bias, certify=True)
            assert proof.upper_bound is not None
            assert ours["objective"] <= proof.upper_bound + EXACT * scale
        chosen = plan.Q[np.arange(mdp.num_states), ours["policy"]]
        np.testing.assert_allclose(chosen, plan.Q.max(axis=1), rtol=0, atol=1e-8)
        likely = vbmle.maximum_likelihood(mdp, counts)
        fit = vbmle.log_likelihood(mdp, counts, ours["likely"])
        assert fit == pytest.approx(likely.objective, abs=EXACT * scale)


def test_theta_itself_is_found_within_the_grid(laptop: Opened, scene: Scene):
    """Where the maximum is no tie, the point is the same too, not only its height."""
    rng, near, apart = np.random.default_rng([17, len(scene.key)]), 0, 0
    for _ in range(40):
        seen, state, bias = situation(scene.world, rng)
        ours = laptop.page.evaluate("given => playground.estimate(...given)", [scene.key, seen, state, bias])
        counts = vbmle.TransitionCounts(scene.world.mdp)
        for transition in seen:
            counts.add(*transition)
        theirs = vbmle.value_biased(scene.world.mdp, counts, state, bias)
        if np.abs(theirs.theta - ours["theta"]).max() <= 1.0 / RESOLUTION:
            near += 1
        else:  # two basins of one height: a tie, which either may break its own way
            apart += 1
            assert ours["objective"] == pytest.approx(
                theirs.objective, abs=EXACT * (1 + abs(theirs.objective))
            )
    assert near > apart


class Echo:
    """Plays the decisions that the page took, one after the other."""

    def __init__(self, steps: list[Any]) -> None:
        self.steps, self.t = steps, 0

    @property
    def policy(self) -> Any:
        return np.array(self.steps[self.t]["policy"])

    def act(self, state: int) -> int:
        assert state == self.steps[self.t]["state"]
        return int(self.steps[self.t]["action"])

    def observe(self, state: int, action: int, next_state: int) -> None:
        assert next_state == self.steps[self.t]["next"]
        self.t += 1


def test_the_same_decisions_lead_the_same_way_at_the_same_cost(laptop: Opened, scene: Scene):
    """Path and regret of every learner on the page are those of `simulate`, step by step."""
    for seed in (0, 5):
        for track in run(laptop, scene.key, seed, "&rival=log:1:global").values():
            history = vbmle.simulate(Echo(track["steps"]), scene.world, STEPS, seed=seed)
            scale = 1.0 + history.regret[-1]
            np.testing.assert_allclose(track["regret"], history.regret, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("key", ["trap", "river", "desk"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_agents_of_the_package_decide_the_same(laptop: Opened, key: str, seed: int):
    """Worlds without ties: exact VBMLE with either schedule and maximum likelihood, all policies and all regret.

    (On the lake several thetas and actions tie exactly, and in the shop policies change over by hairs; there
    decisions are compared by their objective, above.)
    """
    world = SCENES[key].world
    tracks = run(laptop, key, seed, "&rival=log:1:global")
    agents = {
        "biased": vbmle.VBMLE(world.mdp),
        "rival": vbmle.VBMLE(world.mdp, bias="log"),
        "likely": vbmle.MaximumLikelihood(world.mdp),
    }
    for name, agent in agents.items():
        history = vbmle.simulate(agent, world, STEPS, seed=seed)
        steps = tracks[name]["steps"]
        assert [step["state"] for step in steps] == history.states.tolist()
        assert [step["action"] for step in steps] == history.actions.tolist()
        scale = 1.0 + history.regret[-1]
        np.testing.assert_allclose(tracks[name]["regret"], history.regret, rtol=0, atol=1e-8 * scale)


def test_every_decision_of_a_run_is_a_global_maximum(laptop: Opened, scene: Scene):
    steps, mdp = run(laptop, scene.key, 3)["biased"]["steps"], scene.world.mdp
    counts = vbmle.TransitionCounts(mdp)
    for t, step in enumerate(steps):
        assert step["bias"] == pytest.approx(np.sqrt(t + 1))
        if t % 7 == 0:
            best = vbmle.value_biased(mdp, counts, step["state"], step["bias"]).objective
            value = step["bias"] * vbmle.plan(mdp, step["theta"]).V[step["state"]]
            ours = vbmle.log_likelihood(mdp, counts, step["theta"]) + value
            assert ours >= best - EXACT * (1.0 + abs(best))
        counts.add(step["state"], step["action"], step["next"])


def test_posterior_sampling_draws_from_the_posterior_on_the_grid(laptop: Opened):
    """An obvious version of the same learner, in Python, draws the same thetas at the same times."""
    world, grid = SCENES["desk"].world, points(RESOLUTION)
    steps = run(laptop, "desk", 4)["sampling"]["steps"]
    models: list[Any] = [world.mdp.transition(corner) for corner in np.eye(3)]
    moves = np.array([model.toarray() for model in models])
    information, growth, due = np.eye(3), 0.0, True
    fit, theta = np.zeros(len(grid)), np.full(3, 1 / 3)
    for t, step in enumerate(steps):
        if due:
            odds = np.exp(fit - fit.max())
            uniform = np.random.default_rng([4, t]).random()
            theta = grid[np.searchsorted(np.cumsum(odds), uniform * odds.sum(), side="right")]
            growth, due = 0.0, False
        np.testing.assert_allclose(step["theta"], theta, rtol=0, atol=1e-12)
        phi = moves[:, step["state"] * world.mdp.num_actions + step["action"], step["next"]]
        with np.errstate(divide="ignore"):
            fit = fit + np.log(grid @ phi)
        before = np.linalg.slogdet(information)[1]
        information = information + np.outer(phi, phi)
        growth += np.linalg.slogdet(information)[1] - before
        due = growth > np.log(2.0)
