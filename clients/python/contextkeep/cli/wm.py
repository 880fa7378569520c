"""`contextkeep wm`: working memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from contextkeep.cli._base import JSON, JSON_OBJECT, NodeArgument, Session, command, confirm, limit_option, yes_option
from contextkeep.cli._output import Format, Output, progress
from contextkeep.client._messages import RecordFields
from contextkeep.memory_types import MemoryType
from contextkeep.values import SearchMode

_ROW = ("working_memory_id", "memory_type", "name", "size_bytes", "status", "created_at")
_WHERE_TEXT = "Condition, such as '{\"metadata.vip\": true}', or @FILE; see docs/search.md."
_BLOB_KEY = "blob_"  # how the keys of blobs begin

_TYPES = click.option(
    "--type", "memory_types", multiple=True, help="Only records of this type, such as text/markdown; may be repeated."
)
_ARCHIVED = click.option("--archived", "include_archived", is_flag=True, help="Include archived (hidden) records.")
_ENTITY = click.option(
    "--entity", "entity_node_id", help="Node (its UUID) that the record belongs to.  [default: none]"
)
_TAGS = click.option("--tag", "tags", multiple=True, help="Tag, such as draft; may be repeated.")
_PURPOSE = click.option(
    "--purpose", "semantic_purpose", default="", help="Purpose in a word of yours, such as report; lists filter by it."
)
_DESCRIPTION = click.option("--description", default="", help="What the record is, for people and searches.")
_METADATA = click.option("--metadata", type=JSON_OBJECT, help="Metadata, such as '{\"vip\": true}', or @FILE.")
_REASONING = click.option("--reasoning", default="", help="Why the record was written, in words.")
_CONTENT_TYPE = click.option(
    "--content-type", default="", help="Media type, such as image/png.  [default: guessed from the name]"
)
_FIELDS = (_ENTITY, _PURPOSE, _DESCRIPTION, _REASONING, _CONTENT_TYPE, _TAGS, _METADATA)
_PURPOSES = click.option(
    "--purpose",
    "semantic_purposes",
    multiple=True,
    help="Only records with this purpose, such as report; may be repeated.",
)


@click.group(epilog="\b\nExample:\n  contextkeep wm put report.pdf --entity 0197f1f2-0000-7000-8000-000000000001")
def wm() -> None:
    """Working memory (wm): records with files, JSON or texts."""


@command(
    click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True)),
    click.option("--name", default="", help="Name of the record.  [default: the file's name]"),
    click.option(
        "--type",
        "memory_type",
        default=MemoryType.FILE.value,
        show_default=True,
        help="Type: what the record holds, such as image/png.",
    ),
    *_FIELDS,
    name="put",
    group=wm,
    example="""
contextkeep wm put report.md --type text/markdown --entity 0197f1f2-0000-7000-8000-000000000001
tar c folder | contextkeep wm put - --name folder.tar
""",
)
def put(session: Session, output: Output, *, file: str, name: str, memory_type: str, **given: Any) -> None:
    """Upload a file, or stdin (`-`), as a record.

    Use it for reports, images and other files. For JSON and short texts use `contextkeep wm record`.
    """
    if file == "-" and not name:
        raise click.UsageError("stdin has no name; give --name")
    with progress(name or Path(file).name) as on_progress:
        record = session.context.blobs.upload(
            sys.stdin.buffer if file == "-" else Path(file),
            name=name,
            memory_type=memory_type,
            on_progress=on_progress,
            **_fields(given),
        )
    output.one(record, *_ROW)


@command(
    click.argument("name"),
    click.option(
        "--type", "memory_type", help="Type, such as text/markdown.  [default: data/json, or text/plain with --text]"
    ),
    click.option("--content", type=JSON, help="Content: any JSON, or @FILE."),
    click.option("--text", "content_text", default="", help="Content as plain text instead of JSON."),
    *_FIELDS,
    name="record",
    group=wm,
    example="""
contextkeep wm record plan --content '{"steps": ["read", "write"]}' --tag draft
contextkeep wm record note.md --type text/markdown --text '# Call back on Monday'
""",
)
def insert(
    session: Session,
    output: Output,
    *,
    name: str,
    memory_type: str | None,
    content: Any,
    content_text: str,
    **options: Any,
) -> None:
    """Store JSON or a short text as a record.

    Use it for plans, notes and results; for files use `contextkeep wm put`.
    """
    memory_type = memory_type or ("text/plain" if content_text else MemoryType.JSON.value)
    record = session.context.records.insert(
        memory_type, name, content=content, content_text=content_text, **_fields(options)
    )
    output.one(record, *_ROW)


@command(
    click.argument("record", metavar="WORKING_MEMORY_ID|BLOB_KEY"),
    click.option(
        "-o",
        "--output",
        "path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Save the file of the record here, such as report.md.",
    ),
    _ARCHIVED,
    name="get",
    group=wm,
    example="""
contextkeep wm get 0197f1f2-0000-7000-8000-000000000002
contextkeep wm get 0197f1f2-0000-7000-8000-000000000002 -o report.md
contextkeep wm get 0197f1f2-0000-7000-8000-000000000002 --raw | tail
""",
)
def get(session: Session, output: Output, *, record: str, path: Path | None, include_archived: bool) -> None:
    """Print a record, or download its content.

    Use it to read a record: a file, JSON or a text in working memory.

    `contextkeep wm list` prints the WORKING_MEMORY_ID. A BLOB_KEY (blob_...) names the bytes of a file. For this
    command, --raw prints the content: the bytes of the file, the JSON or the text.
    """
    if path is not None:
        with progress(path.name) as on_progress:
            result = session.context.blobs.download(
                record, path, include_archived=include_archived, on_progress=on_progress
            )
        output.one(result, *_ROW)
        return
    if record.startswith(_BLOB_KEY):
        with session.context.blobs.get(record, include_archived=include_archived) as blob:
            result = blob.record
    else:
        result = session.context.records.get(record, include_archived=include_archived)
    if output.format is not Format.RAW:
        output.one(result)
    elif result.blob_key:
        stdout = sys.stdout.buffer
        with session.context.blobs.get(result, include_archived=include_archived) as chunks:
            for chunk in chunks:
                stdout.write(chunk)
        stdout.flush()
    elif result.content_text:
        click.echo(result.content_text, nl=False)
    else:
        click.echo(result.content_json)


@command(
    NodeArgument("entity_node_id"),
    _TYPES,
    click.option("--tag", "tags", multiple=True, help="Only records with this tag, such as draft; may be repeated."),
    _PURPOSES,
    click.option(
        "--prefix", "name_prefix", default="", help="Only records whose names begin with this, such as report."
    ),
    _ARCHIVED,
    limit_option(),
    name="list",
    group=wm,
    example="""
contextkeep wm list 0197f1f2-0000-7000-8000-000000000001 --type text/markdown
""",
)
def list_records(session: Session, output: Output, *, node: dict[str, Any], limit: int, **filters: Any) -> None:
    """List the records of an entity: a node of the graph.

    Use it to see which files and notes belong to the node.
    """
    records = session.context.records.list_by_entity(**node, **filters)
    output.many(records, *_ROW, limit=limit)


@command(
    NodeArgument("entity_node_id"),
    _ARCHIVED,
    limit_option(),
    name="blobs",
    group=wm,
    example="""
contextkeep wm blobs 0197f1f2-0000-7000-8000-000000000001
""",
)
def blobs(session: Session, output: Output, *, node: dict[str, Any], include_archived: bool, limit: int) -> None:
    """List the blobs (uploaded files) of a node of the graph.

    Use it to see sizes and checksums of uploaded files.
    """
    result = session.context.blobs.list(**node, include_archived=include_archived)
    output.many(result, "working_memory_id", "name", "memory_type", "size_bytes", "sha256", "created_at", limit=limit)


@command(
    NodeArgument("root_node_id"),
    click.option(
        "--depth",
        "depth_max",
        type=click.IntRange(0),
        default=0,
        help="Number of edges to follow below the node; 0 means 3.",
    ),
    click.option(
        "--edge-type",
        "edge_types",
        multiple=True,
        help="Follow only edges of this type; may be repeated."
        "  [default: Contains, Owns, Calls, Produces, HasIO, HAS_CHILD and HAS_STEP]",
    ),
    _TYPES,
    _PURPOSES,
    _ARCHIVED,
    name="manifest",
    group=wm,
    example="""
contextkeep wm manifest 0197f1f2-0000-7000-8000-000000000001 --depth 2
""",
)
def manifest(session: Session, output: Output, *, node: dict[str, Any], **filters: Any) -> None:
    """Count the working-memory records below a node, by node and type.

    Use it to show an agent what it can read: how many records of which type each node has.
    """
    entities = session.context.records.manifest(**node, **filters)
    if output.format is Format.JSON:
        output.many(entities)
        return
    rows: Iterator[dict[str, Any]] = (
        {
            "depth": entity.depth,
            "entity_node_id": entity.entity_node_id,
            "entity": entity.name,
            "memory_type": group.memory_type,
            "records": group.record_count,
            "size_bytes": group.size_bytes,
        }
        for entity in entities
        for group in entity.groups
    )
    output.many(rows, "depth", "entity_node_id", "entity", "memory_type", "records", "size_bytes")


@command(
    click.argument("text"),
    click.option(
        "--mode",
        type=click.Choice(["text", "vector", "fused"]),
        help="Search by words, by meaning (vector) or both (fused).  [default: what the service supports]",
    ),
    click.option(
        "--entity", "entity_node_ids", multiple=True, help="Only records of this node (its UUID); may be repeated."
    ),
    _TYPES,
    click.option("--where", type=JSON_OBJECT, help=_WHERE_TEXT),
    _ARCHIVED,
    click.option("--limit", type=click.IntRange(0), default=0, help="Maximum number of rows, up to 100; 0 means 10."),
    name="search",
    group=wm,
    example="""
contextkeep wm search 'quarterly report' --type text/markdown
""",
)
def search(session: Session, output: Output, *, text: str, mode: SearchMode | None, **filters: Any) -> None:
    """Find records by words or meaning, best first.

    Use it when you know what a record is about, not its name.
    """
    hits = session.context.records.search(text, mode=mode, **filters)
    if output.format is Format.JSON:
        output.many(hits)
        return
    rows = ({"score": f"{hit.score:.4f}", **{name: getattr(hit.record, name) for name in _ROW}} for hit in hits)
    output.many(rows, "score", *_ROW)


@command(
    click.argument("select", nargs=-1, required=True),
    click.option("--where", type=JSON_OBJECT, help=_WHERE_TEXT),
    click.option("--group-by", multiple=True, help="Field to group by, such as memory_type; may be repeated."),
    click.option("--order-by", multiple=True, help="Field to sort by, such as created_at; may be repeated."),
    _ARCHIVED,
    click.option(
        "--limit", type=click.IntRange(0), default=0, help="Maximum number of rows, up to 1,000; 0 means 100."
    ),
    name="query",
    group=wm,
    example="""
contextkeep wm query memory_type 'count(*)' --group-by memory_type
""",
)
def query(session: Session, output: Output, *, select: tuple[str, ...], **question: Any) -> None:
    """Select fields of records, or counts and sums by group.

    Use it for reports, such as the number of records of each type.

    SELECT is a field of records (`contextkeep wm get` prints them), a path such as metadata.vip, or count(*), sum, avg,
    min or max of one, such as 'sum(size_bytes)'.
    """
    answer = session.context.records.query(select, **question)
    columns = dict.fromkeys(name for row in answer.rows for name in row)
    output.many(answer.rows, *columns)
    if answer.has_more:
        click.echo("there are more rows; see --limit", err=True)


@command(
    click.argument("working_memory_id"),
    name="log",
    group=wm,
    example="""
contextkeep wm log 0197f1f2-0000-7000-8000-000000000002
""",
)
def log(session: Session, output: Output, *, working_memory_id: str) -> None:
    """Print the history of a record: who did what, when.

    Use it to see who wrote, changed or deleted it. The history stays when the record is deleted for good.
    """
    output.many(session.context.records.list_actions(working_memory_id), "created_at", "kind", "principal", "details")


@command(
    click.argument("record", metavar="WORKING_MEMORY_ID|BLOB_KEY"),
    click.option("--purge", is_flag=True, help="Delete it for good, with its file.  [default: archive (hide) it]"),
    yes_option,
    name="delete",
    group=wm,
    example="""
contextkeep wm delete 0197f1f2-0000-7000-8000-000000000002
contextkeep wm delete 0197f1f2-0000-7000-8000-000000000002 --purge --yes
""",
)
def delete(session: Session, output: Output, *, record: str, purge: bool, yes: bool) -> None:
    """Archive a record; with --purge delete it for good.

    Use it to hide a record. `contextkeep wm restore` brings an archived record back.

    `contextkeep wm list` prints the WORKING_MEMORY_ID. A BLOB_KEY (blob_...) names the bytes of a file.
    """
    if purge:
        confirm("Purge it?", yes)
    working_memory_id = session.context.blobs.delete(record) if record.startswith(_BLOB_KEY) else record
    archived = session.context.records.delete(working_memory_id, purge=purge)
    if archived is None:
        output.one({"working_memory_id": working_memory_id, "status": "purged"})
    else:
        output.one(archived, *_ROW)


@command(
    click.argument("working_memory_id"),
    name="restore",
    group=wm,
    example="""
contextkeep wm restore 0197f1f2-0000-7000-8000-000000000002
""",
)
def restore(session: Session, output: Output, *, working_memory_id: str) -> None:
    """Restore an archived record.

    Use it to undo `contextkeep wm delete`, unless it had --purge.
    """
    output.one(session.context.records.restore(working_memory_id), *_ROW)


def _fields(values: dict[str, Any]) -> RecordFields:
    """Return the options of a record that were given."""
    fields: RecordFields = {}
    fields.update({name: value for name, value in values.items() if value})  # type: ignore[typeddict-item]
    return fields
