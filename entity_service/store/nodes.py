"""Nodes and edges, read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from contextkeep.errors import InvalidArgument, InvalidPageToken, NodeNotFound
from entity_service.model.edges import Direction, Edge, EdgePage, EdgeQuery
from entity_service.model.limits import ANSWER_BYTES_MAX
from entity_service.model.nodes import Node
from entity_service.model.refusals import node_not_found, too_large
from entity_service.model.times import iso
from service_runtime.auth import Principal
from service_runtime.checks import utf8_bytes
from service_runtime.ids import parse_id
from service_runtime.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Tenant

# The columns of `Node`, in its order, of a table named n. Every query that reads nodes has them.
NODE_COLUMNS = """
    n.id::text, n.external_id, n.graph_name, n.agent_bundle_id, n.general_type_name, n.specific_type_name, n.name,
    n.status, n.data::text, n.is_archived, n.seq, (extract(epoch FROM n.created_at) * 1000000)::bigint,
    (extract(epoch FROM n.modified_at) * 1000000)::bigint, n.version, n.created_by, n.owner_user_id, n.agent_id,
    n.context_id::text
"""

# Whether a caller wants a node of a table named n.
NODE_IS_WANTED = """(
    (%(include_archived)s OR NOT n.is_archived)
    AND (
        %(all_node_types)s
        OR n.general_type_name = ANY (%(node_types)s::text[])
        OR n.specific_type_name = ANY (%(node_types)s::text[])
    )
)"""

# The columns of `Edge`, in its order, of a table named e.
EDGE_COLUMNS = """
    e.id::text, e.graph_name, e.from_node_id::text, e.to_node_id::text, e.edge_type, e.data::text,
    (extract(epoch FROM e.created_at) * 1000000)::bigint, e.version, e.context_id::text
"""

NODE = f"SELECT {NODE_COLUMNS} FROM entity.node n WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s"  # noqa: S608

NODE_BY_EXTERNAL_ID = f"""
SELECT {NODE_COLUMNS}
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.external_id = %(external_id)s
"""  # noqa: S608

# The conditions are those of the partial index; so is the order.
_NEWEST_OF_NAME = f"""
SELECT {NODE_COLUMNS}, (
    SELECT count(*) FROM entity.node o
    WHERE o.tenant_id = %(tenant_id)s AND o.graph_name = %(graph_name)s AND o.name = %(name)s
        AND o.name <> '' AND NOT o.is_archived
)
FROM entity.node n
WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = %(graph_name)s AND n.name = %(name)s
    AND n.name <> '' AND NOT n.is_archived
ORDER BY n.created_at DESC, n.seq DESC
LIMIT 1
"""  # noqa: S608

# No more documents than may be answered are read; `found` says whether that left any out. As text they can be
# larger or smaller than in Postgres, numbers above all: hence four times the size.
_NODES = f"""
SELECT {NODE_COLUMNS}, n.found
FROM (
    SELECT
        n.*, count(*) OVER () AS found,
        sum(entity.document_bytes(n.data)) OVER (
            ORDER BY n.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM entity.node n
    WHERE n.tenant_id = %(tenant_id)s AND n.id = ANY (%(ids)s::uuid[])
) n
WHERE coalesce(n.bytes_before, 0) < 4 * %(bytes_max)s
"""  # noqa: S608


# A page of a node's edges. A loop is one edge, also when both directions are asked for. Ends are compared as ranges,
# which only the index of that end serves: for an equality the planner reads all edges there are once it has seen that
# most have one end.
def _edges(way: str, behind: str) -> str:
    """Return the statement of a page: from one end of the order, or from the other."""
    return f"""
SELECT {EDGE_COLUMNS}, e.found
FROM (
    SELECT
        e.*, count(*) OVER () AS found,
        sum(entity.document_bytes(e.data)) OVER (
            ORDER BY e.created_at {way}, e.id {way} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS bytes_before
    FROM (
        SELECT
            e.id, e.graph_name, e.from_node_id, e.to_node_id, e.edge_type, e.data, e.created_at, e.version,
            e.context_id
        FROM entity.edge e
        WHERE %(outward)s AND e.tenant_id = %(tenant_id)s AND e.from_node_id >= %(node_id)s
            AND e.from_node_id <= %(node_id)s AND (%(all_edge_types)s OR e.edge_type = ANY (%(edge_types)s::text[]))
            AND (e.created_at, e.id) {behind} (%(after_at)s::timestamptz, %(after_id)s::uuid)
        UNION ALL
        SELECT
            e.id, e.graph_name, e.from_node_id, e.to_node_id, e.edge_type, e.data, e.created_at, e.version,
            e.context_id
        FROM entity.edge e
        WHERE %(inward)s AND e.tenant_id = %(tenant_id)s AND e.to_node_id >= %(node_id)s
            AND e.to_node_id <= %(node_id)s AND (%(all_edge_types)s OR e.edge_type = ANY (%(edge_types)s::text[]))
            AND (e.created_at, e.id) {behind} (%(after_at)s::timestamptz, %(after_id)s::uuid)
            AND NOT (%(outward)s AND e.from_node_id = e.to_node_id)
        ORDER BY created_at {way}, id {way}
        LIMIT %(rows)s
    ) e
) e
WHERE coalesce(e.bytes_before, 0) < %(bytes_max)s
ORDER BY e.created_at {way}, e.id {way}
"""  # noqa: S608 - of constants


_EDGES = _edges("ASC", ">")

_EDGES_DESCENDING = _edges("DESC", "<")  # the same page from the other end

_FIRST_KEY = ("-infinity", "00000000-0000-0000-0000-000000000000")

_FIRST_KEY_DESCENDING = ("infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff")


def id_array(ids: Iterable[str | None]) -> str:
    """Return ids as Postgres writes an array of them: psycopg takes a microsecond for each element of a list."""
    return "{" + ",".join([node_id or "NULL" for node_id in ids]) + "}"


class GraphStore:
    """The nodes and edges of all tenants; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def node(self, principal: Principal, node_id: str) -> Node:
        """Return a node.

        Raises:
            NodeNotFound: the tenant has none of this id.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(NODE, {"id": node_id}, named=False)
        if not rows:
            raise node_not_found(node_id)
        return Node._make(rows[0])

    async def nodes(self, principal: Principal, node_ids: Sequence[str]) -> dict[str, Node]:
        """Return the nodes there are, by id.

        Raises:
            AnswerTooLarge: their documents do not fit one answer.
        """
        tenant = self._database.of(principal)
        parameters = {"ids": id_array(node_ids), "bytes_max": ANSWER_BYTES_MAX}
        rows = await tenant.query(_NODES, parameters, named=False)
        if rows and rows[0][-1] > len(rows):
            raise too_large("BatchGetNodes")
        return {row[0]: Node._make(row[:-1]) for row in rows}

    async def node_by_external_id(self, principal: Principal, *, graph_name: str, external_id: str) -> Node:
        """Return the node with the caller's own id.

        Raises:
            NodeNotFound: the graph has none.
        """
        tenant = self._database.of(principal)
        parameters = {"graph_name": graph_name, "external_id": external_id}
        rows = await tenant.query(NODE_BY_EXTERNAL_ID, parameters, named=False)
        if not rows:
            raise NodeNotFound(
                "no node of the graph has this external id", external_id=external_id, graph_name=graph_name
            )
        return Node._make(rows[0])

    async def newest_of_name(self, principal: Principal, *, graph_name: str, name: str) -> tuple[Node, int]:
        """Return the newest node of a name that is not archived, and how many there are.

        Raises:
            NodeNotFound: the graph has none.
        """
        tenant = self._database.of(principal)
        parameters = {"graph_name": graph_name, "name": name}
        rows = await tenant.query(_NEWEST_OF_NAME, parameters, named=False)
        if not rows:
            raise NodeNotFound("no node of the graph has this name", name=name, graph_name=graph_name)
        return Node._make(rows[0][:-1]), rows[0][-1]

    async def edges(self, principal: Principal, query: EdgeQuery) -> EdgePage:
        """Return a page of a node's edges, by `created_at`, then id.

        Raises:
            NodeNotFound: the tenant has no such node.
            InvalidPageToken: the token is of another query.
        """
        tenant = self._database.of(principal)
        after_at, after_id = _edge_key(tenant, query)
        rows = await tenant.query(
            _EDGES_DESCENDING if query.descending else _EDGES,
            {
                "node_id": query.node_id,
                "outward": query.direction is not Direction.IN,
                "inward": query.direction is not Direction.OUT,
                "edge_types": list(query.edge_types),
                "all_edge_types": not query.edge_types,
                "after_at": after_at,
                "after_id": after_id,
                "rows": query.page_size + 1,  # one more than wanted says whether there are more
                "bytes_max": PAGE_BYTES_MAX,
            },
            named=False,
        )
        if not rows:
            await self.node(principal, query.node_id)  # no edges, or no such node: only then it is worth asking
            return EdgePage([], "")
        edges: list[Edge] = []
        size_bytes = 0
        for row in rows[: query.page_size]:
            edge = Edge._make(row[:-1])
            size_bytes += utf8_bytes(edge.data_json)
            if edges and size_bytes > PAGE_BYTES_MAX:
                break
            edges.append(edge)
        if len(edges) == rows[0][-1]:
            return EdgePage(edges, "")
        return EdgePage(edges, encode_token(_edge_binding(tenant, query), (edges[-1].created_at, edges[-1].id)))


def _edge_binding(tenant: Tenant, query: EdgeQuery) -> tuple[object, ...]:
    return "ListEdges", tenant.tenant_id, query.node_id, query.direction.value, query.edge_types, query.descending


def _edge_key(tenant: Tenant, query: EdgeQuery) -> tuple[str, str]:
    """Return the key behind which the page begins.

    Raises:
        InvalidPageToken: the token is malformed, or of another query.
    """
    key: list[Any] | None = decode_token(_edge_binding(tenant, query), query.page_token, parts=2)
    if key is None:
        return _FIRST_KEY_DESCENDING if query.descending else _FIRST_KEY
    created_at, edge_id = key
    try:
        if type(created_at) is not int or not isinstance(edge_id, str):
            raise ValueError("not a time and an id")
        return iso(created_at), str(parse_id("page_token", edge_id))
    except (ValueError, OverflowError, InvalidArgument):
        raise InvalidPageToken("page_token is malformed", field="page_token") from None
