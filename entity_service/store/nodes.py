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
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import utf8_bytes
from service_runtime.values.ids import parse_id

SQL = SqlFile.of(__file__)
NODE_COLUMNS = SQL["node_columns"]
NODE_IS_WANTED = SQL["node_is_wanted"]
EDGE_COLUMNS = SQL["edge_columns"]
NODE = SQL["node"]
NODE_BY_EXTERNAL_ID = SQL["node_by_external_id"]
_NEWEST_OF_NAME = SQL["newest_of_name"]
_NODES = SQL["nodes"]
_EDGES = SQL["edges"]
_EDGES_DESCENDING = SQL["edges_descending"]


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
            NodeNotFound: the tenant has no node with this id.
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
            NodeNotFound: the graph has no such node.
        """
        tenant = self._database.of(principal)
        parameters = {"graph_name": graph_name, "external_id": external_id}
        rows = await tenant.query(NODE_BY_EXTERNAL_ID, parameters, named=False)
        if not rows:
            raise NodeNotFound(
                "no node of the graph has this external_id", external_id=external_id, graph_name=graph_name
            )
        return Node._make(rows[0])

    async def newest_of_name(self, principal: Principal, *, graph_name: str, name: str) -> tuple[Node, int]:
        """Return the newest node of a name that is not archived, and how many there are.

        Raises:
            NodeNotFound: the graph has no such node.
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
    """Return the key after which the page begins.

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
