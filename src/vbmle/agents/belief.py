"""What an agent believes about theta: the posterior, from its counts and a prior.

Where theta is one of d candidates, that is a probability for each. For mixtures the prior is uniform on P and the
summary is the mean and a 90% interval of each weight, from draws of `vbmle.agents.posterior`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.posterior import sampler_for
from vbmle.common import showing
from vbmle.common.keeper import Rows, Shown, Value
from vbmle.common.validation import Floats
from vbmle.estimation.candidates import posterior
from vbmle.estimation.counts import TransitionCounts

BELIEF_DRAWS = 1000
BELIEF_THINNING = 3
INTERVAL_TAIL = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Belief(Shown, Value):
    """What an agent believes about theta, as `Agent.belief` returns it.

    Attributes
    ----------
    mean : (d,) array
        The posterior mean of each weight; where theta is one of the candidates, their probabilities.
    low : (d,) array
        Each weight lies below this with probability 5%.
    high : (d,) array
        Each weight lies above this with probability 5%.
    probability : (d,) array, or None
        The posterior of each candidate, for models with domain "vertices".
    names : tuple of str, or None
        What the base models are called, where they have names.

    Examples
    --------
    >>> import vbmle
    >>> agent = vbmle.VBMLE(vbmle.worlds.two_suspects(chance=0.75).mdp)
    >>> agent.observe(0, 1, 1)
    >>> agent.belief().probability.round(4).tolist()
    [0.75, 0.25]
    """

    mean: Floats
    low: Floats
    high: Floats
    probability: Floats | None = None
    names: tuple[str, ...] | None = None

    def _shown(self) -> Rows:
        names = self.names or [str(k) for k in range(len(self.mean))]
        if self.probability is not None:
            order = np.argsort(-self.probability, kind="stable")
            return [("probability", showing.some(f"{names[k]}: {self.probability[k]:.3g}" for k in order))]
        ends = zip(names, self.mean, self.low, self.high, strict=True)
        return [
            ("weights", showing.some(f"{k}: {m:.3g} ({low:.3g} to {high:.3g})" for k, m, low, high in ends))
        ]


def belief(counts: TransitionCounts, prior: ArrayLike | None = None) -> Belief:
    """The posterior of theta after the counts.

    prior : (d,) probabilities of the candidates, by default the model's, else uniform. Mixtures have the uniform prior
        on P alone.
    """
    mdp = counts.mdp
    if mdp.domain == "vertices":
        p = posterior(counts, prior)
        low, high = ((p > 1.0 - INTERVAL_TAIL).astype(np.float64), (p >= INTERVAL_TAIL).astype(np.float64))
        return Belief(p, low, high, p, mdp.names.models)
    if prior is not None:
        raise ValueError(
            f"prior is given, but theta is a mix (domain {mdp.domain!r}), whose prior is uniform on its set; "
            "a prior over candidates needs domain='vertices'"
        )
    sampler, rng = sampler_for(mdp, BELIEF_THINNING), np.random.default_rng(0)
    draws = np.array([sampler.draw(counts, rng) for _ in range(BELIEF_DRAWS)])
    low, high = np.quantile(draws, [INTERVAL_TAIL, 1.0 - INTERVAL_TAIL], axis=0)
    return Belief(draws.mean(axis=0), low, high, names=mdp.names.models)
