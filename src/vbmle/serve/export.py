"""All decisions of a loop as one Parquet file: a row for each, with what came of it and what it earned."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from vbmle.common import extras
from vbmle.serve.events import Cancelled, Decided, Entry, Expired, Observed, decision_id
from vbmle.serve.outcomes import Outcomes


def parquet(entries: Iterable[Entry], outcomes: Outcomes) -> bytes:
    """The table of a log, as a file; MissingExtra where nothing is installed that writes Parquet."""
    extras.require("tables")
    import polars

    table = polars.DataFrame(list(rows(entries, outcomes).values()), schema=schema(), orient="row")
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()


def schema() -> dict[str, Any]:
    """Names and types of the columns."""
    import polars

    number, text, time = polars.Int64, polars.String, polars.Datetime("us", "UTC")
    return {
        "decision_id": text,
        "time": time,
        "request_id": text,
        "mode": text,
        "policy_version": number,
        "state": number,
        "action": number,
        "suggested": number,
        "baseline_action": number,
        "status": text,
        "observed": time,
        "next_state": number,
        "reward": polars.Float64,
    }


def rows(entries: Iterable[Entry], outcomes: Outcomes) -> dict[str, dict[str, Any]]:
    """A row for each decision, by its name."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        match entry.event:
            case Decided() as event:
                name = decision_id(entry.seq)
                found[name] = dict.fromkeys(schema()) | {
                    "decision_id": name,
                    "time": _microseconds(entry.time),
                    "request_id": event.request_id,
                    "mode": event.mode,
                    "policy_version": event.policy_version,
                    "state": event.state,
                    "action": event.action,
                    "suggested": event.suggested,
                    "baseline_action": event.baseline_action,
                    "status": "pending",
                }
            case Observed() as event:
                reward = outcomes.reward(event.state, event.action, event.next_state)
                found[event.decision_id] |= {
                    "status": "observed",
                    "observed": _microseconds(entry.time),
                    "next_state": event.next_state,
                    "reward": reward,
                }
            case Cancelled(decision_id=name):
                found[name]["status"] = "cancelled"
            case Expired(decision_ids=names):
                for name in names:
                    found[name]["status"] = "expired"
    return found


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)
