"""Traces, by OpenTelemetry: one from the client through both services to Postgres and the blobs.

The OpenTelemetry packages are the extra `telemetry`. Without them, and in calls that are not sampled, a span is nothing
at all and costs a look at the context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from contextkeep.errors import FailedPrecondition
from service_runtime.imports.extras import install

if TYPE_CHECKING:
    from service_runtime.settings import ServiceSettings

try:
    from opentelemetry import context, propagate, trace
except ModuleNotFoundError:  # the extra is not installed
    trace = None  # type: ignore[assignment]

_NOTHING: AbstractContextManager[None] = nullcontext()
_NAME = "contextkeep"
_HEADERS = frozenset({"traceparent", "tracestate"})


class _Switch:
    """Whether this process makes spans: one switch for the process, as there is one tracer provider."""

    is_on = False
    tracer: Any = None  # made once: the SDK makes a new one at each call


@contextmanager
def exporting(settings: ServiceSettings, *, service: str) -> Iterator[None]:
    """Send the spans of this process to `OTEL_EXPORTER_OTLP_ENDPOINT` for the block; unset: none are made.

    Raises:
        FailedPrecondition: the endpoint is set and the extra is not installed.
    """
    if not settings.otel_exporter_otlp_endpoint:
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
    except ModuleNotFoundError as error:
        raise FailedPrecondition(f"OTEL_EXPORTER_OTLP_ENDPOINT needs more packages: {install('telemetry')}") from error
    endpoint = settings.otel_exporter_otlp_endpoint
    provider = TracerProvider(
        resource=Resource.create({SERVICE_NAME: service}),
        sampler=ParentBasedTraceIdRatio(settings.otel_traces_sampler_arg),
    )
    provider.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, insecure=endpoint.startswith("http://")))
    )
    trace.set_tracer_provider(provider)
    try:
        with switched_on():
            yield
    finally:
        provider.shutdown()


@contextmanager
def switched_on() -> Iterator[None]:
    """Make spans with the process's tracer provider for the block."""
    _Switch.tracer = trace.get_tracer(_NAME)
    _Switch.is_on = True
    try:
        yield
    finally:
        _Switch.is_on = False


def begin_call(method: str, metadata: Iterable[tuple[str, str | bytes]]) -> Any:
    """Begin the span of an RPC, as the child of the caller's, and make it the current one; None if tracing is off.

    The call's task has a context of its own, so nothing is put back at its end.
    """
    if not _Switch.is_on:
        return None
    carrier = {name: value for name, value in metadata if name in _HEADERS and isinstance(value, str)}
    service, _, name = method.removeprefix("/").rpartition("/")
    span = _Switch.tracer.start_span(
        f"{service}/{name}",
        context=propagate.extract(carrier) if carrier else None,  # most calls bring nothing to be parsed
        kind=trace.SpanKind.SERVER,
        attributes={"rpc.system": "grpc", "rpc.service": service, "rpc.method": name},
    )
    context.attach(trace.set_span_in_context(span))
    return span


def end_call(call_span: Any, *, status: str, reason: str, attributes: Mapping[str, str]) -> None:
    """End the span of an RPC.

    Args:
        call_span: The span that `begin_call` returned.
        status: Name of the gRPC status code.
        reason: Reason of the call's error; empty without one.
        attributes: Further facts about the call, by name.
    """
    if call_span is None or not call_span.is_recording():
        return
    call_span.set_attributes({"rpc.grpc.status": status, **attributes})
    if reason:
        call_span.set_attribute("error.type", reason)
        call_span.set_status(trace.Status(trace.StatusCode.ERROR, reason))
    call_span.end()


def span(name: str, **attributes: str | int) -> AbstractContextManager[None]:
    """Return a span below the call's, for a `with`; nothing if tracing is off. It is never the current span itself."""
    if not _Switch.is_on or not trace.get_current_span().is_recording():
        return _NOTHING
    return _below_the_call(name, attributes)


@contextmanager
def _below_the_call(name: str, attributes: Mapping[str, str | int]) -> Iterator[None]:
    """Make a span below the call's for the block, and note the type of an error that ends it."""
    child_span = _Switch.tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes=attributes)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, GeneratorExit):
            child_span.set_attribute("error.type", type(error).__name__)
            child_span.set_status(trace.Status(trace.StatusCode.ERROR))
        raise
    finally:
        child_span.end()
