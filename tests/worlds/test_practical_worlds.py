"""Problems people have: rows against plain simulations, closed forms, the shape of best policies, and money."""

import math
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from refusals import refused

from vbmle import Oracle, World, earned, evaluate, plan, simulate
from vbmle.simulation import rewards
from vbmle.worlds import inventory, maintenance, pricing, queue
from vbmle.worlds.inventory import demand_law
from vbmle.worlds.maintenance import CAUSES, FAILURE, INCOME, PLANNED, hazard
from vbmle.worlds.pricing import CUSTOMERS, PRICES, buys
from vbmle.worlds.queue import ARRIVALS, DOOR, FEE, SERVICE, WAITING

EXACT = 1e-10
SMALL: dict[str, Any] = {
    "inventory": lambda mix: inventory(6, 2, mix),
    "queue": lambda mix: queue(5, mix),
    "maintenance": lambda mix: maintenance(5, mix),
    "pricing": lambda mix: pricing(3, 2, mix),
}
HIDDEN = [0.2, 0.3, 0.5]


def law(world: World) -> np.ndarray:
    moves: Any = world.mdp.transition(world.theta)  # sparse
    return np.asarray(moves.toarray()).reshape(
        world.mdp.num_states, world.mdp.num_actions, world.mdp.num_states
    )


def money(world: World, s: int, a: int, to: int) -> float:
    """The reward of a transition, in euros."""
    return float(rewards(world.mdp)[world.mdp.transitions.find(s, a, to)])


def in_euros(world: World, V: np.ndarray) -> np.ndarray:
    return V * world.mdp.reward_scale + world.mdp.reward_offset / (1.0 - world.mdp.discount)


def average_model(world: World) -> Oracle:
    return Oracle(world.mdp, np.full(world.mdp.dimension, 1.0 / world.mdp.dimension))


# ---- rows, by enumeration of what can happen in one step


def shop_days(theta: Any, x: int, a: int) -> dict[tuple[int, float], float]:
    found: dict[tuple[int, float], float] = defaultdict(float)
    q = min(2 * a, 6 - x)
    for weight, mean in zip(theta, (3.0, 8.0, 16.0), strict=True):
        for demand in range(200):
            p = math.exp(-mean + demand * math.log(mean) - math.lgamma(demand + 1))
            sold = min(x, demand)
            paid = 8 * sold - (4 if q else 0) - 2 * q - (x - sold)
            found[x - sold + q, paid] += weight * p
    return found


def desk_minutes(theta: Any, n: int, a: int) -> dict[tuple[int, float], float]:
    found: dict[tuple[int, float], float] = defaultdict(float)
    fast, is_open = a >= 2, a % 2 == 1
    mu = 0.8 if fast else 0.4
    paid = 20 * mu * (n > 0) - 0.2 * n - 7 * is_open - 3 * fast
    for weight, odds in zip(theta, ARRIVALS, strict=True):
        for (arrived, p), served in product(enumerate(odds), (0, 1)):
            come = arrived if is_open else 0
            gone = served if n > 0 else 0
            found[min(n - gone + come, 5), paid] += weight * p * (mu if served else 1 - mu)
    return found


def machine_weeks(theta: Any, age: int, a: int) -> dict[tuple[int, float], float]:
    if age == 5:
        return {(0, -2000.0): 1.0}
    found: dict[tuple[int, float], float] = defaultdict(float)
    runs_at = 0 if a == 1 else age
    paid = 100.0 - (300.0 if a == 1 else 0.0)
    for weight, (shape, scale) in zip(theta, ((0.5, 60.0), (1.0, 20.0), (4.0, 12.0)), strict=True):
        alive = math.exp(-(((runs_at + 1) / scale) ** shape)) / math.exp(-((runs_at / scale) ** shape))
        found[min(runs_at + 1, 4), paid] += weight * alive
        found[5, paid] += weight * (1 - alive)
    return found


def season_days(theta: Any, state: int, a: int) -> dict[tuple[int, float], float]:
    day, left = divmod(state, 3)
    if day == 3:
        return {(2, 0.0): 1.0}
    price = 40.0 * (a + 1)
    customers = ((60, 10), (110, 15), (210, 15))
    sale = sum(w / (1 + math.exp((price - m) / s)) for w, (m, s) in zip(theta, customers, strict=True))
    sale = sale if left else 0.0
    return {(3 * (day + 1) + left, 0.0): 1 - sale, (3 * (day + 1) + left - 1, price): sale}


STEPS = {"inventory": shop_days, "queue": desk_minutes, "maintenance": machine_weeks, "pricing": season_days}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("theta", [HIDDEN, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_rows_and_rewards_are_those_of_the_story(name: str, theta: list[float]):
    """Poisson tails below 1e-12 are cut: hence 1e-10."""
    world = SMALL[name](theta)
    p = law(world)
    for s, a in product(range(world.mdp.num_states), range(world.mdp.num_actions)):
        expected = np.zeros(world.mdp.num_states)
        for (to, paid), chance in STEPS[name](theta, s, a).items():
            expected[to] += chance
            if chance > 1e-9:
                assert money(world, s, a, to) == pytest.approx(paid, abs=1e-9)
        np.testing.assert_allclose(p[s, a], expected, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize(
    ("build", "states"),
    [
        (lambda: inventory(19), 20),
        (lambda: inventory(4999), 5000),
        (lambda: queue(4999), 5000),
        (lambda: maintenance(4999), 5000),
        (lambda: pricing(99, 49), 5000),
        (lambda: pricing(9, 1), 20),
    ],
)
def test_sizes_from_20_to_5000_stay_sparse(build: Any, states: int):
    mdp = build().mdp
    assert mdp.num_states == states
    assert mdp.is_sparse
    assert mdp.transitions.count <= 60 * states * mdp.num_actions


@pytest.mark.parametrize("build", SMALL.values(), ids=SMALL)
def test_the_hidden_mix_may_be_drawn(build: Any):
    world = build("random")
    assert world.theta.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(world.theta, build("random").theta)


@pytest.mark.parametrize(
    ("build", "facts"),
    [
        (lambda: inventory(0), ("capacity", "0")),
        (lambda: inventory(lot=0), ("lot", "0")),
        (lambda: inventory(mix=[0.5, 0.5]), ("mix", "2", "3")),
        (lambda: inventory(mix="rnd"), ("mix", "'rnd'", "'random'")),
        (lambda: queue(0), ("capacity", "0")),
        (lambda: queue(mix=[1.0, 1.0, 0.0]), ("mix", "2", "1")),
        (lambda: maintenance(1), ("ages", "1", "2", "whole number")),
        (lambda: pricing(0), ("days", "0")),
        (lambda: pricing(5, 0), ("seats", "0")),
    ],
)
def test_bad_arguments_are_refused_by_name(build: Any, facts: tuple[str, ...]):
    with refused(*facts):
        build()


# ---- closed forms


def test_the_demand_law_is_poisson():
    odds = demand_law(8.0)
    assert odds.sum() == pytest.approx(1.0, abs=1e-15)
    assert odds @ np.arange(len(odds)) == pytest.approx(8.0, abs=1e-9)
    assert odds[0] == pytest.approx(math.exp(-8.0), rel=1e-11)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_shop_that_thinks_of_one_day_is_a_newsvendor(kind: int):
    """gamma near 0: an order only costs, so none is placed, and V is a day's sales less what it holds.

    E min(x, D) = sum_{j < x} P(D > j): the newsvendor's expected sales.
    """
    world = inventory(12, 3, np.eye(3)[kind], discount=1e-9)
    found = plan(world.mdp, world.theta)
    np.testing.assert_array_equal(found.policy, 0)
    mean = (3.0, 8.0, 16.0)[kind]
    pmf = np.array([math.exp(-mean + j * math.log(mean) - math.lgamma(j + 1)) for j in range(13)])
    sales = np.concatenate([[0.0], np.cumsum(1.0 - np.cumsum(pmf[:12]))])
    np.testing.assert_allclose(in_euros(world, found.V), 8 * sales - (np.arange(13) - sales), atol=1e-5)


def test_who_stocks_more_orders_less():
    """The shelf after ordering never falls with the shelf before, and the order never grows with it."""
    for mix in np.eye(3):
        world = inventory(40, mix=mix)
        order = plan(world.mdp, world.theta).policy
        assert (np.diff(order) <= 0).all()
        assert order[0] > 0
    quiet, busy = (plan(inventory(40, mix=m).mdp, m).policy for m in ([1.0, 0, 0], [0, 0, 1.0]))
    assert (quiet <= busy).all()
    assert (quiet < busy).any()


def test_an_open_desk_is_a_birth_and_death_chain():
    """Slow, always open, at most one arrival: pi(n+1) d(n+1) = pi(n) u(n), Geo/Geo/1 with a full house."""
    capacity, arrive, serve = 8, 0.3, SERVICE[0]
    world = queue(capacity, [0.0, 1.0, 0.0])
    up = [arrive] + [arrive * (1 - serve)] * (capacity - 1)
    down = [serve * (1 - arrive)] * (capacity - 1) + [serve * (1 - arrive)]
    stationary = np.cumprod([1.0, *(u / d for u, d in zip(up, down, strict=True))])
    stationary /= stationary.sum()
    p = law(world)[:, 1]
    np.testing.assert_allclose(stationary @ p, stationary, atol=EXACT)
    # The stationary mean of V is the mean reward / (1 - gamma), in euros.
    V = in_euros(world, evaluate(world.mdp, world.theta, np.ones(capacity + 1, np.int64)))
    busy = 1.0 - stationary[0]
    mean = FEE * serve * busy - WAITING * (stationary @ np.arange(capacity + 1)) - DOOR
    assert stationary @ V == pytest.approx(mean / (1.0 - world.mdp.discount), abs=1e-7)


@pytest.mark.parametrize("mix", [[0.1, 0.1, 0.8], [0.0, 0.0, 1.0], [0.2, 0.0, 0.8]])
def test_the_door_closes_and_the_server_speeds_up_with_the_queue(mix: list[float]):
    """A threshold each: as long as the house is not full, where a door lets in nobody and a server has waits only."""
    world = queue(60, mix)
    fast, is_open = np.divmod(plan(world.mdp, world.theta).policy, 2)
    assert (np.diff(is_open) <= 0).all()
    assert (np.diff(fast) >= 0).all()
    assert is_open[0] == 1
    assert is_open[-1] == 0


def test_the_average_hour_is_not_worth_an_open_door():
    world = queue()
    assert average_model(world).policy[0] == 0
    closed = in_euros(world, evaluate(world.mdp, world.theta, average_model(world).policy))
    assert closed[0] == pytest.approx(0.0, abs=1e-9)
    assert in_euros(world, plan(world.mdp, world.theta).V)[0] > 10.0


def renewal(world: World, age: int) -> float:
    """V of a new machine replaced at `age`, from one cycle: earnings and the discounted chance to begin anew."""
    g, (shape, scale) = world.mdp.discount, CAUSES[int(np.argmax(world.theta))]
    fails = [1 - math.exp((x / scale) ** shape - ((x + 1) / scale) ** shape) for x in range(age)]
    gain, back, alive = 0.0, 0.0, 1.0
    for x in range(age):
        gain += g**x * alive * INCOME
        gain -= g ** (x + 1) * alive * fails[x] * FAILURE
        back += g ** (x + 2) * alive * fails[x]
        alive *= 1.0 - fails[x]
    # At `age` the new machine costs PLANNED and runs its first week, as one of age 0 would.
    return (gain - g**age * alive * PLANNED) / (1.0 - back - g**age * alive)


@pytest.mark.parametrize("cause", [0, 1, 2])
@pytest.mark.parametrize("age", [1, 4, 9])
def test_age_replacement_is_a_renewal_process(cause: int, age: int):
    """Barlow and Hunter's argument, discounted."""
    world = maintenance(40, np.eye(3)[cause])
    policy = (np.arange(41) >= age).astype(np.int64)
    V = in_euros(world, evaluate(world.mdp, world.theta, policy))
    assert V[0] == pytest.approx(renewal(world, age), abs=1e-6)


def test_only_wear_is_worth_a_replacement():
    """Where the hazard does not grow, a planned replacement is money for nothing; wear has an age."""
    for cause in (0, 1):
        world = maintenance(40, np.eye(3)[cause])
        np.testing.assert_array_equal(plan(world.mdp, world.theta).policy[:40], 0)
    world = maintenance(40, [0.0, 0.0, 1.0])
    policy = plan(world.mdp, world.theta).policy[:40]
    assert (np.diff(policy) >= 0).all()
    best = max(range(1, 30), key=lambda age: renewal(world, age))
    assert int(policy.argmax()) == best


def test_hazards_have_the_shape_of_the_bathtub():
    early, random, wear = (hazard(*cause, 40) for cause in CAUSES)
    assert (np.diff(early) < 0).all()
    np.testing.assert_allclose(random, 1 - math.exp(-1 / 20), atol=EXACT)
    assert (np.diff(wear) > 0).all()


def test_with_seats_for_all_each_day_is_a_day_of_its_own():
    """No seat is worth keeping: the price is the best of the day, price times chance to sell."""
    for mix in (HIDDEN, [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]):
        world = pricing(6, 6, mix, discount=1 - 1e-9)
        gain = np.array(PRICES) * (np.array(mix) @ [buys(*c) for c in CUSTOMERS])
        policy = plan(world.mdp, world.theta).policy.reshape(7, 7)
        assert policy[0, 6] == gain.argmax()
        assert policy[5, 1] == gain.argmax()


@pytest.mark.parametrize("mix", [HIDDEN, [0.6, 0.3, 0.1], [0.3, 0.1, 0.6]])
def test_prices_fall_with_seats_and_towards_the_end(mix: list[float]):
    """Gallego and van Ryzin: a seat is worth less the more there are and the fewer days remain."""
    world = pricing(15, 6, mix, discount=0.999)
    policy = plan(world.mdp, world.theta).policy.reshape(16, 7)[:15, 1:]
    assert (np.diff(policy, axis=1) <= 0).all()
    assert (np.diff(policy, axis=0) <= 0).all()
    V = plan(world.mdp, world.theta).V.reshape(16, 7)[:15]
    assert (np.diff(V, 2, axis=1) <= 1e-9).all()  # concave in seats


# ---- money


@pytest.mark.parametrize("name", SMALL)
def test_money_adds_up(name: str):
    """The truth's own policy: what it earns, discounted from the start, is V in euros, within 5 standard errors."""
    world = SMALL[name](HIDDEN)
    g, T, runs = world.mdp.discount, 400, 60
    start = int(world.mdp.initial.argmax())
    V = in_euros(world, plan(world.mdp, world.theta).V)[start]
    agent = Oracle(world.mdp, world.theta)
    totals = [earned(world, simulate(agent, world, T, seed=seed)) @ g ** np.arange(T) for seed in range(runs)]
    tail = g**T * abs(V) * 3
    assert abs(np.mean(totals) - V) <= 5 * np.std(totals) / math.sqrt(runs) + tail


def test_regret_is_in_euros():
    """One step of the average model's policy costs V* - V^pi, both in euros."""
    for build in (inventory, queue, maintenance, pricing):
        world = build()
        agent = average_model(world)
        best = in_euros(world, plan(world.mdp, world.theta).V)
        own = in_euros(world, evaluate(world.mdp, world.theta, agent.policy))
        history = simulate(agent, world, 1)
        assert history.regret[0] == pytest.approx((best - own)[history.states[0]], abs=1e-6)


@pytest.mark.parametrize("build", [inventory, queue, maintenance, pricing])
def test_learning_beats_planning_for_the_average(build: Any):
    """As the stories say. 300 steps are enough for all of them, in regret."""
    from vbmle import VBMLE

    world = build()
    naive = simulate(average_model(world), world, 300, seed=1).regret
    learnt = simulate(VBMLE(world.mdp, bias="log"), world, 300, seed=1).regret
    assert learnt[-1] < naive[-1]
    assert learnt[-1] - learnt[-100] < 0.5 * (naive[-1] - naive[-100])
