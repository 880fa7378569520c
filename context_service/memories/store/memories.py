"""The SQL of memories.

Of those of one key each names the next newer one, which supersedes it: a chain, so that what comes and goes changes one
other row, however long it is. What contradicts what is not stored: it is read off the key.
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
    MemorySource,
    MemoryState,
    NewMemory,
)
from context_service.retrieval.model import MEMORY, Scope
from service_runtime.copying import copied, fields_of
from service_runtime.documents import beside_the_loop, check_wanted
from service_runtime.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Row, Tenant, Transaction
from service_runtime.requests import ERASED

SEQ_MAX = 2**63 - 1
_ROW_BYTES = 200  # as long to read as so many bytes to parse
_READING = 2  # times as long as parsing: a source is made of what is parsed

# The row is the lock: who else writes memories of the user, the app and the agent bundle waits here.
_TURN = """
INSERT INTO context.memory_user AS u (
    tenant_id, scope_id, owner_user_id, app_id, agent_bundle_id, memory_count
)
VALUES (%(tenant_id)s, %(scope_id)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, greatest(%(more)s, 0))
ON CONFLICT (tenant_id, owner_user_id, app_id, agent_bundle_id) DO UPDATE
    SET memory_count = greatest(u.memory_count + %(more)s, 0)
RETURNING memory_count
"""
_INSERT = """
INSERT INTO context.memory (
    tenant_id, memory_id, happened_at, confidence, passage_count, quality, owner_user_id, app_id, agent_bundle_id,
    created_by, kind, key, text, goal, outcome, sources, statement_sha256
)
VALUES (
    %(tenant_id)s, %(memory_id)s, coalesce(%(happened_at)s::timestamptz, now()), %(confidence)s, %(passage_count)s,
    %(quality)s, %(owner_user_id)s, %(app_id)s, %(agent_bundle_id)s, %(created_by)s, %(kind)s, %(key)s, %(text)s,
    %(goal)s, %(outcome)s, %(sources)s, %(statement_sha256)s
)
RETURNING seq, happened_at
"""

_OF_KEY = """
    tenant_id = %(tenant_id)s AND owner_user_id = %(owner_user_id)s AND app_id = %(app_id)s
        AND agent_bundle_id = %(agent_bundle_id)s AND key = %(key)s AND key <> ''
"""
_LINK = f"""
WITH newer AS (
    SELECT memory_id FROM context.memory
    WHERE {_OF_KEY} AND (happened_at, seq) > (%(happened_at)s, %(seq)s)
    ORDER BY happened_at, seq
    LIMIT 1
), older AS (
    SELECT memory_id FROM context.memory
    WHERE {_OF_KEY} AND (happened_at, seq) < (%(happened_at)s, %(seq)s)
    ORDER BY happened_at DESC, seq DESC
    LIMIT 1
)
UPDATE context.memory
SET superseded_by = CASE
    WHEN memory_id = %(memory_id)s THEN (SELECT memory_id FROM newer)
    ELSE %(memory_id)s
END
WHERE tenant_id = %(tenant_id)s
    AND memory_id = ANY (ARRAY(SELECT %(memory_id)s::uuid UNION ALL SELECT memory_id FROM older))
"""  # noqa: S608

# Whoever it superseded is superseded by the next one of the key.
_UNLINK = """
UPDATE context.memory m SET superseded_by = x.superseded_by
FROM context.memory x
WHERE x.tenant_id = %(tenant_id)s AND x.memory_id = %(memory_id)s
    AND m.tenant_id = %(tenant_id)s AND m.owner_user_id = x.owner_user_id AND m.app_id = x.app_id
    AND m.agent_bundle_id = x.agent_bundle_id AND m.key = x.key AND m.key <> '' AND m.superseded_by = x.memory_id
"""
_UPDATE = """
UPDATE context.memory
SET happened_at = %(happened_at)s, confidence = %(confidence)s, passage_count = %(passage_count)s,
    quality = %(quality)s, kind = %(kind)s, key = %(key)s, text = %(text)s, goal = %(goal)s, outcome = %(outcome)s,
    sources = %(sources)s, statement_sha256 = %(statement_sha256)s, superseded_by = NULL, version = version + 1,
    updated_at = now()
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
"""
_JOIN = """
UPDATE context.memory
SET sources = %(sources)s, confidence = %(confidence)s, version = version + 1, updated_at = now()
WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s
"""
_DELETE = "DELETE FROM context.memory WHERE tenant_id = %(tenant_id)s AND memory_id = %(memory_id)s"

_COLUMNS = """
    m.memory_id, m.seq, m.happened_at, m.created_at, m.updated_at, m.superseded_by, m.confidence, m.version,
    m.passage_count, m.quality, m.owner_user_id, m.app_id, m.agent_bundle_id, m.created_by, m.kind, m.key, m.text,
    m.goal, m.outcome
"""


def _told(which: str) -> str:
    """Return a statement that reads memories `m` with what is told of each besides; `which` ones, and in what order."""
    return f"""
SELECT {_COLUMNS}, m.sources, m.imported_json, coalesce(c.memory_ids, '{{}}') AS contradicts, v.made, v.failed
FROM (
    SELECT {_COLUMNS}, m.tenant_id, m.statement_sha256, m.sources::text AS sources,
        m.imported::text AS imported_json
    FROM context.memory m
    WHERE m.tenant_id = %(tenant_id)s AND {which}
) m
    LEFT JOIN LATERAL (
        SELECT array_agg(o.memory_id ORDER BY o.happened_at DESC, o.seq DESC) AS memory_ids
        FROM (
            SELECT o.memory_id, o.happened_at, o.seq
            FROM context.memory o
            WHERE o.tenant_id = m.tenant_id AND o.owner_user_id = m.owner_user_id AND o.app_id = m.app_id
                AND o.agent_bundle_id = m.agent_bundle_id AND o.key = m.key AND o.key <> ''
                AND o.statement_sha256 <> m.statement_sha256
            ORDER BY o.happened_at DESC, o.seq DESC
            LIMIT {CONTRADICTIONS_MAX}
        ) o
    ) c ON m.key <> ''
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE v.error = '') AS made, count(*) FILTER (WHERE v.error <> '') AS failed
        FROM context.passage_vector v
        WHERE v.tenant_id = m.tenant_id AND v.scope_id = %(scope_id)s AND v.scope_kind = '{MEMORY}' AND v.seq = m.seq
            AND v.model = %(model)s
    ) v
"""  # noqa: S608


_READ = _told("m.memory_id = ANY (%(memory_ids)s)")
_AT = _told("m.owner_user_id = %(owner_user_id)s AND m.seq = ANY (%(seqs)s)")
# What a page holds: as many as fit, and one at least. The last row says whether more follow.
_LIST = """
SELECT seq, upto <= %(bytes_max)s OR place = 1 AS fits
FROM (
    SELECT seq, sum(size_bytes) OVER w AS upto, row_number() OVER w AS place
    FROM (
        SELECT m.seq, octet_length(m.text) + octet_length(m.goal) + octet_length(m.outcome)
            + octet_length(m.sources::text) AS size_bytes
        FROM context.memory m
        WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s AND m.seq < %(before)s
        AND (%(kinds)s::text[] = '{}' OR m.kind = ANY (%(kinds)s::text[]))
        AND (%(key)s = '' OR m.key = %(key)s)
        AND (NOT %(holding_only)s OR m.superseded_by IS NULL)
        AND (%(happened_from)s::timestamptz IS NULL OR m.happened_at >= %(happened_from)s::timestamptz)
        AND (%(happened_to)s::timestamptz IS NULL OR m.happened_at < %(happened_to)s::timestamptz)
        ORDER BY m.seq DESC
        LIMIT %(count)s
    ) m
    WINDOW w AS (ORDER BY seq DESC)
) m
ORDER BY seq DESC
"""

# Of a key only where nothing else was said in between: what was so, was not so, and is so again is no duplicate.
_DUPLICATES = """
SELECT g.memory_ids
FROM (
    SELECT m.app_id, m.agent_bundle_id, m.key, m.statement_sha256, min(m.seq) AS seq,
        min(m.happened_at) AS happened_from, max(m.happened_at) AS happened_to,
        array_agg(m.memory_id ORDER BY m.happened_at DESC, m.seq DESC) AS memory_ids
    FROM context.memory m
    WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s
    GROUP BY m.app_id, m.agent_bundle_id, m.kind, m.key, m.statement_sha256
    HAVING count(*) > 1
) g
WHERE NOT EXISTS (
    SELECT FROM context.memory o
    WHERE o.tenant_id = %(tenant_id)s AND o.owner_user_id = %(owner_user_id)s AND o.app_id = g.app_id
        AND o.agent_bundle_id = g.agent_bundle_id AND o.key = g.key AND o.key <> ''
        AND o.statement_sha256 <> g.statement_sha256 AND o.happened_at BETWEEN g.happened_from AND g.happened_to
)
ORDER BY g.seq
LIMIT %(count)s
"""
_OF_RUNS = _told("""
    m.owner_user_id = %(owner_user_id)s AND m.kind = 'experience' AND EXISTS (
        SELECT FROM jsonb_array_elements(m.sources) s WHERE s ->> 'context_id' = ANY (%(runs)s::text[])
    )
    ORDER BY m.seq
    LIMIT %(count)s
""")
_OBSERVED = """
SELECT m.app_id, m.agent_bundle_id, m.statement_sha256
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.owner_user_id = %(owner_user_id)s AND m.kind = 'observation'
    AND m.statement_sha256 = ANY (%(statements)s)
"""

# The answer to a correction has the text as it was then, which the repeat does not say again.
_FORGET_ANSWERS = f"""
UPDATE context.request SET {ERASED}
WHERE tenant_id = %s AND about_id = %s AND rpc = 'UpdateMemory' AND answer ->> 'memory_id' = %s
"""  # noqa: S608


def scope_of(tenant_id: UUID, user_id: str) -> Scope:
    """Return the scope of a user's memories."""
    return Scope.of_user(MEMORY, tenant_id, user_id)


class MemoryRows:
    """Memories of users.

    Args:
        model: The embedder's; empty: there is none, and no vector is owed.
    """

    def __init__(self, *, model: str) -> None:
        self._model = model

    async def take_turn(self, transaction: Transaction, whose: Mapping[str, object], *, more: int) -> int:
        """Wait for who else writes memories of a user, an app and an agent bundle; return how many there are now."""
        scope_id = scope_of(transaction.tenant_id, str(whose["owner_user_id"])).id
        named = {**whose, "scope_id": scope_id, "more": more}
        (row,) = await transaction.query(_TURN, named)
        return int(row.memory_count)

    async def insert(self, transaction: Transaction, kept: NewMemory) -> tuple[int, datetime]:
        """Write a memory, in its turn, and return its `seq` and when it happened."""
        named = _named(transaction, kept)
        (row,) = await transaction.query(_INSERT, named)
        if kept.key:
            await transaction.query(_LINK, {**named, "happened_at": row.happened_at, "seq": row.seq})
        return row.seq, row.happened_at

    async def update(self, transaction: Transaction, seq: int, kept: NewMemory) -> None:
        """Write a memory anew, in its turn."""
        named = {**_named(transaction, kept), "seq": seq}
        await transaction.query(_UNLINK, named)
        await transaction.query(_UPDATE, named)
        if kept.key:
            await transaction.query(_LINK, named)

    async def join(
        self, transaction: Transaction, memory_id: UUID, *, sources: Sequence[MemorySource], confidence: float
    ) -> None:
        """Let a memory stand for others that say the same, in its turn: what finds it stays."""
        named = {"sources": _json(sources), "confidence": confidence, "memory_id": memory_id}
        await transaction.query(_JOIN, {**named})

    async def delete(self, transaction: Transaction, memory_id: UUID) -> None:
        """Remove a memory, in its turn."""
        named = {"memory_id": memory_id}
        await transaction.query(_UNLINK, named)
        await transaction.query(_DELETE, named)

    async def read(self, door: Tenant | Transaction, user_id: str, memory_ids: Sequence[UUID]) -> dict[UUID, Memory]:
        """Return memories by their ids, without those that are not there for the caller."""
        named = {**self._of(door, user_id), "memory_ids": list(memory_ids)}
        return {one.memory_id: one for one in await self._memories(await door.query(_READ, named))}

    async def at(self, door: Tenant, user_id: str, seqs: Sequence[int]) -> dict[int, Memory]:
        """Return memories by their `seq`, without those that are gone."""
        named = {**self._of(door, user_id), "seqs": list(seqs)}
        return {one.seq: one for one in await self._memories(await door.query(_AT, named))}

    async def page(
        self, door: Tenant, user_id: str, which: MemoryFilter, *, before: int | None, count: int
    ) -> tuple[list[Memory], int | None]:
        """Return a page of memories, the highest `seq` first, and the `seq` of its last if more follow.

        Args:
            door: Of the tenant.
            user_id: Whose.
            which: Which of them.
            before: Only those below this `seq`; None: from the last.
            count: At most, and `PAGE_BYTES_MAX` bytes; one comes, however large it is.
        """
        named = {
            **self._of(door, user_id),
            "before": SEQ_MAX if before is None else before,
            "kinds": [kind.value for kind in which.kinds],
            "key": which.key,
            "holding_only": which.holding_only,
            "happened_from": which.happened_from,
            "happened_to": which.happened_to,
            "count": count + 1,
            "bytes_max": PAGE_BYTES_MAX,
        }
        rows = await door.query(_LIST, named)
        seqs = [row.seq for row in rows if row.fits][:count]
        there = await self.at(door, user_id, seqs)
        return [there[seq] for seq in seqs if seq in there], seqs[-1] if len(seqs) < len(rows) else None

    async def duplicates(self, door: Tenant | Transaction, user_id: str, *, count: int) -> list[list[UUID]]:
        """Return groups of memories that say the same, each with the newest first."""
        rows = await door.query(_DUPLICATES, {**self._of(door, user_id), "count": count})
        return [list(row.memory_ids) for row in rows]

    async def of_runs(
        self, door: Tenant | Transaction, user_id: str, runs: Sequence[str], *, count: int
    ) -> list[Memory]:
        """Return the experiences that runs taught, in their order."""
        rows = await door.query(_OF_RUNS, {**self._of(door, user_id), "runs": list(runs), "count": count})
        return await self._memories(rows)

    async def observed(
        self, door: Tenant | Transaction, user_id: str, statements: Sequence[bytes]
    ) -> set[tuple[str, str, bytes]]:
        """Return which statements are observed: app, agent bundle and statement of each."""
        rows = await door.query(_OBSERVED, {**self._of(door, user_id), "statements": list(statements)})
        return {(row.app_id, row.agent_bundle_id, bytes(row.statement_sha256)) for row in rows}

    async def forget_answers(self, transaction: Transaction, user_id: str, memory_id: UUID) -> None:
        """Forget the answers that have texts of a memory."""
        scope_id = scope_of(transaction.tenant_id, user_id).id
        await transaction.query(_FORGET_ANSWERS, (transaction.tenant_id, scope_id, str(memory_id)))

    def _of(self, door: Tenant | Transaction, user_id: str) -> dict[str, object]:
        return {
            "tenant_id": door.tenant_id,
            "owner_user_id": user_id,
            "scope_id": scope_of(door.tenant_id, user_id).id,
            "model": self._model,
        }

    async def _memories(self, rows: Sequence[Row]) -> list[Memory]:
        """Return the memories of rows, in their order; many sources are parsed off the event loop."""
        size = sum(_ROW_BYTES + _READING * len(row.sources) for row in rows)
        return await beside_the_loop(size, lambda: [self._memory(row) for row in rows])

    def _memory(self, row: Row) -> Memory:
        check_wanted()
        return copied(
            Memory,
            row,
            kind=MemoryKind(row.kind),
            sources=tuple(MemorySource(**one) for one in orjson.loads(row.sources)),
            experience=copied(Experience, row) if row.goal or row.outcome or row.quality is not None else None,
            state=self._state(row),
            contradicts=tuple(row.contradicts),
        )

    def _state(self, row: Row) -> MemoryState:
        if self._model and row.made + row.failed < row.passage_count:
            return MemoryState.PENDING
        return MemoryState.FAILED if row.failed else MemoryState.INDEXED


def _named(transaction: Transaction, kept: NewMemory) -> dict[str, object]:
    return {
        **fields_of(kept),
        **kept.whose,
        "tenant_id": transaction.tenant_id,
        "kind": kept.kind.value,
        "goal": kept.experience.goal if kept.experience else "",
        "outcome": kept.experience.outcome if kept.experience else "",
        "quality": kept.experience.quality if kept.experience else None,
        "sources": _json(kept.sources),
    }


def _json(sources: Sequence[MemorySource]) -> Jsonb:
    return Jsonb([asdict(one) for one in sources])
