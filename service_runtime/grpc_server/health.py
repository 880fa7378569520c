"""gRPC's own services, health and reflection, with a bound on the load of callers without a key.

The servicers of grpcio-health-checking and grpcio-reflection have no bound: a client may open any number of watches,
one watch that is not read keeps news of a change from all others, and a single reflection stream can use up a core.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from contextkeep.errors import TooManyCalls
from service_runtime.rpc.unproven import unproven

WATCHES_MAX = 1000  # open watches in a process
WATCHES_OF_CONNECTION_MAX = 10
REFLECTIONS_MAX = 10
REFLECTIONS_OF_CONNECTION_MAX = 2
WRITE_S_MAX = 30.0  # longest time that a caller may leave a message unread
TOO_MANY = "too many calls without a key wait; most of them are from this address"
REFLECTION_S_MAX = 60.0  # longest duration of a stream
REFLECTION_UNITS = 10.0  # of the budget of calls without a credential: an answer takes some milliseconds of CPU


class Streams:
    """Counts the open streams of a kind.

    Args:
        name: Name of the streams, for the error.
        count_max: Largest number of open streams in the process.
        of_connection_max: Largest number of open streams on one connection.
    """

    def __init__(self, name: str, count_max: int, of_connection_max: int) -> None:
        self._name = name
        self._count_max = count_max
        self._of_connection_max = of_connection_max
        self._of_connection: Counter[str] = Counter()
        self.count = 0

    @contextmanager
    def count_stream(self, connection: str) -> Iterator[None]:
        """Count an open stream of a connection for the block.

        Raises:
            TooManyCalls: there are too many already.
        """
        for count, count_max, limit in (
            (self.count, self._count_max, self._name),
            (self._of_connection[connection], self._of_connection_max, f"{self._name}_of_connection"),
        ):
            if count >= count_max:
                raise TooManyCalls(
                    f"too many streams are open ({limit}: at most {count_max})",
                    limit=limit,
                    limit_max=count_max,
                    value=count + 1,
                    retry_after_s=1,
                )
        self.count += 1
        self._of_connection[connection] += 1
        try:
            yield
        finally:
            self.count -= 1
            self._of_connection[connection] -= 1
            if not self._of_connection[connection]:
                del self._of_connection[connection]


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """Answers the health of each service name, and streams its changes."""

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {}
        self._changed = asyncio.Event()  # replaced at each change
        self._has_ended = False
        self._watches = Streams("health_watches", WATCHES_MAX, WATCHES_OF_CONNECTION_MAX)

    def set(self, name: str, status: int) -> None:
        """Set the status of a name, unless the health has ended."""
        if not self._has_ended:
            self._statuses[name] = status
            self._tell()

    def end(self) -> None:
        """Say NOT_SERVING of every name from now on, and end each watch after it has said so."""
        self._statuses = dict.fromkeys(self._statuses, health_pb2.HealthCheckResponse.NOT_SERVING)
        self._has_ended = True
        self._tell()

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Any) -> health_pb2.HealthCheckResponse:
        """Answer with the status of a name; a call without a credential first waits for its turn."""
        if not await unproven().take(context.peer()):
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, TOO_MANY)
        status = self._statuses.get(request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return health_pb2.HealthCheckResponse(status=status)

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:
        """Send the status of a name, now and after each change."""
        shown = None
        try:
            with self._watches.count_stream(context.peer()):
                if not await unproven().take(context.peer()):
                    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, TOO_MANY)
                while True:
                    changed = self._changed
                    status = self._statuses.get(request.service, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
                    if status != shown:
                        async with asyncio.timeout(WRITE_S_MAX):
                            await context.write(health_pb2.HealthCheckResponse(status=status))
                        shown = status
                    if self._has_ended:
                        return
                    await changed.wait()
        except TooManyCalls as error:
            await context.abort(error.code, error.message)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, f"nothing was read for {WRITE_S_MAX:g} s")

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Reflection(reflection.aio.ReflectionServicer):  # type: ignore[misc]
    """Describes the protos, at a bounded rate."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self._streams = Streams("reflections", REFLECTIONS_MAX, REFLECTIONS_OF_CONNECTION_MAX)

    async def ServerReflectionInfo(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """Answer each request for a description of the protos."""
        try:
            with self._streams.count_stream(context.peer()):
                async with asyncio.timeout(REFLECTION_S_MAX):
                    async for answer in super().ServerReflectionInfo(self._paced(requests, context.peer()), context):
                        yield answer
        except TooManyCalls as error:
            await context.abort(error.code, error.message)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, f"a stream may take {REFLECTION_S_MAX:g} s")

    async def _paced(self, requests: AsyncIterator[Any], peer: str) -> AsyncIterator[Any]:
        """Yield the requests of a reflection stream.

        Raises:
            TooManyCalls: the caller, who needs no key here, sends too many.
        """
        async for request in requests:
            if not await unproven().take(peer, units=REFLECTION_UNITS):
                raise TooManyCalls(TOO_MANY, limit="calls_without_a_key", retry_after_s=1)
            yield request
