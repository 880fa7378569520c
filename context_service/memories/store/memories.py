"""The SQL of memories.

The memories of one subject form a chain: each names the next newer one, which supersedes it. So adding or removing a
memory changes one other row, no matter how long the chain is. Contradictions and the ends of superseded memories are
not stored: they follow from the subject and from the successor. No statement returns an expired memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

import orjson
from psycopg.types.json import Jsonb

from context_service.memories.model import (
    CONTRADICTIONS_MAX,
    Experience,
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryRevision,
    MemorySource,
    MemoryState,
    NewMemory,
)
from context_service.retrieval.model import MEMORY, PassageScope
from service_runtime.inputs.documents import beside_the_loop, check_wanted
from service_runtime.inputs.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Across, Row, Tenant, Transaction
from service_runtime.statements.requests import ERASED
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied, fields_of

SEQ_MAX = 2**63 - 1
VERSION_MAX = 2**31 - 1
_ROW_BYTES = 200  # reading a row takes as long as parsing this many bytes
_READING = 2  # reading a byte of sources takes this many times as long as parsing it

SQL = SqlFile.of(__file__, contradictions_max=CONTRADICTIONS_MAX, erased=ERASED, memory=MEMORY)
_TURN = SQL["turn"]
_INSERT = SQL["insert"]
_LINK = SQL["link"]
_UNLINK = SQL["unlink"]
_UPDATE = SQL["update"]
_KEEP_REVISION = SQL["keep_revision"]
_COUNT_REVISIONS = SQL["count_revisions"]
_REVISIONS = SQL["revisions"]
_JOIN = SQL["join"]
_DELETE = SQL["delete"]
_READ = SQL["read"]
_AT = SQL["at"]
_LIST = SQL["list"]
_SEQS = SQL["seqs"]
_SAME = SQL["same"]
_SET_SUBJECT = SQL["set_subject"]
_REFUSE = SQL["refuse"]
_IS_REFUSED = SQL["is_refused"]
_EXPIRED = SQL["expired"]
_USERS_WITH_EXPIRED = Across(
    sql=SQL["users_with_expired"], subjects=True, why="expired memories of all users are deleted in the background"
)
_DUPLICATES = SQL["duplicates"]
_OF_RUNS = SQL["of_runs"]
_OBSERVED = SQL["observed"]
_FORGET_ANSWERS = SQL["forget_answers"]


def scope_of(tenant_id: UUID, user_id: str) -> PassageScope:
    """Return the scope in which a user's memories are searched."""
    return PassageScope.of_user(MEMORY, tenant_id, user_id)


class MemoryRows:
    """The stored memories of users.

    Args:
        model: The name of the embedder's model; empty if there is none, and then no vectors are queued.
    """

    def __init__(self, *, model: str) -> None:
        self._model = model

    async def take_turn(self, transaction: Transaction, whose: Mapping[str, object], *, more: int) -> int:
        """Lock a user's group of memories, waiting for other writers; return the number of memories in it."""
        scope_id = scope_of(transaction.tenant_id, str(whose["owner_user_id"])).id
        parameters = {**whose, "scope_id": scope_id, "more": more}
        (row,) = await transaction.query(_TURN, parameters)
        return int(row.memory_count)

    async def insert(self, transaction: Transaction, new_memory: NewMemory) -> tuple[int, datetime]:
        """Insert a memory under the lock of its group; return its `seq` and the time when it happened."""
        named = _parameters(transaction, new_memory)
        (row,) = await transaction.query(_INSERT, named)
        if new_memory.subject:
            await transaction.query(_LINK, {**named, "placed_at": row.placed_at, "seq": row.seq})
        return row.seq, row.happened_at

    async def set_subject(self, transaction: Transaction, memory: Memory, subject: str) -> None:
        """Give a subject to a memory that has none, under the lock of its group."""
        named = {
            "tenant_id": transaction.tenant_id,
            "owner_user_id": memory.owner_user_id,
            "app_id": memory.app_id,
            "agent_bundle_id": memory.agent_bundle_id,
            "memory_id": memory.memory_id,
            "subject": subject,
            "placed_at": memory.placed_at,
            "seq": memory.seq,
        }
        await transaction.query(_SET_SUBJECT, named)
        await transaction.query(_LINK, named)

    async def refuse(self, transaction: Transaction, group: Mapping[str, object], statement_sha256: bytes) -> None:
        """Remember a statement that must not be learned again, under the lock of its group."""
        named = {"tenant_id": transaction.tenant_id, **group, "statement_sha256": statement_sha256}
        await transaction.query(_REFUSE, named)

    async def is_refused(self, transaction: Transaction, group: Mapping[str, object], statement_sha256: bytes) -> bool:
        """Return whether a statement must not be learned again, under the lock of its group."""
        named = {"tenant_id": transaction.tenant_id, **group, "statement_sha256": statement_sha256}
        return bool(await transaction.query(_IS_REFUSED, named))

    async def same(self, transaction: Transaction, new_memory: NewMemory) -> list[Memory]:
        """Return memories that may state the same as a new one, under the lock of their group, the newest first."""
        parameters = {
            **self._of(transaction, new_memory.owner_user_id),
            **_parameters(transaction, new_memory),
            "placed_at": new_memory.placed_at or new_memory.happened_at,
        }
        return await self._memories(await transaction.query(_SAME, parameters))

    async def update(self, transaction: Transaction, seq: int, new_memory: NewMemory, *, updated_by: str) -> None:
        """Replace a memory under the lock of its group, and keep its values before as a revision."""
        parameters = {**_parameters(transaction, new_memory), "seq": seq, "updated_by": updated_by}
        await transaction.query(_KEEP_REVISION, parameters)
        await transaction.query(_UNLINK, parameters)
        await transaction.query(_UPDATE, parameters)
        if new_memory.subject:
            await transaction.query(_LINK, parameters)

    async def count_revisions(self, transaction: Transaction, memory_id: UUID) -> int:
        """Return the number of revisions of a memory."""
        (row,) = await transaction.query(_COUNT_REVISIONS, {"memory_id": memory_id, "tenant_id": transaction.tenant_id})
        return int(row.revisions)

    async def revisions(
        self, connection: Tenant, memory_id: UUID, *, before: int | None, count: int
    ) -> list[MemoryRevision]:
        """Return up to `count` revisions of a memory with a version below `before`, newest first."""
        parameters = {
            "tenant_id": connection.tenant_id,
            "memory_id": memory_id,
            "before": VERSION_MAX if before is None else before,
            "count": count,
        }
        return list(map(_revision, await connection.query(_REVISIONS, parameters)))

    async def users_with_expired(self, tenant: Tenant, *, count: int) -> list[str]:
        """Return the owners of the `count` memories of the tenant that expired first."""
        rows = await tenant.query(_USERS_WITH_EXPIRED, {"tenant_id": tenant.tenant_id, "count": count})
        return [row.owner_user_id for row in rows]

    async def expired(self, transaction: Transaction, user_id: str, *, count: int) -> list[Row]:
        """Return the ids and groups of up to `count` expired memories of a user, those of one group together."""
        parameters = {"tenant_id": transaction.tenant_id, "owner_user_id": user_id, "count": count}
        return await transaction.query(_EXPIRED, parameters)

    async def join(
        self,
        transaction: Transaction,
        memory_id: UUID,
        *,
        sources: Sequence[MemorySource],
        confidence: float,
        is_learned: bool,
        tags: Sequence[str] | None = None,
        metadata_json: str | None = None,
    ) -> None:
        """Let a memory stand for others that say the same, under the lock of their group; its passages stay."""
        parameters = {
            "sources": _json(sources),
            "confidence": confidence,
            "is_learned": is_learned,
            "tags": None if tags is None else list(tags),
            "metadata": metadata_json,
            "memory_id": memory_id,
        }
        await transaction.query(_JOIN, {**parameters})

    async def delete(self, transaction: Transaction, memory_id: UUID) -> None:
        """Delete a memory under the lock of its group."""
        parameters = {"memory_id": memory_id}
        await transaction.query(_UNLINK, parameters)
        await transaction.query(_DELETE, parameters)

    async def read(
        self, connection: Tenant | Transaction, user_id: str, memory_ids: Sequence[UUID]
    ) -> dict[UUID, Memory]:
        """Return memories by their ids; those that the caller may not see are left out."""
        parameters = {**self._of(connection, user_id), "memory_ids": list(memory_ids)}
        return {memory.memory_id: memory for memory in await self._memories(await connection.query(_READ, parameters))}

    async def at(self, tenant: Tenant, user_id: str, seqs: Sequence[int]) -> dict[int, Memory]:
        """Return memories by their `seq`; those that are gone are left out."""
        parameters = {**self._of(tenant, user_id), "seqs": list(seqs)}
        return {memory.seq: memory for memory in await self._memories(await tenant.query(_AT, parameters))}

    async def page(
        self, tenant: Tenant, user_id: str, which: MemoryFilter, *, before: int | None, count: int
    ) -> tuple[list[Memory], int | None]:
        """Return a page of memories, the highest `seq` first; if more follow, also the `seq` of the page's last one.

        Args:
            tenant: The connection for the caller's tenant.
            user_id: The user whose memories are listed.
            which: The filter that memories must match.
            before: Only memories with a lower `seq` are returned; None starts at the newest.
            count: The largest number of memories. The page ends earlier at `PAGE_BYTES_MAX`, but has at least one.
        """
        parameters = {
            **self._of(tenant, user_id),
            **_selecting(which),
            "before": SEQ_MAX if before is None else before,
            "count": count + 1,
            "bytes_max": PAGE_BYTES_MAX,
        }
        rows = await tenant.query(_LIST, parameters)
        seqs = [row.seq for row in rows if row.fits][:count]
        there = await self.at(tenant, user_id, seqs)
        return [there[seq] for seq in seqs if seq in there], seqs[-1] if len(seqs) < len(rows) else None

    async def seqs(self, tenant: Tenant, user_id: str, which: MemoryFilter) -> frozenset[int]:
        """Return the `seq` of each memory that a filter selects."""
        rows = await tenant.query(_SEQS, {**self._of(tenant, user_id), **_selecting(which)})
        return frozenset(row.seq for row in rows)

    async def duplicates(self, connection: Tenant | Transaction, user_id: str, *, count: int) -> list[list[UUID]]:
        """Return groups of memories that say the same, the newest of each group first."""
        rows = await connection.query(_DUPLICATES, {**self._of(connection, user_id), "count": count})
        return [list(row.memory_ids) for row in rows]

    async def of_runs(
        self, connection: Tenant | Transaction, user_id: str, runs: Sequence[str], *, count: int
    ) -> list[Memory]:
        """Return the experiences that runs taught, in their order."""
        rows = await connection.query(_OF_RUNS, {**self._of(connection, user_id), "runs": list(runs), "count": count})
        return await self._memories(rows)

    async def observed(
        self, connection: Tenant | Transaction, user_id: str, statements: Sequence[bytes]
    ) -> set[tuple[str, str, bytes]]:
        """Return the statements that are stored as observations: app, agent bundle and statement hash of each."""
        rows = await connection.query(_OBSERVED, {**self._of(connection, user_id), "statements": list(statements)})
        return {(row.app_id, row.agent_bundle_id, bytes(row.statement_sha256)) for row in rows}

    async def forget_answers(self, transaction: Transaction, user_id: str, memory_id: UUID) -> None:
        """Delete the stored answers of calls that contain texts of a memory."""
        scope_id = scope_of(transaction.tenant_id, user_id).id
        await transaction.query(_FORGET_ANSWERS, (transaction.tenant_id, scope_id, str(memory_id)))

    def _of(self, connection: Tenant | Transaction, user_id: str) -> dict[str, object]:
        """Return the parameters that name the memories of a user, and the model of their vectors."""
        return {
            "tenant_id": connection.tenant_id,
            "owner_user_id": user_id,
            "scope_id": scope_of(connection.tenant_id, user_id).id,
            "model": self._model,
        }

    async def _memories(self, rows: Sequence[Row]) -> list[Memory]:
        """Return the memories in rows, in order. If they have many sources, these are parsed off the event loop."""
        size = sum(_ROW_BYTES + _READING * len(row.sources) for row in rows)
        return await beside_the_loop(size, lambda: [self._memory(row) for row in rows])

    def _memory(self, row: Row) -> Memory:
        """Return the memory in a row; raise if the caller has left meanwhile, so that a long list stops."""
        check_wanted()
        return copied(
            Memory,
            row,
            kind=MemoryKind(row.kind),
            sources=_sources(row),
            experience=_experience(row),
            state=self._state(row),
            contradicts=tuple(row.contradicts),
            tags=tuple(row.tags),
        )

    def _state(self, row: Row) -> MemoryState:
        """Say whether the vectors of a memory are made, are still to be made, or could not be made."""
        if self._model and row.made + row.failed < row.passage_count:
            return MemoryState.PENDING
        return MemoryState.FAILED if row.failed else MemoryState.INDEXED


def _sources(row: Row) -> tuple[MemorySource, ...]:
    """Return the sources in a row, newest first."""
    return tuple(MemorySource(**source) for source in orjson.loads(row.sources))


def _experience(row: Row) -> Experience | None:
    """Return the experience in a row; None if the row has none."""
    return copied(Experience, row) if row.goal or row.outcome or row.quality is not None else None


def _revision(row: Row) -> MemoryRevision:
    """Return the revision in a row."""
    return copied(
        MemoryRevision,
        row,
        kind=MemoryKind(row.kind),
        sources=_sources(row),
        experience=_experience(row),
        tags=tuple(row.tags),
    )


def _selecting(which: MemoryFilter) -> dict[str, object]:
    """Return the SQL parameters of a filter."""
    return {
        **fields_of(which),
        "kinds": [kind.value for kind in which.kinds],
        "tags": list(which.tags),
        "metadata_contains": which.metadata_contains_json or "{}",
    }


def _parameters(transaction: Transaction, new_memory: NewMemory) -> dict[str, object]:
    """Return the SQL parameters that write a memory."""
    return {
        **fields_of(new_memory),
        **new_memory.whose,
        "tenant_id": transaction.tenant_id,
        "kind": new_memory.kind.value,
        "goal": new_memory.experience.goal if new_memory.experience else "",
        "outcome": new_memory.experience.outcome if new_memory.experience else "",
        "quality": new_memory.experience.quality if new_memory.experience else None,
        "sources": _json(new_memory.sources),
        "metadata": new_memory.metadata_json or "{}",
        "tags": list(new_memory.tags),
    }


def _json(sources: Sequence[MemorySource]) -> Jsonb:
    return Jsonb([asdict(source) for source in sources])
