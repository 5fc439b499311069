"""Runs: regret against brute force, chance that comes from the seed alone, and clear refusals."""

import itertools
from typing import Any

import numpy as np
import pytest
from refusals import refused
from scipy import sparse
from small_worlds import EXAMPLES

from vbmle import simulation
from vbmle.agents.maximum_likelihood import MaximumLikelihood
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.world import World
from vbmle.planning import planner
from vbmle.simulation import History, Step, simulate
from vbmle.worlds import hypercube, riverswim

EXACT = 1e-10


class Scripted:
    """Plays a fixed list of policies, one after the other, around and around."""

    def __init__(self, policies: list[Any]) -> None:
        self.policies = [np.array(policy) for policy in policies]
        self.steps = 0

    @property
    def policy(self) -> np.ndarray:
        return self.policies[self.steps % len(self.policies)]

    def act(self, state: int) -> int:
        return int(self.policy[state])

    def observe(self, state: int, action: int, next_state: int) -> None:
        self.steps += 1


def scripted(mdp: LinearMixtureMDP, count: int = 7, seed: int = 0) -> Scripted:
    """A few random policies."""
    rng = np.random.default_rng(seed)
    return Scripted(list(rng.integers(mdp.num_actions, size=(count, mdp.num_states))))


def dense(matrix: Any, mdp: LinearMixtureMDP) -> np.ndarray:
    array = matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
    return array.reshape(mdp.num_states, mdp.num_actions, mdp.num_states)


def brute_value(world: World, policy: Any) -> np.ndarray:
    """V^pi from dense arrays, reward included, in the units of the model."""
    mdp = world.mdp
    p = dense(mdp.transition(world.theta), mdp)
    reward = mdp.pair_reward.reshape(mdp.num_states, mdp.num_actions)
    if len(mdp.transition_reward):
        reward = (p * mdp.transitions.dense(mdp.transition_reward)).sum(axis=2)
    at = np.arange(mdp.num_states)
    return np.linalg.solve(np.eye(mdp.num_states) - mdp.discount * p[at, policy], reward[at, policy])


def brute_best(world: World) -> np.ndarray:
    """V* as the best of all policies, state by state."""
    choices = itertools.product(range(world.mdp.num_actions), repeat=world.mdp.num_states)
    return np.max([brute_value(world, list(policy)) for policy in choices], axis=0)


# ---- regret


@pytest.mark.parametrize("name", EXAMPLES)
def test_regret_is_that_of_all_policies_enumerated(name: str):
    world, steps = EXAMPLES[name], 40
    agent = scripted(world.mdp)
    history = simulate(agent, world, steps, seed=3)
    best, lost = brute_best(world), []
    for t in range(steps):
        policy = agent.policies[t % len(agent.policies)]
        assert history.actions[t] == policy[history.states[t]]
        lost.append((best - brute_value(world, policy))[history.states[t]])
    np.testing.assert_allclose(history.regret, np.cumsum(lost), atol=steps * EXACT)


@pytest.mark.parametrize("name", ["riverswim", "hypercube"])
def test_the_best_policy_has_no_regret_and_regret_never_falls(name: str):
    world = {"riverswim": riverswim, "hypercube": lambda: hypercube(4)}[name]()
    best = Scripted([planner.plan(world.mdp, world.theta).policy])
    assert simulate(best, world, 100).regret[-1] <= 100 * EXACT
    assert (np.diff(simulate(scripted(world.mdp), world, 100).regret) >= 0.0).all()


def test_regret_is_in_the_users_units():
    """A reward of 10 r - 3 loses ten times what r loses."""
    models = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3, 2))
    reward = np.random.default_rng(1).random((3, 2))
    one, two = (
        World(LinearMixtureMDP.from_models(list(models), r, 0.9, normalise_reward=True), [0.4, 0.6])
        for r in (reward, 10 * reward - 3)
    )
    small, large = (simulate(scripted(world.mdp), world, 50) for world in (one, two))
    np.testing.assert_array_equal(small.states, large.states)
    np.testing.assert_allclose(large.regret, 10 * small.regret, atol=1e-8)
    assert small.regret[-1] > 0.1


def test_repeated_policies_are_evaluated_once(monkeypatch: pytest.MonkeyPatch):
    world, seen = riverswim(), []
    agent = scripted(world.mdp, count=5)
    evaluate = planner.evaluate

    def counted(mdp: LinearMixtureMDP, theta: Any, policy: Any) -> np.ndarray:
        seen.append(bytes(np.asarray(policy, dtype=np.int64)))
        return evaluate(mdp, theta, policy)

    monkeypatch.setattr(planner, "evaluate", counted)
    simulate(agent, world, 200)
    assert len(seen) == 1 + len({policy.tobytes() for policy in agent.policies})  # and V*, once


def test_a_policy_changed_in_place_is_noticed():
    """Agents may hand out the same array each time: what counts is what it holds."""
    world = riverswim()

    class Turning(Scripted):
        def observe(self, state: int, action: int, next_state: int) -> None:
            self.policies[0][:] = 1

    history = simulate(Turning([[0] * 6]), world, 20)
    assert history.regret[0] > 1.0
    np.testing.assert_allclose(history.regret[1:], history.regret[0], atol=EXACT)


# ---- chance


@pytest.mark.parametrize("name", ["riverswim, mixture", "sparse mixture", "paper"])
def test_transitions_have_the_frequencies_of_the_truth(name: str):
    """Each count within five standard errors: all of some 50 hold together with probability .9999."""
    worlds = {"riverswim, mixture": riverswim(4, "mixture"), "sparse mixture": EXAMPLES["sparse mixture"]}
    world = worlds.get(name) or EXAMPLES["paper, warm and with more states"]
    steps = 20_000
    history = simulate(scripted(world.mdp, count=50), world, steps, seed=11)
    mdp, p = world.mdp, dense(world.mdp.transition(world.theta), world.mdp)
    counts = np.zeros_like(p)
    np.add.at(counts, (history.states, history.actions, history.next_states), 1.0)
    assert counts.sum() == steps
    visits = counts.sum(axis=2, keepdims=True)
    spread = np.sqrt(visits * p * (1 - np.minimum(p, 1.0)))
    assert (np.abs(counts - visits * p) <= 5 * spread + 1e-6).all()
    assert (visits.reshape(-1) > 100).sum() >= mdp.num_states  # enough data to fail on


def test_the_first_state_has_the_initial_law():
    initial = [0.5, 0.0, 0.3, 0.2]
    models = np.random.default_rng(0).dirichlet(np.ones(4), (1, 4, 1))
    world = World(LinearMixtureMDP.from_models(list(models), np.zeros((4, 1)), 0.9, initial=initial), [1.0])
    runs = 400
    first = [simulate(Scripted([[0] * 4]), world, 1, seed=seed).states[0] for seed in range(runs)]
    share = np.bincount(first, minlength=4) / runs
    assert (np.abs(share - initial) <= 5 * np.sqrt(np.multiply(initial, 1 - np.array(initial)) / runs)).all()


def test_the_path_is_connected():
    world = EXAMPLES["simplex mixture"]
    history = simulate(scripted(world.mdp), world, 100)
    np.testing.assert_array_equal(history.states[1:], history.next_states[:-1])


def test_the_seed_decides_and_nothing_else():
    world = EXAMPLES["simplex mixture"]
    one = simulate(scripted(world.mdp), world, 200, seed=5)
    np.random.default_rng().random()  # chance elsewhere, and another run in between
    other = simulate(scripted(world.mdp), world, 200, seed=6)
    again = simulate(scripted(world.mdp), world, 200, seed=5)
    np.testing.assert_array_equal(one.states, again.states)
    np.testing.assert_array_equal(one.regret, again.regret)
    assert not np.array_equal(one.states, other.states)


def test_a_longer_run_begins_like_a_shorter_one():
    world = EXAMPLES["simplex mixture"]
    short, long = (simulate(scripted(world.mdp), world, steps, seed=5) for steps in (80, 200))
    np.testing.assert_array_equal(short.next_states, long.next_states[:80])
    np.testing.assert_array_equal(short.regret, long.regret[:80])


def test_agents_with_the_same_seed_meet_the_same_chance():
    """Where actions make no difference, all agents walk the same path."""
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 5)
    models = [np.repeat(rows[:, None, :], 3, axis=1)]
    world = World(LinearMixtureMDP.from_models(models, np.zeros((5, 3)), 0.9), [1.0])
    one, two = (simulate(scripted(world.mdp, seed=seed), world, 100, seed=9) for seed in (0, 1))
    assert not np.array_equal(one.actions, two.actions)
    np.testing.assert_array_equal(one.states, two.states)


# ---- what is recorded


def test_shapes_and_types():
    history = simulate(scripted(riverswim().mdp), riverswim(), 30)
    for name in ("states", "actions", "next_states", "regret", "seconds"):
        array = getattr(history, name)
        assert array.shape == (30,)
        assert array.dtype == (np.float64 if name in ("regret", "seconds") else np.int64)
    assert (history.thetas, history.distance, history.distance_mean) == (None, None, None)


def test_seconds_are_those_of_act_and_observe(monkeypatch: pytest.MonkeyPatch):
    """On a clock that only the agent moves: a second to act, two to observe, a hundred for all else."""
    now = [0.0]
    monkeypatch.setattr(simulation, "perf_counter", lambda: now[0])

    class Slow(Scripted):
        @property
        def policy(self) -> np.ndarray:
            now[0] += 100.0
            return self.policies[0]

        def act(self, state: int) -> int:
            now[0] += 1.0
            return int(self.policies[0][state])

        def observe(self, state: int, action: int, next_state: int) -> None:
            now[0] += 2.0

    history = simulate(Slow([[1] * 6]), riverswim(), 10)
    np.testing.assert_array_equal(history.seconds, 3.0)


def test_thetas_are_those_in_force_when_acting():
    class Counting(Scripted):
        def __init__(self, policies: list[Any]) -> None:
            super().__init__(policies)
            self.theta = np.zeros(2)

        def act(self, state: int) -> int:
            self.theta += 1.0  # in place: what is recorded must be a copy
            return super().act(state)

    history = simulate(Counting([[1] * 6]), riverswim(), 5, record=["thetas"])
    assert history.thetas is not None
    np.testing.assert_array_equal(history.thetas, np.repeat(np.arange(1.0, 6.0)[:, None], 2, axis=1))


def test_the_distance_is_that_of_the_theta_in_force():
    world = riverswim(4, "mixture")

    class Approaching(Scripted):
        theta = np.zeros(3)

        def act(self, state: int) -> int:
            self.theta = world.theta + np.array([3.0, 0.0, 4.0]) / (self.steps + 1)
            return super().act(state)

    history = simulate(Approaching([[1] * 4]), world, 5, record=["distance", "thetas"])
    assert history.distance is not None
    assert history.thetas is not None
    np.testing.assert_allclose(history.distance, 25.0 / np.arange(1, 6) ** 2, rtol=EXACT)  # 3^2 + 4^2 = 5^2
    np.testing.assert_allclose(
        ((history.thetas - world.theta) ** 2).sum(axis=1), history.distance, rtol=EXACT
    )
    assert history.distance_mean is None


def test_of_a_theta_for_each_pair_the_nearest_and_the_mean_are_kept():
    world = riverswim(3, "mixture")

    class Many(Scripted):
        thetas = world.theta + np.arange(6.0).reshape(3, 2, 1) * np.array([0.6, 0.0, 0.8])

    history = simulate(Many([[1] * 3]), world, 4, record=["distance"])
    assert history.distance is not None
    assert history.distance_mean is not None
    np.testing.assert_allclose(history.distance, 0.0, atol=EXACT)
    np.testing.assert_allclose(history.distance_mean, (0 + 1 + 4 + 9 + 16 + 25) / 6, rtol=EXACT)


def test_an_agent_without_theta_has_no_distance():
    history = simulate(scripted(riverswim().mdp), riverswim(), 4, record=["distance"])
    assert history.distance is not None
    assert np.isnan(history.distance).all()


@pytest.mark.parametrize(("steps", "calls"), [(120, [50, 100, 120]), (100, [50, 100]), (3, [3])])
def test_progress_is_told(steps: int, calls: list[int]):
    told: list[int] = []
    simulate(scripted(riverswim().mdp), riverswim(), steps, progress=told.append)
    assert told == calls


# ---- what is refused


@pytest.mark.parametrize("action", [2, -1, 0.0, "right", None, True, np.array([0, 1])])
def test_an_action_that_is_none_is_refused(action: Any):
    class Confused(Scripted):
        def act(self, state: int) -> int:
            return action if self.steps == 4 else 1

    with refused("Confused", "5", "0", "1"):
        simulate(Confused([[1] * 6]), riverswim(), 10)


def test_numpy_integers_are_actions():
    class Numpy(Scripted):
        def act(self, state: int) -> Any:
            return self.policy[state]

    history = simulate(Numpy([[1] * 6]), riverswim(), 10)
    np.testing.assert_array_equal(history.actions, 1)


@pytest.mark.parametrize("policy", [[1] * 5, [1] * 5 + [2], [-1] * 6, [0.5] * 6])
def test_a_policy_that_is_none_is_refused(policy: list[float]):
    class Wrong(Scripted):
        def act(self, state: int) -> int:
            return 1

    with refused("policy"):
        simulate(Wrong([policy]), riverswim(), 10)


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"horizon": 0}, ("horizon", "0")),
        ({"horizon": 2.5}, ("horizon", "2.5")),
        ({"horizon": 5, "seed": -1}, ("seed", "-1")),
        ({"horizon": 5, "record": ["thetas"]}, ("record", "Scripted", "theta")),
        (
            {"horizon": 5, "record": ["distances"]},
            ("record", "'distances'", "'thetas'", "'distance'"),
        ),
        ({"horizon": 5, "record": "theta"}, ("record", "'theta'")),
    ],
)
def test_bad_arguments_are_refused_by_name(settings: dict[str, Any], facts: tuple[str, ...]):
    with refused(*facts):
        simulate(scripted(riverswim().mdp), riverswim(), **settings)


def long_queue(step: Step) -> float:
    return float(step.state > 2)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_metrics_are_called_with_what_happened(name: str):
    world, seen = EXAMPLES[name], list[Step]()

    def earned_now(step: Step) -> float:
        seen.append(step)
        return step.reward

    agent = scripted(world.mdp)
    history = simulate(agent, world, 40, metrics={"money": earned_now, "far": long_queue})
    assert [step.t for step in seen] == list(range(1, 41))
    for column in ("state", "action", "next_state", "regret"):
        kept = getattr(history, column if column == "regret" else f"{column}s")
        np.testing.assert_array_equal([getattr(step, column) for step in seen], kept)
    np.testing.assert_array_equal(history.metrics["money"], simulation.earned(world, history))
    np.testing.assert_array_equal(history.metrics["far"], history.states > 2)
    assert all(step.agent is agent and step.world is world for step in seen)


@pytest.mark.parametrize("metric", [lambda step: "much", lambda step: None])
def test_a_metric_that_is_no_number_is_refused_by_name(metric: Any):
    world = riverswim(6)
    with refused("'length'", "number"):
        simulate(scripted(world.mdp), world, 4, metrics={"length": metric})


def test_a_run_ends_with_the_step_that_meets_the_condition():
    world, told = riverswim(6), list[int]()
    whole = simulate(scripted(world.mdp), world, 40)
    agent = scripted(world.mdp)
    history = simulate(agent, world, 40, stop=lambda step: step.regret > 3.0, progress=told.append)
    assert len(history.states) == int(np.argmax(whole.regret > 3.0)) + 1 == told[-1]
    np.testing.assert_array_equal(history.regret, whole.regret[: told[-1]])
    longer = simulate(agent, world, 40, after=history)
    np.testing.assert_array_equal(longer.regret, whole.regret)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("where", ["act", "observe"])
def test_what_ends_a_run_leaves_the_steps_before_it(kind: type[BaseException], where: str):
    world = riverswim(6)
    whole = simulate(scripted(world.mdp), world, 40, metrics={"far": long_queue})

    class Breaks(Scripted):
        def act(self, state: int) -> int:
            if where == "act" and self.steps == 17:
                raise kind
            return super().act(state)

        def observe(self, state: int, action: int, next_state: int) -> None:
            if where == "observe" and self.steps == 17:
                raise kind
            super().observe(state, action, next_state)

    agent = Breaks(scripted(world.mdp).policies)
    with pytest.raises(kind) as caught:
        simulate(agent, world, 40, metrics={"far": long_queue}, record=["distance"])
    history = History.of(caught.value)
    assert len(history.states) == 17
    for name in ("states", "actions", "next_states", "regret"):
        np.testing.assert_array_equal(getattr(history, name), getattr(whole, name)[:17])
    np.testing.assert_array_equal(history.metrics["far"], whole.metrics["far"][:17])
    assert history.distance is not None
    assert len(history.distance) == 17
    longer = simulate(scripted(world.mdp), world, 25, after=history, metrics={"far": long_queue})
    assert len(longer.metrics["far"]) == 25


def test_an_exception_of_something_else_has_no_history():
    with pytest.raises(ValueError, match="no run of simulate was ended by this KeyError"):
        History.of(KeyError("state"))


def test_steps_that_go_on_keep_the_same():
    world = riverswim(6)
    short = simulate(scripted(world.mdp), world, 4)
    with refused("after", "'far'"):
        simulate(scripted(world.mdp), world, 8, after=short, metrics={"far": long_queue})
    with refused("after", "'distance'"):
        simulate(scripted(world.mdp), world, 8, after=short, record=["distance"])


def test_a_history_is_a_frame_with_names():
    models = {"calm": [[[0.9, 0.1]], [[0.5, 0.5]]], "busy": [[[0.2, 0.8]], [[0.1, 0.9]]]}
    mdp = LinearMixtureMDP.from_models(
        models,
        [[-3.0], [12.0]],
        0.9,
        normalise_reward=True,
        state_names=["empty", "full"],
        action_names=["wait"],
    )
    world = World(mdp, [0.5, 0.5])
    history = simulate(
        MaximumLikelihood(mdp), world, 30, record=["thetas", "trouble"], metrics={"far": long_queue}
    )
    frame = history.to_frame()
    own = ["trouble", "theta_calm", "theta_busy", "far"]
    assert frame.columns == ["step", "state", "action", "next_state", "reward", "regret", "seconds", *own]
    assert frame["step"].to_list() == list(range(1, 31))
    named = np.array(["empty", "full"])
    assert frame["state"].to_list() == named[history.states].tolist()
    assert frame["next_state"].to_list() == named[history.next_states].tolist()
    assert set(frame["action"]) == {"wait"}
    np.testing.assert_allclose(frame["reward"], np.array([-3.0, 12.0])[history.states], atol=EXACT)
    assert history.thetas is not None
    np.testing.assert_array_equal(frame["theta_busy"], history.thetas[:, 1])


def test_a_history_without_names_has_numbers_in_its_frame():
    world = riverswim(6)
    history = simulate(scripted(world.mdp), world, 30)
    np.testing.assert_array_equal(history.to_frame()["state"], history.states)


def test_a_metric_may_not_have_the_name_of_a_column():
    world = riverswim(6)
    for name in ("reward", "regret", "states", "mle_error"):
        with refused("metrics", repr(name)):
            simulate(scripted(world.mdp), world, 4, metrics={name: long_queue})
