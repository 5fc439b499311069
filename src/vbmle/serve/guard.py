"""Who may ask: a token where one is set, only names of this machine where none is, and no page of another site.

A service without a token trusts everyone who reaches it, so it listens on this machine alone. A web page from elsewhere
still reaches it by way of a browser that runs here: such requests name another host or origin, and are refused.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vbmle.serve.bodies import Failure

OPEN = ("/healthz", "/readyz")
LOCAL = ("localhost", "127.0.0.1", "::1")
HEADERS = [
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     b"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]  # fmt: skip


LOG = logging.getLogger("vbmle.serve")
GUESSES = 20
"""Wrong tokens that an address may send at once."""
GUESS_SECONDS = 1.0
"""After so long it may send another."""
ADDRESSES_KEPT = 10_000


class Guesses:
    """Who has sent wrong tokens: an address gets no answer about a token while it has sent too many."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._since: OrderedDict[str, tuple[float, int]] = (
            OrderedDict()
        )  # when all is forgiven, and how many so far

    def seconds_left(self, address: str) -> float:
        """How long an address has to wait until its next token is looked at."""
        until, _ = self._since.get(address, (0.0, 0))
        return max(0.0, until - self._clock() - (GUESSES - 1) * GUESS_SECONDS)

    def wrong(self, address: str) -> None:
        """Remember a wrong token; the first, and then each time that they have doubled, is logged."""
        until, count = self._since.pop(address, (0.0, 0))
        now = self._clock()
        count = count + 1 if until > now else 1
        self._since[address] = (max(until, now) + GUESS_SECONDS, count)
        while len(self._since) > ADDRESSES_KEPT:
            self._since.popitem(last=False)
        if count & (count - 1) == 0:
            LOG.warning("wrong token from %s, the %d. in a row", address, count)


class Guard:
    """Lets a request pass, or answers it."""

    def __init__(
        self, app: ASGIApp, token: str | None, hosts: tuple[str, ...] = (), guesses: Guesses | None = None
    ) -> None:
        self._app, self._token, self._hosts = app, token, (*LOCAL, *hosts)
        self._guesses = guesses or Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, _with_headers(send))
            return
        status, text = refused
        headers = [(b"content-type", b"application/json"), *HEADERS]
        if status == 401:
            headers.append((b"www-authenticate", b'Basic realm="vbmle: any name, the token as password"'))
        if status == 429:
            headers.append((b"retry-after", b"1"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": msgspec.json.encode(Failure(text))})

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        if scope["path"] in OPEN:
            return None
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin")
        if origin is not None and _host_of(origin.decode("latin-1")) != host:
            return 403, "the request comes from a page of another site; only pages of this server may ask"
        if self._token is None:
            if _name(host) not in self._hosts:
                return 403, f"the request is for {_name(host)!r}; without a token only this machine is served"
            return None
        given = _token(headers.get(b"authorization", b""))
        if given is None:
            return 401, "a token is needed: send 'Authorization: Bearer TOKEN', or the token as a password"
        address = str((scope.get("client") or ("a client",))[0])
        if (left := self._guesses.seconds_left(address)) > 0.0:
            return (
                429,
                f"{address} has sent too many wrong tokens; send the request again in {max(left, 1.0):.0f} s",
            )
        if not hmac.compare_digest(given, self._token.encode()):
            self._guesses.wrong(address)
            return 401, "the token is wrong; it is the content of the file given by --token-file"
        return None


def _host_of(origin: str) -> str | None:
    """Host and port of an origin; None for what is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _token(header: bytes) -> bytes | None:
    scheme, _, value = header.partition(b" ")
    if scheme.lower() == b"bearer" and value:
        return value.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *HEADERS]
        await send(message)

    return sending
