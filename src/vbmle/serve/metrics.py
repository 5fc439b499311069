"""Figures for Prometheus, read from the loops at the moment they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from vbmle.serve.service import Service
from vbmle.serve.status import verdict

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
LEVELS = {"good": 0, "learning": 0, "watch": 1, "stop": 2}


class Figures(Collector):
    """What a service counts anyway."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Every figure, by loop."""
        yield from self._of_disk()
        yield from self._of_loops()

    def _of_disk(self) -> Iterator[Metric]:
        log = self._service.log
        yield CounterMetricFamily(
            "vbmle_commits", "Commits, each one fsync for many events", log.written.commits
        )
        yield CounterMetricFamily("vbmle_events", "Events on disk since the start", log.written.events)
        yield CounterMetricFamily("vbmle_commit_seconds", "Time spent in commits", log.written.seconds)
        yield CounterMetricFamily("vbmle_commit_failures", "Commits that failed", log.written.failures)
        yield GaugeMetricFamily(
            "vbmle_ready", "1 if requests can be served", float(self._service.ready is None)
        )

    def _of_loops(self) -> Iterator[Metric]:
        loops = self._service.loops.values()
        trouble = self._service.log.trouble
        for name, text, value in (
            ("decisions", "Decisions made", lambda c: c.ledger.decisions),
            ("observations", "Outcomes recorded", lambda c: c.ledger.observations),
            ("refused", "Outcomes that the model calls impossible", lambda c: c.ledger.refusals),
            ("expired", "Decisions that were no longer waited for", lambda c: c.ledger.expired),
            ("late", "Decisions of which something was heard after that", lambda c: c.ledger.late),
            ("cancelled", "Decisions that were not carried out", lambda c: c.ledger.cancelled),
            ("duplicates", "Repeated requests, since the start", lambda c: c.duplicates),
            ("solves", "Solves, since the start", lambda c: c.solves.count),
            ("solve_seconds", "Time spent in solves, since the start", lambda c: c.solves.seconds),
        ):
            counter = CounterMetricFamily(f"vbmle_{name}", text, labels=["loop"])
            for controller in loops:
                counter.add_metric([controller.name], value(controller))
            yield counter
        for name, text, value in (
            ("pending", "Decisions whose outcome is awaited", lambda c: len(c.ledger.pending)),
            ("policy_version", "Number of the policy in force", lambda c: c.ledger.version),
            ("unseen", "Outcomes that the policy in force does not know", lambda c: len(c.ledger.unseen)),
            ("last_observation", "When the last outcome came, in seconds since 1970",
             lambda c: c.ledger.last_observation or 0.0),
            ("verdict", "0 all is well, 1 have a look, 2 act now", lambda c: LEVELS[verdict(c, trouble).level]),
            ("misfit_alarm", "1 if no mix of the models explains the data, 0 if one does, -1 if that is not known",
             lambda c: -1.0 if c.insights.alarm is None else c.insights.alarm),
            ("insight_age_seconds", "For how long there have been data that bounds and alarm do not know",
             lambda c: c.insights.age),
            ("certified", "1 if the policy is proved best",
             lambda c: c.insights.latest is not None and c.insights.latest.learning_over),
        ):  # fmt: skip
            gauge = GaugeMetricFamily(f"vbmle_{name}", text, labels=["loop"])
            for controller in loops:
                gauge.add_metric([controller.name], float(value(controller)))
            yield gauge


class Metrics:
    """The registry of one service."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(Figures(service))
        ProcessCollector(
            registry=self._registry
        )  # memory, processor time and open files, where the system tells
        self.seconds = Histogram(
            "vbmle_request_seconds",
            "From the arrival of a request to its answer",
            ["operation"],
            buckets=SECONDS,
            registry=self._registry,
        )

    def page(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
