"""Tools of the context type WM: the records of an entity."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import orjson

from context_service.mcp.answers import (
    ARGUMENTS,
    UTF8_BYTES_MAX,
    Document,
    place_of_token,
    plain,
    readable,
    size_bytes_of,
)
from context_service.mcp.tool import ENTITY, PAGE_TOKEN, REQUEST_ID, Argument, Arguments, Tool, Use, limit, page_size
from context_service.working_memory.pure.fields import content_type_of_name
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import InvalidArgument, InvalidPageToken
from service_runtime.inputs.pages import encode_token
from service_runtime.rpc import calls
from service_runtime.statements import replays

_TEXT = "text/plain"
_CHUNK_BYTES = 1024 * 1024


class OrderArguments(Arguments):
    """One key of an order."""

    column: str
    descending: bool = False


async def _read_record(tool: Tool, use: Use, arguments: Any) -> Document:
    """Answer a record with the next part of its content."""
    record = (await use.services.memory.FetchWMRecord(tool.request(use, arguments), None)).record
    inline = (record.content_json or record.content_text).encode()
    record.ClearField("content_json")
    record.ClearField("content_text")
    query = ("wm_read", record.working_memory_id, record.sha256)  # a token for other content is refused
    if (start := place_of_token(query, arguments.page_token)) > record.size_bytes:
        raise InvalidPageToken("page_token is malformed", field=f"{ARGUMENTS}.page_token")
    length = min(arguments.bytes_max, use.services.answer_bytes_max, record.size_bytes - start)
    if record.blob_key and length:
        content = await _blob(use, record, start=start, length=length)
    else:
        content = inline[start : start + length]
    described = {"record": await plain(record), "start_bytes": start}
    while True:
        text, taken, encoding = readable(content, is_last=start + len(content) >= record.size_bytes)
        answer = {**described, "encoding": encoding, "content": text}
        if start + taken < record.size_bytes:
            answer["next_page_token"] = encode_token(query, [start + taken])
        size_bytes = size_bytes_of(answer)
        if size_bytes <= use.services.answer_bytes_max:
            return answer
        if len(content) <= UTF8_BYTES_MAX:  # the description of the record alone is too large, so return only its id
            described = {"record": {"working_memory_id": record.working_memory_id}, "start_bytes": start}
            continue
        fewer = len(content) * use.services.answer_bytes_max // size_bytes
        content = content[: max(UTF8_BYTES_MAX, min(len(content) - 1, fewer))]


async def _blob(use: Use, record: pb.WMRecord, *, start: int, length: int) -> bytes:
    """Return a range of the bytes of a record's blob."""
    request = pb.GetBlobRequest(
        working_memory_id=record.working_memory_id, offset_bytes=start, length_bytes=length, include_archived=True
    )
    async with aclosing(use.services.memory.GetBlob(request, None)) as messages:  # type: ignore[type-var]
        return b"".join([message.chunk async for message in messages])


async def _upload(tool: Tool, use: Use, arguments: Any) -> Document:
    """Store a file."""
    if arguments.content and arguments.content_base64:
        raise InvalidArgument("give content or content_base64, not both", field=f"{ARGUMENTS}.content_base64")
    if not arguments.content and not arguments.content_base64:
        raise InvalidArgument(
            "give a text in content, or bytes in content_base64",
            field=f"{ARGUMENTS}.content",
        )
    try:
        content = (
            base64.b64decode(arguments.content_base64, validate=True)
            if arguments.content_base64
            else arguments.content.encode()
        )
    except (binascii.Error, ValueError):
        raise InvalidArgument("content_base64 must be valid base64", field=f"{ARGUMENTS}.content_base64") from None
    header = pb.UploadHeader(
        record=pb.WMRecordInput(
            entity_node_id=arguments.entity_node_id or use.current_entity,
            memory_type=arguments.memory_type,
            name=arguments.name,
            description=arguments.description,
            content_type=arguments.content_type
            or content_type_of_name(arguments.name)
            or (_TEXT if arguments.content else ""),
            tags=arguments.tags,
            metadata_json=orjson.dumps(arguments.metadata).decode() if arguments.metadata else "",
        ),
        size_bytes=len(content),
        request_id=arguments.request_id,
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


async def _archived(response: pb.DeleteWMRecordResponse) -> Document:
    return {"working_memory_id": response.record.working_memory_id, "status": "archived"}


RECORD_ID = Argument(is_required=True)
QUERY = Argument(path="text", is_required=True, limits={"min_length": 1}, description="Words.")
ARCHIVED = Argument()
WHERE = Argument(path="where_json", description="As in wm_query.")
MEMORY_TYPES = Argument()

WORKING_MEMORY_TOOLS = (
    Tool(
        name="wm_list",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/FetchWMRecordsByEntity",
        description="Lists the records (files and JSON documents) of an entity, newest first.",
        arguments={
            "entity_node_id": ENTITY,
            "memory_types": MEMORY_TYPES,
            "names": Argument(),
            "name_prefix": Argument(),
            "tags": Argument(description="All of these."),
            "metadata": Argument(path="metadata_contains_json", description="Contained in the metadata."),
            "include_archived": ARCHIVED,
            "page_size": page_size(50),
            "page_token": PAGE_TOKEN,
        },
        rows="records",
    ),
    Tool(
        name="wm_read",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/FetchWMRecord",
        description="Reads the content of a record in pages: text, or base64 if it is binary.",
        arguments={
            "working_memory_id": RECORD_ID,
            "bytes_max": Argument(type=int, default=16 * 1024, limits={"ge": 16}),
            "page_token": PAGE_TOKEN,
            "include_archived": ARCHIVED,
        },
        outputs=("content", "encoding", "record"),
        own=_read_record,
    ),
    Tool(
        name="wm_search",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/SearchWMRecords",
        description="Finds records of one entity by words, best first.",
        arguments={
            "query": QUERY,
            "entity_node_id": Argument(path="entity_node_ids", type=str, is_entity=True),
            "memory_types": MEMORY_TYPES,
            "where": WHERE,
            "include_archived": ARCHIVED,
            "limit": limit(10, 100),
        },
        rows="hits",
    ),
    Tool(
        name="wm_query",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/QueryWMRecords",
        description="Selects columns or aggregates of all records that you may see, to count or filter them. It takes "
        "no SQL.",
        arguments={
            "select": Argument(
                is_required=True,
                limits={"min_length": 1},
                description='Such as "name", "metadata.topic", "count(*)", "sum(size_bytes)", "max(created_at)".',
            ),
            "where": Argument(
                path="where_json",
                description='Such as {"memory_type": "file", "size_bytes": {"$gt": 10}}. Operators: $eq $ne $gt $gte '
                "$lt $lte $in $nin $like $ilike $exists $and $or $not.",
            ),
            "group_by": Argument(),
            "order_by": Argument(type=list[OrderArguments]),
            "limit": limit(100, 1000),
            "include_archived": ARCHIVED,
        },
        rows="rows",
    ),
    Tool(
        name="wm_manifest",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/FetchWMManifest",
        description="Lists the entities below an entity with their records by memory type, for an overview.",
        arguments={
            "entity_node_id": Argument(path="root_node_id", is_entity=True),
            "depth_max": limit(3, 100),
            "edge_types": Argument(),
            "memory_types": MEMORY_TYPES,
            "counts_only": Argument(),
            "page_size": page_size(50),
            "page_token": PAGE_TOKEN,
        },
        rows="entities",
        fixed={"records_max": 20},
    ),
    Tool(
        name="wm_upload",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/UploadBlob",
        description="Stores a text or a file as a new record of an entity.",
        arguments={
            "name": Argument(type=str, is_required=True, limits={"min_length": 1}),
            "content": Argument(type=str),
            "content_base64": Argument(type=str, description="Bytes instead of text."),
            "entity_node_id": Argument(type=str),
            "memory_type": Argument(type=str, default="file"),
            "description": Argument(type=str),
            "content_type": Argument(type=str, description="Media type; guessed from the name."),
            "tags": Argument(type=list[str]),
            "metadata": Argument(type=dict[str, Any]),
            "request_id": REQUEST_ID,
        },
        outputs=("working_memory_id",),
        own=_upload,
        idempotent=False,
    ),
    Tool(
        name="wm_archive",
        context_type="WM",
        rpc="/contextkeep.context.v1.WorkingMemory/DeleteWMRecord",
        description="Archives a record: lists and searches leave it out, and it is deleted later.",
        arguments={"working_memory_id": RECORD_ID},
        shape=_archived,
        outputs=("working_memory_id", "status"),
        destructive=True,
    ),
)
