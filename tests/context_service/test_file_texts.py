"""Texts of files that are no texts as they are: found by a search behind the upload, or it is said why not."""

from __future__ import annotations

from typing import Any

import pytest

from context_service.retrieval.documents.kinds import Reason, Unread
from context_service.retrieval.documents.reading import FileText
from context_service.working_memory.file_texts import FileTexts
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import Unavailable
from service_runtime.postgres import Database, Tenant
from tests.context_service.retrieval import files
from tests.context_service.test_texts import found
from tests.context_service.working_memory import Caller, an_id, until

PDF = "application/pdf"


async def read(caller: Caller, record_id: str) -> pb.WMRecord:
    """Return a record when nothing of its file is owed any more."""

    async def is_read() -> bool:
        return (await caller.fetch(record_id)).text_state != pb.INDEX_STATE_PENDING

    await until(is_read)
    return await caller.fetch(record_id)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (files.pdf(["The aardvark inspects"]), "a.pdf"),
        (files.docx(["The aardvark inspects"]), "a.docx"),
        (files.xlsx({"One": [["aardvark", "inspects"]]}), "a.xlsx"),
        (files.pptx(["The aardvark inspects"], note=""), "a.pptx"),
        (b"<p>The <i>aard</i>vark inspects</p>", "a.html"),
    ],
)
async def test_what_a_file_says_is_found_by_its_words(caller: Caller, content: bytes, name: str):
    entity = an_id()
    uploaded = (await caller.upload(content, name=name, entity_node_id=entity)).record
    assert uploaded.text_state == pb.INDEX_STATE_PENDING
    done = await read(caller, uploaded.working_memory_id)
    assert (done.text_state, done.text_error, done.version) == (pb.INDEX_STATE_INDEXED, "", 1)
    assert await found(caller, "aardvark inspection", entity) == [name]


async def test_a_text_is_found_at_once_and_a_picture_has_none(caller: Caller):
    for name in ("a.txt", "a.png"):
        uploaded = (await caller.upload(b"an okapi", name=name)).record
        assert uploaded.text_state == pb.INDEX_STATE_NONE


async def test_a_file_that_cannot_be_read_says_why_and_is_found_by_its_name(caller: Caller):
    entity = an_id()
    uploaded = (await caller.upload(files.pdf_with_password(), name="locked.pdf", entity_node_id=entity)).record
    done = await read(caller, uploaded.working_memory_id)
    assert (done.text_state, done.text_error) == (pb.INDEX_STATE_FAILED, "password: it wants a password")
    assert await found(caller, "locked", entity) == ["locked.pdf"]


class Texts:
    """Reads every file as what it is told, or fails."""

    def __init__(self, *answers: FileText | Unread | Exception | None) -> None:
        self.answers = list(answers)

    async def file(self, tenant: Tenant, record_id: Any) -> FileText | Unread | None:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's own worker does nothing."""

    async def nothing(self: FileTexts) -> None:
        return

    monkeypatch.setattr(FileTexts, "keep_reading", nothing)


async def due(database: Database) -> None:
    (tenant,) = [database.tenant(row.id) for row in await database.untenanted("SELECT id FROM access.tenant LIMIT 1")]
    await tenant.query("UPDATE context.outbox SET due_at = now()")


HEAVY = Unread(reason=Reason.MEMORY, detail="no memory")


@pytest.mark.parametrize(
    ("answers", "state", "error"),
    [
        ([HEAVY], pb.INDEX_STATE_PENDING, "memory: no memory"),
        ([HEAVY, HEAVY, HEAVY], pb.INDEX_STATE_FAILED, "memory: no memory"),
        ([HEAVY, FileText(text="a", is_cut=False)], pb.INDEX_STATE_INDEXED, ""),
        ([Unavailable("away")] * 5, pb.INDEX_STATE_PENDING, "broken: away"),
        ([ValueError("odd")] * 3, pb.INDEX_STATE_FAILED, "broken: the service's log says more"),
        ([Unread(reason=Reason.PASSWORD, detail="locked")], pb.INDEX_STATE_FAILED, "password: locked"),
    ],
)
async def test_what_may_have_failed_by_chance_is_tried_again(
    quiet: None, caller: Caller, database: Database, answers: Any, state: int, error: str
):
    uploaded = (await caller.upload(files.pdf(["a"]), name="a.pdf")).record
    worker = FileTexts(database, Texts(*answers))  # type: ignore[arg-type]
    for _ in answers:
        await due(database)
        await worker.read_due()
    done = await caller.fetch(uploaded.working_memory_id)
    assert (done.text_state, done.text_error) == (state, error)


async def test_a_purged_record_owes_nothing(quiet: None, caller: Caller, database: Database):
    uploaded = (await caller.upload(files.pdf(["a"]), name="a.pdf")).record
    await caller.call(
        "DeleteWMRecord", pb.DeleteWMRecordRequest(working_memory_id=uploaded.working_memory_id, purge=True)
    )
    await FileTexts(database, Texts()).read_due()  # type: ignore[arg-type]
