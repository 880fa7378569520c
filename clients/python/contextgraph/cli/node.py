"""`contextgraph node`: the nodes of the entity graph."""

from __future__ import annotations

from typing import Any

import click

from contextgraph.cli._base import JSON_OBJECT, Session, command, limit_option
from contextgraph.cli._output import Output

_ROW = ("id", "general_type_name", "name", "status", "version", "created_at")
_NODE = click.argument("node_id")
_VERSION = click.option("--expected-version", type=int, help="Fail if it has another version by now.")


@click.group(epilog="\b\nExample:\n  contextgraph node get 0197f1f2-0000-7000-8000-000000000001")
def node() -> None:
    """Nodes of the entity graph."""


@command(_NODE, name="get", group=node, example="contextgraph node get 0197f1f2-0000-7000-8000-000000000001 --json")
def get(session: Session, output: Output, *, node_id: str) -> None:
    """Print a node."""
    output.one(session.graph.get_node(node_id))


@command(
    click.argument("general_type_name", metavar="TYPE"),
    click.option("--name", default="", help="A label."),
    click.option("--data", type=JSON_OBJECT, help="A JSON object, or @FILE."),
    click.option("--external-id", default="", help="Your own id of it."),
    click.option("--graph", "graph_name", default="", help="Else default."),
    click.option("--get-existing", is_flag=True, help="Print the node that has the external id already."),
    name="create",
    group=node,
    example='contextgraph node create Session --name support --data \'{"language": "de"}\'',
)
def create(session: Session, output: Output, *, general_type_name: str, **given: Any) -> None:
    """Write a node."""
    output.one(session.graph.create_node(general_type_name, **given), *_ROW)


@command(
    _NODE,
    click.argument("data", type=JSON_OBJECT),
    click.option("--replace", is_flag=True, help="Replace the data instead of merging into it."),
    _VERSION,
    name="update",
    group=node,
    example="contextgraph node update 0197f1f2-0000-7000-8000-000000000001 '{\"language\": null}'",
)
def update(session: Session, output: Output, *, node_id: str, data: dict[str, Any], **given: Any) -> None:
    """Merge JSON into a node's data; null removes a field."""
    output.one(session.graph.update_node_data(node_id, data, **given), *_ROW)


@command(
    _NODE,
    click.argument("status"),
    click.option("--expected-status", help="Fail if it has another status by now."),
    click.option("--message", default="", help="For the timeline."),
    name="status",
    group=node,
    example="contextgraph node status 0197f1f2-0000-7000-8000-000000000001 Completed --expected-status Running",
)
def set_status(session: Session, output: Output, *, node_id: str, status: str, **given: Any) -> None:
    """Set a node's status."""
    output.one(session.graph.update_node_status(node_id, status, **given), *_ROW)


@command(
    _NODE,
    click.option("--restore", is_flag=True, help="Bring it back."),
    name="archive",
    group=node,
    example="contextgraph node archive 0197f1f2-0000-7000-8000-000000000001",
)
def archive(session: Session, output: Output, *, node_id: str, restore: bool) -> None:
    """Archive a node, or bring it back (--restore)."""
    output.one(session.graph.archive_node(node_id, restore=restore), *_ROW)


@command(
    _NODE,
    click.option("--direction", type=click.Choice(["out", "in", "both"]), default="out", show_default=True),
    click.option("--edge-type", "edge_types", multiple=True, help="Along these only; may be repeated."),
    click.option("--depth", "depth_max", type=click.IntRange(0), default=1, show_default=True, help="Steps at most."),
    limit_option(),
    name="connected",
    group=node,
    example="contextgraph node connected 0197f1f2-0000-7000-8000-000000000001 --depth 2",
)
def connected(session: Session, output: Output, *, node_id: str, limit: int, **walk: Any) -> None:
    """List the nodes that a walk from a node reaches."""
    found = (
        {"depth": each.depth, **{name: getattr(each.node, name) for name in _ROW}, "data": each.node.data}
        for each in session.graph.traverse(node_id, **walk)
    )
    output.many(found, "depth", *_ROW, limit=limit)
