"""Stores the files of messages, artifacts and tasks: the interface that working memory implements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol
from uuid import UUID

from context_service.kernel.parts import Part
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal

# Called in the transaction that writes the messages, after their context exists.
Store = Callable[[Transaction], Awaitable[None]]
# Where the bytes of files come from, and their known facts; only the implementation reads this value.
FileSources = Mapping[Any, Any]


class MessageFiles(Protocol):
    """Stores the files of messages; `ContextFiles` of working memory explains the methods."""

    async def sources_of(self, parts: Sequence[Part], *, principal: Principal) -> FileSources:
        """Return the source of each file; raises RecordNotFound for a record that the caller does not see."""
        ...

    def with_files(self, parts: Sequence[Part], sources: FileSources) -> tuple[Part, ...]:
        """Return parts in which a part that names a file of a context, or an upload for a message, is a file."""
        ...

    def hashed(self, parts: Sequence[Part], sources: FileSources) -> tuple[Part, ...]:
        """Return parts with the hash of its bytes for each file that the context owns."""
        ...

    def placed(
        self, parts: Sequence[Part], context_id: UUID, sources: FileSources, *, tenant_id: UUID
    ) -> tuple[Part, ...]:
        """Return parts as they are stored in a context: each file has its record, and none has bytes."""
        ...

    async def remove(self, transaction: Transaction, record_ids: Sequence[UUID], *, principal: Principal) -> None:
        """Delete files of a context that nothing names any more."""
        ...

    def stored(
        self, context_id: UUID, parts: Iterable[Part], sources: FileSources, *, principal: Principal
    ) -> AbstractAsyncContextManager[Store | None]:
        """Write the bytes that a context lacks, and yield a function that makes them its files in a transaction."""
        ...


@asynccontextmanager
async def stored_parts(
    files: MessageFiles, context_id: UUID, parts: Sequence[Part], *, principal: Principal
) -> AsyncIterator[tuple[tuple[Part, ...], Store | None]]:
    """Yield parts as they are stored in a context, and what stores their files; see `MessageFiles.stored`.

    Raises:
        RecordNotFound: a part names a record that the caller does not see.
        LimitExceeded: the tenant has no room for the files.
    """
    sources = await files.sources_of(parts, principal=principal)
    if not sources:
        yield tuple(parts), None
        return
    parts = files.with_files(parts, sources)
    placed = files.placed(parts, context_id, sources, tenant_id=principal.tenant_id)
    async with files.stored(context_id, parts, sources, principal=principal) as store:
        yield placed, store
