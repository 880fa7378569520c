"""Where passages come from: what the index is compared with, and made of anew.

The index is a view. Who writes passages of one kind of scope knows what they are made of, and says it here as a source;
`Indexing` needs no more of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from context_service.retrieval.passages import Audience, Passage, Scope
from service_runtime.postgres import Tenant, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedScope:
    """A scope that has an owner, such as the context whose messages are found in it."""

    scope: Scope
    owner_user_id: str  # empty: nobody's in particular


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What passages were cut out of, such as a message, and what they are cut to now."""

    seq: int
    audience: Audience
    passages: Sequence[Passage]  # by `ordinal`
    is_gone: bool = False  # its passages are removed; what was said beside them keeps its place


class Source(Protocol):
    """What writes passages of some kinds into one kind of scope."""

    scope_kind: str
    kinds: frozenset[str]  # of its passages; no other source of this kind of scope has one of them
    says: bool  # its passages are neighbours of each other, and their sessions come one after another: of one source

    async def count(self, tenant: Tenant) -> int:
        """Return how many scopes of a tenant have an owner."""

    async def scopes(self, tenant: Tenant, *, behind: UUID, count: int) -> list[OwnedScope]:
        """Return scopes that have an owner, by their ids, `count` at most."""

    async def scope(self, tenant: Tenant, scope_id: UUID) -> OwnedScope | None:
        """Return one of them; None: it has no owner."""

    async def owned(self, tenant: Tenant, scope_ids: Collection[UUID]) -> set[UUID]:
        """Return which scopes have an owner, or one that is being removed, and its passages with it."""

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """Let nobody write to a scope until the transaction ends."""

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """Return what comes behind a `seq`, in its order: a page, and none at the end. None: the owner is gone."""
