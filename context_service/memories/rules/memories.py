"""Memories: statements about a user that are kept, and found, across contexts.

A memory, its passages and the answer of its request are written in one transaction, so that an acknowledged memory is
found. All memories of a user are in one scope, for all apps: row-level security shows each caller its part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import orjson

from context_service.memories.model import (
    SOURCES_MAX,
    Memory,
    MemoryFilter,
    MemoryInput,
    MemoryKind,
    MemoryRevision,
    NewMemory,
)
from context_service.memories.pure.checks import METADATA_BYTES_MAX, TAGS_MAX, check_filter, check_memory
from context_service.memories.pure.subjects import subject_of
from context_service.memories.pure.texts import pieces_of, placed, same_text, statement_of
from context_service.memories.store.memories import VERSION_MAX, MemoryRows, scope_of
from context_service.retrieval.model import Audience
from context_service.retrieval.pure.text_pieces import TextPiece
from context_service.retrieval.room import Passages
from contextkeep.errors import InvalidArgument, MemoryNotFound, VersionConflict
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_stored
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

CHANGEABLE = (
    *("text", "kind", "confidence", "source", "happened_at", "key", "experience", "valid_from", "valid_to"),
    *("expires_at", "metadata_json", "tags"),
)
REVISIONS_MAX = 1_000  # the most corrections of a memory
MEMORIES_MAX = 100_000  # the most memories of a user in one app and agent bundle
_OF_MEMORY = "memory: "  # begins the subject of a memory that another one replaces, if nothing else gives a subject
_CUTTING = 16  # times as long as parsing: words are cut, stemmed and counted


class Memories:
    """Stores memories; each call acts for its principal, which has a user.

    Args:
        database: The database that holds the memories.
        rows: The store of memories.
        passages: The store of passages, which indexes the memories.
        requests: The store of idempotency keys and their answers.
        count: Returns the number of tokens of a text.
    """

    def __init__(
        self,
        database: Database,
        rows: MemoryRows,
        passages: Passages,
        *,
        requests: Requests,
        count: Callable[[str], int],
    ) -> None:
        self._database = database
        self._rows = rows
        self._passages = passages
        self._requests = requests
        self._count = count

    async def retain(self, memory_input: MemoryInput, *, principal: Principal, request: Request | None) -> Memory:
        """Store a memory, and return it; or return the memory that states the same already, with one more source.

        Raises:
            InvalidArgument: a field of the memory is malformed.
            LimitExceeded: a field is too long, or the user has too many memories.
            PermissionDenied: it names an app or an agent bundle that the principal is not bound to.
            RequestIdReused: another request had the same request id.
        """
        check_memory(memory_input)
        memory_input = within_bounds(memory_input, principal)
        kept, found = await self.prepare(memory_input, principal=principal)

        async def work(transaction: Transaction) -> Memory:
            return await self._of_transaction(transaction, await self.keep(transaction, kept, found), principal)

        return await self._database.of(principal).transaction(self._once(request, work, principal))

    async def keep(self, transaction: Transaction, new_memory: NewMemory, pieces: Sequence[TextPiece]) -> UUID:
        """Write a memory, or add its source to the one that states the same; return the id of the stored memory.

        Raises:
            LimitExceeded: the user has too many memories.
        """
        same_id = await self._repeated(transaction, new_memory)
        if same_id is None:
            await self.insert(transaction, new_memory, pieces)
        return same_id or new_memory.memory_id

    async def _repeated(self, transaction: Transaction, new_memory: NewMemory) -> UUID | None:
        """Add the source, tags and metadata of a new memory to the one that states the same, and return its id.

        Experiences are attempts of their own, so they repeat none. If no memory states the same, return None.
        """
        if new_memory.kind is MemoryKind.EXPERIENCE:
            return None
        await self._rows.take_turn(transaction, new_memory.whose, more=0)
        for memory in await self._rows.same(transaction, new_memory):
            if memory.expires_at == new_memory.expires_at and same_text(memory.text, new_memory.text):
                break
        else:
            return None
        new_sources = [source for source in new_memory.sources if source not in memory.sources]
        sources = (*new_sources, *memory.sources)[:SOURCES_MAX]
        tags = tuple(dict.fromkeys((*memory.tags, *new_memory.tags)))
        metadata = {**orjson.loads(memory.metadata_json), **orjson.loads(new_memory.metadata_json or "{}")}
        metadata_json = orjson.dumps(metadata).decode()
        if len(tags) > TAGS_MAX or len(metadata_json.encode()) > METADATA_BYTES_MAX:
            return None
        confidence = max(memory.confidence, new_memory.confidence)
        is_changed = new_sources or tags != tuple(memory.tags) or confidence != memory.confidence
        is_changed = is_changed or memory.is_learned > new_memory.is_learned
        if is_changed or metadata != orjson.loads(memory.metadata_json):
            await self._rows.join(
                transaction,
                memory.memory_id,
                sources=sources,
                confidence=confidence,
                is_learned=new_memory.is_learned,
                tags=tags,
                metadata_json=metadata_json,
            )
        return memory.memory_id

    async def update(
        self,
        memory_id: UUID,
        memory_input: MemoryInput,
        names: Sequence[str],
        *,
        expected_version: int,
        principal: Principal,
        request: Request | None,
    ) -> Memory:
        """Change the fields of a memory that `names` lists, and return the memory.

        Raises:
            MemoryNotFound: the caller has no memory with this id.
            VersionConflict: the memory has another version than `expected_version`, which is not 0.
            InvalidArgument: a field is malformed, or cannot be changed.
            LimitExceeded: a field is too large, or the memory has too many revisions.
            RequestIdReused: another request had the same request id.
        """
        for name in names:
            if name not in CHANGEABLE:
                raise InvalidArgument(f"update_mask names {name[:100]!r}, which cannot be changed", field="update_mask")
        if not names:
            raise InvalidArgument("update_mask must name at least one field", field="update_mask")
        if expected_version < 0:
            raise InvalidArgument(
                f"expected_version must be 0 or more (got {expected_version})", field="expected_version"
            )

        async def work(transaction: Transaction) -> Memory:
            """Lock the memory, check its version, and write it with the changed fields and new passages."""
            memory = await self._in_turn(transaction, memory_id, principal)
            if expected_version not in (0, memory.version):
                raise VersionConflict(
                    f"the memory has version {memory.version}, not the expected {expected_version}; read it again",
                    version=memory.version,
                )
            check_stored(
                "memory revisions", await self._rows.count_revisions(transaction, memory_id) + 1, REVISIONS_MAX
            )
            changed_memory = _with_changes(memory, memory_input, names)
            check_memory(changed_memory)
            new_memory, found = await self.prepare(changed_memory, principal=principal)
            # The creator stays, and so do the sources unless the update names them.
            sources = new_memory.sources if "source" in names else memory.sources
            new_memory = replace(
                new_memory,
                memory_id=memory_id,
                sources=sources,
                created_by=memory.created_by,
                subject=new_memory.subject or (memory.subject if memory.subject.startswith(_OF_MEMORY) else ""),
                placed_at=new_memory.placed_at or new_memory.happened_at,
                valid_from=new_memory.valid_from or new_memory.happened_at,
            )
            await self._rows.update(transaction, memory.seq, new_memory, updated_by=principal.subject)
            if changed_memory.text != memory.text:
                await self._refuse_learned(transaction, memory)
            await self._passages.remove_documents(
                transaction, scope_of(transaction.tenant_id, principal.user_id), [memory.seq]
            )
            await self._put_passages(
                transaction,
                new_memory,
                found,
                seq=memory.seq,
                happened_at=changed_memory.happened_at or memory.happened_at,
            )
            return await self._of_transaction(transaction, memory_id, principal)

        return await self._database.of(principal).transaction(self._once(request, work, principal))

    async def forget(self, memory_id: UUID, *, principal: Principal, request: Request | None) -> None:
        """Delete a memory with its passages and stored answers. If it was learned, it is not learned again.

        Raises:
            MemoryNotFound: the caller has no memory with this id.
            RequestIdReused: another request had the same request id.
        """

        async def work(transaction: Transaction) -> Memory:
            memory = await self._in_turn(transaction, memory_id, principal)
            await self.remove(transaction, memory)
            await self._refuse_learned(transaction, memory)
            return memory

        await self._database.of(principal).transaction(self._once(request, work, principal))

    async def keep_learned(
        self,
        transaction: Transaction,
        new_memory: NewMemory,
        pieces: Sequence[TextPiece],
        *,
        replaces: UUID | None = None,
    ) -> None:
        """Write a learned memory as `keep` does, unless its user has refused the statement.

        Args:
            transaction: The transaction that writes it.
            new_memory: The memory.
            pieces: The passages that index it.
            replaces: A memory of the same group that it supersedes.

        Raises:
            LimitExceeded: the user has too many memories.
        """
        await self._rows.take_turn(transaction, new_memory.whose, more=0)
        if await self._rows.is_refused(transaction, new_memory.whose, new_memory.statement_sha256):
            return
        if replaces:
            new_memory = await self._superseding(transaction, new_memory, replaces)
        await self.keep(transaction, new_memory, pieces)

    async def _superseding(self, transaction: Transaction, new_memory: NewMemory, memory_id: UUID) -> NewMemory:
        """Return a new memory with the subject of another one, which it supersedes if it is stated later.

        A memory without a subject gets one. The new memory is unchanged if the other one is gone.
        """
        old = (await self._rows.read(transaction, new_memory.owner_user_id, [memory_id])).get(memory_id)
        if old is None or whose(old) != new_memory.whose or same_text(old.text, new_memory.text):
            return new_memory
        subject = old.subject or new_memory.subject or f"{_OF_MEMORY}{memory_id}"
        if not old.subject:
            await self._rows.set_subject(transaction, old, subject)
        return replace(new_memory, subject=subject)

    async def drop_sources(
        self, memory_id: UUID, context_id: str, refs: Collection[str], *, principal: Principal
    ) -> None:
        """Remove sources of a memory; without any other source, the memory is deleted. It may be gone already."""

        async def work(transaction: Transaction) -> None:
            memory = await self._in_turn(transaction, memory_id, principal)
            kept = [source for source in memory.sources if source.context_id != context_id or source.ref not in refs]
            if not kept:
                await self.remove(transaction, memory)
                return
            await self._rows.join(
                transaction, memory_id, sources=kept, confidence=memory.confidence, is_learned=memory.is_learned
            )

        try:
            await self._database.of(principal).transaction(work)
        except MemoryNotFound:
            return

    async def _refuse_learned(self, transaction: Transaction, memory: Memory) -> None:
        """Remember the statement of a learned memory as refused."""
        if memory.is_learned:
            statement = statement_of(memory.text, memory.experience)
            await self._rows.refuse(transaction, whose(memory), statement)

    async def page(
        self, which: MemoryFilter, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[list[Memory], str]:
        """Return a page of memories, the last retained first, and the token of the next page.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        check_filter(which)
        kinds = sorted(kind.value for kind in which.kinds)
        query = (
            *("ListMemories", principal.tenant_id, principal.user_id, kinds, which.key, which.holding_only),
            *(which.happened_from, which.happened_to, which.as_of, sorted(which.tags), which.metadata_contains_json),
        )
        before = pages.decode_number(query, page.token)
        count = pages.page_size(page.size)
        tenant = self._database.of(principal)
        found, last = await self._rows.page(tenant, principal.user_id, which, before=before, count=count)
        return found, "" if last is None else pages.encode_token(query, (last,))

    async def revisions(
        self, memory_id: UUID, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[Sequence[MemoryRevision], str]:
        """Return a page of the earlier values of a memory, newest first, and the token of the next page.

        Raises:
            MemoryNotFound: the caller has no memory with this id.
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        query = ("ListMemoryRevisions", principal.tenant_id, principal.user_id, str(memory_id))
        before = pages.decode_number(query, page.token, number_max=VERSION_MAX)
        count = pages.page_size(page.size)
        tenant = self._database.of(principal)
        if memory_id not in await self._rows.read(tenant, principal.user_id, [memory_id]):
            raise not_found(memory_id)
        found = await self._rows.revisions(tenant, memory_id, before=before, count=count + 1)
        return pages.cut(query, found, count, key=lambda revision: (revision.version,))

    async def prepare(
        self, memory_input: MemoryInput, *, principal: Principal
    ) -> tuple[NewMemory, Sequence[TextPiece]]:
        """Return a new memory of the principal's user, ready to be written, and the passages that index it.

        Raises:
            InvalidArgument: the memory ends before it begins.
        """
        said_at = memory_input.happened_at or memory_input.valid_from
        subject, named_from = subject_of(memory_input, said_at=said_at or datetime.now(UTC))
        valid_from = memory_input.valid_from or named_from or said_at
        if memory_input.valid_to and memory_input.valid_to <= (valid_from or datetime.now(UTC)):
            raise InvalidArgument(
                "memory.valid_to must be after valid_from, which is now if the memory has no other time",
                field="memory.valid_to",
            )
        size = len(memory_input.text) + (
            len(memory_input.experience.goal) + len(memory_input.experience.outcome) if memory_input.experience else 0
        )
        pieces = await beside_the_loop(
            _CUTTING * size, pieces_of, memory_input.text, memory_input.key, memory_input.experience, count=self._count
        )
        new_memory = copied(
            NewMemory,
            memory_input,
            memory_id=new_id(),
            sources=[memory_input.source] if memory_input.source else [],
            happened_at=said_at,
            subject=subject,
            placed_at=memory_input.valid_from or said_at,
            valid_from=valid_from,
            ends_at=memory_input.valid_to,
            statement_sha256=statement_of(memory_input.text, memory_input.experience),
            passage_count=len(pieces),
            owner_user_id=principal.user_id,
            created_by=principal.subject,
        )
        return new_memory, pieces

    async def insert(self, transaction: Transaction, new_memory: NewMemory, pieces: Sequence[TextPiece]) -> None:
        """Write a memory with its passages.

        Raises:
            LimitExceeded: the user has too many memories.
        """
        count = await self._rows.take_turn(transaction, new_memory.whose, more=1)
        check_stored("memories", count, MEMORIES_MAX)
        seq, happened_at = await self._rows.insert(transaction, new_memory)
        await self._put_passages(transaction, new_memory, pieces, seq=seq, happened_at=happened_at)

    async def delete_expired(self, principal: Principal, *, count: int) -> int:
        """Delete up to `count` expired memories of the principal's user, of one group; return how many."""

        async def work(transaction: Transaction) -> int:
            first = await self._rows.expired(transaction, principal.user_id, count=1)
            if not first:
                return 0
            group = whose(first[0])
            # Read again under the lock, because another replica may have deleted them meanwhile.
            await self._rows.take_turn(transaction, group, more=0)
            rows = await self._rows.expired(transaction, principal.user_id, count=count)
            expired = [row for row in rows if whose(row) == group]
            for row in expired:
                await self._remove(transaction, row.memory_id, row.seq, group)
            return len(expired)

        return await self._database.of(principal).transaction(work)

    async def remove(self, transaction: Transaction, memory: Memory) -> None:
        """Delete a memory with its passages, under the lock of its group."""
        await self._remove(transaction, memory.memory_id, memory.seq, whose(memory))

    async def _remove(self, transaction: Transaction, memory_id: UUID, seq: int, group: Mapping[str, object]) -> None:
        user_id = str(group["owner_user_id"])
        await self._rows.take_turn(transaction, group, more=-1)
        await self._rows.delete(transaction, memory_id)
        await self._rows.forget_answers(transaction, user_id, memory_id)
        await self._passages.remove_documents(transaction, scope_of(transaction.tenant_id, user_id), [seq])

    async def _put_passages(
        self,
        transaction: Transaction,
        new_memory: NewMemory,
        pieces: Sequence[TextPiece],
        *,
        seq: int,
        happened_at: datetime,
    ) -> None:
        """Write the passages (chunks of the text) by which searches find a memory."""
        await self._passages.put(
            transaction,
            scope_of(transaction.tenant_id, new_memory.owner_user_id),
            Audience(
                owner_user_id=new_memory.owner_user_id,
                app_id=new_memory.app_id,
                agent_bundle_id=new_memory.agent_bundle_id,
            ),
            placed(pieces, seq=seq, kind=new_memory.kind, happened_at=happened_at),
        )

    async def _in_turn(self, transaction: Transaction, memory_id: UUID, principal: Principal) -> Memory:
        """Lock the group of a memory until the transaction ends, and return the memory.

        Raises:
            MemoryNotFound: the caller has no memory with this id.
        """
        # Read the memory twice: first to know which group to lock, and again under the lock, because it may be deleted
        # meanwhile.
        before = await self._of_transaction(transaction, memory_id, principal)
        await self._rows.take_turn(transaction, whose(before), more=0)
        return await self._of_transaction(transaction, memory_id, principal)

    async def _of_transaction(self, transaction: Transaction, memory_id: UUID, principal: Principal) -> Memory:
        """Read a memory in a transaction.

        Raises:
            MemoryNotFound: the user has no such memory.
        """
        found = (await self._rows.read(transaction, principal.user_id, [memory_id])).get(memory_id)
        if found is None:
            raise not_found(memory_id)
        return found

    def _once(
        self, request: Request | None, work: Callable[[Transaction], Awaitable[Memory]], principal: Principal
    ) -> Callable[[Transaction], Awaitable[Memory]]:
        """Return a write of a memory that runs once for an idempotency key.

        Its stored answer is deleted together with the user's memories.
        """
        return self._requests.once(
            request,
            work,
            about_id=scope_of(principal.tenant_id, principal.user_id).id,
            values=lambda memory: {"memory_id": str(memory.memory_id)},
        )


def not_found(memory_id: UUID) -> MemoryNotFound:
    """Return the error for a memory that does not exist or is not the caller's; both look the same."""
    return MemoryNotFound(f"memory {memory_id} does not exist", memory_id=memory_id)


def within_bounds(memory_input: MemoryInput, principal: Principal) -> MemoryInput:
    """Return a new memory; where it names no app or agent bundle, fill in those of the principal.

    Raises:
        PermissionDenied: the memory is outside the bounds of the principal, or the key is bound to a context or
            graphs.
    """
    memory_input = replace(
        memory_input,
        app_id=memory_input.app_id or principal.app_default,
        agent_bundle_id=memory_input.agent_bundle_id or principal.agent_bundle_id,
    )
    principal.check_bounds(graph_name="", agent_bundle_id=memory_input.agent_bundle_id, app_id=memory_input.app_id)
    return memory_input


def whose(memory: Memory | Row) -> Mapping[str, object]:
    """Return the group of memories to which a memory belongs. Writes to a group take turns."""
    return {
        "owner_user_id": memory.owner_user_id,
        "app_id": memory.app_id,
        "agent_bundle_id": memory.agent_bundle_id,
    }


def _with_changes(memory: Memory, memory_input: MemoryInput, names: Sequence[str]) -> MemoryInput:
    """Return a memory with new values for some fields.

    An unset `happened_at` stays. An unset `valid_from` follows from the text and from `happened_at`. An unset end or
    expiry removes it. The source is only in the result if the update names it; the caller keeps the memory's sources.
    """
    kind = memory_input.kind if "kind" in names else memory.kind
    experience = memory_input.experience if "experience" in names else memory.experience
    if kind is not MemoryKind.EXPERIENCE and "experience" not in names:
        experience = None  # it is no experience any more
    return MemoryInput(
        text=memory_input.text if "text" in names else memory.text,
        kind=kind,
        confidence=memory_input.confidence if "confidence" in names else memory.confidence,
        source=memory_input.source if "source" in names else None,
        happened_at=(memory_input.happened_at if "happened_at" in names else None) or memory.happened_at,
        key=memory_input.key if "key" in names else memory.key,
        experience=experience,
        app_id=memory.app_id,
        agent_bundle_id=memory.agent_bundle_id,
        valid_from=memory_input.valid_from if "valid_from" in names else _stated_start(memory),
        valid_to=memory_input.valid_to if "valid_to" in names else memory.ends_at,
        expires_at=memory_input.expires_at if "expires_at" in names else memory.expires_at,
        metadata_json=memory_input.metadata_json if "metadata_json" in names else memory.metadata_json,
        tags=memory_input.tags if "tags" in names else memory.tags,
        is_learned=memory.is_learned,
    )


def _stated_start(memory: Memory) -> datetime | None:
    """Return `valid_from` if a caller stated it; None if it follows from the text or from `happened_at`."""
    return memory.valid_from if memory.placed_at == memory.valid_from != memory.happened_at else None
