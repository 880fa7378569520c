"""What a tenant has, by name: its graphs, and the edge types of a graph, with how much there is of each.

Names are found by hopping through an index from one to the next, and counted in the index alone: what it costs grows
with the rows of the names on the page.
"""

from __future__ import annotations

from typing import Any

from contextkeep.errors import InvalidPageToken
from entity_service.model.counts import EdgeTypeCount, EdgeTypePage, GraphCount, GraphPage
from service_runtime.auth import Principal
from service_runtime.pages import decode_token, encode_token
from service_runtime.postgres import Database, Tenant


def _graphs(*, nodes: str, edges: str) -> str:
    return f"""
WITH RECURSIVE name AS (
    (
        SELECT n.graph_name FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.graph_name > %(after)s
        ORDER BY n.graph_name
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT n.graph_name FROM entity.node n
        WHERE n.tenant_id = %(tenant_id)s AND n.graph_name > name.graph_name
        ORDER BY n.graph_name
        LIMIT 1
    )
    FROM name
    WHERE name.graph_name IS NOT NULL
)
SELECT
    p.graph_name,
    (
        SELECT count(*) FROM {nodes} n WHERE n.tenant_id = %(tenant_id)s AND n.graph_name = p.graph_name
    ) AS nodes,
    (
        SELECT count(*) FROM {edges} e WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = p.graph_name
    ) AS edges
FROM (SELECT graph_name FROM name WHERE graph_name IS NOT NULL LIMIT %(rows)s) p
"""  # noqa: S608 - of constants


def _edge_types(*, edges: str) -> str:
    return f"""
WITH RECURSIVE name AS (
    (
        SELECT e.edge_type FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type > %(after)s
        ORDER BY e.edge_type
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT e.edge_type FROM entity.edge e
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type > name.edge_type
        ORDER BY e.edge_type
        LIMIT 1
    )
    FROM name
    WHERE name.edge_type IS NOT NULL
)
SELECT
    p.edge_type, (
        SELECT count(*) FROM {edges} e
        WHERE e.tenant_id = %(tenant_id)s AND e.graph_name = %(graph_name)s AND e.edge_type = p.edge_type
    ) AS edges
FROM (SELECT edge_type FROM name WHERE edge_type IS NOT NULL LIMIT %(rows)s) p
"""  # noqa: S608 - of constants


# The views are of callers who are not bound; for others the tables count, below their policies.
_GRAPHS = _graphs(nodes="entity.node_to_count", edges="entity.edge_to_count")

_GRAPHS_IN_BOUNDS = _graphs(nodes="entity.node", edges="entity.edge")

_EDGE_TYPES = _edge_types(edges="entity.edge_to_count")

_EDGE_TYPES_IN_BOUNDS = _edge_types(edges="entity.edge")


class Counts:
    """Counts what tenants have; every method sees the principal's."""

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
    key: list[Any] | None = decode_token(binding, page_token, parts=1)
    after = "" if key is None else key[0]
    if not isinstance(after, str) or "\0" in after:
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return await tenant.query(statement, {"after": after, **parameters}, named=False)


ANALYZE_NEW_TABLES = "SELECT entity.analyze_new_tables() AS known"
