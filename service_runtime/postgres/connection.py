"""A connection to Postgres that lives, and whose caller may be cancelled more than once.

A call is cancelled by its client, by its deadline and by the end of the process, often by two of them at nearly the
same time. psycopg takes the first cancellation to Postgres and waits for the answer; a second one, while it does, makes
it hang up, forget the statement half-way, and print an "Exception ignored" that no reader can act on. Here another task
cancels the statement: however often the call is cancelled, the connection lives.

A backend that still waits for a statement forgets a cancellation. On a busy machine it may come before the statement
that it is for, which would then run to its end; so the cancellation is sent again until Postgres answers.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import waiting
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool

Row = Any  # a named tuple of the statement's columns

CONNECT_TIMEOUT_S = 5
CANCEL_S_MAX = 2.0  # seconds that Postgres may take to end a statement whose caller is gone
_CANCEL_AGAIN_S = 0.25  # seconds until a cancellation is sent again, because it may have come too early
_WAIT_INTERVAL_S = 0.1  # psycopg's own


class CancelledOnce(psycopg.AsyncConnection[Any]):
    """psycopg's connection, but for cancelled callers.

    Attributes:
        is_home: It leads to the home database, where the keys are.
        answered_at: The time when Postgres last answered on it (`time.monotonic`).
    """

    is_home = True
    answered_at = 0.0

    async def wait(self, gen: PQGen[RV], interval: float = _WAIT_INTERVAL_S, timeout: float | None = None) -> RV:
        """Return the result of a generator of psycopg's; all bytes that are sent or read go through it.

        Raises:
            asyncio.CancelledError: the task was cancelled. The statement has ended, or the connection is closed.
        """
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except asyncio.CancelledError:
            ending = asyncio.create_task(self._end(gen))
            while not ending.done():
                with suppress(asyncio.CancelledError):  # cancelled again: the first is raised below
                    await asyncio.wait([ending])
            raise

    async def _end(self, gen: PQGen[Any]) -> None:
        """End the statement that a generator waits for; hang up if Postgres does not end it in time."""
        if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
            try:
                async with asyncio.timeout(CANCEL_S_MAX):
                    while True:
                        # It has been handed on when this returns, so it meets no later statement.
                        await self.cancel_safe(timeout=CANCEL_S_MAX)
                        with suppress(TimeoutError):
                            async with asyncio.timeout(_CANCEL_AGAIN_S):
                                await waiting.wait_async(gen, self.pgconn.socket, interval=_WAIT_INTERVAL_S)
                            break
            except psycopg.errors.QueryCanceled:
                return
            except (psycopg.Error, OSError, TimeoutError):
                self.pgconn.finish()
        with suppress(psycopg.Error, RuntimeError):  # its `finally` may read from a closed connection
            gen.close()


Connection = CancelledOnce
Configure = Callable[[psycopg.AsyncConnection[Any]], Awaitable[None]]


async def is_alive(connection: Connection) -> bool:
    """Tell whether a connection survived its idleness.

    An idle connection has nothing to say. If its socket is readable, Postgres has closed it (or, with TLS, sent
    a ticket), and only then it is worth a round trip. So a restart fails no call, and a checkout costs two
    microseconds.
    """
    socket_state = select.poll()  # `select.select` takes no descriptor above 1,023
    socket_state.register(connection.fileno(), select.POLLIN)
    if not socket_state.poll(0):
        return True
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await AsyncConnectionPool.check_connection(connection)
    except (psycopg.Error, OSError, TimeoutError):
        return False
    return True
