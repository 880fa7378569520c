"""`contextkeep search`: nodes by their data and their connections."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import (
    JSON_OBJECT,
    Session,
    command,
    external_id_option,
    graph_option,
    limit_option,
)
from contextkeep.cli._output import Output
from contextkeep.inputs import ConnectedTo
from contextkeep.values import Direction


@command(
    click.option(
        "--where",
        "condition",
        type=JSON_OBJECT,
        help="Condition as JSON, or @FILE; see the example and docs/search.md.",
    ),
    click.option("--contains", type=JSON_OBJECT, help="Only nodes whose data contain this JSON object, or @FILE."),
    click.option(
        "--jsonpath", "json_path", default="", help="Only nodes for whose data this is true, such as '$.score > 0.5'."
    ),
    click.option(
        "--connected-to", "connected_node_id", help="Only nodes that edges lead to from this node (its UUID)."
    ),
    external_id_option("--connected-to"),
    click.option(
        "--direction",
        type=click.Choice(["out", "in", "both"]),
        default="out",
        show_default=True,
        help="Direction of the edges from --connected-to.",
    ),
    click.option(
        "--edge-type",
        "edge_types",
        multiple=True,
        help="Follow only edges of this type, such as Contains; may be repeated.",
    ),
    click.option(
        "--depth",
        "depth_max",
        type=click.IntRange(0),
        default=0,
        help="Maximum number of edges from --connected-to; 0 means 3.",
    ),
    click.option("--agent-bundle-id", default="", help="Only nodes of this agent bundle, such as crm-bundle."),
    click.option(
        "--order-by", default="", help="Field to sort by, such as name, or -name for descending.  [default: created_at]"
    ),
    graph_option("Graph to search."),
    click.option("--archived", "include_archived", is_flag=True, help="Include archived nodes."),
    click.option("--count", "only_count", is_flag=True, help="Print only the number of nodes."),
    limit_option(),
    name="search",
    example="""
contextkeep search --where '{"status": {"$eq": "Failed"}}' --count
contextkeep search --contains '{"language": "de"}' --order-by -data.score
contextkeep search --contains '{"language": "de"}' --connected-to 0197f1f2-0000-7000-8000-000000000001
""",
)
def search(
    session: Session,
    output: Output,
    *,
    condition: dict[str, Any] | None,
    connected_node_id: str | None,
    by_external_id: bool,
    direction: Direction,
    edge_types: tuple[str, ...],
    depth_max: int,
    order_by: str,
    only_count: bool,
    limit: int,
    **filters: Any,
) -> None:
    """Find nodes by fields, data and connections.

    Use it when you do not know the id of a node: a person, a session or another thing in the graph.
    """
    connected_to = None
    if connected_node_id:
        connected_to = ConnectedTo(
            None if by_external_id else connected_node_id,
            external_id=connected_node_id if by_external_id else "",
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
        )
    elif direction != "out" or edge_types or depth_max:
        raise click.UsageError("--direction, --edge-type and --depth need --connected-to")
    if only_count:
        output.one({"nodes": session.graph.graph.count(condition, connected_to=connected_to, **filters)})
        return
    nodes = session.graph.graph.search(
        condition,
        connected_to=connected_to,
        order_by=order_by.removeprefix("-"),
        descending=order_by.startswith("-"),
        **filters,
    )
    output.many(nodes, "id", "general_type_name", "name", "status", "created_at", limit=limit)
