"""The numbers that the paper prints, to be set beside ours.

Its machine was an i7-11700K with an RTX 3080 Ti. Standard deviations are of regret at t = 500 over 20 trials.
Its curves are printed as pictures only, so nothing else can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One agent in one world, as printed; None where there is nothing."""

    seconds_per_step: str | None
    std: str | None


FIGURES: dict[tuple[str, str], Published] = {
    ("(3,2)", "VBMLE"): Published("0.793", "1.874"),
    ("(5,4)", "VBMLE"): Published("2.359", "1.830"),
    ("(15,4)", "VBMLE"): Published("42.232", None),
    ("(3,2)", "UCLK"): Published("3.135", "79.289"),
    ("(5,4)", "UCLK"): Published("49.763", "23.982"),
    ("(15,4)", "UCLK"): Published("≥ 35 hours", None),
}
