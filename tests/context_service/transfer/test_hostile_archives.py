"""Archives that were made to harm: each is refused with the place, and leaves nothing that anybody sees."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from context_service.transfer.pure import FIRST_SEAL, LINE_BYTES_MAX, PIECE_BYTES_MAX, ArchivePiece, sealed
from context_service.transfer.rules import imports
from context_service.transfer.store.rows import AUTHORS
from context_service.transfer.store.tables import CARRIED
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import ArchiveRefused, BlobTooLarge, ContextKeepError, ContextNotFound
from tests.conftest import OTHER_PRINCIPAL
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.transfer.archives import Opened, counts, cut, export, get, joined, put
from tests.context_service.transfer.test_transfer import upload

Pieces = list[ArchivePiece]


@pytest.fixture(scope="module")
async def good(stack: Opened) -> AsyncIterator[tuple[str, Pieces]]:
    """A context with a file, as it was taken out."""
    admin = stack.caller.of("admin")
    record_id = await upload(admin, b"a file")
    sent = await admin.send("hello", parts=[{"working_memory_id": record_id}], metadata_json='{"a": [1]}')
    await admin.send("again", sent.context_id)
    yield sent.context_id, await cut(await export(admin, context_id=sent.context_id))


@pytest.fixture
def other(stack: Opened) -> Caller:
    return stack.administrator()


def place(those: Pieces, kind: str, table: str = "") -> int:
    return next(n for n, one in enumerate(those) if one.kind == kind and table in ("", one.says.get("table")))


def said(of: str, kind: str = "rows", /, **says: Any) -> Callable[[Pieces], Pieces]:
    """Change what the line of a piece says."""

    def change(those: Pieces) -> Pieces:
        n = place(those, kind, of)
        return [*those[:n], replace(those[n], says={**those[n].says, **says}), *those[n + 1 :]]

    return change


def rows(table: str, change: Callable[[dict[str, Any]], Any], kind: str = "rows") -> Callable[[Pieces], Pieces]:
    """Change each row of a table."""

    def changed(those: Pieces) -> Pieces:
        n = place(those, kind, table)
        made = [change(json.loads(line)) for line in those[n].data.splitlines()]
        data = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in made)
        return [*those[:n], replace(those[n], data=data), *those[n + 1 :]]

    return changed


def without(kind: str, table: str = "") -> Callable[[Pieces], Pieces]:
    def change(those: Pieces) -> Pieces:
        n = place(those, kind, table)
        return those[:n] + those[n + 1 :]

    return change


def twice(kind: str, table: str = "") -> Callable[[Pieces], Pieces]:
    def change(those: Pieces) -> Pieces:
        n = place(those, kind, table)
        return [*those[: n + 1], *those[n:]]

    return change


def data(kind: str, value: bytes, table: str = "") -> Callable[[Pieces], Pieces]:
    def change(those: Pieces) -> Pieces:
        n = place(those, kind, table)
        return [*those[:n], replace(those[n], data=value), *those[n + 1 :]]

    return change


def _long_text(those: Pieces) -> Pieces:
    n = place(those, "rows", "message")
    first, *others = those[n].data.splitlines(keepends=True)
    long = json.dumps({**json.loads(first), "content": "x" * (2**20 + 1)}).encode() + b"\n"  # has a piece of its own
    cut = [
        replace(those[n], data=data, says={**those[n].says, "rows": count})
        for data, count in ((long, 1), (b"".join(others), len(others)))
    ]
    return [*those[:n], *cut, *those[n + 1 :]]


DEEP = "[" * 2000 + "]" * 2000
HARM: dict[str, tuple[Callable[[Pieces], Pieces], str]] = {
    "no manifest": (without("manifest"), "begin with its only manifest|must come after the manifest"),
    "a second manifest": (twice("manifest"), "begin with its only manifest"),
    "another format": (data("manifest", b'{"format": 2, "scope": {"kind": "user", "id": ""}}'), "format .* must be"),
    "a manifest of nothing": (data("manifest", b"[]"), "manifest is malformed"),
    "no table of ours": (said("message", table="pg_authid"), "table is unknown"),
    "a table that nobody carries": (said("message", table="tenant_limit"), "table is unknown"),
    "the header as rows": (said("message", table="context"), "comes as a header"),
    "fewer rows than it says": (said("message", rows=7), "has 2 rows"),
    "rows that are no number": (said("message", rows="2"), "has 2 rows"),
    "another tenant": (rows("message", lambda row: {**row, "tenant_id": str(OTHER_PRINCIPAL.tenant_id)}), "tenant_id"),
    "another owner": (rows("message", lambda row: {**row, "owner_user_id": "bob"}), "owner_user_id"),
    "a column that is not": (rows("message", lambda row: {**row, "x; DROP TABLE": 1}), "must not have the member"),
    "a path of a file": (rows("wm_record", lambda row: {**row, "provider": "../../etc"}), "provider"),
    "no key": (rows("message", lambda row: {k: v for k, v in row.items() if k != "seq"}), "lack the member 'seq'"),
    "members that differ": (rows("message", lambda row: row if row["seq"] == 1 else {**row, "z": 1}), "line 2"),
    "no object": (rows("message", lambda _: b"[1]"), "line 1: it is not a JSON object"),
    "no JSON": (rows("message", lambda _: b"{"), "line 1: it is not valid JSON"),
    "no UTF-8": (rows("message", lambda _: b'{"content": "\xff"}'), "line 1: it is not valid JSON"),
    "a role that is none": (rows("message", lambda row: {**row, "role": "god"}), "message_role_check"),
    "nothing where something must be": (rows("message", lambda row: {**row, "said_at": None}), "a value violates"),
    "a time that is none": (rows("message", lambda row: {**row, "said_at": "soon"}), "cannot be stored"),
    "a number that is too large": (rows("message", lambda row: {**row, "seq": 2**70}), "cannot be stored|valid JSON"),
    "a NUL": (rows("message", lambda row: {**row, "content": "\0"}), "must not have a NUL character"),
    "a text that no call takes": (_long_text, r"content must have at most 1,048,576 bytes \(got 1,048,577\)"),
    "a title that no call takes": (
        rows("context", lambda row: {**row, "title": "x" * 401}, "context"),
        r"title must have at most 400 characters \(got 401\)",
    ),
    "a record's name that no call takes": (rows("wm_record", lambda row: {**row, "name": "x" * 513}), "512 characters"),
    "parts that are none": (rows("message", lambda row: {**row, "parts": '[{"x": 1}]'}), "the type of its column"),
    "a document that is deep": (rows("message", lambda row: {**row, "metadata": DEEP}), "not a valid document"),
    "a document that is none": (rows("message", lambda row: {**row, "metadata": "{"}), "not a valid document"),
    "a document of its own kind": (rows("message", lambda row: {**row, "metadata": {}}), "document as a text"),
    "messages behind the header's last": (rows("message", lambda row: {**row, "seq": row["seq"] + 9}), "last_seq of"),
    "a message before the first": (
        rows("message", lambda row: {**row, "seq": row["seq"] - 1}),
        r"must be 1 or more \(got 0\)",
    ),
    "a header of another": (rows("context", lambda row: {**row, "ancestors": []}, "context"), "header .* is malformed"),
    "a header without an owner": (rows("context", lambda row: {**row, "owner_user_id": None}, "context"), "malformed"),
    "a header that ends in 2^60": (rows("context", lambda row: {**row, "last_seq": 2**60}, "context"), "last_seq of"),
    "a header that is gone": (rows("context", lambda row: {**row, "deleted_at": None}, "context"), "deleted_at"),
    "rows without a header": (without("context"), "between its header and its end"),
    "rows of another context": (said("message", context=str(uuid.uuid4())), "another context"),
    "a header of another context": (said("context", "context", context=str(uuid.uuid4())), "another context"),
    "a header in a context": (twice("context"), "is incomplete"),
    "an end without a header": (twice("context_end"), "is not open"),
    "an end in a context": (without("context_end"), "is incomplete"),
    "something behind the end": (twice("end"), "after its end"),
    "an end of nothing": (data("end", b"{}"), "the last piece of the archive is malformed"),
    "another file than it says": (data("blob", b"b file"), "differs from the declared"),
    "a longer file than it says": (data("blob", b"a longer file"), "bytes, but 6 were declared"),
    "a file that breaks off": (said("", "blob", size=7), "is incomplete"),
    "a file that begins in its middle": (said("", "blob", at=1), "is incomplete"),
    "a file of no name": (said("", "blob", sha256="../../etc/passwd"), "must have a sha256 of 64"),
    "a file without a record": (without("rows", "wm_record"), "record of the file must follow"),
    "a record without its file": (without("blob"), "its file is neither"),
    "a record of another file": (said("wm_record", blob={"sha256": "00" * 32, "size": 6}), "the file before it"),
    "a name of a file that is a path": (rows("wm_record", lambda row: {**row, "blob_key": None}), "a value violates"),
}  # fmt: skip


@pytest.mark.parametrize("harm", HARM)
async def test_what_would_harm_is_refused_with_its_place(harm: str, good: tuple[str, Pieces], other: Caller):
    """Its checksums are right: whoever made it knew how."""
    context_id, those = good
    change, why = HARM[harm]
    with pytest.raises(ArchiveRefused, match=why) as refused:
        await put(other, joined(change(those)))
    assert refused.value.message.startswith("piece ") and refused.value.metadata["piece"].isdigit()
    if harm not in ("something behind the end", "an end of nothing", "an end without a header"):
        with pytest.raises(ContextNotFound):
            await other.texts(context_id)


def _long_line(_: bytes) -> bytes:
    return b'{"piece":0,' + b" " * 2 * LINE_BYTES_MAX


def _large_piece(_: bytes) -> bytes:
    one, _seal = sealed(FIRST_SEAL, {"piece": 0, "kind": "manifest"}, b"")
    return one.replace(b'"bytes":0', b'"bytes":%d' % (PIECE_BYTES_MAX + 1))


def _begin(archive: bytes) -> bytes:
    return archive.partition(b'"context_end"')[0]


_PROFILE = {"name": "mine", "version": 2, "sha256": "\\x00", "created_by": "x", "text": "", "base": "general"}
_KNOWN = {"profile": "mine", "app_id": ""}


@pytest.mark.parametrize(
    ("table", "row", "why"),
    [
        (
            "window_profile_version",
            {**_PROFILE, "learned": "[1]"},
            "learned is not a valid document: it must be an object with only lines and results",
        ),
        ("window_profile_version", {**_PROFILE, "learned": '{"lines": {"error": "1.1"}}'}, "learned .* lines.error"),
        ("window_profile_version", {**_PROFILE, "evidence": '{"lines": 1}'}, "evidence .* lines must be an object"),
        ("window_learning", {**_KNOWN, "counts": '{"words": {}}'}, "counts .* lines and results"),
        ("window_learning", {**_KNOWN, "counts": '{"results": {"0": [1, -1]}}'}, "counts .* results.0"),
        ("window_learning", {**_KNOWN, "counts": '{"results": {"0": [1]}}'}, "counts .* results.0"),
    ],
)
async def test_what_nobody_learned_is_refused_and_not_read_later(
    table: str, row: dict[str, Any], why: str, good: tuple[str, Pieces], other: Caller
):
    """Whoever opens a window would find that it cannot be read."""
    those = good[1]
    says = {"kind": "rows", "table": table, "rows": 1}
    made = [those[0], replace(those[0], kind="rows", says=says, data=json.dumps(row).encode() + b"\n"), those[-1]]
    with pytest.raises(ArchiveRefused, match=f"piece 1, {table}, line 1: {why}"):
        await put(other, joined(made))


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda archive: b"", "is incomplete"),
        (lambda archive: b"\x1f\x8b\x08" + bytes(9000), "malformed, too long or incomplete"),
        (lambda archive: b"not an archive\n", "malformed or incomplete"),
        (_long_line, "malformed, too long or incomplete"),
        (_large_piece, f"up to {PIECE_BYTES_MAX} bytes"),
        (lambda archive: archive[:-1], "is incomplete"),
        (lambda archive: archive[: archive.index(b'"end"') - 12], "incomplete"),
        (lambda archive: _begin(archive).replace(b"hello", b"hullo"), "checksum"),
        (lambda archive: _begin(archive).replace(b'"table":"message"', b'"table":"massage"'), "checksum"),
        (lambda archive: _begin(archive).replace(b'{"piece":1', b'{"piece":2', 1), "its number must be"),
    ],
)  # fmt: skip
async def test_what_is_no_archive_is_refused(harm: Any, why: str, good: tuple[str, Pieces], other: Caller):
    made = harm(joined(good[1]))
    with pytest.raises(ArchiveRefused, match=why):
        await put(other, made)
    if b'"context_end"' in made:  # all of the context came whole
        assert await other.texts(good[0]) == ["hello", "again"]
        return
    with pytest.raises(ContextNotFound):
        await other.texts(good[0])


async def test_a_file_that_says_it_is_huge_is_refused_before_its_bytes(good: tuple[str, Pieces], other: Caller):
    with pytest.raises(BlobTooLarge):
        await put(other, joined(said("", "blob", size=2**50)(good[1])))


@pytest.mark.parametrize("large_bytes", [imports._LARGE_BYTES, 50])  # pieces wait for others, or are read alone
async def test_files_before_one_that_is_refused_are_written_and_those_behind_it_are_not(
    large_bytes: int, stack: Opened, other: Caller, monkeypatch: pytest.MonkeyPatch
):
    """And of the one that is refused nothing stays that the sweeper does not know of."""
    monkeypatch.setattr(imports, "_LARGE_BYTES", large_bytes)
    admin, node_id = stack.administrator(), an_id()
    record_ids = [await upload(admin, bytes([number]) * 100, entity_node_id=node_id) for number in range(4)]
    sent = await admin.send("hello", parts=[{"working_memory_id": one} for one in record_ids])
    those = await cut(await export(admin, context_id=sent.context_id))
    files = [n for n, one in enumerate(those) if one.kind == "blob"]
    harmed = [replace(one, data=b"x" * 100) if n == files[2] else one for n, one in enumerate(those)]

    import_id = an_id()
    with pytest.raises(ArchiveRefused, match=f"piece {files[2]}: .* differs from the declared"):
        await put(other, joined(harmed), import_id=import_id)

    assert (await get(other, import_id)).pieces == files[2]
    assert states(stack, other) in (["deleting", "live", "live"], ["deleting", "deleting", "live", "live"])
    done = counts(await put(other, joined(those)))
    assert done["blob"] == (2, 0, 0) and done["wm_record"] == (2, 2, 0)
    assert states(stack, other).count("live") == 4


def states(stack: Opened, caller: Caller) -> list[str]:
    """Return in which states the blobs of a tenant are."""
    ((_, key),) = caller.metadata
    tenant_id = stack.keys[key.removeprefix("Bearer ")].tenant_id
    with psycopg.connect(stack.urls.of(tenant_id).superuser) as connection:
        rows_ = connection.execute("SELECT state FROM context.blob WHERE tenant_id = %s ORDER BY 1", (tenant_id,))
        return [state for (state,) in rows_]


async def test_two_imports_of_one_archive_at_once_are_one(stack: Opened, other: Caller):
    sent = await stack.caller.of("admin").send("hello")
    archive = await export(stack.caller.of("admin"), context_id=sent.context_id)
    done = await asyncio.gather(*(put(other, archive) for _ in range(4)), return_exceptions=True)
    assert all(not isinstance(one, BaseException) or isinstance(one, ContextKeepError) for one in done)
    assert await other.texts(sent.context_id) == ["hello"]
    assert counts(await put(other, archive))["message"] == (0, 1, 0)


def numbered(those: Pieces, seq: int) -> Pieces:
    """Give all rows that a tenant numbers numbers from this one on."""

    def changed(one: ArchivePiece) -> ArchivePiece:
        if one.kind != "rows" or one.says["table"] not in ("action", "memory", "wm_record"):
            return one
        lines = [json.dumps({**json.loads(line), "seq": seq + n}) for n, line in enumerate(one.data.splitlines())]
        return replace(one, data="".join(f"{line}\n" for line in lines).encode())

    return list(map(changed, those))


@pytest.mark.parametrize("seq", [2**48, 2**51])
async def test_enormous_numbers_of_an_archive_change_no_later_number(stack: Opened, seq: int):
    """Neither another tenant's, nor those of the tenant so far that its own archive could not be imported."""
    teller, victim, bystander, third = (stack.administrator() for _ in range(4))
    user = f"ada {an_id()}"

    async def write(caller: Caller) -> bytes:
        await caller.call("RetainMemory", subject_user_id=user, memory={"text": f"Likes {an_id()}."})
        await upload(caller, an_id().encode())
        return await export(caller, tenant=True)

    def highest(those: Pieces) -> int:
        seqs = [json.loads(line).get("seq", 0) for one in those if one.kind == "rows" for line in one.data.splitlines()]
        return max(seqs)

    before = highest(await cut(await write(bystander)))
    hostile = joined(numbered(await cut(await write(teller)), seq))
    done = await put(victim, hostile)
    assert counts(done)["memory"] == counts(done)["wm_record"] == (1, 0, 0)
    assert [one.why for one in done.conflicts] == (["renumbered"] * 2 if seq > 2**48 else [])
    assert counts(await put(victim, hostile))["memory"] == (0, 1, 0)

    archive = await write(bystander)
    assert highest(await cut(archive)) <= before + 10
    written = counts(await put(third, archive))
    assert written["memory"] == written["wm_record"] == (2, 0, 0)

    own = counts(await put(stack.administrator(), await write(victim)))
    assert own["memory"] == own["wm_record"] == (2, 0, 0)


@pytest.mark.parametrize("seq", [0, -1, 2**52 + 1])
async def test_numbers_that_no_row_has_are_refused(stack: Opened, seq: int):
    teller = stack.administrator()
    user = f"ada {an_id()}"
    await teller.call("RetainMemory", subject_user_id=user, memory={"text": "Likes fish."})
    archive = joined(numbered(await cut(await export(teller, user_id=user)), seq))
    for is_dry in (True, False):
        with pytest.raises(ArchiveRefused, match="seq must be a whole number from 1 to"):
            await put(stack.administrator(), archive, dry_run=is_dry)


async def test_authors_are_never_taken_from_an_archive(stack: Opened):
    """A log that was changed and sealed again names who imported it, and keeps the claim apart. So do other rows."""
    teller, victim = stack.administrator(), stack.administrator()
    record_id = await upload(teller, b"a file")
    sent = await teller.send("hello", parts=[{"working_memory_id": record_id}])
    those = await cut(await export(teller, context_id=sent.context_id))

    def forged(row: dict[str, Any]) -> dict[str, Any]:
        details = json.dumps({**json.loads(row["details"]), "imported": None, "why": "told"})
        return {**row, "principal": "the director", "details": details}

    changed = rows("action", forged)(those)
    changed = rows("wm_record", lambda row: {**row, "created_by": "the director"})(changed)
    changed = rows("context", lambda row: {**row, "created_by": "the director"}, "context")(changed)
    archive, import_id = joined(changed), str(uuid.uuid4())
    importer = stack.keys[victim.metadata[0][1].removeprefix("Bearer ")].subject
    await put(victim, archive, import_id=import_id)

    stub = WorkingMemoryStub(victim.channel)
    listing = memory_pb.ListWMRecordActionsRequest(working_memory_id=record_id)
    (action,) = (await stub.ListWMRecordActions(listing, metadata=victim.metadata)).actions
    imported = json.loads(action.details_json)["imported"]
    assert action.principal == importer
    assert (imported["import_id"], imported["imported_by"]) == (import_id, importer)
    assert imported["imported_at"] and imported["principal"] == "the director"
    fetching = memory_pb.FetchWMRecordRequest(working_memory_id=record_id)
    record = (await stub.FetchWMRecord(fetching, metadata=victim.metadata)).record
    context = (await victim.call("GetContext", context_id=sent.context_id)).context
    assert record.created_by == context.created_by == importer

    # A second import finds the same rows; an archive of them says what was claimed.
    assert not any(written or conflicts for written, _, conflicts in counts(await put(victim, archive)).values())
    again = await cut(await export(victim, context_id=sent.context_id))
    assert json.loads(again[place(again, "rows", "action")].data)["principal"] == "the director"


# What the database keeps of a tool that no server was asked for.
_TOOL = """
    INSERT INTO context.mcp_tool (
        tenant_id, server_id, tool_name, provider_id, definition, definition_sha256, discovered_at, approved_sha256,
        approved_by, approved_at
    ) VALUES (%s, 'tickets', 'search', 'mcp-tickets-0123456789', %s, 'a', now(), 'a', 'the teller', now())
"""
_DEFINITION = {"node_type": "Turn", "title": "entity.name"}
_FACET = {"slug": "seat", "heading": "Seat", "kind": "FACET_KIND_OPERATIONAL", "text": "entity.data.text"}
_RULES = {"role_field": "role", "content_field": "content"}


async def furnished(stack: Opened, caller: Caller) -> tuple[str, dict[str, str]]:
    """Give a tenant one of each kind with an author; return its user, and the ids by which kinds are read."""
    user = an_id()
    record_id = await upload(caller, b"a file")
    context_id = (await caller.send("hello", parts=[{"working_memory_id": record_id}])).context_id
    task_id = (await caller.call("CreateTask", context_id=context_id)).task.task_id
    artifact = {"artifact_id": "a", "parts": [{"text": "made"}]}
    await caller.call("PutArtifact", context_id=context_id, task_id=task_id, artifact=artifact)
    window_id = (await caller.call("OpenWindow", context_id=context_id, model="gpt-5")).window.window_id
    memory = (await caller.call("RetainMemory", subject_user_id=user, memory={"text": "Likes fish."})).memory
    correction = {"memory": {"confidence": 0.5}, "update_mask": {"paths": ["confidence"]}}
    await caller.call("UpdateMemory", subject_user_id=user, memory_id=memory.memory_id, **correction)
    page = {"slug": "fish", "title": "Fish", "markdown": "Likes fish.", "memory_ids": [memory.memory_id]}
    await caller.call("PutPage", subject_user_id=user, page=page)
    await caller.call("PutAgentTemplate", template={"template_id": "clerks"})
    await caller.call("PutAgent", agent={"agent_id": "clerk"})
    await caller.call("PutSpecialist", specialist={"specialist_id": "lawyer"})
    await caller.call("PutKnowledgeBase", knowledge_base={"name": "handbook"})
    document = {"name": "handbook.md", "data": b"How we work."}
    await caller.call("AddDocument", knowledge_base="handbook", document=document)
    await caller.call("PutMcpServer", server={"server_id": "tickets", "url": "http://127.0.0.1:9"})
    tenant_id = stack.keys[caller.metadata[0][1].removeprefix("Bearer ")].tenant_id
    said = {
        "name": "search",
        "title": "",
        "description": "",
        "input_schema": {},
        "annotations": {},
        "search_safe": None,
    }
    with psycopg.connect(stack.urls.of(tenant_id).superuser) as connection:
        connection.execute(_TOOL, (tenant_id, json.dumps(said)))
    definition = await caller.call("PutDefinition", name="turns", rules={**_DEFINITION, "facets": [_FACET]})
    await caller.call("ApproveDefinition", name="turns", version=definition.definition.version)
    await caller.call("PutProfile", name="mine", text="extends: general")
    await caller.call("UpdateProviderSetting", setting={"provider_id": "workspace", "enabled": False})
    await caller.call("PutContextSetting", app_id="books", models="MODEL_USE_OFF")
    question = {"query": "Who likes fish?", "providers": {"ids": ["memory"]}}
    await caller.call("RunSourceTest", question=question)
    await caller.call("RegisterMapping", mapping_name="tickets", rules=_RULES)
    return user, {"record": record_id, "context": context_id, "task": task_id, "window": window_id}


async def shown(caller: Caller, user: str, ids: dict[str, str]) -> list[tuple[str, Any]]:
    """Return what answers show of each kind, with its table; a kind that is read and listed is in there twice."""
    of = {"context_id": ids["context"]}
    fetching = memory_pb.FetchWMRecordRequest(working_memory_id=ids["record"])
    record = (await WorkingMemoryStub(caller.channel).FetchWMRecord(fetching, metadata=caller.metadata)).record
    task = await caller.call("GetTask", **of, task_id=ids["task"])
    artifact = (await caller.call("GetArtifact", **of, task_id=ids["task"], artifact_id="a")).artifact
    mappings = (await caller.call("ListMappings")).mappings
    policies = (await caller.call("GetQueryPolicy")).providers
    profiles = (await caller.call("ListProfiles")).profiles
    test = (await caller.call("ListSourceTests")).tests[0]
    agent = (await caller.call("GetAgent", agent_id="clerk")).agent
    template = (await caller.call("GetAgentTemplate", template_id="clerks")).template
    base = (await caller.call("GetKnowledgeBase", name="handbook")).knowledge_base
    memory = (await caller.call("ListMemories", subject_user_id=user)).memories[0]
    revisions = await caller.call("ListMemoryRevisions", subject_user_id=user, memory_id=memory.memory_id)
    return [
        ("wm_record", record),
        ("context", (await caller.call("GetContext", **of)).context),
        ("context", (await caller.call("ListContexts")).contexts[0]),
        ("task", task.task),
        ("artifact", task.artifacts[0]),
        ("artifact", artifact),
        ("context_setting", (await caller.call("GetContextSettings", app_id="books")).settings[0]),
        ("context_window", (await caller.call("GetWindow", window_id=ids["window"])).window),
        ("memory", memory),
        ("memory_revision", revisions.revisions[0]),
        ("wiki_page", (await caller.call("GetPage", subject_user_id=user, slug="fish")).page),
        ("wiki_page_version", (await caller.call("ListPageVersions", subject_user_id=user, slug="fish")).versions[0]),
        ("agent", agent),
        ("agent", (await caller.call("ListAgents")).agents[0]),
        ("agent", template),
        ("agent", (await caller.call("ListAgentTemplates")).templates[0]),
        ("specialist", (await caller.call("ListSpecialists")).specialists[0]),
        ("knowledge_base", base),
        ("knowledge_base", (await caller.call("ListKnowledgeBases")).knowledge_bases[0]),
        ("knowledge_document", (await caller.call("ListDocuments", knowledge_base="handbook")).documents[0]),
        ("mcp_server", (await caller.call("ListMcpServers")).servers[0]),
        ("mcp_tool", (await caller.call("ListMcpTools")).tools[0]),
        ("definition", (await caller.call("GetDefinition", name="turns")).definition),
        ("definition", (await caller.call("ListDefinitions")).definitions[0]),
        ("window_profile_version", next(one for one in profiles if one.name == "mine")),
        ("provider_setting", next(one for one in policies if one.provider_id == "workspace")),
        ("source_test", test),
        ("source_test", (await caller.call("GetSourceTest", test_id=test.test_id)).test),
        ("mapping", (await caller.call("GetMapping", mapping_name="tickets")).mapping),
        ("mapping", next(one for one in mappings if one.mapping_name == "tickets")),
    ]


async def test_every_answer_of_an_imported_row_says_by_which_import(stack: Opened):
    """Its own author is who imported it; whom the archive names is a claim, apart from it."""
    teller, victim = stack.administrator(), stack.administrator()
    for caller, subject in ((teller, "the teller"), (victim, "the importer")):
        key = caller.metadata[0][1].removeprefix("Bearer ")
        stack.keys[key] = replace(stack.keys[key], subject=subject)
    user, ids = await furnished(stack, teller)
    kinds = {table for table, _ in await shown(teller, user, ids)}
    # Each table of an archive that says who wrote its rows. The log shows its rows' in their details, and no answer
    # shows the hash of what a user has refused.
    assert kinds == {name for name in CARRIED if name in with_claims(stack)} - {"action", "memory_refusal"}
    assert not any(answer.HasField("imported") for _, answer in await shown(teller, user, ids))

    import_id = str(uuid.uuid4())
    await put(victim, await export(teller, tenant=True), import_id=import_id)
    for table, answer in await shown(victim, user, ids):
        imported = answer.imported
        assert (imported.import_id, imported.imported_by) == (import_id, "the importer"), table
        assert imported.HasField("imported_at"), table
        claims = {one.field: one.author for one in imported.claimed_authors}
        assert claims and set(claims.values()) == {"the teller"}, table
        fields = [field for field in claims if hasattr(answer, field)]
        assert [getattr(answer, field) for field in fields] == ["the importer"] * len(fields), table

    await victim.call(
        "UpdateContext", context_id=ids["context"], context={"title": "t"}, update_mask={"paths": ["title"]}
    )
    await victim.call("PutAgent", agent={"agent_id": "clerk"})
    after = await shown(victim, user, ids)
    assert [answer.imported.import_id for table, answer in after if table == "context"] == [import_id] * 2
    assert [answer.HasField("imported") for table, answer in after if table == "agent"] == [False, False, True, True]


def with_claims(stack: Opened) -> set[str]:
    """Return the tables whose rows say which import wrote them."""
    with psycopg.connect(stack.urls.superuser) as connection:
        rows = connection.execute(
            "SELECT table_name::text FROM information_schema.columns"
            " WHERE table_schema = 'context' AND column_name = 'imported'"
        ).fetchall()
    return {name for (name,) in rows}


def test_every_author_of_a_carried_table_is_known(stack: Opened):
    """A new column that says who wrote a row has to be in `AUTHORS`, and its table needs `imported`."""
    with psycopg.connect(stack.urls.superuser) as connection:
        found = connection.execute(
            "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns"
            " WHERE table_schema = 'context' AND table_name = ANY (%s) AND data_type = 'text' GROUP BY 1",
            (list(CARRIED),),
        ).fetchall()
    authors = {
        name: written
        for name, columns in found
        if (written := {c for c in columns if c.endswith("_by") or c == "principal"})
    }
    assert set().union(*authors.values()) == AUTHORS
    # A refusal is of the user itself, so it has no author. Archives of older releases have checkpoints.
    assert with_claims(stack) == {*authors, "memory_refusal", "window_checkpoint"}
