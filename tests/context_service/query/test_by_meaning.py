"""Hits compared by what they mean: what has a vector is not embedded again, and of the rest only a few are."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from context_service.kernel.llm import endpoint, known_vectors
from context_service.kernel.llm.known_vectors import KnownVectors
from context_service.query.rules.meaning import EMBEDDED_MAX
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1 import memories_pb2 as memories
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Caller, with_embedder
from tests.context_service.working_memory.callers import until
from tests.fakes.context_providers import Answered, ProviderQuery, Stub, hit, installed
from tests.fakes.embedding_server import EmbeddingServer

QUESTION = "When was the renewal of Acme signed?"
TENANT, OTHER = uuid.uuid4(), uuid.uuid4()


class Stack:
    """A service with an embedder and a provider that has many hits."""

    def __init__(self, caller: Caller, server: EmbeddingServer) -> None:
        self.caller, self.server = caller, server

    async def asked(self, text: str, *provider_ids: str, **fields: object) -> tuple[list[pb.QueryHit], list[str]]:
        """Return the hits of a question, and which texts the embedder was asked for."""
        before = len(self.server.texts)
        chosen = pb.ProviderSelection(ids=provider_ids)
        answer = await self.caller.call("QueryContext", query=text, providers=chosen, **fields)
        return list(answer.hits), self.server.texts[before:]


class Many(Stub):
    """Has more hits than are embedded, and says that each is as near as can be."""

    id = "many"

    async def answered(self, asked: ProviderQuery, principal: object) -> Answered:
        return Answered(hits=[hit(str(n), f"Acme has a canteen on floor {n}.", cosine=1.0) for n in range(20)])


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    folder: Path = tmp_path_factory.mktemp("meaning")
    with installed(folder / "packages", [f"{__name__}:Many"]):
        async with with_embedder(postgres, folder / "blobs") as (made, server):
            ada = made.caller.of("ada")
            for text in ("Acme renewed in March.", "Berta buys for Acme."):
                await ada.call("RetainMemory", memory=memories.MemoryInput(text=text))

            async def is_embedded() -> bool:
                answer = await ada.call("ListMemories")
                return all(one.state == memories.MEMORY_STATE_INDEXED for one in answer.memories)

            await until(is_embedded)
            yield Stack(ada, server)


async def test_a_memory_that_has_a_vector_is_not_embedded_again(stack):
    hits, embedded = await stack.asked(QUESTION, "memory")
    assert hits
    assert embedded == [QUESTION], "once, though the provider and the fusion both need it"


async def test_a_question_that_is_asked_again_is_embedded_no_more_and_answered_alike(stack):
    question = "Where does Acme eat?"
    first, embedded = await stack.asked(question, "many", "memory")
    assert question in embedded
    again, embedded = await stack.asked(question, "many", "memory")
    assert embedded == []
    assert [(one.ref, one.score) for one in again] == [(one.ref, one.score) for one in first]


async def test_of_many_hits_that_have_no_vector_a_few_are_embedded(stack):
    _, embedded = await stack.asked("Which floor has the canteen of Acme?", "many", limit=20)
    assert len(embedded) <= 1 + EMBEDDED_MAX


async def test_what_an_installed_provider_says_of_nearness_does_not_count(stack):
    """Vectors of different texts are far apart here, so nothing is near."""
    hits, _ = await stack.asked("Zephyr?", "many", limit=20)
    assert hits and max(one.score for one in hits) < 0.22


@pytest.mark.parametrize("family", ["memory", "wiki", "context"])
async def test_a_provider_says_that_the_embedder_cannot_be_reached(stack, family: str, monkeypatch: pytest.MonkeyPatch):
    """Otherwise an answer without hits means that nothing is known, though only words were compared."""
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.0)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 0.0)
    works = stack.server.answer
    stack.server.answer = lambda texts: web.Response(status=500)
    try:
        asked = {"query": f"Who renews, {family}?", "providers": pb.ProviderSelection(families=[family])}
        answer = await stack.caller.call("QueryContext", **asked)
    finally:
        stack.server.answer = works
    (status,) = answer.providers
    assert status.state == pb.PROVIDER_STATE_STALE
    assert status.reason == "words only: the embedder answered 500"

    answer = await stack.caller.call("QueryContext", **{**asked, "query": f"Who renews now, {family}?"})
    assert answer.providers[0].state == pb.PROVIDER_STATE_OK


async def test_a_tool_whose_hits_could_not_be_compared_by_meaning_says_so_and_its_test_warns(
    postgres: EmbeddedPostgres, stack, monkeypatch: pytest.MonkeyPatch
):
    """The tool itself answered; only the comparison of its hits with the query failed."""
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.0)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 0.0)
    asked = {"query": "Which floors have a canteen?", "providers": pb.ProviderSelection(ids=["many"])}
    works = stack.server.answer
    stack.server.answer = lambda texts: web.Response(status=500, text="canteen")
    try:
        answer = await stack.caller.call("QueryContext", **asked)
        tested = await stack.caller.of("admin").call("RunSourceTest", question=pb.QueryContextRequest(**asked))
    finally:
        stack.server.answer = works
    (status,) = answer.providers
    assert answer.hits and status.state == pb.PROVIDER_STATE_STALE
    assert status.reason == "words only: the embedder answered 500"
    assert list(tested.test.warnings) == ["many: words only: the embedder answered 500"]
    (status,) = (await stack.caller.call("QueryContext", **asked)).providers
    assert (status.state, status.reason) == (pb.PROVIDER_STATE_OK, "")


def test_vectors_are_known_to_their_tenant_alone():
    known = KnownVectors()
    kept = known.put(TENANT, QUESTION, [3.0, 4.0])
    assert list(kept) == pytest.approx([0.6, 0.8])
    assert known.get(TENANT, QUESTION) == kept
    assert known.get(OTHER, QUESTION) is None


def test_known_vectors_have_bounds(monkeypatch):
    monkeypatch.setattr(known_vectors, "BYTES_MAX", 16)
    monkeypatch.setattr(known_vectors, "TENANTS_MAX", 2)
    known = KnownVectors()
    for text in ("a", "b"):
        known.put(TENANT, text, [1.0, 0.0])
    assert known.get(TENANT, "a") is not None, "the one that is used goes last"
    known.put(TENANT, "c", [1.0, 0.0])
    assert [known.get(TENANT, text) is None for text in ("a", "b", "c")] == [False, True, False]
    for _ in range(2):
        known.put(uuid.uuid4(), "a", [1.0, 0.0])
    assert known.get(TENANT, "a") is None
