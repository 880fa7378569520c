"""The connections to one database, lent for as long as a call has."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from service_runtime.auth import Principal
from service_runtime.calls import remaining_s
from service_runtime.metrics import Metrics
from service_runtime.postgres.arrays import take_text_arrays
from service_runtime.postgres.connection import CONNECT_TIMEOUT_S, CancelledOnce, Configure, Connection, Row, is_alive
from service_runtime.postgres.errors import translated, unavailable
from service_runtime.postgres.roles import require_safe_role
from service_runtime.postgres.statements import Parameters, execute, fetched
from service_runtime.postgres.tenant import ANSWER_TIMEOUT_MAX_S, GIVING_WAY, Tenant
from service_runtime.postgres.watch import Watch

READY_TIMEOUT_S = 1.5
CHECKOUT_TIMEOUT_S = 5.0


class Database:
    """A pool of connections to one database, and one for health; made by `Database.open`."""

    def __init__(self, pool: AsyncConnectionPool[Connection], for_health: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool
        self._for_health = for_health
        self._refusals = 0  # connections that could not be made, when one last could
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
    ) -> AsyncIterator[Database]:
        """Open a pool, and close it on exit.

        Opening does not wait for Postgres: a server starts, says that it is not ready, and recovers by itself.
        The role is checked now, if Postgres answers, and again on every new connection.

        Args:
            url: `postgresql://` URL of the service's role.
            connections_max: Connections at most, besides the one for health.
            name: Shown in `pg_stat_activity`; with `-health` the one for health.
            configure: Prepares each new connection, such as its adapters; nothing that lives in the session.
            prepared_statements: Prepare statements that come again. They live in the session, after all: a pooler
                that hands connections on must know of them.

        Raises:
            UnsafeRole: row-level security would not hold for the role.
        """
        with suppress(psycopg.OperationalError):
            async with await psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
                await require_safe_role(connection)

        async def prepare(connection: Connection) -> None:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await require_safe_role(connection)
                take_text_arrays(connection)
                if configure is not None:
                    await configure(connection)
            database._refusals = database._refusals_now()

        def pool(shown_as: str, *, size_min: int, size_max: int) -> AsyncConnectionPool[Connection]:
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
                    # Of a machine that vanished the kernel knows in three quarters of a minute, also while we are idle.
                    "keepalives_idle": 30,
                    "keepalives_interval": 5,
                    "keepalives_count": 3,
                },
            )

        # The one for health is made when it is asked for: commands have none.
        database = cls(pool(name, size_min=1, size_max=connections_max), pool(f"{name}-health", size_min=0, size_max=1))
        async with database._pool, database._for_health:
            yield database

    def show(self, metrics: Metrics) -> None:
        """Let metrics read the pool."""
        for name, key, meaning in (
            ("contextkeep_postgres_connections", "pool_size", "Connections to Postgres"),
            ("contextkeep_postgres_connections_idle", "pool_available", "Connections that nobody uses"),
            ("contextkeep_postgres_waiting", "requests_waiting", "Calls that wait for a connection"),
        ):
            metrics.watch(name, meaning, partial(self._read_pool, key))

    def _read_pool(self, key: str) -> int:
        return self._pool.get_stats().get(key, 0)

    def of(self, principal: Principal, *, context_id: UUID | None = None) -> Tenant:
        """Return the door to those of a tenant's rows that a principal may see: for all calls.

        Args:
            principal: Its bounds hold; and of what belongs to users, it sees what is its user's and what is nobody's.
                Where the request may name a user, it is that of `Principal.acting_for`.
            context_id: The context whose rows are meant. None: of rows that belong to contexts there are none.
        """
        return Tenant(
            self.connection,
            principal.tenant_id,
            bounds=principal.bounds,
            subject=f"={principal.user_id}",
            context=str(context_id or ""),
            sees_all_subjects=principal.sees_all_users,
        )

    def tenant(self, tenant_id: UUID) -> Tenant:
        """Return the door to the rows of one tenant: for background work, which nobody called for.

        What belongs to contexts or users is behind it only for statements that are `Across` them. What it waits for at
        a lock for longer than `LOCK_TIMEOUT_S` fails with `Unavailable`.
        """
        return Tenant(self.connection, tenant_id, sees_all_subjects=True, gives_way=True)

    async def untenanted(
        self, sql: str, parameters: Parameters = (), *, timeout_s: float = ANSWER_TIMEOUT_MAX_S
    ) -> list[Row]:
        """Run one statement on tables that have no tenant, in a transaction of its own.

        Raises:
            Unavailable: Postgres does not answer, or what the statement needs is locked.
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
        """Lend a connection, inside the error border: for this package and for tests.

        What runs on it is cancelled shortly before the time of the call is up, or `timeout_s`; if Postgres does not
        even answer that, the connection is cut.
        """
        pool = of or self._pool
        give_up_at = time.monotonic() + min(remaining_s(), timeout_s)
        try:
            connection = await self._checkout(pool, give_up_at)
            watch = Watch(connection, give_up_at - time.monotonic(), silent=self._renew)
            try:
                yield connection
            finally:
                if watch.stop() or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    await connection.close()  # given up in the middle; the pool makes another
                await pool.putconn(connection)
        except (psycopg.Error, OSError) as error:
            ours = translated(error)
            if ours is None:
                raise
            raise ours from error

    async def _checkout(self, pool: AsyncConnectionPool[Connection], give_up_at: float) -> Connection:
        """Take a connection that lives."""
        # Some of the caller's time is kept for the statement, and for telling that there was no connection.
        wait_until = time.monotonic() + min(CHECKOUT_TIMEOUT_S, (give_up_at - time.monotonic()) * 0.8)
        while True:
            try:
                connection = await pool.getconn(timeout=max(wait_until - time.monotonic(), 0.001))
            except PoolTimeout as error:
                if pool is self._for_health or self._refusals_now() != self._refusals:
                    raise unavailable() from error
                raise
            try:
                if await is_alive(connection):
                    return connection
            except BaseException:
                await pool.putconn(connection)
                raise
            await connection.close()
            await pool.putconn(connection)  # it makes another in its place

    def _refusals_now(self) -> int:
        return self._pool.get_stats().get("connections_errors", 0)

    def _renew(self) -> None:
        """Hang up on all idle connections, and make new ones: one of them was found dead, and had not said so."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        await self._for_health.drain()
        await self._pool.drain()
