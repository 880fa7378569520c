"""Catalogs: the named things of a tenant that its administrators write, such as specialists, one row each.

A `Table` describes the rows of a kind of thing and builds the statements; a `Catalog` runs them. The fields of a thing,
the rule that decides who may read it, and further rows that are written with it stay in the thing's own module.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from contextkeep.errors import NotFound, PermissionDenied
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests

T = TypeVar("T")
D = TypeVar("D")

_IMPORTED = "t.imported::text AS imported_json"


@dataclass(frozen=True, kw_only=True)
class Table:
    """The table of one kind of thing, and its statements. In SQL expressions, the row is `t`.

    Expressions may use the parameters of `_caller`: the tenant and the bounds of the caller.
    """

    name: str  # "context.specialist"
    key: str  # the column with the name of the thing
    columns: Sequence[str]  # written by each put
    unread: Sequence[str] = ()  # written by each put, but not read with the thing: secrets
    first: Sequence[str] = ()  # written only by the first put of a name
    kind: Mapping[str, bool] = field(default_factory=dict)  # columns that tell two kinds in one table apart
    also: Sequence[str] = ()  # expressions that are read with the thing
    also_of_one: Sequence[str] = ()  # expressions that are read with one thing, and not with a page of them
    also_set: str = ""  # a change of a further column, by the second put and each later one
    seen: str = "true"  # condition for rows that a caller sees; other rows look as if they did not exist
    listed: str = "true"  # condition for the rows of a page, with the parameters of the list

    @property
    def _read(self) -> str:
        written = [f"t.{column}" for column in (self.key, *self.first, *self.columns)]
        return ", ".join([*written, *self.also, "t.version, t.created_at, t.updated_at, t.updated_by", _IMPORTED])

    @property
    def _of_tenant(self) -> str:
        return " AND ".join(["t.tenant_id = %(tenant_id)s", *(f"t.{column} = %({column})s" for column in self.kind)])

    @cached_property
    def put(self) -> str:
        """The statement that inserts a thing, or replaces it."""
        each = [*self.columns, *self.unread, "updated_by"]
        key = ["tenant_id", *self.kind, self.key]
        columns = [*key, *self.first, *each]
        changes = [f"{column} = EXCLUDED.{column}" for column in each]
        # A put replaces the whole thing, so the note of an import that wrote it is removed, too.
        changes += [*([self.also_set] if self.also_set else []), "updated_at = now()", "version = t.version + 1"]
        changes.append("imported = NULL")
        return f"""
            INSERT INTO {self.name} AS t ({", ".join(columns)})
            VALUES ({", ".join(f"%({column})s" for column in columns)})
            ON CONFLICT ({", ".join(key)}) DO UPDATE SET {", ".join(changes)}
            RETURNING {self._read}
        """  # noqa: S608 - constants

    @cached_property
    def read(self) -> str:
        """The statement that reads a thing that the caller sees."""
        return f"""
            SELECT {", ".join([self._read, *self.also_of_one])} FROM {self.name} t
            WHERE {self._of_tenant} AND t.{self.key} = %(name)s AND {self.seen}
        """  # noqa: S608

    @cached_property
    def read_all(self) -> str:
        """The statement that reads the things with some names that the caller sees, in the order of the names."""
        return f"""
            SELECT {self._read} FROM {self.name} t
            WHERE {self._of_tenant} AND t.{self.key} = ANY (%(names)s) AND {self.seen}
            ORDER BY array_position(%(names)s::text[], t.{self.key}::text)
        """  # noqa: S608

    @cached_property
    def lock(self) -> str:
        """The statement that reads a thing that the caller sees, and locks it until the transaction ends."""
        return f"{self.read} FOR UPDATE OF t"

    @cached_property
    def page(self) -> str:
        """The statement that reads a page of things: those that the caller sees, in the order of their names."""
        return f"""
            SELECT {self._read} FROM {self.name} t
            WHERE {self._of_tenant} AND t.{self.key} COLLATE "C" > %(after)s AND {self.seen} AND {self.listed}
            ORDER BY t.{self.key} COLLATE "C"
            LIMIT %(count)s
        """  # noqa: S608

    @cached_property
    def count(self) -> str:
        """The statement that counts the things of a tenant."""
        return f"SELECT count(*) AS things FROM {self.name} t WHERE {self._of_tenant}"  # noqa: S608

    @cached_property
    def counting(self) -> str:
        """The statement of the lock with which one transaction of a tenant at a time counts its things."""
        return f"SELECT pg_advisory_xact_lock(hashtextextended('{self.name} ' || %(tenant_id)s::text, 0))"

    @cached_property
    def delete(self) -> str:
        """The statement that removes a thing."""
        return f"""
            DELETE FROM {self.name} t WHERE {self._of_tenant} AND t.{self.key} = %(name)s RETURNING t.{self.key}
        """  # noqa: S608


class Catalog(Generic[T]):
    """Reads and writes the things of one kind; each call acts for its principal.

    Args:
        database: The database that holds the things.
        table: The statements for this kind of thing.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        of_row: Returns the thing of a row.
        not_found: Returns the error for a name that the caller does not see.
        check_count: Raises an error if a tenant has more things than it may.

    Attributes:
        changes: Counts the writes of this process, so that a cache of the things knows when it is old.
    """

    def __init__(
        self,
        database: Database,
        table: Table,
        *,
        requests: Requests,
        of_row: Callable[[Row], T],
        not_found: Callable[[str], NotFound],
        check_count: Callable[[int], None],
    ) -> None:
        self._database = database
        self._table = table
        self._requests = requests
        self._of_row = of_row
        self._not_found = not_found
        self._check_count = check_count
        self.changes = 0

    async def write(
        self, work: Callable[[Transaction], Awaitable[D]], *, principal: Principal, request: Request | None
    ) -> D:
        """Run a write of things in one transaction; a repeated request gets the answer of the first call."""
        try:
            return await self._database.of(principal).transaction(self._requests.once(request, work))
        finally:  # also after a commit whose answer was lost
            self.changes += 1

    async def put(self, name: str, values: Mapping[str, object], *, principal: Principal, request: Request | None) -> T:
        """Insert a thing, or replace it, and return it.

        Raises:
            The error of `check_count`: the tenant has too many things of this kind.
            RequestIdReused: the request id was used before, for another request.
        """

        async def work(transaction: Transaction) -> T:
            return await self.put_in(transaction, name, values, by=principal.subject)

        return await self.write(work, principal=principal, request=request)

    async def put_in(self, transaction: Transaction, name: str, values: Mapping[str, object], *, by: str) -> T:
        """Insert or replace a thing within a transaction of `write`; see `put`."""
        tenant = {**self._table.kind}
        (row,) = await transaction.query(self._table.put, {**tenant, self._table.key: name, "updated_by": by, **values})
        if row.version == 1:
            # Count after writing the own row: the last transaction to count then sees the rows of all others.
            await transaction.query(self._table.counting, tenant)
            self._check_count((await transaction.query(self._table.count, tenant))[0].things)
        return self._of_row(row)

    async def find(self, name: str, *, principal: Principal) -> T | None:
        """Return a thing, or None if the caller sees no thing with this name."""
        rows = await self._database.of(principal).query(self._table.read, {**self._caller(principal), "name": name})
        return self._of_row(rows[0]) if rows else None

    async def find_all(self, names: Sequence[str], *, principal: Principal) -> list[T]:
        """Return the things with these names that the caller sees, in the order of the names."""
        rows = await self._database.of(principal).query(
            self._table.read_all, {**self._caller(principal), "names": list(names)}
        )
        return [self._of_row(row) for row in rows]

    async def get(self, name: str, *, principal: Principal) -> T:
        """Return a thing.

        Raises:
            The error of `not_found`: the caller sees no thing with this name.
        """
        thing = await self.find(name, principal=principal)
        if thing is None:
            raise self._not_found(name)
        return thing

    async def lock(self, transaction: Transaction, name: str, *, principal: Principal) -> T:
        """Return a thing and lock it until the transaction ends; raise the same errors as `get`."""
        rows = await transaction.query(self._table.lock, {**self._caller(principal), "name": name})
        if not rows:
            raise self._not_found(name)
        return self._of_row(rows[0])

    async def page(
        self,
        page: pages.PageRequest,
        *,
        query: Sequence[object],
        principal: Principal,
        conditions: Mapping[str, object] | None = None,
    ) -> tuple[list[T], str]:
        """Return a page of the things that the caller sees, by name, and the token of the next one.

        Args:
            page: The requested page size and page token.
            query: The parameters of the list; a page token is only valid with the same ones.
            principal: The caller; its tenant and bounds limit the rows.
            conditions: The parameters of the condition `Table.listed`, if the table has one.

        Raises:
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        (after,) = pages.decode_texts(query, page.token, parts=1)
        count = pages.page_size(page.size)
        rows, token = pages.cut(query, await self._rows(principal, after, count + 1, conditions), count, key=self._key)
        return [self._of_row(row) for row in rows], token

    async def first(self, count: int, *, principal: Principal) -> list[T]:
        """Return the first things that the caller sees, by name."""
        return [self._of_row(row) for row in await self._rows(principal, "", count, None)]

    async def delete(self, name: str, *, principal: Principal, request: Request | None) -> None:
        """Remove a thing.

        Raises:
            The error of `not_found`: the caller sees none of this name.
            RequestIdReused: the request id was used before, for another request.
        """

        async def work(transaction: Transaction) -> None:
            await self.delete_in(transaction, name)

        await self.write(work, principal=principal, request=request)

    async def delete_in(self, transaction: Transaction, name: str) -> None:
        """Remove a thing within a transaction of `write`; see `delete`."""
        parameters = {**self._table.kind, "name": name}
        if not await transaction.query(self._table.delete, parameters):
            raise self._not_found(name)

    async def _rows(
        self, principal: Principal, after: str, count: int, conditions: Mapping[str, object] | None
    ) -> list[Row]:
        """Return the things of a page: those that the caller sees, by name, after the name `after`."""
        parameters = {**self._caller(principal), **(conditions or {}), "after": after, "count": count}
        return await self._database.of(principal).query(self._table.page, parameters)

    def _key(self, row: Row) -> Sequence[object]:
        return (getattr(row, self._table.key),)

    def _caller(self, principal: Principal) -> dict[str, Any]:
        """Return the parameters about the caller, which expressions of a `Table` may use."""
        return {
            "tenant_id": principal.tenant_id,
            **self._table.kind,
            "is_admin": "admin" in principal.scopes,
            "by_agent": principal.agent_id,
            "by_user": principal.user_id,
            "by_subject": principal.subject,
        }


def check_unbound(principal: Principal, things: str) -> None:
    """Refuse writes of the whole tenant's things to a key with bounds: a delete would reveal which things exist.

    Raises:
        PermissionDenied: the key has bounds.
    """
    if principal.bounds:
        raise PermissionDenied(f"{things} belong to the whole tenant; use a key without bounds")
