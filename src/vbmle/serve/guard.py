"""Who may ask: a token where one is set, only names of this machine where none is, and no page of another site.

A service without a token trusts everyone who reaches it, so it listens on this machine alone. A web page from elsewhere
still reaches it by way of a browser that runs here: such requests name another host or origin, and are refused.
"""

from __future__ import annotations

import base64
import binascii
import hmac
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


class Guard:
    """Lets a request pass, or answers it."""

    def __init__(self, app: ASGIApp, token: str | None, hosts: tuple[str, ...] = ()) -> None:
        self._app, self._token, self._hosts = app, token, (*LOCAL, *hosts)

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
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": msgspec.json.encode(Failure(text))})

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        if scope["path"] in OPEN:
            return None
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc != host:
            return 403, "the request comes from a page of another site; only pages of this server may ask"
        if self._token is None:
            if _name(host) not in self._hosts:
                return 403, f"the request is for {_name(host)!r}; without a token only this machine is served"
            return None
        given = _token(headers.get(b"authorization", b""))
        if given is None:
            return 401, "a token is needed: send 'Authorization: Bearer TOKEN', or the token as a password"
        if not hmac.compare_digest(given, self._token.encode()):
            return 401, "the token is wrong; it is the content of the file given by --token-file"
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
