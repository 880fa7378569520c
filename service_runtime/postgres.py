"""Postgres: one pool, two doors, one border where driver errors become ours.

`Tenant.query` runs one statement in one round trip; `Tenant.transaction` runs several. Both set the tenant, and what
else row-level security checks, and a statement timeout of what is left of the call's deadline. All settings
are local to the transaction: nothing of a session survives, so that PgBouncer may hand the connection on.
Tables without a tenant are read by `Database.untenanted`.

Health has a connection of its own, so that it tells of Postgres and not of how busy we are. What nobody waits for does
not wait at locks for long, so that the connections are there for callers.

A Postgres that is gone says so: its connections close, and are replaced when they are asked for. One that is frozen,
or whose machine has vanished, says nothing at all. Then the caller is told while there is time, and the connection
and all that idle beside it are hung up on: it is not the caller's part to find out which of ten are dead.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import namedtuple_row, tuple_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from contextkeep.errors import (
    Aborted,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    LimitExceeded,
    Overloaded,
    PermissionDenied,
    StorageFull,
    Unavailable,
)
from service_runtime import tracing
from service_runtime.auth import Principal
from service_runtime.calls import answer_s, remaining_s
from service_runtime.metrics import Metrics
from service_runtime.postgres_connection import CancelledOnce

Parameters = Mapping[str, Any] | Sequence[Any]
Row = Any  # a named tuple of the statement's columns
Connection = psycopg.AsyncConnection[Row]
Cursor = psycopg.AsyncCursor[Row]
Configure = Callable[[Connection], Awaitable[None]]
_T = TypeVar("_T")

ANSWER_TIMEOUT_MAX_S = 60.0  # outside of calls, and of calls without a deadline
_ROWS_AT_ONCE = 5000  # are made of an answer before other calls have their turn: some ten milliseconds
READY_TIMEOUT_S = 1.5
LOCK_TIMEOUT_S = 5.0  # of a statement that is no caller's; a caller's waits at a lock for as long as he does
CHECKOUT_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 5
RETRY_AFTER_S = 0.5
# Whoever survived a deadlock has to wake up first: a loser that is back at once takes his lock from under him.
AGAIN_AFTER_S = 0.02

# The binary form of an array: dimensions, whether there are nulls, type of the elements; of its dimension the size and
# the lower bound; then each element with its size before it.
_TEXT_OID = 25
_TEXTS = struct.Struct("!iiIii").pack
_NO_TEXTS = struct.pack("!iiI", 0, 0, _TEXT_OID)
_SIZE = struct.Struct("!i").pack
_NULL = _SIZE(-1)

_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")
_TRACED_AS = {"db.system.name": "postgresql"}

# Generic plans: our statements are written for their indexes whatever the values are, and the larger ones take longer
# to plan than to run (a page of twenty nodes: 0.8 ms planned anew, 0.2 ms not). And never compiled: the planner does
# not know how little a look-up finds, takes walks for a thousand times their work, and would compile them first, each
# time, where Postgres has LLVM.
_SET_LOCAL = """
SELECT
    set_config('app.tenant', %s, true) AS tenant, set_config('statement_timeout', %s, true) AS timeout,
    set_config('plan_cache_mode', 'force_generic_plan', true) AS plans, set_config('jit', 'off', true) AS jit
"""
# A statement that was made up for one call is planned for its values, and can only read.
_SET_LOCAL_AD_HOC = """
SELECT
    set_config('app.tenant', %s, true) AS tenant, set_config('statement_timeout', %s, true) AS timeout,
    set_config('plan_cache_mode', 'force_custom_plan', true) AS plans, set_config('jit', 'off', true) AS jit,
    set_config('transaction_read_only', 'on', true) AS read_only
"""
_GIVING_WAY = f"set_config('lock_timeout', '{round(LOCK_TIMEOUT_S * 1000)}', true) AS lock_timeout"
# What policies read beside the tenant; what is not said here reads as nothing, and hides what depends on it.
_MORE = {
    "bounds": ", set_config('app.bounds', %s, true) AS bounds",
    "subject": ", set_config('app.subject', %s, true) AS subject",
    "context": ", set_config('app.context', %s, true) AS context",
}
_ALL = "*"  # no id of a context, and no subject: those begin with "="
# A replica that freezes or vanishes in the middle of a transaction would keep its locks for hours.
_SET_LOCAL_OF_SEVERAL = f"{_SET_LOCAL}, set_config('idle_in_transaction_session_timeout', %s, true) AS idle_timeout"
# Said between the making of a schema and the end of its migrations.
_NOT_YET_GRANTED = {
    "permission denied for table migration",
    *(f"permission denied for schema {name}" for name in ("access", "context", "entity")),
}
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


class SchemaBehind(Unavailable):
    """The database lacks what this version needs; once it is migrated, the same call works."""

    reason = "SCHEMA_BEHIND"


async def ask(url: str, configure: Configure | None = None) -> None:
    """Connect once as a service does, and say what is wrong in Postgres's own words: for an operator.

    Raises:
        Unavailable: Postgres does not answer, or refuses the role.
        FailedPrecondition: an extension is missing.
        UnsafeRole: row-level security would not hold for the role.
    """
    try:
        async with await psycopg.AsyncConnection[Row].connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            await _require_safe_role(connection)
            if configure is not None:
                await configure(connection)
    except psycopg.OperationalError as error:
        raise Unavailable(f"cannot connect as DATABASE_URL: {str(error).splitlines()[0]}") from error
    except psycopg.ProgrammingError as error:  # of pgvector's adapters
        raise FailedPrecondition(f"{error}: `CREATE EXTENSION vector` there, as a role that may") from error


class TextArray(list[str | None]):
    """The parameter of an array of texts, in a statement as `%s::text[]`.

    psycopg takes twenty microseconds for each element of a list; as this it is a fraction of one.
    """


class _TextArrayDumper(Dumper):
    format = Format.BINARY
    # Its type is what the statement says, as that of NULL: of other types it would be another prepared statement.
    oid = 0

    def dump(self, obj: TextArray) -> bytes:
        if not obj:
            return _NO_TEXTS
        parts = [_TEXTS(1, None in obj, _TEXT_OID, len(obj), 1)]
        for text in obj:
            if text is None:
                parts.append(_NULL)
            else:
                encoded = text.encode()
                parts += (_SIZE(len(encoded)), encoded)
        return b"".join(parts)


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
                await _require_safe_role(connection)

        async def prepare(connection: Connection) -> None:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await _require_safe_role(connection)
                connection.adapters.register_dumper(TextArray, _TextArrayDumper)
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
            context_id: The context whose rows are meant. None: of rows that belong to contexts there are none.
        """
        return Tenant(
            self,
            principal.tenant_id,
            bounds=principal.bounds,
            subject=f"={principal.user_id}",
            context=str(context_id or ""),
        )

    def tenant(self, tenant_id: UUID) -> Tenant:
        """Return the door to the rows of one tenant: for background work, which nobody called for.

        What belongs to contexts or users is behind it only for statements that are `Across` them. What it waits for at
        a lock for longer than `LOCK_TIMEOUT_S` fails with `Unavailable`.
        """
        return Tenant(self, tenant_id, gives_way=True)

    async def untenanted(
        self, sql: str, parameters: Parameters = (), *, timeout_s: float = ANSWER_TIMEOUT_MAX_S
    ) -> list[Row]:
        """Run one statement on tables that have no tenant, in a transaction of its own.

        Raises:
            Unavailable: Postgres does not answer, or what the statement needs is locked.
        """
        async with self.connection(timeout_s=timeout_s) as connection:
            async with connection.pipeline():
                await connection.execute(f"SELECT {_GIVING_WAY}".encode())
                cursor = await _execute(connection, sql, parameters, named=True)
            return await _rows(cursor)

    async def healthy(self, sql: str) -> list[Row]:
        """Run the statement of a health check, which does not wait for the connections of calls.

        Raises:
            Unavailable: Postgres does not answer.
        """
        async with self.connection(timeout_s=READY_TIMEOUT_S, of=self._for_health) as connection:
            return await _rows(await _execute(connection, sql, (), named=True))

    @asynccontextmanager
    async def connection(
        self, *, timeout_s: float = ANSWER_TIMEOUT_MAX_S, of: AsyncConnectionPool[Connection] | None = None
    ) -> AsyncIterator[Connection]:
        """Lend a connection, inside the error border: for this module and for tests.

        What runs on it is cancelled shortly before the time of the call is up, or `timeout_s`; if Postgres does not
        even answer that, the connection is cut.
        """
        pool = of or self._pool
        give_up_at = time.monotonic() + min(remaining_s(), timeout_s)
        try:
            connection = await self._checkout(pool, give_up_at)
            watch = _Watch(connection, give_up_at - time.monotonic(), silent=self._renew)
            try:
                yield connection
            finally:
                if watch.stop() or connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    await connection.close()  # given up in the middle; the pool makes another
                await pool.putconn(connection)
        except (psycopg.Error, OSError) as error:
            ours = _ours(error)
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
                    raise _unavailable() from error
                raise
            try:
                if await _is_alive(connection):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """A statement that looks across contexts or users; all others see one context, and one user, or none.

    Bounds hold for it, too. Each is a constant of its module: who may see more than others is found by this name.
    """

    sql: str
    why: str  # it has to, and what holds it instead
    contexts: bool = False  # those of the tenant
    subjects: bool = False  # all users'; without it, those of the principal


class Tenant:
    """The two doors to one tenant's rows.

    Args:
        database: Where they are.
        tenant_id: Whose.
        bounds: `Principal.bounds`: which of them. Empty: all.
        subject: "=" and the id of the user for whom it is, who may be nobody. Empty: of what belongs to users, nothing.
        context: The id of the context whose rows are meant. Empty: of what belongs to contexts, nothing.
        gives_way: Waits at locks for no longer than `LOCK_TIMEOUT_S`.
    """

    def __init__(
        self,
        database: Database,
        tenant_id: UUID,
        *,
        bounds: str = "",
        subject: str = "",
        context: str = "",
        gives_way: bool = False,
    ) -> None:
        self._database = database
        self.tenant_id = tenant_id
        self.bounds = bounds
        self._said = {"bounds": bounds, "subject": subject, "context": context}
        self._gives_way = f", {_GIVING_WAY}" if gives_way else ""

    async def query(
        self, sql: str | Across, parameters: Parameters = (), *, named: bool = True, ad_hoc: bool = False
    ) -> list[Row]:
        """Run one statement in a transaction of its own, in one round trip, and return its rows.

        A pipeline on an autocommit connection is one implicit transaction, so the local settings hold for the
        statement and are gone after it. When this returns, the statement is committed.

        Args:
            sql: The statement; `Across`, if it is one of those.
            parameters: Its parameters.
            named: False gives plain tuples: for many rows, half a microsecond each, and for columns without names.
            ad_hoc: The statement was made up for this call. It is not kept prepared, is planned for its values, and
                Postgres lets it write nothing.

        Raises:
            Unavailable: Postgres does not answer, or has no connection for us (`Overloaded`).
            DeadlineExceeded: the statement took longer than the call has.
            StorageFull: Postgres has no room left.
            PermissionDenied: what it writes is outside of the bounds.
            psycopg.IntegrityError: a constraint; only the store knows what it means.
        """
        statement, said = (sql, self._said) if isinstance(sql, str) else (sql.sql, self._said_across(sql))
        more, values = self._more_settings(said)
        settings = (_SET_LOCAL_AD_HOC if ad_hoc else _SET_LOCAL) + more

        async def run() -> list[Row]:
            async with self._database.connection() as connection:
                async with connection.pipeline():
                    await connection.execute(settings.encode(), (*self._settings(), *values))
                    cursor = await _execute(connection, statement, parameters, named=named, prepare=not ad_hoc)
                # Behind the pipeline: a fetch inside it would wait once for the rows and once for the commit.
                return await _rows(cursor)

        with tracing.span("postgres query", **_TRACED_AS):
            return await _once_more(run)

    async def transaction(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Run `work` in one transaction, and commit when it returns.

        It runs a second time after a deadlock or a serialisation failure, so it must have no effect of its own.

        Raises:
            Whatever `work` raises, after a rollback; and the errors of `query`.
        """
        more, values = self._more_settings(self._said)
        settings = _SET_LOCAL_OF_SEVERAL + more

        async def run() -> _T:
            async with self._database.connection() as connection, connection.transaction():
                tenant_id, timeout_ms = self._settings()
                await connection.execute(settings.encode(), (tenant_id, timeout_ms, timeout_ms, *values))
                return await work(Transaction(connection, self.tenant_id, bounds=self.bounds))

        with tracing.span("postgres transaction", **_TRACED_AS):
            return await _once_more(run)

    def _settings(self) -> tuple[str, str]:
        timeout_s = answer_s(min(remaining_s(), ANSWER_TIMEOUT_MAX_S))
        return str(self.tenant_id), str(max(1, int(timeout_s * 1000)))

    def _more_settings(self, said: Mapping[str, str]) -> tuple[str, list[str]]:
        """Return what is set besides, with its values; what is empty is not set."""
        settings = "".join([_MORE[name] for name, value in said.items() if value])
        return settings + self._gives_way, [value for value in said.values() if value]

    def _said_across(self, statement: Across) -> dict[str, str]:
        wider = {"context": _ALL} if statement.contexts else {}
        return self._said | wider | ({"subject": _ALL} if statement.subjects else {})


class Transaction:
    """Statements of one transaction, of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID, *, bounds: str) -> None:
        self._connection = connection
        self.tenant_id = tenant_id
        self.bounds = bounds

    async def query(self, sql: str, parameters: Parameters = (), *, named: bool = True) -> list[Row]:
        """Run one statement and return its rows; `named` as of `Tenant.query`."""
        return await _rows(await _execute(self._connection, sql, parameters, named=named))


async def _execute(
    connection: Connection, sql: str, parameters: Parameters, *, named: bool, prepare: bool = True
) -> Cursor:
    row_factory = namedtuple_row if named else tuple_row
    cursor: Cursor
    if prepare and isinstance(parameters, Mapping):
        statement, names = _numbered(sql)
        parameters = [parameters[name] for name in names]
        cursor = psycopg.AsyncRawCursor(connection, row_factory=row_factory)
    else:
        statement = sql.encode()
        cursor = connection.cursor(row_factory=row_factory)
    # None: once it has come often enough.
    await cursor.execute(statement, parameters, binary=True, prepare=None if prepare else False)
    return cursor


@lru_cache(maxsize=512)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with Postgres's own placeholders, and the names of its parameters in their order.

    psycopg keeps what it parsed only of statements of up to 4,096 characters; the largest of ours take 0.1 ms.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        return f"${names.setdefault(found[1], len(names) + 1)}"

    return _PLACEHOLDER.sub(number, sql).encode(), tuple(names)


async def _rows(cursor: Cursor) -> list[Row]:
    try:
        rows: list[Row] = await cursor.fetchmany(_ROWS_AT_ONCE)
        if len(rows) == _ROWS_AT_ONCE:
            while more := await cursor.fetchmany(_ROWS_AT_ONCE):
                rows += more
                await asyncio.sleep(0)
        return rows
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
    await asyncio.sleep(AGAIN_AFTER_S)
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


async def _is_alive(connection: Connection) -> bool:
    """Tell whether a connection survived its idleness.

    An idle connection has nothing to say. If its socket is readable, Postgres has closed it (or, with TLS, sent
    a ticket), and only then it is worth a round trip. So a restart costs nobody a call, and a checkout two
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


class _Watch:
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


def _ours(error: BaseException) -> Exception | None:
    """Return our error for one of the driver; None for constraints and for what only a fault of ours can be."""
    match error:
        case PoolTimeout() | TooManyRequests():
            return Overloaded("no database connection is free", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case PoolClosed():
            return Unavailable("the service is stopping", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case pg.QueryCanceled():
            return DeadlineExceeded("the database did not answer within the call's time")
        case pg.DiskFull():
            return StorageFull("the database has no room left", dependency="postgres")
        case pg.InsufficientPrivilege() if '"bounds' in (error.diag.message_primary or ""):
            return PermissionDenied("the key is bound to other graphs, agent bundles, apps or contexts")
        case pg.UndefinedTable() | pg.UndefinedColumn() | pg.InvalidSchemaName():
            return _behind()
        case pg.UndefinedFunction() if (error.diag.message_primary or "").startswith("function "):  # not an operator
            return _behind()
        case pg.InsufficientPrivilege() if (error.diag.message_primary or "") in _NOT_YET_GRANTED:
            return _behind()
        case pg.SerializationFailure() | pg.DeadlockDetected():
            return Aborted("another call changed the same rows; try again")
        case pg.ProgramLimitExceeded():
            return LimitExceeded("a value is larger than the database takes")
        case pg.DataError() if error.sqlstate:
            # A number that jsonb cannot hold, a time out of range: what no check in front of it knows.
            return InvalidArgument(f"a value cannot be stored: {error.diag.message_primary}")
        case pg.LockNotAvailable():
            return Unavailable("what this needs is locked", dependency="postgres", retry_after_s=RETRY_AFTER_S)
        case psycopg.OperationalError() | pg.ReadOnlySqlTransaction() | OSError():  # read-only: it is failing over
            return _unavailable()
        case _:
            return None


def _behind() -> SchemaBehind:
    return SchemaBehind(
        "the database lacks what this version needs: run `migrate`", dependency="postgres", retry_after_s=RETRY_AFTER_S
    )


def _unavailable() -> Unavailable:
    return Unavailable("the database does not answer", dependency="postgres", retry_after_s=RETRY_AFTER_S)
