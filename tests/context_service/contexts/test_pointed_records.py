"""Records that messages and artifacts point at: what they say is recalled; what cannot be read says why."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc
import psycopg
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from context_service.contexts.store import pointed_records
from context_service.contexts.store.artifact_passages import artifact_source
from context_service.contexts.store.log_passages import log_source
from context_service.contexts.store.pointed_passages import POINTED
from context_service.contexts.store.pointed_records import PointedRecords
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.documents.kinds import Reason, Unread
from context_service.retrieval.documents.reading import RecordText
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.errors import LimitExceeded, Unavailable
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import PRINCIPAL, Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller, an_id
from tests.context_service.contexts.test_artifacts import found, put
from tests.context_service.contexts.test_recall import recall, talk
from tests.context_service.contexts.test_tasks import begun, created
from tests.context_service.retrieval import files
from tests.context_service.retrieval.killed import TEXT, killed_at_its_third_step
from tests.context_service.working_memory import callers as working_memory
from tests.context_service.working_memory.callers import until
from tests.media import png

PDF = "application/pdf"
QUEUED_MAX = 20  # of the stack whose worker does nothing


@dataclass(frozen=True, kw_only=True)
class Stack:
    caller: Caller
    memory: working_memory.Caller
    urls: Urls
    database: Database

    async def upload(self, content: bytes, **fields: Any) -> str:
        return str((await self.memory.upload(content, **fields)).working_memory_id)

    async def point(self, *record_ids: str, context_id: str = "", **fields: Any) -> str:
        """Send a message that points at records, and return its context."""
        parts = [message.Part(working_memory_id=one, **fields) for one in record_ids]
        return str((await self.caller.append(context_id, MessageInput(parts=parts))).context_id)

    async def make(self, *record_ids: str, task_id: str = "", **fields: Any) -> tuple[str, str]:
        """Put an artifact whose parts point at records, of a new task if none is named; return context and task."""
        if not task_id:
            task_id = (await begun(self.caller))[1].task_id
        parts = [message.Part(working_memory_id=one) for one in record_ids]
        return str((await put(self.caller, task_id, parts=parts, **fields)).artifact.context_id), task_id

    def rows(self, context_id: str) -> list[tuple[str, str, str]]:
        """Return state, reason and detail of what a context points at, as a superuser reads them."""
        with psycopg.connect(self.urls.superuser) as connection:
            return connection.execute(
                "SELECT state, reason, detail FROM context.message_record WHERE context_id = %s ORDER BY seq, part",
                (context_id,),
            ).fetchall()

    async def read(self, context_id: str) -> list[tuple[str, str, str]]:
        """Wait until all is read that a context points at, and return what became of it."""
        waited = await self.caller.call("WaitForIndex", context_id=context_id, timeout_s=25)
        assert waited.is_complete
        return self.rows(context_id)

    async def texts(self, context_id: str, text: str) -> str:
        return str((await recall(self.caller, context_id, text)).prompt_text)


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        async with (
            running(urls.service, tmp_path_factory.mktemp("blobs"), callers=ApiKeys(KEYS)) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            caller = Caller(channel)
            yield Stack(
                caller=caller,
                memory=working_memory.Caller(addresses.context, channel, "plain"),
                urls=urls,
                database=database,
            )


async def test_what_a_pdf_says_is_recalled_300_messages_later(stack: Stack):
    report = await stack.upload(
        files.pdf(["Referral letter", "The patient complains of tinnitus."]), name="letter.pdf", content_type=PDF
    )
    context_id = await stack.point(report)
    await stack.caller.append(context_id, *talk(300))
    assert await stack.read(context_id) == [("INDEXED", "", "")]

    recalled = await recall(stack.caller, context_id, "who has tinnitus?", tokens_max=1000)
    found = recalled.items[0]
    assert (found.kind, found.seq, found.role) == ("record", 1, "user")
    assert "letter.pdf" in found.text and "complains of tinnitus" in found.text


async def test_what_pdfs_in_the_result_of_a_tool_say_is_found(stack: Stack):
    """Each of them, next to a picture, which has no text to wait for."""
    pdfs = [files.pdf([f"The {animal} digs."]) for animal in ("wombat", "aardvark")]
    found_files = [message.File(data=data, name=f"{number}.pdf") for number, data in enumerate(pdfs)]
    result = message.ToolResult(
        tool_call_id="c", content_json='"two files"', files=[message.File(data=png(2, 2)), *found_files]
    )
    said = MessageInput(role="tool", parts=[message.Part(text="see"), message.Part(tool_result=result)])
    sent = await stack.caller.append("", said)
    context_id = sent.context_id

    assert await stack.read(context_id) == [("INDEXED", "", "")] * 2
    for animal in ("wombat", "aardvark"):
        found = (await recall(stack.caller, context_id, f"does the {animal} dig?")).items[0]
        assert (found.kind, found.seq) == ("record", 1)
        assert f"The {animal} digs." in found.text
    await stack.caller.call("RetractMessages", context_id=context_id, message_ids=[sent.messages[0].message_id])
    assert "digs" not in await stack.texts(context_id, "does the wombat dig?")


@pytest.mark.parametrize(
    ("content", "content_type", "name"),
    [
        (b"The wombat digs.", "text/plain", "a.txt"),
        (b"# The wombat\n\ndigs", "text/markdown", "a.md"),
        (b"animal,does\nwombat,digs\n", "text/csv", "a.csv"),
        (b'{"animal": {"name": "wombat", "does": "digs"}}', "application/json", "a.json"),
        (b"<p>The <b>wom</b>bat digs.</p>", "text/html", "a.html"),
        (files.docx(["The wombat digs."]), "application/octet-stream", "a.docx"),
        (files.xlsx({"One": [["wombat", "digs"]]}), "application/octet-stream", "a.xlsx"),
        (files.pptx(["The wombat digs."], note="slowly"), "application/octet-stream", "a.pptx"),
    ],
)
async def test_what_a_file_says_is_recalled(stack: Stack, content: bytes, content_type: str, name: str):
    context_id = await stack.point(await stack.upload(content, name=name, content_type=content_type))
    assert await stack.read(context_id) == [("INDEXED", "", "")]
    assert "digs" in await stack.texts(context_id, "what does the wombat do?")


async def test_what_a_record_says_itself_is_recalled(stack: Stack):
    inserted = await stack.memory.insert(
        name="intake", description="first visit", content_json='{"complaint": "vertigo", "since": "Monday"}'
    )
    noted = await stack.memory.insert(name="note", content_text="She plays the oboe.")
    context_id = await stack.point(inserted.working_memory_id, noted.working_memory_id)
    assert len(await stack.read(context_id)) == 2
    assert "complaint = vertigo" in await stack.texts(context_id, "vertigo")
    assert "first visit" in await stack.texts(context_id, "which visit?")
    assert "oboe" in await stack.texts(context_id, "what does she play?")


async def test_what_is_about_a_node_is_recalled_alone(stack: Stack):
    """A record belongs to a node, and what names the record is about it, before the record is read and behind that."""
    ours, theirs = an_id(), an_id()
    context_id = (await stack.caller.send("It snows on a wombat.")).context_id
    for node in (ours, theirs):
        record = await stack.memory.insert(name="animal", content_text=f"The wombat {node}.", entity_node_id=node)
        named = message.Part(working_memory_id=record.working_memory_id)
        await stack.caller.append(context_id, MessageInput(content="Which wombat?", parts=[named]))
    await stack.read(context_id)

    async def found(*nodes: str) -> list[tuple[int, str]]:
        which = pb.RecallFilter(entity_node_ids=nodes)
        searched = await stack.caller.call("SearchContext", context_id=context_id, query="the wombat", filter=which)
        recalled = (await recall(stack.caller, context_id, "the wombat", filter=which)).items
        assert {item.seq for item in recalled} == {hit.seq for hit in searched.hits}
        return sorted((hit.seq, hit.kind) for hit in searched.hits)

    of_ours, of_theirs = [(2, "record"), (2, "text")], [(3, "record"), (3, "text")]
    assert await found(ours) == of_ours
    assert await found(theirs) == of_theirs
    assert await found(ours, theirs) == [*of_ours, *of_theirs]
    assert await found(an_id()) == []
    made = await stack.memory.insert(name="animal", content_text="A wombat digs.", entity_node_id=ours)
    task = (await stack.caller.call("CreateTask", context_id=context_id)).task
    await stack.make(made.working_memory_id, task_id=task.task_id)
    await stack.read(context_id)
    of_ours.insert(0, (0, "record"))
    assert await found(ours) == of_ours
    # Of what hangs at a node all is about it.
    hung = {"context": pb.ContextInput(entity_node_id=theirs), "update_mask": FieldMask(paths=["entity_node_id"])}
    await stack.caller.call("UpdateContext", context_id=context_id, **hung)
    assert await found(theirs) == sorted([(1, "text"), *of_ours, *of_theirs])
    assert await found(ours) == of_ours


async def test_a_part_that_is_not_to_be_found_is_not_read(stack: Stack):
    record = await stack.memory.insert(name="hidden", content_text="a pelican")
    context_id = await stack.point(record.working_memory_id, metadata_json='{"index": false}')
    assert stack.rows(context_id) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (files.pdf_with_password(), "password"),
        (files.pdf(["a"] * 10_000), "too_many_pages"),
        (b"\x89PNG and no PDF", "not_as_said"),
    ],
)
async def test_a_file_that_cannot_be_read_fails_with_its_reason_and_the_message_stays(
    stack: Stack, content: bytes, reason: str
):
    context_id = await stack.point(await stack.upload(content, name="scan.pdf", content_type=PDF))
    ((state, why, detail),) = await stack.read(context_id)
    assert (state, why) == ("FAILED", reason)
    assert detail
    index = (await stack.caller.call("GetContext", context_id=context_id)).context.index
    assert (index.failed_count, index.pending_count, index.error) == (1, 0, "")
    (unread,) = index.unread
    assert (unread.seq, unread.part, unread.reason, unread.detail) == (1, 1, reason, detail)
    assert "scan.pdf" in await stack.texts(context_id, "the scan")
    listed = await stack.caller.call("ListMessages", context_id=context_id)
    assert len(listed.messages) == 1


async def test_a_picture_has_no_text_and_has_not_failed(stack: Stack):
    context_id = await stack.point(await stack.upload(b"\x89PNG", name="cat.png", content_type="image/png"))
    ((state, why, _),) = await stack.read(context_id)
    assert (state, why) == ("NO_TEXT", "unsupported")
    index = (await stack.caller.call("GetContext", context_id=context_id)).context.index
    assert (index.without_text_count, index.failed_count, index.pending_count, len(index.unread)) == (1, 0, 0, 0)
    assert "cat.png" in await stack.texts(context_id, "the cat")


async def test_what_a_record_says_is_found_in_no_other_context(stack: Stack):
    planted = f"planted{an_id()[:8]}"
    record = await stack.memory.insert(name="secret", content_text=f"The word is {planted}.")
    context_id = await stack.point(record.working_memory_id)
    other = str((await stack.caller.append("", MessageInput(content="hello"))).context_id)
    await stack.read(context_id)
    assert planted in await stack.texts(context_id, planted)
    assert planted not in str(await recall(stack.caller, other, planted))


async def test_a_retracted_message_takes_along_what_it_points_at(stack: Stack):
    record = await stack.memory.insert(name="plan", content_text="The heist is on Friday.")
    context_id = await stack.point(record.working_memory_id)
    await stack.read(context_id)
    (sent,) = (await stack.caller.call("ListMessages", context_id=context_id)).messages
    await stack.caller.call("RetractMessages", context_id=context_id, message_ids=[sent.message_id])
    assert "heist" not in await stack.texts(context_id, "the heist")
    assert stack.rows(context_id) == []


async def test_a_purged_record_takes_along_what_it_said(stack: Stack):
    """What is removed for good is found nowhere; what the message says itself stays."""
    record = await stack.memory.insert(name="diary", content_text="I love a narwhal.")
    parts = [message.Part(text="my diary, as narwhal"), message.Part(working_memory_id=record.working_memory_id)]
    context_id = str((await stack.caller.append("", MessageInput(parts=parts))).context_id)
    await stack.read(context_id)
    assert "love a narwhal" in await stack.texts(context_id, "narwhal")
    await stack.memory.DeleteWMRecord(working_memory_id=record.working_memory_id, purge=True)

    async def is_gone() -> bool:
        return stack.rows(context_id) == []

    await until(is_gone)
    found = await stack.texts(context_id, "narwhal")
    assert "love a narwhal" not in found
    assert "as narwhal" in found


async def test_a_deleted_context_leaves_nothing_of_what_it_points_at(stack: Stack):
    word = f"word{an_id()[:8]}"
    record = await stack.memory.insert(name="note", content_text=f"It is {word}.")
    context_id, _ = await stack.make(record.working_memory_id)
    await stack.point(record.working_memory_id, context_id=context_id)
    assert len(await stack.read(context_id)) == 2
    await stack.caller.call("DeleteContext", context_id=context_id, now=True)

    async def is_gone() -> bool:
        return stack.rows(context_id) == []

    await until(is_gone)


async def test_what_a_record_says_is_recalled_where_an_artifact_points_at_it(stack: Stack):
    """As the other passages of the artifact: by its task, and first where the task is referred to."""
    report = await stack.upload(files.pdf(["The audiogram shows a notch."]), name="audiogram.pdf", content_type=PDF)
    context_id, task_id = await stack.make(report, name="Findings")
    await stack.caller.append(context_id, *talk(20))
    assert await stack.read(context_id) == [("INDEXED", "", "")]

    hit, *others = await found(stack.caller, context_id, "audiogram notch")
    assert {other.kind for other in others} <= {"artifact"}  # the name of the file
    assert (hit.kind, hit.seq, hit.role, hit.task_id, hit.artifact_id) == ("record", 0, "assistant", task_id, "plan")
    assert "shows a notch" in hit.text and hit.ref.startswith("a")
    for fields in ({"reference_task_ids": [task_id]}, {"options": {"filter": {"task_ids": [task_id]}}}):
        asked = {"context_id": context_id, "text": "What of number 7, and the notch?", **fields}
        recalled = (await stack.caller.call("Recall", **asked)).recalled
        assert recalled.items[0].artifact_id == "plan", fields


async def test_a_chunk_and_a_new_version_say_what_their_own_records_say(stack: Stack):
    one, two, three = [
        (await stack.memory.insert(name=name, content_text=f"The {name} flies.")).working_memory_id
        for name in ("stork", "crane", "egret")
    ]
    context_id, task_id = await stack.make(one)
    await stack.make(two, task_id=task_id, append=True)
    assert len(await stack.read(context_id)) == 2
    texts = [hit.text for hit in await found(stack.caller, context_id, "flies")]
    assert sorted(text.split()[0] for text in texts) == ["crane", "stork"]

    await stack.make(three, task_id=task_id)
    assert await stack.read(context_id) == [("INDEXED", "", "")]
    assert [hit.text for hit in await found(stack.caller, context_id, "flies")] == ["egret\nThe egret flies."]


async def test_a_file_that_an_artifact_points_at_and_that_cannot_be_read_says_so(stack: Stack):
    locked = await stack.upload(files.pdf_with_password(), name="locked.pdf", content_type=PDF)
    context_id, task_id = await stack.make(locked)
    await stack.read(context_id)
    (unread,) = (await stack.caller.call("GetContext", context_id=context_id)).context.index.unread
    assert (unread.seq, unread.part, unread.task_id, unread.artifact_id) == (0, 1, task_id, "plan")
    assert unread.reason == "password"


async def test_a_record_that_an_artifact_points_at_takes_what_it_said_along(stack: Stack):
    record = await stack.memory.insert(name="memo", content_text="The quokka grins.")
    context_id, _ = await stack.make(record.working_memory_id)
    await stack.read(context_id)
    assert await found(stack.caller, context_id, "quokka")
    await stack.memory.DeleteWMRecord(working_memory_id=record.working_memory_id, purge=True)

    async def is_gone() -> bool:
        return stack.rows(context_id) == []

    await until(is_gone)
    assert await found(stack.caller, context_id, "quokka") == []


# The worker, step by step.


@dataclass(eq=False)
class Reading:
    """Reads every record as what it is told, or fails."""

    answers: list[RecordText | Exception | None]

    async def read(self, tenant: Tenant, record_id: uuid.UUID) -> RecordText | None:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
async def quiet(postgres: EmbeddedPostgres, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stack]:
    """A stack whose own worker does nothing."""

    async def nothing(self: PointedRecords) -> None:
        return

    monkeypatch.setattr(PointedRecords, "keep_reading", nothing)
    with cloned(postgres) as urls:
        async with (
            running(urls.service, tmp_path, callers=ApiKeys(KEYS), queued_items_max=QUEUED_MAX) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Stack(
                caller=Caller(channel),
                memory=working_memory.Caller(addresses.context, channel, "plain"),
                urls=urls,
                database=database,
            )


def worker(stack: Stack, *answers: RecordText | Exception | None) -> PointedRecords:
    return PointedRecords(stack.database, Passages(stack.database), read=Reading(list(answers)).read, count=len)


def due(stack: Stack) -> None:
    """Let all be due now: as if the time had passed."""
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute("UPDATE context.message_record SET due_at = now()")


async def test_a_worker_that_is_killed_half_way_is_followed_by_one_that_goes_on(quiet: Stack, monkeypatch: Any):
    """A long text is written in steps; each is there once, whoever writes it."""
    monkeypatch.setattr(pointed_records, "PASSAGES_OF_STEP", 2)
    record = await quiet.memory.insert(name="long")
    context_id = await quiet.point(record.working_memory_id)
    whole = RecordText(text=TEXT, unread=None)

    with killed_at_its_third_step(monkeypatch):
        await worker(quiet, whole).read_due()
    assert await worker(quiet).read_due() == 0  # it is leased
    due(quiet)
    assert await worker(quiet, whole).read_due() == 1
    assert quiet.rows(context_id) == [("INDEXED", "", "")]
    with psycopg.connect(quiet.urls.superuser) as connection:
        query = "SELECT text FROM context.passage WHERE context_id = %s AND kind = 'record' ORDER BY seq, ordinal"
        texts = [row[0] for row in connection.execute(query, (context_id,)).fetchall()]
    assert [texts.count(one) for one in texts] == [1] * len(texts)
    assert all(any(f"number{n}" in one for one in texts) for n in range(9))


async def test_what_fails_by_chance_is_tried_again_and_then_failed(quiet: Stack):
    record = await quiet.memory.insert(name="heavy")
    context_id = await quiet.point(record.working_memory_id)
    heavy = RecordText(text="heavy", unread=Unread(reason=Reason.MEMORY, detail="no memory"))
    for _ in range(2):
        await worker(quiet, heavy).read_due()
        assert quiet.rows(context_id) == [("PENDING", "memory", "no memory")]
        assert await worker(quiet).read_due() == 0  # later
        due(quiet)
    await worker(quiet, heavy).read_due()
    assert quiet.rows(context_id) == [("FAILED", "memory", "no memory")]


async def test_who_waits_for_the_index_waits_for_records(quiet: Stack):
    record = await quiet.memory.insert(name="slow")
    context_id = await quiet.point(record.working_memory_id)
    waited = await quiet.caller.call("WaitForIndex", context_id=context_id, timeout_s=1)
    assert (waited.is_complete, waited.index.pending_count) == (False, 1)
    assert waited.index.oldest_pending_at.seconds
    waiting = asyncio.create_task(quiet.caller.call("WaitForIndex", context_id=context_id, timeout_s=25))
    await worker(quiet, RecordText(text="slow", unread=None)).read_due()
    waited = await waiting
    assert (waited.is_complete, waited.index.pending_count, waited.index.passage_count) == (True, 0, 1)


async def test_a_storage_that_does_not_answer_is_asked_for_as_long_as_it_takes(quiet: Stack):
    record = await quiet.memory.insert(name="away")
    context_id = await quiet.point(record.working_memory_id)
    for _ in range(5):
        await worker(quiet, Unavailable("the storage is away")).read_due()
        assert quiet.rows(context_id) == [("PENDING", "broken", "the storage is away")]
        due(quiet)
    await worker(quiet, RecordText(text="away", unread=None)).read_due()
    assert quiet.rows(context_id) == [("INDEXED", "", "")]


async def test_what_nobody_expected_is_tried_again_and_then_failed(quiet: Stack):
    """One record does not keep others from being read."""
    record, other = await quiet.memory.insert(name="odd"), await quiet.memory.insert(name="even")
    context_id = await quiet.point(record.working_memory_id, other.working_memory_id)
    even = RecordText(text="even", unread=None)
    await worker(quiet, ValueError("odd"), even).read_due()
    assert sorted(state for state, _, _ in quiet.rows(context_id)) == ["INDEXED", "PENDING"]
    for _ in range(2):
        due(quiet)
        await worker(quiet, ValueError("odd")).read_due()
    assert sorted(state for state, _, _ in quiet.rows(context_id)) == ["FAILED", "INDEXED"]


async def test_a_message_that_is_retracted_while_its_record_is_read_gets_no_passages(quiet: Stack):
    record = await quiet.memory.insert(name="gone")
    context_id = await quiet.point(record.working_memory_id)
    (sent,) = (await quiet.caller.call("ListMessages", context_id=context_id)).messages

    async def read(tenant: Tenant, record_id: uuid.UUID) -> RecordText:
        await quiet.caller.call("RetractMessages", context_id=context_id, message_ids=[sent.message_id])
        return RecordText(text="a secret zebra", unread=None)

    reading = PointedRecords(quiet.database, Passages(quiet.database), read=read, count=len)
    assert await reading.read_due() == 1
    assert "zebra" not in await quiet.texts(context_id, "zebra")


async def test_a_version_that_is_replaced_while_its_record_is_read_gets_no_passages(quiet: Stack):
    """Whichever comes first: the version, or a step of what is written."""
    record = (await quiet.memory.insert(name="gone")).working_memory_id
    context_id, task_id = await quiet.make(record)

    async def read(tenant: Tenant, record_id: uuid.UUID) -> RecordText:
        await put(quiet.caller, task_id, "All anew.")
        return RecordText(text="a secret zebra", unread=None)

    reading = PointedRecords(quiet.database, Passages(quiet.database), read=read, count=len)
    assert await reading.read_due() == 1
    assert quiet.rows(context_id) == []
    assert await found(quiet.caller, context_id, "zebra") == []


async def test_an_operator_finds_what_records_say_where_it_belongs(stack: Stack):
    """`retrieval verify` knows them, and `rebuild` leaves them; what no message points at any more goes."""
    record = await stack.memory.insert(name="atlas", content_text="The lake is called Ohrid.")
    context_id = await stack.point(record.working_memory_id)
    task = await created(stack.caller, context_id)
    made = await stack.memory.insert(name="map", content_text="The river is called Drin.")
    await stack.make(made.working_memory_id, task_id=task.task_id)
    pointing = MessageInput(parts=[message.Part(working_memory_id=made.working_memory_id)], task_id=task.task_id)
    await stack.caller.append(context_id, pointing, *talk(5))
    assert len(await stack.read(context_id)) == 3

    async def verified(*, mend: bool = False) -> Verified:
        count = TokenCounter().count
        sources = [log_source(count), POINTED, artifact_source(count)]
        return await Verifying(stack.database, Passages(stack.database), sources).run(
            [stack.database.tenant(PRINCIPAL.tenant_id)],
            scope_id=uuid.UUID(context_id),
            mend=mend,
            on_progress=lambda verified: None,
        )

    assert (await verified()).is_equal
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        wrong = "UPDATE context.passage SET role = 'tool' WHERE scope_id = %s AND kind = 'record'"
        connection.execute(wrong, (context_id,))
    assert not (await verified()).is_equal
    await verified(mend=True)
    assert (await verified()).is_equal
    assert "Ohrid" in await stack.texts(context_id, "the lake")
    assert "Drin" in await stack.texts(context_id, "the river")
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute("DELETE FROM context.message_record WHERE context_id = %s", (context_id,))
    await verified(mend=True)
    assert "Ohrid" not in await stack.texts(context_id, "the lake")
    assert "Drin" not in await stack.texts(context_id, "the river")


async def test_more_records_than_a_tenant_may_queue_are_refused_when_they_are_written(quiet: Stack):
    """By messages and by artifacts; the rows of deletions do not count."""
    (record_id,) = [(await quiet.memory.insert(name="r", content_text="It digs.")).working_memory_id]
    context_id = await quiet.point(*[record_id] * (QUEUED_MAX - 2))
    task = (await begun(quiet.caller))[1]
    for writing in (
        quiet.point(*[record_id] * 3, context_id=context_id),
        put(quiet.caller, task.task_id, parts=[message.Part(working_memory_id=record_id)] * 3),
    ):
        with pytest.raises(LimitExceeded) as refused:
            await writing
        assert refused.value.metadata == {
            "limit": "queued_items",
            "limit_max": str(QUEUED_MAX),
            "value": str(QUEUED_MAX + 1),
        }
    assert quiet.rows(context_id) == [("PENDING", "", "")] * (QUEUED_MAX - 2)

    assert await worker(quiet, *[RecordText(text="It digs.", unread=None)] * QUEUED_MAX).read_due() == QUEUED_MAX - 2
    await quiet.point(*[record_id] * 3, context_id=context_id)
    await put(quiet.caller, task.task_id, parts=[message.Part(working_memory_id=record_id)] * 3)
