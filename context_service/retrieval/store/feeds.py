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
    # Whether the text was removed. It has no passages in the index then, but it still takes its places in the session,
    # so that the passages before and after it do not become neighbours.
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The scopes of one kind that have an owner.

    Each statement has the parameters `tenant_id` and `scope_of_tenant`, the id of the only scope of a tenant.
    """

    scope_of: Callable[[UUID], PassageScope]  # returns the scope with an id
    count: str | Across  # the statement that counts the scopes
    # The statement that reads the id and the user of scopes, in the order of their ids: `count` scopes after the id
    # `after`, or only the scope `only` if that is not null.
    page: str | Across
    # The statement that returns those of `ids` that have an owner. An owner counts until its passages are removed.
    owned: str | Across
    lock: Callable[[Transaction, PassageScope], Awaitable[object]]  # keeps other transactions from writing to a scope


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageFeed:
    """Makes the passages of one kind of scope from their texts, as their writer does, to verify or rebuild them."""

    scope_kind: str
    kinds: frozenset[str]  # the kinds of its passages; no other feed of this kind of scope makes passages of them
    owners: Owners
    # The statement that reads the rows of a scope after the `seq` in `after`, in the order of their `seq`. The rows of
    # one `seq` make up one text. Its other parameters are `tenant_id`, `scope_id`, `scope_kind`, and `limits`.
    rows: str
    limits: Mapping[str, object]
    origin: Callable[[PassageScope, Sequence[Row]], Awaitable[IndexedText]]  # makes a text of its rows
    # Whether `rows` returns at least one row for each scope that has an owner: one without a `seq` if it has no text.
    has_header: bool = False
    # Whether its passages were spoken, so that they have neighbours, and sessions follow each other. At most one feed
    # of a kind of scope does.
    says: bool = False

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
