"""Files of messages: their bytes become records of the context, once each, and nobody else sees them."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc
import pytest

from context_service.kernel.files.reading import FactReader
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1 import tasks_pb2 as tasks
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import (
    ContextKeepError,
    ContextNotFound,
    InvalidArgument,
    MessageExists,
    RecordNotFound,
    TaskEnded,
)
from service_runtime.postgres import Across, Database, Tenant
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, Opened, an_id
from tests.errors import raised
from tests.media import png

PIXEL = png(1, 1)


@pytest.fixture
def caller(contexts: Opened) -> Caller:
    return contexts.caller


@pytest.fixture
def database(contexts: Opened) -> Database:
    return contexts.database


def picture(*, color: int = 0, width: int = 3) -> bytes:
    return png(width, 2, color=color)


def part(data: bytes, **fields: str) -> message.Part:
    return message.Part(file=message.File(data=data, **fields))


async def content(caller: Caller, record_id: str, **fields: str) -> bytes:
    request = memory.GetContentRequest(working_memory_id=record_id, **fields)
    try:
        answer = await WorkingMemoryStub(caller.channel).GetContent(request, metadata=caller.metadata, timeout=30)
    except grpc.aio.AioRpcError as error:
        raise raised(error) from None
    return answer.content


async def read(caller: Caller, sent: Any, **fields: str) -> message.ChatMessage:
    answer = await caller.call("GetMessage", context_id=sent.context_id, message_id=sent.message.message_id, **fields)
    return answer.message


async def test_bytes_become_a_record_of_the_context_with_what_is_known_of_them(caller: Caller):
    data = picture()
    sent = await caller.send("look", parts=[part(data, name="view.png", alt="a view", media_type="image/jpeg")])

    (stored,) = (await read(caller, sent)).parts
    file = stored.file
    assert (file.name, file.alt, file.media_type) == ("view.png", "a view", "image/png")  # the bytes say what it is
    assert (file.width, file.height, file.size_bytes) == (3, 2, len(data))
    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert await content(caller, file.working_memory_id) == data


_FILES = """
    SELECT r.id::text AS id, r.sha256, r.size_bytes FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.sha256 = %(sha256)s
"""
_BLOBS = """
    SELECT state FROM context.blob
    WHERE tenant_id = %(tenant_id)s AND (state <> 'live' OR sha256 = %(sha256)s)
"""


async def records_with(database: Database, data: bytes) -> list[Any]:
    """Return all records with these bytes, as background work sees them."""
    return await database.tenant(PRINCIPAL.tenant_id).query(_FILES, {"sha256": hashlib.sha256(data).digest()})


async def blobs_with(database: Database, data: bytes) -> list[str]:
    """Return the states of all blobs with these bytes, and of all that are not live."""
    rows = await database.tenant(PRINCIPAL.tenant_id).query(_BLOBS, {"sha256": hashlib.sha256(data).digest()})
    return [row.state for row in rows]


async def upload(caller: Caller, data: bytes, **fields: Any) -> memory.WMRecord:
    async def messages() -> AsyncIterator[memory.UploadBlobRequest]:
        record = memory.WMRecordInput(**{"name": "x", "memory_type": "message_file", **fields})
        yield memory.UploadBlobRequest(header=memory.UploadHeader(record=record))
        for start in range(0, len(data), 2**20):
            yield memory.UploadBlobRequest(chunk=data[start : start + 2**20])

    stub = WorkingMemoryStub(caller.channel)
    return (await stub.UploadBlob(messages(), metadata=caller.metadata, timeout=60)).record


@pytest.mark.parametrize("data", [b"x", PIXEL, bytes(3 * 2**20)], ids=["a byte", "a pixel", "three mebibytes"])
async def test_bytes_come_back_as_they_were_sent(caller: Caller, data: bytes):
    sent = await caller.send("", parts=[part(data)])
    file = (await read(caller, sent)).parts[0].file

    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert await content(caller, file.working_memory_id) == data


async def test_a_data_url_is_a_file_of_any_size(caller: Caller):
    data = bytes(range(256)) * 100
    url = f"data:application/zip;base64,{b64encode(data).decode()}"
    both = [message.Part(url=url, file_name="a.zip"), message.Part(file=message.File(url=url, name="a.zip"))]
    sent = await caller.send("", parts=both)
    old, new = (await read(caller, sent)).parts

    assert old == new
    assert (old.file.name, old.file.media_type, old.file.size_bytes) == ("a.zip", "application/zip", len(data))
    assert await content(caller, old.file.working_memory_id) == data


B64 = b64encode(picture()).decode()
BLOCKS: dict[str, Any] = {
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": B64}},
    "openai": {"type": "input_image", "image_url": f"data:image/png;base64,{B64}"},
    "openai chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{B64}", "detail": "low"}},
    "openai file": {"type": "input_file", "file_data": f"data:image/png;base64,{B64}", "filename": "shot.png"},
    "mcp": {"type": "image", "data": B64, "mimeType": "image/png"},
    "mcp resource": {
        "type": "resource",
        "resource": {"uri": "file:///a/shot.png", "mimeType": "image/png", "blob": B64},
    },
    "gemini": {"inline_data": {"mime_type": "image/png", "data": B64}},
    "gemini in javascript": {"inlineData": {"mimeType": "image/png", "data": B64.rstrip("=")}},
}


@pytest.mark.parametrize("name", BLOCKS)
async def test_a_picture_in_the_result_of_a_tool_is_taken_out_of_its_json(caller: Caller, name: str):
    told = {"content": [{"type": "text", "text": "Größe"}, BLOCKS[name]], "ok": 12345678901234567890123}
    result = message.ToolResult(tool_call_id="c1", content_json=json.dumps(told))
    sent = await caller.send("", role="tool", parts=[message.Part(tool_result=result)])

    stored = (await read(caller, sent)).parts[0].tool_result
    (file,) = stored.files
    assert await content(caller, file.working_memory_id) == picture()
    assert (file.width, file.media_type) == (3, "image/png")
    left = json.loads(stored.content_json)
    assert left["content"][0] == told["content"][0]
    assert left["content"][1]["file"] == 1
    assert left["ok"] == told["ok"]
    assert B64[:20] not in stored.content_json


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "data": "no base64!"}},
        {"type": "image", "data": 7, "mimeType": "image/png"},
        {"inline_data": "text"},
        {"type": "input_image", "image_url": "https://example.com/base64.png"},
    ],
)
async def test_what_is_no_block_of_a_picture_stays_as_it_was_sent(caller: Caller, block: Any):
    content_json = json.dumps([block], indent=3)
    sent = await caller.send(
        "",
        role="tool",
        parts=[message.Part(tool_result=message.ToolResult(tool_call_id="c", content_json=content_json))],
    )
    assert (await read(caller, sent)).parts[0].tool_result == message.ToolResult(
        tool_call_id="c", content_json=content_json
    )


async def test_a_picture_that_is_twice_in_a_context_is_stored_once(caller: Caller, database: Database):
    data = picture(color=1)
    sent = await caller.send("one", parts=[part(data), part(data, name="again")])
    again = await caller.send("two", sent.context_id, parts=[part(data, name="third")])

    ids = {one.file.working_memory_id for found in (sent, again) for one in (await read(caller, found)).parts}
    assert [row.id for row in await records_with(database, data)] == list(ids)
    assert len(ids) == 1
    assert (await blobs_with(database, data)).count("live") == 1


async def test_a_message_that_is_sent_again_stores_nothing_twice(caller: Caller, database: Database):
    data = picture(color=2)
    sent = await caller.send("one", message_id="m1", parts=[part(data)])
    again = await caller.send("one", sent.context_id, message_id="m1", parts=[part(data)])
    uploaded = await upload(caller, data)
    named = message.Part(file=message.File(working_memory_id=uploaded.working_memory_id))
    third = await caller.send("one", sent.context_id, message_id="m1", parts=[named])

    assert again.message.seq == third.message.seq == sent.message.seq
    with pytest.raises(MessageExists):
        await caller.send("one", sent.context_id, message_id="m1", parts=[part(picture(color=3))])
    of_context = [row for row in await records_with(database, data) if row.id != uploaded.working_memory_id]
    assert len(of_context) == 1
    assert not await records_with(database, picture(color=3))


async def test_nobody_else_sees_a_file(caller: Caller):
    data = picture(color=4)
    ada, bob = caller.of("ada"), caller.of("bob")
    sent = await ada.send("mine", parts=[part(data)])
    record_id = (await read(ada, sent)).parts[0].file.working_memory_id

    assert await content(ada, record_id) == data
    assert await content(caller.of("runtime"), record_id, subject_user_id="ada") == data
    for other in (
        bob,
        caller.of("runtime"),
        caller.of("other"),
        caller.of("app"),
        caller.of("graph"),
        caller.of("context"),
    ):
        with pytest.raises(RecordNotFound):
            await content(other, record_id)
    named = message.Part(file=message.File(working_memory_id=record_id))
    for other in (bob, caller.of("runtime"), caller.of("other"), caller.of("app")):
        with pytest.raises(RecordNotFound):
            await other.send("theirs", parts=[named])


async def test_a_file_is_in_no_list_and_no_search_of_records(caller: Caller):
    sent = await caller.send("look", parts=[part(picture(color=5), name="quagga.png")])
    record_id = (await read(caller, sent)).parts[0].file.working_memory_id
    stub = WorkingMemoryStub(caller.channel)

    found = await stub.SearchWMRecords(memory.SearchWMRecordsRequest(text="quagga"), metadata=caller.metadata)
    rows = await stub.QueryWMRecords(
        memory.QueryWMRecordsRequest(select=["working_memory_id"]), metadata=caller.metadata
    )
    assert "quagga" not in str(found)
    assert record_id not in str(rows)
    assert await content(caller, record_id)


async def test_a_deleted_context_takes_its_files_and_no_others(caller: Caller, database: Database):
    data = picture(color=6)
    first = await caller.send("one", parts=[part(data)])
    second = await caller.send("two", parts=[part(data)])
    pointed = await upload(caller, picture(color=7), memory_type="file")
    gone = (await read(caller, first)).parts[0].file.working_memory_id
    stays = (await read(caller, second)).parts[0].file.working_memory_id

    await caller.of("admin").call("DeleteContext", context_id=first.context_id, now=True)
    with pytest.raises(RecordNotFound):
        await content(caller, gone)
    assert await content(caller, stays) == data
    assert await content(caller, pointed.working_memory_id) == picture(color=7)


async def test_the_file_of_a_retracted_message_is_deleted_unless_another_message_names_it(
    caller: Caller, database: Database
):
    pictures = [picture(color=30 + n) for n in range(3)]
    alone, in_result, twice = map(part, pictures)
    result = message.ToolResult(tool_call_id="c", content_json='"taken"', files=[in_result.file])
    pointed = await upload(caller, picture(color=34), memory_type="file")
    named = message.Part(file=message.File(working_memory_id=pointed.working_memory_id))
    sent = await caller.send("one", parts=[alone, twice, named, message.Part(tool_result=result)])
    context_id, parts = sent.context_id, (await read(caller, sent)).parts
    await caller.send("two", context_id, parts=[twice])
    await caller.call("RetractMessages", context_id=context_id, message_ids=[sent.message.message_id])

    for gone in (parts[0].file, parts[3].tool_result.files[0]):
        with pytest.raises(RecordNotFound):
            await content(caller, gone.working_memory_id)
    assert [len(await records_with(database, data)) for data in pictures] == [0, 0, 1]
    assert await content(caller, parts[1].file.working_memory_id) == pictures[2]
    assert await content(caller, pointed.working_memory_id) == picture(color=34)
    again = await caller.send("three", context_id, parts=[alone])
    assert await content(caller, (await read(caller, again)).parts[0].file.working_memory_id) == pictures[0]


def working(*parts: message.Part) -> tasks.TaskInput:
    """Return a task whose status message has some parts."""
    status_message = message.MessageInput(role="assistant", parts=parts)
    return tasks.TaskInput(status=tasks.TaskStatusInput(state=tasks.TASK_STATE_WORKING, message=status_message))


async def update(caller: Caller, task_id: str, *parts: message.Part) -> tasks.Task:
    mask = {"paths": ["status"]}
    return (await caller.call("UpdateTask", task_id=task_id, task=working(*parts), update_mask=mask)).task


async def test_an_artifact_owns_the_bytes_urls_and_uploads_of_its_parts(caller: Caller, database: Database):
    data, sound, scan = picture(color=40), b"RIFF" + bytes(300_000), picture(color=41)
    uploaded = await upload(caller, scan, name="scan.png")
    task = (await caller.call("CreateTask", context_id=(await caller.send()).context_id)).task
    url = f"data:application/zip;base64,{b64encode(sound).decode()}"
    blocks = json.dumps([BLOCKS["anthropic"]])
    sent = [
        part(data, name="chart.png", alt="sales by quarter"),
        message.Part(url=url, file_name="talk.zip"),
        message.Part(working_memory_id=uploaded.working_memory_id),
        message.Part(tool_result=message.ToolResult(tool_call_id="c", content_json=blocks)),
    ]
    for append in (False, True):
        draft = {"artifact_id": "report", "parts": sent[2:] if append else sent[:2]}
        await caller.call("PutArtifact", task_id=task.task_id, artifact=draft, append=append)

    answer = await caller.call("GetArtifact", task_id=task.task_id, artifact_id="report")
    chart, talk, scanned, result = answer.artifact.parts
    assert (chart.file.name, chart.file.alt, chart.file.width) == ("chart.png", "sales by quarter", 3)
    assert (talk.file.name, talk.file.media_type) == ("talk.zip", "application/zip")
    assert scanned.file.name == "scan.png"
    for file, expected in (
        (chart.file, data),
        (talk.file, sound),
        (scanned.file, scan),
        (result.tool_result.files[0], picture()),
    ):
        assert await content(caller, file.working_memory_id) == expected
    assert [row.id for row in await records_with(database, scan)] == [scanned.file.working_memory_id]
    found = await caller.call("Recall", context_id=task.context_id, text="sales by quarter")
    assert any(item.artifact_id == "report" for item in found.recalled.items)


async def test_a_status_message_owns_its_files_until_the_next_one_replaces_it(caller: Caller, database: Database):
    shown, kept, new = (picture(color=50 + n) for n in range(3))
    context_id = (await caller.send("look", parts=[part(kept)])).context_id
    create = caller.call("CreateTask", context_id=context_id, task=working(part(shown), part(kept)))
    task = (await create).task

    first = [each.file.working_memory_id for each in task.status.message.parts]
    assert [await content(caller, record_id) for record_id in first] == [shown, kept]
    task = await update(caller, task.task_id, part(new))
    (changed,) = task.status.message.parts
    assert await content(caller, changed.file.working_memory_id) == new
    with pytest.raises(RecordNotFound):
        await content(caller, first[0])
    assert await content(caller, first[1]) == kept  # a message names it, too

    mask = {"paths": ["metadata_json"]}
    await caller.call("UpdateTask", task_id=task.task_id, task=working(part(shown)), update_mask=mask)
    assert not await records_with(database, shown)
    assert await content(caller, changed.file.working_memory_id) == new


async def test_a_retracted_message_leaves_the_files_that_artifacts_and_tasks_name(caller: Caller):
    in_artifact, in_task = picture(color=60), picture(color=61)
    sent = await caller.send("both", parts=[part(in_artifact), part(in_task)])
    create = caller.call("CreateTask", context_id=sent.context_id, task=working(part(in_task)))
    task_id = (await create).task.task_id
    await caller.call("PutArtifact", task_id=task_id, artifact={"artifact_id": "a", "parts": [part(in_artifact)]})
    ids = [each.file.working_memory_id for each in (await read(caller, sent)).parts]
    await caller.call("RetractMessages", context_id=sent.context_id, message_ids=[sent.message.message_id])

    assert [await content(caller, record_id) for record_id in ids] == [in_artifact, in_task]


async def test_an_artifact_and_a_task_that_are_sent_again_store_nothing_twice(caller: Caller, database: Database):
    data = picture(color=70)
    context_id = (await caller.send()).context_id
    request_id = an_id()
    created = [
        await caller.call("CreateTask", context_id=context_id, task=working(part(data)), request_id=request_id)
        for _ in range(2)
    ]
    assert created[0] == created[1]
    task_id, request_id = created[0].task.task_id, an_id()
    draft = {"artifact_id": "a", "parts": [part(data), part(picture(color=71))]}
    for _ in range(2):
        await caller.call("PutArtifact", task_id=task_id, artifact=draft, request_id=request_id)

    assert [len(await records_with(database, each)) for each in (data, picture(color=71))] == [1, 1]
    (row,) = await records_with(database, data)
    await caller.of("admin").call("DeleteContext", context_id=context_id, now=True)
    with pytest.raises(RecordNotFound):
        await content(caller, row.id)
    assert "writing" not in await blobs_with(database, data)


async def test_an_upload_becomes_a_file_of_the_first_message_that_names_it(caller: Caller, database: Database):
    data = picture(color=8)
    uploaded = await upload(caller, data, name="shot.png")
    assert uploaded.expires_at.seconds - uploaded.created_at.seconds <= 24 * 3600
    sent = await caller.send("", parts=[message.Part(working_memory_id=uploaded.working_memory_id)])

    file = (await read(caller, sent)).parts[0].file
    assert (file.name, file.width, file.media_type) == ("shot.png", 3, "image/png")
    assert [row.id for row in await records_with(database, data)] == [file.working_memory_id]
    with pytest.raises(RecordNotFound):
        await content(caller, uploaded.working_memory_id)


async def test_one_process_reads_the_facts_of_all_files_of_calls(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    await caller.send("warm", parts=[part(picture(color=25))])

    async def start(reader: FactReader) -> None:
        raise AssertionError("another process is started")

    monkeypatch.setattr(FactReader, "_started", start)
    uploads = [await upload(caller, picture(color=20 + n), name=f"{n}.png") for n in range(3)]
    named = [message.Part(file=message.File(working_memory_id=record.working_memory_id)) for record in uploads]
    sent = await caller.send("", parts=[*named, part(picture(color=23)), part(picture(color=24))])

    assert [one.file.width for one in (await read(caller, sent)).parts] == [3] * 5


async def test_a_file_is_copied_to_another_context_of_its_user(caller: Caller, database: Database):
    data = picture(color=9)
    first = await caller.send("one", parts=[part(data)])
    (read_part,) = (await read(caller, first)).parts
    second = await caller.send("two", parts=[read_part])
    await caller.of("admin").call("DeleteContext", context_id=first.context_id, now=True)

    file = (await read(caller, second)).parts[0].file
    assert file.working_memory_id != read_part.file.working_memory_id
    assert await content(caller, file.working_memory_id) == data


async def test_who_purges_a_record_does_not_take_the_bytes_of_a_file(caller: Caller, database: Database):
    """The blob is one: the same bytes of a tenant are stored once."""
    data = picture(color=10)
    record = await upload(caller, data, memory_type="file")
    sent = await caller.of("ada").send("mine", parts=[part(data)])
    admin = caller.of("admin")
    request = memory.DeleteWMRecordRequest(working_memory_id=record.working_memory_id, purge=True)
    await WorkingMemoryStub(admin.channel).DeleteWMRecord(request, metadata=admin.metadata, timeout=30)

    file = (await read(caller.of("ada"), sent)).parts[0].file
    assert (await blobs_with(database, data)).count("live") == 1
    assert await content(caller.of("ada"), file.working_memory_id) == data


async def test_a_record_with_a_picture_stays_a_record_and_is_a_file_too(caller: Caller):
    record = await upload(caller, picture(color=11), memory_type="file", name="wall.png")
    sent = await caller.send("", parts=[message.Part(working_memory_id=record.working_memory_id)])

    assert (await read(caller, sent)).parts[0].working_memory_id == record.working_memory_id


async def test_what_is_no_file_is_refused_and_leaves_nothing(caller: Caller, database: Database):
    with pytest.raises(InvalidArgument, match="at least one byte"):
        await caller.send("", parts=[part(b"")])
    with pytest.raises(ContextNotFound):
        await caller.send("", an_id(), parts=[part(picture(color=12))])
    with pytest.raises(ContextNotFound):
        await caller.call("CreateTask", context_id=an_id(), task=working(part(picture(color=12))))
    task = (await caller.call("CreateTask", context_id=(await caller.send()).context_id)).task
    await caller.call("CancelTask", task_id=task.task_id)
    with pytest.raises(TaskEnded):
        await caller.call("PutArtifact", task_id=task.task_id, artifact={"parts": [part(picture(color=12))]})
    with pytest.raises(TaskEnded):
        await update(caller, task.task_id, part(picture(color=12)))
    assert not await records_with(database, picture(color=12))
    assert "writing" not in await blobs_with(database, picture(color=12))


_WHOLE = Across(
    sql="""
        SELECT
            (SELECT count(*) FROM context.wm_record WHERE context_id = %(context_id)s) AS records,
            (SELECT count(*) FROM context.message m
                WHERE m.context_id = %(context_id)s AND m.parts::text <> '[]') AS messages,
            (SELECT count(*) FROM context.wm_record r
                JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
                WHERE r.context_id = %(context_id)s AND b.state = 'live') AS whole,
            (SELECT count(*) FROM context.blob b WHERE b.state = 'live' AND NOT context.has_records(b.id)) AS ownerless
    """,
    contexts=True,
    subjects=True,
    why="of a test",
)


async def test_a_call_that_ends_at_any_moment_leaves_no_part_without_bytes_and_no_bytes_without_an_owner(
    caller: Caller, database: Database
):
    """Each call is cancelled a little later than the one before, until one gets through."""
    context_id = (await caller.send("begin")).context_id
    tenant = database.tenant(PRINCIPAL.tenant_id)
    deadline_s, answered = 0.01, 0
    while answered < 2:
        data = png(40, 40, color=int(deadline_s * 1000))
        with suppress(ContextKeepError):
            said = message.MessageInput(parts=[part(data)])
            await caller.call("SendMessage", context_id=context_id, message=said, deadline_s=deadline_s)
            answered += 1
        (left,) = await tenant.query(_WHOLE, {"context_id": context_id})
        assert left.records == left.messages == left.whole >= answered
        assert left.ownerless == 0
        deadline_s *= 1.25


async def test_a_picture_counts_for_the_tenant_once_and_takes_little_more_than_its_bytes(
    caller: Caller, database: Database
):
    """A byte of a picture takes at most 1.05 bytes: of storage, and of rows."""
    tenant = database.tenant(PRINCIPAL.tenant_id)
    data = bytes(range(256)) * 4096
    before = await used(tenant)
    context_id = (await caller.send("", parts=[part(data)])).context_id
    await caller.send("again", context_id, parts=[part(data)])
    after = await used(tenant)

    assert after["records"] - before["records"] == 1
    assert after["bytes"] - before["bytes"] == len(data)
    assert after["rows"] - before["rows"] < 0.05 * len(data)


async def used(tenant: Tenant) -> dict[str, int]:
    (row,) = await tenant.query(_USED)
    return row._asdict()


_USED = Across(
    sql="""
        SELECT
            (SELECT coalesce(sum(records), 0) FROM context.tenant_usage)::bigint AS records,
            (SELECT coalesce(sum(size_bytes), 0) FROM context.tenant_usage)::bigint AS bytes,
            (SELECT coalesce(sum(pg_column_size(m.*)), 0) FROM context.message m)::bigint
                + (SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM context.wm_record r)::bigint
                + (SELECT coalesce(sum(pg_column_size(b.*)), 0) FROM context.blob b)::bigint
                + (SELECT coalesce(sum(pg_column_size(q.*)), 0) FROM context.request q)::bigint AS rows
    """,
    contexts=True,
    subjects=True,
    why="of a test",
)
