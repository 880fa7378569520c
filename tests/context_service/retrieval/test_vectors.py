"""Vectors are made for whatever owns texts, and an owner of several texts has a vector of each."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

import pytest
from aiohttp import web
from pgvector import HalfVector

from context_service.kernel.llm.embedder import open_endpoint
from context_service.kernel.llm.embeddings import Embedder
from context_service.retrieval.rules.vectors import BATCH, VectorMaking
from context_service.retrieval.store.text_owners import TextVector
from context_service.settings import Settings
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Tenant, Transaction, take_half_vectors
from tests.conftest import PRINCIPAL, Urls
from tests.fakes.embedding_server import EmbeddingServer, embedded, embedding_server, vector_of

_PUT = """
INSERT INTO context.embedding (tenant_id, owner_kind, owner_id, name, dimension, model, text_sha256, vector)
VALUES (%s, 'book', %s, %s, %s, %s, %s, %s)
"""
_DELETE = "DELETE FROM context.embedding WHERE tenant_id = %s AND owner_kind = 'book' AND owner_id = %s"


class Books:
    """Owners of as many texts as they have chapters."""

    topic = "book"

    def __init__(self, chapters: dict[UUID, list[str]]) -> None:
        self.chapters = chapters
        self.told: list[tuple[UUID, bool]] = []

    async def texts(self, tenant: Tenant, ids: Sequence[UUID]) -> Mapping[UUID, Sequence[str]]:
        return {one: self.chapters[one] for one in ids if one in self.chapters}

    async def lock(self, transaction: Transaction, owner_id: UUID) -> bool:
        return owner_id in self.chapters  # one worker: nobody to lock it from

    async def put(self, transaction: Transaction, owner_id: UUID, vectors: Sequence[TextVector]) -> None:
        await transaction.query(_DELETE, (transaction.tenant_id, owner_id))
        for number, made in enumerate(vectors):
            vector = HalfVector(list(made.embedding.values))
            shown = (str(number), len(made.embedding.values), made.embedding.model, made.text_sha256, vector)
            await transaction.query(_PUT, (transaction.tenant_id, owner_id, *shown))

    async def tell(self, transaction: Transaction, owner_id: UUID, error: str, *, failed: bool) -> None:
        self.told.append((owner_id, failed))


@pytest.fixture
async def database(urls: Urls) -> AsyncIterator[Database]:
    async with Database.open(urls.service, connections_max=2, name="vectors", configure=take_half_vectors) as opened:
        yield opened


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as server:
        yield server


@pytest.fixture
async def embedder(server: EmbeddingServer, urls: Urls) -> AsyncIterator[Embedder]:
    settings = Settings(database_url=urls.service, embedding_url=server.url, embedding_model="m1", _env_file=None)
    async with open_endpoint(settings) as embedder:
        yield embedder


async def owe(database: Database, owners: Sequence[UUID]) -> None:
    async def work(transaction: Transaction) -> None:
        for owner_id in owners:
            await Outbox("context", Books.topic).put(transaction, owner_id)

    await database.tenant(PRINCIPAL.tenant_id).transaction(work)


async def vectors_of(database: Database, owner_id: UUID) -> list[list[float]]:
    sql = "SELECT vector FROM context.embedding WHERE owner_kind = 'book' AND owner_id = %s ORDER BY name::int"
    rows = await database.tenant(PRINCIPAL.tenant_id).query(sql, (owner_id,))
    return [row.vector.to_list() for row in rows]


def rounded(texts: Sequence[str]) -> list[list[float]]:
    return [HalfVector(vector_of(text)).to_list() for text in texts]


async def test_an_owner_of_several_texts_gets_a_vector_of_each(
    database: Database, server: EmbeddingServer, embedder: Embedder
):
    long, short, gone = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    books = Books({long: [f"chapter {number}" for number in range(BATCH + 3)], short: ["a poem"]})
    await owe(database, [long, short, gone])

    worker = VectorMaking(database, books, embedder, text_chars=100)
    assert await worker.make_due() == 2

    assert await vectors_of(database, long) == rounded(books.chapters[long])
    assert await vectors_of(database, short) == rounded(["a poem"])
    assert max(len(body["input"]) for _, body in server.requests) == BATCH
    assert await worker.make_due() == 0, "and nothing more is owed, for what is gone neither"


async def test_a_text_that_is_refused_fails_its_owner_and_no_other(
    database: Database, server: EmbeddingServer, embedder: Embedder
):
    good, bad = uuid.uuid4(), uuid.uuid4()
    books = Books({good: ["one", "two"], bad: ["three", "refused"]})
    server.answer = lambda texts: web.Response(status=400) if "refused" in texts else embedded(texts)
    await owe(database, [good, bad])

    assert await VectorMaking(database, books, embedder, text_chars=100).make_due() == 1

    assert await vectors_of(database, good) == rounded(["one", "two"])
    assert await vectors_of(database, bad) == [], "its texts are found together or not at all"
    assert books.told == [(bad, True)]
