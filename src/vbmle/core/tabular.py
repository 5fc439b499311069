"""The core's solver for reward-biased maximum likelihood with one distribution per (s, a)."""

from __future__ import annotations

from vbmle.core.generated import vb_rows_result, vb_rows_task, vb_rows_view
from vbmle.core.library import Floats, Handle, Ints, check, floats, lib, shown
from vbmle.core.model import Model


class RewardBiasedRows:
    """The model in force: `p` of each possible transition, and the `policy` that is optimal for it.

    factors: evaluate policies by dense (S, S) factors, else by sweeps. At first p is uniform.
    """

    def __init__(self, model: Model, factors: bool, tolerance: float = 1e-12, limit: int = 1000) -> None:
        self.model = model
        self._handle = handle = Handle("rows", model, model.handle, int(factors))
        self._inputs = handle.arrays(
            handle.look(vb_rows_view()), p=(model.num_transitions,), policy=(model.num_states,)
        )
        self.p: Floats = shown(self._inputs["p"])
        self.policy: Ints = shown(self._inputs["policy"])
        self._task, self._result = vb_rows_task(tolerance=tolerance, limit=limit), vb_rows_result()

    def put(self, p: Floats, policy: Ints) -> None:
        """Another model in force, from which `solve` goes on; it checks the policy."""
        self._inputs["p"][...], self._inputs["policy"][...] = p, policy

    def solve(self, counts: Floats, visits: Floats, bias: float, state: int) -> tuple[float, float]:
        """Move p and policy to a fixed point; the objective there, and what its linearised form may still gain."""
        model, task, found = self.model, self._task, self._result
        task.counts = floats(counts, model.num_transitions)
        task.visits = floats(visits, model.num_states * model.num_actions)
        task.bias, task.state = bias, state
        check(lib.vb_rows_solve(self._handle.address, task, found))
        return float(found.objective), float(found.gap)
