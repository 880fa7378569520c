"""The protocol that a package implements so that its texts are embedded (`rules.vectors`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from context_service.kernel.embedding import Embedding
from service_runtime.postgres import Tenant, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class TextVector:
    """A vector, with the hash of its text."""

    embedding: Embedding
    text_sha256: bytes


class TextOwners(Protocol):
    """Reads the texts of things of one kind, such as records, and stores their vectors.

    All vectors of one owner are made and stored together.
    """

    topic: str  # the topic of the outbox (the work queue in Postgres) whose rows have the ids of owners

    async def texts(self, tenant: Tenant, ids: Sequence[UUID]) -> Mapping[UUID, Sequence[str]]:
        """Return the texts of owners that still exist, by their ids."""

    async def lock(self, transaction: Transaction, owner_id: UUID) -> bool:
        """Lock an owner until the transaction ends; return False if it is gone."""

    async def put(self, transaction: Transaction, owner_id: UUID, vectors: Sequence[TextVector]) -> None:
        """Replace the vectors of a locked owner by those of all its texts, in their order."""

    async def tell(self, transaction: Transaction, owner_id: UUID, error: str, *, failed: bool) -> None:
        """Store the error with a locked owner; `failed` says that a retry would not help."""
