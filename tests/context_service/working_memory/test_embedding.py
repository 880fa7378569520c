"""Texts of records become vectors in the background: none is lost, none is stale, and the record says how far it is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from aiohttp import web
from pydantic import SecretStr

from context_service.retrieval import vector_worker
from context_service.retrieval.model import Backfilled
from context_service.retrieval.rules import vectors as vectors_module
from context_service.settings import Settings
from context_service.working_memory.store.records import EMBEDDING_TOPIC
from context_service.working_memory.store.texts import vectors as record_vectors
from context_service.working_memory.upkeep import vector_backfill as backfill_module
from context_service.working_memory.upkeep.vector_backfill import Backfill
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import RecordExists
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Transaction
from tests.commands import Commands
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.context_service.working_memory.callers import Caller, Start, an_id, until
from tests.context_service.working_memory.test_copy import environment_of
from tests.fakes.embedding_server import Answer, EmbeddingServer, embedded, embedding_server, vector_of
from tests.locks import until_waiting

Started = Callable[..., Awaitable[Caller]]


@pytest.fixture
async def embedder() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as server:
        yield server


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (vectors_module, vector_worker):
        monkeypatch.setattr(module, "DELAY_S", 0.01)
    monkeypatch.setattr(vector_worker, "PAUSE_S_MAX", 0.05)


@pytest.fixture
def embedding_start(start: Start, embedder: EmbeddingServer) -> Started:
    """Starts a service that embeds."""

    async def started(**settings: Any) -> Caller:
        return await start(
            **{"embedding_url": embedder.url, "embedding_model": "m1", "embedding_interval_s": 0.02, **settings}
        )

    return started


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services owe vectors and make none."""

    async def wait(self: Any, interval_s: float) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(vectors_module.VectorMaking, "keep_making", wait)


async def fetched(caller: Caller, record_id: str) -> pb.WMRecord:
    request = pb.FetchWMRecordRequest(working_memory_id=record_id, include_archived=True)
    return (await caller.call("FetchWMRecord", request)).record


async def asked(embedder: EmbeddingServer, text: str = "") -> None:
    """Wait until an embedder was asked, for a text if one is given."""

    async def there() -> bool:
        return text in embedder.texts if text else bool(embedder.requests)

    await until(there)


async def in_state(caller: Caller, record_id: str, state: str) -> pb.WMRecord:
    """Wait for a state of indexing, and return the record."""
    record = pb.WMRecord()

    async def there() -> bool:
        nonlocal record
        record = await fetched(caller, record_id)
        return record.index_state == getattr(pb, f"INDEX_STATE_{state}")

    await until(there)
    return record


async def vectors(database: Database, tenant_id: Any = PRINCIPAL.tenant_id) -> list[Any]:
    return await database.tenant(tenant_id).query(
        "SELECT owner_id::text AS record_id, model, text_sha256 FROM context.embedding ORDER BY owner_id"
    )


async def owed(database: Database) -> list[Any]:
    return await database.tenant(PRINCIPAL.tenant_id).query(
        "SELECT subject_id::text AS record_id, attempts, last_error FROM context.outbox"
    )


async def is_found_by(caller: Caller, text: str) -> list[str]:
    """Return the records whose vector is that of a text."""
    request = pb.SearchWMRecordsRequest(embedding=pb.Embedding(values=vector_of(text)), include_archived=True)
    hits = (await caller.call("SearchWMRecords", request)).hits
    return [hit.record.working_memory_id for hit in hits if hit.similarity > 0.99]


def rename(caller: Caller, record_id: str, name: str) -> Awaitable[Any]:
    return caller.update(record_id, name=name)


async def test_a_record_gets_the_vector_of_its_text(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    caller = await embedding_start(embedding_api_key=SecretStr("the-key-of-the-embedder"))
    inserted = await caller.insert(name="a", description="b", content_json='{"said": "\\u00fcber"}')
    uploaded = await caller.upload(b"bytes", name="c")
    finished = await caller.finish_upload(await caller.start_upload(name="d"))
    spoken = await caller.insert(name="e", content_json='"words\\nof it"')

    assert inserted.index_state == pb.INDEX_STATE_PENDING
    for record, text in (
        (inserted, 'a\nb\n{"said":"über"}'),
        (uploaded, "c"),
        (finished, "d"),
        (spoken, "e\nwords\nof it"),
    ):
        indexed = await in_state(caller, record.working_memory_id, "INDEXED")
        assert (indexed.version, indexed.index_error) == (1, "")
        assert await is_found_by(caller, text) == [record.working_memory_id]
    assert await owed(database) == []
    assert {row.model for row in await vectors(database)} == {"m1"}
    headers, body = embedder.requests[0]
    assert headers["authorization"] == "Bearer the-key-of-the-embedder"
    assert body["model"] == "m1"
    assert "dimensions" not in body


async def test_a_long_text_is_cut_and_dimensions_are_asked_for_where_wished(
    embedding_start: Started, embedder: EmbeddingServer
):
    caller = await embedding_start(embedding_text_chars=3, embedding_asks_dimension=True)
    record = await caller.insert(name="abcdef")

    await in_state(caller, record.working_memory_id, "INDEXED")

    assert embedder.requests[0][1]["dimensions"] == 1536
    assert embedder.texts == ["abc"]


async def test_without_an_embedder_nothing_is_owed(start: Start, database: Database):
    caller = await start()
    record = await caller.insert()
    await rename(caller, record.working_memory_id, "other")

    assert (await fetched(caller, record.working_memory_id)).index_state == pb.INDEX_STATE_NONE
    assert await owed(database) == []


@pytest.mark.usefixtures("idle")
async def test_a_write_that_fails_owes_nothing_and_a_repeat_owes_it_once(embedding_start: Started, database: Database):
    caller = await embedding_start()
    request_id, record_id = an_id(), an_id()
    first = await caller.insert(request_id, working_memory_id=record_id)

    assert await caller.insert(request_id, working_memory_id=record_id) == first
    with pytest.raises(RecordExists):
        await caller.insert(working_memory_id=record_id)

    assert [row.record_id for row in await owed(database)] == [record_id]


# Failures. Each is answered until the record tells of it, and then no more.


def status(code: int, **headers: str) -> Answer:
    return lambda texts: web.Response(status=code, text="what is wrong\0", headers=headers)


def twice(texts: list[str]) -> web.StreamResponse:
    """Answer more vectors than there are texts."""
    vector = [0.5] * 1536
    return web.json_response({"data": [{"index": n, "embedding": vector} for n in range(2 * len(texts))]})


def cut(texts: list[str]) -> web.StreamResponse:
    return web.Response(body=b'{"data": [', headers={"content-type": "application/json"})


def one_too_few(texts: list[str]) -> web.StreamResponse:
    return embedded(texts[1:])


def of_zeros(texts: list[str]) -> web.StreamResponse:
    return web.json_response({"data": [{"index": n, "embedding": [0.0] * 1536} for n in range(len(texts))]})


def as_text(texts: list[str]) -> web.StreamResponse:
    return web.json_response({"data": [{"index": n, "embedding": "AAAA"} for n in range(len(texts))]})


def endless(texts: list[str]) -> web.StreamResponse:
    return web.Response(body=b" " * (17 * 1024 * 1024))


@pytest.mark.parametrize(
    ("answer", "state", "says"),
    [
        (status(429, **{"retry-after": "0"}), "PENDING", "answered 429"),
        (status(500), "PENDING", "500"),
        (status(503), "PENDING", "503"),
        (cut, "PENDING", "does not have the form of /embeddings"),
        (one_too_few, "PENDING", "does not have the form of /embeddings"),
        (as_text, "PENDING", "does not have the form of /embeddings"),
        (lambda texts: web.json_response([]), "PENDING", "does not have the form of /embeddings"),
        (endless, "PENDING", "more than"),
        (lambda texts: embedded(texts, 768), "FAILED", "must have 1536 values (got 768)"),
        (of_zeros, "FAILED", "not be zero"),
        (status(401), "FAILED", "401"),
        (status(404), "FAILED", "404"),
        (status(302, location="http://127.0.0.1:1/"), "FAILED", "302"),
        (status(400), "FAILED", "400: what is wrong"),
    ],
)
async def test_a_failure_is_told_and_tried_again(
    embedding_start: Started,
    embedder: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
    answer: Answer,
    state: str,
    says: str,
):
    monkeypatch.setattr(vectors_module, "DELAY_S_MAX", 0.05)
    monkeypatch.setattr(vectors_module, "FAILED_ATTEMPTS", 1000)
    embedder.answer = answer
    caller = await embedding_start()
    record = await caller.insert(name="a")

    async def told() -> bool:
        return says in (await fetched(caller, record.working_memory_id)).index_error

    await until(told)
    failed = await fetched(caller, record.working_memory_id)
    assert failed.index_state == getattr(pb, f"INDEX_STATE_{state}")
    assert (failed.version, len(failed.index_error) < 500) == (1, True)

    embedder.answer = embedded
    indexed = await in_state(caller, record.working_memory_id, "INDEXED")
    assert indexed.index_error == ""
    assert await is_found_by(caller, "a") == [record.working_memory_id]


async def test_a_slow_embedder_is_given_up_and_tried_again(embedding_start: Started, embedder: EmbeddingServer):
    embedder.gate.clear()
    caller = await embedding_start(embedding_timeout_s=0.2)
    record = await caller.insert()

    async def told() -> bool:
        return "in time" in (await fetched(caller, record.working_memory_id)).index_error

    await until(told)
    embedder.gate.set()
    await in_state(caller, record.working_memory_id, "INDEXED")


async def test_an_embedder_that_is_away_makes_records_fail_after_some_attempts(
    embedding_start: Started, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(vectors_module, "FAILED_ATTEMPTS", 2)
    caller = await embedding_start(embedding_url="http://127.0.0.1:1/v1")
    record = await caller.insert()

    failed = await in_state(caller, record.working_memory_id, "FAILED")

    assert failed.index_error == "the embedder cannot be reached"  # and no word of where it is
    question = pb.QueryWMRecordsRequest(select=["name"], where_json='{"index_state": "failed"}')
    assert len((await caller.call("QueryWMRecords", question)).rows_json) == 1


async def test_an_embedder_that_is_away_is_not_asked_for_every_record(
    embedding_start: Started, embedder: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
):
    """A batch is a probe; the worker pauses, whatever else is due."""
    monkeypatch.setattr(vector_worker, "PAUSE_S_MAX", 30)
    for module in (vectors_module, vector_worker):
        monkeypatch.setattr(module, "DELAY_S", 10)
    embedder.answer = status(503)
    caller = await embedding_start(embedding_interval_s=0.5)
    await asyncio.gather(*(caller.insert(name=str(number)) for number in range(50)))

    await asked(embedder)
    await asyncio.sleep(1)

    assert len(embedder.requests) == 1
    assert len(embedder.texts) <= vectors_module.BATCH


async def test_a_text_that_is_refused_stops_no_other(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    def picky(texts: list[str]) -> web.StreamResponse:
        return status(400)(texts) if "bad" in texts else embedded(texts)

    embedder.answer = picky
    embedder.gate.clear()
    caller = await embedding_start()
    good = [(await caller.insert(name=f"good {number}")).working_memory_id for number in range(5)]
    bad = (await caller.insert(name="bad")).working_memory_id
    embedder.gate.set()

    for record_id in good:
        await in_state(caller, record_id, "INDEXED")
    assert "400" in (await in_state(caller, bad, "FAILED")).index_error
    assert [(row.record_id, "400" in row.last_error) for row in await owed(database)] == [(bad, True)]

    await rename(caller, bad, "better")
    await in_state(caller, bad, "INDEXED")
    assert await owed(database) == []


# Changes while a text is on its way.


async def test_a_text_that_changes_meanwhile_is_embedded_anew(embedding_start: Started, embedder: EmbeddingServer):
    embedder.gate.clear()
    caller = await embedding_start()
    record_id = (await caller.insert(name="old")).working_memory_id

    await asked(embedder, "old")
    changed = await rename(caller, record_id, "new")
    assert changed.index_state == pb.INDEX_STATE_PENDING
    embedder.gate.set()

    indexed = await in_state(caller, record_id, "INDEXED")
    assert indexed.version == 2
    assert await is_found_by(caller, "new") == [record_id]
    assert await is_found_by(caller, "old") == []


async def test_a_stale_vector_that_comes_last_does_not_win(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    """Another replica has the new text's vector in place before the old one arrives."""
    embedder.gate.clear()
    caller = await embedding_start()
    record_id = (await caller.insert(name="old")).working_memory_id

    await asked(embedder, "old")
    await rename(caller, record_id, "new")
    async with embedding_server() as other:
        await embedding_start(embedding_url=other.url)
        await in_state(caller, record_id, "INDEXED")
        assert other.texts == ["new"]
        before = await vectors(database)

        embedder.gate.set()
        await caller.insert(name="what the first replica does next")
        await until(lambda: _no_more_owed(database))

    assert [row for row in await vectors(database) if row.record_id == record_id] == before
    assert await is_found_by(caller, "new") == [record_id]


async def _no_more_owed(database: Database) -> bool:
    return not await owed(database)


async def test_a_vector_of_the_caller_is_left_alone(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    caller = await embedding_start()
    given = pb.Embedding(values=vector_of("given"), model="theirs")
    record_id = (await caller.insert(name="a", embedding=given)).working_memory_id
    assert (await fetched(caller, record_id)).index_state == pb.INDEX_STATE_NONE

    assert (await rename(caller, record_id, "b")).index_state == pb.INDEX_STATE_NONE
    assert (embedder.texts, [row.model for row in await vectors(database)]) == ([], ["theirs"])

    await caller.update(record_id, "embedding")  # take it away
    await in_state(caller, record_id, "INDEXED")
    assert (embedder.texts, [row.model for row in await vectors(database)]) == (["b"], ["m1"])


async def test_a_vector_that_the_caller_gives_meanwhile_wins(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    embedder.gate.clear()
    caller = await embedding_start()
    record_id = (await caller.insert(name="a")).working_memory_id

    await asked(embedder)
    given = pb.Embedding(values=vector_of("given"), model="theirs")
    assert (await caller.update(record_id, embedding=given)).index_state == pb.INDEX_STATE_NONE
    embedder.gate.set()
    after = (await caller.insert(name="b")).working_memory_id
    await in_state(caller, after, "INDEXED")

    assert await is_found_by(caller, "given") == [record_id]
    assert await is_found_by(caller, "a") == []
    assert await owed(database) == []


async def test_a_change_of_other_fields_embeds_nothing(embedding_start: Started, embedder: EmbeddingServer):
    caller = await embedding_start()
    record_id = (await caller.insert(name="a")).working_memory_id
    await in_state(caller, record_id, "INDEXED")

    assert (await caller.update(record_id, tags=["x"])).index_state == pb.INDEX_STATE_INDEXED
    assert embedder.texts == ["a"]


async def test_a_record_that_is_purged_meanwhile_leaves_nothing(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    embedder.gate.clear()
    caller = await embedding_start()
    record_id = (await caller.insert(name="a")).working_memory_id

    await asked(embedder)
    await caller.DeleteWMRecord(working_memory_id=record_id, purge=True)
    assert await owed(database) == []
    embedder.gate.set()
    after = (await caller.insert(name="b")).working_memory_id
    await in_state(caller, after, "INDEXED")

    assert [row.record_id for row in await vectors(database)] == [after]


# Texts of questions.


async def searched(caller: Caller, **question: Any) -> list[str]:
    hits = (await caller.SearchWMRecords(**question)).hits
    return [hit.record.working_memory_id for hit in hits if not hit.similarity or hit.similarity > 0.99]


async def test_the_text_of_a_question_becomes_a_vector_of_the_same_model(embedding_start: Started):
    caller = await embedding_start()
    theirs = pb.Embedding(values=vector_of("bees"), model="another")
    await caller.insert(name="wasps", embedding=theirs)
    record_id = (await caller.insert(name="bees")).working_memory_id
    await in_state(caller, record_id, "INDEXED")

    assert await searched(caller, text="bees", mode=pb.SEARCH_MODE_VECTOR) == [record_id]
    assert await searched(caller, text="bees", mode=pb.SEARCH_MODE_FUSED) == [record_id]


@pytest.mark.usefixtures("idle")
async def test_a_question_of_words_asks_no_embedder(embedding_start: Started, embedder: EmbeddingServer):
    embedder.answer = status(503)
    caller = await embedding_start()
    record_id = (await caller.insert(name="bees")).working_memory_id

    assert await searched(caller, text="bees") == [record_id]
    assert embedder.requests == []


@pytest.mark.parametrize(
    ("answer", "reason", "says"),
    [
        (status(503), "UNAVAILABLE", "503"),
        (cut, "UNAVAILABLE", "the form of"),
        (twice, "UNAVAILABLE", "the form of"),
        (status(400), "INVALID_ARGUMENT", "400"),
    ],
)
async def test_a_question_that_gets_no_vector_says_so(
    embedding_start: Started, embedder: EmbeddingServer, answer: Answer, reason: str, says: str
):
    embedder.answer = answer
    caller = await embedding_start()

    error = await caller.error("SearchWMRecords", pb.SearchWMRecordsRequest(text="a", mode=pb.SEARCH_MODE_VECTOR))

    assert error.reason == reason
    assert says in error.message
    assert error.metadata.get("dependency") == ("embedder" if reason == "UNAVAILABLE" else None)


async def test_what_the_embedder_is_shown_is_shown_to_no_caller(
    embedding_start: Started, embedder: EmbeddingServer, caplog: pytest.LogCaptureFixture
):
    """Some endpoints repeat the key that they refuse."""
    key = "sk-the-operators-own-key"
    for code, words in ((401, ""), (400, ": Incorrect API key: ***.")):
        embedder.answer = lambda texts, code=code: web.Response(status=code, text=f"Incorrect API key: {key}.")
        caller = await embedding_start(embedding_api_key=SecretStr(key))
        record = await caller.insert()
        failed = await in_state(caller, record.working_memory_id, "FAILED")
        question = pb.SearchWMRecordsRequest(text="a", mode=pb.SEARCH_MODE_VECTOR)
        refused = await caller.error("SearchWMRecords", question)
        told = [failed.index_error, refused.violations[0].description if refused.violations else refused.message]
        assert told == [f"the embedder answered {code}{words}"] * 2
        assert refused.message == f"the embedder answered {code}"
    assert embedder.requests[-1][0]["authorization"] == f"Bearer {key}"
    assert key not in str([vars(record) for record in caplog.records])
    assert "Incorrect API key" not in str([vars(record) for record in caplog.records])


async def test_a_question_does_not_wait_longer_than_its_caller(embedding_start: Started, embedder: EmbeddingServer):
    embedder.gate.clear()
    caller = await embedding_start()
    request = pb.SearchWMRecordsRequest(text="a", mode=pb.SEARCH_MODE_VECTOR)

    for timeout_s in (1, 5):  # a slow machine may not tell within the tenth of the first that is kept for telling
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await caller.stub.SearchWMRecords(request, metadata=caller.metadata, timeout=timeout_s)
        if error.value.details() != "Deadline Exceeded":
            break

    assert "the embedder did not answer in time" in (error.value.details() or "")


async def test_a_question_does_not_wait_longer_than_the_setting(embedding_start: Started, embedder: EmbeddingServer):
    embedder.gate.clear()
    caller = await embedding_start(embedding_question_timeout_s=0.2)
    began = time.monotonic()

    error = await caller.error("SearchWMRecords", pb.SearchWMRecordsRequest(text="a", mode=pb.SEARCH_MODE_VECTOR))

    assert (error.reason, error.message) == ("UNAVAILABLE", "the embedder did not answer in time")
    assert time.monotonic() - began < 15  # without the setting the embedder has 30 s, and the call 60


async def test_without_an_embedder_a_vector_must_be_given(start: Start):
    caller = await start()

    error = await caller.error("SearchWMRecords", pb.SearchWMRecordsRequest(text="a", mode=pb.SEARCH_MODE_VECTOR))

    assert error.reason == "INVALID_ARGUMENT"
    assert error.message == "set embedding, or text if the service has an embedder"


# Several replicas, tenants, and kills.


async def test_replicas_share_the_work_and_embed_each_text_once(
    embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    callers = [await embedding_start() for _ in range(3)]
    names = [f"text {number}" for number in range(60)]

    await asyncio.gather(*(callers[number % 3].insert(name=name) for number, name in enumerate(names)))
    await until(
        lambda: _no_more_owed(database),
    )

    assert sorted(embedder.texts) == sorted(names)
    assert len(await vectors(database)) == 60


@pytest.mark.usefixtures("idle")
async def test_what_another_worker_is_claiming_is_left_to_it(embedding_start: Started, database: Database):
    caller = await embedding_start()
    await asyncio.gather(*(caller.insert() for _ in range(20)))
    tenant, outbox = database.tenant(PRINCIPAL.tenant_id), Outbox("context", EMBEDDING_TOPIC)

    async def other_worker(transaction: Transaction) -> set[Any]:
        theirs = await transaction.query("SELECT id FROM context.outbox ORDER BY due_at LIMIT 5 FOR UPDATE")
        async with asyncio.timeout(30):
            ours = await outbox.claim(tenant, count_max=100)
        assert len(ours) == 15
        return {row.id for row in theirs} & {work.id for work in ours}

    assert await tenant.transaction(other_worker) == set()
    assert len(await outbox.claim(tenant, count_max=100)) == 5
    assert await outbox.claim(tenant, count_max=100) == []


async def test_each_tenant_gets_its_own_vectors(embedding_start: Started, database: Database):
    caller = await embedding_start()
    stranger = Caller(caller.address, caller.channel, key=OTHER_KEY)
    mine = (await caller.insert(name="same")).working_memory_id
    theirs = (await stranger.insert(name="same")).working_memory_id
    await in_state(caller, mine, "INDEXED")
    await in_state(stranger, theirs, "INDEXED")

    assert await is_found_by(caller, "same") == [mine]
    assert await is_found_by(stranger, "same") == [theirs]
    assert [row.record_id for row in await vectors(database, OTHER_PRINCIPAL.tenant_id)] == [theirs]


async def test_what_a_killed_service_had_claimed_is_embedded_by_the_next(
    urls: Urls, database: Database, embedder: EmbeddingServer, tmp_path: Path, embedding_start: Started
):
    embedder.gate.clear()
    log_path = tmp_path / "service.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "context_service", "serve"],
            env={
                **os.environ,
                "DATABASE_URL": urls.service,
                "WORKING_MEMORY_STORAGE_PATH": str(tmp_path / "blobs"),
                "API_KEY": KEY,
                "CONTEXT_SERVICE_PORT": "0",
                "EMBEDDING_URL": embedder.url,
                "EMBEDDING_INTERVAL_S": "0.02",
            },
            stderr=log,
        )
    try:
        ports: list[int] = []

        async def serving() -> bool:
            assert process.poll() is None, log_path.read_text()
            whole = [json.loads(line) for line in log_path.read_text().splitlines() if line.endswith("}")]
            ports.extend(event["port"] for event in whole if event["event"] == "serving")
            return bool(ports)

        await until(serving)
        port = ports[0]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            acknowledged = [(await Caller("", channel).insert(name=f"r{n}")).working_memory_id for n in range(3)]

        await asked(embedder)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()

    assert {row.record_id for row in await owed(database)} == set(acknowledged)
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.outbox SET due_at = now()")  # the lease is over
    embedder.gate.set()
    caller = await embedding_start()
    for record_id in acknowledged:
        await in_state(caller, record_id, "INDEXED")
    assert await owed(database) == []


# Backfill.


def nobody(done: Backfilled) -> None:
    """Watches no progress."""


async def test_a_backfill_owes_what_lacks_a_vector_and_nothing_else(
    start: Start, embedding_start: Started, embedder: EmbeddingServer, database: Database
):
    before = await start()
    old = (await before.insert(name="old")).working_memory_id
    archived = (await before.insert(name="archived")).working_memory_id
    await before.DeleteWMRecord(working_memory_id=archived)
    theirs = pb.Embedding(values=vector_of("theirs"), model="theirs")
    given = (await before.insert(name="given", embedding=theirs)).working_memory_id
    caller = await embedding_start()
    new = (await caller.insert(name="new")).working_memory_id
    await in_state(caller, new, "INDEXED")
    backfill = Backfill(database, model="m1")

    assert await backfill.run(dry_run=True, on_progress=nobody) == Backfilled(to_do=2)
    assert (await fetched(caller, old)).index_state == pb.INDEX_STATE_NONE
    assert await backfill.run(dry_run=False, on_progress=nobody) == Backfilled(to_do=2, owed=2)

    for record_id, name in ((old, "old"), (archived, "archived")):
        indexed = await in_state(caller, record_id, "INDEXED")
        assert indexed.name == name
        assert await is_found_by(caller, name) == [record_id]
    assert await is_found_by(caller, "theirs") == [given]
    assert sorted(embedder.texts) == ["archived", "new", "old"]
    assert await backfill.run(dry_run=False, on_progress=nobody) == Backfilled()


async def test_a_backfill_makes_the_vectors_of_another_model_again(embedding_start: Started, database: Database):
    caller = await embedding_start()
    record_id = (await caller.insert(name="a")).working_memory_id
    await in_state(caller, record_id, "INDEXED")
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.embedding SET model = 'm0'")

    assert await Backfill(database, model="m1").run(dry_run=False, on_progress=nobody) == Backfilled(to_do=1, owed=1)

    await until(lambda: _no_more_owed(database))
    assert [(row.record_id, row.model) for row in await vectors(database)] == [(record_id, "m1")]


async def test_a_backfill_owes_nothing_for_a_vector_that_the_caller_gives_meanwhile(
    start: Start, database: Database, urls: Urls
):
    caller = await start()
    record_id = (await caller.insert(name="a")).working_memory_id
    held, go = asyncio.Event(), asyncio.Event()

    async def holding(transaction: Transaction) -> None:
        await transaction.query(record_vectors._LOCK_RECORD, (transaction.tenant_id, uuid.UUID(record_id)))
        held.set()
        await go.wait()

    holder = asyncio.create_task(database.tenant(PRINCIPAL.tenant_id).transaction(holding))
    await held.wait()
    theirs = pb.Embedding(values=vector_of("theirs"), model="theirs")
    given = asyncio.create_task(caller.update(record_id, embedding=theirs))
    await until_waiting(urls.superuser, 1)  # for the record
    backfill = asyncio.create_task(Backfill(database, model="m1").run(dry_run=False, on_progress=nobody))
    await until_waiting(urls.superuser, 2)  # it has looked, and waits behind it
    go.set()
    await asyncio.gather(holder, given)

    assert await backfill == Backfilled(to_do=1, owed=0)
    assert await owed(database) == []
    assert await is_found_by(caller, "theirs") == [record_id]


async def test_a_backfill_owes_only_so_many_at_a_time(
    start: Start, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backfill_module, "BATCH", 2)
    monkeypatch.setattr(backfill_module, "WAITING_MAX", 4)
    monkeypatch.setattr(backfill_module, "POLL_S", 0.01)
    caller = await start()
    for number in range(7):
        await caller.insert(name=str(number))
    told: list[Backfilled] = []
    waiting: list[int] = []

    async def made() -> None:
        """The services make them, two at a time."""
        while len(told) < 2 or told[-1].owed < 7:
            waiting.append(len(await owed(database)))
            outbox, tenant = Outbox("context", EMBEDDING_TOPIC), database.tenant(PRINCIPAL.tenant_id)
            for one in await outbox.claim(tenant, count_max=2):
                await tenant.query(
                    "DELETE FROM context.outbox WHERE tenant_id = %s AND id = %s", (tenant.tenant_id, one.id)
                )
            await asyncio.sleep(0.05)

    worker = asyncio.create_task(made())
    done = await Backfill(database, model="m1").run(dry_run=False, on_progress=told.append)
    await worker

    assert done == Backfilled(to_do=7, owed=7)
    assert told[0] == Backfilled(to_do=7)
    assert told[-1] == done
    assert max(waiting) <= 5


async def test_the_command_owes_them_and_says_so(
    start: Start, context_settings: Settings, database: Database, commands: Commands
):
    caller = await start()
    await caller.insert(name="a")

    async def run(*options: str, **variables: str) -> tuple[int, str, str]:
        environment = environment_of(context_settings) | variables
        command = partial(commands.run, "context_service", "embeddings", "backfill", *options, environment=environment)
        done = await asyncio.to_thread(command)
        return done.returncode, done.stdout, done.stderr

    _, _, refused = await run()
    assert "EMBEDDING_URL" in refused
    url = {"EMBEDDING_URL": "http://127.0.0.1:1/v1"}
    assert await run("--dry-run", **url) == (
        0,
        "1 records and 0 passages of contexts lack a vector of the embedder's model\n",
        "",
    )
    code, out, _ = await run("--json", **url)
    assert (code, json.loads(out)) == (
        0,
        {"dry_run": False, "to_do": 1, "owed": 1, "passages_to_do": 0, "passages_owed": 0, "databases_away": []},
    )
    assert len(await owed(database)) == 1
