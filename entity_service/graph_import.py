"""Lines of a graph written in: batch by batch, each all or none, what is there skipped.

So an import that broke off anywhere is begun again, from its start or from the last batch, and ends with the same rows.
While one batch is written, the next is read: never more than two are held.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from contextkeep.errors import (
    ContextKeepError,
    ExternalIdTaken,
    InvalidArgument,
    NodeExists,
    NodeNotFound,
)
from entity_service.embeddings import NewEmbedding
from entity_service.graph_lines import ImportBatch, NewSide
from entity_service.model import Written, iso
from entity_service.progress import NewEnvelope
from entity_service.store import id_array
from entity_service.writes import GraphWrites
from service_runtime.auth import Principal
from service_runtime.postgres import Transaction

_ARCHIVE = """
UPDATE entity.node SET is_archived = true WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[])
"""

_ELSEWHERE = """
SELECT id::text FROM entity.node
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]) AND graph_name <> %(graph_name)s
"""

_THERE = "SELECT id::text FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[])"

# Documents come in a list of one: in a row of a set, JSON's null would become SQL's.
_WRITE_SIDES = """
INSERT INTO entity.node_io (tenant_id, node_id, modified_at, context_id, input, output)
SELECT n.tenant_id, n.id, now(), n.context_id, r.input -> 0, r.output -> 0
FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (node_id uuid, input jsonb, output jsonb)
CROSS JOIN LATERAL (
    SELECT n.tenant_id, n.id, n.context_id FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = r.node_id
    OFFSET 0
) n
ON CONFLICT (tenant_id, node_id) DO UPDATE SET
    input = coalesce(node_io.input, excluded.input), output = coalesce(node_io.output, excluded.output)
WHERE node_io.input IS NULL AND excluded.input IS NOT NULL OR node_io.output IS NULL AND excluded.output IS NOT NULL
"""

_DIMENSIONS = """
SELECT r.name, d.dimension
FROM unnest(%(names)s::text[]) AS r (name)
CROSS JOIN LATERAL (
    SELECT e.dimension FROM entity.embedding e
    WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.name = r.name
    LIMIT 1
) d
"""
_WRITE_EMBEDDINGS = """
INSERT INTO entity.embedding (
    tenant_id, owner_kind, owner_id, name, graph_name, context_id, dimension, model, text_sha256, metadata, vector
)
SELECT
    n.tenant_id, 'node', n.id, r.name, n.graph_name, n.context_id, r.dimension, r.model,
    decode(nullif(r.text_sha256, ''), 'hex'), r.metadata, r.vector::public.halfvec
FROM jsonb_to_recordset(%(rows)s::jsonb) AS r (
    node_id uuid, name text, dimension integer, model text, text_sha256 text, metadata jsonb, vector text
)
CROSS JOIN LATERAL (
    SELECT n.tenant_id, n.id, n.graph_name, n.context_id FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = r.node_id
    OFFSET 0
) n
ON CONFLICT DO NOTHING
RETURNING owner_id
"""

# A timeline that is there is gone on with: envelopes up to the time of its last one are there already.
_WRITE_ENVELOPES = """
INSERT INTO entity.progress (
    tenant_id, node_id, created_at, context_id, type, status, sub_type, message, value, error, created_by
)
SELECT
    n.tenant_id, n.id, r.created_at, n.context_id, r.type, r.status, r.sub_type, r.message, r.value -> 0, r.error -> 0,
    %(created_by)s
FROM ROWS FROM (jsonb_to_recordset(%(rows)s::jsonb) AS (
    node_id uuid, created_at timestamptz, type text, status text, sub_type text, message text, value jsonb, error jsonb
)) WITH ORDINALITY AS r (node_id, created_at, type, status, sub_type, message, value, error, position)
CROSS JOIN LATERAL (
    SELECT
        n.tenant_id, n.id, n.context_id, (
            SELECT p.created_at FROM entity.progress p
            WHERE p.tenant_id = %(tenant_id)s AND p.node_id = n.id
            ORDER BY p.seq DESC
            LIMIT 1
        ) AS last_at
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = r.node_id
    OFFSET 0
) n
WHERE n.last_at IS NULL OR r.created_at > n.last_at
ORDER BY r.position
RETURNING node_id
"""


@dataclass(slots=True)
class RowCount:
    """What became of the rows of a kind."""

    written: int = 0
    existed: int = 0

    def add(self, *, written: int, rows: int) -> None:
        """Count rows, some of which were written."""
        self.written += written
        self.existed += rows - written


@dataclass(slots=True)
class Imported:
    """What an import came to."""

    lines: int = 0
    nodes: RowCount = field(default_factory=RowCount)
    edges: RowCount = field(default_factory=RowCount)
    embeddings: RowCount = field(default_factory=RowCount)
    envelopes: RowCount = field(default_factory=RowCount)


class GraphImport:
    """Writes graphs in."""

    def __init__(self, writes: GraphWrites) -> None:
        self._writes = writes

    async def run(self, principal: Principal, graph_name: str, batches: AsyncIterator[ImportBatch]) -> Imported:
        """Write batches as they come.

        Raises:
            ContextKeepError: of a batch, with `lines_done` in the metadata: the lines that are written.
        """
        done = Imported()
        writing: asyncio.Task[None] | None = None
        try:
            async for batch in batches:
                if writing is not None:
                    await writing
                writing = asyncio.create_task(self._write(principal, graph_name, batch, done))
            if writing is not None:
                await writing
        except ContextKeepError as error:
            if writing is not None and not writing.done():
                with suppress(ContextKeepError):  # one error is told: that of the line which comes later
                    await writing
            error.metadata["lines_done"] = str(done.lines)
            raise
        finally:
            if writing is not None and not writing.done():
                writing.cancel()
                await asyncio.wait([writing])
        return done

    async def _write(self, principal: Principal, graph_name: str, batch: ImportBatch, done: Imported) -> None:
        write = batch.write
        counts: list[int] = []

        async def then(transaction: Transaction, written: Written) -> None:
            await _check_nodes(transaction, graph_name, batch, written)
            new_ids = {row.id for row in written.nodes if not row.existed}
            if archived := batch.archived_ids & new_ids:
                await transaction.query(_ARCHIVE, {"ids": id_array(archived)})
            await _check_there(transaction, batch)
            if batch.sides:
                rows = _side_rows(batch.sides)
                await transaction.query(_WRITE_SIDES, {"rows": rows})
            counts[:] = [
                await _write_embeddings(transaction, graph_name, batch.embeddings),
                await _write_envelopes(transaction, principal, batch.envelopes),
            ]

        written = await self._writes.add_missing(principal, write, then)
        done.nodes.add(written=sum(not row.existed for row in written.nodes), rows=len(write.nodes))
        done.edges.add(written=sum(not row.existed for row in written.edges), rows=len(write.edges))
        done.embeddings.add(written=counts[0], rows=len(batch.embeddings))
        done.envelopes.add(written=counts[1], rows=len(batch.envelopes))
        done.lines = batch.lines


async def _check_nodes(transaction: Transaction, graph_name: str, batch: ImportBatch, written: Written) -> None:
    """Refuse nodes that are there as something else.

    Raises:
        ExternalIdTaken: another node has the external id.
        NodeExists: the node of the id is in another graph.
    """
    existed = {}
    for position, (node, row) in enumerate(zip(batch.write.nodes, written.nodes, strict=True)):
        if not row.existed:
            continue
        path = batch.write.path("node", position)
        if row.id != node.id:
            raise ExternalIdTaken("another node has this external id", field=f"{path}.external_id", node_id=row.id)
        existed[row.id] = path
    if not existed:
        return
    parameters = {"ids": id_array(existed), "graph_name": graph_name}
    for (node_id,) in await transaction.query(_ELSEWHERE, parameters, named=False):
        raise NodeExists("a node of another graph has this id", field=f"{existed[node_id]}.id", node_id=node_id)


async def _check_there(transaction: Transaction, batch: ImportBatch) -> None:
    """Refuse what is of a node that no line before it wrote.

    Raises:
        NodeNotFound: there is no such node.
    """
    wanted = {side.node_id: side.path for side in batch.sides}
    wanted |= {embedding.node_id: path for path, embedding in batch.embeddings}
    wanted |= {envelope.node_id: path for path, envelope, _ in batch.envelopes}
    missing = wanted.keys() - {node.id for node in batch.write.nodes}
    if not missing:
        return
    parameters = {"ids": id_array(missing)}
    there = {row[0] for row in await transaction.query(_THERE, parameters, named=False)}
    for node_id in wanted:
        if node_id in missing and node_id not in there:
            raise NodeNotFound("no node has this id", field=f"{wanted[node_id]}.node_id", node_id=node_id)


def _side_rows(sides: Sequence[NewSide]) -> str:
    rows: dict[str, dict[str, Any]] = {}
    for side in sides:
        row = rows.setdefault(side.node_id, {"node_id": side.node_id})
        row[side.side] = [orjson.Fragment(side.value_json)]
    return orjson.dumps(list(rows.values())).decode()


async def _write_embeddings(
    transaction: Transaction, graph_name: str, embeddings: Sequence[tuple[str, NewEmbedding]]
) -> int:
    """Write the embeddings that are not there, and return how many that were.

    Raises:
        InvalidArgument: one has another dimension than the others of its name.
    """
    if not embeddings:
        return 0
    names = sorted({embedding.name for _, embedding in embeddings})
    parameters = {"graph_name": graph_name, "names": names}
    dimensions: dict[str, int] = dict(await transaction.query(_DIMENSIONS, parameters, named=False))
    rows = []
    for path, embedding in embeddings:
        dimension = dimensions.setdefault(embedding.name, len(embedding.vector))
        if len(embedding.vector) != dimension:
            raise InvalidArgument(
                f"{path}.vector has {len(embedding.vector)} values; the embeddings {embedding.name!r} of graph "
                f"{graph_name!r} have {dimension}",
                field=f"{path}.vector",
                dimension=dimension,
            )
        rows.append(
            {
                "node_id": embedding.node_id,
                "name": embedding.name,
                "dimension": dimension,
                "model": embedding.model,
                "text_sha256": embedding.text_sha256,
                "metadata": orjson.Fragment(embedding.metadata_json),
                "vector": orjson.dumps(list(embedding.vector)).decode(),
            }
        )
    written = await transaction.query(_WRITE_EMBEDDINGS, {"rows": orjson.dumps(rows).decode()}, named=False)
    return len(written)


async def _write_envelopes(
    transaction: Transaction, principal: Principal, envelopes: Sequence[tuple[str, NewEnvelope, int]]
) -> int:
    """Write the envelopes that are not there, and return how many that were."""
    if not envelopes:
        return 0
    rows = []
    for _, envelope, created_at in envelopes:
        row: dict[str, Any] = {
            "node_id": envelope.node_id,
            "created_at": iso(created_at),
            "type": envelope.type,
            "status": envelope.status,
            "sub_type": envelope.sub_type,
            "message": envelope.message,
        }
        if envelope.value_json is not None:
            row["value"] = [orjson.Fragment(envelope.value_json)]
        if envelope.error_json is not None:
            row["error"] = [orjson.Fragment(envelope.error_json)]
        rows.append(row)
    parameters = {"created_by": principal.subject, "rows": orjson.dumps(rows).decode()}
    return len(await transaction.query(_WRITE_ENVELOPES, parameters, named=False))
