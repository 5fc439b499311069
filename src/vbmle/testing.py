"""For tests, yours included: the contract that every agent keeps, and small models of every kind.

`check_agent` runs any agent, a user's own too, through what the rest of the package relies on.
`example_models` is the shared catalogue: every kind of feasible set once, small enough for brute force.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vbmle.common.validation import Floats
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.worlds import hypercube, random_network, riverswim

__all__ = ["check_agent", "example_models"]

TRACED_ATTRIBUTES = ("state", "action", "policy", "theta", "last")
DECISION_FIELDS = ("status", "converged", "residual", "gap", "upper_bound")
"""What `last` has at least."""


def check_agent(
    make_agent: Callable[[LinearMixtureMDP], Any], world: World | None = None, steps: int = 200, seed: int = 0
) -> None:
    """Run an agent through the contract that the rest of the package relies on.

    Checked in a small world (or in yours):

    - `act(state)` is a whole number in range, and asking again before `observe` changes nothing;
    - `policy` is an (S,) array of whole numbers in range, and the action agrees with it; an agent that has
      `randomised = True` is excused from this and from asking again;
    - `observe` returns None, and the model is left as it was;
    - two fresh agents behave the same;
    - `theta`, where there is one, stays in the feasible set;
    - `last`, where there is one, is None or says how the last decision ended: status, converged, residual, gap and
      upper_bound;
    - where there is `save`, an agent loaded half-way goes on exactly as if it had never stopped;
    - where there is `observe_many`, it is the same as observing one by one;
    - where there are `counts`, an impossible transition is refused with a ValueError and nothing is lost, unless the
      agent's setting `on_impossible` says that it is skipped, as if it had not occurred, or that the model is widened.

    Parameters
    ----------
    make_agent : function
        `make_agent(mdp)` returns a fresh agent, always the same.
    world : World, optional
        Where to check; by default a river of four states.
    steps : int, default 200
        How long to play.
    seed : int, default 0
        The luck of the world.

    Raises
    ------
    AssertionError
        If something is broken; the message says what, and in which step.

    Examples
    --------
    >>> import vbmle
    >>> vbmle.testing.check_agent(vbmle.MaximumLikelihood, steps=20)
    """
    world = riverswim(length=4, features="mixture") if world is None else world
    uniforms = np.random.default_rng(np.random.SeedSequence(seed)).random(steps + 1).tolist()
    before = _snapshot(world.mdp)
    reference = _Run(make_agent(world.mdp), world, uniforms).go(steps)
    again = _Run(make_agent(world.mdp), world, uniforms).go(steps)
    _same(reference, again, "two fresh agents, same world, same seed")
    if not reference.randomised:
        twice = _Run(make_agent(world.mdp), world, uniforms, ask_twice=True).go(steps)
        _same(reference, twice, "asked for every action twice")
    if hasattr(reference.agent, "save"):
        _check_saving(make_agent, world, uniforms, reference)
    if hasattr(reference.agent, "observe_many") and not reference.randomised:
        _check_many(make_agent, reference)
    if hasattr(reference.agent, "counts"):
        _check_impossible(make_agent, world, uniforms, reference)
    changed = [name for name, value in _snapshot(world.mdp).items() if value != before[name]]
    assert not changed, f"{reference.name} changed the model: {', '.join(changed)}"


@dataclass
class _Run:
    """An agent on its way through a world, with a trace of everything that can be seen of it."""

    agent: Any
    world: World
    uniforms: list[float]
    ask_twice: bool = False

    def __post_init__(self) -> None:
        self.trace: list[tuple[int, int, bytes, bytes, str]] = []
        self.state = self.world.first_state(self.uniforms[0])

    @property
    def name(self) -> str:
        return type(self.agent).__name__

    @property
    def randomised(self) -> bool:
        return bool(getattr(self.agent, "randomised", False))

    def go(self, steps: int) -> _Run:
        """Play until the trace has `steps` entries."""
        while len(self.trace) < steps:
            where = f"{self.name}, step {len(self.trace) + 1}, state {self.state}"
            action = self._action(where)
            policy, theta, last = self._policy(where, action), self._theta(where), self._last(where)
            self.trace.append((self.state, action, policy, theta, last))
            following = self.world.next_state(self.state, action, self.uniforms[len(self.trace)])
            answer = self.agent.observe(self.state, action, following)
            assert answer is None, f"{where}: observe returned {answer!r}; it must return None"
            self.state = following
        return self

    def _action(self, where: str) -> int:
        action = self.agent.act(self.state)
        count = self.world.mdp.num_actions
        whole = isinstance(action, int | np.integer) and not isinstance(action, bool | np.bool_)
        assert whole, (
            f"{where}: act returned {action!r}, of type {type(action).__name__}; it must return an int"
        )
        assert 0 <= action < count, f"{where}: act returned {action}; actions go from 0 to {count - 1}"
        if self.ask_twice:
            second = self.agent.act(self.state)
            assert second == action, f"{where}: act said {action}, and {second} when asked again"
        return int(action)

    def _policy(self, where: str, action: int) -> bytes:
        policy, mdp = np.asarray(self.agent.policy), self.world.mdp
        assert policy.shape == (mdp.num_states,), f"{where}: policy has shape {policy.shape}, not (states,)"
        assert policy.dtype.kind in "iu", f"{where}: policy holds {policy.dtype}, not whole numbers"
        inside = policy.min() >= 0 and policy.max() < mdp.num_actions
        assert inside, f"{where}: policy has actions from {policy.min()} to {policy.max()}, out of range"
        chosen = policy[self.state]
        if not self.randomised:
            assert chosen == action, f"{where}: act returned {action}, but policy says {chosen}"
        return policy.astype(np.int64).tobytes()

    def _theta(self, where: str) -> bytes:
        if not hasattr(self.agent, "theta"):
            return b""
        theta = self.world.mdp.require_theta(self.agent.theta)
        amount, what = self.world.mdp.constraints.violation(theta)
        assert amount <= 1e-9, f"{where}: theta lies outside the feasible set by {amount:.3g}: {what}"
        return theta.tobytes()

    def _last(self, where: str) -> str:
        """The outcome of the last decision, in a form that can be compared."""
        last = getattr(self.agent, "last", None)
        absent = [name for name in DECISION_FIELDS if last is not None and not hasattr(last, name)]
        assert not absent, f"{where}: last has no {', '.join(absent)}"
        return repr(last)


def _same(reference: _Run, other: _Run, when: str) -> None:
    """Both traces are the same, bit for bit."""
    for step, (one, two) in enumerate(zip(reference.trace, other.trace, strict=True)):
        for name, a, b in zip(TRACED_ATTRIBUTES, one, two, strict=True):
            assert a == b, f"{reference.name}, {when}: {name} differs in step {step + 1}"


def _check_saving(
    make_agent: Callable[[LinearMixtureMDP], Any], world: World, uniforms: list[float], reference: _Run
) -> None:
    """Stopped, saved and loaded twice on the way, the second time from a loaded agent."""
    run = _Run(make_agent(world.mdp), world, uniforms)
    steps = len(reference.trace)
    for stop in (steps // 3, steps // 2):
        run.go(stop)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent.npz"
            run.agent.save(path)
            run.agent = type(run.agent).load(path, world.mdp)
    _same(reference, run.go(steps), f"saved and loaded after steps {steps // 3} and {steps // 2}")


def _check_many(make_agent: Callable[[LinearMixtureMDP], Any], reference: _Run) -> None:
    """A log observed at once teaches what it teaches step by step."""
    path = [(state, action) for state, action, *_ in reference.trace]
    log = [(*here, there[0]) for here, there in pairwise(path)]
    single, many = (make_agent(reference.world.mdp) for _ in range(2))
    for step in log:
        single.observe(*step)
    many.observe_many(*map(list, zip(*log, strict=True)))
    states = range(min(10, reference.world.mdp.num_states))
    one, two = ([int(agent.act(state)) for state in states] for agent in (single, many))
    assert one == two, f"{reference.name}: observe_many leads to the actions {two}, one by one to {one}"


def _check_impossible(
    make_agent: Callable[[LinearMixtureMDP], Any], world: World, uniforms: list[float], reference: _Run
) -> None:
    """An impossible transition half-way is refused or skipped, and the run goes on as if it had not been."""
    transition = _impossible(world.mdp)
    wanted = getattr(reference.agent, "settings", {}).get("on_impossible", "raise")
    if transition is None or wanted == "widen":
        return
    steps = len(reference.trace)
    run = _Run(make_agent(world.mdp), world, uniforms).go(steps // 2)
    refused = False
    try:
        run.agent.observe(*transition)
    except ValueError:
        refused = True
    if wanted == "raise":
        assert refused, (
            f"{run.name}: observe took {transition}, which is impossible; it must raise ValueError"
        )
    else:
        assert not refused, f"{run.name}: observe refused {transition}; on_impossible says {wanted}"
    _same(
        reference,
        run.go(steps),
        f"after the impossible transition {transition} {'was refused' if wanted == 'raise' else 'was skipped'}",
    )


def _impossible(mdp: LinearMixtureMDP) -> tuple[int, int, int] | None:
    """The first transition that the model leaves out, or None."""
    for pair, (start, stop) in enumerate(
        zip(mdp.transitions.indptr, mdp.transitions.indptr[1:], strict=False)
    ):
        absent = np.setdiff1d(np.arange(mdp.num_states), mdp.transitions.successor[start:stop])
        if len(absent):
            return *divmod(pair, mdp.num_actions), int(absent[0])
    return None


def _snapshot(mdp: LinearMixtureMDP) -> dict[str, object]:
    """Everything an agent could change by accident, in a form that can be compared."""
    blocks = [
        (b.center.tobytes(), b.basis.tobytes(), b.normals.tobytes(), b.offsets.tobytes())
        for b in mdp.polytope.blocks
    ]
    return {
        "model": mdp.fingerprint(),
        "reward units": (mdp.reward_offset, mdp.reward_scale),
        "polytope": (mdp.polytope.interior.tobytes(), blocks),
    }


def example_models() -> dict[str, World]:
    """A small world for every kind of model and of feasible set, by name.

    Examples
    --------
    >>> import vbmle
    >>> worlds = vbmle.testing.example_models()
    >>> worlds["p_min"].mdp.p_min
    0.01
    """
    a, b, c = _random_models(4, 2, 3)
    half = np.full((4, 2), 0.5)
    simplex = [0.5, 0.3, 0.2]
    return {
        "simplex mixture": World(LinearMixtureMDP.from_models([a, b, c], _reward(4, 2), 0.9), simplex),
        "sparse mixture": _sparse_mixture(),
        "paper, larger than the simplex": random_network(3, 2, 5),
        "paper, warm and with more states": random_network(5, 2, 4, temperature=0.1),
        "hypercube, a cross-polytope": hypercube(3, gap=0.9),
        "tabular, a product of simplices": riverswim(5),
        "three-parameter river": riverswim(4, features="mixture"),
        "one base model": World(LinearMixtureMDP.from_models([a], _reward(4, 2), 0.9), [1.0]),
        "a single point by its sums": _single_point(),
        "a single point by p_min": _even_odds(),
        "reward of the next state": World(
            LinearMixtureMDP.from_models([a, b, c], _reward(4, 2, 4), 0.9, domain="polytope"), simplex
        ),
        "p_min": World(
            LinearMixtureMDP.from_models([a, b, c], _reward(4, 2), 0.9, p_min=0.01, domain="polytope"),
            simplex,
        ),
        "p_min on the simplex": World(
            LinearMixtureMDP.from_models([a, b, c], _reward(4, 2), 0.9, p_min=0.03), simplex
        ),
        "duplicated base model": _twins(a, b, half, "polytope", simplex),
        "duplicated base model on the simplex": _twins(a, b, half, "simplex", simplex),
        "raw one-hot features": _one_hot(3, 2),
        "raw one-hot features, sparse": _one_hot(5, 3),
        "bilinear": _bilinear(),
        "separate blocks": _separate_blocks(),
        "flat by opposite inequalities": _flat(),
        "impossible transitions": _with_impossible(),
    }


def _rng(*key: int) -> np.random.Generator:
    """Its own stream for each example, so that adding one leaves the others as they are."""
    return np.random.default_rng(np.random.SeedSequence(key))


def _reward(*shape: int) -> Floats:
    return _rng(0, *shape).random(shape)


def _random_models(states: int, actions: int, count: int) -> Floats:
    """Base models with every transition possible: (count, S, A, S)."""
    return _rng(1, states, actions).dirichlet(np.ones(states), (count, states, actions))


def _sparse_mixture() -> World:
    """Six states on a ring, three ways to drift; models and reward kept sparse."""
    pairs, around = np.arange(12), np.repeat(np.arange(6), 2)
    drifts = ((0, 0), (1, 1), (1, -1))
    models = [
        sparse.csr_array((np.ones(12), (pairs, (around + np.tile(drift, 6)) % 6)), shape=(12, 6))
        for drift in drifts
    ]
    return World(LinearMixtureMDP.from_models(models, _reward(6, 2), 0.9), [0.2, 0.5, 0.3])


def _twins(a: Floats, b: Floats, reward: Floats, domain: str, theta: Any) -> World:
    """The second base model twice, of which users are warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return World(LinearMixtureMDP.from_models([a, b, b], reward, 0.9, domain=domain), theta)


def _single_point() -> World:
    """Row sums theta_0 and 2 theta_1 leave nothing open."""
    features = np.zeros((2, 1, 2, 2))
    features[0, 0] = [[0.4, 0.0], [0.6, 0.0]]
    features[1, 0] = [[0.0, 1.5], [0.0, 0.5]]
    return World(LinearMixtureMDP(features, _reward(2, 1), 0.9), [1.0, 0.5])


def _even_odds() -> World:
    """Two successors of at least one half each: the inequalities alone leave one point."""
    features = np.zeros((2, 2, 2, 3))
    features[..., 0, :] = [1.0, 0.0, 0.5]
    features[..., 1, :] = [0.0, 1.0, 0.5]
    third = 1.0 / 3.0
    return World(LinearMixtureMDP(features, _reward(2, 2), 0.9, p_min=0.5), [third, third, third])


def _one_hot(states: int, actions: int) -> World:
    """Raw features with one coordinate per transition: tabular with full support."""
    count = states * actions * states
    features = np.eye(count).reshape(states, actions, states, count)
    theta = _random_models(states, actions, 1).reshape(-1)
    return World(LinearMixtureMDP(features, _reward(states, actions), 0.9), theta)


def _bilinear() -> World:
    """psi(s,a) mixes two rows of M, mu mixes two laws of the next state: M has rows that sum to 1."""
    psi = _rng(2).dirichlet(np.ones(2), (3, 2))
    mu = _rng(3).dirichlet(np.ones(3), 2).T
    return World(LinearMixtureMDP.bilinear(psi, mu, _reward(3, 2), 0.9), [0.8, 0.2, 0.4, 0.6])


def _separate_blocks() -> World:
    """Each state has base models of its own: P is a product, but not of one-hot coordinates."""
    models = _random_models(3, 2, 3)
    features = np.zeros((3, 2, 3, 9))
    for s in range(3):
        features[s, :, :, 3 * s : 3 * s + 3] = np.moveaxis(models[:, s], 0, -1)
    return World(LinearMixtureMDP(features, _reward(3, 2), 0.9), np.tile([0.5, 0.3, 0.2], 3))


def _flat() -> World:
    """theta_0 - theta_1 and its opposite are both probabilities: a flat P although no equation says so."""
    one, first, second = np.eye(3)[2], np.eye(3)[0], np.eye(3)[1]
    features = np.zeros((2, 2, 2, 3))
    for (s, a), p in {(0, 0): first - second, (0, 1): second - first, (1, 0): first, (1, 1): one / 2}.items():
        features[s, a] = [p, one - p]
    return World(LinearMixtureMDP(features, _reward(2, 2), 0.9), [0.3, 0.3, 1.0])


def _with_impossible() -> World:
    """Base models of which the last puts weight on a transition that is declared impossible."""
    models = _random_models(3, 2, 4).copy()
    models[:3, 0, 0] = [0.0, 0.5, 0.5]
    impossible = np.zeros((3, 2, 3), dtype=bool)
    impossible[0, 0, 0] = True
    mdp = LinearMixtureMDP.from_models(
        list(models), _reward(3, 2), 0.9, impossible=impossible, domain="polytope"
    )
    return World(mdp, [0.5, 0.3, 0.2, 0.0])
