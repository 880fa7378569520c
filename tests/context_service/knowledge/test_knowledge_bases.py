"""Knowledge bases: documents are stored with the call, read behind it, and found by whoever the base is asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from context_service.knowledge_bases.model import DOCUMENT_BYTES_MAX
from context_service.knowledge_bases.rules import bases as rules
from context_service.knowledge_bases.rules import documents as document_texts
from context_service.knowledge_bases.rules import drop as base_dropping
from context_service.knowledge_bases.rules.documents import DocumentTexts
from context_service.knowledge_bases.rules.drop import BaseDropping
from context_service.knowledge_bases.store.documents import DocumentRows
from context_service.knowledge_bases.store.passages import document_source
from context_service.retrieval.documents.kinds import Reason, Unread
from context_service.retrieval.documents.reading import FileText
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.context.v1 import knowledge_bases_pb2 as pb
from contextkeep.errors import ContextKeepError, Unavailable
from service_runtime.postgres import Tenant
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Opened, an_id, opened, with_embedder
from tests.context_service.retrieval import files
from tests.context_service.retrieval.killed import TEXT, killed_at_its_third_step

DONE = {pb.DOCUMENT_STATE_INDEXED, pb.DOCUMENT_STATE_FAILED}
INDEXED, FAILED, QUEUED = "INDEXED", "FAILED", "QUEUED"


class Bases:
    """Calls with one of `KEYS`."""

    def __init__(self, stack: Opened, key: str = "admin") -> None:
        self.stack = stack
        self.key = key

    def of(self, key: str) -> Bases:
        return Bases(self.stack, key)

    async def call(self, name: str, /, **fields: Any) -> Any:
        return await self.stack.caller.of(self.key).call(name, **fields)

    async def refused(self, name: str, /, **fields: Any) -> ContextKeepError:
        with pytest.raises(ContextKeepError) as refused:
            await self.call(name, **fields)
        return refused.value

    async def put(self, name: str = "", **fields: Any) -> str:
        said = {"name": name or f"base {an_id()}", "is_of_tenant": True, **fields}
        await self.call("PutKnowledgeBase", knowledge_base=said)
        return str(said["name"])

    async def add(self, base: str, content: bytes | str = b"", name: str = "notes.md", **fields: Any) -> pb.Document:
        said: dict[str, Any] = {"name": name, **fields}
        if "working_memory_id" not in said:
            said["data"] = content.encode() if isinstance(content, str) else content
        return (await self.call("AddDocument", knowledge_base=base, document=said)).document

    async def documents(self, base: str, **fields: Any) -> list[pb.Document]:
        return list((await self.call("ListDocuments", knowledge_base=base, **fields)).documents)

    async def read(self, base: str) -> dict[str, tuple[str, str]]:
        """Return states and errors by name, once nothing is to be read any more."""
        async with asyncio.timeout(30):
            while any(one.state not in DONE for one in await self.documents(base)):
                await asyncio.sleep(0.05)
        return await self.states(base)

    async def states(self, base: str) -> dict[str, tuple[str, str]]:
        found = await self.documents(base)
        return {
            one.name: (pb.DocumentState.Name(one.state).removeprefix("DOCUMENT_STATE_"), one.error) for one in found
        }

    async def agent(self, *bases: str, **fields: Any) -> str:
        said = {"agent_id": an_id(), "knowledge_bases": bases, **fields}
        await self.call("PutAgent", agent=said)
        return str(said["agent_id"])

    async def ask(self, query: str, **fields: Any) -> query_pb.QueryContextResponse:
        fields = {"providers": {"ids": ["knowledge-base"]}, **fields}
        return await self.call("QueryContext", query=query, **fields)

    async def titles(self, query: str, **fields: Any) -> list[str]:
        return [one.title for one in (await self.ask(query, **fields)).hits]

    async def record(self, text: str, **fields: Any) -> str:
        said = {"name": "record.md", "memory_type": "file", "content_text": text, **fields}
        return str((await self.call("InsertWMRecord", record=said)).record.working_memory_id)


@pytest.fixture
def bases(stack: Opened) -> Bases:
    return Bases(stack)


@pytest.fixture
async def word(bases: Bases) -> AsyncIterator[str]:
    """A word that no other test says. What the tenant has afterwards is of agents: so nothing of it is asked beside."""
    yield f"zephyr{an_id()[:8]}"
    for one in (await bases.call("ListKnowledgeBases")).knowledge_bases:
        await bases.call("DeleteKnowledgeBase", name=one.name)


# What is read, and how.


@pytest.mark.parametrize(
    ("name", "content", "title", "metadata"),
    [
        (
            "guide.pdf",
            lambda w: files.pdf(["Nothing here", f"The {w} opens at nine"]),
            "guide.pdf > page 2",
            {"page": 2},
        ),
        ("talk.pptx", lambda w: files.pptx(["First", f"The {w} opens at nine"], note=""), "talk.pptx", {"page": 0}),
        ("a.docx", lambda w: files.docx([f"The {w} opens at nine"]), "a.docx", {"page": 0}),
        ("a.txt", lambda w: f"The {w} opens at nine".encode(), "a.txt", {"start": 0}),
        (
            "a.md",
            lambda w: f"# Doors\n\nShut.\n\n## Hours\n\nThe {w} opens at nine.\n".encode(),
            "a.md > Doors > Hours",
            {"heading": "Doors > Hours", "start": 26},
        ),
    ],
)
async def test_a_document_is_found_and_a_hit_says_where_it_stands(
    bases: Bases, word: str, name, content, title, metadata
):
    base = await bases.put(description="all")
    added = await bases.add(base, content(word), name, uri="https://example.com/guide")
    assert (added.state, added.knowledge_base, added.passage_count) == (pb.DOCUMENT_STATE_QUEUED, base, 0)
    assert await bases.read(base) == {name: (INDEXED, "")}
    answer = await bases.ask(f"When does the {word} open?")
    (hit,) = [one for one in answer.hits if word in one.snippet]
    assert (hit.title, hit.sources[0].label, hit.sources[0].uri) == (title, name, "https://example.com/guide")
    said = json.loads(hit.metadata_json)
    assert said["knowledge_base"] == base and said["document_id"] == added.document_id
    assert metadata.items() <= said.items()
    again = await bases.ask("nothing", expand_refs=[hit.ref])
    (whole,) = again.expanded
    assert whole.is_found and whole.title == name
    assert whole.text[int(said["start"]) : int(said["end"])] == hit.snippet
    (status,) = answer.providers
    assert (status.state, status.target) == (query_pb.PROVIDER_STATE_OK, f"1 knowledge base ({base}): 1 document")


async def test_one_that_cannot_be_read_says_why_and_the_others_are_found(bases: Bases, word: str):
    base = await bases.put()
    for name, content in (
        ("locked.pdf", files.pdf_with_password()),
        ("false.pdf", b"no PDF at all"),
        ("picture.png", b"\x89PNG"),
        ("empty.txt", b" \n"),
        ("good.txt", f"The {word}.".encode()),
    ):
        await bases.add(base, content, name)
    states = await bases.read(base)
    assert states.pop("good.txt") == (INDEXED, "")
    assert {name: (state, error.partition(":")[0]) for name, (state, error) in states.items()} == {
        "locked.pdf": (FAILED, "password"),
        "false.pdf": (FAILED, "not_as_said"),
        "picture.png": (FAILED, "unsupported"),
        "empty.txt": (FAILED, "empty"),
    }
    answer = await bases.ask(word)
    assert [one.title for one in answer.hits] == ["good.txt"]
    assert answer.providers[0].target == f"1 knowledge base ({base}): 5 documents, 4 could not be read"
    (known,) = [(await bases.call("GetKnowledgeBase", name=base)).knowledge_base]
    counts = {one.state: one.count for one in known.documents}
    assert counts == {pb.DOCUMENT_STATE_INDEXED: 1, pb.DOCUMENT_STATE_FAILED: 4}
    failed = await bases.documents(base, states=[pb.DOCUMENT_STATE_FAILED], page_size=3)
    assert [one.name for one in failed] == ["empty.txt", "picture.png", "false.pdf"]


async def test_what_is_removed_takes_its_passages_away(bases: Bases, word: str, monkeypatch: pytest.MonkeyPatch):
    base = await bases.put()
    first, second = [await bases.add(base, f"The {word} number {n}.", f"{n}.md") for n in range(2)]
    await bases.read(base)
    assert set(await bases.titles(word)) == {"0.md", "1.md"}
    for _ in range(2):  # the second time by the same request
        await bases.call(
            "RemoveDocument", knowledge_base=base, document_id=first.document_id, request_id=first.document_id
        )
    assert (await bases.refused("RemoveDocument", knowledge_base=base, document_id=first.document_id)).reason == (
        "DOCUMENT_NOT_FOUND"
    )
    assert await bases.titles(word) == ["1.md"]
    known = (await bases.call("GetKnowledgeBase", name=base)).knowledge_base
    assert (known.document_count, known.size_bytes) == (1, second.size_bytes)
    base_id = known.knowledge_base_id
    assert await rows(bases, base_id) == (1, 1)
    await bases.call("DeleteKnowledgeBase", name=base)
    assert await bases.titles(word) == []
    assert (await bases.refused("GetKnowledgeBase", name=base)).reason == "KNOWLEDGE_BASE_NOT_FOUND"
    monkeypatch.setattr(base_dropping, "STEP_S", 0.0)
    await BaseDropping(bases.stack.database, Passages(bases.stack.database)).drop_due()
    async with asyncio.timeout(20):
        while await rows(bases, base_id) != (0, 0):
            await asyncio.sleep(0.1)
    await bases.put(base)
    assert await bases.documents(base) == []


async def rows(bases: Bases, base_id: str) -> tuple[int, int]:
    """Return how many passages and files a base has."""
    passages = await bases.stack.database.of(PRINCIPAL).query(
        "SELECT count(*) AS n FROM context.passage WHERE scope_id = %s", (base_id,)
    )
    kept = await bases.stack.database.of(PRINCIPAL).query(
        "SELECT count(*) AS n FROM context.knowledge_file f JOIN context.knowledge_document d USING (document_id)"
        " WHERE d.base_id = %s",
        (base_id,),
    )
    return passages[0].n, kept[0].n


# Whom it is asked for.


async def test_a_base_of_one_agent_is_not_asked_for_another_and_leaks_in_nothing(bases: Bases, word: str):
    mine = await bases.put(is_of_tenant=False)
    await bases.add(mine, f"The {word} is secret.", "mine.md")
    await bases.read(mine)
    a, b = await bases.agent(mine), await bases.agent()
    by_template = await bases.agent(template_id=await a_template(bases, mine))
    own = await bases.agent(f"another {mine}", template_id=await a_template(bases, mine))
    answer = await bases.ask(word, agent_id=a)
    assert [one.title for one in answer.hits] == ["mine.md"]
    assert await bases.titles(word, agent_id=by_template) == ["mine.md"]
    ref = answer.hits[0].ref
    assert (await bases.ask("x", expand_refs=[ref], agent_id=a)).expanded[0].is_found
    for agent_id in (b, own, ""):
        answer = await bases.ask(word, agent_id=agent_id, expand_refs=[ref])
        (status,) = answer.providers
        assert (status.state, status.hit_count, status.target) == (
            query_pb.PROVIDER_STATE_SKIPPED,
            0,
            "0 knowledge bases",
        )
        assert list(answer.hits) == [] and mine not in str(answer)
        assert not answer.expanded[0].is_found and "secret" not in str(answer)
    # Beside one of the tenant nothing of it counts, either.
    shared = await bases.put()
    await bases.add(shared, f"A {word} for all.", "shared.md")
    await bases.read(shared)
    answer = await bases.ask(word, agent_id=b, expand_refs=[ref])
    assert [one.title for one in answer.hits] == ["shared.md"]
    assert answer.providers[0].target == f"1 knowledge base ({shared}): 1 document"
    assert not answer.expanded[0].is_found
    assert set(await bases.titles(word, agent_id=a)) == {"mine.md", "shared.md"}


async def a_template(bases: Bases, *names: str) -> str:
    said = {"template_id": an_id(), "knowledge_bases": names}
    await bases.call("PutAgentTemplate", template=said)
    return str(said["template_id"])


async def test_one_that_is_not_the_tenants_is_seen_by_administrators_and_its_agent(bases: Bases, word: str):
    name = await bases.put(is_of_tenant=False)
    shared = await bases.put()
    reviewer, plain = bases.of("reviewer"), bases.of("plain")

    async def seen(by: Bases) -> set[str]:
        return {one.name for one in (await by.call("ListKnowledgeBases")).knowledge_bases}

    for agent in ([name], []):
        await bases.call("PutAgent", agent={"agent_id": "reviewer", "knowledge_bases": agent})
        assert await seen(reviewer) == {shared, *agent}
        assert (await seen(plain), await seen(bases)) == ({shared}, {shared, name})
    document = {"name": "a.md", "data": b"x"}
    invented = await plain.refused("AddDocument", knowledge_base="no such", document=document)
    for rpc, fields in (
        ("AddDocument", {"knowledge_base": name, "document": document}),
        ("ListDocuments", {"knowledge_base": name}),
        ("RemoveDocument", {"knowledge_base": name, "document_id": an_id()}),
        ("GetKnowledgeBase", {"name": name}),
    ):
        refused = await plain.refused(rpc, **fields)
        as_if_invented = invented.message.replace("no such", name)
        assert (refused.reason, refused.message) == ("KNOWLEDGE_BASE_NOT_FOUND", as_if_invented)
    for rpc, fields in (
        ("PutKnowledgeBase", {"knowledge_base": {"name": "x"}}),
        ("DeleteKnowledgeBase", {"name": name}),
    ):
        assert (await plain.refused(rpc, **fields)).reason == "PERMISSION_DENIED"
        assert (await bases.of("app").refused(rpc, **fields)).reason == "PERMISSION_DENIED"


async def test_it_is_asked_by_default_for_a_team_and_not_for_a_person(bases: Bases, word: str):
    base = await bases.put()
    await bases.add(base, f"The {word}.")
    await bases.read(base)
    by_default = await bases.call("QueryContext", query=word)
    assert "knowledge-base" in {one.provider_id for one in by_default.providers}
    assert [one.title for one in by_default.hits] == ["notes.md"]
    assert by_default.hits[0].scope == query_pb.QUERY_SCOPE_TEAM
    personal = await bases.call("QueryContext", query=word, scope=query_pb.QUERY_SCOPE_PERSONAL)
    assert "knowledge-base" not in {one.provider_id for one in personal.providers}
    assert not personal.hits
    named = await bases.ask(word, scope=query_pb.QUERY_SCOPE_PERSONAL)
    assert [(one.state, one.hit_count) for one in named.providers] == [(query_pb.PROVIDER_STATE_SKIPPED, 0)]
    assert await bases.titles(word, scope=query_pb.QUERY_SCOPE_TEAM) == ["notes.md"]


async def test_walls_of_a_base_hold_for_all_that_it_has(bases: Bases, word: str):
    shop = await bases.put(app_id="shop")
    await bases.add(shop, f"The {word}.", "shop.md")
    await bases.read(shop)
    bank = await bases.put(app_id="bank")
    await bases.add(bank, f"The {word}.", "bank.md")
    await bases.read(bank)
    app = bases.of("app")
    assert await app.titles(word) == ["shop.md"]
    assert [one.name for one in (await app.call("ListKnowledgeBases")).knowledge_bases] == [shop]
    assert (await app.refused("ListDocuments", knowledge_base=bank)).reason == "KNOWLEDGE_BASE_NOT_FOUND"
    assert await bases.of("graph").titles(word) == []
    refused = await bases.refused("PutKnowledgeBase", knowledge_base={"name": shop, "app_id": "bank"})
    assert refused.reason == "INVALID_ARGUMENT"
    for record in (
        await bases.record("x", app_id="bank"),
        await bases.of("ada").record("x", app_id="shop"),  # which is hers
    ):
        refused = await bases.refused("AddDocument", knowledge_base=shop, document={"working_memory_id": record})
        assert (refused.reason, refused.violations[0].field) == ("INVALID_ARGUMENT", "document.working_memory_id")
    record = await bases.record("x", app_id="shop")
    assert (await app.add(shop, working_memory_id=record, name="")).name == "record.md"


# Records of working memory.


async def test_a_document_follows_its_record(bases: Bases, word: str, stack: Opened):
    base = await bases.put()
    record = await bases.record(f"# Now\n\nThe {word} is red.")
    added = await bases.add(base, working_memory_id=record, name="")
    assert (added.name, added.size_bytes, added.working_memory_id) == ("record.md", 0, record)
    await bases.read(base)
    assert await bases.titles(f"{word} red") == ["record.md > Now"]

    texts = worker(stack)
    changed = {"working_memory_id": record, "content_text": f"The {word} is blue."}
    await bases.call("UpdateWMRecord", record=changed, update_mask={"paths": ["content_text"]})
    assert await bases.titles(word) == []  # what it said is not what it says
    assert (await bases.states(base))["record.md"][0] in (QUEUED, "PARSING", INDEXED)
    await texts.follow_records()
    await bases.read(base)
    assert await bases.titles(word) == ["record.md"]
    assert "blue" in (await bases.ask(word)).hits[0].snippet

    await bases.call("DeleteWMRecord", working_memory_id=record)  # archives it
    assert await bases.titles(word) == []
    state, error = (await bases.states(base))["record.md"]
    assert (state, error.partition(":")[0]) == (FAILED, "record_gone")
    await texts.follow_records()
    base_id = (await bases.call("GetKnowledgeBase", name=base)).knowledge_base.knowledge_base_id
    async with asyncio.timeout(20):
        while (await rows(bases, base_id))[0]:
            await asyncio.sleep(0.05)
    await bases.call("RestoreWMRecord", working_memory_id=record)
    await texts.follow_records()
    await bases.read(base)
    assert await bases.titles(word) == ["record.md"]
    await bases.call("DeleteWMRecord", working_memory_id=record, purge=True)
    assert await bases.titles(word) == []
    assert (await bases.states(base))["record.md"][0] == FAILED


async def test_a_record_that_is_not_there_is_no_document(bases: Bases, word: str):
    base = await bases.put()
    for record_id, reason in ((an_id(), "RECORD_NOT_FOUND"), ("x", "INVALID_ARGUMENT")):
        document = {"working_memory_id": record_id}
        assert (await bases.refused("AddDocument", knowledge_base=base, document=document)).reason == reason
    assert (await bases.call("GetKnowledgeBase", name=base)).knowledge_base.document_count == 0


# Behind the call.


class Texts:
    """Reads every document as what it is told, or fails."""

    def __init__(self, *answers: FileText | Unread | Exception | None) -> None:
        self.answers = list(answers)

    async def read(self, *_: Any, **__: Any) -> FileText | Unread | None:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def worker(stack: Opened, *answers: FileText | Unread | Exception | None) -> DocumentTexts:
    texts: Any = Texts(*answers)
    rows = DocumentRows(stack.database, Passages(stack.database))
    return DocumentTexts(stack.database, rows, texts, texts, count=len)


async def due(stack: Opened) -> None:
    tenant: Tenant = stack.database.tenant(PRINCIPAL.tenant_id)
    await tenant.query("UPDATE context.outbox SET due_at = now() WHERE topic = 'text of a document'")


@pytest.fixture
async def quiet(postgres, tmp_path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bases]:
    """Services that read no document by themselves."""

    async def nothing(self: DocumentTexts) -> None:
        return

    monkeypatch.setattr(DocumentTexts, "keep_reading", nothing)
    async with opened(postgres, tmp_path) as made:
        yield Bases(made)


HEAVY = Unread(reason=Reason.MEMORY, detail="no memory")


async def test_what_may_have_failed_by_chance_is_tried_again(quiet: Bases):
    for answers, state, error in (
        ([HEAVY], QUEUED, "memory: no memory"),
        ([HEAVY, HEAVY, HEAVY], FAILED, "memory: no memory"),
        ([HEAVY, FileText(text="a word", is_cut=False)], INDEXED, ""),
        ([Unavailable("away")] * 5, QUEUED, "broken: away"),
        ([ValueError("odd")] * 3, FAILED, "broken: the service's log says more"),
    ):
        base = await quiet.put()
        await quiet.add(base, "x", "a.txt")
        texts = worker(quiet.stack, *answers)
        for _ in answers:
            await due(quiet.stack)
            await texts.read_due()
        assert await quiet.states(base) == {"a.txt": (state, error)}
        await quiet.call("DeleteKnowledgeBase", name=base)


async def test_a_worker_that_is_killed_is_followed_by_one_that_begins_anew(
    quiet: Bases, monkeypatch: pytest.MonkeyPatch
):
    """What was acknowledged is there, and goes on by itself."""
    monkeypatch.setattr(document_texts, "PASSAGES_OF_STEP", 2)
    base = await quiet.put()
    await quiet.add(base, "x", "a.txt")
    assert (await quiet.ask("x")).providers[0].reason == "1 document is not read yet"

    with killed_at_its_third_step(monkeypatch):
        await worker(quiet.stack, FileText(text=TEXT, is_cut=False)).read_due()
    assert await quiet.states(base) == {"a.txt": ("PARSING", "")}
    assert (await quiet.ask("number1")).hits == []  # in part, it is not found
    assert (await verified(quiet, base)).is_equal
    await due(quiet.stack)
    await worker(quiet.stack, FileText(text=TEXT, is_cut=False)).read_due()
    assert await quiet.states(base) == {"a.txt": (INDEXED, "")}
    for n in range(9):
        assert any(f"number{n} " in one.snippet for one in (await quiet.ask(f"number{n}")).hits)


async def test_one_that_is_removed_while_it_is_read_stays_away(quiet: Bases):
    base = await quiet.put()
    document = await quiet.add(base, "x", "a.txt")

    class Slow(Texts):
        async def read(self, *args: Any, **kwargs: Any) -> FileText | Unread | None:
            await quiet.call("RemoveDocument", knowledge_base=base, document_id=document.document_id)
            return await super().read()

    slow: Any = Slow(FileText(text="a word", is_cut=False))
    rows_of = DocumentRows(quiet.stack.database, Passages(quiet.stack.database))
    await DocumentTexts(quiet.stack.database, rows_of, slow, slow, count=len).read_due()
    base_id = (await quiet.call("GetKnowledgeBase", name=base)).knowledge_base.knowledge_base_id
    assert await rows(quiet, base_id) == (0, 0)
    assert (await quiet.ask("word")).hits == []


async def verified(bases: Bases, base: str, *, mend: bool = False) -> Verified:
    stack = bases.stack
    base_id = (await bases.call("GetKnowledgeBase", name=base)).knowledge_base.knowledge_base_id
    verifying = Verifying(stack.database, Passages(stack.database), [document_source(len)])
    tenants = [stack.database.tenant(PRINCIPAL.tenant_id)]
    return await verifying.run(tenants, scope_id=base_id, mend=mend, on_progress=lambda _: None)


async def test_the_index_is_compared_with_what_was_read_and_made_anew(quiet: Bases):
    base = await quiet.put()
    await quiet.add(base, "x", "a.md")
    await worker(quiet.stack, FileText(text="# One\n\nA dodo.\n\n# Two\n\nAn auk.", is_cut=False)).read_due()
    assert (await verified(quiet, base)).is_equal
    door = quiet.stack.database.of(PRINCIPAL)
    await door.query("DELETE FROM context.passage WHERE scope_kind = 'knowledge-base' AND text = 'An auk.'")
    assert (await verified(quiet, base)).missing == 1
    await verified(quiet, base, mend=True)
    assert (await verified(quiet, base)).is_equal
    assert await quiet.titles("auk") == ["a.md > Two"]


# Limits.


async def test_limits_are_refused_by_name(bases: Bases, word: str, monkeypatch: pytest.MonkeyPatch):
    base = await bases.put()
    document = {"name": "a.txt", "data": b"x" * (DOCUMENT_BYTES_MAX + 1)}
    refused = await bases.refused("AddDocument", knowledge_base=base, document=document)
    assert (refused.reason, refused.metadata["limit"], refused.metadata["value"]) == (
        "LIMIT_EXCEEDED",
        "document.data",
        str(DOCUMENT_BYTES_MAX + 1),
    )
    await bases.add(base, b"x" * DOCUMENT_BYTES_MAX, "a.bin")
    monkeypatch.setattr(rules, "DOCUMENTS_MAX", 1)
    refused = await bases.refused("AddDocument", knowledge_base=base, document={"name": "b", "data": b"x"})
    assert (refused.metadata["limit"], refused.metadata["limit_max"]) == ("documents", "1")
    monkeypatch.setattr(rules, "DOCUMENTS_MAX", 10)
    monkeypatch.setattr(rules, "BASE_BYTES_MAX", DOCUMENT_BYTES_MAX)
    refused = await bases.refused("AddDocument", knowledge_base=base, document={"name": "b", "data": b"x"})
    assert refused.metadata["limit"] == "size_bytes"
    monkeypatch.setattr(rules, "BASES_MAX", 1)
    refused = await bases.refused("PutKnowledgeBase", knowledge_base={"name": "second"})
    assert (refused.metadata["limit"], refused.metadata["limit_max"]) == ("knowledge_bases", "1")
    assert (await bases.put(base)) == base  # it is there already
    assert len(await bases.documents(base)) == 1


@pytest.mark.parametrize(
    ("rpc", "fields", "field"),
    [
        ("PutKnowledgeBase", {"knowledge_base": {"name": " "}}, "knowledge_base.name"),
        ("PutKnowledgeBase", {"knowledge_base": {"name": "a\0"}}, "knowledge_base.name"),
        ("GetKnowledgeBase", {"name": ""}, "name"),
        ("AddDocument", {"knowledge_base": "b", "document": {"name": "a"}}, "document.data"),
        ("AddDocument", {"knowledge_base": "b", "document": {"data": b"x"}}, "document.name"),
        (
            "AddDocument",
            {"knowledge_base": "b", "document": {"working_memory_id": an_id(), "content_type": "a/b"}},
            "document.content_type",
        ),
        ("ListDocuments", {"knowledge_base": "b", "states": [0]}, "states[0]"),
        ("RemoveDocument", {"knowledge_base": "b", "document_id": "x"}, "document_id"),
    ],
)
async def test_what_cannot_be_said_is_refused_by_name(bases: Bases, rpc: str, fields: dict[str, Any], field: str):
    refused = await bases.refused(rpc, **fields)
    assert (refused.reason, refused.violations[0].field) == ("INVALID_ARGUMENT", field)


async def test_documents_are_found_by_meaning_where_there_is_an_embedder(postgres, tmp_path):
    async with with_embedder(postgres, tmp_path, embedding_interval_s=0.2) as (made, _):
        bases = Bases(made)
        base = await bases.put()
        await bases.add(base, "The heron stands.")
        await bases.read(base)
        door = made.database.of(replace(PRINCIPAL, subject="tests"))
        base_id = (await bases.call("GetKnowledgeBase", name=base)).knowledge_base.knowledge_base_id
        async with asyncio.timeout(20):
            while not await door.query("SELECT 1 FROM context.passage_vector WHERE scope_id = %s", (base_id,)):
                await asyncio.sleep(0.05)
        assert (await bases.ask("The heron stands.")).providers[0].mode == "words and meaning"
