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
from service_runtime.postgres import Row, Tenant, TextArray, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged
from service_runtime.statements.requests import Request, answer_parameters
from service_runtime.statements.sql_files import SqlFile

_T = TypeVar("_T")

_NO_NODE = (None,) * len(NewNode._fields)

_NO_EDGE = (None,) * len(NewEdge._fields)

SQL = SqlFile.of(__file__)
WRITE = SQL["write"]
_STANDING_NODES = SQL["standing_nodes"]
_STANDING_EDGES = SQL["standing_edges"]
WRITE_NEW_NODES = SQL["write_new_nodes"]
WRITE_NEW_EDGES = SQL["write_new_edges"]
TRANSACTION_TIME = SQL["transaction_time"]
NODE_AS_WRITTEN = SQL["node_as_written"]
EDGE_AS_WRITTEN = SQL["edge_as_written"]


class ConstraintFailed(Exception):
    """A constraint refused a write. It says nothing about rows that the caller does not see.

    Attributes:
        constraint_name: The constraint, if Postgres named it.
    """

    def __init__(self, constraint_name: str | None) -> None:
        super().__init__(constraint_name)
        self.constraint_name = constraint_name


async def write_new(tenant: Tenant, parameters: dict[str, Any]) -> Row:
    """Write nodes and edges that are all new, and return a row with their time and the `seq` of each node.

    Raises:
        ConstraintFailed: one of them exists, or an end of an edge does not exist.
    """
    try:
        (row,) = await tenant.query(WRITE, parameters)
    except psycopg.IntegrityError as error:
        raise ConstraintFailed(error.diag.constraint_name) from error
    return row


async def transaction_once(tenant: Tenant, work: Callable[[Transaction], Awaitable[_T]]) -> _T:
    """Run a transaction once, and return the result of `work`.

    Raises:
        RowsChanged: a constraint failed, because another call changed the rows first; the caller may try again.
    """
    try:
        return await tenant.transaction(work)
    except psycopg.IntegrityError as error:
        raise RowsChanged from error


def taken_unseen(failure: ConstraintFailed) -> ContextKeepError | None:
    """Return the error for a conflict with a row that the caller may not see; it says only that an id is taken."""
    match failure.constraint_name:
        case "node_pkey":
            return NodeExists("a node with an id of the request already exists")
        case "node_external_id":
            return ExternalIdTaken("a node of the graph already has an external_id of the request")
        case "edge_pkey":
            return EdgeExists("an edge with an id of the request already exists")
    return None


def hidden_row(transaction: Transaction) -> ContextKeepError | None:
    """Return the error for a row that exists but cannot be read, as the key's bounds hide it; None without bounds."""
    return NodeExists("a node with an id or external_id of the request already exists") if transaction.bounds else None


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
    """Return the parameters of nodes to write: a column of values for each field.

    A column is None if all its nodes have the same value, which is then a parameter of its own or a default.
    """
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
    """Return the parameters of edges to write; the columns are as in `_node_columns`."""
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
    """Return a column of values, or None if all are equal to `common`."""
    return None if values.count(common) == len(values) else TextArray(values)


def _times(times: Sequence[int | None]) -> str | None:
    """Return a column of times, or None if none is given."""
    if times.count(None) == len(times):
        return None
    return "{" + ",".join(["NULL" if time is None else iso(time) for time in times]) + "}"
