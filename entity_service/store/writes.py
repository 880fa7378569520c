"""The statements that write nodes and edges, their parameters, and the errors of their constraints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import psycopg

from contextkeep.errors import ContextKeepError, EdgeExists, ExternalIdTaken, NodeExists
from entity_service.model.times import iso
from entity_service.model.writes import GraphWrite, NewEdge, NewNode
from entity_service.pure.conflicts import Standing, StandingEdge, StandingNode
from entity_service.store.nodes import id_array
from service_runtime.auth import Principal
from service_runtime.optimistic import RowsChanged
from service_runtime.postgres import Tenant, TextArray, Transaction
from service_runtime.requests import Request, answer_parameters

_T = TypeVar("_T")

_NO_NODE = (None,) * len(NewNode._fields)

_NO_EDGE = (None,) * len(NewEdge._fields)

# The input is a parameter for each column: to read one JSON text of all rows costs a sixth of the statement. A column
# that has one value throughout, as most have, is null, and the value a parameter of its own. The transaction has its id
# before it draws the first `seq`: an export waits for the transactions that may have drawn a lower one than it sees.
_INSERT_NODES = """\
INSERT INTO entity.node (
    tenant_id, id, created_at, modified_at, external_id, graph_name, general_type_name, specific_type_name,
    agent_bundle_id, name, status, created_by, owner_user_id, agent_id, data
)
SELECT
    %(tenant_id)s, n.id, t.created_at, t.created_at, n.external_id, coalesce(n.graph_name, %(node_graph_name)s),
    coalesce(n.general_type_name, %(node_type)s),
    coalesce(n.specific_type_name, n.general_type_name, %(node_type)s), coalesce(n.agent_bundle_id, ''),
    coalesce(n.name, ''), coalesce(n.status, %(node_status)s), %(created_by)s,
    coalesce(n.owner_user_id, %(owner_user_id)s), %(agent_id)s, n.data::jsonb
FROM unnest(
    %(node_ids)s::uuid[], %(external_ids)s::text[], %(node_graph_names)s::text[], %(agent_bundle_ids)s::text[],
    %(general_type_names)s::text[], %(specific_type_names)s::text[], %(names)s::text[], %(statuses)s::text[],
    %(node_data)s::text[], %(node_times)s::timestamptz[], %(owner_user_ids)s::text[]
) WITH ORDINALITY AS n (
    id, external_id, graph_name, agent_bundle_id, general_type_name, specific_type_name, name, status,
    data, created_at, owner_user_id, position
)
CROSS JOIN LATERAL (
    SELECT coalesce(n.created_at, now() + (n.position - 1) * interval '1 microsecond')
) t (created_at)
WHERE pg_current_xact_id() IS NOT NULL
ORDER BY n.position"""

_EDGE_INPUT = """\
SELECT
    e.id, coalesce(e.graph_name, %(edge_graph_name)s) AS graph_name,
    coalesce(e.from_node_id, %(from_node_id)s) AS from_node_id, e.to_node_id,
    coalesce(e.edge_type, %(edge_type)s) AS edge_type, e.data::jsonb AS data, e.created_at, e.position
FROM unnest(
    %(edge_ids)s::uuid[], %(edge_graph_names)s::text[], %(from_node_ids)s::uuid[], %(to_node_ids)s::uuid[],
    %(edge_types)s::text[], %(edge_data)s::text[], %(edge_times)s::timestamptz[]
) WITH ORDINALITY AS e (id, graph_name, from_node_id, to_node_id, edge_type, data, created_at, position)"""

# Times are a microsecond apart in the order of the request, first nodes, then edges; `seq` follows the same order,
# because numbers are drawn after the sort. An end that is missing, in another graph or in another context
# leaves `child_seq` null, which the table refuses, and so the whole statement. Below a node that is written here lies
# nothing yet, says `newest_below`; the edges that are written with it raise that, in the table's trigger.
WRITE = f"""
WITH new_node AS (
{_INSERT_NODES}
    RETURNING id, created_at, seq, graph_name, context_id
), endpoint AS (
    SELECT id, created_at, seq, graph_name, context_id, '-infinity'::timestamptz AS newest_below FROM new_node
    UNION ALL
    SELECT n.id, n.created_at, n.seq, n.graph_name, n.context_id, NULL
    FROM unnest(%(old_ends)s::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT o.id, o.created_at, o.seq, o.graph_name, o.context_id
        FROM entity.node o
        WHERE o.tenant_id = %(tenant_id)s AND o.id = wanted.id
        OFFSET 0
    ) n
), edge_input AS (
{_EDGE_INPUT}
), new_edge AS (
    INSERT INTO entity.edge (
        tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, context_id, graph_name,
        edge_type, data, newest_below
    )
    SELECT
        %(tenant_id)s, e.id, e.from_node_id, e.to_node_id,
        coalesce(e.created_at, now() + (%(nodes_count)s + e.position - 1) * interval '1 microsecond'),
        child.created_at,
        CASE
            WHEN parent.graph_name = e.graph_name AND child.graph_name = e.graph_name
                AND coalesce(parent.context_id = child.context_id, true)
            THEN child.seq
        END,
        coalesce(parent.context_id, child.context_id), e.graph_name, e.edge_type, coalesce(e.data, '{{}}'),
        child.newest_below
    FROM edge_input e
    LEFT JOIN endpoint parent ON parent.id = e.from_node_id
    LEFT JOIN endpoint child ON child.id = e.to_node_id
), seqs AS (
    SELECT coalesce(array_agg(seq ORDER BY seq), '{{}}') AS seqs FROM new_node
), answered AS (
    INSERT INTO entity.request (tenant_id, request_id, rpc, fingerprint, answer)
    SELECT
        %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s,
        jsonb_build_object(
            'first_id', %(first_id)s::text, 'at', (extract(epoch FROM now()) * 1000000)::bigint, 'seqs', seqs
        )
    FROM seqs
    WHERE %(request_key)s::uuid IS NOT NULL
)
SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at, seqs FROM seqs
"""  # noqa: S608

# The rows that stand in the way of a write, or that it repeats. Each is looked up by its key: `OFFSET 0` keeps the
# planner from turning that into a hash of all that a tenant has; for `id = ANY` it takes an index of all that a tenant
# has while it knows nothing of a new table; and of an edge's ends only a comparison of rows can use just one index,
# where for three equalities it would as soon read all edges of a parent.
_STANDING_NODES = """
SELECT
    n.id::text, n.graph_name, n.external_id, n.context_id::text,
    (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq
FROM unnest(%(ids)s::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT o.id, o.graph_name, o.external_id, o.context_id, o.created_at, o.seq
    FROM entity.node o
    WHERE o.tenant_id = %(tenant_id)s AND o.id = wanted.id
    OFFSET 0
) n
UNION
SELECT
    n.id::text, n.graph_name, n.external_id, n.context_id::text,
    (extract(epoch FROM n.created_at) * 1000000)::bigint, n.seq
FROM unnest(%(graph_names)s::text[], %(external_ids)s::text[]) AS wanted (graph_name, external_id)
CROSS JOIN LATERAL (
    SELECT o.id, o.graph_name, o.external_id, o.context_id, o.created_at, o.seq
    FROM entity.node o
    WHERE o.tenant_id = %(tenant_id)s AND o.graph_name = wanted.graph_name AND o.external_id = wanted.external_id
    OFFSET 0
) n
"""

_STANDING_EDGES = """
SELECT
    e.id::text, e.from_node_id::text, e.to_node_id::text, e.edge_type,
    (extract(epoch FROM e.created_at) * 1000000)::bigint
FROM unnest(%(ids)s::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT o.id, o.from_node_id, o.to_node_id, o.edge_type, o.created_at
    FROM entity.edge o
    WHERE o.tenant_id = %(tenant_id)s AND o.id = wanted.id
    OFFSET 0
) e
UNION
SELECT
    e.id::text, e.from_node_id::text, e.to_node_id::text, e.edge_type,
    (extract(epoch FROM e.created_at) * 1000000)::bigint
FROM unnest(%(from_ids)s::uuid[], %(to_ids)s::uuid[], %(edge_types)s::text[])
    AS wanted (from_node_id, to_node_id, edge_type)
CROSS JOIN LATERAL (
    SELECT o.id, o.from_node_id, o.to_node_id, o.edge_type, o.created_at
    FROM entity.edge o
    WHERE o.tenant_id = %(tenant_id)s AND o.to_node_id = wanted.to_node_id
        AND (o.edge_type, o.from_node_id) >= (wanted.edge_type, wanted.from_node_id)
        AND (o.edge_type, o.from_node_id) <= (wanted.edge_type, wanted.from_node_id)
    OFFSET 0
) e
"""

# Nodes that are not there yet; a concurrent writer of the same row is waited for. The columns are those of `WRITE`.
WRITE_NEW_NODES = f"""
{_INSERT_NODES}
ON CONFLICT DO NOTHING
RETURNING id::text, seq
"""

# Edges that are not there yet, between nodes that are. In the order of their unique index, so that two writers of
# the same edges wait for each other only one way round. Of nodes that this transaction wrote, in `new_ids`, it has
# written no other edges: below them there is nothing yet.
WRITE_NEW_EDGES = f"""
INSERT INTO entity.edge (
    tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, context_id, graph_name,
    edge_type, data, newest_below
)
SELECT
    %(tenant_id)s, e.id, e.from_node_id, e.to_node_id,
    coalesce(e.created_at, now() + (%(nodes_count)s + e.position - 1) * interval '1 microsecond'),
    child.created_at, child.seq, coalesce(parent.context_id, child.context_id), e.graph_name, e.edge_type,
    coalesce(e.data, '{{}}'), new.newest_below
FROM (
{_EDGE_INPUT}
) e
CROSS JOIN LATERAL (
    SELECT n.context_id FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = e.from_node_id OFFSET 0
) parent
CROSS JOIN LATERAL (
    SELECT n.context_id, n.created_at, n.seq FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = e.to_node_id
    OFFSET 0
) child
LEFT JOIN (SELECT unnest(%(new_ids)s::uuid[]), '-infinity'::timestamptz) AS new (id, newest_below)
    ON new.id = e.to_node_id
ORDER BY e.to_node_id, e.edge_type, e.from_node_id, e.position
ON CONFLICT DO NOTHING
RETURNING id::text
"""  # noqa: S608

TRANSACTION_TIME = "SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at"

# What a node or an edge reads like right after it was written, whatever happened to it since.
NODE_AS_WRITTEN = """
SELECT %(data)s::jsonb::text, n.created_by, n.owner_user_id, n.agent_id, n.context_id::text
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
"""

EDGE_AS_WRITTEN = """
SELECT %(data)s::jsonb::text, e.context_id::text
FROM entity.edge e
WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s
"""


async def transaction_once(tenant: Tenant, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
    """Run a transaction once.

    Raises:
        Moved: a constraint failed because another call was faster; the caller may try again.
    """
    try:
        return await tenant.transaction(work)
    except psycopg.IntegrityError as error:
        raise RowsChanged from error


def taken_unseen(raised: psycopg.IntegrityError) -> ContextKeepError | None:
    """Return what a caller is told of a row in its way that it does not see: that an id is taken, and no more."""
    match raised.diag.constraint_name:
        case "node_pkey":
            return NodeExists("an id of the request is taken")
        case "node_external_id":
            return ExternalIdTaken("an external id of the request is taken in its graph")
        case "edge_pkey":
            return EdgeExists("an id of the request is taken")
    return None


def hidden_row(transaction: Transaction) -> ContextKeepError | None:
    """Return the same, where Postgres did not say which."""
    return NodeExists("an id or external id of the request is taken") if transaction.bounds else None


async def standing_rows(transaction: Transaction, write: GraphWrite) -> Standing:
    """Return the stored rows that `write` names or repeats."""
    with_external_id = [node for node in write.nodes if node.external_id is not None]
    ends = {end for edge in write.edges for end in (edge.from_node_id, edge.to_node_id)}
    nodes = {
        row[0]: StandingNode(
            id=row[0], graph_name=row[1], external_id=row[2], context_id=row[3], created_at=row[4], seq=row[5]
        )
        for row in await transaction.query(
            _STANDING_NODES,
            {
                "ids": id_array(ends.union(node.id for node in write.nodes)),
                "graph_names": [node.graph_name for node in with_external_id],
                "external_ids": [node.external_id for node in with_external_id],
            },
            named=False,
        )
    }
    edges = {
        row[0]: StandingEdge(id=row[0], ends=(row[1], row[2], row[3]), created_at=row[4])
        for row in await transaction.query(
            _STANDING_EDGES,
            {
                "ids": id_array([edge.id for edge in write.edges]),
                "from_ids": id_array([edge.from_node_id for edge in write.edges]),
                "to_ids": id_array([edge.to_node_id for edge in write.edges]),
                "edge_types": [edge.edge_type for edge in write.edges],
            },
            named=False,
        )
    }
    return Standing(
        nodes=nodes,
        external_ids={(node.graph_name, node.external_id): node for node in nodes.values() if node.external_id},
        edges=edges,
        edge_ends={edge.ends: edge for edge in edges.values()},
    )


def write_parameters(
    principal: Principal, write: GraphWrite, request: Request | None, *, bounds: str = ""
) -> dict[str, Any]:
    """Return the parameters of `WRITE`."""
    new_ids = {node.id for node in write.nodes}
    ends = {end for edge in write.edges for end in (edge.from_node_id, edge.to_node_id)}
    return {
        "tenant_id": principal.tenant_id,
        "created_by": principal.subject,
        "owner_user_id": principal.user_id,
        "agent_id": principal.agent_id,
        **_node_columns(write.nodes),
        "nodes_count": len(write.nodes),
        **edge_columns(write.edges),
        "old_ends": id_array(ends - new_ids),
        "first_id": write.first_made_id,
        **answer_parameters(request, bounds),
    }


def _node_columns(nodes: Sequence[NewNode]) -> dict[str, Any]:
    """Return the parameters of nodes to write."""
    _, _, graph_name, _, general, _, _, status, *_ = nodes[0] if nodes else _NO_NODE
    types = [node.general_type_name for node in nodes]
    specific_types = [node.specific_type_name for node in nodes]
    return {
        "node_graph_name": graph_name,
        "node_type": general,
        "node_status": status,
        "node_ids": id_array([node.id for node in nodes]),
        "external_ids": _column([node.external_id for node in nodes], None),
        "node_graph_names": _column([node.graph_name for node in nodes], graph_name),
        "agent_bundle_ids": _column([node.agent_bundle_id for node in nodes], ""),
        "general_type_names": _column(types, general),
        "specific_type_names": None if specific_types == types else TextArray(specific_types),
        "names": _column([node.name for node in nodes], ""),
        "statuses": _column([node.status for node in nodes], status),
        "node_data": TextArray([node.data_json for node in nodes]),
        "node_times": _times([node.created_at for node in nodes]),
        "owner_user_ids": _column([node.owner_user_id for node in nodes], None),
    }


def edge_columns(edges: Sequence[NewEdge]) -> dict[str, Any]:
    """Return the parameters of edges to write."""
    _, graph_name, from_node_id, _, edge_type, _, _ = edges[0] if edges else _NO_EDGE
    from_ids: Sequence[str | None] = [edge.from_node_id for edge in edges]
    return {
        "edge_graph_name": graph_name,
        "from_node_id": from_node_id,
        "edge_type": edge_type,
        "edge_ids": id_array([edge.id for edge in edges]),
        "edge_graph_names": _column([edge.graph_name for edge in edges], graph_name),
        "from_node_ids": None if from_ids.count(from_node_id) == len(edges) else id_array(from_ids),
        "to_node_ids": id_array([edge.to_node_id for edge in edges]),
        "edge_types": _column([edge.edge_type for edge in edges], edge_type),
        "edge_data": _column([edge.data_json for edge in edges], "{}"),
        "edge_times": _times([edge.created_at for edge in edges]),
    }


def _column(values: Sequence[str | None], common: str | None) -> TextArray | None:
    """Return a column, or None if it has one value throughout."""
    return None if values.count(common) == len(values) else TextArray(values)


def _times(times: Sequence[int | None]) -> str | None:
    """Return a column of times, or None if it has none."""
    if times.count(None) == len(times):
        return None
    return "{" + ",".join(["NULL" if time is None else iso(time) for time in times]) + "}"
