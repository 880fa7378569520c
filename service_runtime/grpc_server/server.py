"""The life of a gRPC server: listen, tell the truth about health, drain, stop.

A service gives its servicers and the checks of its dependencies. Each dependency is checked once a second in the
background, which feeds all health probes, so that a thousand probes cost the database nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from contextkeep.errors import ContextKeepError, FailedPrecondition
from service_runtime.background_work import background
from service_runtime.grpc_server import draining
from service_runtime.grpc_server.health import Health, Reflection
from service_runtime.grpc_server.interceptors import Border, Hold
from service_runtime.network.tls import TlsFiles, server_credentials
from service_runtime.telemetry.loop_waits import LoopWaits
from service_runtime.telemetry.metrics import Metrics

_log = logging.getLogger("server")

CHECK_INTERVAL_S = 1.0
CHECK_TIMEOUT_S = 2.0
KEEPALIVE_S = 60.0  # seconds of silence after which the server pings the peer
KEEPALIVE_TIMEOUT_S = 20.0
PING_INTERVAL_S_MIN = 5.0  # shortest interval of a caller's pings; our clients ping every 30 s, others every 10 s
METADATA_BYTES_MAX = 16 * 1024  # bytes of metadata that a call may have
# Calls that one connection may have open. gRPC queues further ones at the caller; our clients open another connection.
# This also bounds the cost of a flood of resets ("rapid reset").
STREAMS_MAX = 100
HANDSHAKE_S_MAX = 5.0  # seconds for the handshakes of TLS and HTTP/2
CONNECTION_GRACE_S = 3600.0  # seconds that calls may go on after their connection takes no new ones: uploads, watches
QUIET_S = 0.1  # seconds without a new call, after which a server that drains tells its callers to go elsewhere
QUIET_S_MAX = 1.0  # longest wait for such a pause, as callers may send calls without waiting for answers
GOAWAY_S = 0.05  # seconds until callers have read GOAWAY, the frame of HTTP/2 that sends them to another connection
LIVENESS = "liveness"  # a service name for health checks that depends on nothing: the process answers

# A check of a dependency: it raises an error while the dependency does not answer.
Check = Callable[[], Awaitable[None]]


class CannotListen(FailedPrecondition):
    """The address is taken, or may not be listened on."""

    reason = "CANNOT_LISTEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One proto service, with the function that adds it and its dependencies."""

    full_name: str  # "contextkeep.entity.v1.EntityGraph"
    add: Callable[[grpc.aio.Server], None]
    checks: Sequence[Check]
    ending: Callable[[], None] = lambda: None  # called when no more calls are admitted, to end endless streams


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The address of a gRPC port, and its limits."""

    host: str
    port: int  # 0 takes any free port
    drain_s: float  # seconds that running calls may take after SIGTERM
    connection_age_s: float  # seconds for which a connection takes new calls
    connections_max: int  # connections at the same time; further ones are closed
    pending_calls_max: int = 8192  # calls that have arrived and have no handler yet; grpc's core cancels further ones
    tls: TlsFiles | None = None  # None for plaintext


def check_exposure(host: str, *, authenticated: bool, allow_insecure: bool) -> None:
    """Refuse to listen beyond loopback without authentication.

    Raises:
        CannotListen: the message says which setting to change.
    """
    if not (authenticated or allow_insecure or is_loopback(host)):
        raise CannotListen(
            f"listening on {host} without authentication would open the data to the network: unset ALLOW_ANONYMOUS, or "
            "set ALLOW_INSECURE=true if something in front of the service authenticates",
            host=host,
        )


def is_loopback(host: str) -> bool:
    """Say whether a host name or an address is loopback, which only this machine can reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def running(
    services: Sequence[Service], border: Border, options: ServerOptions, metrics: Metrics
) -> AsyncIterator[int]:
    """Serve for the block, yielding the port; on exit let running calls finish, for `drain_s` at most.

    Raises:
        CannotListen: the address is taken.
    """
    server = grpc.aio.server(
        interceptors=[border],
        options=[
            # Metadata is taken up to here and refused from there; by default grpc refuses it at random from 8 KiB.
            ("grpc.max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.max_concurrent_streams", STREAMS_MAX),
            # Or core counts calls that are over, too, until it has freed them, and refuses every eighth call of a plain
            # client that keeps all its calls busy. Calls that are over have a limit of their own.
            ("grpc.http2.max_deallocating_streams", STREAMS_MAX),
            # By default core cancels calls at random, of all callers, while 1,000 to 3,000 others wait for a handler.
            # Calls that were reset count, too, so a flood of resets would cancel calls of others.
            ("grpc.server.max_pending_requests", options.pending_calls_max),
            ("grpc.server.max_pending_requests_hard_limit", options.pending_calls_max),
            ("grpc.max_allowed_incoming_connections", options.connections_max),
            ("grpc.server_handshake_timeout_ms", round(HANDSHAKE_S_MAX * 1000)),
            # Two processes on one port would share its calls at random: the second must fail instead.
            ("grpc.so_reuseport", 0),
            # By default grpc hangs up on a caller that pings more than once in five minutes of a silent call.
            ("grpc.http2.min_ping_interval_without_data_ms", round(PING_INTERVAL_S_MIN * 1000)),
            # Then the client connects again, perhaps to another replica. Calls under way finish on the old connection,
            # which keeps all that is not read of their answers: by default for ever.
            ("grpc.max_connection_age_ms", int(options.connection_age_s * 1000)),
            ("grpc.max_connection_age_grace_ms", round(CONNECTION_GRACE_S * 1000)),
            # A peer that vanished without a word is noticed, and its calls end: a stream would wait for it for ever.
            ("grpc.keepalive_time_ms", round(KEEPALIVE_S * 1000)),
            ("grpc.keepalive_timeout_ms", round(KEEPALIVE_TIMEOUT_S * 1000)),
            ("grpc.http2.ping_timeout_ms", round(KEEPALIVE_TIMEOUT_S * 1000)),  # another ping's, which holds ours up
            ("grpc.keepalive_permit_without_calls", 1),
        ],
    )
    found_by_name = _MethodsByName(server)
    for service in services:
        service.add(found_by_name)
    health_servicer = Health()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, found_by_name)
    names = [service.full_name for service in services]
    described = Reflection([*names, health.SERVICE_NAME, reflection.SERVICE_NAME])
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(described, found_by_name)

    host = f"[{options.host}]" if ":" in options.host and not options.host.startswith("[") else options.host
    try:
        address = f"{host}:{options.port}"
        credentials = server_credentials(options.tls) if options.tls else None
        port: int = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    except RuntimeError as error:
        raise CannotListen(
            f"cannot listen on {host}:{options.port}: is another process using the port?",
            host=host,
            port=options.port,
        ) from error
    for name in ("", *names):
        health_servicer.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
    health_servicer.set(LIVENESS, health_pb2.HealthCheckResponse.SERVING)
    await server.start()
    try:
        async with _checking(services, health_servicer, metrics):
            with LoopWaits().watching(metrics):
                yield port
    finally:
        health_servicer.end()  # NOT_SERVING: balancers look elsewhere
        await _stop(server, services, border, options.drain_s)


async def _stop(server: grpc.aio.Server, services: Sequence[Service], border: Border, drain_s: float) -> None:
    """Let running calls finish, for `drain_s` at most, and send all callers elsewhere.

    Hold calls until none arrives any more: callers that wait for an answer send no other call. Callers that do not
    wait may send calls until they read GOAWAY, which core sends only when it stops: `draining` takes these over.
    """
    hold = border.hold()
    is_quiet = await hold.quiet(QUIET_S, timeout_s=min(QUIET_S_MAX, drain_s))
    async with draining.refusing(server, timeout_s=0.0 if is_quiet else min(draining.BACKLOG_S_MAX, drain_s)):
        releasing = asyncio.create_task(_release(hold, services, min(GOAWAY_S, drain_s)))
        await server.stop(drain_s)  # awaited here and not in a task, so that no pass of the loop comes before it
    await releasing


async def _release(hold: Hold, services: Sequence[Service], goaway_s: float) -> None:
    """Let the held calls run once callers have read GOAWAY; otherwise their next calls would come to this server."""
    await asyncio.sleep(goaway_s)
    hold.release()
    for service in services:
        service.ending()


class _MethodsByName:
    """A server for generated code to add services to: it looks methods up by name instead of registering them.

    grpc.aio waits for each registered method in a task of its own, and goes through all of these tasks at every call:
    with sixty methods that is 0.025 ms of CPU.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self.add_generic_rpc_handlers = server.add_generic_rpc_handlers

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, object]) -> None:
        """Ignore these handlers: the same methods are added as generic ones."""


@asynccontextmanager
async def together(*servers: AbstractAsyncContextManager[int]) -> AsyncIterator[list[int]]:
    """Run servers for the block, yielding their ports: they begin one after the other and drain at the same time.

    Raises:
        ContextKeepError: a server did not start; the servers that were started before it have ended.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    running: list[asyncio.Task[None]] = []

    async def run(server: AbstractAsyncContextManager[int], begun: asyncio.Future[int]) -> None:
        async with server as port:
            begun.set_result(port)
            await stop.wait()

    try:
        ports = []
        for server in servers:
            begun: asyncio.Future[int] = loop.create_future()
            task = asyncio.create_task(run(server, begun))
            first: Iterable[asyncio.Future[Any]] = (begun, task)
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
            running.append(task)
            ports.append(begun.result())
        yield ports
    finally:
        stop.set()
        await asyncio.gather(*running)


async def until_signal() -> None:
    """Return when the process gets SIGTERM or Ctrl-C."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


@asynccontextmanager
async def _checking(services: Sequence[Service], health_servicer: Health, metrics: Metrics) -> AsyncIterator[None]:
    """Run the checks of all services during the block, and set the health of each service name by their results.

    A name serves once all its checks have passed, and does not serve as soon as one fails. `""` has all checks.
    """
    checks_of = {service.full_name: service.checks for service in services}
    checks_of[""] = list(dict.fromkeys(check for service in services for check in service.checks))
    failures: dict[Check, str] = {}  # the result of each check that has run; an empty text if it passed
    was: dict[str, bool] = {}
    telling = asyncio.Lock()

    async def tell() -> None:
        """Set the health of the names that has changed; a name whose checks have not all run is not set to serving."""
        for name, checks in checks_of.items():
            ok = not any(failures.get(check) for check in checks)
            if was.get(name) == ok or (ok and not failures.keys() >= set(checks)):
                continue
            was[name] = ok
            status = health_pb2.HealthCheckResponse
            health_servicer.set(name, status.SERVING if ok else status.NOT_SERVING)
            metrics.health_is(name, healthy=ok)
            _log.info("health", extra={"service": name, "serving": ok})

    async def keep(check: Check) -> None:
        """Run a check again and again, more often while it fails."""
        while True:
            failure = await _failure(check)
            if failure and failure != failures.get(check):
                _log.warning("dependency check failed", extra={"error": failure})
            failures[check] = failure
            async with telling:
                await tell()
            await asyncio.sleep(CHECK_INTERVAL_S / 10 if failure else CHECK_INTERVAL_S)

    await tell()  # sets the services without any checks
    async with AsyncExitStack() as stack:
        for check in checks_of[""]:
            # Not in one TaskGroup: it cancels its tasks only once (`background` says why that is too little).
            await stack.enter_async_context(background.keeping(partial(keep, check)))
        yield


async def _failure(check: Check) -> str:
    """Return why a check fails; an empty text if it passes."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check()
    except ContextKeepError as error:
        return str(error)
    except TimeoutError:
        return f"{getattr(check, '__qualname__', check)}: no answer within {CHECK_TIMEOUT_S:.0f} s"
    return ""
