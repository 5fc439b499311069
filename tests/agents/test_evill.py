"""EVILL: its tilt has the covariance of its definition, and its law is the normal approximation of the posterior."""

import numpy as np
import pytest
from small_worlds import EXAMPLES

import vbmle


def walked(world: vbmle.World, steps: int) -> vbmle.History:
    return vbmle.simulate(vbmle.Random(world.mdp), world, steps, seed=1)


@pytest.mark.parametrize("name", ["simplex mixture", "sparse mixture", "tabular, a product of simplices"])
def test_the_tilt_has_the_curvature_of_the_loss(name: str):
    world, draws = EXAMPLES[name], 4000
    agent = vbmle.EVILL(world.mdp, ridge=2.0)
    path = walked(world, 40)
    agent.observe_many(path.states, path.actions, path.next_states)
    agent.act(0)
    phi = world.mdp.transitions.phi
    dense = np.asarray(phi.toarray() if hasattr(phi, "toarray") else phi)
    likely = vbmle.maximum_likelihood(world.mdp, agent.counts, ridge=2.0).theta
    seen = agent.counts.values > 0
    score = dense[seen] / (dense[seen] @ likely)[:, None]
    curvature = 2.0 * np.eye(world.mdp.dimension) + score.T @ (agent.counts.values[seen][:, None] * score)
    noise = np.array([agent._score_noise(np.random.default_rng(k)) for k in range(draws)])
    found, spread = noise.T @ noise / draws, np.sqrt(np.diag(curvature))
    # Each entry of a sample covariance has the standard error sqrt(C_ij^2 + C_ii C_jj) / sqrt(draws).
    error = np.sqrt((curvature**2 + np.outer(spread, spread) ** 2) / draws)
    assert (np.abs(found - curvature) <= 5.0 * error).all()
    assert (np.abs(noise.mean(axis=0)) <= 5.0 * spread / np.sqrt(draws)).all()


def test_with_many_observations_theta_is_normal_around_the_most_likely_one():
    """Two base models: theta = (x, 1 - x), and the law of x is N(x_ml, 1/h) with the curvature h along the line."""
    rng = np.random.default_rng(0)
    models = [rng.dirichlet(np.ones(3), (3, 2)) for _ in range(2)]
    mdp = vbmle.LinearMixtureMDP.from_models(models, rng.random((3, 2)), 0.9)
    path = walked(vbmle.World(mdp, [0.5, 0.5]), 3000)
    shares = []
    for seed in range(1000):
        agent = vbmle.EVILL(mdp, seed=seed)
        agent.observe_many(path.states, path.actions, path.next_states)
        agent.act(0)
        shares.append(agent.theta[0])
    likely = vbmle.maximum_likelihood(mdp, agent.counts).theta
    phi, n = np.asarray(mdp.transitions.phi), agent.counts.values
    along = phi[:, 0] - phi[:, 1]
    h = 2.0 + float(n @ (along / np.maximum(phi @ likely, 1e-300)) ** 2)  # the ridge along (1, -1)
    assert np.mean(shares) == pytest.approx(likely[0], abs=5.0 / np.sqrt(h * 1000) + 0.1 / np.sqrt(h))
    assert np.std(shares) == pytest.approx(1.0 / np.sqrt(h), rel=0.12)  # five standard errors of a deviation


def test_without_a_tilt_it_is_maximum_likelihood():
    world = vbmle.worlds.random_network(3, 2, 3, seed=1)
    ours = vbmle.simulate(vbmle.EVILL(world.mdp, scale=0.0, update="every-step"), world, 60, seed=2)
    theirs = vbmle.simulate(vbmle.MaximumLikelihood(world.mdp), world, 60, seed=2)
    assert ours.actions.tolist() == theirs.actions.tolist()


def test_candidates_are_refused():
    with pytest.raises(ValueError, match="EVILL needs a convex set"):
        vbmle.EVILL(vbmle.worlds.two_suspects().mdp)
