"""`contextgraph search`: nodes by what they hold and what they are connected to."""

from __future__ import annotations

from typing import Any

import click

from contextgraph.cli._base import JSON_OBJECT, Session, command, limit_option
from contextgraph.cli._output import Output
from contextgraph.inputs import ConnectedTo


@command(
    click.option("--where", "condition", type=JSON_OBJECT, help="A condition tree as JSON, or @FILE."),
    click.option("--contains", type=JSON_OBJECT, help="What the data holds, as a JSON object, or @FILE."),
    click.option("--jsonpath", "json_path", default="", help="A JSONPath that is true of the data."),
    click.option("--connected-to", "connected_node_id", help="Only nodes that a walk from this one reaches."),
    click.option("--external-id", "by_external_id", is_flag=True, help="--connected-to is your own id."),
    click.option("--graph", "graph_name", default="", help="The graph; else default."),
    click.option("--archived", "include_archived", is_flag=True, help="Archived ones, too."),
    click.option("--count", "only_count", is_flag=True, help="Print only how many."),
    limit_option(),
    name="search",
    example="""
contextgraph search --where '{"status": {"$eq": "Failed"}}' --count
contextgraph search --contains '{"language": "de"}' --connected-to 0197f1f2-0000-7000-8000-000000000001
""",
)
def search(
    session: Session,
    output: Output,
    *,
    condition: dict[str, Any] | None,
    connected_node_id: str | None,
    by_external_id: bool,
    only_count: bool,
    limit: int,
    **filters: Any,
) -> None:
    """Find nodes by fields, data and connections."""
    connected_to = None
    if connected_node_id:
        connected_to = ConnectedTo(external_id=connected_node_id) if by_external_id else ConnectedTo(connected_node_id)
    if only_count:
        output.one({"nodes": session.graph.count_nodes(condition, connected_to=connected_to, **filters)})
        return
    nodes = session.graph.search_nodes(condition, connected_to=connected_to, **filters)
    output.many(nodes, "id", "general_type_name", "name", "status", "created_at", limit=limit)
