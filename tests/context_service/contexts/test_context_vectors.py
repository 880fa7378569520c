"""Passages of contexts get vectors behind what is written: none is lost or left over, and contexts say how far."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from aiohttp import web

from context_service.contexts.rules import index_state as index_state_module
from context_service.contexts.store.backlog import IndexGauges
from context_service.kernel.embedding import Embedding
from context_service.kernel.llm.embeddings import Embedder
from context_service.retrieval import vector_worker
from context_service.retrieval.model import CONTEXT, Backfilled
from context_service.retrieval.rules.passage_backfill import PassageBackfill
from context_service.retrieval.store import passage_vectors as passage_vectors_module
from context_service.retrieval.store.passage_vectors import PassageVectorMaking
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.errors import ContextNotFound, LimitExceeded
from service_runtime.auth.tenants import Rounds
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Across, Database
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import KEYS, Caller, an_id, with_embedder
from tests.context_service.contexts.test_artifacts import put
from tests.context_service.working_memory.callers import until
from tests.fakes.embedding_server import EmbeddingServer, embedded, vector_of

_VECTORS = Across(
    sql="""
        SELECT seq, ordinal, previous_seq, previous_cosine, model, error, vector::text AS vector
        FROM context.passage_vector WHERE scope_id = %s ORDER BY seq, ordinal
    """,
    contexts=True,
    subjects=True,
    why="a test looks",
)


@dataclass(frozen=True, kw_only=True)
class World:
    caller: Caller
    database: Database
    server: EmbeddingServer
    url: str

    async def vectors(self, context_id: str) -> list[Any]:
        return await self.database.tenant(PRINCIPAL.tenant_id).query(_VECTORS, (uuid.UUID(context_id),))

    async def owed(self) -> list[Any]:
        return await self.database.tenant(PRINCIPAL.tenant_id).query("SELECT topic, payload FROM context.outbox")

    async def begun(self, *texts: str) -> str:
        said = [message.MessageInput(content=text) for text in texts]
        return str((await self.caller.append("", *said)).context_id)

    async def index(self, context_id: str) -> pb.ContextIndex:
        index: pb.ContextIndex = (await self.caller.call("GetContext", context_id=context_id)).context.index
        return index

    async def waited(self, context_id: str, **fields: Any) -> pb.WaitForIndexResponse:
        answer: pb.WaitForIndexResponse = await self.caller.call("WaitForIndex", context_id=context_id, **fields)
        return answer


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with with_embedder(postgres, tmp_path_factory.mktemp("blobs")) as (made, server):
        yield World(caller=made.caller, database=made.database, server=server, url=made.urls.service)


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    shared.server.requests.clear()
    yield shared
    shared.server.answer = embedded
    shared.server.gate.set()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (passage_vectors_module, vector_worker):
        monkeypatch.setattr(module, "DELAY_S", 0.01)
        monkeypatch.setattr(module, "PAUSE_S_MAX", 0.05)
    monkeypatch.setattr(index_state_module, "POLL_S", 0.02)


async def test_what_is_written_gets_vectors_of_many_texts_at_once(world: World):
    context_id = await world.begun(*(f"Thing number {n}." for n in range(150)))

    done = await world.waited(context_id)

    assert done.is_complete
    assert done.index == pb.ContextIndex(passage_count=150, indexed_count=150) == await world.index(context_id)
    assert sorted(world.server.texts) == sorted(f"Thing number {n}." for n in range(150)), "each is asked for once"
    assert len(world.server.requests) == 3
    assert [row.model for row in await world.vectors(context_id)] == ["m1"] * 150
    assert await world.owed() == []


async def test_metrics_say_how_many_contexts_wait_for_vectors_and_for_how_long(world: World):
    gauges = IndexGauges(world.database)
    world.server.gate.clear()
    for text in ("one waits", "another waits"):
        await world.begun(text)
    await gauges.read()
    assert gauges.vectors_pending == 2
    assert gauges.vectors_pending_s > 0
    world.server.gate.set()

    async def none_waits() -> bool:
        await gauges.read()
        return gauges.vectors_pending == gauges.vectors_pending_s == 0

    await until(none_waits)


async def test_small_contexts_share_a_request(world: World):
    world.server.gate.clear()
    blocker = await world.begun("blocker")
    await until(lambda: _asked(world, "blocker"))
    others = [await world.begun(f"small {n}") for n in range(8)]
    world.server.gate.set()
    for context_id in (blocker, *others):
        assert (await world.waited(context_id)).is_complete
    assert len(world.server.requests) <= 3


async def _asked(world: World, text: str) -> bool:
    return text in world.server.texts


async def test_a_name_is_embedded_with_what_was_said_and_neighbours_are_compared(world: World):
    said = [message.MessageInput(content=text, name="Ann") for text in ("one", "two", "three")]
    context_id = str((await world.caller.append("", *said)).context_id)
    assert (await world.waited(context_id)).is_complete

    assert sorted(world.server.texts) == ["Ann: one", "Ann: three", "Ann: two"]
    first, second, third = await world.vectors(context_id)
    assert [row.previous_seq for row in (first, second, third)] == [None, 1, 2]
    one, two = vector_of("Ann: one"), vector_of("Ann: two")
    dot = sum(a * b for a, b in zip(one, two, strict=True))
    lengths = [sum(a * a for a in vector) ** 0.5 for vector in (one, two)]
    assert second.previous_cosine == pytest.approx(dot / lengths[0] / lengths[1], abs=0.01)


async def test_a_context_says_what_is_pending_and_since_when(world: World):
    world.server.gate.clear()
    context_id = await world.begun("first", "second")
    written = (await world.caller.call("ListMessages", context_id=context_id)).messages[0].created_at

    index = await world.index(context_id)

    assert (index.passage_count, index.indexed_count, index.pending_count) == (2, 0, 2)
    assert index.oldest_pending_at == written
    waited = await world.waited(context_id, timeout_s=1)
    assert (waited.is_complete, waited.index.pending_count) == (False, 2)
    world.server.gate.set()
    assert (await world.waited(context_id)).is_complete


async def test_who_waits_up_to_a_place_waits_for_nothing_behind_it(world: World):
    context_id = await world.begun("first")
    assert (await world.waited(context_id)).is_complete
    world.server.gate.clear()
    await world.caller.send("second", context_id)

    assert (await world.waited(context_id, seq=1)).is_complete
    assert not (await world.waited(context_id, seq=2, timeout_s=1)).is_complete


async def test_what_is_written_while_vectors_are_made_gets_its_own(world: World):
    context_id = await world.begun("begin")
    for n in range(20):
        await world.caller.send(f"more {n}", context_id, recall={"off": True})
    assert (await world.waited(context_id)).index == pb.ContextIndex(passage_count=21, indexed_count=21)
    assert len(world.server.texts) == 21, "and no other is made twice"


async def test_what_a_task_makes_lets_nobody_look_at_the_conversation_again(world: World):
    """A vector that is lacking there, for whatever reason, is left to the backfill."""
    context_id = await world.begun(*(f"Thing number {n}." for n in range(5)))
    task_id = (await world.caller.call("CreateTask", context_id=context_id)).task.task_id
    await put(world.caller, task_id, "The first plan.", artifact_id="first")
    assert (await world.waited(context_id)).is_complete
    door = world.database.of(KEYS["plain"], context_id=uuid.UUID(context_id))
    await door.query("DELETE FROM context.passage_vector WHERE seq BETWEEN 2 AND 3")
    world.server.requests.clear()

    await put(world.caller, task_id, "The plan.", artifact_id="second")
    await put(world.caller, task_id, "It grows.", artifact_id="first", append=True)
    assert (await world.waited(context_id)).is_complete
    assert sorted(world.server.texts) == ["It grows.", "The plan."]
    await world.caller.append(context_id, message.MessageInput(content="Thing number 5."))
    assert (await world.waited(context_id)).is_complete
    assert "Thing number 1." not in world.server.texts

    backfill = PassageBackfill(world.database, CONTEXT, model="m1")
    assert await backfill.run(dry_run=False, on_progress=lambda _: None) == Backfilled(to_do=2, owed=2)
    assert (await world.waited(context_id)).is_complete
    assert len(await world.vectors(context_id)) == 9
    assert await world.owed() == []


async def test_messages_and_what_tasks_make_are_owed_at_once(world: World):
    """Some of each wait; more than a request takes, so that the work goes on where it was."""
    context_id = await world.begun("hello")
    task_id = (await world.caller.call("CreateTask", context_id=context_id)).task.task_id
    assert (await world.waited(context_id)).is_complete
    world.server.gate.clear()
    for n in range(3):
        await put(world.caller, task_id, *(f"Part {n} {m}." for m in range(40)), artifact_id=str(n))
        await world.caller.append(context_id, *(message.MessageInput(content=f"Talk {n} {m}.") for m in range(40)))
    index = await world.index(context_id)
    assert index.pending_count == 240
    assert index.oldest_pending_at.seconds
    world.server.gate.set()
    assert (await world.waited(context_id)).is_complete
    assert len(await world.vectors(context_id)) == 241
    assert await world.owed() == []


async def test_a_text_that_the_model_refuses_fails_alone_and_words_find_it(world: World):
    world.server.answer = lambda texts: web.Response(status=400) if "poison" in texts else embedded(texts)
    context_id = await world.begun("good", "poison", "fine")

    waited = await world.waited(context_id)

    assert waited.is_complete
    assert waited.index == pb.ContextIndex(passage_count=3, indexed_count=2, failed_count=1)
    found = await world.caller.call("SearchContext", context_id=context_id, query="poison")
    assert [hit.text for hit in found.hits][:1] == ["poison"]


def _said(texts: Sequence[str], value: object) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": [value] * 1536} for n in range(len(texts))]}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda texts: web.Response(status=500, text="out of memory"), "500"),
        (lambda texts: web.Response(status=401, text="who are you?"), "401"),
        (lambda texts: web.Response(text="<html>"), "does not have the form of /embeddings"),
        (lambda texts: embedded(texts, dimension=8), "(got 8)"),
        (lambda texts: web.json_response({"data": []}), "does not have the form of /embeddings"),
        (lambda texts: web.json_response(_said(texts, 0.0)), "zero"),
        (lambda texts: web.json_response(_said(texts, 1e300)), "range of half precision"),
        (lambda texts: web.json_response(_said(texts, "much")), "does not have the form of /embeddings"),
    ],
)
async def test_an_embedder_that_fails_is_named_and_asked_again(world: World, answer: Any, says: str):
    world.server.answer = answer
    context_id = await world.begun("a text")

    async def told() -> bool:
        return says in (await world.index(context_id)).error

    await until(told)
    index = await world.index(context_id)
    assert (index.pending_count, index.failed_count) == (1, 0), "nothing is given up"
    world.server.answer = embedded
    waited = await world.waited(context_id)
    assert waited.index == pb.ContextIndex(passage_count=1, indexed_count=1)


class Made(Embedder):
    """Makes the vectors that the server makes."""

    model = "m1"

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [Embedding(values=tuple(vector_of(text)), model=self.model) for text in texts]


@pytest.mark.parametrize("step", ["_lacking", "_embed", "_store", "_go_on"])
async def test_a_worker_that_is_killed_at_any_step_is_followed_by_one_that_goes_on(
    world: World, step: str, monkeypatch: pytest.MonkeyPatch
):
    async def killed(self: PassageVectorMaking, *args: Any, **kwargs: Any) -> None:
        raise asyncio.CancelledError

    async def nothing(self: Rounds, among: object = None) -> int:
        return 0

    run, tenant = Rounds.run, world.database.tenant(PRINCIPAL.tenant_id)
    monkeypatch.setattr(Rounds, "run", nothing)  # the service's own worker rests
    context_id = await world.begun("pear", "plum", "fig")
    worker = PassageVectorMaking(world.database, CONTEXT, Made(), text_chars=1_000)
    with monkeypatch.context() as patched, pytest.raises(asyncio.CancelledError):
        patched.setattr(PassageVectorMaking, step, killed)
        await worker.make_some(tenant)
    assert await worker.make_some(tenant) == (0, False), "it is leased"
    await tenant.query("UPDATE context.outbox SET due_at = now()")
    monkeypatch.setattr(Rounds, "run", run)
    assert (await world.waited(context_id)).index == pb.ContextIndex(passage_count=3, indexed_count=3)
    assert await world.owed() == []


async def test_what_is_retracted_has_no_vector_left(world: World):
    context_id = await world.begun("keep")
    for message_id in ("made", "under way"):
        await world.caller.send(message_id, context_id, message_id=message_id)
        if message_id == "made":
            assert (await world.waited(context_id)).is_complete
            world.server.gate.clear()
        else:
            await until(lambda: _asked(world, "under way"))
        await world.caller.call("RetractMessages", context_id=context_id, message_ids=[message_id])
    world.server.gate.set()
    assert (await world.waited(context_id)).index == pb.ContextIndex(passage_count=1, indexed_count=1)
    assert [row.seq for row in await world.vectors(context_id)] == [1]


async def test_a_context_that_is_deleted_leaves_no_vector_and_nothing_owed(world: World):
    context_id = await world.begun("made")
    assert (await world.waited(context_id)).is_complete
    world.server.gate.clear()
    await world.caller.send("under way", context_id)
    waiting = asyncio.create_task(world.waited(context_id))
    await until(lambda: _asked(world, "under way"))
    erasure = (await world.caller.call("DeleteContext", context_id=context_id, now=True)).erasure

    async def finished() -> bool:
        receipt = (await world.caller.call("GetErasure", erasure_id=erasure.erasure_id)).erasure
        return bool(receipt.state == pb.ERASURE_STATE_FINISHED and receipt.vectors_removed == 1)

    await until(finished)
    with pytest.raises(ContextNotFound):
        await waiting
    world.server.gate.set()
    other = await world.begun("another")
    assert (await world.waited(other)).is_complete
    assert await world.vectors(context_id) == []
    assert await world.owed() == []


async def test_a_secret_is_never_sent_to_the_embedder(world: World):
    secret = f"secret{an_id()[:8]}"
    parts = [
        message.Part(data_json=f'{{"type": "token", "value": "{secret}"}}'),
        message.Part(text=f"It is {secret}.", metadata_json='{"secret": true}'),
        message.Part(text="Here is the key."),
    ]
    context_id = (await world.caller.call("SendMessage", message=message.MessageInput(parts=parts))).context_id
    assert (await world.waited(context_id)).is_complete
    for _ in range(100):  # an embedder that failed just now is left alone for a while
        sent = await world.caller.call("SendMessage", context_id=context_id, message=message.MessageInput(parts=parts))
        if sent.recall.by_meaning.is_compared:  # the message was a question, too
            break
        await asyncio.sleep(0.3)
    else:
        pytest.fail("no message was compared by meaning")
    assert (await world.waited(context_id)).is_complete
    assert any("Here is the key." in text for text in world.server.texts)
    assert secret not in str(world.server.texts)


async def test_so_many_wait_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(index_state_module, "WAITS_OF_TENANT_MAX", 2)
    world.server.gate.clear()
    context_id = await world.begun("hello")
    waits = [asyncio.create_task(world.waited(context_id)) for _ in range(3)]
    refused, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    assert [type(one.exception()) for one in refused] == [LimitExceeded]
    world.server.gate.set()
    assert all([(await one).is_complete for one in waits if one not in refused])
    assert (await world.waited(context_id)).is_complete


async def test_an_administrator_sees_how_far_anybodys_context_is(world: World):
    context_id = (await world.caller.of("ada").send("violin")).context_id
    admin = world.caller.of("admin")
    waited = await admin.call("WaitForIndex", context_id=context_id)
    assert waited.index == pb.ContextIndex(passage_count=1, indexed_count=1)
    assert (await admin.call("GetContext", context_id=context_id)).context.index == waited.index


async def test_vectors_of_another_model_do_not_count_until_they_are_made_anew(world: World):
    context_id = await world.begun("dog", "cat")
    assert (await world.waited(context_id)).is_complete
    old = Across(
        sql="UPDATE context.passage_vector SET model = 'm0' WHERE scope_id = %s",
        contexts=True,
        subjects=True,
        why="a test changes the model",
    )
    await world.database.tenant(PRINCIPAL.tenant_id).query(old, (uuid.UUID(context_id),))
    assert await world.index(context_id) == pb.ContextIndex(passage_count=2)

    world.server.gate.clear()
    backfill = PassageBackfill(world.database, CONTEXT, model="m1")
    assert await backfill.run(dry_run=True, on_progress=lambda done: None) == Backfilled(to_do=2)
    told: list[Backfilled] = []
    assert await backfill.run(dry_run=False, on_progress=told.append) == Backfilled(to_do=2, owed=2)
    assert told == [Backfilled(to_do=2), Backfilled(to_do=2, owed=2)]
    assert (await world.index(context_id)).pending_count == 2
    assert await backfill.run(dry_run=True, on_progress=lambda done: None) == Backfilled(), "it is owed"
    world.server.gate.set()
    assert (await world.waited(context_id)).index == pb.ContextIndex(passage_count=2, indexed_count=2)
    assert [row.model for row in await world.vectors(context_id)] == ["m1", "m1"]


async def test_without_an_embedder_nothing_is_owed_and_nobody_waits(world: World, tmp_path: Path):
    async with (
        running(world.url, tmp_path, callers=ApiKeys(KEYS)) as addresses,
        grpc.aio.insecure_channel(addresses.context) as channel,
    ):
        caller = Caller(channel)
        context_id = (await caller.send("hello")).context_id
        waited = await caller.call("WaitForIndex", context_id=context_id)
    assert waited == pb.WaitForIndexResponse(index=pb.ContextIndex(passage_count=1), is_complete=True)
    assert await world.owed() == []
