"""The requests that every step of a loop makes, led straight to their handlers.

Looking for a route, and the layers around it, take longer than the decision itself. So whoever is asked a thousand
times a second is looked up by name, before the application that answers everything else.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vbmle.serve.http_api import Handler, failure

PREFIX = "/v1/loops/"


class Steps:
    """Handlers by the last word of their path, /v1/loops/{loop}/WORD; an application for all other requests."""

    def __init__(self, app: ASGIApp, handlers: dict[str, Handler]) -> None:
        self._app, self._handlers = app, handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(PREFIX):
            loop, _, word = scope["path"][len(PREFIX) :].partition("/")
            if loop and word in self._handlers:
                scope["path_params"] = {"loop": loop}
                try:
                    response = await self._handlers[word](Request(scope, receive))
                except Exception:
                    await broken(scope)(scope, receive, send)
                    raise  # the server's log says where
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def broken(scope: Scope) -> Response:
    """The answer to a request that failed inside the server."""
    return failure(500, f"{scope['method']} {scope['path']} failed inside the server; its log says where")
