"""A tenant's graphs, and the edge types of a graph, by name, with the number of rows of each.

The statements find names by jumping through an index from one name to the next, and count the rows in the index alone.
So the cost of a page grows only with the number of rows that its names have.
"""

from __future__ import annotations

from typing import Any

from contextkeep.errors import InvalidPageToken
from entity_service.model.counts import EdgeTypeCount, EdgeTypePage, GraphCount, GraphPage
from service_runtime.inputs.pages import decode_token, encode_token
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_GRAPHS = SQL["graphs"]
_GRAPHS_IN_BOUNDS = SQL["graphs_in_bounds"]
_EDGE_TYPES = SQL["edge_types"]
_EDGE_TYPES_IN_BOUNDS = SQL["edge_types_in_bounds"]
ANALYZE_NEW_TABLES = SQL["analyze_new_tables"]


class Counts:
    """Counts rows by name; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def graphs(self, principal: Principal, *, page_size: int, page_token: str) -> GraphPage:
        """Return a page of the graphs that have nodes.

        Raises:
            InvalidPageToken: the token is of another list.
        """
        tenant = self._database.of(principal)
        binding = ("ListGraphs", tenant.tenant_id)
        statement = _GRAPHS_IN_BOUNDS if tenant.bounds else _GRAPHS
        rows = await _page(tenant, statement, binding, page_token, {"rows": page_size + 1})
        graphs = [GraphCount._make(row) for row in rows[:page_size]]
        more = len(rows) > page_size
        return GraphPage(graphs, encode_token(binding, [graphs[-1].graph_name]) if more else "")

    async def edge_types(
        self, principal: Principal, graph_name: str, *, page_size: int, page_token: str
    ) -> EdgeTypePage:
        """Return a page of the edge types of a graph.

        Raises:
            InvalidPageToken: the token is of another list.
        """
        tenant = self._database.of(principal)
        binding = ("ListEdgeTypes", tenant.tenant_id, graph_name)
        parameters = {"graph_name": graph_name, "rows": page_size + 1}
        statement = _EDGE_TYPES_IN_BOUNDS if tenant.bounds else _EDGE_TYPES
        rows = await _page(tenant, statement, binding, page_token, parameters)
        edge_types = [EdgeTypeCount._make(row) for row in rows[:page_size]]
        more = len(rows) > page_size
        return EdgeTypePage(edge_types, encode_token(binding, [edge_types[-1].edge_type]) if more else "")


async def _page(
    tenant: Tenant, statement: str, binding: tuple[object, ...], page_token: str, parameters: dict[str, Any]
) -> list[Any]:
    """Return the rows of a page of names after a token.

    Raises:
        InvalidPageToken: the token is malformed or belongs to another list.
    """
    key: list[Any] | None = decode_token(binding, page_token, parts=1)
    after = "" if key is None else key[0]
    if not isinstance(after, str) or "\0" in after:
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return await tenant.query(statement, {"after": after, **parameters}, named=False)
