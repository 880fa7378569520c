"""The metrics of a server, for Prometheus: calls, health, connections, refused credentials.

Names and labels are a promise to dashboards and alerts (`deploy/dashboards`). Labels come from protos and from our own
words, never from a caller, so their number is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from typing import Protocol, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from contextkeep.errors import ContextKeepError, FailedPrecondition

Timed = Callable[[], AbstractContextManager[None]]
# Both services erase.
SUBJECT_ERASURES_PENDING = "contextkeep_subject_erasures_pending_seconds"
ERASING_FAILED = "contextkeep_erasure_failures"
OTHER = "other"  # a value of a label that was not announced

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


_T = TypeVar("_T", Counter, Histogram)


class Counted(Protocol):
    """Adds to a number, or to a distribution, under values of its labels."""

    def __call__(self, amount: float = 1, /, **labels: str) -> None:
        """Add an amount, or one that was measured."""


class CannotExpose(FailedPrecondition):
    """The address of the metrics is taken, or belongs to another machine."""

    reason = "CANNOT_LISTEN"


class Metrics:
    """The metrics of one server; each has a registry of its own."""

    def __init__(self) -> None:
        """Make a registry with the metrics that every server has."""
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._call_seconds = Histogram(
            "contextkeep_call_seconds",
            "Duration of calls; streams until their end",
            ("method", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.calls_under_way = Gauge("contextkeep_calls_under_way", "Calls under way", registry=self._registry)
        self.authentication_failures = Counter(
            "contextkeep_authentication_failures", "Calls without a valid credential", registry=self._registry
        )
        self._health = Gauge(
            "contextkeep_healthy",
            "1: the service serves; 0: a dependency is away",
            ("service",),
            registry=self._registry,
        )

    def call_ended(self, method: str, status: str, duration_s: float) -> None:
        """Count a call.

        Args:
            method: "contextkeep.entity.v1.EntityGraph/GetNode"; empty for a method that does not exist.
            status: Name of the gRPC status code that the call had.
            duration_s: Seconds from the call's start to its end.
        """
        self._call_seconds.labels(method, status).observe(duration_s)

    def health_is(self, service: str, *, healthy: bool) -> None:
        """Note the health of a service name."""
        self._health.labels(service).set(healthy)

    def timer(self, name: str, meaning: str) -> Timed:
        """Return a timer for blocks; it notes each duration under the status code of the block's error, or OK."""
        seconds = Histogram(name, meaning, ("status",), buckets=_SECONDS, registry=self._registry)

        @contextmanager
        def timed() -> Iterator[None]:
            began, status = time.perf_counter(), "INTERNAL"
            try:
                yield
                status = "OK"
            except ContextKeepError as error:
                status = error.code.name
                raise
            except asyncio.CancelledError:
                status = "CANCELLED"
                raise
            finally:
                seconds.labels(status).observe(time.perf_counter() - began)

        return timed

    def counter(self, name: str, meaning: str, **labels: Iterable[str]) -> Counted:
        """Return a function that adds to a number.

        Args:
            name: Name of the metric without `_total`, which is appended.
            meaning: One line of help, which Prometheus shows.
            labels: By name, with all values that each may have, so that they are few: any other counts as `OTHER`. All
                are there from the start, at 0, or the first event would be missed.
        """
        child = _children(Counter(name, meaning, tuple(labels), registry=self._registry), labels)
        return lambda amount=1, /, **label_values: child(label_values).inc(amount)

    def seconds(self, name: str, meaning: str, **labels: Iterable[str]) -> Counted:
        """Return a function that adds a duration to a distribution; the labels as of `counter`."""
        child = _children(Histogram(name, meaning, tuple(labels), buckets=_SECONDS, registry=self._registry), labels)
        return lambda amount=1, /, **label_values: child(label_values).observe(amount)

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Show a number that is read at each scrape."""
        Gauge(name, meaning, registry=self._registry).set_function(read)

    def watch_each(self, name: str, meaning: str, reads: Mapping[str, Callable[[], float]], *, label: str) -> None:
        """Show several numbers that are read at each scrape, by the values of a label."""
        gauge = Gauge(name, meaning, (label,), registry=self._registry)
        for value, read in reads.items():
            gauge.labels(value).set_function(read)

    @contextmanager
    def exposed(self, host: str, port: int) -> Iterator[int]:
        """Answer `GET /metrics` for the block, in a thread of its own, yielding the port.

        Raises:
            CannotExpose: the address is taken.
        """
        try:
            server, thread = start_http_server(port, host, self._registry)
        except OSError as error:
            raise CannotExpose(
                f"cannot listen on METRICS_HOST:METRICS_PORT, {host}:{port}: {error.strerror}", host=host, port=port
            ) from error
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _children(metric: _T, labels: dict[str, Iterable[str]]) -> Callable[[dict[str, str]], _T]:
    """Return a function that finds the child of a metric by values of its labels; announced values exist already."""
    announced = {name: frozenset(values) for name, values in labels.items()}
    known: dict[tuple[str, ...], _T] = {values: metric.labels(*values) for values in product(*announced.values())}

    def child(labels: dict[str, str]) -> _T:
        child_metric = known.get(tuple([labels[name] for name in announced]))
        if child_metric is None:
            child_metric = metric.labels(
                *(labels[name] if labels[name] in values else OTHER for name, values in announced.items())
            )
        return child_metric

    return child
