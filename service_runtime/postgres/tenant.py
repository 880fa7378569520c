"""Access to the rows of one tenant: one statement in one round trip, or several statements in a transaction.

The settings that row-level security reads, and the timeout, are sent with each statement and end with its transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar
from uuid import UUID

import psycopg
from psycopg import errors as pg

from contextkeep.errors import Aborted, PermissionDenied, TenantMoving
from service_runtime.postgres.connection import Connection, Row
from service_runtime.postgres.errors import NOT_HERE
from service_runtime.postgres.statements import Parameters, execute, fetched
from service_runtime.rpc.calls import answer_s, remaining_s
from service_runtime.telemetry import tracing

_T = TypeVar("_T")
Lend = Callable[[], AbstractAsyncContextManager[Connection]]

ANSWER_TIMEOUT_MAX_S = 60.0  # seconds of statements outside of calls, and of calls without a deadline
LOCK_TIMEOUT_S = 5.0  # seconds that background statements wait for a lock; those of a caller wait until its deadline
# Back off first: the transaction that survived the deadlock needs time to wake up, or the loser takes its lock again.
AGAIN_AFTER_S = 0.02

_TRACED_AS = {"db.system.name": "postgresql"}

# Generic plans, because our statements are written to use their indexes with any values, and the larger ones take
# longer to plan than to run (a page of twenty nodes takes 0.8 ms with planning, 0.2 ms without). And no JIT: the
# planner does not know how few rows a look-up finds, and estimates walks at a thousand times their real cost. Where
# Postgres has LLVM, it would compile them at each call.
_SET_LOCAL = """
SELECT
    {tenant}, set_config('statement_timeout', %(timeout)s, true) AS timeout,
    set_config('plan_cache_mode', 'force_generic_plan', true) AS plans, set_config('jit', 'off', true) AS jit
"""
# A statement that was built for one call is planned for its values, and can only read.
_SET_LOCAL_AD_HOC = """
SELECT
    {tenant}, set_config('statement_timeout', %(timeout)s, true) AS timeout,
    set_config('plan_cache_mode', 'force_custom_plan', true) AS plans, set_config('jit', 'off', true) AS jit,
    set_config('transaction_read_only', 'on', true) AS read_only
"""
_TENANT = "set_config('app.tenant', %(tenant_id)s, true) AS tenant"
# Where there are many databases, the database itself says whether the tenant lives in it, since the process may
# remember an old place. The lock is for the commands that move tenants: they wait for transactions that began before.
_TENANT_WHO_LIVES_HERE = """set_config('app.tenant', CASE
        (SELECT r.state FROM access.residence r WHERE r.tenant_id = %(tenant_id)s::uuid)
        WHEN 'HERE' THEN %(tenant_id)s::uuid::text ELSE access.enter(%(tenant_id)s::uuid)
    END, true) AS tenant, pg_advisory_xact_lock_shared(1634493815, uuid_hash(%(tenant_id)s::uuid)) IS NULL AS lock"""
GIVING_WAY = f"set_config('lock_timeout', '{round(LOCK_TIMEOUT_S * 1000)}', true) AS lock_timeout"
# Further settings that policies read. One that is not set reads as empty, and hides the rows that depend on it.
_MORE = {
    "bounds": ", set_config('app.bounds', %(bounds)s, true) AS bounds",
    "subject": ", set_config('app.subject', %(subject)s, true) AS subject",
    "context": ", set_config('app.context', %(context)s, true) AS context",
    "operator": ", set_config('app.operator', %(operator)s, true) AS operator",
}
_TURN_TO = "SELECT set_config('app.context', %s, true) AS context"
_ALL = "*"  # shows all contexts or subjects. It is no id of a context, and no subject, since those begin with "="
_SNAPSHOT = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# A replica that freezes or vanishes in the middle of a transaction would keep its locks for hours.
_SET_LOCAL_OF_SEVERAL = (
    f"{_SET_LOCAL}, set_config('idle_in_transaction_session_timeout', %(timeout)s, true) AS idle_timeout"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """A statement that sees the rows of several contexts or users; a plain statement sees one context and one user.

    The bounds of the caller hold for it, too. Each one is a constant of its module, so that grep finds all of them.
    """

    sql: str
    why: str  # the reason, and the check that protects other users' rows instead
    contexts: bool = False  # sees the rows of all contexts of the tenant
    subjects: bool = False  # sees all users' rows; refused without `admin`
    administrators: bool = False  # sees all users' rows for a principal with `admin`, and its own for any other one


@dataclass(frozen=True, slots=True, kw_only=True)
class Residence:
    """The check that a tenant's rows are in the database that a statement is sent to, where there are several.

    Attributes:
        look_again: Called with the id of a tenant that a database refused, as the tenant has moved; forgets the
            remembered place, so that the next connection is to the database where the tenant lives now.
        lend_home: Lends a connection to the database where the keys are.
    """

    look_again: Callable[[UUID], None]
    lend_home: Lend


class Tenant:
    """Runs statements on one tenant's rows: `query` one, and `transaction` or `snapshot` several.

    Args:
        lend: Lends a connection to the database where the rows are.
        tenant_id: Id of the tenant that the rows belong to.
        bounds: `Principal.bounds`, which limits the visible rows. Empty shows all rows.
        subject: "=" and the id of the user whose rows are visible, or "=" alone for no user. Empty hides rows of users.
        context: The id of the context whose rows are visible. Empty hides rows of contexts.
        operator: Id of the operator's key, for functions of operators in a database that has no keys.
        sees_all_subjects: Allow statements that are `Across` users, and show administrators' statements all rows.
        gives_way: Wait for locks for at most `LOCK_TIMEOUT_S`.
        residence: How to check that the tenant lives in this database; None if there is only one database.
    """

    def __init__(
        self,
        lend: Lend,
        tenant_id: UUID,
        *,
        bounds: str = "",
        subject: str = "",
        context: str = "",
        operator: str = "",
        sees_all_subjects: bool = False,
        gives_way: bool = False,
        residence: Residence | None = None,
    ) -> None:
        """Take the tenant and the settings of row-level security, which each transaction sets."""
        self._lend = lend
        self.tenant_id = tenant_id
        self.bounds = bounds
        self._policy_settings = {"bounds": bounds, "subject": subject, "context": context, "operator": operator}
        self._sees_all_subjects = sees_all_subjects
        self._gives_way = gives_way
        self._residence = residence

    @property
    def may_live_elsewhere(self) -> bool:
        """Say whether there are several databases, so that the tenant may live in another one."""
        return self._residence is not None

    def at_home(self) -> Tenant:
        """Return a `Tenant` for the tenant's rows in the home database, such as its keys, wherever the tenant lives."""
        if self._residence is None:
            return self
        tenant = copy(self)
        tenant._lend, tenant._residence = self._residence.lend_home, None
        return tenant

    async def query(
        self, sql: str | Across, parameters: Parameters = (), *, named: bool = True, ad_hoc: bool = False
    ) -> list[Row]:
        """Run one statement in a transaction of its own, in one round trip, and return its rows.

        A pipeline on an autocommit connection is one implicit transaction, so the local settings hold for the
        statement and are gone after it. When this returns, the statement is committed.

        Args:
            sql: The statement, as a text or as an `Across`.
            parameters: Its parameters. `tenant_id` is added to parameters that have names.
            named: False returns plain tuples: for many rows, as it saves half a microsecond for each, and for columns
                without names.
            ad_hoc: The statement was built for this call. It is not kept prepared, it is planned for its values, and
                Postgres lets it write nothing.

        Raises:
            Unavailable: Postgres does not answer.
            Overloaded: no connection is free.
            DeadlineExceeded: the statement took longer than the time that the call has left.
            StorageFull: Postgres has no room left.
            PermissionDenied: a written row is outside of the bounds, or the statement is `Across` users and the caller
                is no administrator.
            psycopg.IntegrityError: a constraint was violated; the store translates the error.
        """
        statement, policy_settings = (
            (sql, self._policy_settings) if isinstance(sql, str) else (sql.sql, self._policy_settings_across(sql))
        )
        settings = self._settings(_SET_LOCAL_AD_HOC if ad_hoc else _SET_LOCAL, policy_settings)
        named_parameters = _of_tenant(parameters, self.tenant_id)

        # One attempt: `_once_more` repeats it after a deadlock, or if the tenant has moved.
        async def run() -> list[Row]:
            async with self._lend() as connection:
                try:
                    async with connection.pipeline():
                        await connection.execute(settings, {**policy_settings, **self._values()})
                        cursor = await execute(connection, statement, named_parameters, named=named, prepare=not ad_hoc)
                except psycopg.DatabaseError as error:
                    # The settings failed, so Postgres never saw the statement. But psycopg may believe that it is
                    # prepared. So let psycopg forget all prepared statements; `DEALLOCATE ALL` does so only once.
                    if error.sqlstate == NOT_HERE:
                        connection._prepared.clear()
                    raise
                # Fetch after the pipeline: a fetch inside it would wait once for the rows and once for the commit.
                return await fetched(cursor)

        with tracing.span("postgres query", **_TRACED_AS):
            return await self._once_more(run)

    async def transaction(self, work: Callable[[Transaction], Awaitable[_T]], *, across: Across | None = None) -> _T:
        """Run `work` in one transaction, and commit when it returns.

        After a deadlock or a serialisation failure, `work` runs again, at most twice. So its only effects must be those
        of its statements.

        Args:
            work: Gets the transaction and runs its statements.
            across: All statements of the transaction see the contexts and users that this one may see.

        Raises:
            The errors of `work`, after a rollback, and the errors of `query`.
        """
        return await self._in_transaction(work, across=across)

    async def snapshot(self, work: Callable[[Transaction], Awaitable[_T]], *, across: Across | None = None) -> _T:
        """Run `work`, whose statements write nothing and see all rows as they are at one moment; see `transaction`.

        Postgres cannot free the space of removed rows until `work` returns, so it should be short.
        """
        return await self._in_transaction(work, first=_SNAPSHOT, across=across)

    async def _in_transaction(
        self, work: Callable[[Transaction], Awaitable[_T]], *, first: bytes = b"", across: Across | None = None
    ) -> _T:
        """Run `work` in a transaction with the settings of row-level security, again after a deadlock."""
        policy_settings = self._policy_settings_across(across) if across else self._policy_settings
        settings = self._settings(_SET_LOCAL_OF_SEVERAL, policy_settings)

        async def run() -> _T:
            async with self._lend() as connection, connection.transaction():
                if first:
                    await connection.execute(first)
                await connection.execute(settings, {**policy_settings, **self._values()})
                return await work(Transaction(connection, self.tenant_id, bounds=self.bounds, tenant=self))

        with tracing.span("postgres transaction", **_TRACED_AS):
            return await self._once_more(run)

    async def _once_more(self, run: Callable[[], Awaitable[_T]]) -> _T:
        """Return the result of `run`; repeat it after a deadlock and, in its new database, if the tenant has moved."""
        try:
            return await _once_more(run)
        except TenantMoving:
            if self._residence is None:
                raise
            self._residence.look_again(self.tenant_id)
        return await _once_more(run)

    def _values(self) -> dict[str, str]:
        """Return the parameters of the settings: the tenant, and the statement's timeout in milliseconds."""
        timeout_s = answer_s(min(remaining_s(), ANSWER_TIMEOUT_MAX_S))
        return {"tenant_id": str(self.tenant_id), "timeout": str(max(1, int(timeout_s * 1000)))}

    def _settings(self, settings: str, policy_settings: Mapping[str, str]) -> bytes:
        """Return the statement that sets the settings of a transaction; settings with empty values are left out."""
        names = tuple([name for name, value in policy_settings.items() if value])
        return _beginning(settings, names, asks=self._residence is not None, gives_way=self._gives_way)

    def _policy_settings_across(self, statement: Across) -> dict[str, str]:
        """Return the settings of row-level security for a statement that sees several contexts or users.

        Raises:
            PermissionDenied: the statement sees all users' rows, and the caller is not an administrator.
        """
        if statement.subjects and not self._sees_all_subjects:
            raise PermissionDenied("the key lacks the scope admin", scope="admin")
        sees_all = statement.subjects or (statement.administrators and self._sees_all_subjects)
        wider = {"context": _ALL} if statement.contexts else {}
        return self._policy_settings | wider | ({"subject": _ALL} if sees_all else {})


class Transaction:
    """Statements of one transaction, of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID, *, bounds: str, tenant: Tenant) -> None:
        self._connection = connection
        self._tenant = tenant
        self.tenant_id = tenant_id
        self.bounds = bounds

    @property
    def is_at_home(self) -> bool:
        """Say whether the transaction is in the home database, where the keys are."""
        return self._connection.is_home

    async def query_home(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one statement in the home database, where the keys are, and return its rows.

        If this transaction is in the home database, the statement is a part of it. Otherwise the statement runs in a
        transaction of its own, of the same tenant and with the same bounds. That one is committed when this returns,
        even if this transaction fails later.
        """
        if self.is_at_home:
            return await self.query(sql, parameters)
        return await self._tenant.at_home().query(sql, parameters)

    async def turn_to(self, context_id: UUID) -> None:
        """Show the rows of another context from here on, as the `Tenant` of that context does."""
        await self.query(_TURN_TO, (str(context_id),))

    async def query(self, sql: str, parameters: Parameters = (), *, named: bool = True) -> list[Row]:
        """Run one statement and return its rows; for `named`, see `Tenant.query`."""
        named_parameters = _of_tenant(parameters, self.tenant_id)
        return await fetched(await execute(self._connection, sql, named_parameters, named=named))


def _of_tenant(parameters: Parameters, tenant_id: UUID) -> Parameters:
    """Return the parameters of a statement, with `tenant_id` unless they are given by position."""
    if isinstance(parameters, Mapping) or not parameters:
        return {"tenant_id": tenant_id, **dict(parameters)}
    return parameters


@lru_cache(maxsize=256)
def _beginning(settings: str, names: tuple[str, ...], *, asks: bool, gives_way: bool) -> bytes:
    """Return the statement that sets the settings of a transaction.

    Args:
        settings: `_SET_LOCAL` or a variant of it.
        names: Names of further settings, from `_MORE`.
        asks: Let the database check that the tenant lives in it.
        gives_way: Set the timeout for locks.
    """
    more = "".join([_MORE[name] for name in names]) + (f", {GIVING_WAY}" if gives_way else "")
    return f"{settings.format(tenant=_TENANT_WHO_LIVES_HERE if asks else _TENANT)}{more}".encode()


async def _once_more(run: Callable[[], Awaitable[_T]]) -> _T:
    """Return the result of `run`; repeat it if Postgres rolled it back in favour of another transaction.

    If many transactions lock the same rows in different orders, one of them may lose twice. So the second wait is
    longer: until then most of the others have ended.
    """
    for wait_s in (AGAIN_AFTER_S, 10 * AGAIN_AFTER_S):
        try:
            return await run()
        except Aborted as error:
            if not isinstance(error.__cause__, pg.SerializationFailure | pg.DeadlockDetected):
                raise
        await asyncio.sleep(wait_s)
    return await run()
