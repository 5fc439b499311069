"""The OpenAPI document, from the table of operations and the types of bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from vbmle.serve.bodies import NAME_PATTERN, Failure
from vbmle.serve.events import KINDS
from vbmle.serve.http_api import Operation

ERRORS = {
    401: "The token is missing or wrong.",
    403: "The request came from a page of another site, or was meant for another host.",
    409: "It contradicts what is recorded.",
    408: "The request was not complete in time; send it again.",
    413: "The body is too large.",
    422: "Bad input; the line says what is wrong, where, and what would be right.",
    429: "Too many wrong tokens came from your address; send the request again in a second.",
    431: "What comes before the body is too large.",
    503: "Not now; send the request again.",
    507: "The disk is full; nothing was recorded.",
}
NO_LOOP = "There is no such loop."
NO_PARQUET = "Nothing is installed that writes Parquet; the line says what to install."
PREFIX = "#/components/schemas/{name}"
ONE_OF_A_STREAM = {
    "type": "object",
    "description": "One event; `data` is JSON.",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "event": {"enum": list(KINDS)},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
QUERIES = {
    "events": [
        (
            "after",
            {"type": "string", "pattern": "^[0-9]{1,18}$", "default": "0"},
            "The last event you know.",
        ),
        (
            "follow",
            {"type": "string", "enum": ["true", "false"], "default": "true"},
            "Whether to go on with new events as they come.",
        ),
    ]
}


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """OpenAPI 3.1."""
    used = [Failure]
    for operation in operations:
        used += [kind for kind in (operation.body, *operation.answers.values()) if _is_type(kind)]
    schemas, components = msgspec.json.schema_components(used, ref_template=PREFIX)
    by_type = {repr(kind): schema for kind, schema in zip(used, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for operation in operations:
        entry = paths.setdefault(operation.path, {"parameters": _parameters(operation.path)})
        entry[operation.method.lower()] = _operation(operation, by_type)
    info = {
        "title": "vbmle serve",
        "version": version,
        "description": "Decisions from an agent that survives restarts, retries and power cuts.",
    }
    return {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _is_type(kind: Any) -> bool:
    return kind is not None and kind is not bytes and not isinstance(kind, str)


def _parameters(path: str) -> list[dict[str, Any]]:
    schema = {"type": "string", "pattern": NAME_PATTERN, "examples": ["depot"]}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _operation(operation: Operation, by_type: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "summary": operation.summary,
        "responses": {str(code): _answer(kind, by_type) for code, kind in operation.answers.items()},
    }
    queries = QUERIES.get(operation.handler.__name__, [])
    if queries:
        found["parameters"] = [
            {"name": name, "in": "query", "schema": schema, "description": text}
            for name, schema, text in queries
        ]
    if operation.body is bytes:
        schema = {"type": "string", "format": "binary"}
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": schema}}}
    elif operation.body is not None:
        content = {"application/json": {"schema": by_type[repr(operation.body)]}}
        found["requestBody"] = {"required": True, "content": content}
    errors = dict(ERRORS)
    if "{loop}" in operation.path and operation.method != "PUT":
        errors[404] = NO_LOOP
    if operation.path.endswith(".parquet"):
        errors[501] = NO_PARQUET
    for code, text in sorted(errors.items()):
        content = {"application/json": {"schema": by_type[repr(Failure)]}}
        found["responses"][str(code)] = {"description": text, "content": content}
    return found


def _answer(kind: Any, by_type: dict[str, Any]) -> dict[str, Any]:
    if kind == "text/event-stream":
        return {
            "description": "Events, each with its number.",
            "content": {kind: {"schema": ONE_OF_A_STREAM}},
        }
    if isinstance(kind, str):
        return {"description": "Done.", "content": {kind: {"schema": {"type": "string"}}}}
    return {"description": "Done.", "content": {"application/json": {"schema": by_type[repr(kind)]}}}
