"""What is learning worth? Finitely many candidates, and what each way of dealing with them earns.

    known         the value with the model known: nobody earns more
    bayes         the Bayes-optimal controller, between bounds (`vbmle.planning.hidden_model`)
    passive       plans for the mean of what is believed, and renews the plan after every step
    renewed       the best single policy for what is believed, renewed
    likely        the optimal policy of the most probable candidate, renewed
    sampling      the optimal policy of a candidate that is drawn from the belief anew in every step
    recommended   `vbmle.recommended`
    fixed         the best single policy; never learns
    mean_model    the optimal policy of the prior's mean model; never learns, and claims something else

All values are expected discounted sums of rewards from the first state on, over the prior and over what happens, in
your units. What learns is simulated where each candidate is true: with actions a_t in states s_t,

    V^agent = V*_k(s_0) - E sum_t gamma^t [V*_k(s_t) - Q*_k(s_t, a_t)],

which holds for every way of acting, and whose sum has far less noise than that of the rewards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.informed_vbmle import recommended
from vbmle.agents.posterior import sampler_for
from vbmle.common import extras, validation
from vbmle.common.statistics import Interval
from vbmle.common.validation import Floats, Ints
from vbmle.estimation.counts import TransitionCounts
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.model.priors import weights
from vbmle.planning.belief_policies import FixedPolicies, MeanPlanner, mean_policy
from vbmle.planning.hidden_model import BayesSolution, Effort, HiddenModel

if TYPE_CHECKING:
    import polars

DRAWS = 24
"""Candidates that stand for a prior over mixtures or tables."""

NEGLIGIBLE = 1e-6
"""Of the range of one reward: a simulation ends where all that follows is worth no more."""

MOST_STEPS = 2000
AGENT_SHARE = 100
"""So many times fewer are the simulations of the recommended agent."""

AGENT_STEPS = 500
STILL_GAP, STILL_NODES = 0.005, 20_000
"""The effort for what learning is still worth."""

MOST_EXCLUDED = 16
"""Up to so many candidates one looks which it would pay most to exclude."""

TWO_SIDED = 1.96

ROWS = (
    ("known", "model known"),
    ("bayes", "Bayes-optimal"),
    ("passive", "passive: plan for the mean model, renewed"),
    ("renewed", "best single policy for the belief, renewed"),
    ("likely", "most probable model"),
    ("sampling", "posterior sampling"),
    ("recommended", "recommended agent"),
    ("fixed", "best single policy, never learns"),
    ("mean_model", "policy of the mean model, never learns"),
)


@dataclass(frozen=True)
class Worth:
    """What learning is worth, as `worth` returns it. Values are in the units of your reward.

    Attributes
    ----------
    known : float
        The value with the model known.
    bayes : (float, float)
        Lower and upper bound on the value of the Bayes-optimal controller.
    passive : Interval
        Planning for the mean of what is believed, renewed after every step: `value`, with 95% from `low` to `high`.
    renewed : Interval
        The best single policy for what is believed, renewed after every step.
    likely : Interval
        The optimal policy of the most probable candidate.
    sampling : Interval
        The optimal policy of a candidate drawn from the belief, anew in every step.
    recommended : Interval or None
        `vbmle.recommended`, with its default settings; None with a number of steps, of which it does not know.
    fixed : float
        The best single policy that never learns.
    fixed_is_best : bool
        Whether all such policies were looked at; else `fixed` is the best that was found.
    mean_model : float
        The optimal policy of the prior's mean model, which never learns.
    mean_model_claims : float
        What that policy earns in the mean model itself.
    exclude : (int, float, float) or None
        The candidate about which it would pay most to know whether it is the true one, and between what that pays.
    horizon : int or None
        The number of steps; None for ever.
    drawn : bool
        Whether the candidates were drawn from a prior over mixtures.
    unit : float
        The range of one reward.

    Examples
    --------
    >>> import vbmle
    >>> found = vbmle.worth(vbmle.worlds.two_suspects(chance=0.75).mdp)
    >>> found.fixed <= found.bayes[1] <= found.known
    True
    """

    known: float
    bayes: tuple[float, float]
    passive: Interval
    renewed: Interval
    likely: Interval
    sampling: Interval
    recommended: Interval | None
    fixed: float
    fixed_is_best: bool
    mean_model: float
    mean_model_claims: float
    exclude: tuple[int, float, float] | None
    horizon: int | None
    drawn: bool
    unit: float

    @property
    def information(self) -> float:
        """What it is worth to be told the model, against never learning anything."""
        return self.known - self.fixed

    @property
    def learning(self) -> tuple[float, float]:
        """What learning is worth, between bounds: the Bayes-optimal controller against the best that never learns."""
        return max(self.bayes[0] - self.fixed, 0.0), max(self.bayes[1] - self.fixed, 0.0)

    @property
    def active(self) -> tuple[float, float]:
        """What exploring on purpose is worth, between bounds: the Bayes-optimal controller against passive learning."""
        return max(self.bayes[0] - self.passive.high, 0.0), max(self.bayes[1] - self.passive.low, 0.0)

    @property
    def sentence(self) -> str:
        """What follows, in plain words."""
        least = 0.005 * max(abs(self.bayes[1]), self.unit)
        of = f"of {_round(self.bayes[1])}"
        if self.learning[1] <= least:
            return f"Learning is worth at most {_round(self.learning[1])} {of}: use the best single policy."
        if self.active[1] <= least or self.active[0] <= 0.1 * self.learning[0]:
            return f"Exploring is worth at most {_round(self.active[1])} {of}: use the passive policy."
        return (
            f"Exploring is worth {_round(self.active[0])} to {_round(self.active[1])} {of}: "
            "use the Bayes-optimal controller."
        )

    def to_frame(self) -> polars.DataFrame:
        """A polars frame with a row for each way: way, value, low, high. What is exact has no interval."""
        rows = list(self.rows())
        return extras.frame(
            {
                "way": [words for words, _ in rows],
                **{name: [getattr(found, name) for _, found in rows] for name in ("value", "low", "high")},
            }
        )

    def rows(self) -> Iterator[tuple[str, Interval]]:
        """Each way in words, and what it earns: bounds, an interval where it is simulated, or one number twice."""
        for name, words in ROWS:
            found = getattr(self, name)
            if found is None:
                continue
            if isinstance(found, tuple):
                found = Interval(sum(found) / 2.0, *found)
            yield words, found if isinstance(found, Interval) else Interval(found, found, found)

    def __str__(self) -> str:
        width = max(len(words) for _, words in ROWS)
        lines = [f"{words:{width}}  {_told(found)}" for words, found in self.rows()]
        claims = f"{'  which claims':{width}}  {_short(self.mean_model_claims)}"
        low, high = self.learning
        lines += [
            claims,
            "",
            f"To be told the model is worth {_short(self.information)}; learning it is worth {_short(low)} to "
            f"{_short(high)}.",
        ]
        if self.exclude is not None:
            candidate, least, most = self.exclude
            lines.append(
                f"To know whether candidate {candidate} is true would pay most: {_short(least)} to {_short(most)}."
            )
        if not self.fixed_is_best:
            lines.append("There are too many single policies to look at all: the best may earn more.")
        return "\n".join([*lines, self.sentence])


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10_000.0 else f"{value:.4f}"


def _round(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _told(found: Interval) -> str:
    return _short(found.value) if found.low == found.high else f"{_short(found.low)} to {_short(found.high)}"


def worth(
    mdp: LinearMixtureMDP,
    prior: ArrayLike | None = None,
    horizon: int | None = None,
    *,
    gap: float = 0.001,
    runs: int = 10_000,
    seed: int = 0,
) -> Worth:
    """What it is worth to learn which candidate is true, to explore for that, and to be told.

    Parameters
    ----------
    mdp : LinearMixtureMDP
        The candidates (domain "vertices"). Of a mixture or a table 24 candidates are drawn from the uniform prior on
        its set, and the answer is about these.
    prior : (d,) array, optional
        The probability of each candidate; by default that of the model, else uniform.
    horizon : int, optional
        After how many steps nothing more is earned; for ever by default, discounted in either case.
    gap : float, default 0.001
        How far apart the bounds on the Bayes-optimal value may be, relative to it.
    runs : int, default 10000
        How often each way that learns is simulated; the recommended agent, which takes longer, a hundredth as often.
    seed : int, default 0
        Seeds the simulations.

    Raises
    ------
    ValueError
        If mdp is not a model, the prior is none of its candidates, or a number is out of range.

    Examples
    --------
    >>> import vbmle
    >>> found = vbmle.worth(vbmle.worlds.two_suspects(chance=0.75).mdp, runs=100)
    >>> round(found.known, 3) >= round(found.bayes[1], 3)
    True
    """
    steps = None if horizon is None else validation.positive_integer("horizon", horizon)
    validation.positive("gap", gap)
    rng = np.random.default_rng(validation.index("seed", seed, 2**63))
    drawn = mdp.domain != "vertices"
    candidates = _drawn(mdp, prior, rng) if drawn else mdp
    model = HiddenModel(candidates, weights(candidates, None if drawn else prior), steps)
    solution = BayesSolution(model, Effort(gap=gap))
    return _Comparison(model, solution, validation.positive_integer("runs", runs), rng).worth(drawn)


def still_worth(mdp: LinearMixtureMDP, belief: Floats, state: int) -> tuple[float, float]:
    """What learning is still worth from a state on, with this belief about the candidates: bounds, in your units.

    The Bayes-optimal controller against the best single policy; a coarse answer, in a fraction of a second.
    """
    start = np.eye(mdp.num_states)[state]
    model = HiddenModel(mdp, belief)
    low, high = BayesSolution(model, Effort(gap=STILL_GAP, nodes=STILL_NODES)).bounds(initial=start)
    fixed = model.in_units(FixedPolicies(model, model.plans()[1]).best(start))
    return max(low - fixed, 0.0), max(high - fixed, 0.0)


def _drawn(mdp: LinearMixtureMDP, prior: ArrayLike | None, rng: np.random.Generator) -> LinearMixtureMDP:
    """Candidates that stand for the uniform prior on the set of theta."""
    if prior is not None:
        raise ValueError(
            f"prior is given, but theta is a mix (domain {mdp.domain!r}), whose prior is uniform on its set; "
            "a prior over candidates needs domain='vertices'"
        )
    sampler, counts = sampler_for(mdp, 10), TransitionCounts(mdp)
    models: list[Any] = [mdp.transition(sampler.draw(counts, rng)) for _ in range(DRAWS)]
    return LinearMixtureMDP.from_models(
        models,
        mdp.reward,
        mdp.discount,
        initial=mdp.initial,
        domain="vertices",
        normalise_reward=True,
        allowed=mdp.allowed,
        renormalise="any",
    )


Way = Callable[[Floats, Ints, int], Ints]
"""Actions (n,) for beliefs (n, K) in states (n,) at a stage."""


class _Comparison:
    """Everything that is compared, on one set of candidates."""

    def __init__(
        self, model: HiddenModel, solution: BayesSolution, runs: int, rng: np.random.Generator
    ) -> None:
        self.model, self.solution, self.rng = model, solution, rng
        self.known, self.plans = model.plans()
        self.fixed = FixedPolicies(model, self.plans)
        self.play = Play(model, self.known, runs)

    def worth(self, drawn: bool) -> Worth:
        model, mdp = self.model, self.model.mdp
        bayes = self.solution.bounds()
        mean, claims = mean_policy(model, model.belief)
        earned = model.evaluate(np.ascontiguousarray(mean))
        ways: dict[str, Way] = {
            "passive": self._passive(),
            "renewed": lambda b, s, stage: self.fixed.actions(b, self._places(s, stage)),
            "likely": lambda b, s, stage: self.plans[self._places(s, stage), b.argmax(axis=1)],
            "sampling": lambda b, s, stage: self.plans[self._places(s, stage), drawn_from(b, self.rng)],
        }
        simulated: dict[str, Any] = {name: self.play.simulated(way, self.rng) for name, way in ways.items()}
        return Worth(
            known=model.in_units(self._from_start(self.known)),
            bayes=bayes,
            **simulated,
            recommended=self.play.of_agents(self.rng) if model.steps is None else None,
            fixed=model.in_units(self.fixed.best()),
            fixed_is_best=self.fixed.complete,
            mean_model=model.in_units(self._from_start(earned)),
            mean_model_claims=model.in_units(float(mdp.initial @ claims)),
            exclude=self._exclude(bayes),
            horizon=model.steps,
            drawn=drawn,
            unit=mdp.reward_scale,
        )

    def _from_start(self, values: Floats) -> float:
        """Values (places, K) under the prior from the first states."""
        mdp = self.model.mdp
        return float(mdp.initial @ values[: mdp.num_states] @ self.model.belief)

    def _places(self, states: Ints, stage: int) -> Ints:
        return stage * self.model.mdp.num_states + states

    def _passive(self) -> Way:
        planner, mdp = MeanPlanner(self.model), self.model.mdp
        before: list[Ints] = [mdp.allowed.argmax(axis=1)[None]]

        def way(beliefs: Floats, states: Ints, stage: int) -> Ints:
            start = np.broadcast_to(before[0], (len(beliefs), mdp.num_states))
            before[0] = planner.optimal(beliefs, stage, start)[0]
            return before[0][np.arange(len(states)), states]

        return way

    def _exclude(self, bayes: tuple[float, float]) -> tuple[int, float, float] | None:
        """The candidate about which it pays most to know whether it is true, by the middle of its bounds."""
        model, belief = self.model, self.model.belief
        if not 1 < len(belief) <= MOST_EXCLUDED:
            return None
        found = []
        for k, chance in enumerate(belief):
            others = np.where(np.arange(len(belief)) == k, 0.0, belief) / (1.0 - chance)
            low, high = self.solution.bounds(others)
            if_true = model.in_units(float(model.mdp.initial @ self.known[: model.mdp.num_states, k]))
            gained = [chance * if_true + (1.0 - chance) * end for end in (low, high)]
            found.append((float(max(gained[0] - bayes[1], 0.0)), float(max(gained[1] - bayes[0], 0.0)), k))
        least, most, k = max(found, key=lambda one: one[0] + one[1])
        return int(model.candidates[k]), least, most


def drawn_from(beliefs: Floats, rng: np.random.Generator) -> Ints:
    """A candidate from each belief, (n,)."""
    below = np.cumsum(beliefs, axis=1)
    return np.asarray((rng.random((len(beliefs), 1)) * below[:, -1:] >= below).sum(axis=1)).clip(
        0, beliefs.shape[1] - 1
    )


class Play:
    """Simulations of ways to act where each candidate is true, as often as its probability says."""

    def __init__(self, model: HiddenModel, known: Floats, runs: int) -> None:
        self.model, mdp = model, model.mdp
        states, K = mdp.num_states, len(model.candidates)
        after = known.reshape(model.stages, states, K)
        onwards = after if model.steps is None else np.concatenate([after[1:], np.zeros_like(after[:1])])
        ahead = np.stack([model.ahead(values).reshape(states, mdp.num_actions, K) for values in onwards])
        self.gaps = np.maximum(after[:, :, None] - ahead, 0.0)
        """V* - Q* by stage, state, action and candidate; infinite where the action is not allowed."""
        self.start = known[:states]
        self.each = np.maximum(np.round(runs * model.belief).astype(int), 2)
        self.cumulative, self.first = _cumulative(model)

    @property
    def steps(self) -> int:
        """How long a run is."""
        if self.model.steps is not None:
            return self.model.steps
        gamma = self.model.mdp.discount
        return min(int(np.ceil(np.log(NEGLIGIBLE * (1.0 - gamma)) / np.log(gamma))), MOST_STEPS)

    def simulated(self, way: Way, rng: np.random.Generator) -> Interval:
        """What a way of acting earns, with a 95% interval."""
        model, truth = self.model, np.repeat(np.arange(len(self.each)), self.each)
        first = rng.choice(model.mdp.num_states, len(truth), p=model.mdp.initial)
        states, lost = first, np.zeros(len(truth))
        beliefs = np.tile(model.belief, (len(truth), 1))
        for t in range(self.steps):
            stage = min(t, model.stages - 1)
            actions = way(beliefs, states, stage)
            lost += model.mdp.discount**t * self.gaps[stage, states, actions, truth]
            transition = self.moved(states, actions, truth, rng.random(len(truth)))
            states = model.successor[transition]
            beliefs = beliefs * model.p[transition]
            beliefs /= beliefs.sum(axis=1, keepdims=True)
        return self.interval(self.expected_start(first, truth) - lost, truth)

    def moved(self, states: Ints, actions: Ints, truth: Ints, uniforms: Floats) -> Ints:
        """The transitions that are taken, (n,)."""
        pairs = states * self.model.mdp.num_actions + actions
        below = self.cumulative[pairs, :, truth]
        return np.asarray(self.first[pairs] + (uniforms[:, None] >= below).sum(axis=1))

    def expected_start(self, first: Ints, truth: Ints) -> Floats:
        """V* of the first states, of which the mean is known: what is left of their chance is only in what is lost."""
        return self.model.mdp.initial @ self.start[:, truth]

    def interval(self, earned: Floats, truth: Ints) -> Interval:
        """The mean over the prior, each candidate weighed by its probability, in your units."""
        belief = self.model.belief
        parts = [earned[truth == k] for k in range(len(belief))]
        mean = sum(p * part.mean() for p, part in zip(belief, parts, strict=True))
        variance = sum(p**2 * part.var(ddof=1) / len(part) for p, part in zip(belief, parts, strict=True))
        end = TWO_SIDED * float(np.sqrt(variance))
        return Interval(*(self.model.in_units(float(mean + shift)) for shift in (0.0, -end, end)))

    def of_agents(self, rng: np.random.Generator) -> Interval:
        """What the recommended agent earns, with a 95% interval."""
        model, mdp = self.model, self.model.mdp
        each = np.maximum(self.each // AGENT_SHARE, 2)
        truth, earned = np.repeat(np.arange(len(each)), each), []
        for number, k in enumerate(truth):
            agent, state, lost = (
                recommended(mdp, seed=number),
                int(rng.choice(mdp.num_states, p=mdp.initial)),
                0.0,
            )
            for t, uniform in enumerate(rng.random(min(self.steps, AGENT_STEPS))):
                action = agent.act(state)
                lost += mdp.discount**t * self.gaps[0, state, action, k]
                at, where = np.array([state]), np.array([action])
                after = int(model.successor[self.moved(at, where, np.array([k]), np.array([uniform]))[0]])
                agent.observe(state, action, after)
                state = after
            earned.append(float(mdp.initial @ self.start[:, k]) - lost)
        return self.interval(np.array(earned), truth)


def _cumulative(model: HiddenModel) -> tuple[Floats, Ints]:
    """Of each pair the cumulative probabilities of its transitions but the last, (pairs, n, K), and the first."""
    begin = model.begin
    sizes = np.diff(begin)
    table = np.ones((len(sizes), max(int(sizes.max()) - 1, 1), len(model.candidates)))
    for pair, size in enumerate(sizes):
        table[pair, : size - 1] = np.cumsum(model.p[begin[pair] : begin[pair] + size - 1], axis=0)
        table[pair, size - 1 :] = 2.0
    return table, np.asarray(begin[:-1])
