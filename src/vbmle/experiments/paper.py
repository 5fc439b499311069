"""What the paper runs: its random-network worlds at three sizes, 20 freshly drawn worlds each, 500 steps.

The paper leaves d and the width of the network open; d = 5, 5, 10 and 32 hidden units are our choice.
"""

from __future__ import annotations

from vbmle.experiments.spec import Choice, Experiment

SIZES = {"(3,2)": (3, 2, 5), "(5,4)": (5, 4, 5), "(15,4)": (15, 4, 10)}
"""States, actions and dimension by the paper's name for the world."""

FULL = (20, 500)
QUICK = (5, 200)


def experiment(quick: bool = False, trials: int | None = None, horizon: int | None = None) -> Experiment:
    """The paper's regret experiment; `quick` is a smaller look at the same worlds."""
    default_trials, default_horizon = QUICK if quick else FULL
    return Experiment(
        name="paper",
        worlds={label: Choice("random_network", network(*size)) for label, size in SIZES.items()},
        agents={
            "VBMLE": Choice("VBMLE", {"bias": "sqrt", "ridge": 1.0}),
            "approximated VBMLE": Choice("ApproximateVBMLE", {"bias": "sqrt", "ridge": 1.0}),
            "maximum likelihood": Choice("MaximumLikelihood", {"ridge": 1.0}),
        },
        trials=default_trials if trials is None else trials,
        horizon=default_horizon if horizon is None else horizon,
    )


def network(states: int, actions: int, dimension: int) -> dict[str, int | float]:
    """The settings of the paper's world at one size."""
    return {
        "states": states,
        "actions": actions,
        "dimension": dimension,
        "hidden": 32,
        "temperature": 0.01,
        "discount": 0.9,
    }
