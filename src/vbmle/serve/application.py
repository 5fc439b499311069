"""The whole service as an ASGI application: the interface, health, metrics and pages, behind the guard."""

from __future__ import annotations

from functools import cache

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from vbmle.serve import openapi
from vbmle.serve.guard import Guard
from vbmle.serve.http_api import Api, Handler, answer, failure, missing
from vbmle.serve.metrics import CONTENT_TYPE
from vbmle.serve.service import Service
from vbmle.serve.web_pages import Pages

PREFIX = "/v1/loops/"


def application(
    service: Service, token: str | None = None, version: str = "0", hosts: tuple[str, ...] = ()
) -> ASGIApp:
    """An application that serves an open service; opening and closing it is the caller's."""
    api = Api(service)
    operations = api.operations()
    handlers = [(operation, api.answering(operation)) for operation in operations]
    routes = [Route(one.path, handler, methods=[one.method]) for one, handler in handlers]
    steps = {one.path.split("/")[-1]: handler for one, handler in handlers if one.every_step}

    @cache
    def content() -> bytes:
        return msgspec.json.encode(openapi.document(operations, version))

    async def document(request: Request) -> Response:
        return Response(content(), media_type="application/json")

    async def health(request: Request) -> Response:
        return answer({"status": "alive"})

    async def ready(request: Request) -> Response:
        return answer({"status": "ready"}) if service.ready is None else failure(503, service.ready)

    async def metrics(request: Request) -> Response:
        return Response(api.metrics.page(), media_type=CONTENT_TYPE)

    routes += [
        Route("/openapi.json", document),
        Route("/healthz", health),
        Route("/readyz", ready),
        Route("/metrics", metrics),
        *Pages(service, token is not None).routes(),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: missing, Exception: _failed})
    return Guard(_Steps(app, steps), token, hosts)


async def _failed(request: Request, error: Exception) -> Response:
    return _broken(request.scope)


class _Steps:
    """The requests that every step of a loop makes, led straight to their handlers.

    Looking for a route, and the layers around it, take longer than the decision itself. So whoever is asked a thousand
    times a second is looked up by the last word of the path, /v1/loops/{loop}/WORD, before the application that answers
    everything else.
    """

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
                    await _broken(scope)(scope, receive, send)
                    raise  # the server's log says where
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _broken(scope: Scope) -> Response:
    """The answer to a request that failed inside the server."""
    return failure(500, f"{scope['method']} {scope['path']} failed inside the server; its log says where")
