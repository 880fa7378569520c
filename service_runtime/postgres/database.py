"""The database, as all code but this package knows it: one, or many with each tenant in one of them.

Then a tenant's statements go where it lives (`directory.py`). No other code has to know which database that is: keys,
and all rows without a tenant, are in the home database, and work over all tenants leaves out those of a database that
does not answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from uuid import UUID

from contextkeep.errors import ContextKeepError, Unavailable
from service_runtime.postgres.connection import Configure, Connection, Row
from service_runtime.postgres.directory import HOME, Directory
from service_runtime.postgres.errors import unavailable
from service_runtime.postgres.pool import Pool
from service_runtime.postgres.statements import Parameters
from service_runtime.postgres.tenant import ANSWER_TIMEOUT_MAX_S, Lend, Residence, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.telemetry.metrics import Metrics

_log = logging.getLogger("postgres")

_TENANTS_AT_ONCE = 1_000
_OPERATORS_TIMEOUT_S = 5.0  # seconds for one database in a command over all of them: one that hangs delays no other
_TENANTS = "SELECT id, database FROM access.tenant ORDER BY id"
_TENANTS_AMONG = "SELECT id, database FROM access.tenant WHERE id = ANY (%s) ORDER BY id"
_ELSEWHERE = "SELECT EXISTS (SELECT FROM access.tenant WHERE database IS NOT NULL) AS elsewhere"
_OLD_COPY = """
SELECT coalesce((SELECT name FROM access.this_database), '') AS name
FROM access.residence WHERE tenant_id = %s AND state = 'GONE' AND cleaned_at IS NULL
"""


class Database:
    """The home database and the others; made by `Database.open`.

    Args:
        home: The home database. It has the keys, the list of tenants, and those tenants who live in no other database.
        others: The other databases, by their names.
    """

    def __init__(self, home: Pool, others: Mapping[str, Pool]) -> None:
        self._home = home
        self._pools = {HOME: home, **others}
        self._others = others
        self._directory = Directory(home)
        self._residence = Residence(look_again=self._directory.forget, lend_home=home.connection)
        self._are_many = bool(others)  # if there is one, nothing is looked up, and nothing is checked

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        connections_max: int,
        name: str,
        others: Mapping[str, str] | None = None,
        configure: Configure | None = None,
        prepared_statements: bool = True,
    ) -> AsyncIterator[Database]:
        """Open the pools, and close them on exit; see `Pool.open`.

        Args:
            url: `postgresql://` URL of the home database, as the services' role.
            connections_max: Connections to each database at most, besides one for health.
            name: Shown in `pg_stat_activity`; with `-health` the one for health.
            others: URLs of other databases by their names.
            configure: Prepares each new connection, such as its adapters; nothing that lives in the session.
            prepared_statements: Prepare statements that come again. They live in the session, after all: a pooler
                that hands connections on must know of them.

        Raises:
            UnsafeRole: row-level security would not hold for the role.
        """
        opening = partial(
            Pool.open,
            connections_max=connections_max,
            name=name,
            configure=configure,
            prepared_statements=prepared_statements,
        )
        async with AsyncExitStack() as stack:
            home = await stack.enter_async_context(opening(url))
            pools = {
                named: await stack.enter_async_context(opening(other, is_home=False))
                for named, other in (others or {}).items()
            }
            yield cls(home, pools)

    def show(self, metrics: Metrics) -> None:
        """Let metrics read the pools, of all databases together; and of each other one, whether it answers."""
        for name, key, meaning in (
            ("contextkeep_postgres_connections", "pool_size", "Connections to Postgres"),
            ("contextkeep_postgres_connections_idle", "pool_available", "Idle connections to Postgres"),
            ("contextkeep_postgres_waiting", "requests_waiting", "Calls that wait for a connection"),
        ):
            metrics.watch(name, meaning, partial(self._figure, key))
        if self._others:
            metrics.watch_each(
                "contextkeep_database_answers",
                "1: the database answers; 0: its tenants are out",
                {named: partial(_answers, pool) for named, pool in self._others.items()},
                label="database",
            )

    def _figure(self, key: str) -> int:
        return sum(pool.figure(key) for pool in self._pools.values())

    def of(self, principal: Principal, *, context_id: UUID | None = None) -> Tenant:
        """Return the rows of a tenant that a principal may see, as something that runs statements: for all calls.

        Args:
            principal: The caller: its bounds limit the rows, and rows of other users are hidden. If the request may
                name a user, pass the result of `Principal.acting_for`.
            context_id: The context whose rows are visible. None hides all rows of contexts.
        """
        tenant_id = principal.tenant_id
        return Tenant(
            self._lending(tenant_id),
            tenant_id,
            bounds=principal.bounds,
            subject=f"={principal.user_id}",
            context=str(context_id or ""),
            sees_all_subjects=principal.sees_all_users,
            residence=self._residence if self._are_many else None,
        )

    def tenant(self, tenant_id: UUID) -> Tenant:
        """Return the rows of one tenant, for background work.

        Rows of contexts or users are visible to statements `Across` them only. A statement that waits at a lock for
        longer than `LOCK_TIMEOUT_S` fails with `Unavailable`.
        """
        return Tenant(
            self._lending(tenant_id),
            tenant_id,
            sees_all_subjects=True,
            gives_way=True,
            residence=self._residence if self._are_many else None,
        )

    @property
    def names(self) -> list[str]:
        """Names of all databases, the home first."""
        return list(self._pools)

    def operating(self, principal: Principal, name: str) -> Tenant:
        """Return one database, for functions of operators over all tenants.

        The home database checks the key itself. The others have no keys and trust the given id, as they trust the id of
        a tenant: so call a function of the home database first.

        Raises:
            Unavailable: it did not answer its last health check, or is unknown.
        """
        if name == HOME:
            return self.of(principal).at_home()
        pool = self._pools.get(name)
        if pool is None:
            raise _not_named(name)
        if not pool.answers:
            raise unavailable()
        lend = partial(pool.connection, timeout_s=_OPERATORS_TIMEOUT_S)
        return Tenant(lend, principal.tenant_id, operator=str(principal.key_id or ""))

    async def untenanted(
        self, sql: str, parameters: Parameters = (), *, timeout_s: float = ANSWER_TIMEOUT_MAX_S
    ) -> list[Row]:
        """Run one statement on tables of the home database that have no tenant, in a transaction of its own.

        Raises:
            Unavailable: Postgres does not answer, or another transaction holds a lock that the statement needs.
        """
        return await self._home.untenanted(sql, parameters, timeout_s=timeout_s)

    async def everywhere(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one statement on tables without a tenant in each database, and return all rows.

        A database that does not answer is left out, if it is not the home.

        Raises:
            Unavailable: the home database does not answer, or another transaction holds a lock there.
        """

        async def other(named: str, pool: Pool) -> list[Row]:
            try:
                return await pool.untenanted(sql, parameters) if pool.answers else []
            except Unavailable as error:
                _log.warning("database skipped", extra={"database": named, "error": str(error)})
                return []

        rows = await self._home.untenanted(sql, parameters)
        for more in await asyncio.gather(*(other(named, pool) for named, pool in self._others.items())):
            rows += more
        return rows

    async def old_copies(self, tenant_id: UUID) -> list[str]:
        """Return the databases that a tenant has moved away from and that still have its rows, by name.

        One that does not answer is left out, if it is not the home.

        Raises:
            Unavailable: the home database does not answer.
        """
        if not self._others:
            return []
        return sorted(row.name or "home" for row in await self.everywhere(_OLD_COPY, (tenant_id,)))

    async def tenants(self, *, reachable: bool = False, among: Sequence[UUID] | None = None) -> list[Tenant]:
        """Return all tenants for background work, in the order of their ids.

        Args:
            reachable: Leave out those of a database that did not answer when it was last checked, or had a problem.
            among: Leave out all others than these.

        Raises:
            Unavailable: the home database does not answer.
        """
        if among is None:
            rows = await self._home.untenanted(_TENANTS)
        else:
            rows = await self._home.untenanted(_TENANTS_AMONG, (list(among),)) if among else []
        tenants = []
        for number, row in enumerate(rows):
            if number % _TENANTS_AT_ONCE == 0:
                await asyncio.sleep(0)  # ten thousand take a tenth of a second: others have their turn
            named = self._directory.remember(row.id, row.database)
            if not reachable or ((pool := self._pools.get(named)) is not None and pool.answers):
                tenants.append(self.tenant(row.id))
        return tenants

    async def healthy(
        self, sql: str, *, problem: Callable[[str, Sequence[Row]], ContextKeepError | None]
    ) -> Mapping[str, ContextKeepError | None]:
        """Run the statement of a health check in each database; it does not wait for the connections of calls.

        Until the next check, no tenant is served from another database that does not answer or has a problem.

        Args:
            sql: The statement of the check.
            problem: Returns the problem of a database, from its name and its answer, or None if there is none.

        Returns:
            The problem of each of the other databases, by its name, or None.

        Raises:
            Unavailable: the home database does not answer.
            ContextKeepError: the problem of the home database.
        """
        pools = list(self._pools.items())
        answers = await asyncio.gather(*(pool.healthy(sql) for _, pool in pools), return_exceptions=True)
        problems: dict[str, ContextKeepError | None] = {}
        for (named, pool), answer in zip(pools, answers, strict=True):
            wrong = answer if isinstance(answer, BaseException) else problem(named, answer)
            if wrong is not None and not isinstance(wrong, ContextKeepError):
                raise wrong
            pool.answers = wrong is None or named == HOME
            problems[named] = wrong
        if at_home := problems.pop(HOME):
            raise at_home
        return problems

    @property
    def away(self) -> tuple[str, ...]:
        """The databases that serve no tenant since their last check: `tenants(reachable=True)` leaves them out."""
        return tuple(named for named, pool in self._pools.items() if not pool.answers)

    async def notice_others(self) -> None:
        """Find out whether other databases exist although the settings name none; then refuse tenants that live there.

        Raises:
            Unavailable: the home database does not answer.
        """
        if not self._are_many:
            (row,) = await self._home.healthy(_ELSEWHERE)
            if row.elsewhere:
                _log.error("tenants live in other databases, and DATABASE_URLS names none: they are refused")
                self._are_many = True

    def _lending(self, tenant_id: UUID) -> Lend:
        return partial(self._lend, tenant_id) if self._are_many else self._home.connection

    def _lend(self, tenant_id: UUID) -> AbstractAsyncContextManager[Connection]:
        """Lend a connection to the database where a tenant lives; a known place needs no look-up."""
        named = self._directory.known(tenant_id)
        if named is None or (pool := self._pools.get(named)) is None or not (pool.answers or named == HOME):
            return self._look_and_lend(tenant_id)
        return pool.connection()

    @asynccontextmanager
    async def _look_and_lend(self, tenant_id: UUID) -> AsyncIterator[Connection]:
        """Look up the database where a tenant lives, and lend a connection to it.

        Raises:
            Unavailable: the database does not answer, or this process does not know it.
        """
        named = await self._directory.database_of(tenant_id)
        pool = self._pools.get(named)
        if pool is None:
            raise _not_named(named)
        if not pool.answers and named != HOME:
            raise unavailable()  # at once: health finds out when it answers again
        async with pool.connection() as connection:
            yield connection


def _not_named(name: str) -> Unavailable:
    return Unavailable(f"the tenant's database, {name}, is not in DATABASE_URLS of this process", dependency="postgres")


def _answers(pool: Pool) -> float:
    return float(pool.answers)
