"""Archives: what is taken out of one tenant is the same in another, however often, and whatever is cut meanwhile."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest

from context_service.transfer.pure import ArchivePiece
from context_service.transfer.rules import export as exporting
from context_service.transfer.rules.row_checks import COLUMNS
from context_service.transfer.store import imports
from context_service.transfer.store.rows import AUTHORS
from context_service.transfer.store.tables import CARRIED, CONTEXT, CONTEXT_ROWS, LEFT_OUT
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, MessageInput, NodeInput
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import ArchiveRefused, ContextNotFound, ImportMoved, InvalidPageToken, PermissionDenied
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.contexts.test_erasing import Stack
from tests.context_service.transfer.archives import Opened, counts, cut, export, get, joined, messages, put
from tests.emulators.azurite import ACCOUNT, KEY, Azurite
from tests.media import png

PDF = bytes(range(256)) * 8192  # two MiB
OF_CONTEXTS = [*(table.name for table in CONTEXT_ROWS), CONTEXT.name]


@pytest.fixture
def admin(stack: Stack) -> Caller:
    return stack.caller.of("admin")


@pytest.fixture
def other(stack: Stack) -> Caller:
    """An administrator of another tenant."""
    return stack.caller.of("other")


async def upload(caller: Caller, data: bytes, **fields: Any) -> str:
    async def parts() -> AsyncIterator[memory_pb.UploadBlobRequest]:
        record = memory_pb.WMRecordInput(memory_type="file", name="paper.bin", **fields)
        yield memory_pb.UploadBlobRequest(header=memory_pb.UploadHeader(record=record))
        for start in range(0, len(data), 1 << 20):
            yield memory_pb.UploadBlobRequest(chunk=data[start : start + (1 << 20)])

    answer = await WorkingMemoryStub(caller.channel).UploadBlob(parts(), metadata=caller.metadata)
    return str(answer.working_memory_id)


async def download(caller: Caller, record_id: str) -> tuple[str, bytes]:
    """Return with which provider a file is, and what it has."""
    request = memory_pb.GetBlobRequest(working_memory_id=record_id)
    answers = [one async for one in WorkingMemoryStub(caller.channel).GetBlob(request, metadata=caller.metadata)]
    return answers[0].record.provider, b"".join(one.chunk for one in answers)


async def begun(stack: Stack) -> str:
    """Begin a context with a row in every table, and return it; nothing is owed of it any more."""
    context_id = await stack.begun(an_id(), messages=60, points=True)  # more than a page
    with psycopg.connect(stack.urls.superuser) as connection:
        connection.execute("UPDATE context.message_record SET state = 'NO_TEXT' WHERE context_id = %s", (context_id,))
    return context_id


def stored(stack: Stack, table: str, tenant_id: uuid.UUID, where: str = "true", *values: object) -> list[Any]:
    """Return the rows of a tenant, as a superuser reads them, without what is its own."""
    own = "{tenant_id,blob_id,terms,scope_id,text_state,passage_count}" if table != "passage" else "{tenant_id}"
    authors = f"{{imported,{','.join(AUTHORS)}}}"  # whoever imported it here
    with psycopg.connect(stack.urls.of(tenant_id).superuser) as connection:
        rows = connection.execute(
            f"SELECT to_jsonb(t) - '{own}'::text[] - '{authors}'::text[] FROM context.{table} t"
            f" WHERE tenant_id = %s AND {where} ORDER BY 1",
            (tenant_id, *values),
        )
        return [row for (row,) in rows]


def of_context(stack: Stack, tenant_id: uuid.UUID, context_id: str) -> dict[str, list[Any]]:
    which = {"passage": "scope_id", "passage_vector": "scope_id", "passage_scope": "scope_id"}
    return {
        table: without_claims(
            table, stored(stack, table, tenant_id, f"{which.get(table, 'context_id')} = %s", context_id)
        )
        for table in OF_CONTEXTS
    }


def without_claims(table: str, rows: list[Any]) -> list[Any]:
    """Return rows without what says that their authors are claims, and without what is made again."""
    aside = {*CARRIED[table].claims, *CARRIED[table].left_out, "is_imported", "retracted_count"}
    return [{name: value for name, value in row.items() if name not in aside} for row in rows]


def test_every_table_is_carried_or_left_out_for_a_reason(stack: Stack):
    with psycopg.connect(stack.urls.superuser) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'context'::regnamespace AND relkind IN ('r', 'p')"
        ).fetchall()
    assert {name for (name,) in tables} == CARRIED.keys() | LEFT_OUT.keys()
    assert not CARRIED.keys() & LEFT_OUT.keys()


def test_every_column_with_a_limit_is_carried(stack: Stack):
    named = {(table, column) for table, columns in COLUMNS.items() for column in columns}
    with psycopg.connect(stack.urls.superuser) as connection:
        columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'context'"
        there = set(connection.execute(columns))
    assert named <= there
    assert all(column not in CARRIED[table].left_out for table, column in named)


async def test_a_context_is_the_same_in_another_tenant(stack: Stack, admin: Caller, other: Caller):
    context_id = await begun(stack)
    before = of_context(stack, PRINCIPAL.tenant_id, context_id)
    assert all(before.values()), "every table has a row"

    archive = await export(admin, context_id=context_id)
    done = await put(other, archive)

    assert of_context(stack, OTHER_PRINCIPAL.tenant_id, context_id) == before
    assert counts(done)["message"] == (60, 0, 0) and {count[1:] for count in counts(done).values()} == {(0, 0)}
    again = counts(await put(other, archive))
    assert {table: count for table, count in again.items() if count[0] or count[2]} == {}
    assert sum(present for _, present, _ in again.values()) >= len(before["message"])


async def test_a_file_is_carried_with_its_record(stack: Stack, admin: Caller, other: Caller):
    node_id, words = an_id(), an_id()
    record_id = await upload(admin, PDF, entity_node_id=node_id)
    sent = await admin.send(words, parts=[{"working_memory_id": record_id}])

    done = await put(other, await export(admin, context_id=sent.context_id))

    assert counts(done)["blob"] == (1, 0, 0) and counts(done)["wm_record"] == (1, 0, 0)
    assert (await download(other, record_id))[1] == PDF
    rows = [stored(stack, "wm_record", one.tenant_id, "id = %s", record_id) for one in (PRINCIPAL, OTHER_PRINCIPAL)]
    assert rows[0] == rows[1]


async def test_an_archive_of_a_context_has_the_files_of_its_messages(stack: Stack, admin: Caller, other: Caller):
    content = PDF + an_id().encode()  # bytes that the other tenant has not
    sent = await admin.send("look", parts=[{"file": {"data": content, "name": "a.pdf"}}])
    archive = await export(admin, context_id=sent.context_id)
    done = await put(other, archive)

    named = {"context_id": sent.context_id, "message_id": sent.message.message_id}
    (found,) = (await other.call("GetMessage", **named)).message.parts
    assert counts(done)["blob"] == (1, 0, 0) and counts(done)["wm_record"] == (1, 0, 0)
    assert (await download(other, found.file.working_memory_id))[1] == content
    assert counts(await put(other, archive))["wm_record"] == (0, 1, 0)
    await other.call("DeleteContext", context_id=sent.context_id, now=True)
    assert (await download(admin, found.file.working_memory_id))[1] == content


async def test_an_archive_of_a_context_has_the_files_of_its_artifacts_and_tasks(admin: Caller, other: Caller):
    in_artifact, in_status, in_message = (png(5, 4 + n) + an_id().encode() for n in range(3))

    def part(data: bytes) -> dict[str, Any]:
        return {"file": {"data": data, "media_type": "image/png"}}

    context_id = (await admin.send("draw")).context_id
    status = {"state": "TASK_STATE_WORKING", "message": {"role": "assistant", "parts": [part(in_status)]}}
    task = (await admin.call("CreateTask", context_id=context_id, task={"status": status})).task
    draft = {"artifact_id": "chart", "parts": [part(in_artifact)]}
    await admin.call("PutArtifact", task_id=task.task_id, artifact=draft)
    await admin.call(
        "SendMessage", context_id=context_id, message={"task_id": task.task_id, "parts": [part(in_message)]}
    )

    archive = await export(admin, context_id=context_id)
    done = await put(other, archive)

    artifact = (await other.call("GetArtifact", task_id=task.task_id, artifact_id="chart")).artifact
    answer = await other.call("GetTask", task_id=task.task_id, history_length=10)
    of_task = next(message for message in answer.history if message.parts)
    assert counts(done)["blob"] == (3, 0, 0) and counts(done)["wm_record"] == (3, 0, 0)
    for (shown,), data in (
        (artifact.parts, in_artifact),
        (answer.task.status.message.parts, in_status),
        (of_task.parts, in_message),
    ):
        assert (shown.file.media_type, shown.file.width) == ("image/png", 5)
        assert (await download(other, shown.file.working_memory_id))[1] == data
    assert counts(await put(other, archive))["wm_record"] == (0, 3, 0)


async def test_files_go_to_the_provider_of_whoever_imports(
    stack: Stack, admin: Caller, other: Caller, urls: Urls, azurite: Azurite, tmp_path: Path
):
    """And what is taken out there goes back to where files are in a folder."""
    node_id = an_id()
    content = PDF + node_id.encode()
    record_id = await upload(admin, content, entity_node_id=node_id)
    sent = await admin.send("hello", parts=[{"working_memory_id": record_id}])
    archive = await export(admin, context_id=sent.context_id)
    elsewhere = {
        "working_memory_storage_provider": "azure",
        "working_memory_storage_account": ACCOUNT,
        "working_memory_storage_key": KEY,
        "working_memory_storage_container": f"archives-{uuid.uuid4().hex}",
        "working_memory_storage_endpoint": azurite.endpoint(),
        "working_memory_storage_create_container": "true",
    }
    async with (
        running(urls.service, tmp_path, callers=ApiKeys({"there": PRINCIPAL}), **elsewhere) as addresses,
        grpc.aio.insecure_channel(addresses.context) as channel,
    ):
        there = Caller(channel, "there")
        assert counts(await put(there, archive))["blob"] == (1, 0, 0)
        assert await download(there, record_id) == ("azure", content)
        back = await export(there, context_id=sent.context_id)
    assert counts(await put(other, back))["blob"] == (1, 0, 0)
    assert await download(other, record_id) == ("local", content)


async def test_pieces_that_were_changed_are_refused_by_their_checksum(admin: Caller, other: Caller):
    sent = await admin.send(an_id())
    archive = bytearray(await export(admin, context_id=sent.context_id))
    archive[len(archive) // 2] ^= 1
    with pytest.raises(Exception, match="ARCHIVE_REFUSED"):
        await put(other, bytes(archive))
    assert joined(await cut(await export(admin, context_id=sent.context_id)))


async def test_what_is_a_users_is_the_same_in_another_tenant(stack: Stack, admin: Caller, other: Caller):
    """And found there, by words and by names."""
    user, bob = f"ada {an_id()}", stack.caller.of("runtime")
    context_id = await bob.send("where is the harbour?", subject_user_id=user)
    memory = await bob.call("RetainMemory", subject_user_id=user, memory={"text": "Ada lives by a harbour."})
    correction = {"memory": {"text": "Ada lives by the harbour."}, "update_mask": {"paths": ["text"]}}
    await bob.call("UpdateMemory", subject_user_id=user, memory_id=memory.memory.memory_id, **correction)
    said = {"title": "Harbours", "markdown": "# Harbours\nAda likes Rotterdam.", "aliases": ["ports"]}
    await bob.call("PutPage", subject_user_id=user, page={**said, "memory_ids": [memory.memory.memory_id]})

    archive = await export(admin, user_id=user)
    done = counts(await put(other, archive))
    assert done["memory"] == done["wiki_page"] == done["context"] == (1, 0, 0)
    for table in (
        "memory",
        "memory_revision",
        "memory_user",
        "wiki_page",
        "wiki_page_version",
        "wiki_citation",
        "message",
    ):
        mine, theirs = (
            stored(stack, table, one.tenant_id, "owner_user_id = %s", user) for one in (PRINCIPAL, OTHER_PRINCIPAL)
        )
        if table == "message":
            mine, theirs = without_claims(table, mine), without_claims(table, theirs)
        assert mine == theirs and len(mine) == 1, table
    found = await other.call("RecallMemories", subject_user_id=user, query="where does Ada live?")
    assert [one.memory.text for one in found.memories] == ["Ada lives by the harbour."]
    page = await other.call("GetPage", subject_user_id=user, slug="Ports")
    assert page.page.markdown == said["markdown"]
    assert await other.texts(context_id.context_id, subject_user_id=user) == ["where is the harbour?"]
    assert not any(written or conflicts for written, _, conflicts in counts(await put(other, archive)).values())


async def furnished(client: AsyncContextClient, graph: AsyncEntityClient) -> str:
    """Give a tenant some of everything, and return a node."""
    nodes = [NodeInput("Session", data={"n": n}) for n in range(3)]
    await graph.graph.write(nodes, [EdgeInput(nodes[0].id, nodes[1].id, "Owns")])
    await client.blobs.upload(b"a file", name="file", memory_type="file", entity_node_id=nodes[0].id)
    await client.records.insert("text/plain", "note", content_text="a note", entity_node_id=nodes[1].id)
    await client.agents.put("agent")
    await client.specialists.put("specialist")
    await client.mcp_servers.put("tickets", "http://127.0.0.1:9", bearer_secret="hush-hush-hush")
    await client.profiles.put("mine", "extends: general")
    await client.knowledge_bases.put("handbook")
    await client.knowledge_bases.add_document("handbook", b"How we work.", name="handbook.md")
    await client.mappings.register("tickets", {"role_mapping": {"Turn": "user"}, "content_field": "said"})
    await client.memories.retain("Ada lives in Paris.", subject_user_id="ada")
    await client.pages.put("Paris", "A town.", subject_user_id="ada")
    await client.contexts.send(MessageInput("hello"))
    return nodes[0].id


def rows_of(those: list[ArchivePiece]) -> dict[str, list[Any]]:
    """Return what an archive has of each table, but for what background work changes."""
    found: dict[str, list[Any]] = {}
    for piece in those:
        if piece.kind in ("rows", "context", "graph"):
            name = str(piece.says.get("table", piece.kind))
            changing = CARRIED[name].changing | CARRIED[name].claims.keys() if name in CARRIED else frozenset()
            lines = [json.loads(line) for line in piece.data.splitlines()]
            found.setdefault(name, []).extend(
                {key: value for key, value in line.items() if key not in changing} for line in lines
            )
    return {name: sorted(those_rows, key=str) for name, those_rows in found.items()}


async def test_a_tenant_with_its_graph_is_the_same_in_another_tenant(stack: Opened):
    """But for its secrets, which no archive has."""
    names = {key: replace(PRINCIPAL, tenant_id=uuid.uuid4()) for key in ("from", "to")}
    stack.keys.update(names)
    async with (
        AsyncContextClient(stack.addresses.context, api_key="from") as client,
        AsyncContextClient(stack.addresses.context, api_key="to") as target,
        AsyncEntityClient(stack.addresses.entity, api_key="from") as graph,
    ):
        node_id = await furnished(client, graph)
        archive = await export(stack.caller.of("from"), tenant=True)
        assert b"hush" not in archive and b"secret" not in archive.partition(b'"left_out"')[0]

        done = counts(await put(stack.caller.of("to"), archive))
        assert done["graph.nodes"] == (3, 0, 0) and done["mcp_server"] == (1, 0, 0)
        assert not any(conflicts for _, _, conflicts in done.values())
        before = rows_of(await cut(archive))
        after = rows_of(await cut(await export(stack.caller.of("to"), tenant=True)))
        assert before == after
        assert {
            "agent",
            "specialist",
            "mapping",
            "knowledge_document",
            "window_profile",
            "graph",
            "action",
        } <= after.keys()
        records = [record async for record in target.records.list_by_entity(node_id)]
        assert [one.name for one in records] == ["file"]
        again = counts(await put(stack.caller.of("to"), archive))
        assert not any(written or conflicts for written, _, conflicts in again.values())

        alone = await export(stack.caller.of("from"), graph_name="default")
        assert rows_of(await cut(alone)).keys() == {"graph", "wm_record", "action"}


async def test_an_export_goes_on_behind_any_token(admin: Caller, stack: Stack, monkeypatch: pytest.MonkeyPatch):
    """It ends with the same rows, under the same seals as far as it had come."""
    monkeypatch.setattr(exporting, "_MESSAGE_BYTES", 1)
    monkeypatch.setattr(exporting, "BATCH_BYTES", 2_000)
    user = f"ada {an_id()}"
    for words in range(3):
        made = await stack.caller.of("runtime").send(f"{words}", subject_user_id=user)
        for _ in range(5):
            await stack.caller.of("runtime").send("x" * 400, made.context_id, subject_user_id=user)
    await stack.caller.of("runtime").call("RetainMemory", subject_user_id=user, memory={"text": "Ada sails."})
    parts = [one async for one in messages(admin, user_id=user)]
    tokens = [place for place, (_, token) in enumerate(parts) if token]
    assert len(tokens) > 5
    whole = rows_of(await cut(b"".join(data for data, _ in parts)))
    for place in tokens[:-1]:
        begin = b"".join(data for data, _ in parts[: place + 1])
        rest = await export(admin, parts[place][1], user_id=user)
        assert rows_of(await cut(begin + rest)) == whole
    with pytest.raises(InvalidPageToken):
        await export(admin, parts[tokens[0]][1], user_id="bob")


async def test_an_import_goes_on_wherever_it_was_cut(stack: Stack, admin: Caller, other: Caller):
    """And a context that is not all there is there for nobody, in no list and by no id."""
    context_id = await begun(stack)
    archive, import_id = await export(admin, context_id=context_id), an_id()
    ends = [piece.end_bytes for piece in await cut(archive)]
    offset = 0
    for end in ends[:-1]:
        with pytest.raises(ArchiveRefused, match="is incomplete"):
            await put(other, archive[:end], import_id=import_id, offset=offset)
        offset = (await get(other, import_id)).offset_bytes
        assert offset == end
        if end < ends[-2]:
            with pytest.raises(ContextNotFound):
                await other.texts(context_id)
            assert context_id not in [one.context_id for one in (await other.call("ListContexts")).contexts]
    with pytest.raises(ImportMoved):
        await put(other, archive, import_id=import_id)
    done = await put(other, archive, import_id=import_id, offset=offset)
    assert done.offset_bytes == len(archive)
    assert of_context(stack, OTHER_PRINCIPAL.tenant_id, context_id) == of_context(
        stack, PRINCIPAL.tenant_id, context_id
    )


async def test_what_nobody_goes_on_with_is_removed_in_steps(
    stack: Stack, admin: Caller, other: Caller, monkeypatch: pytest.MonkeyPatch
):
    context_id = await begun(stack)
    archive, import_id = await export(admin, context_id=context_id), an_id()
    *_, last, _ = (piece.end_bytes for piece in (await cut(archive))[:-1])
    with pytest.raises(ArchiveRefused):
        await put(other, archive[:last], import_id=import_id)
    assert of_context(stack, OTHER_PRINCIPAL.tenant_id, context_id)["message"]
    with psycopg.connect(stack.urls.of(OTHER_PRINCIPAL.tenant_id).superuser) as connection:
        connection.execute(
            "UPDATE context.import SET updated_at = now() - interval '8 days' WHERE import_id = %s", (import_id,)
        )

    monkeypatch.setattr(imports, "_STEP_ROWS", 1)
    steps = 1
    while (await imports.clear(stack.database, OTHER_PRINCIPAL.tenant_id, for_s=0)) == (0, True):
        steps += 1
    assert steps > 3, "each ends after one statement that removes rows"
    assert not any(of_context(stack, OTHER_PRINCIPAL.tenant_id, context_id).values())
    assert (await get(other, import_id)).state == pb.IMPORT_STATE_GIVEN_UP
    await put(other, archive)
    assert await other.texts(context_id)


async def test_what_is_there_and_other_is_left_alone(stack: Stack, admin: Caller, other: Caller):
    sent = await admin.send("first")
    archive = await export(admin, context_id=sent.context_id)
    await put(other, archive)
    await admin.send("second", sent.context_id)
    newer = await export(admin, context_id=sent.context_id)
    told = counts(await put(other, newer, dry_run=True))
    done = await put(other, newer)

    assert await other.texts(sent.context_id) == ["first"]
    assert counts(done) == told and counts(done)["message"] == (0, 1, 1)
    assert {(one.table, one.why) for one in done.conflicts} >= {("context", "different"), ("message", "different")}
    await other.send("third", sent.context_id)  # its log goes on as if nothing had been
    assert await other.texts(sent.context_id) == ["first", "third"]

    await other.call("DeleteContext", context_id=sent.context_id)
    erased = await put(other, archive)
    assert [(one.table, one.why) for one in erased.conflicts] == [("context", "erased")]
    with pytest.raises(ContextNotFound):
        await other.texts(sent.context_id)


async def test_a_dry_run_writes_nothing(stack: Stack, admin: Caller, other: Caller):
    context_id = await begun(stack)
    archive = await export(admin, context_id=context_id)
    told = counts(await put(other, archive, dry_run=True))
    assert not any(of_context(stack, OTHER_PRINCIPAL.tenant_id, context_id).values())
    assert counts(await put(other, archive)) == told


async def test_a_number_that_another_row_has_becomes_the_next_one(stack: Stack, admin: Caller, other: Caller):
    """As where two new installations come together: nothing is lost for it, and again it is the same row."""
    user = f"ada {an_id()}"
    for caller in (admin, other):
        await caller.call("RetainMemory", subject_user_id=user, memory={"text": f"Known to {caller.metadata}."})
    for each in stack.urls.all:
        with psycopg.connect(each.superuser) as connection:
            connection.execute("UPDATE context.memory SET seq = 1 WHERE owner_user_id = %s", (user,))
    archive = await export(admin, user_id=user)

    done = await put(other, archive)
    assert counts(done)["memory"] == (1, 0, 0) and [one.why for one in done.conflicts] == ["renumbered"]
    assert counts(await put(other, archive))["memory"] == (0, 1, 0)
    assert len((await other.call("ListMemories", subject_user_id=user)).memories) == 2


async def test_a_bound_key_takes_nothing_out_and_puts_nothing_in(admin: Caller, stack: Stack):
    sent = await admin.send("hello")
    archive = await export(admin, context_id=sent.context_id)
    for key in ("app", "graph", "context", "plain"):
        with pytest.raises(PermissionDenied):
            await export(stack.caller.of(key), context_id=sent.context_id)
        with pytest.raises(PermissionDenied):
            await put(stack.caller.of(key), archive)


async def test_the_last_releases_archive_is_imported(stack: Stack):
    """One of each release is kept: rows that this one cannot read would be somebody's."""
    kept = sorted((Path(__file__).parent / "archives").glob("*.archive"))
    assert kept
    for path in kept:
        stack.keys[path.name] = replace(PRINCIPAL, tenant_id=uuid.uuid4())
        done = counts(await put(stack.caller.of(path.name), path.read_bytes()))
        assert done["context"][0] and done["message"][0] and done["blob"][0] and done["memory"][0]
        assert not any(conflicts for _, _, conflicts in done.values())


async def test_who_was_erased_since_does_not_come_back_with_an_archive_and_is_told(stack: Opened):
    """Whatever has an owner; with a newer archive, of somebody who came again, it does."""
    stack.keys["users"] = replace(PRINCIPAL, tenant_id=OTHER_PRINCIPAL.tenant_id)
    there, user = stack.caller.of("users"), f"ada {an_id()}"
    stack.keys["ada"] = replace(stack.keys["users"], user_id=user, subject=user)
    ada = stack.caller.of("ada")

    async def come() -> str:
        sent = await ada.send("where is the harbour?")
        await ada.call("RetainMemory", memory={"text": "Ada lives by the harbour."})
        await ada.call("PutPage", page={"title": "Harbours", "markdown": "# Harbours"})
        await upload(ada, f"of {user}".encode())
        return str(sent.context_id)

    context_id = await come()
    older = await export(there, user_id=user)
    async with AsyncContextClient(stack.addresses.context, api_key="users") as admin:
        erasure = await admin.erasures.erase(user)
        async with asyncio.timeout(60):
            while erasure.state != "finished":
                await asyncio.sleep(0.05)
                erasure = await admin.erasures.get(erasure.erasure_id)

        for dry_run in (True, False):
            done = await put(there, older, dry_run=dry_run)
            told = {one.table for one in done.conflicts if one.why == "erased"}
            assert told >= {"context", "memory", "wiki_page", "wm_record"}
        assert not any(written for table, (written, _, _) in counts(done).items() if table != "blob"), counts(done)
        assert not (await admin.erasures.plan(user)).counts
        assert context_id not in str(await cut(await export(there, tenant=True)))

        newer_id = await come()
        newer = await export(there, user_id=user)
        assert not (await put(there, newer)).conflicts
        assert await ada.texts(newer_id) == ["where is the harbour?"]


async def test_what_is_held_stays_as_it_is_whatever_an_archive_says(stack: Opened, admin: Caller):
    """An import changes and removes nothing that is there."""
    sent = await admin.send("as it was", parts=[], metadata_json='{"a": 1}')
    those = await cut(await export(admin, context_id=sent.context_id))
    async with AsyncContextClient(stack.addresses.context, api_key="admin") as client:
        hold = await client.holds.put("a lawsuit", context_id=sent.context_id)
        before = of_context(stack, PRINCIPAL.tenant_id, sent.context_id)
        n = next(n for n, one in enumerate(those) if one.says.get("table") == "message")
        those[n] = replace(those[n], data=those[n].data.replace(b"as it was", b"otherwise"))
        done = await put(admin, joined(those))
        assert {(one.table, one.why) for one in done.conflicts} >= {("message", "different")}
        assert of_context(stack, PRINCIPAL.tenant_id, sent.context_id) == before
        await client.holds.release(hold.hold_id)
