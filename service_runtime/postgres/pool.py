"""The connections to one database. Each is lent for at most the time that a call has left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from service_runtime.postgres.arrays import take_text_arrays
from service_runtime.postgres.connection import (
    CONNECT_TIMEOUT_S,
    CancelledOnce,
    Configure,
    Connection,
    Row,
    is_alive,
)
from service_runtime.postgres.errors import late, translated, unavailable
from service_runtime.postgres.roles import require_safe_role
from service_runtime.postgres.statements import Parameters, execute, fetched
from service_runtime.postgres.tenant import ANSWER_TIMEOUT_MAX_S, GIVING_WAY
from service_runtime.postgres.watch import PROVING_S_MIN, Watch
from service_runtime.rpc.calls import remaining_s

READY_TIMEOUT_S = 1.5
CHECKOUT_TIMEOUT_S = 5.0
PROOF_TIMEOUT_S = 1.0  # an idle connection must answer within these seconds after another one was silent


class Pool:
    """The connections to one database for calls, and one for health checks; made by `Pool.open`.

    Attributes:
        answers: The database passed the last health check; True before the first check.
    """

    def __init__(self, pool: AsyncConnectionPool[Connection], for_health: AsyncConnectionPool[Connection]) -> None:
        self.answers = True
        self._pool = pool
        self._for_health = for_health
        self._refusals = 0  # number of failed attempts to connect, as of the last successful one
        self._silent_at = 0.0  # time when a connection last did not answer
        self._renewing: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        connections_max: int,
        name: str,
        configure: Configure | None = None,
        prepared_statements: bool = True,
        is_home: bool = True,
    ) -> AsyncIterator[Pool]:
        """Open a pool, and close it on exit.

        Opening does not wait for Postgres: a server starts, says that it is not ready, and recovers by itself.
        The role is checked now, if Postgres answers, and again on every new connection.

        Args:
            url: `postgresql://` URL of the service's role.
            connections_max: Connections at most, besides the one for health.
            name: Name of the connections in `pg_stat_activity`; the one for health has `-health` appended.
            configure: Prepares each new connection, such as its adapters. It must not change the state of the session
                in Postgres, which a pooler between may give to another client.
            prepared_statements: Prepare repeated statements in Postgres. They are state of the session, so a pooler
                must support them.
            is_home: It is the home database. Connections to other databases are opened when they are first used.

        Raises:
            UnsafeRole: row-level security would not hold for the role.
        """
        with suppress(psycopg.OperationalError):
            async with await psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
                await require_safe_role(connection)

        async def prepare(connection: Connection) -> None:
            """Prepare a new connection: check its role, set its adapters, and note that Postgres answers."""
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await require_safe_role(connection)
                take_text_arrays(connection)
                if configure is not None:
                    await configure(connection)
            opened._refusals = opened._refusals_now()
            connection.is_home = is_home
            connection.answered_at = time.monotonic()

        def pool(shown_as: str, *, size_min: int, size_max: int) -> AsyncConnectionPool[Connection]:
            """Return a pool that is not open yet, whose connections have this name in `pg_stat_activity`."""
            return AsyncConnectionPool(
                url,
                connection_class=CancelledOnce,
                min_size=size_min,
                max_size=size_max,
                max_waiting=size_max * 100,
                reconnect_timeout=2.0,
                configure=prepare,
                open=False,
                kwargs={
                    "autocommit": True,
                    "prepare_threshold": 5 if prepared_statements else None,
                    "row_factory": namedtuple_row,
                    "connect_timeout": CONNECT_TIMEOUT_S,
                    "application_name": shown_as,
                    # The kernel notices within three quarters of a minute that the other machine has vanished, even if
                    # no statement runs.
                    "keepalives_idle": 30,
                    "keepalives_interval": 5,
                    "keepalives_count": 3,
                },
            )

        # The connection for health is opened when it is first used: commands need none.
        opened = cls(
            pool(name, size_min=1 if is_home else 0, size_max=connections_max),
            pool(f"{name}-health", size_min=0, size_max=1),
        )
        async with opened._pool, opened._for_health:
            yield opened

    def figure(self, key: str) -> int:
        """Return one of the statistics that psycopg_pool keeps, by its name there."""
        return self._pool.get_stats().get(key, 0)

    async def untenanted(
        self, sql: str, parameters: Parameters = (), *, timeout_s: float = ANSWER_TIMEOUT_MAX_S
    ) -> list[Row]:
        """Run one statement on tables that have no tenant, in a transaction of its own.

        Raises:
            Unavailable: Postgres does not answer, or another transaction holds a lock that the statement needs.
        """
        async with self.connection(timeout_s=timeout_s) as connection:
            async with connection.pipeline():
                await connection.execute(f"SELECT {GIVING_WAY}".encode())
                cursor = await execute(connection, sql, parameters, named=True)
            return await fetched(cursor)

    async def healthy(self, sql: str) -> list[Row]:
        """Run the statement of a health check, which does not wait for the connections of calls.

        Raises:
            Unavailable: Postgres does not answer.
        """
        async with self.connection(timeout_s=READY_TIMEOUT_S, of=self._for_health) as connection:
            return await fetched(await execute(connection, sql, (), named=True))

    @asynccontextmanager
    async def connection(
        self, *, timeout_s: float = ANSWER_TIMEOUT_MAX_S, of: AsyncConnectionPool[Connection] | None = None
    ) -> AsyncIterator[Connection]:
        """Lend a connection for the block, and translate the driver's errors: for this package and for tests.

        A statement on it is cancelled shortly before the call's deadline, or after `timeout_s`. If Postgres does not
        answer the cancellation either, the connection is closed.

        Args:
            timeout_s: Longest time of the block in seconds.
            of: The pool to take the connection from; None takes the one for calls.
        """
        pool = of or self._pool
        give_up_at = time.monotonic() + min(remaining_s(), timeout_s)
        watch: Watch | None = None
        try:
            connection = await self._checkout(pool, give_up_at)
            watch = Watch(connection, give_up_at - time.monotonic(), silent=self._suspect)
            try:
                yield connection
            finally:
                if watch.stop() or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    await connection.close()  # a statement was given up halfway; the pool opens another connection
                else:
                    connection.answered_at = time.monotonic()
                await pool.putconn(connection)
        except (psycopg.Error, OSError) as error:
            ours = late() if watch is not None and watch.was_short else translated(error)
            if ours is None:
                raise
            raise ours from error

    async def _checkout(self, pool: AsyncConnectionPool[Connection], give_up_at: float) -> Connection:
        """Take a connection from the pool, and check that it still works.

        Raises:
            Unavailable: no connection could be made.
            PoolTimeout: all connections are in use.
        """
        # Keep a part of the caller's time for the statement, or for the error that no connection was free.
        wait_until = time.monotonic() + min(CHECKOUT_TIMEOUT_S, (give_up_at - time.monotonic()) * 0.8)
        while True:
            try:
                connection = await pool.getconn(timeout=max(wait_until - time.monotonic(), 0.001))
            except PoolTimeout as error:
                if pool is self._for_health or self._refusals_now() != self._refusals:
                    raise unavailable() from error
                raise
            try:
                proof_s = min(PROOF_TIMEOUT_S, (give_up_at - time.monotonic()) / 2)
                if connection.answered_at > self._silent_at or proof_s < PROVING_S_MIN:
                    lives = await is_alive(connection)
                else:
                    lives = await self._proves(connection, proof_s)
                if lives:
                    return connection
            except BaseException:
                await pool.putconn(connection)
                raise
            await connection.close()
            await pool.putconn(connection)  # the pool opens another connection in its place

    def _refusals_now(self) -> int:
        return self.figure("connections_errors")

    def _suspect(self) -> None:
        """Let each idle connection prove that it answers before it is lent again, because one of them did not answer.

        A busy Postgres may also not answer within the short time of a call. The check then costs only a round trip.
        """
        self._silent_at = time.monotonic()

    async def _proves(self, connection: Connection, timeout_s: float) -> bool:
        """Send an empty statement on a connection, and return whether Postgres answers within `timeout_s`.

        If it does not, all idle connections are replaced.
        """
        watch = Watch(connection, timeout_s, silent=lambda: None)
        proved = False
        try:
            with suppress(psycopg.Error, OSError):
                await AsyncConnectionPool.check_connection(connection)
                proved = True
        finally:
            if watch.stop():
                proved = False
                await connection.close()
        if proved:
            connection.answered_at = time.monotonic()
        else:
            await self._renew()
        return proved

    async def _renew(self) -> None:
        """Close all idle connections and open new ones, because one of them was dead without notice."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._drain())
        await asyncio.shield(self._renewing)

    async def _drain(self) -> None:
        await self._for_health.drain()
        await self._pool.drain()
