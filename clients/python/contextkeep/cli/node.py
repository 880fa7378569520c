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
    graph_option,
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
_VERSION = click.option(
    "--expected-version", type=int, help="Fail unless the node has this version, such as 3.  [default: any]"
)


def _name_of(node: dict[str, Any]) -> dict[str, Any]:
    """Return what names a node that is printed no more."""
    return {"id": node["node_id"]} if "node_id" in node else {"external_id": node["external_id"]}


@click.group(epilog="\b\nExample:\n  contextkeep node get 0197f1f2-0000-7000-8000-000000000001")
def node() -> None:
    """Nodes of the entity graph."""


@command(
    click.argument("node_ids", metavar="NODE_ID...", nargs=-1, required=True),
    external_id_option("NODE_ID"),
    click.option(
        "--name",
        "by_name",
        is_flag=True,
        help="NODE_ID is a name; the newest node with this name is printed.",
    ),
    graph_option("Graph that --external-id and --name look in."),
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
    """Print a node of the graph, or list several.

    Use it to read the data, status and version of nodes: people, sessions, runs or other things.

    The exit code is 3 if a node does not exist.
    """
    if len(node_ids) > 1:
        if by_external_id or by_name or graph_name:
            raise click.UsageError(
                "several nodes can only be named by node ids; give one id with --external-id or --name"
            )
        batch = session.graph.graph.get_nodes(node_ids)
        output.many(batch.nodes, *_ROW)
        if batch.missing_ids:
            raise NodeNotFound(f"these nodes do not exist: {', '.join(batch.missing_ids)}")
    elif by_name:
        if by_external_id:
            raise click.UsageError("give --external-id or --name, not both")
        node_by_name = session.graph.graph.get_node_by_name(node_ids[0], graph_name=graph_name)
        output.one(node_by_name.node)
        if node_by_name.matches > 1:
            click.echo(f"{node_by_name.matches} nodes have this name; the newest is shown", err=True)
    else:
        output.one(session.graph.graph.get_node(**node_named(node_ids[0], by_external_id, graph_name)))


@command(
    click.argument("general_type_name", metavar="TYPE"),
    click.option("--name", default="", help="Name, for people."),
    click.option("--data", type=JSON_OBJECT, help='Data, such as \'{"language": "de"}\', or @FILE.'),
    click.option("--external-id", default="", help="Your own id of the node, such as thread-42."),
    graph_option("Graph to create the node in."),
    click.option("--get-existing", is_flag=True, help="If a node has this external id, print it.  [default: fail]"),
    name="create",
    group=node,
    example='contextkeep node create Session --name support --data \'{"language": "de"}\'',
)
def create(session: Session, output: Output, *, general_type_name: str, **options: Any) -> None:
    """Create a node.

    Use it to add an entity, such as a session or a customer. TYPE is a name of yours, such as Session.
    """
    output.one(session.graph.graph.create_node(general_type_name, **options), *_ROW)


@command(
    _NODE,
    click.argument("data", type=JSON_OBJECT),
    click.option("--replace", is_flag=True, help="Replace the data.  [default: merge into it]"),
    _VERSION,
    name="update",
    group=node,
    example="contextkeep node update 0197f1f2-0000-7000-8000-000000000001 '{\"language\": null}'",
)
def update(session: Session, output: Output, *, node: dict[str, Any], data: dict[str, Any], **options: Any) -> None:
    """Change the data of a node: a JSON object of yours.

    Use it to set fields of the data: those of the JSON object DATA. A field that is null is removed; other fields stay.
    """
    output.one(session.graph.graph.update_node_data(data=data, **node, **options), *_ROW, "data")


@command(
    _NODE,
    click.argument("status"),
    click.option("--expected-status", help="Fail unless the node has this status, such as Running.  [default: any]"),
    click.option("--message", default="", help="Message for the timeline, such as begun."),
    name="status",
    group=node,
    example="contextkeep node status 0197f1f2-0000-7000-8000-000000000001 Completed --expected-status Running",
)
def set_status(session: Session, output: Output, *, node: dict[str, Any], status: str, **options: Any) -> None:
    """Set the status of a node.

    Use it to record that a run started, completed or failed.

    STATUS is Created, Running, Completed, Failed, Cancelled or a name of your own. `contextkeep node progress` lists
    the changes: the timeline of the node.
    """
    output.one(session.graph.graph.update_node_status(status=status, **node, **options), *_ROW)


@command(
    _NODE,
    click.option("--restore", is_flag=True, help="Bring an archived node back."),
    name="archive",
    group=node,
    example="contextkeep node archive 0197f1f2-0000-7000-8000-000000000001",
)
def archive(session: Session, output: Output, *, node: dict[str, Any], restore: bool) -> None:
    """Archive a node; with --restore bring it back.

    Use it to hide a node without deleting it: lists leave it out unless they have --archived.
    """
    output.one(session.graph.graph.archive_node(**node, restore=restore), *_ROW)


@command(
    NodeArgument(keyword="start"),
    click.option(
        "--direction",
        type=click.Choice(["out", "in", "both"]),
        default="out",
        show_default=True,
        help="Follow edges that leave the node, enter it, or both.",
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
        default=1,
        show_default=True,
        help="Maximum number of edges to follow.",
    ),
    limit_option(),
    name="connected",
    group=node,
    example="contextkeep node connected 0197f1f2-0000-7000-8000-000000000001 --depth 2",
)
def connected(session: Session, output: Output, *, node: dict[str, Any], limit: int, **walk: Any) -> None:
    """List the nodes that are reachable from a node.

    Use it to explore the neighbourhood of a node. The column depth is the number of edges between the two nodes.
    """
    result = (
        {"depth": each.depth, **{name: getattr(each.node, name) for name in _ROW}, "data": each.node.data}
        for each in session.graph.graph.traverse(**node, **walk)
    )
    output.many(result, "depth", *_ROW, limit=limit)


@command(
    _NODE,
    yes_option,
    _VERSION,
    name="delete",
    group=node,
    example="contextkeep node delete 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def delete(session: Session, output: Output, *, node: dict[str, Any], yes: bool, **options: Any) -> None:
    """Delete a node for good; needs admin.

    Use it when a node must not exist any more. To hide one, use `contextkeep node archive`.

    Its edges, input, output, timeline and vectors are deleted too.
    """
    confirm("Delete the node and all that hangs on it?", yes)
    output.one({**_name_of(node), "edges_deleted": session.graph.graph.delete_node(**node, **options)})


@command(
    _NODE,
    yes_option,
    _VERSION,
    name="reset",
    group=node,
    example="contextkeep node reset 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def reset(session: Session, output: Output, *, node: dict[str, Any], yes: bool, **options: Any) -> None:
    """Reset a node to its state before it ran.

    Use it to run a failed node again.

    The status becomes Created; the output and the timeline are deleted.
    """
    confirm("Remove the node's output and timeline?", yes)
    output.one(session.graph.graph.reset_node(**node, **options), *_ROW)


@command(
    _NODE,
    click.option(
        "--set-input",
        "input",
        type=JSON,
        default=NOT_GIVEN,
        help="Set the input: any JSON, such as '{\"n\": 1}', or @FILE.",
    ),
    click.option(
        "--set-output", "output_given", type=JSON, default=NOT_GIVEN, help="Set the output: any JSON, or @FILE."
    ),
    name="io",
    group=node,
    example="""
contextkeep node io 0197f1f2-0000-7000-8000-000000000001
contextkeep node io 0197f1f2-0000-7000-8000-000000000001 --set-output '{"answer": 42}'
""",
)
def io(session: Session, output: Output, *, node: dict[str, Any], input: Any, output_given: Any) -> None:
    """Print the input and output of a node, or set them.

    Use it to see what a run received and returned.

    With --set-input or --set-output the command first writes, then prints the result.
    """
    if input is not NOT_GIVEN or output_given is not NOT_GIVEN:
        session.graph.graph.set_node_io(**node, input=input, output=output_given)
    output.one(session.graph.graph.get_node_io(**node), "input", "output", "modified_at")


@command(
    _NODE,
    click.option("--own-only", is_flag=True, help="Leave out the nodes that this node calls."),
    click.option(
        "--type",
        "types",
        type=click.Choice(get_args(EnvelopeType), case_sensitive=False),
        multiple=True,
        help="Only entries of this type; may be repeated.",
    ),
    click.option("--descending", is_flag=True, help="List the newest first."),
    click.option(
        "--clear",
        is_flag=True,
        help="Delete the node's own timeline for good; asks for confirmation unless --yes is given.",
    ),
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
    """List the timeline of a node, or clear it.

    Use it to follow a run: status changes, messages and errors.

    The timeline includes the nodes that this node calls (edges of type Calls), unless --own-only is given. --clear
    deletes the node's own timeline for good.
    """
    if clear:
        if own_only or types or descending:
            raise click.UsageError("--clear cannot be combined with options that filter the list")
        confirm("Remove the node's timeline?", yes)
        output.one({**_name_of(node), "envelopes_deleted": session.graph.progress.clear(**node)})
        return
    result = session.graph.progress.list(**node, own_only=own_only, types=types, descending=descending)
    output.many(result, "created_at", "node_id", "type", "sub_type", "status", "message", limit=limit)


@command(
    click.argument("node_id", required=False),
    external_id_option("NODE_ID"),
    click.option(
        "--vector", type=JSON_ARRAY, help="Compare with this vector instead of a node: a JSON array, or @FILE."
    ),
    click.option("--name", default="", help='Name of the vectors, such as title.  [default: the vectors "default"]'),
    click.option("--min", "similarity_min", type=click.FloatRange(-1, 1), help="Minimum similarity, such as 0.8."),
    click.option(
        "--metadata",
        "metadata_contains",
        type=JSON_OBJECT,
        help='Only vectors whose metadata contain this, such as \'{"language": "de"}\', or @FILE.',
    ),
    click.option(
        "--type", "node_types", multiple=True, help="Only nodes of this type, such as Session; may be repeated."
    ),
    graph_option("Graph that --vector or --external-id looks in."),
    click.option("--archived", "include_archived", is_flag=True, help="Include archived nodes."),
    click.option("--limit", type=click.IntRange(0), default=0, help="Maximum number of rows, up to 1,000; 0 means 10."),
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
    """List the nodes with the most similar vectors.

    Use it to find related nodes: compare with a node, or with --vector.

    A vector (embedding) is a list of numbers that stands for the meaning of a node; programs store them. The most
    similar node comes first.
    """
    if (node_id is None) == (vector is None):
        raise click.UsageError("give a node or --vector")
    to: dict[str, Any] = {"vector": vector, "graph_name": graph_name}
    if node_id is not None:
        to = node_named(node_id, by_external_id, graph_name)
    hits = session.graph.embeddings.search(**to, **filters)
    if output.format is Format.JSON:
        output.many(hits)
        return
    rows = ({"similarity": f"{hit.similarity:.4f}", **{name: getattr(hit.node, name) for name in _ROW}} for hit in hits)
    output.many(rows, "similarity", *_ROW)
