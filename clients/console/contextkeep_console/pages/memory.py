"""Working memory: records below a node, found, looked at, brought in and taken out."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from contextkeep import ManifestEntity, Record
from contextkeep.errors import InvalidArgument
from contextkeep_console import code
from contextkeep_console.files.kinds import Kind, kind_of_type
from contextkeep_console.pages import files
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, is_id, node_keywords, take, texts

ENTITIES_MAX, RECORDS_OF_GROUP = 500, 10  # of a manifest, on a page


def picture_of(record_id: str, *media_types: str | None) -> str:
    """Return the id of a record whose table shows a small picture of it; empty if it has none, by its media types."""
    kinds = {kind_of_type(media_type or "") for media_type in media_types}
    return record_id if kinds & {Kind.PICTURE, Kind.PDF} else ""


def record_columns() -> tuple[Column, ...]:
    """Return the columns of records."""
    return (
        Column(
            name="record",
            value=lambda row: row.name or row.working_memory_id,
            link=lambda row: f"/records/{row.working_memory_id}",
            picture=lambda row: picture_of(row.working_memory_id, row.content_type, row.memory_type),
        ),
        Column(name="type", value=lambda row: row.memory_type),
        Column(name="size", value=lambda row: row.size_bytes, kind="size"),
        Column(name="state", value=lambda row: row.status, kind="state", is_minor=True),
        Column(name="tags", value=lambda row: row.tags, is_minor=True),
        Column(name="created", value=lambda row: row.created_at, kind="time", is_minor=True),
        Column(name="id", value=lambda row: row.working_memory_id, kind="id", is_minor=True),
    )


async def index(visit: Visit) -> Response:
    """Show what hangs below a node, what a search finds, or the newest records."""
    root, text = visit.query_value("node"), visit.query_value("text")
    types = texts(visit.query_value("type"))
    archived = visit.query_value("archived") == "yes"
    newest, manifest, hits = await asyncio.gather(
        part(_newest(visit, archived)) if not (root or text) else _nothing(),
        part(_manifest(visit, root, types, archived)) if root else _nothing(),
        part(_hits(visit, text, types, archived)) if text else _nothing(),
    )
    return visit.render(
        "memory.html",
        here="memory",
        title="Working memory",
        newest=newest,
        manifest=manifest,
        hits=hits,
        newest_table=newest.value if newest else None,
        hits_table=hits.value if hits else None,
        root=root,
        text=text,
        picture_of=picture_of,
        code=_index_code(root, text, types),
        upload_code=code.Code(
            python=code.python("context", "blobs.upload", "report.pdf", entity_node_id=root if is_id(root) else ""),
            shell=code.shell("wm", "put", "report.pdf", entity=root if is_id(root) else ""),
        ),
    )


async def _nothing() -> None:
    return None


def _index_code(root: str, text: str, types: list[str]) -> code.Code:
    """Return the code that reads the same records: of a search, of a node's manifest, or the newest."""
    if text:
        return code.Code(
            python=code.python_each("context", "records.search", text, memory_types=types or None),
            shell=code.shell("wm", "search", text, **({"type": types[0]} if types else {})),
        )
    if root:
        return code.Code(
            python=code.python_each("context", "records.manifest", root), shell=code.shell("wm", "manifest", root)
        )
    columns = ["working_memory_id", "name", "memory_type", "size_bytes", "created_at"]
    return code.Code(
        python=code.python("context", "records.query", columns, order_by=["-created_at"]),
        shell=code.shell("wm", "query", *columns),
    )


async def _newest(visit: Visit, archived: bool) -> Table:
    """Return the table of the newest records."""
    columns = ["working_memory_id", "name", "memory_type", "content_type", "size_bytes", "status", "entity_node_id"]
    columns.append("created_at")
    result = await visit.context.records.query(
        columns, order_by=["-created_at"], limit=min(visit.limit, 1000), include_archived=archived
    )

    def of(name: str) -> Any:
        return lambda row: row.get(name)

    return Table(
        name="records",
        title="Newest records",
        columns=(
            Column(
                name="record",
                value=lambda row: row.get("name") or row.get("working_memory_id"),
                link=lambda row: f"/records/{row.get('working_memory_id')}",
                picture=lambda row: picture_of(
                    str(row.get("working_memory_id")), row.get("content_type"), row.get("memory_type")
                ),
            ),
            Column(name="type", value=of("memory_type")),
            Column(name="size", value=of("size_bytes"), kind="size"),
            Column(name="state", value=of("status"), kind="state", is_minor=True),
            Column(
                name="node",
                value=of("entity_node_id"),
                kind="id",
                link=lambda row: f"/memory?node={row.get('entity_node_id')}" if row.get("entity_node_id") else "",
            ),
            Column(name="created", value=lambda row: str(row.get("created_at") or "")[:19].replace("T", " ")),
        ),
        rows=result.rows,
        limit=visit.limit,
        has_more=result.has_more and visit.limit < 1000,
        empty="Nothing is kept yet. Upload a file below, or write a record as the lines below do.",
    )


async def _manifest(visit: Visit, root: str, types: list[str], archived: bool) -> tuple[list[ManifestEntity], bool]:
    """Return what hangs below a node, entity by entity, and whether there is more of it."""
    depth = max(1, visit.number("depth", 3, 100))
    result = visit.context.records.manifest(
        **_root(root), depth_max=depth, memory_types=types, include_archived=archived, records_max=RECORDS_OF_GROUP
    )
    return await take(result, min(visit.limit, ENTITIES_MAX))


def _root(root: str) -> Any:
    result = node_keywords(root)
    return {"root_node_id": result["node_id"]} if "node_id" in result else result


async def _hits(visit: Visit, text: str, types: list[str], archived: bool) -> Table:
    """Return the table of the records that a search finds, the best first."""
    results = await visit.context.records.search(
        text, memory_types=types, include_archived=archived, limit=min(visit.limit, 100)
    )
    first, *others = record_columns()
    return Table(
        name="hits",
        title="Found",
        columns=(
            _of_hit(first),
            Column(name="score", value=lambda hit: hit.score, kind="share"),
            *(_of_hit(column) for column in others),
        ),
        rows=results,
        empty="No record has these words, or one like them.",
    )


def _of_hit(column: Column) -> Column:
    """Return a column of records for rows that are hits of a search."""
    link, picture = column.link, column.picture
    return Column(
        name=column.name,
        value=lambda hit: column.value(hit.record),
        kind=column.kind,
        link=(lambda hit: link(hit.record)) if link else None,
        picture=(lambda hit: picture(hit.record)) if picture else None,
        is_minor=column.is_minor,
    )


async def record(visit: Visit) -> Response:
    """Show a record: its metadata, its content, and its log."""
    record_id = visit.step("record_id")
    result = await visit.context.records.get(record_id, include_archived=True)
    file, actions = await asyncio.gather(
        part(_file(visit, result)),
        part(take(visit.context.records.list_actions(record_id), visit.limit)),
    )
    rows, has_more = actions.value or ([], False)
    return visit.render(
        "record.html",
        here="memory",
        title=result.name or "Record",
        record=result,
        file=file,
        actions_trouble=actions.trouble,
        actions=Table(
            name="actions",
            title="What happened to it",
            columns=(
                Column(name="at", value=lambda row: row.created_at, kind="time"),
                Column(name="what", value=lambda row: row.kind, kind="state"),
                Column(name="by", value=lambda row: row.principal),
                Column(name="details", value=lambda row: "" if row.details_json == "{}" else row.details_json),
            ),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="Nothing is written down.",
        ),
        facts=facts(
            [
                ("Type", result.memory_type),
                ("Subtype", result.subtype),
                ("Purpose", result.semantic_purpose),
                ("Content type", result.content_type),
                ("State", result.status),
                ("Description", result.description),
                ("Reasoning", result.reasoning),
                ("Tags", ", ".join(result.tags)),
                ("Stored in", result.provider),
                ("sha256", result.sha256),
                ("Index", " ".join(filter(None, (result.index_state, result.index_error)))),
                ("Text", " ".join(filter(None, (result.text_state, result.text_error)))),
                ("App", result.app_id),
                ("Agent bundle", result.agent_bundle_id),
                ("Owner", result.owner_user_id),
                ("Created by", result.created_by),
                ("Created", result.created_at),
                ("Updated", result.updated_at),
                ("Expires", result.expires_at),
                ("Version", result.version),
            ]
        ),
        code=code.Code(
            python=code.python("context", "records.get", record_id),
            shell=code.shell("wm", "get", record_id, o=""),
        ),
        archive_code=code.Code(
            python=code.python("context", "records.delete", record_id), shell=code.shell("wm", "delete", record_id)
        ),
    )


async def _file(visit: Visit, item: Record) -> files.Shown | None:
    """Return what the page shows of a record's file, or None if it has no file."""
    page = visit.number("page", 1, files.PAGES_MAX)
    return await files.shown(visit, item.working_memory_id, page) if item.blob_key else None


async def content(visit: Visit) -> Response:
    """Return the content of a record as a file to keep; nothing of it is ever shown as a page."""
    record_id = visit.step("record_id")
    result = await visit.context.records.get(record_id, include_archived=True)
    if result.blob_key:
        return await files.download(visit)
    inline = (result.content_json or result.content_text).encode("utf-8", "backslashreplace")
    headers = files.as_attachment(result.name or record_id)
    return Response(inline, media_type="application/octet-stream", headers=headers)


async def upload(visit: Visit) -> Response:
    """Keep a file."""
    form = await visit.form()
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidArgument("choose a file", field="file")
    node_id = str(form.get("node", "")).strip()
    kind = str(form.get("type", "")).strip()
    blob = await visit.context.blobs.upload(
        file.file,
        name=file.filename[-500:],
        memory_type=kind or "file",
        description=str(form.get("description", "")),
        content_type=(file.content_type or "")[:100],
        entity_node_id=node_id or None,
    )
    return visit.redirect(f"/records/{blob.working_memory_id}", "It is kept: its bytes are durable.")


async def archive(visit: Visit) -> Response:
    """Archive a record, which can be brought back."""
    record_id = visit.step("record_id")
    await visit.context.records.delete(record_id)
    return visit.redirect(f"/records/{record_id}", "It is archived: searches do not find it, and it can be restored.")


async def restore(visit: Visit) -> Response:
    """Bring an archived record back."""
    record_id = visit.step("record_id")
    await visit.context.records.restore(record_id)
    return visit.redirect(f"/records/{record_id}", "It is back.")
