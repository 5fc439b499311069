"""What an agent learnt on one model, counted again on another: `load(..., model_changed="recount")`.

Counts are what was learnt, and they do not depend on rewards, discount or features: after one of these was corrected
they carry over, as far as the new model has the same states and actions. What else an agent keeps (the theta it
climbs from, a sampler's chain, an episode) begins anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vbmle.common.files import Snapshot
from vbmle.common.validation import Ints
from vbmle.estimation.counts import ImpossibleTransition, TransitionCounts
from vbmle.estimation.forgetting import ForgettingCounts

if TYPE_CHECKING:
    from vbmle.agents.model_agent import ModelAgent

MODEL_CHANGED = ("refuse", "recount")


def counted_transitions(counts: TransitionCounts) -> Ints:
    """(s, a, s') of every transition that was counted, (n, 3), in the order of `counts.observed`."""
    possible, seen = counts.mdp.transitions, counts.observed
    state, action = np.divmod(possible.pair_of[seen], possible.num_actions)
    return np.column_stack([state, action, possible.successor[seen]]).astype(np.int64)


def recount(agent: ModelAgent, snapshot: Snapshot, where: Ints) -> None:
    """Give a fresh agent what a snapshot of one on another model had counted, at `where` (`counted_transitions`).

    Transitions that the new model calls impossible are dealt with as `on_impossible` says.
    """
    kept = snapshot["counts.observed"]
    weights = snapshot["counts.values"][kept]
    if where.shape != (len(kept), 3):
        raise ValueError(f"where has shape {where.shape}; it needs {(len(kept), 3)}")
    steps = np.column_stack([where, weights])
    skipped = snapshot.get("counts.skipped", np.zeros((0, 4), np.int64))
    fades = isinstance(agent.counts, ForgettingCounts)
    if not fades:  # what was impossible then may be possible now; where old ones fade it is too late for them
        steps = np.vstack([steps, skipped.astype(np.float64)])
    at = _find(agent, steps, fades)
    known = at >= 0
    values = np.zeros_like(agent.counts.values)
    np.add.at(values, at[known], steps[known, 3])
    agent.counts.load_values(values, np.array(list(dict.fromkeys(at[known].tolist())), dtype=np.int64))
    odd = skipped if fades else steps[~known]
    agent.counts.skipped = {(int(s), int(a), int(to)): int(times) for s, a, to, times in odd}
    if isinstance(agent.counts, ForgettingCounts):
        agent.counts.carry(snapshot, dict(zip(kept.tolist(), at.tolist(), strict=True)))
    agent._trigger.seen_many(np.repeat(at[known], steps[known, 3].astype(np.int64)))
    agent.decisions = int(snapshot["decisions"])
    agent._decided = -1
    if agent._watch and "watch.numbers" in snapshot:  # it looks for changes from here on
        agent._watch.steps = int(snapshot["watch.numbers"][0])
        agent._watch.restarts = [int(step) for step in snapshot["watch.restarts"]]


def _find(agent: ModelAgent, steps: np.ndarray, all_of_them: bool) -> Ints:
    """The index of each transition in the model at hand, -1 where it is skipped."""
    s, a, to = steps[:, :3].astype(np.int64).T
    at = agent.counts.find_many(s, a, to)
    odd = np.nonzero(at < 0)[0]
    rule = agent._on_impossible
    if len(odd) and rule == "widen":
        agent._widen(s[odd] * agent.mdp.num_actions + a[odd])
        return agent.counts.find_many(s, a, to)
    if len(odd) and (rule == "raise" or all_of_them):
        i = int(odd[0])
        raise ImpossibleTransition(
            f"{agent.mdp.names.pair(int(s[i]), int(a[i]))} led to {agent.mdp.names.state(int(to[i]))}, which has "
            f"probability 0 for every feasible theta of the new model; {len(odd)} counted transitions are such"
        )
    return at
