"""What an agent believes of theta: the posterior, from its counts and a prior.

Where theta is one of d candidates, that is a probability for each. For mixtures the prior is uniform on P and the
summary is the mean and an interval of 90% of each weight, from draws of `vbmle.agents.posterior`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vbmle.agents.posterior import sampler_for
from vbmle.common import validation
from vbmle.common.validation import Floats
from vbmle.estimation.candidates import posterior
from vbmle.estimation.counts import TransitionCounts

DRAWS = 1000
THINNING = 3
TAIL = 0.05


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of theta.

    mean : (d,) the posterior mean of each weight; where theta is one of the candidates, their probabilities.
    low, high : (d,) between which each weight lies with probability 90%, 5% on either side.
    probability : (d,) the posterior of each candidate, for models with domain "vertices"; else None.
    """

    mean: Floats
    low: Floats
    high: Floats
    probability: Floats | None = None


def belief(counts: TransitionCounts, prior: ArrayLike | None = None) -> Belief:
    """The posterior of theta after the counts.

    prior : (d,) probabilities of the candidates, uniform by default. Mixtures have the uniform prior on P alone.
    """
    mdp = counts.mdp
    if mdp.domain == "vertices":
        before = None if prior is None else validation.mixture("prior", prior)
        if before is not None:
            validation.require_shape("prior", before, (mdp.dimension,), "(candidates,)")
        p = posterior(counts, before)
        return Belief(p, (p > 1.0 - TAIL).astype(np.float64), (p >= TAIL).astype(np.float64), p)
    if prior is not None:
        raise ValueError(
            f"prior is given, but theta is a mix (domain {mdp.domain!r}), whose prior is uniform on its set; "
            "a prior over candidates needs domain='vertices'"
        )
    sampler, rng = sampler_for(mdp, THINNING), np.random.default_rng(0)
    draws = np.array([sampler.draw(counts, rng) for _ in range(DRAWS)])
    low, high = np.quantile(draws, [TAIL, 1.0 - TAIL], axis=0)
    return Belief(draws.mean(axis=0), low, high)
