"""Contexts that are deleted: gone at once for everybody, and then from every table, whatever is killed meanwhile."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from psycopg import sql

from context_service.commands import maintenance
from context_service.contexts.store import erased_records, erasures
from context_service.contexts.store.erasures import OF_SUBJECTS, Eraser, count_owned_rows
from context_service.settings import Settings
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import (
    ContextNotFound,
    Erased,
    ErasureNotFound,
    InvalidArgument,
    PermissionDenied,
    RequestIdReused,
    Unauthenticated,
)
from service_runtime.auth.keys import KeyAdministration, NewKey, NoSuchTenant
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Across, Database, Row, Tenant
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import PRINCIPAL, Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller, an_id, at
from tests.context_service.erased import erase_subject, eraser_of
from tests.hostile.tables import relations
from tests.rpcs import all_rpcs

APP = replace(PRINCIPAL, scopes=frozenset({"read", "write"}), app_ids=frozenset({"books"}))
SERVICES = {f"contextkeep.context.v1.{name}" for name in ("Contexts", "Tasks", "Artifacts")}
RPCS = {rpc.name: rpc for rpc in all_rpcs() if rpc.service in SERVICES}

# What of another context each RPC that names one would ask.
ASKING: dict[str, dict[str, Any]] = {
    "SendMessage": {"message": {"content": "x"}},
    "AppendMessages": {"messages": [{"content": "x"}]},
    "UpdateContext": {"context": {"title": "t"}, "update_mask": {"paths": ["title"]}},
    "GetMessage": {"message_id": "m"},
    "Recall": {"text": "x"},
    "SearchContext": {"query": "x"},
    "RetractMessages": {"message_ids": ["m"]},
    "SyncHistory": {"node_id": an_id()},
    "UpdateTask": {"task_id": an_id(), "task": {"metadata_json": "{}"}, "update_mask": {"paths": ["metadata_json"]}},
    "GetTask": {"task_id": an_id()},
    "CancelTask": {"task_id": an_id()},
    "PutArtifact": {"task_id": an_id(), "artifact": {"parts": [{"text": "x"}]}},
    "WatchContext": {"until_now": True},
    "GetArtifact": {"task_id": an_id(), "artifact_id": "a"},
}
EMPTIED = {
    "context.artifact",
    "context.context",
    "context.context_external_id",
    "context.message",
    "context.message_record",
    "context.passage",
    "context.passage_scope",
    "context.passage_session",
    "context.passage_vector",
    "context.task",
    "context.context_window",
    "context.window_block",
    "context.window_summary",
    "context.window_entry",
    "context.window_fold",
    "context.window_usage",
    "context.window_checkpoint",
    "context.window_fork",
}
# Tables with a column `context_id` or `owner_user_id` that no context and no user takes along.
STAYS = {
    "context.erasure": "the receipt",
    "context.hold": "forbids it, and is released by itself",
    "context.wm_record": "of a node, and purged with it, unless it was uploaded for the context",
    "context.source_test": "a user's",
    "context.memory": "a user's",
    "context.memory_user": "a user's",
    "context.wiki_page": "a user's",
    "context.wiki_page_name": "a user's",
    "context.wiki_citation": "a user's",
    "context.memory_revision": "a user's",
    "context.memory_refusal": "a user's",
    "context.wiki_page_version": "a user's",
}


@dataclass(frozen=True, kw_only=True)
class Stack:
    channel: grpc.aio.Channel
    database: Database
    urls: Urls

    @property
    def caller(self) -> Caller:
        return Caller(self.channel)

    @property
    def tenant(self) -> Tenant:
        return self.database.tenant(PRINCIPAL.tenant_id)

    @property
    def eraser(self) -> Eraser:
        return eraser_of(self.database)

    def holding(self, words: str) -> list[str]:
        """Return the tables in which a row has some words, as a superuser reads them."""
        found = []
        with psycopg.connect(self.urls.superuser) as connection:
            for name in relations(self.urls.superuser):
                statement = sql.SQL("SELECT count(*) FROM {} t WHERE t::text LIKE %s").format(
                    sql.Identifier(*name.split("."))
                )
                (row,) = connection.execute(statement, (f"%{words}%",)).fetchall()
                found += [name] if row[0] else []
        return found

    async def begun(
        self, words: str, *, messages: int = 1, points: bool = False, key: str = "plain", **fields: Any
    ) -> str:
        """Begin a context with words in all that can hold some, and return its id; `points`: at a record, too."""
        said = [message_pb.MessageInput(content=f"{words} {n}", message_id=f"{words}-{n}") for n in range(messages)]
        if points:
            said[0].parts.add(working_memory_id=await self.record())
        header = pb.ContextInput(
            title=words,
            external_ids=[pb.ExternalId(system="s", id=words)],
            metadata_json=f'{{"note": "{words}"}}',
            **fields,
        )
        caller = self.caller.of(key)
        answer = await caller.append("", *said[:500], context=header, request_id=an_id())
        for place in range(500, messages, 500):
            await caller.append(answer.context_id, *said[place : place + 500], request_id=an_id())
        task = await caller.call(
            "CreateTask",
            context_id=answer.context_id,
            task={
                "status": {"state": tasks_pb.TASK_STATE_WORKING, "message": {"content": words}},
                "metadata_json": f'{{"note": "{words}"}}',
            },
            request_id=an_id(),
        )
        made = {"artifact_id": words, "name": words, "parts": [{"text": words}]}
        for _ in range(2):
            await caller.call("PutArtifact", task_id=task.task.task_id, artifact=made, request_id=an_id())
        window = await caller.call(
            "OpenWindow",
            context_id=answer.context_id,
            model="gpt-5",
            system_prompt=words,
            tools_json=f'[{{"name": "{words}"}}]',
            goal=words,
            request_id=an_id(),
        )
        window_id = window.window.window_id
        await caller.call("Pack", window_id=window_id)
        await caller.call("CreateCheckpoint", window_id=window_id, label=words)
        await caller.call("RecordUsage", window_id=window_id, pack_tokens=9, input_tokens=9)
        await self.fold(answer.context_id, words, key=key)
        await self.embed(answer.context_id, key=key)
        return str(answer.context_id)

    async def fold(self, context_id: str, words: str, *, key: str) -> None:
        """Write what a fold of its window would."""
        context = uuid.UUID(context_id)
        door = self.database.of(KEYS[key], context_id=context)
        of_window = "tenant_id, context_id, window_id, ancestors, owner_user_id, app_id, agent_bundle_id"
        for table, columns, values in (
            (
                "window_summary",
                "level, step_from, step_to, seq_from, seq_to, tokens, epoch_from, text, pieces, kept",
                "99, 1, 1, 1, 1, 1, 1, %(words)s, %(words)s, %(words)s",
            ),
            (
                "window_entry",
                "number, seq, section, key, text, value, ref, source",
                "-1, 1, 'value', %(words)s, %(words)s, %(words)s, 'm1/0', 'rule'",
            ),
            (
                "window_fold",
                "epoch, reason, last_seq, step, tokens_before, tokens_after, receipt",
                "-1, 'high_mark', 1, 1, 2, 1, to_json(%(words)s::text)",
            ),
            (
                "window_fork",
                "number, fork_context_id, fork_window_id, merged_id",
                "1, gen_random_uuid(), gen_random_uuid(), %(words)s",
            ),
        ):
            statement = (
                f"INSERT INTO context.{table} ({of_window}, {columns}) SELECT {of_window}, {values}"
                " FROM context.context_window WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s"
            )
            named = {"tenant_id": PRINCIPAL.tenant_id, "context_id": context, "words": words}
            await door.query(statement, named)
        prepared = "UPDATE context.context_window SET prepared = %s WHERE tenant_id = %s AND context_id = %s"
        await door.query(prepared, (words, PRINCIPAL.tenant_id, context))

    async def record(self, **fields: Any) -> str:
        """Insert a record that a message can point at."""
        record = memory_pb.WMRecordInput(memory_type="file", name="a file", **fields)
        request = memory_pb.InsertWMRecordRequest(record=record)
        inserted = await WorkingMemoryStub(self.channel).InsertWMRecord(request, metadata=self.caller.metadata)
        return str(inserted.record.working_memory_id)

    async def file(self, data: bytes) -> str:
        """Upload a file that a message can point at."""

        async def parts() -> AsyncIterator[memory_pb.UploadBlobRequest]:
            record = memory_pb.WMRecordInput(memory_type="file", name="a file")
            yield memory_pb.UploadBlobRequest(header=memory_pb.UploadHeader(record=record))
            yield memory_pb.UploadBlobRequest(chunk=data)

        uploaded = await WorkingMemoryStub(self.channel).UploadBlob(parts(), metadata=self.caller.metadata)
        return str(uploaded.working_memory_id)

    def there(self, *record_ids: str) -> set[str]:
        """Return which of some records are there."""
        with psycopg.connect(self.urls.superuser) as connection:
            statement = "SELECT id::text FROM context.wm_record WHERE id = ANY (%s::uuid[])"
            return {found for (found,) in connection.execute(statement, (list(record_ids),))}

    async def embed(self, context_id: str, *, key: str) -> None:
        """Write a vector, as what makes them of passages will."""
        context = uuid.UUID(context_id)
        await self.database.of(KEYS[key], context_id=context).query(
            "INSERT INTO context.passage_vector (tenant_id, scope_id, scope_kind, context_id, ancestors, seq, ordinal,"
            " owner_user_id, graph_name, agent_bundle_id, app_id, model, vector)"
            " SELECT tenant_id, scope_id, scope_kind, context_id, ancestors, seq, ordinal, owner_user_id, graph_name,"
            " agent_bundle_id, app_id, 'm', '[1]' FROM context.passage WHERE tenant_id = %s AND scope_id = %s LIMIT 1",
            (PRINCIPAL.tenant_id, context),
        )


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        folder: Path = tmp_path_factory.mktemp("blobs")
        async with (
            running(urls.service, folder, callers=ApiKeys({**KEYS, "books": APP})) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Stack(channel=channel, database=database, urls=urls)


async def finished(caller: Caller, erasure_id: str) -> pb.Erasure:
    """Return a receipt when nothing is left."""
    async with asyncio.timeout(30):
        while True:
            erasure: pb.Erasure = (await caller.call("GetErasure", erasure_id=erasure_id)).erasure
            if erasure.state == pb.ERASURE_STATE_FINISHED:
                return erasure
            await asyncio.sleep(0.02)


async def deleted(caller: Caller, context_id: str, **fields: Any) -> pb.Erasure:
    answer: pb.DeleteContextResponse = await caller.call("DeleteContext", context_id=context_id, **fields)
    return answer.erasure


async def test_a_deleted_context_is_there_for_no_rpc(stack: Stack):
    """At once: its rows are all there yet."""
    words, thread = an_id(), pb.ExternalId(system="threads", id=an_id())
    first = {"message": message_pb.MessageInput(content=words, message_id="m"), "request_id": an_id()}
    begin = {**first, "context": pb.ContextInput(external_ids=[thread]), "get_or_create": thread}
    sent = await stack.caller.call("SendMessage", **begin)

    await deleted(stack.caller, sent.context_id)

    asked = [rpc for rpc in RPCS.values() if "context_id" in rpc.request.DESCRIPTOR.fields_by_name]
    assert len(asked) > 8
    for rpc in asked:
        if rpc.name != "DeleteContext":
            with pytest.raises(ContextNotFound):
                await stack.caller.call(rpc.name, context_id=sent.context_id, **ASKING.get(rpc.name, {}))
    with pytest.raises(ContextNotFound):  # nor what it would be, sent again
        await stack.caller.send(words, sent.context_id, message_id="m")
    with pytest.raises(Erased):  # nor as the answer to the call that began it
        await stack.caller.call("SendMessage", **begin)
    for name, fields in (("GetContextsByExternalId", {"external_id": thread}), ("ListContexts", {})):
        for key in ("plain", "admin"):
            listed = (await stack.caller.of(key).call(name, **fields)).contexts
            assert sent.context_id not in [one.context_id for one in listed]
    again = await stack.caller.send("another", get_or_create=thread)
    assert again.created and again.context_id != sent.context_id


async def test_what_was_uploaded_for_a_context_goes_with_it(stack: Stack):
    """But for records that something else refers to, or that nothing of the context names."""
    file, note = await stack.file(an_id().encode()), await stack.record(content_text="hello")
    shared, at_node, unnamed = await stack.record(), await stack.record(entity_node_id=an_id()), await stack.record()
    sent, other = [
        await stack.caller.send("See these.", parts=[{"working_memory_id": record_id} for record_id in named])
        for named in ((file, note, shared, at_node), (shared,))
    ]
    with psycopg.connect(stack.urls.superuser) as connection:
        ((blob_id,),) = connection.execute("SELECT blob_id FROM context.wm_record WHERE id = %s", (file,)).fetchall()

    await finished(stack.caller, (await deleted(stack.caller, sent.context_id, now=True)).erasure_id)
    assert stack.there(file, note, shared, at_node, unnamed) == {shared, at_node, unnamed}
    with psycopg.connect(stack.urls.superuser) as connection:
        ((state,),) = connection.execute("SELECT state FROM context.blob WHERE id = %s", (blob_id,)).fetchall()
    assert state == "deleting"

    await finished(stack.caller, (await deleted(stack.caller, other.context_id, now=True)).erasure_id)
    assert stack.there(shared, at_node, unnamed) == {at_node, unnamed}


async def test_of_contexts_that_share_a_record_the_last_takes_it_along(stack: Stack):
    """Though both are deleted before either is removed."""
    shared = await stack.record()
    for sent in [await stack.caller.send("See this.", parts=[{"working_memory_id": shared}]) for _ in range(2)]:
        await deleted(stack.caller, sent.context_id)
    assert stack.there(shared)
    await stack.eraser.erase_tenant(stack.tenant)
    assert not stack.there(shared)


async def test_a_deleted_context_is_gone_from_every_table(stack: Stack):
    words = an_id()
    context_id = await stack.begun(words, points=True)
    holding = {"context.context", "context.context_external_id", "context.message", "context.request"}
    assert set(stack.holding(words)) >= {*holding, "context.passage"}
    assert set(stack.holding(context_id)) >= EMPTIED

    receipt = await deleted(stack.caller, context_id, now=True)
    assert (receipt.context_id, receipt.message_count, receipt.requested_by) == (context_id, 1, PRINCIPAL.subject)
    done = await finished(stack.caller, receipt.erasure_id)

    assert (done.messages_removed, done.external_ids_removed, done.tasks_removed, done.answers_removed) == (1, 1, 1, 5)
    assert (done.windows_removed, done.window_steps_removed) == (1, 7)
    assert (done.passages_removed > 0, done.vectors_removed > 0) == (True, True)
    assert done.finished_at.ToDatetime() >= done.created_at.ToDatetime()
    assert stack.holding(words) == []
    assert stack.holding(context_id) == ["context.erasure"]


async def test_what_knows_of_contexts_is_erased_with_them(stack: Stack):
    """A new table fails this until the eraser empties it."""
    with psycopg.connect(stack.urls.superuser) as connection:
        named = connection.execute(
            "SELECT DISTINCT a.attrelid::regclass::text, a.attname = 'owner_user_id' FROM pg_attribute a"
            " JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')"
            " WHERE c.relnamespace = 'context'::regnamespace AND a.attname IN ('context_id', 'owner_user_id')"
        ).fetchall()
    owned_tables = {table for table, is_owner in named if is_owner}
    assert owned_tables - {"context.wm_record"} == set(OF_SUBJECTS)
    of_contexts = {table for table, _ in named} - set(STAYS)
    assert of_contexts == EMPTIED, "test_a_deleted_context_is_gone_from_every_table gives it a row, and finds it gone"


async def test_deleting_again_answers_the_same_receipt(stack: Stack):
    context_id, request_id = await stack.begun(an_id()), an_id()
    receipts = await asyncio.gather(*(deleted(stack.caller, context_id, request_id=request_id) for _ in range(10)))
    receipts.append(await deleted(stack.caller, context_id))
    assert len({one.erasure_id for one in receipts}) == 1
    with pytest.raises(RequestIdReused):
        await deleted(stack.caller, await stack.begun(an_id()), request_id=request_id)

    await stack.eraser.erase_due()
    again = await deleted(stack.caller, context_id, request_id=request_id)
    assert (again.erasure_id, again.state) == (receipts[0].erasure_id, pb.ERASURE_STATE_FINISHED)


@pytest.mark.parametrize("steps", range(0, 12, 2))
async def test_a_kill_at_any_step_goes_on(stack: Stack, steps: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(erasures, "STEP_ROWS", 2)
    words = an_id()
    context_id = await stack.begun(words, messages=10)
    receipt = await deleted(stack.caller, context_id)

    with pytest.raises(Killed):
        await stack.eraser.erase_tenant(Dying(stack.tenant, steps))
    with pytest.raises(ContextNotFound):
        await stack.caller.texts(context_id)

    await stack.eraser.erase_tenant(stack.tenant)
    done = await finished(stack.caller, receipt.erasure_id)
    assert (done.messages_removed, done.message_count, done.answers_removed) == (10, 10, 5)
    assert stack.holding(words) == []


async def test_four_thousand_messages_go_in_bounded_steps(stack: Stack):
    words = an_id()
    receipt = await deleted(stack.caller, await stack.begun(words, messages=4_000))
    counting = Counting(stack.tenant)

    # A third of a second on a quiet machine. It takes a minute if a step reads all that is left for each row.
    async with asyncio.timeout(20):
        await stack.eraser.erase_tenant(counting)

    assert max(counting.removed) == erasures.STEP_ROWS
    assert (await finished(stack.caller, receipt.erasure_id)).messages_removed == 4_000
    assert stack.holding(words) == []


async def test_a_step_ends_in_the_middle_of_a_large_context(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    """So another tenant's contexts wait for a second, and not for as many messages as one context has."""
    monkeypatch.setattr(erasures, "STEP_ROWS", 2)
    monkeypatch.setattr(erasures, "STEP_S", 0.0)
    words = an_id()
    receipt = await deleted(stack.caller, await stack.begun(words, messages=20))
    counting, more, steps = Counting(stack.tenant), True, 0
    while more:
        counting.removed.clear()
        _, more = await stack.eraser.erase_some(counting)
        assert sum(counting.removed) <= 2
        steps += 1
    assert steps > 10
    assert (await finished(stack.caller, receipt.erasure_id)).messages_removed == 20
    assert stack.holding(words) == []


async def test_records_of_a_context_go_in_steps(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    """A step goes on after the records that the last one has seen, also those that stay."""
    monkeypatch.setattr(erased_records, "_STEP_RECORDS", 2)
    monkeypatch.setattr(erasures, "STEP_S", 0.0)
    records = [await stack.record() for _ in range(9)]
    kept = records[0]
    sent = await stack.caller.send("See these.", parts=[{"working_memory_id": one} for one in records])
    await stack.caller.send("See this.", parts=[{"working_memory_id": kept}])
    receipt = await deleted(stack.caller, sent.context_id)
    eraser, more, left = stack.eraser, True, len(records)  # one, which knows how far it is
    while more:
        _, more = await eraser.erase_some(stack.tenant)
        assert left - len(stack.there(*records)) <= 2
        left = len(stack.there(*records))
    assert stack.there(*records) == {kept}
    await finished(stack.caller, receipt.erasure_id)


async def test_large_messages_go_by_their_bytes(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(erasures, "STEP_BYTES", 100)
    receipt = await deleted(stack.caller, await stack.begun("x" * 80, messages=3))
    counting = Counting(stack.tenant)
    await stack.eraser.erase_tenant(counting)
    assert (await finished(stack.caller, receipt.erasure_id)).messages_removed == 3
    assert counting.removed.count(1) >= 3


async def test_replicas_that_erase_at_once_count_every_row_once(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(erasures, "STEP_ROWS", 3)
    words = an_id()
    receipts = [await deleted(stack.caller, await stack.begun(words, messages=20)) for _ in range(4)]
    await asyncio.gather(*(stack.eraser.erase_tenant(stack.tenant) for _ in range(3)))
    await stack.eraser.erase_tenant(stack.tenant)
    for receipt in receipts:
        done = await finished(stack.caller, receipt.erasure_id)
        assert (done.messages_removed, done.tasks_removed, done.answers_removed, done.external_ids_removed) == (
            20,
            1,
            5,
            1,
        )
    assert stack.holding(words) == []


async def test_a_step_that_finds_what_another_replica_has_removed_is_not_the_last(stack: Stack):
    """It began before the other one was done, and went on behind it. Each is let look for a while at the receipt."""
    vain: list[Row] = []
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        for late in range(10):
            receipt = await deleted(stack.caller, await stack.begun(an_id(), messages=1))
            of = {"tenant_id": stack.tenant.tenant_id, "context_id": uuid.UUID(receipt.context_id)}

            async def step(after_s: float, of: dict[str, uuid.UUID] = of) -> list[Row]:
                await asyncio.sleep(after_s)
                return await stack.tenant.query(erasures._REMOVE_ANSWERS, {**of, "rows": 1, "bytes": 2**20})

            slowly = (
                f"context_id <> '{of['context_id']}' OR (SELECT true FROM pg_sleep(0.1 + 0 * length(requested_by)))"
            )
            connection.execute(f"CREATE POLICY slow ON context.erasure AS RESTRICTIVE FOR SELECT USING ({slowly})")
            try:
                steps = await asyncio.gather(*(step(one and one + 0.02 * late) for one in (0, 0.14, 0.165, 0.19)))
            finally:
                connection.execute("DROP POLICY slow ON context.erasure")
            await stack.eraser.erase_tenant(stack.tenant)
            assert (await finished(stack.caller, receipt.erasure_id)).answers_removed == 5
            if vain := [row for rows in steps for row in rows if not row.removed]:
                break
    assert vain and all(row.found for row in vain)


async def test_a_context_past_its_time_goes_by_itself(stack: Stack):
    words = an_id()
    soon, later = [
        await stack.begun(text, expires_at=at(datetime.now(UTC) + timedelta(hours=1))) for text in (words, an_id())
    ]
    with psycopg.connect(stack.urls.superuser) as connection:  # a wait would race with a slow machine
        connection.execute("UPDATE context.context SET expires_at = now() WHERE context_id = %s", (soon,))

    assert await stack.eraser.erase_due() >= 1

    assert stack.holding(words) == []
    receipt = await deleted(stack.caller, soon)
    assert (receipt.requested_by, receipt.state) == ("", pb.ERASURE_STATE_FINISHED)
    assert await stack.caller.texts(later)


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
async def test_a_kill_while_a_context_expires_goes_on(stack: Stack, steps: int, monkeypatch: pytest.MonkeyPatch):
    """Before it is marked, behind that, and while it is removed."""
    words = an_id()
    soon = await stack.begun(words, messages=3)
    with psycopg.connect(stack.urls.superuser) as connection:
        connection.execute("UPDATE context.context SET expires_at = now() WHERE context_id = %s", (soon,))

    async def only(database: Database, *, reachable: bool) -> list[Tenant]:
        return [Dying(stack.tenant, steps)]

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Database, "tenants", only)
        await stack.eraser.erase_due()
    with pytest.raises(ContextNotFound):
        await stack.caller.texts(soon)

    await stack.eraser.erase_due()
    assert stack.holding(words) == []
    assert (await deleted(stack.caller, soon)).state == pb.ERASURE_STATE_FINISHED


async def test_an_old_receipt_is_forgotten(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    receipt = await deleted(stack.caller, await stack.begun(an_id()))
    await stack.eraser.erase_due()
    await finished(stack.caller, receipt.erasure_id)
    monkeypatch.setattr(erasures, "KEPT", timedelta())
    await stack.eraser.erase_due()
    with pytest.raises(ErasureNotFound):
        await stack.caller.call("GetErasure", erasure_id=receipt.erasure_id)
    with pytest.raises(ContextNotFound):
        await deleted(stack.caller, receipt.context_id)


async def test_nobody_deletes_what_is_not_theirs(stack: Stack):
    """And what is another's answers as what was never there, before it is deleted and behind it."""
    ours = await stack.begun(an_id())
    adas = await stack.begun(an_id(), key="ada")
    shops = await stack.begun(an_id(), key="app", app_id="shop")
    for key, context_id in (("other", ours), ("bob", adas), ("plain", adas), ("books", shops), ("books", ours)):
        with pytest.raises(ContextNotFound):
            await deleted(stack.caller.of(key), context_id)
    with pytest.raises(ContextNotFound):
        await deleted(stack.caller, an_id())
    assert all([await stack.caller.of("admin").texts(one) for one in (ours, adas, shops)])

    receipt = await deleted(stack.caller.of("admin"), adas)
    assert (await stack.caller.of("ada").call("GetErasure", erasure_id=receipt.erasure_id)).erasure == receipt
    for key in ("other", "bob", "plain"):
        with pytest.raises(ErasureNotFound):
            await stack.caller.of(key).call("GetErasure", erasure_id=receipt.erasure_id)
        with pytest.raises(ContextNotFound):
            await deleted(stack.caller.of(key), adas)
    deputy = await deleted(stack.caller.of("runtime"), await stack.begun(an_id(), key="bob"), subject_user_id="bob")
    assert deputy.message_count == 1


async def test_a_context_beside_it_is_as_it_was(stack: Stack):
    words = an_id()
    beside = await stack.begun(words, messages=3)
    before = await stack.caller.call("GetContext", context_id=beside)
    await deleted(stack.caller, await stack.begun(an_id()))
    await stack.eraser.erase_due()
    assert await stack.caller.call("GetContext", context_id=beside) == before
    assert set(stack.holding(words)) >= {"context.message", "context.passage", "context.request"}


async def test_the_keys_of_a_deleted_context_are_worth_nothing(postgres: EmbeddedPostgres, tmp_path: Path):
    with cloned(postgres) as urls:
        parent = KeyAdministration(urls.admin).create(
            NewKey(tenant="default", subject="owner", scopes=["read", "write"])
        )
        async with (
            running(urls.service, tmp_path, callers=None) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
        ):
            caller = Caller(channel, parent)
            context_id = (await caller.send()).context_id
            issued = [await caller.call("IssueContextKey", context_id=context_id) for _ in range(2)]
            with pytest.raises(PermissionDenied):
                await deleted(caller.of(issued[0].key), context_id)

            assert (await deleted(caller, context_id)).keys_ended == 2

            for one in issued:  # the first was used, and is remembered for a moment
                with pytest.raises((Unauthenticated, ContextNotFound)):
                    await caller.of(one.key).texts(context_id)
            with psycopg.connect(urls.superuser) as connection:
                assert connection.execute("SELECT FROM access.context_key").fetchall() == []


async def test_all_that_is_a_users_is_erased(stack: Stack):
    words, others = an_id(), an_id()
    for _ in range(3):
        await stack.begun(words, messages=5, key="ada")
    old = await deleted(stack.caller.of("ada"), await stack.begun(an_id(), key="ada"))
    await stack.begun(others, key="bob")
    assert (await count_owned_rows(stack.tenant, "ada"))["context.message"] >= 15

    removed = await erase_subject(stack.database, "ada")

    assert set((await count_owned_rows(stack.tenant, "ada")).values()) == {0}
    assert removed["context.message"] >= 15
    assert stack.holding(words) == []
    assert "context.message" in stack.holding(others)
    with pytest.raises(ErasureNotFound):
        await stack.caller.of("ada").call("GetErasure", erasure_id=old.erasure_id)


async def test_an_operator_counts_and_erases_what_is_a_users(stack: Stack, tmp_path: Path):
    words = an_id()
    for _ in range(2):
        await stack.begun(words, messages=2, key="bob")
    settings = Settings(database_url=stack.urls.service, working_memory_storage_path=tmp_path)
    seen: list[tuple[int, int]] = []

    async def erase(user_id: str, *, tenant: str = "default", dry_run: bool = False) -> dict[str, int]:
        return await maintenance.erase_subject(
            settings, tenant, user_id, dry_run=dry_run, on_progress=lambda *done: seen.append(done)
        )

    counted = await erase("bob", dry_run=True)
    assert (counted["context.context"] >= 2, counted["context.message"] >= 4) == (True, True)
    assert stack.holding(words)
    assert await erase("bob") == counted
    assert stack.holding(words) == []
    assert max(gone for gone, _ in seen) >= 2
    assert set((await erase("bob")).values()) == {0}
    with pytest.raises(NoSuchTenant):
        await erase("bob", tenant="nobody")
    with pytest.raises(InvalidArgument):
        await erase("")


class Killed(Exception):
    pass


class Dying(Tenant):
    """A door behind which a process dies after some statements."""

    def __init__(self, tenant: Tenant, steps: int) -> None:
        self.__dict__.update(vars(tenant))
        self.steps = steps

    async def query(self, *arguments: Any, **named: Any) -> list[Row]:
        if not self.steps:
            raise Killed
        self.steps -= 1
        return await super().query(*arguments, **named)


class Counting(Tenant):
    """A door that notes how many rows each statement removed."""

    def __init__(self, tenant: Tenant) -> None:
        self.__dict__.update(vars(tenant))
        self.removed: list[int] = []

    async def query(self, sql: str | Across, *arguments: Any, **named: Any) -> list[Row]:
        rows = await super().query(sql, *arguments, **named)
        self.removed += [row.removed for row in rows if "removed" in row._fields]
        return rows
