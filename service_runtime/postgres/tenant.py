"""A tenant's rows: one statement in one round trip, or several in a transaction.

What row-level security reads, and how long it may take, is said with each of them, and forgotten after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from psycopg import errors as pg

from contextkeep.errors import Aborted, PermissionDenied
from service_runtime import tracing
from service_runtime.calls import answer_s, remaining_s
from service_runtime.postgres.connection import Connection, Row
from service_runtime.postgres.statements import Parameters, execute, fetched

_T = TypeVar("_T")
Lend = Callable[[], AbstractAsyncContextManager[Connection]]

ANSWER_TIMEOUT_MAX_S = 60.0  # outside of calls, and of calls without a deadline
LOCK_TIMEOUT_S = 5.0  # of a statement that is no caller's; a caller's waits at a lock for as long as he does
# Whoever survived a deadlock has to wake up first: a loser that is back at once takes his lock from under him.
AGAIN_AFTER_S = 0.02

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
GIVING_WAY = f"set_config('lock_timeout', '{round(LOCK_TIMEOUT_S * 1000)}', true) AS lock_timeout"
# What policies read beside the tenant; what is not said here reads as nothing, and hides what depends on it.
_MORE = {
    "bounds": ", set_config('app.bounds', %s, true) AS bounds",
    "subject": ", set_config('app.subject', %s, true) AS subject",
    "context": ", set_config('app.context', %s, true) AS context",
}
_TURN_TO = "SELECT set_config('app.context', %s, true) AS context"
_ALL = "*"  # no id of a context, and no subject: those begin with "="
_SNAPSHOT = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# A replica that freezes or vanishes in the middle of a transaction would keep its locks for hours.
_SET_LOCAL_OF_SEVERAL = f"{_SET_LOCAL}, set_config('idle_in_transaction_session_timeout', %s, true) AS idle_timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """A statement that looks across contexts or users; all others see one context, and one user, or none.

    Bounds hold for it, too. Each is a constant of its module: who may see more than others is found by this name.
    """

    sql: str
    why: str  # it has to, and what holds it instead
    contexts: bool = False  # those of the tenant
    subjects: bool = False  # all users', for a principal with `admin`; without it, those of the principal


class Tenant:
    """The two doors to one tenant's rows.

    Args:
        lend: Lends a connection to the database where they are, as `Database.connection` does.
        tenant_id: Whose.
        bounds: `Principal.bounds`: which of them. Empty: all.
        subject: "=" and the id of the user for whom it is, who may be nobody. Empty: of what belongs to users, nothing.
        context: The id of the context whose rows are meant. Empty: of what belongs to contexts, nothing.
        sees_all_subjects: Runs statements that are `Across` users.
        gives_way: Waits at locks for no longer than `LOCK_TIMEOUT_S`.
    """

    def __init__(
        self,
        lend: Lend,
        tenant_id: UUID,
        *,
        bounds: str = "",
        subject: str = "",
        context: str = "",
        sees_all_subjects: bool = False,
        gives_way: bool = False,
    ) -> None:
        self._lend = lend
        self.tenant_id = tenant_id
        self.bounds = bounds
        self._said = {"bounds": bounds, "subject": subject, "context": context}
        self._sees_all_subjects = sees_all_subjects
        self._gives_way = f", {GIVING_WAY}" if gives_way else ""

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
            PermissionDenied: what it writes is outside of the bounds; or it is `Across` users, of whom one is seen.
            psycopg.IntegrityError: a constraint; only the store knows what it means.
        """
        statement, said = (sql, self._said) if isinstance(sql, str) else (sql.sql, self._said_across(sql))
        more, values = self._more_settings(said)
        settings = (_SET_LOCAL_AD_HOC if ad_hoc else _SET_LOCAL) + more

        async def run() -> list[Row]:
            async with self._lend() as connection:
                async with connection.pipeline():
                    await connection.execute(settings.encode(), (*self._settings(), *values))
                    cursor = await execute(connection, statement, parameters, named=named, prepare=not ad_hoc)
                # Behind the pipeline: a fetch inside it would wait once for the rows and once for the commit.
                return await fetched(cursor)

        with tracing.span("postgres query", **_TRACED_AS):
            return await _once_more(run)

    async def transaction(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Run `work` in one transaction, and commit when it returns.

        It runs a second time after a deadlock or a serialisation failure, so it must have no effect of its own.

        Raises:
            Whatever `work` raises, after a rollback; and the errors of `query`.
        """
        return await self._in_transaction(work)

    async def snapshot(self, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Run `work`, whose statements write nothing and see all rows as they are at one moment; see `transaction`.

        Rows that were removed stay stored until it returns: it should be short.
        """
        return await self._in_transaction(work, first=_SNAPSHOT)

    async def _in_transaction(self, work: Callable[[Transaction], Awaitable[_T]], *, first: bytes = b"") -> _T:
        more, values = self._more_settings(self._said)
        settings = _SET_LOCAL_OF_SEVERAL + more

        async def run() -> _T:
            async with self._lend() as connection, connection.transaction():
                if first:
                    await connection.execute(first)
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
        if statement.subjects and not self._sees_all_subjects:
            raise PermissionDenied("the key lacks the scope admin", scope="admin")
        wider = {"context": _ALL} if statement.contexts else {}
        return self._said | wider | ({"subject": _ALL} if statement.subjects else {})


class Transaction:
    """Statements of one transaction, of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID, *, bounds: str) -> None:
        self._connection = connection
        self.tenant_id = tenant_id
        self.bounds = bounds

    async def turn_to(self, context_id: UUID) -> None:
        """Mean the rows of another context from here on, as a door to it would."""
        await self.query(_TURN_TO, (str(context_id),))

    async def query(self, sql: str, parameters: Parameters = (), *, named: bool = True) -> list[Row]:
        """Run one statement and return its rows; `named` as of `Tenant.query`."""
        return await fetched(await execute(self._connection, sql, parameters, named=named))


async def _once_more(run: Callable[[], Awaitable[_T]]) -> _T:
    """Run, and run again if Postgres undid it for the sake of another transaction."""
    try:
        return await run()
    except Aborted as error:
        if not isinstance(error.__cause__, pg.SerializationFailure | pg.DeadlockDetected):
            raise
    await asyncio.sleep(AGAIN_AFTER_S)
    return await run()
