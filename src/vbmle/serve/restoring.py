"""A loop and its agent as they are on disk: the fold of the events, from a snapshot on where one fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vbmle.common.files import UNREADABLE
from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import snapshots
from vbmle.serve.event_log import EventLog
from vbmle.serve.events import Created, PolicySet
from vbmle.serve.learner import Learner
from vbmle.serve.ledger import Ledger
from vbmle.serve.outcomes import Outcomes


class Stopping(Exception):
    """The server is told to stop while it reads."""


def restore(
    log: EventLog,
    name: str,
    mdp: LinearMixtureMDP,
    say: Callable[[str], None],
    shortcut: bool = True,
    stopping: Callable[[], bool] = lambda: False,
) -> tuple[Ledger, Learner]:
    """A loop and its agent, from the latest snapshot that fits the log, or from the first event."""
    ledger, learner = Ledger(name), None
    if shortcut:
        ledger, learner = _from_snapshot(log, name, mdp) or (ledger, learner)
    begun, reward = ledger.seq, Outcomes(mdp).reward
    for entry in log.read(name, ledger.seq, ledger.check):
        if stopping():
            raise Stopping
        if isinstance(entry.event, Created):
            learner = Learner.fresh(mdp, entry.event.agent, entry.event.settings)
        elif isinstance(entry.event, PolicySet):
            assert learner is not None
            assert ledger.solving is not None
            learner.follow(entry.event, ledger.batch, ledger.solving.state)
        ledger.apply(entry, reward)
    assert learner is not None
    say(
        f"loop {name}: read from event {begun + 1} on"
        if begun
        else f"loop {name}: read from its first event on"
    )
    return ledger, learner


def _from_snapshot(log: EventLog, name: str, mdp: LinearMixtureMDP) -> tuple[Ledger, Learner] | None:
    for path in snapshots.found(Path(log.folder.snapshots), name):
        snapshot = snapshots.read(path)
        entry = log.event(name, snapshot.ledger.seq) if snapshot else None
        if snapshot is None or entry is None or entry.check != snapshot.ledger.check:
            continue
        try:
            snapshot.ledger.require_fits(name, mdp)
            assert snapshot.ledger.created is not None
            learner = Learner.load(mdp, snapshot.ledger.created.agent, snapshot.arrays)
        except UNREADABLE:
            continue
        learner.kept = snapshot.ledger.length
        return snapshot.ledger, learner
    return None
