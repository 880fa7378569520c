"""The sources of passages, with which the index is compared, and from which it can be rebuilt.

The index is a view. The writer of passages of one kind describes with these values which scopes there are and which
passages each must have; `Verifying` needs nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID, uuid5

from context_service.retrieval.model import Audience, Passage, PassageScope
from service_runtime.postgres import Across, Row, Tenant, Transaction

_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedScope:
    """A scope that has an owner, such as the context whose messages are found in it."""

    scope: PassageScope
    owner_user_id: str  # empty if it belongs to no user


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedText:
    """An indexed text, such as a message, with its passages as they should be."""

    seq: int
    audience: Audience
    passages: Sequence[Passage]  # by `ordinal`
    is_gone: bool = False  # its passages are removed; their neighbours keep their places


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The scopes of one kind that have an owner.

    Each statement has the parameters `tenant_id` and `scope_of_tenant`, the id of the only scope of a tenant.
    """

    scope_of: Callable[[UUID], PassageScope]  # by its id
    count: str | Across  # how many there are
    page: str | Across  # id and user of each after `behind`, `count` of them; only the scope `only`, unless it is null
    owned: str | Across  # ids of those of `ids` that have an owner, or one whose passages are being removed
    lock: Callable[[Transaction, PassageScope], Awaitable[object]]  # lets no other transaction write to the scope


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageFeed:
    """Makes the passages of one kind of scope from their texts, as their writer does, to verify or rebuild them."""

    scope_kind: str
    kinds: frozenset[str]  # of its passages; no other source of this kind of scope has one of them
    owners: Owners
    # Rows of a scope in the order of their `seq`, after `behind`; those of one `seq` are an origin. Further parameters:
    # `tenant_id`, `scope_id`, `scope_kind`, and those of `limits`.
    rows: str
    limits: Mapping[str, object]
    origin: Callable[[PassageScope, Sequence[Row]], Awaitable[IndexedText]]
    has_header: bool = False  # a scope with an owner gives one row at least, without a `seq` if there is nothing else
    says: bool = False  # its passages are neighbours, and their sessions come one after another: of one source

    async def count(self, tenant: Tenant) -> int:
        """Return how many scopes of a tenant have an owner."""
        ((count,),) = await tenant.query(self.owners.count, self._parameters(tenant))
        return int(count)

    async def scopes(self, tenant: Tenant, *, after: UUID, count: int) -> list[OwnedScope]:
        """Return scopes that have an owner, sorted by id, at most `count`."""
        named = {**self._parameters(tenant), "after": after, "only": None, "count": count}
        return self._owned(await tenant.query(self.owners.page, named))

    async def scope(self, tenant: Tenant, scope_id: UUID) -> OwnedScope | None:
        """Return a scope, or None if it has no owner."""
        named = {**self._parameters(tenant), "after": _FIRST, "only": scope_id, "count": 1}
        return next(iter(self._owned(await tenant.query(self.owners.page, named))), None)

    async def owned(self, tenant: Tenant, scope_ids: Collection[UUID]) -> set[UUID]:
        """Return the scopes that have an owner; an owner counts while it and its passages are being removed."""
        rows = await tenant.query(self.owners.owned, {**self._parameters(tenant), "ids": list(scope_ids)})
        return {scope_id for (scope_id,) in rows}

    async def lock(self, transaction: Transaction, scope: PassageScope) -> None:
        """Lock a scope against other writers until the transaction ends."""
        await self.owners.lock(transaction, scope)

    async def origins(self, transaction: Transaction, scope: PassageScope, *, after: int) -> list[IndexedText] | None:
        """Return the next texts after a `seq`, in order; an empty list at the end; None if the owner is gone."""
        scoped = {"scope_id": scope.id, "scope_kind": scope.kind}
        rows = await transaction.query(self.rows, {**scoped, **self.limits, "after": after})
        if self.has_header and not rows:
            return None
        by_seq = groupby(rows, key=lambda row: row.seq)
        return [await self.origin(scope, list(together)) for seq, together in by_seq if seq is not None]

    def _parameters(self, tenant: Tenant) -> dict[str, object]:
        return {"tenant_id": tenant.tenant_id, "scope_of_tenant": uuid5(tenant.tenant_id, self.scope_kind)}

    def _owned(self, rows: Sequence[Row]) -> list[OwnedScope]:
        return [OwnedScope(scope=self.owners.scope_of(scope_id), owner_user_id=user) for scope_id, user in rows]
