"""A port that speaks HTTP/1.1: uvicorn's server, which hangs up on slow callers, and drains as the gRPC port does."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from service_runtime.grpc_server.server import CannotListen
from service_runtime.http.asgi import App
from service_runtime.network.tls import TlsFiles, server_context

HEAD_S_MAX = 10.0  # seconds for the head of a request; for the first one, since the connection was made
READ_S_MAX = 30.0  # seconds that a caller may leave ready bytes unread


class _Connection(H11Protocol):
    """Hangs up on a caller that takes too long to send its request or to read its answer: uvicorn waits for ever."""

    connections_max: int
    _hanging_up: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Accept a connection, unless there are too many; its first request must come in time."""
        super().connection_made(transport)
        if len(self.connections) > self.connections_max:
            transport.abort()
            return
        self.access_log = False  # a call has its line already; a handler of the root would switch this on
        self._hanging_up = self.loop.call_later(HEAD_S_MAX, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Pass bytes to the parser; hang up if the head of a request takes too long."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stay()
        elif self._hanging_up is None:
            self._hanging_up = self.loop.call_later(HEAD_S_MAX, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_S_MAX, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stay()
        self._read()
        super().connection_lost(exc)

    def _stay(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class _Server(uvicorn.Server):
    """Leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def listening(
    app: App,
    *,
    host: str,
    port: int,
    connections_max: int,
    drain_s: float,
    tls: TlsFiles | None,
    log: logging.Logger,
) -> AsyncIterator[int]:
    """Serve for the block, yielding the port; on exit let running requests finish, for `drain_s` at most.

    Raises:
        CannotListen: the address is taken.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        http=type("_Connection", (_Connection,), {"connections_max": connections_max}),
        timeout_graceful_shutdown=math.ceil(drain_s),
    )
    config.load()
    if tls is not None:
        config.ssl = server_context(tls)  # uvicorn's own would read the files once
    bound = _bind(host, port)
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        while not server.started and not running.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        if running.done():
            await running
            raise CannotListen("HTTP did not start; the log says why", host=host, port=port)
        bound_port: int = bound.getsockname()[1]
        log.info("serving", extra={"host": host, "port": bound_port})
        yield bound_port
    finally:
        server.should_exit = True
        await running
        bound.close()


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address.

    Raises:
        CannotListen: the address is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's algorithm off for a socket that says it is TCP's. Otherwise an answer, which is written
    # in two parts, waits 40 ms for the caller to acknowledge the first.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host.strip("[]"), port))
    except OSError as error:
        bound.close()
        raise CannotListen(
            f"cannot listen on {host}:{port}: is another process using the port?", host=host, port=port
        ) from error
    return bound
