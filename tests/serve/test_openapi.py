"""The OpenAPI document says what is so: Schemathesis makes requests from it, right and wrong ones, and looks for errors
of the server, for answers that the document does not have, and for bad input that is accepted.

The requests are the same in every run. VBMLE_SOAK=1 in the environment makes them many more (`make soak`).
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from serving import NPZ, PATIENCE, Process, process

from vbmle.serve.bodies import NAME_PATTERN

EXAMPLES = 1000 if os.environ.get("VBMLE_SOAK") else 10
OPERATIONS = {
    "GET /v1/work", "POST /v1/loops/{loop}/work",
    "GET /v1/models", "PUT /v1/models/{model}", "GET /v1/loops", "PUT /v1/loops/{loop}", "GET /v1/loops/{loop}",
    "POST /v1/loops/{loop}/decisions", "POST /v1/loops/{loop}/observations", "POST /v1/loops/{loop}/cancel",
    "POST /v1/loops/{loop}/mode", "POST /v1/loops/{loop}/replay", "GET /v1/loops/{loop}/events",
    "GET /v1/loops/{loop}/export.parquet",
}  # fmt: skip
WITHOUT_INPUT = ("GET /v1/models", "GET /v1/loops", "GET /v1/work")

# A document cannot say which states a model has, so some requests that fit it are refused all the same.
LEFT_OUT: list[Any] = [positive_data_acceptance]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("openapi")) as found:
        client = found.client()
        client.put_model("depot", NPZ)
        loop = client.loop("depot")
        loop.create("depot", "MaximumLikelihood")
        loop.observe(loop.act(1, request_id="r-0"), 2)
        yield found
        assert client.ask("GET", "/readyz") == {"status": "ready"}
        assert client.loop("depot").act(1, request_id="last", baseline_action=0).action in range(3)
        assert found.stop() == 0
        assert not [line for line in found.lines if "Traceback" in line], "\n".join(found.lines)


@pytest.fixture(scope="module")
def document(server: Process) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        (operation, mode)
        for operation in sorted(OPERATIONS)
        for mode in GenerationMode
        if mode is GenerationMode.POSITIVE or operation not in WITHOUT_INPUT
    ],
    ids=str,
)
def test_every_answer_is_in_the_document(
    operation: str, mode: GenerationMode, document: schemathesis.BaseSchema
):
    method, path = operation.split()
    sent: list[str] = []

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(case=document[path][method].as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        loop = str(case.path_parameters.get("loop", ""))
        if method != "PUT" and re.fullmatch(NAME_PATTERN, loop):
            case.path_parameters["loop"] = "depot"  # one that exists; others are a 404
        if path.endswith("/events") and case.query.get("follow", "true") == "true":
            case.query["follow"] = "false"  # else it would listen for ever
        case.call_and_validate(excluded_checks=LEFT_OUT, timeout=PATIENCE)
        sent.append(operation)

    check()
    print(f"{operation}, {mode.value}: {len(sent)} requests", flush=True)


def test_the_document_has_every_operation(document: schemathesis.BaseSchema):
    found: list[Any] = [one.ok() for one in document.get_all_operations()]  # type: ignore[union-attr]
    assert {f"{one.method.upper()} {one.path}" for one in found} == OPERATIONS
