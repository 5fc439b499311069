"""Whether the events of a loop make sense one after the other: the service would never have written them otherwise."""

from __future__ import annotations

from vbmle.model.mdp import LinearMixtureMDP
from vbmle.serve import events
from vbmle.serve.events import Entry
from vbmle.serve.ledger import Ledger


class Senseless(Exception):
    """An event that cannot follow on from those before; the message is one line."""


class Odd(Senseless):
    """An event that was not made as it should have been; what it says stands, and the loop goes on from it."""


class Sense:
    """A loop as its events make it, each looked at before it is taken in."""

    def __init__(self, name: str, models: dict[str, str], mdps: dict[str, LinearMixtureMDP]) -> None:
        self.ledger = Ledger(name)
        self._models, self._mdps = models, mdps
        self._mdp: LinearMixtureMDP | None = None
        self._decided: dict[str, tuple[int, int]] = {}
        self._closed: dict[str, str] = {}
        self._requests: set[str] = set()

    def repeats(self, event: events.AnyEvent) -> bool:
        """Whether a solve begins that has begun before, or sets a policy that was set before: done twice at once."""
        solving, done = self.ledger.solving, self.ledger.version
        if isinstance(event, events.SolveBegun):
            return event.version <= (done if solving is None else solving.version)
        return isinstance(event, events.PolicySet) and event.version <= done

    def take(self, entry: Entry) -> None:
        """Take in the next event; Senseless where it should not be the next (it is taken in where it can be)."""
        event = entry.event
        if isinstance(event, events.Created) != (self.ledger.created is None):
            raise Senseless("a loop has one beginning, and it comes first")
        if isinstance(event, events.SolveBegun | events.PolicySet):
            self._require_turn(event, entry.seq)
        try:
            self._judge(event, events.decision_id(entry.seq))
        finally:
            self.ledger.apply(entry, lambda *_: None)

    def _judge(self, event: events.AnyEvent, own_name: str) -> None:
        if isinstance(event, events.Created):
            self._begin(event)
        elif isinstance(event, events.Decided):
            again = event.request_id in self._requests
            self._decided[own_name] = (event.state, event.action)
            self._requests.add(event.request_id)
            self._require_decision(event, again)
        elif isinstance(event, events.Observed | events.Refused):
            self._require_outcome(event)
        elif isinstance(event, events.Cancelled):
            self._close(event.decision_id, "cancelled")
        elif isinstance(event, events.Expired):
            for name in event.decision_ids:
                if name not in self.ledger.pending:
                    raise Senseless(f"decision {name} is not waited for, so it cannot expire")

    def _begin(self, event: events.Created) -> None:
        if self._models.get(event.model) != event.fingerprint:
            raise Senseless(f"it rests on model {event.model}, which is gone or another")
        self._mdp = self._mdps.get(event.model)

    def _require_decision(self, event: events.Decided, again: bool) -> None:
        if again:
            raise Senseless(f"request {event.request_id!r} was decided before")
        for action in (event.action, event.suggested):
            self._require_range(event.state, action)
        if event.policy_version != self.ledger.version or event.mode != self.ledger.mode:
            raise Odd(
                f"it rests on policy {event.policy_version} and mode {event.mode}, when policy {self.ledger.version} "
                f"and mode {self.ledger.mode} were in force"
            )

    def _require_range(self, state: int, action: int) -> None:
        mdp = self._mdp
        if mdp is None:
            return
        inside = 0 <= state < mdp.num_states and 0 <= action < mdp.num_actions
        if not inside or not mdp.allowed[state, action]:
            raise Senseless(f"the model has no action {action} in state {state}")

    def _require_outcome(self, event: events.Observed | events.Refused) -> None:
        name = event.decision_id
        if self._decided.get(name) != (event.state, event.action):
            raise Senseless(f"it is about decision {name}, which was not made or is another")
        if self._mdp is not None and not 0 <= event.next_state < self._mdp.num_states:
            raise Senseless(f"the model has no state {event.next_state}")
        if isinstance(event, events.Observed):
            self._close(name, "observed")

    def _close(self, name: str, how: str) -> None:
        if name not in self._decided:
            raise Senseless(f"it is about decision {name}, which was not made")
        if name in self._closed:
            raise Senseless(f"decision {name} was {self._closed[name]} before")
        self._closed[name] = how

    def _require_turn(self, event: events.SolveBegun | events.PolicySet, seq: int) -> None:
        solving, version = self.ledger.solving, self.ledger.version
        if isinstance(event, events.PolicySet):
            if solving is None or solving.version != event.version:
                raise Senseless(f"it sets policy {event.version}, for which no solve was begun")
        elif solving is not None or event.version != version + 1:
            raise Senseless(f"it begins solve {event.version} after policy {version}")
        elif not self.ledger.through <= event.through < seq:
            raise Senseless(f"its solve goes to event {event.through}, which cannot be")
