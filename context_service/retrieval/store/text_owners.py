"""What a room implements so that its texts get vectors (`rules.vectors`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from context_service.kernel.llm.embeddings import Embedding
from service_runtime.postgres import Tenant, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class TextVector:
    """A vector that was made here, and of which text."""

    embedding: Embedding
    text_sha256: bytes


class TextOwners(Protocol):
    """Things of one kind that have texts: what they do for their vectors. Those of one are made and stored together."""

    topic: str  # of the outbox, where their ids are

    async def texts(self, tenant: Tenant, ids: Sequence[UUID]) -> Mapping[UUID, Sequence[str]]:
        """Return the texts of those that are still there."""

    async def lock(self, transaction: Transaction, owner_id: UUID) -> bool:
        """Lock one until the transaction ends; False if it is gone."""

    async def put(self, transaction: Transaction, owner_id: UUID, vectors: Sequence[TextVector]) -> None:
        """Store the vectors of all texts of a locked one, in their order, instead of those it has."""

    async def tell(self, transaction: Transaction, owner_id: UUID, error: str, *, failed: bool) -> None:
        """Let a locked one say what went wrong, and with `failed` that it may stay so."""
