"""The whole service as an ASGI application: the interface, health, metrics and pages, behind the guard."""

from __future__ import annotations

from functools import cache

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vbmle.serve import openapi
from vbmle.serve.guard import Guard
from vbmle.serve.http_api import Api, answer, failure, missing
from vbmle.serve.metrics import CONTENT_TYPE
from vbmle.serve.service import Service
from vbmle.serve.steps import Steps, broken
from vbmle.serve.web_pages import Pages


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
    app = Starlette(routes=routes, exception_handlers={HTTPException: missing, Exception: _broken})
    return Guard(Steps(app, steps), token, hosts)


async def _broken(request: Request, error: Exception) -> Response:
    return broken(request.scope)
