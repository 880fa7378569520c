"""Postgres: one pool, two doors, one border where driver errors become ours.

`Tenant.query` runs one statement in one round trip; `Tenant.transaction` runs several. Both set the tenant,
which row-level security checks, and a statement timeout of what is left of the call's deadline. Both settings
are local to the transaction: nothing of a session survives, so that PgBouncer may hand the connection on.
Tables without a tenant are read by `Database.untenanted`.
"""

from __future__ import annotations

import select
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg.rows import namedtuple_row, tuple_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from contextgraph.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    LimitExceeded,
    Overloaded,
    StorageFull,
    Unavailable,
)
from service_runtime.calls import remaining_s

Parameters = Mapping[str, Any] | Sequence[Any]
Row = Any  # a named tuple of the statement's columns
Connection = psycopg.AsyncConnection[Row]
Cursor = psycopg.AsyncCursor[Row]
Configure = Callable[[Connection], Awaitable[None]]
_T = TypeVar("_T")

STATEMENT_TIMEOUT_MAX_S = 60.0  # outside of calls, and of calls without a deadline
CHECKOUT_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 5
RETRY_AFTER_S = 0.5

# Generic plans: our statements are written for their indexes whatever the values are, and the larger ones take longer
# to plan than to run (a page of twenty nodes: 0.8 ms planned anew, 0.2 ms not).
_SET_LOCAL = """
SELECT
    set_config('app.tenant', %s, true) AS tenant, set_config('statement_timeout', %s, true) AS timeout,
    set_config('plan_cache_mode', 'force_generic_plan', true) AS plans
"""
_ROLE = """
SELECT r.rolname, r.rolsuper, r.rolbypassrls,
    EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('access', 'context', 'entity') AND pg_has_role(r.oid, c.relowner, 'MEMBER')
    ) AS owns
FROM pg_roles r WHERE r.rolname = current_user
"""


class UnsafeRole(FailedPrecondition):
    """The role of DATABASE_URL would pass row-level security in silence."""

    reason = "UNSAFE_DATABASE_ROLE"


class Database:
    """A pool of connections to one database; made by `Database.open`."""

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, connections_max: int, name: str, configure: Configure | None = None
    ) -> AsyncIterator[Database]:
        """Open a pool, and close it on exit.

        Opening does not wait for Postgres: a server starts, says that it is not ready, and recovers by itself.
        The role is checked now, if Postgres answers, and again on every new connection.

        Args:
            url: `postgresql://` URL of the service's role.
            connections_max: Connections at most.
            name: Shown in `pg_stat_activity`.
            configure: Prepares each new connection, such as its adapters; nothing that lives in the session.

        Raises:
            UnsafeRole: row-level security would not hold for the role.
        """
        with suppress(psycopg.OperationalError):
            async with await psycopg.AsyncConnection.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
                await _require_safe_role(connection)

        async def prepare(connection: Connection) -> None:
            await _require_safe_role(connection)
            if configure is not None:
                await configure(connection)

        pool = AsyncConnectionPool(
            url,
            connection_class=psycopg.AsyncConnection[Row],
            min_size=1,
            max_size=connections_max,
            max_waiting=connections_max * 100,
            reconnect_timeout=2.0,
            configure=prepare,
            check=_check_alive,
            open=False,
            kwargs={
                "autocommit": True,
                "row_factory": namedtuple_row,
                "connect_timeout": CONNECT_TIMEOUT_S,
                "application_name": name,
            },
        )
        await pool.open()
        try:
            yield cls(pool)
        finally:
            await pool.close()

    def tenant(self, tenant_id: UUID) -> Tenant:
        """Return the door to one tenant's rows."""
        return Tenant(self, tenant_id)

    async def untenanted(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one statement on tables that have no tenant, in a transaction of its own."""
        async with self.connection() as connection:
            return await _rows(await _execute(connection, sql, parameters, named=True))

    async def ready(self) -> None:
        """Ask Postgres for an answer: a health check.

        Raises:
            Unavailable: there is none.
        """
        await self.untenanted("SELECT 1")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection, inside the error border: for this module and for tests."""
        # Some of the caller's time is kept for telling it that there was no connection.
        timeout_s = min(CHECKOUT_TIMEOUT_S, max(remaining_s() * 0.8, 0.001))
        try:
            async with self._pool.connection(timeout=timeout_s) as connection:
                yield connection
        except (psycopg.Error, OSError) as error:
            ours = _ours(error)
            if ours is None:
                raise
            raise ours from error


class Tenant:
    """The two doors to one tenant's rows."""

    def __init__(self, database: Database, tenant_id: UUID) -> None:
        self._database = database
        self.tenant_id = tenant_id

    async def query(self, sql: str, parameters: Parameters = (), *, named: bool = True) -> list[Row]:
        """Run one statement in a transaction of its own, in one round trip, and return its rows.

        A pipeline on an autocommit connection is one implicit transaction, so the local settings hold for the
        statement and are gone after it. When this returns, the statement is committed.

        Args:
            sql: The statement.
            parameters: Its parameters.
            named: False gives plain tuples: for many rows, half a microsecond each, and for columns without names.

        Raises:
            Unavailable: Postgres does not answer, or has no connection for us (`Overloaded`).
            DeadlineExceeded: the statement took longer than the call has.
            StorageFull: Postgres has no room left.
            psycopg.IntegrityError: a constraint; only the store knows what it means.
        """

        async def run() -> list[Row]:
            async with self._database.connection() as connection:
                async with connection.pipeline():
                    await connection.execute(_SET_LOCAL, self._settings())
                    cursor = await _execute(connection, sql, parameters, named=named)
                # Behind the pipeline: a fetch inside it would wait once for the rows and once for the commit.
                return await _rows(cursor)

        return await _once_more(run)

    async def transaction(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Run `work` in one transaction, and commit when it returns.

        It runs a second time after a deadlock or a serialisation failure, so it must have no effect of its own.

        Raises:
            Whatever `work` raises, after a rollback; and the errors of `query`.
        """

        async def run() -> _T:
            async with self._database.connection() as connection, connection.transaction():
                await connection.execute(_SET_LOCAL, self._settings())
                return await work(Transaction(connection, self.tenant_id))

        return await _once_more(run)

    def _settings(self) -> tuple[str, str]:
        timeout_s = min(max(remaining_s(), 0.001), STATEMENT_TIMEOUT_MAX_S)
        return str(self.tenant_id), str(max(1, int(timeout_s * 1000)))


class Transaction:
    """Statements of one transaction, of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self.tenant_id = tenant_id

    async def query(self, sql: str, parameters: Parameters = (), *, named: bool = True) -> list[Row]:
        """Run one statement and return its rows; `named` as of `Tenant.query`."""
        return await _rows(await _execute(self._connection, sql, parameters, named=named))


async def _execute(connection: Connection, sql: str, parameters: Parameters, *, named: bool) -> Cursor:
    cursor: Cursor = connection.cursor(row_factory=namedtuple_row if named else tuple_row)
    await cursor.execute(sql.encode(), parameters, binary=True)
    return cursor


async def _rows(cursor: Cursor) -> list[Row]:
    try:
        return await cursor.fetchall()
    except psycopg.ProgrammingError as error:
        if error.sqlstate is None and cursor.description is None:
            return []  # not Postgres's error but psycopg's: the statement has no rows to fetch
        raise


async def _once_more(run: Callable[[], Awaitable[_T]]) -> _T:
    """Run, and run again if Postgres undid it for the sake of another transaction."""
    try:
        return await run()
    except Aborted as error:
        if not isinstance(error.__cause__, pg.SerializationFailure | pg.DeadlockDetected):
            raise
    return await run()


async def _require_safe_role(connection: psycopg.AsyncConnection[Any]) -> None:
    """Refuse a role that passes every policy in silence: a superuser, one with BYPASSRLS, an owner of our tables.

    Raises:
        UnsafeRole: with what to do.
    """
    cursor: psycopg.AsyncCursor[Row] = connection.cursor(row_factory=namedtuple_row)
    await cursor.execute(_ROLE)
    (role,) = await cursor.fetchall()
    if role.rolsuper or role.rolbypassrls or role.owns:
        why = "is a superuser" if role.rolsuper else "has BYPASSRLS" if role.rolbypassrls else "owns tables"
        raise UnsafeRole(
            f"the role of DATABASE_URL, {role.rolname}, {why}: row-level security would not hold. "
            "Use a role that owns nothing; only `migrate` uses DATABASE_ADMIN_URL",
            role=role.rolname,
        )


async def _check_alive(connection: Connection) -> None:
    """Refuse a connection that died while it was idle; the pool then takes another.

    An idle connection has nothing to say. If its socket is readable, Postgres has closed it (or, with TLS, sent
    a ticket), and only then it is worth a round trip. So a restart costs nobody a call, and a checkout two
    microseconds.
    """
    readable, _, _ = select.select([connection.fileno()], [], [], 0)
    if readable:
        await AsyncConnectionPool.check_connection(connection)


def _ours(error: BaseException) -> Exception | None:
    """Return our error for one of the driver; None for constraints and for faults of our own SQL."""
    match error:
        case PoolTimeout() | TooManyRequests():
            return Overloaded("no database connection is free", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case PoolClosed():
            return Unavailable("the service is stopping", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case pg.QueryCanceled():
            return DeadlineExceeded("the database did not answer within the call's time")
        case pg.DiskFull():
            return StorageFull("the database has no room left", dependency="postgres")
        case pg.SerializationFailure() | pg.DeadlockDetected():
            return Aborted("another call changed the same rows; try again")
        case pg.ProgramLimitExceeded():
            return LimitExceeded("a value is larger than the database takes")
        case pg.DataError() if error.sqlstate:
            # A number that jsonb cannot hold, a time out of range: what no check in front of it knows.
            return InvalidArgument(f"a value cannot be stored: {error.diag.message_primary}")
        case psycopg.OperationalError() | OSError():
            return Unavailable("the database does not answer", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case _:
            return None
