"""The interface over HTTP: each operation is a line in a table, from which routes and the OpenAPI document are made."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from vbmle.common.extras import MissingExtra
from vbmle.common.validation import InputError
from vbmle.serve import bodies, status, wording
from vbmle.serve.bodies import Failure
from vbmle.serve.controller import Controller
from vbmle.serve.counterfactual import Replay
from vbmle.serve.event_log import DamagedLog, StorageError
from vbmle.serve.events import Mode
from vbmle.serve.metrics import Metrics
from vbmle.serve.refusals import BadInput, Busy, NotFound, Refusal
from vbmle.serve.service import Service

BODY_BYTES = 2**20
MODEL_BYTES = 2**28
MODELS_AT_ONCE = 2
"""Bodies of models that are taken in at the same time."""
CHOICES = {"mode": get_args(Mode)}
"""Fields that take only some words."""

Body = TypeVar("Body")
Handler = Callable[[Request], Awaitable[Response]]


class TooLarge(Refusal):
    """More bytes than are accepted."""

    status = 413


class Operation(NamedTuple):
    """What can be asked: under which method and path, with which body, and which answers there are."""

    method: str
    path: str
    handler: Handler
    summary: str
    answers: dict[int, Any]
    body: Any = None
    every_step: bool = False  # whether every step of a loop asks for it


class Api:
    """Handlers for one service."""

    def __init__(self, service: Service) -> None:
        self.service, self.metrics = service, Metrics(service)
        self._models_coming = 0

    def operations(self) -> list[Operation]:
        """Everything under /v1."""
        b, loop = bodies, "/v1/loops/{loop}"
        return [
            Operation("GET", "/v1/models", self.models, "The models, with their fingerprints", {200: dict[str, str]}),
            Operation("PUT", "/v1/models/{model}", self.put_model, "Store a model: the bytes of its .npz",
                      {200: b.ModelAnswer, 201: b.ModelAnswer}, bytes),
            Operation("GET", "/v1/loops", self.loops, "All loops, with a verdict on each",
                      {200: dict[str, status.Verdict]}),
            Operation("PUT", loop, self.put_loop, "Make a loop; the same again changes nothing",
                      {200: b.LoopAnswer, 201: b.LoopAnswer, 202: b.LoopAnswer}, b.LoopRequest),
            Operation("GET", loop, self.status, "How a loop stands", {200: status.Status}),
            Operation("POST", f"{loop}/decisions", self.decide, "Which action to take in a state",
                      {200: b.DecisionAnswer}, b.DecisionRequest, every_step=True),
            Operation("POST", f"{loop}/observations", self.observe, "What decisions led to: one outcome, or a list",
                      {200: b.ObservationAnswer}, b.Observation | list[b.Observation], every_step=True),
            Operation("POST", f"{loop}/cancel", self.cancel, "Take back a decision that was not carried out",
                      {200: b.CancelAnswer}, b.CancelRequest),
            Operation("POST", f"{loop}/mode", self.mode, "Set the mode: shadow, live or frozen",
                      {200: b.ModeAnswer}, b.ModeRequest),
            Operation("GET", "/v1/work", self.work, "What is being computed, and what waits", {200: list[b.WorkItem]}),
            Operation("POST", f"{loop}/work", self.change_work, "Stop what is computed for a loop, or let it go first",
                      {200: b.WorkAnswer}, b.WorkRequest),
            Operation("POST", f"{loop}/replay", self.replay, "What another agent would have done",
                      {200: Replay}, b.ReplayRequest),
            Operation("GET", f"{loop}/events", self.events, "All events, and new ones as they come",
                      {200: "text/event-stream"}),
            Operation("GET", f"{loop}/export.parquet", self.export, "All decisions with their outcomes, as Parquet",
                      {200: "application/vnd.apache.parquet"}),
        ]  # fmt: skip

    def answering(self, operation: Operation) -> Handler:
        """The handler of an operation, with refusals as answers and its time taken."""
        seconds = self.metrics.seconds.labels(f"{operation.method} {operation.path}")

        async def answer(request: Request) -> Response:
            began = perf_counter()
            try:
                return await operation.handler(request)
            except (Refusal, StorageError) as error:
                return failure(error.status, str(error))
            except DamagedLog as error:
                return failure(503, str(error))
            except MissingExtra as error:
                return failure(501, str(error))
            except MemoryError:
                return failure(503, "there is not enough memory for it now; send the request again")
            except ClientDisconnect:
                return Response(status_code=400)
            finally:
                seconds.observe(perf_counter() - began)

        return answer

    async def models(self, request: Request) -> Response:
        return answer(self.service.models)

    async def put_model(self, request: Request) -> Response:
        name = _name(request, "model")
        if self._models_coming >= MODELS_AT_ONCE:
            raise Busy(
                f"{MODELS_AT_ONCE} models are being sent, which is the most at once; send it again in a moment"
            )
        self._models_coming += 1
        try:
            made, new = await self.service.put_model(name, await read(request, MODEL_BYTES))
        finally:
            self._models_coming -= 1
        return answer(made, 201 if new else 200)

    async def loops(self, request: Request) -> Response:
        trouble = self.service.log.trouble
        return answer(
            {name: status.verdict(found, trouble) for name, found in self.service.all_loops().items()}
        )

    async def put_loop(self, request: Request) -> Response:
        name = _name(request, "loop")
        return answer(*await self.service.put_loop(name, await decoded(request, _LOOP)))

    async def status(self, request: Request) -> Response:
        return answer(status.status(self._loop(request), self.service.log.trouble))

    async def decide(self, request: Request) -> Response:
        body = await decoded(request, _DECISION)
        return answer(await self._loop(request).decide(body))

    async def observe(self, request: Request) -> Response:
        body = await decoded(request, _OBSERVATIONS)
        many = isinstance(body, list)
        return answer(await self._loop(request).observe(body if isinstance(body, list) else [body], many))

    async def cancel(self, request: Request) -> Response:
        body = await decoded(request, _CANCEL)
        return answer(await self._loop(request).cancel(body.decision_id))

    async def mode(self, request: Request) -> Response:
        body = await decoded(request, _MODE)
        return answer(await self._loop(request).set_mode(body.mode))

    async def replay(self, request: Request) -> Response:
        body, controller = await decoded(request, _REPLAY), self._loop(request)
        try:
            found = await self.service.replay(controller, body.agent, body.settings)
        except ValueError as error:  # InputError is one
            where = "" if isinstance(error, InputError) else "settings: "
            raise BadInput(f"{where}{error}") from error
        return answer(found)

    async def work(self, request: Request) -> Response:
        workers = self.service.workers
        return answer([] if workers is None else workers.items())

    async def change_work(self, request: Request) -> Response:
        name, body = _name(request, "loop"), await decoded(request, _WORK)
        return answer(self.service.change_work(name, body))

    async def events(self, request: Request) -> Response:
        controller = self._loop(request)
        given = request.query_params.get("after", request.headers.get("last-event-id", "0"))
        if not re.fullmatch(r"[0-9]{1,18}", given):
            raise BadInput(f"after is {given!r}; it needs the number of an event, or 0")
        follow = request.query_params.get("follow", "true")
        if follow not in ("true", "false"):
            raise BadInput(f"follow is {follow!r}; it needs true or false")
        self.service.streams.require_room()
        content = self.service.streams.follow(controller.name, int(given), follow == "true")
        return StreamingResponse(content, media_type="text/event-stream")

    async def export(self, request: Request) -> Response:
        controller = self._loop(request)
        content = await self.service.export(controller)
        name = {"content-disposition": f'attachment; filename="{controller.name}.parquet"'}
        return Response(content, headers=name, media_type="application/vnd.apache.parquet")

    def _loop(self, request: Request) -> Controller:
        return self.service.loop(request.path_params["loop"])


def _name(request: Request, kind: str) -> str:
    name: str = request.path_params[kind]
    if not re.fullmatch(bodies.NAME_PATTERN, name):
        raise BadInput(
            f"the name of the {kind} is {name!r}; it needs 1 to 64 letters, digits, '.', '_' or '-'"
        )
    return name


async def read(request: Request, limit: int, headers: dict[bytes, bytes] | None = None) -> bytes:
    """The body, refused where it is too large."""
    declared = (headers or dict(request.scope["headers"])).get(b"content-length", b"0").decode("latin-1")
    if not declared.isdigit() or int(declared) > limit:
        raise TooLarge(f"the body has {declared} bytes; at most {limit} are accepted")
    parts, size, more = [], 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > limit:
            raise TooLarge(f"the body has more than {limit} bytes, which is the most that is accepted")
    return b"".join(parts)


async def decoded(request: Request, decoder: msgspec.json.Decoder[Body]) -> Body:
    """The body as what it must be."""
    headers: dict[bytes, bytes] = dict(request.scope["headers"])
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BadInput(f"the body is {kind or 'of no stated type'}; it needs Content-Type: application/json")
    content = await read(request, BODY_BYTES, headers)
    try:
        return decoder.decode(content)
    except msgspec.ValidationError as error:
        raise BadInput(wording.refusal(error, content, CHOICES)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"the body is not JSON: {wording.not_json(error)}; see /openapi.json") from error


def answer(body: Any, status_code: int = 200) -> Response:
    """A body as JSON."""
    return Response(_ENCODED(body), status_code, media_type="application/json")


def failure(status_code: int, text: str) -> Response:
    """One line about what went wrong."""
    response = answer(Failure(" ".join(text.split())), status_code)
    if status_code in (503, 507):
        response.headers["retry-after"] = "1"
    return response


async def missing(request: Request, error: Exception) -> Response:
    """Paths and methods that there are not."""
    code = getattr(error, "status_code", 404)
    text = f"there is nothing at {request.url.path}; see /openapi.json"
    if code == 405:
        text = f"{request.url.path} does not take {request.method}; see /openapi.json"
    response = failure(code, text)
    response.headers.update(getattr(error, "headers", None) or {})
    return response


_ENCODED = msgspec.json.Encoder().encode
_LOOP = msgspec.json.Decoder(bodies.LoopRequest)
_DECISION = msgspec.json.Decoder(bodies.DecisionRequest)
_OBSERVATIONS = msgspec.json.Decoder(bodies.Observation | list[bodies.Observation])
_CANCEL = msgspec.json.Decoder(bodies.CancelRequest)
_MODE = msgspec.json.Decoder(bodies.ModeRequest)
_WORK = msgspec.json.Decoder(bodies.WorkRequest)
_REPLAY = msgspec.json.Decoder(bodies.ReplayRequest)

__all__ = ["Api", "NotFound", "Operation", "answer", "failure", "missing"]
