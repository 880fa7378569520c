"""The caller's trace goes along with its calls, where it has one: OpenTelemetry, if it is installed.

Nothing here needs configuration: spans go where the application's own go.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

try:
    from opentelemetry import propagate, trace
except ModuleNotFoundError:
    trace = None  # type: ignore[assignment]

Metadata = tuple[tuple[str, str], ...]


class ClientSpan:
    """The span of one call, below the current one; none if that is not recorded.

    It is never the current one itself: a stream's consumer runs between its messages.

    Args:
        rpc: Name of the call.
        metadata: The metadata of the call without tracing.
    """

    def __init__(self, rpc: str, metadata: Metadata) -> None:
        self.metadata = metadata  # to send
        self._span: Any = None
        if trace is None or not trace.get_current_span().is_recording():
            return
        self._span = trace.get_tracer("contextkeep").start_span(rpc, kind=trace.SpanKind.CLIENT)
        carrier: dict[str, str] = {}
        propagate.inject(carrier, context=trace.set_span_in_context(self._span))
        self.metadata = (*metadata, *carrier.items())

    def __enter__(self) -> ClientSpan:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        if self._span is None:
            return
        if error is not None and not isinstance(error, GeneratorExit):
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(trace.Status(trace.StatusCode.ERROR))
        self._span.end()
