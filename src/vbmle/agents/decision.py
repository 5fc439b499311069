"""What an agent solved when it last decided, and how that ended: a value that travels from the solver to the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vbmle.common import showing
from vbmle.common.keeper import Rows, Shown
from vbmle.estimation.counts import TransitionCounts
from vbmle.estimation.maximiser import CERTIFIED, CONVERGED, Solver, rounding_of_likelihood

if TYPE_CHECKING:
    from vbmle.estimation.candidates import CandidateSolver


@dataclass(frozen=True, repr=False)
class Decision(Shown):
    """The outcome of one decision. Fields are None where the agent's solver has no such thing.

    Parameters
    ----------
    solved : what was solved, in words.
    status : how the solver ended, in words; "converged" where all is well.
    converged : whether the solver kept its promise.
    objective : the value of what was maximised, at the solution.
    residual : the relative KKT residual there.
    gap : a bound on what a concave objective, or an inner maximum, may still gain.
    upper_bound : what no feasible theta exceeds (`VBMLE(search="certified")`).
    error_bound : how far the value planned for may be from the exact one.
    empty : whether no feasible theta was left in the confidence set.
    """

    solved: str
    status: str
    converged: bool
    objective: float | None = None
    residual: float | None = None
    gap: float | None = None
    upper_bound: float | None = None
    error_bound: float | None = None
    empty: bool | None = None

    def _shown(self) -> Rows:
        known = {
            name: value for name, value in vars(self).items() if name not in ("solved", "status", "converged")
        }
        told = [(name.replace("_", " "), _said(value)) for name, value in known.items() if value is not None]
        return [("solved", self.solved), ("status", self.status), *told]

    @property
    def certified(self) -> bool | None:
        """Whether the upper bound proves the objective to be the maximum; None where there is no bound."""
        if self.upper_bound is None or self.objective is None:
            return None
        # The work on a bound ends at CERTIFIED; a hundredth more allows for the rounding that is added to it.
        return self.upper_bound - self.objective <= 1.01 * CERTIFIED * (1.0 + abs(self.objective))

    @property
    def in_trouble(self) -> bool:
        """Whether it did not converge, its certificate is not closed, or its confidence set was empty."""
        return not self.converged or self.certified is False or self.empty is True


def _said(value: float | bool) -> str:
    return str(value) if isinstance(value, bool) else showing.number(value)


def of_solver(
    solver: Solver | CandidateSolver,
    counts: TransitionCounts,
    solved: str,
    upper_bound: float | None = None,
) -> Decision:
    """The outcome of the last climb of a maximiser; its gap counts what rounding may add."""
    return Decision(
        solved,
        solver.status,
        solver.residual <= CONVERGED,
        solver.objective,
        solver.residual,
        solver.gap + rounding_of_likelihood(counts, solver.theta),
        upper_bound,
    )
