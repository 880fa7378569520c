"""Tools of the context type WM: the records of an entity."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

import orjson
from pydantic import Field

from context_service.mcp.answers import Document, first_rows, fitting_page, plain, size_bytes_of
from context_service.mcp.tool import ARGUMENTS, Archived, Arguments, EntityId, PageSize, PageToken, Tool, Use, Where
from context_service.working_memory.fields import content_type_of_name
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import InvalidArgument, InvalidPageToken
from service_runtime import calls, replays
from service_runtime.pages import decode_token, encode_token

_TEXT = "text/plain"
_CHUNK_BYTES = 1024 * 1024
_UTF8_BYTES_MAX = 4  # of one character

RecordId = Annotated[str, Field(description="Id of the record, its `working_memory_id`.")]


class ListArguments(Arguments):
    """Of `wm_list`."""

    entity_node_id: EntityId = ""
    memory_types: list[str] = Field([], description='One of these must match, such as "file", "data/json".')
    names: list[str] = Field([], description="One of these must be the name.")
    name_prefix: str = ""
    tags: list[str] = Field([], description="All of these must be there.")
    metadata: dict[str, Any] = Field({}, description="What the metadata must contain.")
    include_archived: Archived = False
    page_size: PageSize = 50
    page_token: PageToken = ""


async def list_records(use: Use, asked: ListArguments) -> Document:
    """Answer a page of an entity's records."""
    request = pb.FetchWMRecordsByEntityRequest(
        entity_node_id=use.entity(asked.entity_node_id),
        memory_types=asked.memory_types,
        names=asked.names,
        name_prefix=asked.name_prefix,
        tags=asked.tags,
        metadata_contains_json=_json(asked.metadata),
        include_archived=asked.include_archived,
        page_token=asked.page_token,
    )

    async def read(page_size: int) -> tuple[Document, int]:
        request.page_size = page_size
        page = await use.services.memory.FetchWMRecordsByEntity(request, None)
        return {"records": [], **await plain(page)}, len(page.records)

    return await fitting_page(read, page_size=asked.page_size, bytes_max=use.services.answer_bytes_max)


class ReadArguments(Arguments):
    """Of `wm_read`."""

    working_memory_id: RecordId
    bytes_max: int = Field(16 * 1024, ge=16, description="Bytes of content; fewer come if the answer has no room.")
    page_token: PageToken = ""
    include_archived: Archived = False


async def read_record(use: Use, asked: ReadArguments) -> Document:
    """Answer a record with the next bytes of its content."""
    request = pb.FetchWMRecordRequest(
        working_memory_id=asked.working_memory_id, include_archived=asked.include_archived
    )
    record = (await use.services.memory.FetchWMRecord(request, None)).record
    inline = (record.content_json or record.content_text).encode()
    record.ClearField("content_json")
    record.ClearField("content_text")
    query = ("wm_read", record.working_memory_id, record.sha256)  # of other content the token means nothing
    (start,) = decode_token(query, asked.page_token, parts=1) or (0,)
    if type(start) is not int or not 0 <= start <= record.size_bytes:
        raise InvalidPageToken("page_token is malformed", field=f"{ARGUMENTS}.page_token")
    length = min(asked.bytes_max, use.services.answer_bytes_max, record.size_bytes - start)
    if record.blob_key and length:
        content = await _blob(use, record, start=start, length=length)
    else:
        content = inline[start : start + length]
    described = {"record": await plain(record), "start_bytes": start}
    while True:
        text, taken, encoding = _readable(content, is_last=start + len(content) >= record.size_bytes)
        answer = {**described, "encoding": encoding, "content": text}
        if start + taken < record.size_bytes:
            answer["next_page_token"] = encode_token(query, [start + taken])
        size_bytes = size_bytes_of(answer)
        if size_bytes <= use.services.answer_bytes_max:
            return answer
        if len(content) <= _UTF8_BYTES_MAX:  # the description alone is too large
            described = {"record": {"working_memory_id": record.working_memory_id}, "start_bytes": start}
            continue
        fewer = len(content) * use.services.answer_bytes_max // size_bytes
        content = content[: max(_UTF8_BYTES_MAX, min(len(content) - 1, fewer))]


async def _blob(use: Use, record: pb.WMRecord, *, start: int, length: int) -> bytes:
    request = pb.GetBlobRequest(
        working_memory_id=record.working_memory_id, offset_bytes=start, length_bytes=length, include_archived=True
    )
    async with aclosing(use.services.memory.GetBlob(request, None)) as messages:  # type: ignore[type-var]
        return b"".join([message.chunk async for message in messages])


def _readable(content: bytes, *, is_last: bool) -> tuple[str, int, str]:
    """Return bytes as a text, how many of them it stands for, and how.

    Args:
        content: It may end inside a character.
        is_last: Nothing follows, so it may not.
    """
    for cut in range(1 if is_last else _UTF8_BYTES_MAX):
        try:
            text = content[: len(content) - cut].decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text and (text or not content):
            return text, len(content) - cut, "utf-8"
        break
    return base64.b64encode(content).decode(), len(content), "base64"


class SearchArguments(Arguments):
    """Of `wm_search`."""

    text: str = Field(min_length=1, description="Words to look for in names, descriptions and contents.")
    entity_node_id: EntityId = ""
    memory_types: list[str] = Field([])
    where: Where = Field({})
    include_archived: Archived = False
    limit: int = Field(10, ge=1, le=100)


async def search_records(use: Use, asked: SearchArguments) -> Document:
    """Answer the records of an entity that have the words."""
    request = pb.SearchWMRecordsRequest(
        text=asked.text,
        entity_node_ids=[use.entity(asked.entity_node_id)],
        memory_types=asked.memory_types,
        where_json=_json(asked.where),
        include_archived=asked.include_archived,
        limit=asked.limit,
    )
    found = await use.services.memory.SearchWMRecords(request, None)
    return await first_rows({"hits": [], **await plain(found)}, "hits", bytes_max=use.services.answer_bytes_max)


class OrderArguments(Arguments):
    """One key of an order."""

    column: str
    descending: bool = False


class QueryArguments(Arguments):
    """Of `wm_query`."""

    select: list[str] = Field(
        min_length=1,
        description='Columns: fields, paths such as "metadata.topic", and aggregates such as "count(*)", '
        '"sum(size_bytes)", "avg(metadata.score)", "max(created_at)".',
    )
    where: Where = Field({})
    group_by: list[str] = Field([])
    order_by: list[OrderArguments] = Field([])
    limit: int = Field(100, ge=1, le=1000)
    include_archived: Archived = False


async def query_records(use: Use, asked: QueryArguments) -> Document:
    """Answer a question about records."""
    request = pb.QueryWMRecordsRequest(
        select=asked.select,
        where_json=_json(asked.where),
        group_by=asked.group_by,
        order_by=[pb.QueryOrder(column=key.column, descending=key.descending) for key in asked.order_by],
        limit=asked.limit,
        include_archived=asked.include_archived,
    )
    answer = await plain(await use.services.memory.QueryWMRecords(request, None))
    return await first_rows({"rows": [], **answer}, "rows", bytes_max=use.services.answer_bytes_max)


class ManifestArguments(Arguments):
    """Of `wm_manifest`."""

    entity_node_id: EntityId = ""
    depth_max: int = Field(3, ge=1, le=100, description="Steps from the entity.")
    edge_types: list[str] = Field([], description="Followed downwards. Left out: those that contain things.")
    memory_types: list[str] = Field([])
    counts_only: bool = Field(False, description="Counts and sizes, without the records.")
    page_size: PageSize = 50
    page_token: PageToken = ""


async def manifest(use: Use, asked: ManifestArguments) -> Document:
    """Answer a page of the entities below an entity, with their records."""
    request = pb.FetchWMManifestRequest(
        root_node_id=use.entity(asked.entity_node_id),
        depth_max=asked.depth_max,
        edge_types=asked.edge_types,
        memory_types=asked.memory_types,
        counts_only=asked.counts_only,
        records_max=20,
        page_token=asked.page_token,
    )

    async def read(page_size: int) -> tuple[Document, int]:
        request.page_size = page_size
        page = await use.services.memory.FetchWMManifest(request, None)
        return {"entities": [], **await plain(page)}, len(page.entities)

    return await fitting_page(read, page_size=asked.page_size, bytes_max=use.services.answer_bytes_max)


class UploadArguments(Arguments):
    """Of `wm_upload`."""

    name: str = Field(min_length=1, description="File name or title.")
    content: str = Field("", description="The text of the file. This or `content_base64` is needed.")
    content_base64: str = Field("", description="Instead of `content`: bytes that are no text.")
    entity_node_id: EntityId = ""
    memory_type: str = Field("file", description='Category, such as "file", "text/markdown", "code/python".')
    description: str = ""
    content_type: str = Field("", description="Media type. Left out: guessed from the name, else that of plain text.")
    tags: list[str] = Field([])
    metadata: dict[str, Any] = Field({})
    request_id: str = Field("", description="A UUID: the same call again stores nothing more.")


async def upload(use: Use, asked: UploadArguments) -> Document:
    """Store a file."""
    if asked.content and asked.content_base64:
        raise InvalidArgument("content and content_base64 are both there", field=f"{ARGUMENTS}.content_base64")
    if not asked.content and not asked.content_base64:
        raise InvalidArgument(
            "there is nothing to store: give the text as content, or bytes as content_base64",
            field=f"{ARGUMENTS}.content",
        )
    try:
        content = (
            base64.b64decode(asked.content_base64, validate=True) if asked.content_base64 else asked.content.encode()
        )
    except (binascii.Error, ValueError):
        raise InvalidArgument("content_base64 is not base64", field=f"{ARGUMENTS}.content_base64") from None
    header = pb.UploadHeader(
        record=pb.WMRecordInput(
            entity_node_id=asked.entity_node_id or use.current_entity,
            memory_type=asked.memory_type,
            name=asked.name,
            description=asked.description,
            content_type=asked.content_type or content_type_of_name(asked.name) or (_TEXT if asked.content else ""),
            tags=asked.tags,
            metadata_json=_json(asked.metadata),
        ),
        size_bytes=len(content),
        request_id=asked.request_id,
    )

    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield pb.UploadBlobRequest(header=header)
        for start in range(0, len(content), _CHUNK_BYTES):
            yield pb.UploadBlobRequest(chunk=content[start : start + _CHUNK_BYTES])

    calls.comes_down_to(header)
    stored = await replays.answered("contextkeep.context.v1.WorkingMemory", use.services.memory.UploadBlob, messages())
    calls.comes_down_to(header, stored)
    stored.ClearField("record")
    return await plain(stored)


class ArchiveArguments(Arguments):
    """Of `wm_archive`."""

    working_memory_id: RecordId


async def archive(use: Use, asked: ArchiveArguments) -> Document:
    """Archive a record."""
    request = pb.DeleteWMRecordRequest(working_memory_id=asked.working_memory_id)
    calls.comes_down_to(request)
    archived = await use.services.memory.DeleteWMRecord(request, None)
    calls.comes_down_to(request, archived)
    return {"working_memory_id": archived.record.working_memory_id, "status": "archived"}


def _json(value: dict[str, Any]) -> str:
    return orjson.dumps(value).decode() if value else ""


WORKING_MEMORY_TOOLS = (
    Tool(
        name="wm_list",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/FetchWMRecordsByEntity",
        description="Lists the working memory records (files, JSON documents) of an entity, newest first, "
        "without their contents. Read a content with wm_read.",
        arguments=ListArguments,
        run=list_records,
    ),
    Tool(
        name="wm_read",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/FetchWMRecord",
        description="Reads the content of a working memory record, piece by piece: as text, or as "
        "base64 where it is none. `next_page_token` is there as long as something follows.",
        arguments=ReadArguments,
        run=read_record,
    ),
    Tool(
        name="wm_search",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/SearchWMRecords",
        description="Finds records of an entity by words in their names, descriptions and contents, the best first.",
        arguments=SearchArguments,
        run=search_records,
    ),
    Tool(
        name="wm_query",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/QueryWMRecords",
        description="Answers a question about all records that you may see: columns, conditions, groups with "
        "counts, sums, averages, least and greatest values. It takes no SQL.",
        arguments=QueryArguments,
        run=query_records,
    ),
    Tool(
        name="wm_manifest",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/FetchWMManifest",
        description="Lists the entities below an entity in the graph, each with its records by memory type.",
        arguments=ManifestArguments,
        run=manifest,
    ),
    Tool(
        name="wm_upload",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/UploadBlob",
        description="Stores a text or a file as a new working memory record of an entity.",
        arguments=UploadArguments,
        run=upload,
        scope="write",
        idempotent=False,
    ),
    Tool(
        name="wm_archive",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/DeleteWMRecord",
        description="Archives a working memory record: it is no longer listed, and goes when its "
        "retention ends. An operator or an application can bring it back until then.",
        arguments=ArchiveArguments,
        run=archive,
        scope="write",
        destructive=True,
    ),
)
