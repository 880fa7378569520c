"""`contextkeep node`: the nodes of the entity graph."""

from __future__ import annotations

from typing import Any, get_args

import click

from contextkeep.cli._base import (
    JSON,
    JSON_ARRAY,
    JSON_OBJECT,
    NodeArgument,
    Session,
    command,
    confirm,
    external_id_option,
    limit_option,
    node_named,
    yes_option,
)
from contextkeep.cli._output import Format, Output
from contextkeep.client._messages import NOT_GIVEN
from contextkeep.errors import NodeNotFound
from contextkeep.values import EnvelopeType

_ROW = ("id", "general_type_name", "name", "status", "version", "created_at")
_NODE = NodeArgument()
_VERSION = click.option("--expected-version", type=int, help="Fail if it has another version by now.")


def _named(node: dict[str, Any]) -> dict[str, Any]:
    """Return what names a node that is printed no more."""
    return {"id": node["node_id"]} if "node_id" in node else {"external_id": node["external_id"]}


@click.group(epilog="\b\nExample:\n  contextkeep node get 0197f1f2-0000-7000-8000-000000000001")
def node() -> None:
    """Nodes of the entity graph."""


@command(
    click.argument("node_ids", metavar="NODE_ID...", nargs=-1, required=True),
    external_id_option,
    click.option("--name", "by_name", is_flag=True, help="It is a name: of the nodes that have it, the newest."),
    click.option("--graph", "graph_name", default="", help="Where to look for your own id or a name; else default."),
    name="get",
    group=node,
    example="""
contextkeep node get 0197f1f2-0000-7000-8000-000000000001 --json
contextkeep node get 0197f1f2-0000-7000-8000-000000000001 0197f1f2-0000-7000-8000-000000000002
contextkeep node get thread-42 --external-id
""",
)
def get(
    session: Session,
    output: Output,
    *,
    node_ids: tuple[str, ...],
    by_external_id: bool,
    by_name: bool,
    graph_name: str,
) -> None:
    """Print a node, or list several.

    If one is not there, the exit code is 3.
    """
    if len(node_ids) > 1:
        if by_external_id or by_name or graph_name:
            raise click.UsageError("several nodes go by their ids")
        batch = session.graph.graph.get_nodes(node_ids)
        output.many(batch.nodes, *_ROW)
        if batch.missing_ids:
            raise NodeNotFound(f"there is no node {', '.join(batch.missing_ids)}")
    elif by_name:
        if by_external_id:
            raise click.UsageError("it is your own id or a name, not both")
        found = session.graph.graph.get_node_by_name(node_ids[0], graph_name=graph_name)
        output.one(found.node)
        if found.matches > 1:
            click.echo(f"{found.matches} nodes have this name; this is the newest", err=True)
    else:
        output.one(session.graph.graph.get_node(**node_named(node_ids[0], by_external_id, graph_name)))


@command(
    click.argument("general_type_name", metavar="TYPE"),
    click.option("--name", default="", help="A label."),
    click.option("--data", type=JSON_OBJECT, help="A JSON object, or @FILE."),
    click.option("--external-id", default="", help="Your own id of it."),
    click.option("--graph", "graph_name", default="", help="Else default."),
    click.option("--get-existing", is_flag=True, help="Print the node that has the external id already."),
    name="create",
    group=node,
    example='contextkeep node create Session --name support --data \'{"language": "de"}\'',
)
def create(session: Session, output: Output, *, general_type_name: str, **given: Any) -> None:
    """Write a node."""
    output.one(session.graph.graph.create_node(general_type_name, **given), *_ROW)


@command(
    _NODE,
    click.argument("data", type=JSON_OBJECT),
    click.option("--replace", is_flag=True, help="Replace the data instead of merging into it."),
    _VERSION,
    name="update",
    group=node,
    example="contextkeep node update 0197f1f2-0000-7000-8000-000000000001 '{\"language\": null}'",
)
def update(session: Session, output: Output, *, node: dict[str, Any], data: dict[str, Any], **given: Any) -> None:
    """Merge JSON into a node's data; null removes a field."""
    output.one(session.graph.graph.update_node_data(data=data, **node, **given), *_ROW, "data")


@command(
    _NODE,
    click.argument("status"),
    click.option("--expected-status", help="Fail if it has another status by now."),
    click.option("--message", default="", help="For the timeline."),
    name="status",
    group=node,
    example="contextkeep node status 0197f1f2-0000-7000-8000-000000000001 Completed --expected-status Running",
)
def set_status(session: Session, output: Output, *, node: dict[str, Any], status: str, **given: Any) -> None:
    """Set a node's status."""
    output.one(session.graph.graph.update_node_status(status=status, **node, **given), *_ROW)


@command(
    _NODE,
    click.option("--restore", is_flag=True, help="Bring it back."),
    name="archive",
    group=node,
    example="contextkeep node archive 0197f1f2-0000-7000-8000-000000000001",
)
def archive(session: Session, output: Output, *, node: dict[str, Any], restore: bool) -> None:
    """Archive a node, or bring it back (--restore)."""
    output.one(session.graph.graph.archive_node(**node, restore=restore), *_ROW)


@command(
    NodeArgument(keyword="start"),
    click.option("--direction", type=click.Choice(["out", "in", "both"]), default="out", show_default=True),
    click.option("--edge-type", "edge_types", multiple=True, help="Along these only; may be repeated."),
    click.option("--depth", "depth_max", type=click.IntRange(0), default=1, show_default=True, help="Steps at most."),
    limit_option(),
    name="connected",
    group=node,
    example="contextkeep node connected 0197f1f2-0000-7000-8000-000000000001 --depth 2",
)
def connected(session: Session, output: Output, *, node: dict[str, Any], limit: int, **walk: Any) -> None:
    """List the nodes that a walk from a node reaches."""
    found = (
        {"depth": each.depth, **{name: getattr(each.node, name) for name in _ROW}, "data": each.node.data}
        for each in session.graph.graph.traverse(**node, **walk)
    )
    output.many(found, "depth", *_ROW, limit=limit)


@command(
    _NODE,
    yes_option,
    _VERSION,
    name="delete",
    group=node,
    example="contextkeep node delete 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def delete(session: Session, output: Output, *, node: dict[str, Any], yes: bool, **given: Any) -> None:
    """Delete a node for good, with all that hangs on it.

    Its edges, input, output, timeline and vectors go with it. The key needs the scope `admin`. To hide a node instead,
    archive it.
    """
    confirm("Delete the node and all that hangs on it?", yes)
    output.one({**_named(node), "edges_deleted": session.graph.graph.delete_node(**node, **given)})


@command(
    _NODE,
    yes_option,
    _VERSION,
    name="reset",
    group=node,
    example="contextkeep node reset 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def reset(session: Session, output: Output, *, node: dict[str, Any], yes: bool, **given: Any) -> None:
    """Put a node back to before its run.

    Its status is Created then, its output is gone, its timeline is empty.
    """
    confirm("Remove the node's output and timeline?", yes)
    output.one(session.graph.graph.reset_node(**node, **given), *_ROW)


@command(
    _NODE,
    click.option("--set-input", "input", type=JSON, default=NOT_GIVEN, help="Any JSON, or @FILE."),
    click.option("--set-output", "output_given", type=JSON, default=NOT_GIVEN, help="Any JSON, or @FILE."),
    name="io",
    group=node,
    example="""
contextkeep node io 0197f1f2-0000-7000-8000-000000000001
contextkeep node io 0197f1f2-0000-7000-8000-000000000001 --set-output '{"answer": 42}'
""",
)
def io(session: Session, output: Output, *, node: dict[str, Any], input: Any, output_given: Any) -> None:
    """Print what went into a node and what came out of it.

    What is given is set first.
    """
    if input is not NOT_GIVEN or output_given is not NOT_GIVEN:
        session.graph.graph.set_node_io(**node, input=input, output=output_given)
    output.one(session.graph.graph.get_node_io(**node), "input", "output", "modified_at")


@command(
    _NODE,
    click.option("--own-only", is_flag=True, help="None of what it Calls."),
    click.option(
        "--type",
        "types",
        type=click.Choice(get_args(EnvelopeType), case_sensitive=False),
        multiple=True,
        help="May be repeated.",
    ),
    click.option("--descending", is_flag=True, help="The newest first."),
    click.option("--clear", is_flag=True, help="Remove its own for good instead. Needs --yes or an answer."),
    yes_option,
    limit_option(),
    name="progress",
    group=node,
    example="""
contextkeep node progress 0197f1f2-0000-7000-8000-000000000001 --type status --descending
contextkeep node progress 0197f1f2-0000-7000-8000-000000000001 --clear --yes
""",
)
def progress(
    session: Session,
    output: Output,
    *,
    node: dict[str, Any],
    own_only: bool,
    types: tuple[EnvelopeType, ...],
    descending: bool,
    clear: bool,
    yes: bool,
    limit: int,
) -> None:
    """List the timeline of a node and of what it Calls, or clear it.

    --clear removes the node's own, for good.
    """
    if clear:
        if own_only or types or descending:
            raise click.UsageError("--clear removes all of the node's timeline, and lists nothing")
        confirm("Remove the node's timeline?", yes)
        output.one({**_named(node), "envelopes_deleted": session.graph.progress.clear(**node)})
        return
    found = session.graph.progress.list(**node, own_only=own_only, types=types, descending=descending)
    output.many(found, "created_at", "node_id", "type", "sub_type", "status", "message", limit=limit)


@command(
    click.argument("node_id", required=False),
    external_id_option,
    click.option("--vector", type=JSON_ARRAY, help="Compare with this instead: a JSON array, or @FILE."),
    click.option("--name", default="", help="Of the vectors; else default."),
    click.option("--min", "similarity_min", type=click.FloatRange(-1, 1), help="The least similarity, -1 to 1."),
    click.option("--metadata", "metadata_contains", type=JSON_OBJECT, help="What the vectors' metadata hold."),
    click.option("--type", "node_types", multiple=True, help="Only nodes of this type; may be repeated."),
    click.option("--graph", "graph_name", default="", help="Of --vector or --external-id; else default."),
    click.option("--archived", "include_archived", is_flag=True, help="Archived ones, too."),
    click.option("--limit", type=click.IntRange(0), default=0, help="Rows at most; 0: as the service does."),
    name="similar",
    group=node,
    example="""
contextkeep node similar 0197f1f2-0000-7000-8000-000000000001 --min 0.8
contextkeep node similar --vector @vector.json --limit 5
""",
)
def similar(
    session: Session,
    output: Output,
    *,
    node_id: str | None,
    by_external_id: bool,
    graph_name: str,
    vector: list[float] | None,
    **filters: Any,
) -> None:
    """List the nodes whose vectors are most like a given one.

    Or like those of a node. The most similar come first.
    """
    if (node_id is None) == (vector is None):
        raise click.UsageError("give a node, or --vector")
    to: dict[str, Any] = {"vector": vector, "graph_name": graph_name}
    if node_id is not None:
        to = node_named(node_id, by_external_id, graph_name)
    hits = session.graph.embeddings.search(**to, **filters)
    if output.format is Format.JSON:
        output.many(hits)
        return
    rows = ({"similarity": f"{hit.similarity:.4f}", **{name: getattr(hit.node, name) for name in _ROW}} for hit in hits)
    output.many(rows, "similarity", *_ROW)
