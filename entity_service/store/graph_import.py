"""The statements of an import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from contextkeep.errors import InvalidArgument
from entity_service.model.embeddings import NewEmbedding
from entity_service.model.progress import NewEnvelope
from entity_service.model.times import iso
from entity_service.model.transfer import NewSide
from service_runtime.auth import Principal
from service_runtime.postgres import Transaction

ARCHIVE = """
UPDATE entity.node SET is_archived = true WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[])
"""

ELSEWHERE = """
SELECT id::text FROM entity.node
WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[]) AND graph_name <> %(graph_name)s
"""

THERE = "SELECT id::text FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s::uuid[])"

# Documents come in a list of one: in a row of a set, JSON's null would become SQL's.
WRITE_SIDES = """
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


def side_rows(sides: Sequence[NewSide]) -> str:
    """Return the parameter of `WRITE_SIDES`: one JSON object for each node."""
    rows: dict[str, dict[str, Any]] = {}
    for side in sides:
        row = rows.setdefault(side.node_id, {"node_id": side.node_id})
        row[side.side] = [orjson.Fragment(side.value_json)]
    return orjson.dumps(list(rows.values())).decode()


async def write_embeddings(
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


async def write_envelopes(
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
