"""What the paper proves, as functions that can be computed, plotted against a run, and seen to hold or fail.

bounds       beta_t, beta'_t, the bounds on Delta_t, on sums of vector norms and on regret; published radii
trace        all of it along a run, each quantity beside its bound
hardness     how hard a world is: diameter, value norm, reciprocal gaps (also `vbmle.hardness`)
prequential  the paper's martingale made a confidence set
confidence   what a set proves about V* and about a policy (from `vbmle.estimation.confidence`)
misfit       whether any theta fits, and where none does (from `vbmle.estimation.misfit`)
"""

from __future__ import annotations

from vbmle.agents.uclk import log_det_radius as uclk_log_det_radius
from vbmle.agents.uclk import paper_radius as uclk_radius
from vbmle.agents.uclk_plus import radii as uclk_plus_radii
from vbmle.estimation.confidence import Confidence, certify, confidence
from vbmle.estimation.likelihood_set import LikelihoodSet, likelihood_set
from vbmle.estimation.misfit import Misfit, MisfitPair, misfit
from vbmle.theory.bounds import (
    Constants,
    beta,
    beta_prime,
    constants,
    delta_bound,
    regret_bound,
    regret_order,
    regret_terms,
    steps_needed,
    vector_norm_bound,
)
from vbmle.theory.prequential import Prequential
from vbmle.theory.trace import Trace, trace

__all__ = [
    "Confidence",
    "Constants",
    "LikelihoodSet",
    "Misfit",
    "MisfitPair",
    "Prequential",
    "Trace",
    "beta",
    "beta_prime",
    "certify",
    "confidence",
    "constants",
    "delta_bound",
    "likelihood_set",
    "misfit",
    "regret_bound",
    "regret_order",
    "regret_terms",
    "steps_needed",
    "trace",
    "uclk_log_det_radius",
    "uclk_plus_radii",
    "uclk_radius",
    "vector_norm_bound",
]
