"""The paper's environment: base models drawn by a random neural network.

    h1 = relu(W1 [onehot(s); onehot(a)] + b1),  h2 = relu(W2 h1 + b2),
    phi_j(.|s,a) = softmax((H_j h2 + c_j) / temperature),   j = 1 .. d,

so that each coordinate of theta weighs one base model. The paper leaves the initialisation, the reward and
the law of theta* open; here weights and biases are uniform on +-1/sqrt(fan in) (the default of PyTorch's
Linear), rewards uniform on [0, 1], and theta* uniform and then divided by its sum. With rewards everywhere most
policies learn on the way; the sparse variant pays for one pair (s, a) only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from vbmle.common import validation
from vbmle.common.stated import suggesting
from vbmle.common.validation import Among, Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World


def _uniform(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.random(shape)


def _sparse(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    rewards = np.zeros(shape)
    rewards.flat[rng.integers(rewards.size)] = 1.0
    return rewards


REWARDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "uniform": _uniform,
    "sparse": _sparse,
}
"""How R(s, a) is drawn, by name."""

Reward = Annotated[str, Among(REWARDS)]


@suggesting
def random_network(
    states: int,
    actions: int,
    dimension: int,
    hidden: int = 32,
    temperature: float = 0.01,
    seed: int = 0,
    discount: float = 0.9,
    reward: Reward = "uniform",
) -> World:
    """The paper's environment: `dimension` base models, each a softmax head on a random ReLU network.

    The network, the reward and theta* have a stream of chance each: changing the size of one leaves the
    others as they are. The domain is the whole feasible set, which is larger than the simplex.

    Parameters
    ----------
    states : int
        The number of states, at least 1.
    actions : int
        The number of actions, at least 1.
    dimension : int
        The number of base models, at least 1.
    hidden : int, default 32
        The width of the two hidden layers.
    temperature : float, default 0.01
        Of the softmax, above 0; the smaller, the closer each base model is to a deterministic one.
    seed : int, default 0
        Seeds the network, the reward and theta*.
    discount : float, default 0.9
        gamma, strictly between 0 and 1.
    reward : {"uniform", "sparse"}, default "uniform"
        "uniform" draws each R(s, a) from [0, 1]; "sparse" pays 1 for one (s, a) drawn at random, 0 elsewhere.

    Raises
    ------
    ValueError
        If a setting is out of range; the message names it and what it needs.

    Examples
    --------
    >>> import vbmle
    >>> world = vbmle.worlds.random_network(states=3, actions=2, dimension=5)
    >>> world.mdp.transition(world.theta).shape, world.theta.sum().round(6).item()
    ((3, 2, 3), 1.0)
    """
    states = validation.positive_integer("states", states)
    actions = validation.positive_integer("actions", actions)
    dimension = validation.positive_integer("dimension", dimension)
    hidden = validation.positive_integer("hidden", hidden)
    if validation.non_negative("temperature", temperature) == 0.0:
        raise ValueError("temperature is 0; it needs a finite number above 0")
    validation.one_of("reward", reward, tuple(REWARDS))
    streams = np.random.SeedSequence(validation.index("seed", seed, 2**63)).spawn(3)
    network, payment, truth = (np.random.default_rng(stream) for stream in streams)
    features = _softmax(_logits(network, states, actions, dimension, hidden) / temperature)
    weights = truth.random(dimension)
    rewards = REWARDS[reward](payment, (states, actions))
    mdp = LinearMixtureMDP(np.moveaxis(features, 2, 3), rewards, discount)
    return World(mdp, weights / weights.sum())


def _logits(rng: np.random.Generator, states: int, actions: int, heads: int, hidden: int) -> Floats:
    """The outputs of all heads for every (s, a): (S, A, heads, S)."""
    state = np.repeat(np.eye(states), actions, axis=0)
    action = np.tile(np.eye(actions), (states, 1))
    layer = np.hstack([state, action])
    for _ in range(2):
        layer = np.maximum(_linear(rng, layer, hidden), 0.0)
    outputs = [_linear(rng, layer, states) for _ in range(heads)]
    return np.stack(outputs, axis=1).reshape(states, actions, heads, states)


def _linear(rng: np.random.Generator, inputs: Floats, width: int) -> Floats:
    """A linear layer with weights and biases uniform on +-1/sqrt(fan in), applied to rows of inputs."""
    bound = 1.0 / np.sqrt(inputs.shape[1])
    weights = rng.uniform(-bound, bound, (inputs.shape[1], width))
    return inputs @ weights + rng.uniform(-bound, bound, width)


def _softmax(logits: Floats) -> Floats:
    """Softmax over the last axis."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)
