"""The statements that count and erase the rows of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from service_runtime.postgres import Tenant, Transaction
from service_runtime.requests import ERASED

LEASE_S = 5.0  # a step that takes longer is done by two, which harms nothing

_NODES = 200  # of a step, with all that hangs on them

_COLUMNS = "nodes_removed AS nodes, edges_removed AS edges, answers_removed AS answers, names_replaced AS names"

READ = f"SELECT {_COLUMNS}, finished_at FROM entity.erasure WHERE tenant_id = %s AND erasure_id = %s"  # noqa: S608

BEGIN = """
INSERT INTO entity.erasure (tenant_id, erasure_id, subject) VALUES (%s, %s, %s)
ON CONFLICT (tenant_id, erasure_id) DO NOTHING
"""

COUNT = """
WITH owned AS MATERIALIZED (
    SELECT id FROM entity.node WHERE tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s
)
SELECT (SELECT count(*) FROM owned) AS nodes,
    (
        SELECT count(*) FROM (
            SELECT e.id FROM owned JOIN entity.edge e ON e.tenant_id = %(tenant_id)s AND e.from_node_id = owned.id
            UNION
            SELECT e.id FROM owned JOIN entity.edge e ON e.tenant_id = %(tenant_id)s AND e.to_node_id = owned.id
        ) either
    ) AS edges,
    (SELECT count(*) FROM entity.request WHERE tenant_id = %(tenant_id)s AND subject = '=' || %(subject)s) AS answers,
    0::bigint AS names, NULL::timestamptz AS finished_at
"""

CLAIM = """
WITH due AS (
    SELECT erasure_id FROM entity.erasure
    WHERE tenant_id = %(tenant_id)s AND finished_at IS NULL AND due_at <= now()
    ORDER BY created_at LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE entity.erasure e SET due_at = now() + %(lease)s FROM due
WHERE e.tenant_id = %(tenant_id)s AND e.erasure_id = due.erasure_id
RETURNING e.erasure_id, e.subject
"""

_OWED = """
SELECT extract(epoch FROM now() - min(created_at))::float AS since_s FROM entity.erasure
WHERE tenant_id = %s AND finished_at IS NULL
"""

FIND = """
SELECT id FROM entity.node
WHERE ctid >= %(first)s::tid AND ctid < %(behind)s::tid AND tenant_id = %(tenant_id)s AND owner_user_id = %(subject)s
"""

_LOCK = "SELECT id FROM entity.node WHERE tenant_id = %s AND id = ANY (%s) ORDER BY id FOR UPDATE"

# No new edge can come: it would have to lock the node that is locked. Each side is an index scan of its own.
_REMOVE_EDGES = """
WITH gone AS (
    DELETE FROM entity.edge
    WHERE tenant_id = %(tenant_id)s AND (from_node_id = ANY (%(ids)s) OR to_node_id = ANY (%(ids)s))
    RETURNING true
)
SELECT count(*) AS edges FROM gone
"""

_REMOVE_EMBEDDINGS = """
DELETE FROM entity.embedding WHERE tenant_id = %(tenant_id)s AND owner_kind = 'node' AND owner_id = ANY (%(ids)s)
"""

# Input, output and timeline go with it, by their foreign keys.
_REMOVE_NODES = """
WITH gone AS (DELETE FROM entity.node WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s) RETURNING true)
UPDATE entity.erasure SET nodes_removed = nodes_removed + (SELECT count(*) FROM gone),
    edges_removed = edges_removed + %(edges)s, due_at = now() + %(lease)s
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""

# Types are words of whoever wrote the node. The changes are those of this transaction; a reader knows a node by its id.
_SAY_NO_TYPES = """
UPDATE entity.change SET general_type_name = '', specific_type_name = ''
WHERE tenant_id = %(tenant_id)s AND transaction_id = pg_current_xact_id()
"""

_OF_WHAT_IS_GONE = """
    c.ctid >= %(first)s::tid AND c.ctid < %(behind)s::tid AND c.tenant_id = %(tenant_id)s
    AND NOT EXISTS (SELECT FROM entity.node n WHERE n.tenant_id = c.tenant_id AND n.id = c.id)
    AND NOT EXISTS (SELECT FROM entity.edge e WHERE e.tenant_id = c.tenant_id AND e.id = c.id)
"""

# What was said of nodes and edges while they were there: that they are gone is said behind it.
FORGET_CHANGES = f"DELETE FROM entity.change c WHERE {_OF_WHAT_IS_GONE} AND NOT c.is_removed"  # noqa: S608

# And of those that went before: nothing says whose they were.
SAY_NO_OLDER_TYPES = f"""
UPDATE entity.change c SET general_type_name = '', specific_type_name = ''
WHERE {_OF_WHAT_IS_GONE} AND c.is_removed AND c.general_type_name <> ''
"""  # noqa: S608


def _counting(counter: str, gone: str) -> str:
    """Return a statement that does something to some pages of a table, and counts it on the receipt."""
    return f"""
        WITH gone AS ({gone} RETURNING true), counted AS (SELECT count(*) AS rows FROM gone)
        UPDATE entity.erasure SET {counter} = {counter} + counted.rows, due_at = now() + %(lease)s
        FROM counted
        WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s AND counted.rows > 0
    """  # noqa: S608


_PAGES = "ctid >= %(first)s::tid AND ctid < %(behind)s::tid AND tenant_id = %(tenant_id)s"

REMOVE_ANSWERS = _counting(
    "answers_removed",
    f"UPDATE entity.request SET {ERASED} WHERE {_PAGES} AND subject = '=' || %(subject)s",  # noqa: S608
)

# Where rows of others say who wrote them.
NAMED = {"entity.node": "created_by", "entity.progress": "created_by"}

RENAME = {
    table: _counting(
        "names_replaced",
        f"UPDATE {table} SET {column} = %(pseudonym)s WHERE {_PAGES} AND {column} = %(subject)s",  # noqa: S608
    )
    for table, column in NAMED.items()
}

RENEW = """
UPDATE entity.erasure SET due_at = now() + %(lease)s WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""

FINISH = """
UPDATE entity.erasure SET finished_at = now(), subject = NULL
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s
"""


async def oldest_owed_s(tenant: Tenant) -> float:
    """Return since when the oldest erasure of a tenant is owed; 0: none is."""
    (row,) = await tenant.query(_OWED, (tenant.tenant_id,))
    return float(row.since_s or 0.0)


async def remove_nodes(transaction: Transaction, *, ids: list[UUID], named: dict[str, Any]) -> None:
    """Remove nodes with their edges and embeddings, and count them on the receipt of the erasure."""
    locked = [row.id for row in await transaction.query(_LOCK, (transaction.tenant_id, ids))]
    (row,) = await transaction.query(_REMOVE_EDGES, {**named, "ids": locked})
    await transaction.query(_REMOVE_EMBEDDINGS, {**named, "ids": locked})
    await transaction.query(_REMOVE_NODES, {**named, "ids": locked, "edges": row.edges})
    await transaction.query(_SAY_NO_TYPES, named)


def batches_of_ids(ids: list[UUID]) -> Iterator[list[UUID]]:
    """Yield the ids in batches that one transaction removes."""
    for start in range(0, len(ids), _NODES):
        yield ids[start : start + _NODES]


KNOWN_ERASURES = "SELECT erasure_id FROM entity.erasure WHERE tenant_id = %s AND erasure_id = ANY (%s::uuid[])"

BEGIN_REPLAYED = """
INSERT INTO entity.erasure (tenant_id, erasure_id, subject, finished_at)
VALUES (%(tenant_id)s, %(erasure_id)s, %(subject)s::text, CASE WHEN %(subject)s::text IS NULL THEN now() END)
ON CONFLICT DO NOTHING
"""

STILL_OPEN = """
SELECT erasure_id FROM entity.erasure
WHERE tenant_id = %s AND erasure_id = ANY (%s::uuid[]) AND finished_at IS NULL
LIMIT 1
"""

_WHOM = {
    **{table: f"VALUES (t.{column})" for table, column in NAMED.items()},
    "entity.node": f"VALUES (t.owner_user_id), (t.{NAMED['entity.node']})",
    "entity.request": "SELECT substr(t.subject, 2) WHERE left(t.subject, 1) = '='",
}

SUBJECTS_IN = {
    table: f"""
        SELECT DISTINCT whom.subject FROM {table} t CROSS JOIN LATERAL ({source}) whom (subject)
        WHERE t.ctid >= %(first)s::tid AND t.ctid < %(behind)s::tid AND t.tenant_id = %(tenant_id)s
            AND whom.subject <> ''
    """  # noqa: S608
    for table, source in _WHOM.items()
}
