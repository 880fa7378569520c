"""Searches of nodes: one statement for each search, made from the caller's filter.

The statements read the tenant's view, where Postgres may use indexes for jsonb; conditions of the caller run only on
rows that the view's policy column lets through (`service_runtime.inputs.policies`). Texts of the caller are
parameters; the text around them is made of the constants here and of `service_runtime.inputs.conditions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextkeep.errors import InvalidArgument, LimitExceeded
from entity_service.model.nodes import Node
from entity_service.model.search import ConnectedTo, NodeFilter, NodePage, NodeSearch
from entity_service.model.walks import Walk
from entity_service.pure import json_paths
from entity_service.rules.traverse import Traversal
from entity_service.store.node_search import (
    FIELDS,
    JSON_PATH,
    JSON_PATH_WRITTEN_CHARS_MAX,
    after_sql,
    count_statement,
    order_by_sql,
    order_of,
    page_statement,
    refusing_json_path,
    token_binding,
)
from entity_service.store.nodes import id_array
from service_runtime.inputs.conditions import Bindings, condition_sql
from service_runtime.inputs.pages import PAGE_BYTES_MAX, encode_token
from service_runtime.inputs.policies import guarded
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import utf8_bytes
from service_runtime.values.copying import copied


class Search:
    """Searches the nodes of all tenants; every method sees the principal's."""

    def __init__(self, database: Database, traversal: Traversal) -> None:
        self._database = database
        self._traversal = traversal

    async def page(self, principal: Principal, search: NodeSearch) -> NodePage:
        """Return a page of the nodes that match.

        Raises:
            InvalidArgument: a condition or a path is malformed, or there is no such field.
            InvalidPageToken: the token is of another search.
            NodeNotFound, NodeBudgetExceeded: `connected_to` names no node, or reaches too many.
        """
        tenant = self._database.of(principal)
        bindings = Bindings()
        order = order_of(search, bindings)
        parts = {
            **order._asdict(),
            "order": order_by_sql(search),
            "after": after_sql(tenant, search, bindings),
            "filter": await self.condition(principal, search.filter, bindings),
        }
        parameters = {
            **bindings.values,
            "rows": search.page_size + 1,  # one more than wanted says whether there are more
            "bytes_max": PAGE_BYTES_MAX,
        }
        with refusing_json_path():
            rows = await tenant.query(page_statement(parts), parameters, named=False, ad_hoc=True)
        nodes: list[Node] = []
        size_bytes = 0
        for row in rows[: search.page_size]:
            node = Node._make(row[4:])
            size_bytes += utf8_bytes(node.data_json)
            if nodes and size_bytes > PAGE_BYTES_MAX:
                break
            nodes.append(node)
        if not rows or len(nodes) == rows[0][0]:
            return NodePage(nodes, "")
        last = rows[len(nodes) - 1]
        return NodePage(
            nodes, encode_token(token_binding(tenant, search), (*last[1:4], nodes[-1].created_at, nodes[-1].seq))
        )

    async def count(self, principal: Principal, node_filter: NodeFilter) -> int:
        """Return the number of nodes that match; errors as of `page`."""
        tenant = self._database.of(principal)
        bindings = Bindings()
        statement = count_statement(await self.condition(principal, node_filter, bindings))
        parameters = {**bindings.values}
        with refusing_json_path():
            (row,) = await tenant.query(statement, parameters, named=False, ad_hoc=True)
        count: int = row[0]
        return count

    async def first(
        self,
        principal: Principal,
        search: NodeSearch,
        conditions: Sequence[str],
        bindings: Bindings,
        *,
        graph_name: str,
    ) -> tuple[list[Node], int]:
        """Return the first nodes of a search that also meet further conditions, and the number of all.

        Args:
            principal: The caller.
            search: The search; its page token is not used.
            conditions: The further conditions, as SQL.
            bindings: The parameters of the conditions.
            graph_name: The graph that the conditions name.

        Raises:
            InvalidArgument: a condition is malformed, or there is no such field.
        """
        tenant = self._database.of(principal)
        order = order_of(search, bindings)
        condition = " AND ".join([await self.condition(principal, search.filter, bindings), *conditions])
        parts = {**order._asdict(), "order": order_by_sql(search), "after": "TRUE", "filter": condition}
        parameters = {**bindings.values, "graph_name": graph_name}
        page = {"rows": search.page_size, "bytes_max": PAGE_BYTES_MAX}
        rows = await tenant.query(page_statement(parts), {**parameters, **page}, named=False, ad_hoc=True)
        if rows:
            return [Node._make(row[4:]) for row in rows], rows[0][0]
        return [], 0

    async def condition(self, principal: Principal, node_filter: NodeFilter, bindings: Bindings) -> str:
        """Return the condition of a filter, as SQL."""
        parts = []
        if node_filter.graph_name:
            parts.append(f"n.graph_name = {bindings.add(node_filter.graph_name, 'text')}")
        if not node_filter.include_archived:
            parts.append("NOT n.is_archived")
        if node_filter.agent_bundle_id:
            parts.append(f"n.agent_bundle_id = {bindings.add(node_filter.agent_bundle_id, 'text')}")
        if node_filter.condition_json:
            parts.append(condition_sql("filter.condition_json", node_filter.condition_json, FIELDS, bindings))
        if node_filter.contains_json:
            parts.append(f"n.data @> {bindings.add(node_filter.contains_json, 'jsonb')}")
        if node_filter.json_path:
            parts.append(await self._json_path(principal, node_filter.json_path, bindings))
        if node_filter.connected_to is not None:
            ids = await self._connected_ids(
                principal, node_filter.connected_to, include_archived=node_filter.include_archived
            )
            parts.append(f"n.id = ANY ({bindings.add(id_array(ids), 'uuid[]')})")
        return " AND ".join(parts) or "TRUE"

    async def _json_path(self, principal: Principal, json_path: str, bindings: Bindings) -> str:
        """Return the condition of a JSONPath, as SQL.

        Raises:
            InvalidArgument: it is malformed, or has a variable.
            LimitExceeded: its numbers have too many digits.
        """
        tenant = self._database.of(principal)
        parameters = {"json_path": json_path, "chars_max": JSON_PATH_WRITTEN_CHARS_MAX}
        with refusing_json_path():
            (row,) = await tenant.query(JSON_PATH, parameters)
        if not row.is_valid:
            raise InvalidArgument("filter.json_path must be a valid JSONPath", field="filter.json_path")
        if len(row.written) > JSON_PATH_WRITTEN_CHARS_MAX:
            raise LimitExceeded(
                f"filter.json_path must have at most {JSON_PATH_WRITTEN_CHARS_MAX:,} characters with its numbers "
                f"written out (got {len(row.written):,})",
                limit="filter.json_path",
                limit_max=JSON_PATH_WRITTEN_CHARS_MAX,
                value=len(row.written),
            )
        known = json_paths.read(row.written)
        if known.has_variable:
            raise InvalidArgument(
                "filter.json_path must have no variables: they would have no values", field="filter.json_path"
            )
        operator = "@@" if row.is_predicate else "@?"
        return guarded(
            FIELDS.policy,
            f"n.data {operator} {bindings.add(json_path, 'jsonpath')}",
            index=f"n.data @@ {bindings.add(known.index, 'jsonpath')}" if known.index else "",
        )

    async def _connected_ids(
        self, principal: Principal, connection: ConnectedTo, *, include_archived: bool
    ) -> list[str]:
        """Return the ids of the nodes that can be reached."""
        walk = copied(
            Walk,
            connection,
            start_ids=[connection.node_id],
            node_types=(),
            include_archived=include_archived,
            include_start=False,
            include_io=False,
            columns=(),
            order_path=(),
            descending=False,
            limit=0,
            page_token="",
            after=None,
        )
        return await self._traversal.reached_ids(principal, walk)
