"""The pages: one for all loops that says what to do next, and one for each loop, live.

The server renders everything. A script of a few lines asks for the content again when the loop has news.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vbmle.serve.clock import moment
from vbmle.serve.http_api import failure
from vbmle.serve.insight import DELTA, Insight
from vbmle.serve.refusals import Refusal
from vbmle.serve.service import Service
from vbmle.serve.status import DayOfLoop, Status, amount, status, verdict

ASSETS = Path(__file__).parent / "assets"
STATIC = {"style.css": "text/css", "live.js": "text/javascript"}
WIDTH, HEIGHT = 380.0, 104.0
"""Of the charts, in the units of their drawings."""

MODES = [
    ("live", "Live", "the agent acts and learns", "Let the agent act in LOOP? It goes on learning."),
    (
        "shadow",
        "Shadow",
        "the baseline acts, the agent learns",
        "Hand LOOP back to the baseline? The agent keeps learning but stops acting.",
    ),
    (
        "frozen",
        "Frozen",
        "the policy stays as it is",
        "Freeze the policy of LOOP? The agent acts and stops learning.",
    ),
]
"""What can be switched to: its name, its button, what it is, and the question before the switch."""


class Pages:
    """The pages of one service."""

    def __init__(self, service: Service, secured: bool) -> None:
        self._service, self._secured = service, secured

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/", self.index),
            Route("/panel", self.index_panel),
            Route("/loops/{loop}", self.loop),
            Route("/loops/{loop}/panel", self.loop_panel),
            Route("/static/{name}", static),
        ]

    async def index(self, request: Request) -> Response:
        return _page("index.html", "/panel", "", self._overview(request), "vbmle")

    async def index_panel(self, request: Request) -> Response:
        return _html(_template("index.html").render(self._overview(request)))

    def _overview(self, request: Request) -> dict[str, Any]:
        trouble = self._service.log.trouble
        reading = None if trouble else self._service.ready
        loops: list[dict[str, Any]] = []
        for name, controller in self._service.loops.items():
            controller.insights.refresh()
            loops.append(
                {
                    "name": name,
                    "mode": controller.ledger.mode,
                    "verdict": verdict(controller, trouble),
                    "decisions": controller.ledger.decisions,
                    "observations": controller.ledger.observations,
                    "last": None if (last := controller.ledger.last_observation) is None else moment(last),
                }
            )
        return {
            "folder": str(self._service.folder.path),
            "trouble": trouble,
            "reading": reading,
            "loops": sorted(
                loops, key=lambda loop: ("stop", "watch", "learning", "good").index(loop["verdict"].level)
            ),
            "models": list(self._service.models),
            "stop": [loop["name"] for loop in loops if loop["verdict"].level == "stop"],
            "watch": [loop["name"] for loop in loops if loop["verdict"].level == "watch"],
            "url": f"{request.url.scheme}://{request.url.netloc}",
            "secured": self._secured,
        }

    async def loop(self, request: Request) -> Response:
        return self._of_loop(request, whole=True)

    async def loop_panel(self, request: Request) -> Response:
        return self._of_loop(request, whole=False)

    def _of_loop(self, request: Request, whole: bool) -> Response:
        try:
            controller = self._service.loop(request.path_params["loop"])
        except Refusal as error:
            return failure(error.status, str(error))
        found = loop_content(status(controller, self._service.log.trouble))
        if not whole:
            return _html(_template("loop.html").render(found))
        path = f"/loops/{controller.name}"
        events = f"/v1{path}/events?after={controller.ledger.seq}"
        return _page("loop.html", f"{path}/panel", events, found, controller.name)


def loop_content(found: Status) -> dict[str, Any]:
    """What the page of a loop shows."""
    insight = found.insight
    misfit = insight.misfit if insight is not None else None
    evidence = 0.0 if misfit is None else misfit.evidence
    return {
        "s": found,
        "insight": insight,
        "bounds": _bounds(insight, found),
        "confidence": f"{100 * (1 - DELTA):g}%",
        "fit": 100.0 if evidence is None or misfit is None else _percent(evidence / misfit.threshold),
        "days": _days(found.days),
        "modes": MODES,
        "shadowed": any(one.action != one.suggested or one.mode == "shadow" for one in found.recent),
    }


def _bounds(insight: Insight | None, found: Status) -> dict[str, Any] | None:
    """What the best policy earns per step, drawn in the range of rewards. Per step: the value times 1 - discount."""
    if insight is None or insight.bounds is None:
        return None
    bounds, (least, most) = insight.bounds, found.range_of_reward
    size = (most - least) or 1.0
    low, high = ((1.0 - found.discount) * value for value in (bounds.low, bounds.high))
    begin, end = (min(max((value - least) / size, 0.0), 1.0) for value in (low, high))
    width = max(WIDTH * (end - begin), 6.0)
    x = 10.0 + min(WIDTH * begin, WIDTH - width)
    return {
        "state": bounds.state, "low": low, "high": high, "loss": bounds.loss, "certified": bounds.certified,
        "least": least, "most": most, "x": round(x, 2), "width": round(width, 2),
        "middle": round(min(max(x + width / 2, 70.0), 330.0), 2),
    }  # fmt: skip


def _days(days: list[DayOfLoop]) -> dict[str, Any] | None:
    """Bars from zero, up or down."""
    if not days:
        return None
    top = max(0.0, *(day.reward for day in days))
    size = (top - min(0.0, *(day.reward for day in days))) or 1.0
    step = min(400.0 / len(days), 40.0)
    bars = [
        {
            "day": day.day, "reward": day.reward, "outcomes": day.outcomes,
            "x": round(number * step + 0.1 * step, 2), "width": round(0.8 * step, 2),
            "y": round(HEIGHT * (top - max(day.reward, 0.0)) / size, 2),
            "height": round(HEIGHT * abs(day.reward) / size, 2),
        }
        for number, day in enumerate(days)
    ]  # fmt: skip
    return {
        "bars": bars,
        "zero": round(HEIGHT * top / size, 2),
        "end": max(round(len(days) * step, 2), 170.0),  # wide enough for two dates
        "first": days[0].day,
        "last": days[-1].day,
        "latest": days[-1],
        "before": days[-2] if len(days) > 1 else None,
    }


def _percent(share: float) -> float:
    return round(100.0 * min(max(share, 0.0), 1.0), 2)


def _figure(value: float) -> str:
    return f"{value:,}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, undefined=jinja2.StrictUndefined
    )
    made.filters |= {"share": _percent, "figure": _figure, "amount": amount, "sentence": _sentence}
    return made


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


def _page(content: str, panel: str, events: str, found: dict[str, Any], title: str) -> Response:
    about = {"content": content, "panel": panel, "events": events, "title": title}
    return _html(_template("base.html").render(found | about))


def _html(text: str) -> Response:
    return Response(text, media_type="text/html")


async def static(request: Request) -> Response:
    """Style and script."""
    name = request.path_params["name"]
    if name not in STATIC:
        return failure(404, f"there is nothing at {request.url.path}; see /openapi.json")
    return Response((ASSETS / name).read_bytes(), media_type=STATIC[name])
