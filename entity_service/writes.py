"""Writing nodes and edges: one statement on the way that goes well, a second look only when it does not.

The statement inserts nodes, edges and the row of the request id. Whatever is wrong makes Postgres refuse all of it;
then `_refused` reads what stands in the way and the rules of `conflicts` name it. So the ordinary write pays for
no check but the constraints, and a race can only ever cost a second look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import psycopg

from contextkeep.errors import Aborted, ContextKeepError, EdgeExists, ExternalIdTaken, NodeExists, NodeNotFound
from entity_service.conflicts import Standing, StandingEdge, StandingNode, ends_of, misplaced, refusal
from entity_service.model import Answer, Edge, GraphWrite, NewEdge, NewNode, Node, Written, WrittenRow, iso, outcome
from entity_service.store import NODE, NODE_BY_EXTERNAL_ID, id_array
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.optimistic import Moved, until_written
from service_runtime.postgres import Database, Tenant, TextArray, Transaction
from service_runtime.requests import Request, Requests, answer_parameters

_T = TypeVar("_T")

_ROWS = "the rows that this one needs"
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
_WRITE = f"""
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


# Nodes that are not there yet; a concurrent writer of the same row is waited for. The columns are those of `_WRITE`.
_WRITE_NEW_NODES = f"""
{_INSERT_NODES}
ON CONFLICT DO NOTHING
RETURNING id::text, seq
"""

# Edges that are not there yet, between nodes that are. In the order of their unique index, so that two writers of
# the same edges wait for each other only one way round. Of nodes that this transaction wrote, in `new_ids`, it has
# written no other edges: below them there is nothing yet.
_WRITE_NEW_EDGES = f"""
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

_TRANSACTION_TIME = "SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at"

# What a node or an edge reads like right after it was written, whatever happened to it since.
_NODE_AS_WRITTEN = """
SELECT %(data)s::jsonb::text, n.created_by, n.owner_user_id, n.agent_id, n.context_id::text
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
"""
_EDGE_AS_WRITTEN = """
SELECT %(data)s::jsonb::text, e.context_id::text
FROM entity.edge e
WHERE e.tenant_id = %(tenant_id)s AND e.id = %(id)s
"""


class GraphWrites:
    """Writes nodes and edges, once per request id."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._requests = Requests("entity")

    async def write(self, principal: Principal, write: GraphWrite, request: Request | None) -> Written:
        """Write all rows or none; a row that exists is an error.

        Raises:
            NodeExists, ExternalIdTaken, EdgeExists: a row is there already.
            NodeNotFound: an end of an edge is missing.
            InvalidArgument: an edge leaves its graph or its context, or Postgres cannot store a value.
            RequestIdReused: the request id was used with other content.
        """
        tenant = self._database.of(principal)

        async def written() -> Written:
            try:
                (row,) = await tenant.query(_WRITE, _parameters(principal, write, request, bounds=tenant.bounds))
            except psycopg.IntegrityError as raised:
                if request:
                    await self._requests.answered(tenant, request)
                if error := refusal(write, await tenant.transaction(lambda t: _standing(t, write))):
                    raise error from None
                if tenant.bounds and (error := _taken(raised)):
                    raise error from None
                raise Moved from raised
            return outcome(write, {"first_id": write.first_made_id, "at": row.at, "seqs": row.seqs})

        return await until_written(written, what=_ROWS)

    async def write_missing(self, principal: Principal, write: GraphWrite, request: Request | None) -> Written:
        """Write the rows that are not there; those that are stay as they are.

        A row is there if its id is, else if its external id, or its ends and type, are. Edges that name a node of
        this write by its id join the node that is there in its place.

        Raises:
            NodeNotFound: an end of an edge is missing.
            InvalidArgument: an edge leaves its graph or its context, or Postgres cannot store a value.
            RequestIdReused: the request id was used with other content.
        """
        once = self._requests.once(request, lambda transaction: _write_missing(transaction, principal, write))
        # An end that was deleted meanwhile fails the transaction: the next try names it.
        answer = await until_written(partial(_transaction, self._database.of(principal), once), what=_ROWS)
        return outcome(write, answer)

    async def add_missing(
        self, principal: Principal, write: GraphWrite, then: Callable[[Transaction, Written], Awaitable[None]]
    ) -> Written:
        """Write the rows that are not there, as `write_missing`, and do something more in the same transaction.

        It is tried first as if none was there, which is one statement.

        Args:
            principal: Who writes.
            write: The rows.
            then: Gets the transaction and what became of the rows. What it raises undoes all.

        Raises:
            NodeNotFound, InvalidArgument: as `write_missing`; and whatever `then` raises.
        """
        tenant = self._database.of(principal)

        async def as_new(transaction: Transaction) -> Written:
            (row,) = await transaction.query(_WRITE, _parameters(principal, write, None))
            written = outcome(write, {"first_id": write.first_made_id, "at": row.at, "seqs": row.seqs})
            await then(transaction, written)
            return written

        async def as_missing(transaction: Transaction) -> Written:
            written = outcome(write, await _write_missing(transaction, principal, write))
            await then(transaction, written)
            return written

        with suppress(psycopg.IntegrityError):
            return await tenant.transaction(as_new)
        return await until_written(partial(_transaction, tenant, as_missing), what=_ROWS)

    async def create_node(self, principal: Principal, write: GraphWrite, request: Request | None) -> Node:
        """Write one node.

        Raises:
            As `write`.
        """
        return await self.node_of(principal, write, await self.write(principal, write, request))

    async def node_of(self, principal: Principal, write: GraphWrite, written: Written) -> Node:
        """Return the node of a write of one, as it was written, whatever it is by now."""
        (row,) = written.nodes
        return await self._node_as_written(principal, write.nodes[0], row)

    async def create_node_unless_there(
        self, principal: Principal, write: GraphWrite, request: Request | None
    ) -> tuple[Node, bool]:
        """Write one node, or return the one that has its external id; and say whether it was there.

        Raises:
            NodeExists: the id is taken by a node with another external id.
            RequestIdReused: the request id was used with other content.
        """
        tenant = self._database.of(principal)
        (node,) = write.nodes
        if not await self._with_external_id(tenant, node):
            with suppress(ExternalIdTaken):  # by a call that was faster
                return await self.create_node(principal, write, request), False

        async def work(transaction: Transaction) -> Node:
            there = (await _standing(transaction, write)).external_ids.get((node.graph_name, node.external_id or ""))
            if there is None:
                raise _hidden(transaction) or Aborted("the node was deleted meanwhile; try again")
            rows = await transaction.query(NODE, {"id": there.id}, named=False)
            if not rows:
                raise NodeNotFound("the node was deleted meanwhile", node_id=there.id)
            return Node._make(rows[0])

        return await tenant.transaction(self._requests.once(request, work)), True

    async def _with_external_id(self, tenant: Tenant, node: NewNode) -> bool:
        parameters = {"graph_name": node.graph_name, "external_id": node.external_id}
        return bool(await tenant.query(NODE_BY_EXTERNAL_ID, parameters, named=False))

    async def create_edge(self, principal: Principal, write: GraphWrite, request: Request | None) -> Edge:
        """Write one edge.

        Raises:
            As `write`.
        """
        return await self.edge_of(principal, write, await self.write(principal, write, request))

    async def edge_of(self, principal: Principal, write: GraphWrite, written: Written) -> Edge:
        """Return the edge of a write of one, as it was written, whatever it is by now."""
        (edge,), (row,) = write.edges, written.edges
        tenant = self._database.of(principal)
        stored = await tenant.query(_EDGE_AS_WRITTEN, {"id": row.id, "data": edge.data_json}, named=False)
        data_json, context_id = stored[0] if stored else (edge.data_json, None)
        return copied(
            Edge, edge, id=row.id, data_json=data_json, created_at=row.created_at, version=1, context_id=context_id
        )

    async def _node_as_written(self, principal: Principal, node: NewNode, row: WrittenRow) -> Node:
        """Return the node as the call that wrote it saw it, which a repeat of the call must see too."""
        tenant = self._database.of(principal)
        stored = await tenant.query(_NODE_AS_WRITTEN, {"id": row.id, "data": node.data_json}, named=False)
        data_json, created_by, owner_user_id, agent_id, context_id = (
            stored[0]
            if stored  # else it was deleted since
            else (node.data_json, principal.subject, principal.user_id, principal.agent_id, None)
        )
        return copied(
            Node,
            node,
            id=row.id,
            data_json=data_json,
            is_archived=False,
            seq=row.seq,
            created_at=row.created_at,
            modified_at=row.created_at,
            version=1,
            created_by=created_by,
            owner_user_id=owner_user_id,
            agent_id=agent_id,
            context_id=context_id,
        )


async def _transaction(tenant: Tenant, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
    try:
        return await tenant.transaction(work)
    except psycopg.IntegrityError as error:
        raise Moved from error


async def _write_missing(transaction: Transaction, principal: Principal, write: GraphWrite) -> Answer:
    (time,) = await transaction.query(_TRANSACTION_TIME)
    answer: Answer = {"first_id": write.first_made_id, "at": time.at, "seqs": []}
    parameters = _parameters(principal, write, None)
    aliases: dict[str, str] = {}
    seqs: dict[str, int] = {}
    if write.nodes:
        seqs = dict(await transaction.query(_WRITE_NEW_NODES, parameters, named=False))
        answer["seqs"] = sorted(seqs.values())
        # What was not written is there; a row that another call has written meanwhile is visible from now on.
        standing = await _standing(transaction, write)
        taken = set()
        for position, node in enumerate(write.nodes):
            if node.id in seqs and node.id not in taken:
                taken.add(node.id)  # the second row of one id in a request repeats the first
                continue
            there = standing.nodes.get(node.id) or standing.external_ids.get((node.graph_name, node.external_id or ""))
            if there is None:
                raise _hidden(transaction) or Aborted("another call has deleted a row that this one repeats; try again")
            answer.setdefault("existed_nodes", {})[str(position)] = (there.id, there.created_at, there.seq)
            aliases[node.id] = there.id
    if write.edges:
        write = replace(write, edges=[_joined(edge, aliases) for edge in write.edges])
        standing = await _standing(transaction, write)
        for position, edge in enumerate(write.edges):
            if error := misplaced(edge, write.path("edge", position), standing.nodes):
                raise error
        written = await transaction.query(
            _WRITE_NEW_EDGES,
            parameters | _edge_columns(write.edges) | {"new_ids": id_array(seqs)},
            named=False,
        )
        new_ids = {row[0] for row in written}
        if len(new_ids) < len(write.edges):
            standing = await _standing(transaction, write)
        for position, edge in enumerate(write.edges):
            if edge.id in new_ids:
                new_ids.discard(edge.id)
                continue
            joined = standing.edges.get(edge.id) or standing.edge_ends.get(ends_of(edge))
            if joined is None:
                raise _hidden(transaction) or Aborted("another call has deleted a row that this one repeats; try again")
            answer.setdefault("existed_edges", {})[str(position)] = (joined.id, joined.created_at)
    return answer


def _taken(raised: psycopg.IntegrityError) -> ContextKeepError | None:
    """Return what a caller is told of a row in its way that it does not see: that an id is taken, and no more."""
    match raised.diag.constraint_name:
        case "node_pkey":
            return NodeExists("an id of the request is taken")
        case "node_external_id":
            return ExternalIdTaken("an external id of the request is taken in its graph")
        case "edge_pkey":
            return EdgeExists("an id of the request is taken")
    return None


def _hidden(transaction: Transaction) -> ContextKeepError | None:
    """Return the same, where Postgres did not say which."""
    return NodeExists("an id or external id of the request is taken") if transaction.bounds else None


def _joined(edge: NewEdge, aliases: Mapping[str, str]) -> NewEdge:
    """Return an edge between the nodes that are there in the place of its ends."""
    if edge.from_node_id not in aliases and edge.to_node_id not in aliases:
        return edge
    return edge._replace(
        from_node_id=aliases.get(edge.from_node_id, edge.from_node_id),
        to_node_id=aliases.get(edge.to_node_id, edge.to_node_id),
    )


async def _standing(transaction: Transaction, write: GraphWrite) -> Standing:
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


def _parameters(
    principal: Principal, write: GraphWrite, request: Request | None, *, bounds: str = ""
) -> dict[str, Any]:
    new_ids = {node.id for node in write.nodes}
    ends = {end for edge in write.edges for end in (edge.from_node_id, edge.to_node_id)}
    return {
        "tenant_id": principal.tenant_id,
        "created_by": principal.subject,
        "owner_user_id": principal.user_id,
        "agent_id": principal.agent_id,
        **_node_columns(write.nodes),
        "nodes_count": len(write.nodes),
        **_edge_columns(write.edges),
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


def _edge_columns(edges: Sequence[NewEdge]) -> dict[str, Any]:
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
