"""theta is one of the candidates: everything against plain enumeration, and the exact probability of sticking."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import vbmle
from vbmle import theory
from vbmle.testing import check_agent
from vbmle.worlds import two_suspects

RNG = np.random.default_rng(5)
MODELS = list(RNG.dirichlet(np.ones(4), (3, 4, 2)))
REWARD = RNG.random((4, 2))
MDP = vbmle.LinearMixtureMDP.from_models(MODELS, REWARD, 0.9, domain="vertices")
WORLD = vbmle.World(MDP, [0.0, 1.0, 0.0])
HOME, LUCK, MISFORTUNE = 0, 1, 2
SAFE, RISKY = 0, 1


def walked(steps: int, seed: int = 0) -> vbmle.TransitionCounts:
    agent = vbmle.Random(MDP, seed=seed)
    path, counts = vbmle.simulate(agent, WORLD, steps, seed), vbmle.TransitionCounts(MDP)
    counts.add_many(path.states, path.actions, path.next_states)
    return counts


def log_likelihoods(counts: vbmle.TransitionCounts) -> np.ndarray:
    n = counts.mdp.transitions.dense(counts.values)
    return np.array([(n * np.log(model)).sum() for model in MODELS])


@pytest.mark.parametrize("steps", [1, 5, 40])
def test_estimates_are_the_best_of_all_candidates(steps: int):
    counts = walked(steps)
    logs = log_likelihoods(counts)
    values = np.array([vbmle.plan(MDP, theta).V for theta in np.eye(3)])
    likely = vbmle.maximum_likelihood(MDP, counts, ridge=0.0)
    assert likely.converged
    assert likely.objective == pytest.approx(logs.max(), rel=1e-10)
    np.testing.assert_array_equal(likely.theta, np.eye(3)[logs.argmax()])
    for state, bias in product(range(4), (0.0, 1.0, 30.0)):
        found = vbmle.value_biased(MDP, counts, state, bias, ridge=0.0, certify=True)
        f = logs + bias * values[:, state]
        assert found.objective == pytest.approx(f.max(), rel=1e-10)
        assert found.upper_bound is not None
        assert f.max() <= found.upper_bound <= f.max() + 1e-6 * (1.0 + abs(f.max()))
        np.testing.assert_array_equal(found.policy, vbmle.plan(MDP, found.theta).policy)


def test_the_posterior_is_that_of_bayes():
    agent = vbmle.VBMLE(MDP)
    vbmle.simulate(agent, WORLD, 30)
    prior = np.array([0.5, 0.2, 0.3])
    weight = prior * np.exp(log_likelihoods(agent.counts))
    found = agent.belief(prior=prior)
    assert found.probability is not None
    np.testing.assert_allclose(found.probability, weight / weight.sum(), rtol=1e-10)
    assert vbmle.VBMLE(MDP).belief().mean == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    with pytest.raises(ValueError, match=r"prior sums to 0\.9; it needs 1"):
        agent.belief(prior=[0.5, 0.2, 0.2])


def test_psrl_draws_candidates_by_their_posterior():
    agent = vbmle.PSRL(MDP, update="every-step")
    counts = walked(3)
    drawn = np.zeros(3)
    for seed in range(2000):
        drawn += agent._sampler.draw(counts, np.random.default_rng(seed))
    p = np.exp(log_likelihoods(counts))
    p /= p.sum()
    assert (np.abs(drawn / 2000 - p) <= 4.5 * np.sqrt(p * (1 - p) / 2000)).all()  # standard errors


def test_the_belief_in_a_mix_is_that_of_quadrature():
    """Two models: the posterior is a density in one variable."""
    mdp = vbmle.LinearMixtureMDP.from_models(MODELS[:2], REWARD, 0.9)
    agent = vbmle.VBMLE(mdp)
    vbmle.simulate(agent, vbmle.World(mdp, [0.6, 0.4]), 200)
    share = (np.arange(20_000) + 0.5) / 20_000
    phi, n = np.asarray(mdp.transitions.phi), agent.counts.values
    logs = np.log(np.outer(share, phi[:, 0]) + np.outer(1 - share, phi[:, 1])) @ n
    weight = np.exp(logs - logs.max())
    below = np.cumsum(weight) / weight.sum()
    mean = float(weight @ share / weight.sum())
    spread = float(np.sqrt(weight @ (share - mean) ** 2 / weight.sum()))
    found = agent.belief()
    assert found.mean[0] == pytest.approx(mean, abs=0.2 * spread)  # 1,000 draws of a chain
    assert found.low[0] == pytest.approx(share[np.searchsorted(below, 0.05)], abs=0.35 * spread)
    assert found.high[0] == pytest.approx(share[np.searchsorted(below, 0.95)], abs=0.35 * spread)
    with pytest.raises(ValueError, match="a prior over candidates needs domain='vertices'"):
        agent.belief(prior=[0.5, 0.5])


@pytest.mark.parametrize(
    "make",
    [
        vbmle.VBMLE,
        vbmle.MaximumLikelihood,
        vbmle.PSRL,
        vbmle.RBMLE,
        vbmle.UCRL2,
        vbmle.InformedVBMLE,
    ],
)
def test_agents_keep_the_contract(make: type[vbmle.Agent]):
    check_agent(make, WORLD, steps=60)
    check_agent(make, two_suspects(), steps=60)


@pytest.mark.parametrize("make", [vbmle.UCLK, vbmle.UCLKPlus, vbmle.UPACUCLK, vbmle.ApproximateVBMLE])
def test_agents_that_need_a_convex_set_refuse(make: type[vbmle.Agent]):
    with pytest.raises(ValueError, match=f"{make.__name__} needs a convex set of thetas"):
        make(MDP)


def test_confidence_is_that_of_the_candidates_left():
    for steps in (5, 60, 400):
        counts = walked(steps)
        found = theory.confidence(counts, vbmle.plan(MDP, WORLD.theta).policy)
        truth = vbmle.plan(MDP, WORLD.theta).V
        assert ((found.V_low <= truth + 1e-9) & (truth <= found.V_high + 1e-9)).all()
        assert not found.empty
    assert found.certified  # 400 steps leave the truth alone
    np.testing.assert_allclose(found.V_low, found.V_high)
    fourth = np.random.default_rng(9).dirichlet(np.ones(4), (4, 2))
    outside = vbmle.World(vbmle.LinearMixtureMDP.from_models([fourth], REWARD, 0.9), [1.0])
    path, wrong = vbmle.simulate(vbmle.Random(MDP), outside, 2000), vbmle.TransitionCounts(MDP)
    wrong.add_many(path.states, path.actions, path.next_states)
    assert theory.confidence(wrong, np.zeros(4, np.int64)).empty
    assert theory.misfit(wrong).alarm
    assert not theory.misfit(counts).alarm


def test_what_all_candidates_contradict_does_not_swallow_the_belief():
    a, b = np.full((2, 1, 2), 0.5), np.full((2, 1, 2), 0.5)
    a[0, 0], b[1, 0] = [1.0, 0.0], [0.0, 1.0]
    agent = vbmle.VBMLE(vbmle.LinearMixtureMDP.from_models([a, b], np.zeros((2, 1)), 0.9, domain="vertices"))
    agent.observe_many([0, 1, 1], [0, 0, 0], [1, 0, 0])  # one against a, two against b
    assert agent.belief().mean[0] == pytest.approx(1.0)
    assert agent.misfit().alarm


def test_maximum_likelihood_sticks_with_its_exact_probability():
    """On every sequence of 10 outcomes of risky: it plays safe from the first time on that misfortunes lead."""
    world = two_suspects(chance=0.7)
    stuck = 0.0
    for outcomes in product((LUCK, MISFORTUNE), repeat=10):
        agent, lead, chance, given_up = vbmle.MaximumLikelihood(world.mdp), 0, 1.0, False
        for outcome in outcomes:
            assert agent.act(HOME) == (SAFE if given_up else RISKY)
            chance *= 0.7 if outcome == LUCK else 0.3
            if not given_up:
                agent.observe(HOME, RISKY, outcome)
                lead += 1 if outcome == LUCK else -1
                given_up = lead < 0
        agent.observe(HOME, SAFE, HOME)
        assert agent.act(HOME) == (SAFE if given_up else RISKY)
        stuck += chance * given_up
    # The first passage to -1 at step 2k + 1 has probability C_k 0.7^k 0.3^(k+1), C_k the Catalan numbers.
    exact = sum(c * 0.7**k * 0.3 ** (k + 1) for k, c in enumerate((1, 1, 2, 5, 14)))
    assert stuck == pytest.approx(exact, rel=1e-10)
    assert exact < 3 / 7 < exact + 0.05


def test_the_value_bias_does_not_stick():
    world = two_suspects()
    for seed in range(20):
        agent = vbmle.VBMLE(world.mdp)
        vbmle.simulate(agent, world, 400, seed=seed)
        np.testing.assert_array_equal(agent.theta, world.theta)
    assert vbmle.plan(world.mdp, [1.0, 0.0]).policy[HOME] == RISKY
    assert vbmle.plan(world.mdp, [0.0, 1.0]).policy[HOME] == SAFE


def test_files_and_forms(tmp_path: Path):
    MDP.save(tmp_path / "model.npz")
    again = vbmle.LinearMixtureMDP.load(tmp_path / "model.npz")
    assert again.domain == "vertices"
    assert again.fingerprint() == MDP.fingerprint()
    with pytest.raises(ValueError, match="theta is a mix, and domain='vertices' needs all weight on one"):
        vbmle.World(MDP, [0.5, 0.5, 0.0])
    pieces = [sparse.csr_array(model.reshape(8, 4)) for model in MODELS]
    few = vbmle.LinearMixtureMDP.from_models(pieces, REWARD, 0.9, domain="vertices")
    assert vbmle.maximum_likelihood(few, vbmle.TransitionCounts(few)).theta.sum() == 1.0
    with pytest.raises(ValueError, match="not every candidate is a transition law on its own"):
        vbmle.LinearMixtureMDP.from_models(MODELS, REWARD, 0.9, domain="vertices", p_min=0.01)
