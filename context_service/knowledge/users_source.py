"""Sources of the index whose scopes are users': which there are, and whose. What stands in a scope each says itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from context_service.retrieval.passages import Scope
from context_service.retrieval.sources import OwnedScope
from service_runtime.postgres import Across, Row, Tenant

_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """Of the scopes that users have: how many there are, a page of them, and which of several have an owner."""

    count: Across
    scopes: Across
    owned: Across


def statements(table: str, *, what: str) -> Statements:
    """Return those of a table with `tenant_id`, `scope_id` and `owner_user_id`.

    Args:
        table: One of ours.
        what: Is in it, for the reason.
    """
    why = f"an operator compares the index of all {what} with what they say: it reads whose there are"

    def across(sql: str) -> Across:
        return Across(sql=sql, subjects=True, why=why)

    return Statements(
        count=across(f"SELECT count(DISTINCT scope_id) AS users FROM {table} WHERE tenant_id = %s"),  # noqa: S608
        scopes=across(f"""
            SELECT DISTINCT scope_id, owner_user_id
            FROM {table}
            WHERE tenant_id = %(tenant_id)s AND scope_id > %(behind)s
                AND (%(only)s::uuid IS NULL OR scope_id = %(only)s)
            ORDER BY scope_id
            LIMIT %(count)s
        """),  # noqa: S608
        owned=across(f"SELECT DISTINCT scope_id FROM {table} WHERE tenant_id = %s AND scope_id = ANY (%s)"),  # noqa: S608
    )


class UsersSource:
    """What is found of what users have.

    Args:
        count_tokens: Counts the tokens of a text, as where it is written.
    """

    scope_kind: str
    says = False
    _statements: ClassVar[Statements]

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens

    async def count(self, tenant: Tenant) -> int:
        """See `Source`."""
        (row,) = await tenant.query(self._statements.count, (tenant.tenant_id,))
        return int(row.users)

    async def scopes(self, tenant: Tenant, *, behind: UUID, count: int) -> list[OwnedScope]:
        """See `Source`."""
        named = {"tenant_id": tenant.tenant_id, "behind": behind, "only": None, "count": count}
        return [self._owned(tenant, row) for row in await tenant.query(self._statements.scopes, named)]

    async def scope(self, tenant: Tenant, scope_id: UUID) -> OwnedScope | None:
        """See `Source`."""
        named = {"tenant_id": tenant.tenant_id, "behind": _FIRST, "only": scope_id, "count": 1}
        rows = await tenant.query(self._statements.scopes, named)
        return self._owned(tenant, rows[0]) if rows else None

    async def owned(self, tenant: Tenant, scope_ids: Collection[UUID]) -> set[UUID]:
        """See `Source`."""
        rows = await tenant.query(self._statements.owned, (tenant.tenant_id, list(scope_ids)))
        return {row.scope_id for row in rows}

    def _owned(self, tenant: Tenant, row: Row) -> OwnedScope:
        scope = Scope.of_user(self.scope_kind, tenant.tenant_id, row.owner_user_id)
        return OwnedScope(scope=scope, owner_user_id=row.owner_user_id)
