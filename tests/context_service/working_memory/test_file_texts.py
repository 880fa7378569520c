"""Texts of files that are no texts as they are: found by a search behind the upload, or it is said why not."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from context_service.retrieval.documents.kinds import Reason, Unread
from context_service.retrieval.documents.reading import FileText
from context_service.retrieval.model import Backfilled
from context_service.retrieval.pure.terms import mask
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from context_service.settings import Settings
from context_service.working_memory.rules import file_texts
from context_service.working_memory.rules.file_texts import FileTexts
from context_service.working_memory.rules.retention import Purges, Retention
from context_service.working_memory.rules.search import Searches, SearchMode, SearchQuestion
from context_service.working_memory.store.texts.index_source import RECORDS
from context_service.working_memory.store.texts.passages import RecordPassages, scope_of
from context_service.working_memory.upkeep import text_backfill
from context_service.working_memory.upkeep.text_backfill import TextBackfill
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import Unavailable
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from tests.commands import Commands
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL
from tests.context_service.retrieval import files
from tests.context_service.retrieval.killed import TEXT, killed_at_its_third_step
from tests.context_service.working_memory.callers import Caller, an_id, until
from tests.context_service.working_memory.test_copy import environment_of
from tests.context_service.working_memory.test_texts import found

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


@pytest.mark.parametrize(
    ("text", "encoding", "content_type", "question"),
    [
        ("Größe der Kisten: zwölf", "utf-16", "", "Größe"),
        ("Die Rechnung über die Möbel", "utf-16-le", "", "Möbel"),
        ("Le devis est prêt, très tôt", "cp1252", "", "prêt"),
        ("Příliš žluťoučký kůň", "cp1250", "", "žluťoučký"),
        ("Договор подписан вчера", "cp1251", "text/plain", "Договор"),
        ("請在星期五之前提交報告", "big5", "", "報告"),
        ("会議は明日の午後三時から", "shift_jis", "text/plain; charset=shift_jis", "会議"),
        ("İstanbul şubesi kapalı", "iso8859-9", "text/plain; charset=iso-8859-9", "şubesi"),
        ("El año pasado, la piña", "cp1252", "text/plain; charset=utf-8", "piña"),
    ],
)
async def test_a_text_in_any_encoding_is_found(
    caller: Caller, text: str, encoding: str, content_type: str, question: str
):
    entity = an_id()
    data = text.encode(encoding)
    uploaded = (await caller.upload(data, name="a.txt", content_type=content_type, entity_node_id=entity)).record
    assert uploaded.text_state == pb.INDEX_STATE_PENDING
    assert (await read(caller, uploaded.working_memory_id)).text_state == pb.INDEX_STATE_INDEXED
    assert await found(caller, question, entity) == ["a.txt"]


async def test_a_text_in_no_encoding_says_that_it_is_unreadable(caller: Caller):
    noise = bytes(range(128, 256)) * 40
    uploaded = (await caller.upload(noise, name="a.txt")).record
    done = await read(caller, uploaded.working_memory_id)
    assert done.text_state == pb.INDEX_STATE_FAILED
    assert done.text_error.startswith("unreadable: ")


async def test_a_text_is_found_at_once_and_a_picture_has_none(caller: Caller):
    for name in ("a.txt", "a.png"):
        uploaded = (await caller.upload(b"an okapi", name=name)).record
        assert uploaded.text_state == pb.INDEX_STATE_NONE


async def test_a_file_that_cannot_be_read_says_why_and_is_found_by_its_name(caller: Caller):
    entity = an_id()
    uploaded = (await caller.upload(files.pdf_with_password(), name="locked.pdf", entity_node_id=entity)).record
    done = await read(caller, uploaded.working_memory_id)
    assert (done.text_state, done.text_error) == (pb.INDEX_STATE_FAILED, "password: it is protected by a password")
    assert await found(caller, "locked", entity) == ["locked.pdf"]


class Texts:
    """Reads every file as what it is told, or fails."""

    def __init__(self, *answers: FileText | Unread | Exception | None) -> None:
        self.answers = list(answers)

    async def content(self, tenant: Tenant, record_id: Any) -> FileText | Unread | None:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def worker_of(database: Database, *answers: FileText | Unread | Exception | None) -> FileTexts:
    texts: Any = Texts(*answers)
    return FileTexts(database, texts, RecordPassages(Passages(database)), count=len)


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
    worker = worker_of(database, *answers)
    for _ in answers:
        await due(database)
        await worker.read_due()
    done = await caller.fetch(uploaded.working_memory_id)
    assert (done.text_state, done.text_error) == (state, error)


async def test_a_purged_record_owes_nothing(quiet: None, caller: Caller, database: Database):
    uploaded = (await caller.upload(files.pdf(["a"]), name="a.pdf")).record
    await caller.DeleteWMRecord(working_memory_id=uploaded.working_memory_id, purge=True)
    await worker_of(database).read_due()


# Long ones: by their passages, where a search names their node.


def minutes(chars: int) -> str:
    """Return a text with an aardwolf behind so many characters."""
    filler = "".join(f"Of meeting number {n} nothing came in the end. " for n in range(chars // 40))
    return f"The beginning. {filler}\n\nBehind it an aardwolf yawns.\n\n{filler[:1_000]}"


VERY_LONG, LONG = minutes(400_000), minutes(60_000)


def placed(database: Database) -> Tenant:
    return database.of(PRINCIPAL)


async def counted(database: Database) -> tuple[int, int, int]:
    """Return how many rows there are of passages, of sessions and of scopes."""
    rows = [
        await placed(database).query(f"SELECT count(*) AS n FROM context.{table} WHERE scope_kind = 'node'")
        for table in ("passage", "passage_session", "passage_scope")
    ]
    return rows[0][0].n, rows[1][0].n, rows[2][0].n


@pytest.mark.parametrize(
    "fields",
    [
        {"content": VERY_LONG.encode(), "name": "minutes.txt"},
        {"content": f"<p>{VERY_LONG}</p>".encode(), "name": "minutes.html"},
        {"content": files.docx(VERY_LONG.split("\n\n")), "name": "minutes.docx"},
        {"content_text": VERY_LONG, "name": "minutes"},
        {"content_json": json.dumps({"of": ["Monday", {"said": VERY_LONG}]}), "name": "minutes of JSON"},
    ],
    ids=["text", "html", "docx", "inline", "json"],
)
async def test_a_word_far_behind_the_beginning_is_found_in_its_node(caller: Caller, fields: dict[str, Any]):
    assert VERY_LONG.index("aardwolf") > 400_000
    entity = an_id()
    if "content" in fields:
        record = (await caller.upload(fields["content"], name=fields["name"], entity_node_id=entity)).record
    else:
        record = await caller.insert(entity_node_id=entity, **fields)
    done = await read(caller, record.working_memory_id)
    assert (done.text_state, done.text_error, done.version) == (pb.INDEX_STATE_INDEXED, "", 1)
    name = done.name
    for text in ("aardwolf", "AARDWOLF", "yawning aardwolf", "aardwolf beginning meeting", "minutes aardwolf"):
        assert await found(caller, text, entity) == [name], text
    for text in ("aardwolf okapi", "okapi", "aardwolf -meeting", '"aardwolf yawns"'):
        assert await found(caller, text, entity) == [], text
    assert await found(caller, "aardwolf", an_id()) == []
    everywhere = pb.SearchWMRecordsRequest(text="aardwolf", limit=100)
    hits = (await caller.call("SearchWMRecords", everywhere)).hits
    assert done.working_memory_id not in [hit.record.working_memory_id for hit in hits], "by no node, by columns alone"


def sharing(word: str) -> tuple[str, str]:
    """Return a node, and another word of whose passages the index has the same number."""
    others = [str(number) for number in range(2_000, 20_000)]
    nodes = (an_id() for _ in range(1_000))
    return next(
        (node, other)
        for node in nodes
        for asked in [mask(uuid.UUID(node), word)]
        for other in others
        if mask(uuid.UUID(node), other) == asked
    )


async def test_a_word_is_found_behind_another_that_shares_its_number(caller: Caller):
    """In one node of fifty such a word in front of it was taken for it, and what has the word was not read."""
    node, other = sharing("aardwolf")
    text = f"Meeting {other}. {LONG}"
    await read(caller, (await caller.insert(entity_node_id=node, name="minutes", content_text=text)).working_memory_id)
    for asked in ("aardwolf", "minutes aardwolf"):
        assert await found(caller, asked, node) == ["minutes"], asked


async def test_a_word_is_not_found_by_another_that_shares_its_number(caller: Caller):
    node, other = sharing("okapi")
    text = f"Meeting {other}. {LONG}"
    await read(caller, (await caller.insert(entity_node_id=node, name="minutes", content_text=text)).working_memory_id)
    assert await found(caller, "aardwolf", node) == ["minutes"]
    for asked in ("okapi", "aardwolf okapi", "minutes okapi"):
        assert await found(caller, asked, node) == [], asked


async def test_what_is_found_far_behind_is_filtered_and_ranked_with_the_rest(caller: Caller):
    entity, other = an_id(), an_id()
    long = await caller.insert(name="long", entity_node_id=entity, content_text=LONG)
    short = await caller.insert(name="short", entity_node_id=other, content_text="Aardwolf", memory_type="data/json")
    named = await caller.insert(name="Aardwolf", entity_node_id=entity)
    await read(caller, long.working_memory_id)

    async def hits(**fields: Any) -> list[str]:
        request = pb.SearchWMRecordsRequest(text="aardwolf", entity_node_ids=[entity, other], **fields)
        return [hit.record.name for hit in (await caller.call("SearchWMRecords", request)).hits]

    assert await hits() in (["Aardwolf", "long", "short"], ["Aardwolf", "short", "long"])
    assert await hits(limit=1) == ["Aardwolf"]
    assert await hits(memory_types=["data/json"]) == ["short"]
    assert await hits(where_json=json.dumps({"name": "long"})) == ["long"]
    assert "long" not in await hits(app_id="another")
    await caller.DeleteWMRecord(working_memory_id=long.working_memory_id)
    assert "long" not in await hits()
    assert "long" in await hits(include_archived=True)
    assert {short.name, named.name} <= set(await hits())


async def test_a_long_record_is_found_where_it_is_moved_and_by_what_it_says_now(caller: Caller, database: Database):
    before, after = an_id(), an_id()
    before_counts = await counted(database)
    record = await caller.insert(name="long", entity_node_id=before, content_text=LONG)
    await read(caller, record.working_memory_id)
    first = await counted(database)
    assert first[0] > before_counts[0] + 40
    moved = await caller.update(record.working_memory_id, entity_node_id=after)
    assert moved.text_state == pb.INDEX_STATE_PENDING
    await read(caller, record.working_memory_id)
    assert (await found(caller, "aardwolf", before), await found(caller, "aardwolf", after)) == ([], ["long"])
    assert await counted(database) == first

    await caller.update(record.working_memory_id, content_text=LONG.replace("aardwolf", "caracal"))
    await read(caller, record.working_memory_id)
    assert (await found(caller, "aardwolf", after), await found(caller, "caracal", after)) == ([], ["long"])
    shortened = await caller.update(record.working_memory_id, content_text="A caracal.")
    assert shortened.text_state == pb.INDEX_STATE_NONE
    assert await found(caller, "caracal", after) == ["long"]
    assert await counted(database) == before_counts


async def test_a_record_that_is_purged_takes_its_passages_along(caller: Caller, database: Database):
    before = await counted(database)
    entity = an_id()
    for purge in (True, False):
        record = await caller.insert(name="long", entity_node_id=entity, content_text=LONG)
        await read(caller, record.working_memory_id)
        assert await counted(database) > before
        await caller.DeleteWMRecord(working_memory_id=record.working_memory_id, purge=purge)
        if not purge:
            purges = Purges(
                database,
                RecordPassages(Passages(database)),
                retention=Retention(kept_s=0),
                blob_grace_s=0,
            )
            assert await purges.purge_due(database.tenant(PRINCIPAL.tenant_id), count_max=100) >= 1
        assert await counted(database) == before


async def test_a_worker_that_is_killed_half_way_is_followed_by_one_that_begins_anew(
    quiet: None, caller: Caller, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(file_texts, "PASSAGES_OF_STEP", 2)
    entity = an_id()
    record = await caller.insert(name="long", entity_node_id=entity, content_text=LONG)

    with killed_at_its_third_step(monkeypatch):
        await worker_of(database, FileText(text=TEXT, is_cut=False)).read_due()
    assert (await caller.fetch(record.working_memory_id)).text_state == pb.INDEX_STATE_PENDING
    await due(database)
    await worker_of(database, FileText(text=TEXT, is_cut=False)).read_due()
    assert (await caller.fetch(record.working_memory_id)).text_state == pb.INDEX_STATE_INDEXED
    for n in range(9):
        assert await found(caller, f"number{n}", entity) == ["long"]
    rows = await placed(database).query(
        "SELECT text FROM context.passage WHERE source_id = %s", (uuid.UUID(record.working_memory_id),)
    )
    assert len({row.text for row in rows}) == len(rows)


async def test_a_record_that_moves_while_it_is_read_is_read_again(quiet: None, caller: Caller, database: Database):
    before, after = an_id(), an_id()
    record = await caller.insert(name="long", entity_node_id=before, content_text=LONG)

    text, read_before = FileText(text=LONG, is_cut=False), []

    class Slow(Texts):
        async def content(self, tenant: Tenant, record_id: Any) -> FileText | Unread | None:
            if not read_before:
                await caller.update(record.working_memory_id, entity_node_id=after)
            assert await found(caller, "aardwolf", before) == await found(caller, "aardwolf", after) == []
            read_before.append(record_id)
            return await super().content(tenant, record_id)

    texts: Any = Slow(text, text)
    await FileTexts(database, texts, RecordPassages(Passages(database)), count=len).read_due()
    assert len(read_before) == 2
    assert (await found(caller, "aardwolf", before), await found(caller, "aardwolf", after)) == ([], ["long"])


async def test_what_is_found_far_behind_is_found_within_the_walls(caller: Caller, database: Database):
    entity = an_id()
    record = await caller.insert(name="long", entity_node_id=entity, content_text=LONG, app_id="shop")
    await read(caller, record.working_memory_id)
    searches = Searches(database, vectors_max=10, passages=Passages(database))

    async def found_by(principal: Principal) -> list[str]:
        question = SearchQuestion(
            text="aardwolf",
            embedding=None,
            mode=SearchMode.TEXT,
            entity_node_ids=[uuid.UUID(entity)],
            memory_types=(),
            graph_name="",
            agent_bundle_id="",
            app_id="",
            where_json="",
            include_archived=False,
            limit=10,
            offset=0,
            with_content=False,
            any_word=False,
        )
        return [hit.record.name for hit in await searches.search(question, principal=principal)]

    for principal in (PRINCIPAL, replace(PRINCIPAL, user_id="ada", scopes=frozenset({"read"}))):
        assert await found_by(principal) == ["long"]
    assert await found_by(replace(PRINCIPAL, app_ids=frozenset({"shop"}))) == ["long"]
    for principal in (
        OTHER_PRINCIPAL,
        replace(PRINCIPAL, app_ids=frozenset({"bank"})),
        replace(PRINCIPAL, graph_names=frozenset({"another"})),
        replace(PRINCIPAL, context_id=uuid.uuid4()),
    ):
        assert await found_by(principal) == []
        assert (await Passages(database).totals(principal, scope_of(uuid.UUID(entity)))).passages == 0
    await caller.update(record.working_memory_id, app_id="bank")
    await read(caller, record.working_memory_id)
    assert await found_by(replace(PRINCIPAL, app_ids=frozenset({"shop"}))) == []
    assert await found_by(replace(PRINCIPAL, app_ids=frozenset({"bank"}))) == ["long"]


async def test_an_operator_finds_what_records_say_where_it_belongs(caller: Caller, database: Database):
    entity = an_id()
    records = [await caller.insert(name=f"{n}", entity_node_id=entity, content_text=LONG + str(n)) for n in range(2)]
    for record in records:
        await read(caller, record.working_memory_id)

    async def verified(*, mend: bool = False) -> Verified:
        return await Verifying(database, Passages(database), [RECORDS]).run(
            [database.tenant(PRINCIPAL.tenant_id)], mend=mend, on_progress=lambda verified: None
        )

    first = await verified()
    assert first.is_equal and first.passages > 80
    for wrong in (
        "UPDATE context.passage SET terms = '{1}' WHERE ordinal = 3",
        "UPDATE context.passage_scope SET length = length + 1",
        "INSERT INTO context.passage SELECT (jsonb_populate_record(p, '{\"seq\": 0}')).* FROM context.passage p"
        " WHERE scope_kind = 'node' LIMIT 1",
    ):
        await placed(database).query(wrong)
        assert not (await verified()).is_equal, wrong
        await verified(mend=True)
        assert (await verified()).is_equal, wrong
    assert await found(caller, "aardwolf", entity) == ["0", "1"]
    await placed(database).query("DELETE FROM context.wm_record WHERE name IN ('0', '1')")
    assert (await verified()).strays == 1
    await verified(mend=True)
    assert (await verified()) == Verified()


async def test_what_was_written_before_it_was_read_is_read_when_an_operator_says_so(
    caller: Caller, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(text_backfill, "BATCH", 3)
    monkeypatch.setattr(text_backfill, "WAITING_MAX", 2)
    monkeypatch.setattr(text_backfill, "POLL_S", 0.01)
    entity = an_id()
    uploads = [(files.docx([f"The wombat{n} digs."]), f"{n}.docx") for n in range(5)] + [(LONG.encode(), "long.txt")]
    old = [(await caller.upload(content, name=name, entity_node_id=entity)).record for content, name in uploads]
    old.append(await caller.insert(name="inline", content_text=LONG, entity_node_id=entity))
    others = [
        (await caller.upload(b"x", name="a.png", entity_node_id=entity)).record,
        (await caller.upload(files.pdf_with_password(), name="locked.pdf", entity_node_id=entity)).record,
        await caller.insert(name="short", content_text="a wombat", entity_node_id=entity),
    ]
    for record in (*old, *others):
        await read(caller, record.working_memory_id)
    ids = [uuid.UUID(record.working_memory_id) for record in old]
    await placed(database).query(
        "UPDATE context.wm_record SET text_state = 'NONE', passage_count = NULL, blob_text = NULL, terms = NULL,"
        " terms_version = 0 WHERE id = ANY (%s)",
        (ids,),
    )
    await placed(database).query("DELETE FROM context.passage")
    await placed(database).query("DELETE FROM context.passage_session")
    await placed(database).query("DELETE FROM context.passage_scope")
    assert await found(caller, "wombat3", entity) == await found(caller, "aardwolf", entity) == []

    told: list[Backfilled] = []
    backfill = TextBackfill(database)
    assert await backfill.run(dry_run=True, on_progress=told.append) == Backfilled(to_do=7)
    assert await backfill.run(dry_run=False, on_progress=told.append) == Backfilled(to_do=7, owed=7)
    assert told[0] == Backfilled(to_do=7) and told[-1] == Backfilled(to_do=7, owed=7)
    assert len(told) > 3
    for record in old:
        assert (await read(caller, record.working_memory_id)).text_state == pb.INDEX_STATE_INDEXED
    assert await found(caller, "wombat3", entity) == ["3.docx"]
    assert await found(caller, "aardwolf", entity) == ["inline", "long.txt"]
    assert await backfill.run(dry_run=False, on_progress=told.append) == Backfilled()


async def test_the_command_owes_them_and_says_so(
    quiet: None, caller: Caller, context_settings: Settings, database: Database, commands: Commands
):
    record = (await caller.upload(files.docx(["a"]), name="a.docx")).record
    await worker_of(database, FileText(text="a", is_cut=False)).read_due()
    await placed(database).query("UPDATE context.wm_record SET text_state = 'NONE', passage_count = NULL")

    async def run(*options: str) -> tuple[int, str, str]:
        environment = environment_of(context_settings)
        command = partial(commands.run, "context_service", "retrieval", "backfill", *options, environment=environment)
        done = await asyncio.to_thread(command)
        return done.returncode, done.stdout, done.stderr

    assert await run("--dry-run") == (0, "1 records have a text that was never read\n", "")
    code, out, _ = await run("--json")
    assert (code, json.loads(out)) == (0, {"dry_run": False, "to_do": 1, "owed": 1, "databases_away": []})
    assert (await caller.fetch(record.working_memory_id)).text_state == pb.INDEX_STATE_PENDING
