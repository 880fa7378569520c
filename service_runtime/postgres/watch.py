"""The end of what takes too long: cancelled while there is time to say so, and cut off if nobody answers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress

import psycopg

from service_runtime.calls import answer_s
from service_runtime.postgres.connection import Connection


class Watch:
    """Sees to it that what runs on a connection ends in time.

    At first Postgres is asked to cancel it, which is the deadline's fault. If there is no answer, the socket is shut:
    psycopg itself would wait for the server, and whoever waits gets its error now.

    Args:
        connection: One that was just lent.
        left_s: What the call has left.
        silent: Called when there was no answer.
    """

    def __init__(self, connection: Connection, left_s: float, *, silent: Callable[[], None]) -> None:
        self._connection = connection
        self._silent = silent
        cancel_s = answer_s(left_s)
        self._grace_s = max(left_s - cancel_s, 0.0) / 2
        self._timer = asyncio.get_running_loop().call_later(cancel_s, self._cancel)
        self._cancelling: asyncio.Task[None] | None = None

    def stop(self) -> bool:
        """End the watch; True if it acted: a late cancellation would hit whoever gets the connection next."""
        self._timer.cancel()
        return self._cancelling is not None

    def _cancel(self) -> None:
        self._cancelling = asyncio.create_task(self._ask())
        self._timer = asyncio.get_running_loop().call_later(self._grace_s, self._cut)

    async def _ask(self) -> None:
        with suppress(psycopg.Error, OSError):
            await self._connection.cancel_safe(timeout=self._grace_s)

    def _cut(self) -> None:
        self._silent()
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as ours:
            ours.shutdown(socket.SHUT_RDWR)
