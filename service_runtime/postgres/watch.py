"""The timeout of a statement: Postgres cancels it in time, or the connection is cut if Postgres is silent."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress

import psycopg

from service_runtime.postgres.connection import Connection
from service_runtime.rpc.calls import answer_s

# Seconds that a Postgres which answers may need, on a busy machine: less time proves nothing.
PROVING_S_MIN = 0.02


class Watch:
    """Ends a statement on a connection in time.

    At first Postgres cancels it, and the error is DEADLINE_EXCEEDED. If Postgres does not answer, the socket is shut:
    psycopg itself would wait for the server, and now its caller gets the error at once. It is DEADLINE_EXCEEDED, too,
    if Postgres had less than `PROVING_S_MIN` for the answer.

    Args:
        connection: A connection that was just lent to a call.
        left_s: Seconds that the call has left.
        silent: Called if Postgres did not answer the cancellation, and had time to.

    Attributes:
        was_short: The socket was shut, but Postgres had no time to answer.
    """

    def __init__(self, connection: Connection, left_s: float, *, silent: Callable[[], None]) -> None:
        self._connection = connection
        self._silent = silent
        self.was_short = False
        cancel_s = answer_s(left_s)
        self._grace_s = max(left_s - cancel_s, 0.0) / 2
        self._timer = asyncio.get_running_loop().call_later(cancel_s, self._cancel)
        self._cancelling: asyncio.Task[None] | None = None

    def stop(self) -> bool:
        """End the watch; True if it acted: a late cancellation would hit the next user of the connection."""
        self._timer.cancel()
        return self._cancelling is not None

    def _cancel(self) -> None:
        self._cancelling = asyncio.create_task(self._ask())
        self._timer = asyncio.get_running_loop().call_later(self._grace_s, self._cut)

    async def _ask(self) -> None:
        with suppress(psycopg.Error, OSError):
            await self._connection.cancel_safe(timeout=self._grace_s)

    def _cut(self) -> None:
        self.was_short = self._grace_s < PROVING_S_MIN
        if not self.was_short:
            self._silent()
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as ours:
            ours.shutdown(socket.SHUT_RDWR)
