"""`contextkeep edge`: edges between nodes."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import (
    JSON_OBJECT,
    NodeArgument,
    Session,
    command,
    external_id_option,
    graph_option,
    limit_option,
)
from contextkeep.cli._output import Output

_ROW = ("id", "from_node_id", "edge_type", "to_node_id", "created_at")


@click.group(epilog="\b\nExample:\n  contextkeep edge list 0197f1f2-0000-7000-8000-000000000001")
def edge() -> None:
    """Edges: typed connections between nodes of the graph."""


@command(
    NodeArgument(),
    click.option(
        "--direction",
        type=click.Choice(["out", "in", "both"]),
        default="out",
        show_default=True,
        help="Edges that leave the node, enter it, or both.",
    ),
    click.option(
        "--type", "edge_types", multiple=True, help="Only edges of this type, such as Contains; may be repeated."
    ),
    limit_option(),
    name="list",
    group=edge,
    example="""
contextkeep edge list 0197f1f2-0000-7000-8000-000000000001 --direction both --type Contains
""",
)
def list_edges(session: Session, output: Output, *, node: dict[str, Any], limit: int, **filters: Any) -> None:
    """List the edges of a node.

    Use it to see what a node is connected to, one step away. For more steps use `contextkeep node connected`.
    """
    output.many(session.graph.graph.list_edges(**node, **filters), *_ROW, limit=limit)


@command(
    click.argument("from_node_id"),
    click.argument("to_node_id"),
    click.argument("edge_type"),
    click.option("--data", type=JSON_OBJECT, help="Data of the edge, such as '{\"weight\": 1}', or @FILE."),
    external_id_option("Each node argument"),
    graph_option("Graph of both nodes."),
    name="create",
    group=edge,
    example="""
contextkeep edge create 0197f1f2-0000-7000-8000-000000000001 0197f1f2-0000-7000-8000-000000000002 Contains
""",
)
def create(
    session: Session, output: Output, *, from_node_id: str, to_node_id: str, by_external_id: bool, **options: Any
) -> None:
    """Create an edge between two nodes.

    Use it to connect nodes that exist already.

    EDGE_TYPE is Contains, Calls, InResponseTo or a name of your own. The edge leads from the first node to the second.
    """
    ends: dict[str, Any] = {"from_node_id": from_node_id, "to_node_id": to_node_id}
    if by_external_id:
        ends = {"from_external_id": from_node_id, "to_external_id": to_node_id}
    output.one(session.graph.graph.create_edge(**ends, **options), *_ROW)


@command(
    click.argument("edge_id"),
    name="delete",
    group=edge,
    example="""
contextkeep edge delete 0197f1f2-0000-7000-8000-000000000003
""",
)
def delete(session: Session, output: Output, *, edge_id: str) -> None:
    """Delete an edge and print it.

    Use it to disconnect two nodes; the nodes stay. EDGE_ID is the id in `contextkeep edge list`.
    """
    output.one(session.graph.graph.delete_edge(edge_id), *_ROW)
