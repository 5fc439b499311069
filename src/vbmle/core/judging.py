"""The core's draws: policies judged by what they lose in each, and by what they would teach."""

from __future__ import annotations

import numpy as np

from vbmle.core.generated import vb_draws_view
from vbmle.core.library import Floats, Handle, Ints, Stateful, check, floats, ints, lib, shown
from vbmle.core.model import Model


class Draws(Stateful):
    """Draws of theta, each with its V* and a policy that has it: `put` a theta, then `plan`.

    `precision` is the error of what is found: less counts as nothing.
    """

    def __init__(self, model: Model, count: int) -> None:
        self.model, self.count = model, count
        self._handle = handle = Handle("draws", model, model.handle, count)
        view = handle.look(vb_draws_view())
        each = (count, model.num_states)
        at = handle.arrays(
            view,
            theta=(count, model.dimension),
            best=each,
            policy=each,
            information=(model.num_states * model.num_actions,),
        )
        self._state = {name: at[name] for name in ("theta", "best", "policy")}
        self.theta, self.best, self.policy, self._information = (shown(array) for array in at.values())
        self.precision = float(view.precision)

    def put(self, draw: int, theta: Floats) -> None:
        """Write the theta of a draw; its plan is still the one before."""
        self._state["theta"][draw] = theta

    def plan(self, which: Ints) -> None:
        """V* and its policy for the draws that are named, from what they had before."""
        check(lib.vb_draws_plan(self._handle.address, ints(which), len(which)))

    def judge(self, policies: Ints, state: int) -> tuple[Floats, Floats]:
        """Of policies (K, S): V* - V^pi of the state in each draw, (K, M), and the information they visit, (K,)."""
        loss, taught = np.empty((len(policies), self.count)), np.empty(len(policies))
        given = ints(policies, len(policies), self.model.num_states), len(policies), state
        check(lib.vb_draws_judge(self._handle.address, *given, floats(loss), floats(taught)))
        return loss, taught

    @property
    def information(self) -> Floats:
        """What the draws disagree on in each pair, in nats, (S*A,)."""
        check(lib.vb_draws_inform(self._handle.address))
        return self._information

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        """Continue from a snapshot of such draws on the same model."""
        super().restore(snapshot)
        check(lib.vb_draws_take_over(self._handle.address))
