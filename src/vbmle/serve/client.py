"""A client of `vbmle serve` in a few lines, from the standard library alone.

    loop = vbmle.Client("http://127.0.0.1:8417").loop("depot")
    decision = loop.act(state)             # decision.action, decision.decision_id
    loop.observe(decision, next_state)

Every request may be sent again without changing anything, so the client does: when a connection breaks, when no answer
comes in time, and when the server asks for it. What was refused raises `Refused`, with the server's line.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

AGAIN = (202, 408, 429, 502, 503, 504, 507)
"""Answers that mean: not now, or not yet."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0


class Refused(ValueError):
    """The server did not do what was asked; `status` is that of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Unreachable(ConnectionError):
    """No answer, however often it was tried."""


@dataclass(frozen=True)
class Decision:
    """What to do. In shadow `action` is the baseline's, and `suggested` what the agent would do."""

    decision_id: str
    action: int
    policy_version: int
    mode: str
    suggested: int
    action_name: str | None = None


class Client:
    """A server by its address. Requests are safe to repeat, so they are tried again. For one thread at a time.

    Parameters
    ----------
    url : str
        Where `vbmle serve` listens, as in "http://127.0.0.1:8417".
    token : str, optional
        The server's token, if it has one.
    patience : float, default 60.0
        For how many seconds a request is tried again.
    timeout : float, default 10.0
        After how many seconds without an answer the connection is given up.

    Raises
    ------
    ValueError
        If url is not an address.

    Examples
    --------
    >>> import vbmle
    >>> loop = vbmle.Client("http://127.0.0.1:8417").loop("depot")  # connects with the first request
    >>> loop.name
    'depot'
    """

    def __init__(
        self, url: str, token: str | None = None, patience: float = 60.0, timeout: float = 10.0
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url is {url!r}; it needs an address such as http://127.0.0.1:8417")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._base, self._patience = parts.path.rstrip("/"), patience
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def close(self) -> None:
        """Let go of the connection; the next request opens another."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def loop(self, name: str) -> Loop:
        """A loop by name, whether it exists yet or not."""
        return Loop(self, name)

    def put_model(self, name: str, model: Any) -> dict[str, Any]:
        """Send a model: a LinearMixtureMDP, or the bytes of its file."""
        return self.ask("PUT", f"/v1/models/{quote(name, safe='')}", content=_npz(model))

    def ask(self, method: str, path: str, body: Any = None, content: bytes | None = None) -> Any:
        """One request, sent again until it is answered or patience ends."""
        headers = dict(self._headers)
        if content is None and body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        until, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                status, answer = self._once(method, self._base + path, content, headers)
                if status not in AGAIN:
                    return _judged(status, answer)
                problem: Exception = Refused(status, _line(answer))
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                problem = Unreachable(
                    f"{self._connection.host}:{self._connection.port} does not answer: {error}"
                )
            if time.monotonic() + pause > until:
                raise problem
            time.sleep(pause * random.uniform(0.5, 1.0))  # so that many clients do not come back at once
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        return response.status, response.read()


class Loop:
    """A controlled system on a server."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name
        self._path = f"/v1/loops/{quote(name, safe='')}"

    def create(
        self,
        model: str,
        agent: str | None = None,
        settings: dict[str, Any] | None = None,
        mode: str = "live",
        **others: Any,
    ) -> dict[str, Any]:
        """Make the loop, with the recommended agent by default; again, it changes nothing. `others`: expire_after.

        It returns when the loop is ready. Where that takes longer than the client's patience, call it again.
        """
        body = {"model": model, "agent": agent, "settings": settings or {}, "mode": mode, **others}
        return self._client.ask("PUT", self._path, body)

    def act(
        self,
        state: int | str,
        request_id: str | None = None,
        allowed: Sequence[int | str] | None = None,
        baseline_action: int | str | None = None,
    ) -> Decision:
        """The decision for a state. Give a `request_id` of your own if your program may start again in between."""
        body: dict[str, Any] = {"state": state, "request_id": request_id or str(uuid.uuid4())}
        if allowed is not None:
            body["allowed"] = list(allowed)
        if baseline_action is not None:
            body["baseline_action"] = baseline_action
        return Decision(**self._post("decisions", body))

    def observe(self, decision: Decision | str, next_state: int | str) -> dict[str, int]:
        """What a decision led to."""
        return self._post("observations", _observation(decision, next_state))

    def observe_many(self, outcomes: Iterable[tuple[Decision | str, int | str]]) -> dict[str, int]:
        """What decisions led to: all of them are recorded, or none."""
        return self._post("observations", [_observation(*outcome) for outcome in outcomes])

    def cancel(self, decision: Decision | str) -> dict[str, Any]:
        """A decision was not carried out."""
        return self._post("cancel", {"decision_id": _name(decision)})

    def set_mode(self, mode: str) -> dict[str, Any]:
        """Go on in "shadow", "live" or "frozen"."""
        return self._post("mode", {"mode": mode})

    def replay(self, agent: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
        """What another agent would have played."""
        return self._post("replay", {"agent": agent, "settings": settings or {}})

    def status(self) -> dict[str, Any]:
        """How the loop stands."""
        return self._client.ask("GET", self._path)

    def _post(self, what: str, body: Any) -> Any:
        return self._client.ask("POST", f"{self._path}/{what}", body)


def _observation(decision: Decision | str, next_state: int | str) -> dict[str, Any]:
    return {"decision_id": _name(decision), "next_state": next_state}


def _name(decision: Decision | str) -> str:
    return decision.decision_id if isinstance(decision, Decision) else decision


def _npz(model: Any) -> bytes:
    if isinstance(model, bytes):
        return model
    from vbmle.common.files import npz_of
    from vbmle.model.model_file import arrays_of

    return npz_of(arrays_of(model))


def _judged(status: int, answer: bytes) -> Any:
    if 200 <= status < 300:
        return json.loads(answer)
    raise Refused(status, _line(answer))


def _line(answer: bytes) -> str:
    try:
        told = json.loads(answer)
        if told.get("state") == "making":
            return f"loop {told['loop']} is still being made; send the request again later"
        return str(told["error"])
    except (ValueError, KeyError, TypeError):
        return answer[:200].decode(errors="replace")
