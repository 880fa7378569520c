"""`contextkeep graph`: whole graphs."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from contextkeep.cli._base import JSON_OBJECT, Session, command, graph_option, limit_option
from contextkeep.cli._output import Format, Output, progress
from contextkeep.values import Change, ExportedGraph

_KINDS = ("nodes", "edges", "embeddings", "envelopes")
_GRAPH = graph_option("Name of the graph, such as sales.")


@click.group(epilog="\b\nExample:\n  contextkeep graph stats")
def graph() -> None:
    """Whole graphs: statistics, changes, export and import."""


@command(
    _GRAPH,
    limit_option(),
    name="types",
    group=graph,
    example="contextkeep graph types --graph default",
)
def types(session: Session, output: Output, *, graph_name: str, limit: int) -> None:
    """List the edge types of a graph with their counts.

    Use it to learn which edges (connections of nodes) a graph has before you search it.
    """
    output.many(session.graph.graph.list_edge_types(graph_name), "edge_type", "edges", limit=limit)


@command(limit_option(), name="stats", group=graph, example="contextkeep graph stats --json")
def stats(session: Session, output: Output, *, limit: int) -> None:
    """List the graphs with their counts of nodes and edges.

    Use it to see what the entity graph contains: nodes (people, sessions, things) and edges between them.
    """
    output.many(session.graph.graph.list_graphs(), "graph_name", "nodes", "edges", limit=limit)


@command(
    click.option(
        "--start", is_flag=True, help="Record changes from now on, and print the position; needs the scope admin."
    ),
    click.option(
        "--from",
        "place",
        default="",
        help="Position that an earlier call printed.  [default: print only the current position]",
    ),
    limit_option(),
    name="changes",
    group=graph,
    example="contextkeep graph changes --start",
)
def changes(session: Session, output: Output, *, start: bool, place: str, limit: int) -> None:
    """List changes of nodes and edges after a position.

    Use it to keep a copy of all graphs up to date: --start once, then --from with the position that the last call
    printed.

    A position is a text that stands for a moment in the log of changes. The command prints the position to continue
    from on stderr; with --json it is `next_place` in the answer.
    """
    if start:
        if place:
            raise click.UsageError("give --start or --from, not both")
        output.one({"next_place": session.graph.changes.start()})
        return
    result: list[Change] = []
    while True:
        page = session.graph.changes.list(place, page_size=min(limit - len(result), 1000) if limit else 1000)
        result += page.changes
        if not (page.has_more and (not limit or len(result) < limit)):
            break
        place = page.next_place
    if not place or output.format is Format.JSON:
        output.one(
            {"changes": result, "next_place": page.next_place, "has_more": page.has_more},
            *([] if place else ["next_place"]),
        )
        return
    output.many(result, "kind", "node_id", "edge_id", "graph_name", "general_type_name", "edge_type", "changed_at")
    click.echo(f"continue with --from {page.next_place}", err=True)


@command(
    click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True)),
    click.option(
        "--graph", "graph_name", default="", help="Graph to write to.  [default: the graph that the file names]"
    ),
    name="import",
    group=graph,
    example="""
contextkeep graph import graph.ndjson
gunzip -c graph.ndjson.gz | contextkeep graph import -
""",
)
def import_(session: Session, output: Output, *, file: str, graph_name: str) -> None:
    """Load a graph from newline-delimited JSON.

    Use it with a file that `contextkeep graph export` wrote, or with `-` for stdin.

    Nodes and edges whose ids exist already are skipped and counted as existed, so an interrupted import can be
    repeated.
    """
    with progress("stdin" if file == "-" else Path(file).name) as on_progress:
        done = session.graph.graph.import_lines(
            sys.stdin.buffer if file == "-" else Path(file), graph_name=graph_name, on_progress=on_progress
        )
    if output.format is Format.JSON:
        output.one(done)
        return
    counts = {kind: getattr(done, kind) for kind in _KINDS}
    rows = (
        {"graph_name": done.graph_name, "kind": kind, "written": count.written, "existed": count.existed}
        for kind, count in counts.items()
    )
    output.many(rows, "graph_name", "kind", "written", "existed")


@command(
    click.argument("file", type=click.Path(dir_okay=False, allow_dash=True)),
    _GRAPH,
    name="export",
    group=graph,
    example="""
contextkeep graph export graph.ndjson
contextkeep graph export - | gzip > graph.ndjson.gz
""",
)
def export(session: Session, output: Output, *, file: str, graph_name: str) -> None:
    """Write a whole graph as newline-delimited JSON.

    Use it for a backup, or to move a graph to another service.

    The destination is a file, or `-` for stdout. A file gets its name only when it is complete. If the connection
    breaks, the export reconnects and continues.
    """
    if file == "-":
        _print_lines(session, graph_name)
        return
    with progress(Path(file).name) as on_progress:
        done = session.graph.graph.export(file, graph_name=graph_name, on_progress=on_progress)
    output.one(done, *ExportedGraph._fields)


def _print_lines(session: Session, graph_name: str) -> None:
    """Write the lines of an export to stdout, and show the progress on stderr."""
    stdout = sys.stdout.buffer
    written_bytes = 0
    with progress("stdout") as on_progress, closing(session.graph.graph.export_pages(graph_name)) as pages:
        for page in pages:
            stdout.write(page.lines)
            written_bytes += len(page.lines)
            if on_progress is not None:
                on_progress(written_bytes, None)
    stdout.flush()


@command(
    click.option("--type", "type_name", default="", help="Only this type of node, such as Invoice."),
    _GRAPH,
    name="fields",
    group=graph,
    example="contextkeep graph fields --type Session",
)
def fields(session: Session, output: Output, *, type_name: str, graph_name: str) -> None:
    """List the types of nodes with the fields of their data.

    Use it to learn which fields and edges `contextkeep graph ask` can count, sum and sort by.
    """
    listed = session.graph.graph.list_facets(type_name=type_name, graph_name=graph_name)
    if output.format is Format.JSON:
        output.one(listed)
        return
    rows = [
        {"type": kind.type_name, "field": field.field, "kinds": ", ".join(field.kinds), "nodes": field.node_count}
        for kind in listed.types
        for field in kind.fields
    ]
    edges = [{"type": kind.type_name, "field": edge, "kinds": "edge"} for kind in listed.types for edge in kind.edges]
    output.many([*rows, *edges], "type", "field", "kinds", "nodes")


@command(
    click.option("--where", "condition", type=JSON_OBJECT, help="Condition as JSON, or @FILE; see docs/search.md."),
    click.option("--with-edge", "with_edges", multiple=True, help="Only nodes with such an edge: out:Placed."),
    click.option("--without-edge", "without_edges", multiple=True, help="Only nodes without such an edge: in:Owns."),
    click.option("--group-by", default="", help="Field, such as data.country, or edge, such as in:Placed."),
    click.option("--measure", "measures", multiple=True, help="Such as 'sum(data.amount)'; also count, avg, min, max."),
    click.option("--order-by", default="", help="Field; of groups a measure, nodes or group. With a - for descending."),
    click.option("--archived", "include_archived", is_flag=True, help="Include archived nodes."),
    click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Nodes or groups."),
    _GRAPH,
    name="ask",
    group=graph,
    example="""
contextkeep graph ask --where '{"type": "Session"}' --order-by -created_at --limit 1
contextkeep graph ask --group-by type --measure 'max(created_at)'
""",
)
def ask(session: Session, output: Output, *, order_by: str, **question: Any) -> None:
    """Count, sum and rank nodes exactly, in all or by group.

    Use it for questions such as how many, how much, which is the largest, due before, and without.
    """
    answer = session.graph.graph.query_facets(
        order_by=order_by.removeprefix("-"), descending=order_by.startswith("-"), **question
    )
    if output.format is Format.JSON:
        output.one(answer)
        return
    if not (question["group_by"] or question["measures"]):
        output.many(answer.nodes, "id", "general_type_name", "name", "status")
        return
    rows = [
        {
            "group": group.node_name or group.node_id or (group.value if group.value_json else "all"),
            "nodes": group.node_count,
            **{value.measure: value.value for value in group.values},
            "left_out": sum(value.skipped for value in group.values),
        }
        for group in answer.groups
    ]
    output.many(rows, "group", "nodes", *question["measures"], "left_out")
