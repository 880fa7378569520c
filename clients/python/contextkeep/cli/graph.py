"""`contextkeep graph`: whole graphs."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from contextkeep.cli._base import Session, command, limit_option
from contextkeep.cli._output import Format, Output, progress
from contextkeep.values import Change, ExportedGraph

_KINDS = ("nodes", "edges", "embeddings", "envelopes")
_GRAPH = click.option("--graph", "graph_name", default="", help="The graph; else default.")


@click.group(epilog="\b\nExample:\n  contextkeep graph stats")
def graph() -> None:
    """Whole graphs: what is in them, out to a file, and in again."""


@command(
    _GRAPH,
    limit_option(),
    name="types",
    group=graph,
    example="contextkeep graph types --graph default",
)
def types(session: Session, output: Output, *, graph_name: str, limit: int) -> None:
    """List the edge types of a graph, and how many edges have each."""
    output.many(session.graph.graph.list_edge_types(graph_name), "edge_type", "edges", limit=limit)


@command(limit_option(), name="stats", group=graph, example="contextkeep graph stats --json")
def stats(session: Session, output: Output, *, limit: int) -> None:
    """List the graphs, with how many nodes and edges are in each."""
    output.many(session.graph.graph.list_graphs(), "graph_name", "nodes", "edges", limit=limit)


@command(
    click.option("--start", is_flag=True, help="Keep changes from now on; needs the scope admin."),
    click.option("--from", "place", default="", help="The place to go on from; else only the one of now is printed."),
    limit_option(),
    name="changes",
    group=graph,
    example="contextkeep graph changes --start",
)
def changes(session: Session, output: Output, *, start: bool, place: str, limit: int) -> None:
    """List what changed behind a place, and where to go on.

    The place to go on from is printed on stderr; with --json, and where no place was given, it is in the answer.
    """
    if start:
        if place:
            raise click.UsageError("--start gives a place and takes none")
        output.one({"next_place": session.graph.changes.start()})
        return
    found: list[Change] = []
    while True:
        page = session.graph.changes.list(place, page_size=min(limit - len(found), 1000) if limit else 1000)
        found += page.changes
        if not (page.has_more and (not limit or len(found) < limit)):
            break
        place = page.next_place
    if not place or output.format is Format.JSON:
        output.one(
            {"changes": found, "next_place": page.next_place, "has_more": page.has_more},
            *([] if place else ["next_place"]),
        )
        return
    output.many(found, "kind", "node_id", "edge_id", "graph_name", "general_type_name", "edge_type", "changed_at")
    click.echo(f"go on with --from {page.next_place}", err=True)


@command(
    click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True)),
    click.option("--graph", "graph_name", default="", help="Where to; else the graph that the file names."),
    name="import",
    group=graph,
    example="""
contextkeep graph import graph.ndjson
gunzip -c graph.ndjson.gz | contextkeep graph import -
""",
)
def import_(session: Session, output: Output, *, file: str, graph_name: str) -> None:
    """Write a graph from newline-delimited JSON.

    It is read from a file as export makes it, or from stdin (`-`). What is there already, by its id, is skipped and
    counted as existed: an import that broke off is simply begun again.
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
    """Read a whole graph out as newline-delimited JSON.

    It goes into a file, or to stdout (`-`). The file appears under its name when it is complete; until then what was
    there stays. A connection that breaks is opened again where it was.
    """
    if file == "-":
        _print_lines(session, graph_name)
        return
    with progress(Path(file).name) as on_progress:
        done = session.graph.graph.export(file, graph_name=graph_name, on_progress=on_progress)
    output.one(done, *ExportedGraph._fields)


def _print_lines(session: Session, graph_name: str) -> None:
    stdout = sys.stdout.buffer
    written_bytes = 0
    with progress("stdout") as on_progress, closing(session.graph.graph.export_pages(graph_name)) as pages:
        for page in pages:
            stdout.write(page.lines)
            written_bytes += len(page.lines)
            if on_progress is not None:
                on_progress(written_bytes, None)
    stdout.flush()
