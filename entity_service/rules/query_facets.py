"""Structured questions about nodes: exact counts, sums and superlatives, computed by Postgres.

A model that reads the best hits of a search cannot count what it does not see. These answers read every node that
matches. Conditions run as in searches: on no node that the caller may not see (`service_runtime.inputs.policies`).
"""

from __future__ import annotations

from entity_service.model.facets import FacetAnswer, FacetList, FacetQuery
from entity_service.model.search import CREATED_AT, NodeFilter, NodeSearch
from entity_service.rules.search_nodes import Search
from entity_service.store.facets import FacetStore, edge_condition
from entity_service.store.node_search import FIELDS
from service_runtime.inputs.conditions import Bindings, condition_sql
from service_runtime.rpc.principal import Principal


class FacetQueries:
    """Answers structured questions of all tenants; every method sees the principal's nodes."""

    def __init__(self, search: Search, store: FacetStore) -> None:
        self._search = search
        self._store = store

    async def fields(self, principal: Principal, *, graph_name: str, type_name: str) -> FacetList:
        """Return the fields of nodes by type, and the edges of each type."""
        return await self._store.fields(principal, graph_name=graph_name, type_name=type_name)

    async def answer(self, principal: Principal, query: FacetQuery) -> FacetAnswer:
        """Return the first nodes in order, or groups with measures.

        Raises:
            InvalidArgument: a condition is malformed, or a field does not exist.
            LimitExceeded: the condition is too large.
        """
        bindings = Bindings()
        conditions = [
            edge_condition(edge, bindings, is_absent=is_absent)
            for edges, is_absent in ((query.with_edges, False), (query.without_edges, True))
            for edge in edges
        ]
        if query.condition_json:
            conditions.append(condition_sql("condition_json", query.condition_json, FIELDS, bindings))
        node_filter = _filter(query)
        if query.group_by or query.measures:
            condition = await self._search.condition(principal, node_filter, bindings)
            return await self._store.groups(principal, query, " AND ".join([condition, *conditions]), bindings)
        search = NodeSearch(
            filter=node_filter,
            order_by=query.order_by or CREATED_AT,
            descending=query.descending,
            page_size=query.limit,
            page_token="",
        )
        nodes, count = await self._search.first(principal, search, conditions, bindings, graph_name=query.graph_name)
        return FacetAnswer(node_count=count, nodes=tuple(nodes))


def _filter(query: FacetQuery) -> NodeFilter:
    return NodeFilter(
        graph_name=query.graph_name,
        condition_json="",  # `answer` compiles it, so that errors name the field of its own request
        contains_json="",
        json_path="",
        connected_to=None,
        agent_bundle_id="",
        include_archived=query.include_archived,
    )
