"""Rerankers at an endpoint: both forms of `/rerank`, and each way in which an endpoint can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from context_service import app
from context_service.kernel.llm import endpoint
from context_service.kernel.llm.providers import open_reranker
from context_service.kernel.llm.reranking import Reranker, RerankerFailed, in_order_of
from context_service.settings import Settings
from contextkeep.errors import Unavailable
from tests.fakes.rerank_server import RerankServer, prefers, rerank_server, texts_of

KEY = "sk-of-the-operator"


@pytest.fixture
async def server() -> AsyncIterator[RerankServer]:
    async with rerank_server() as running:
        running.answer = prefers("trout", "river")
        yield running


@pytest.fixture(params=["", "rerank-v3.5"], ids=["TEI", "Cohere"])
def settings(request: pytest.FixtureRequest, server: RerankServer) -> Settings:
    return settings_of(server, reranker_model=request.param)


def settings_of(server: RerankServer, **others: object) -> Settings:
    fields = {"reranker_url": server.url, "reranker_api_key": KEY, "reranker_timeout_s": 5.0, **others}
    return Settings(reranker_provider="http", _env_file=None, **fields)


@pytest.fixture
async def reranker(settings: Settings) -> AsyncIterator[Reranker]:
    opening = open_reranker(settings)
    assert opening is not None
    async with opening as opened:
        yield opened


async def test_each_text_has_its_score_in_the_order_of_the_texts(reranker: Reranker, server: RerankServer):
    texts = ["a river", "nothing", *(f"filler {n}" for n in range(46)), "a trout", "the end"]
    scores = await reranker.scores("Which fish?", texts)
    assert [(text, score) for text, score in zip(texts, scores, strict=True) if score] == [
        ("a river", 0.5),
        ("a trout", 1.0),
    ]
    assert server.texts == texts
    headers, body = server.requests[0]
    assert (headers["authorization"], body["query"]) == (f"Bearer {KEY}", "Which fish?")


async def test_text_embeddings_inference_gets_at_most_32_texts_at_once_and_may_truncate_them(server: RerankServer):
    async with open_reranker(settings_of(server)) as reranker:  # type: ignore[union-attr]
        await reranker.scores("fish", ["a text"] * 50)
    assert [(len(body["texts"]), body["truncate"]) for _, body in server.requests] == [(32, True), (18, True)]


async def test_long_texts_are_cut_before_they_are_sent(reranker: Reranker, server: RerankServer):
    await reranker.scores("q" * 100_000, ["t" * 100_000])
    assert [len(text) for text in server.texts] == [2_000]
    assert len(server.requests[0][1]["query"]) == 2_000


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda _: web.Response(status=503, text=f"overloaded {KEY}"), "the reranker answered 503"),
        (lambda _: web.Response(status=400, text="a secret text was too long"), "the reranker answered 400"),
        (lambda _: web.Response(text="hello"), "does not have the form"),
        (lambda _: web.json_response({"data": []}), "does not have the form"),
        (lambda _: web.json_response({"results": []}), "does not have the form"),
        (lambda _: web.json_response([{"index": 0, "score": "NaN"}]), "does not have the form"),
        (lambda _: web.json_response([{"index": 7, "score": 1.0}]), "does not have the form"),
        (lambda _: web.json_response([[1]]), "does not have the form"),
        (lambda _: web.Response(text="[" * 100_000), "more than"),
        (lambda _: web.Response(text="[" * 5_000), "does not have the form"),
        (lambda _: web.Response(status=302, headers={"location": "http://127.0.0.1:1/"}), "the reranker answered 302"),
    ],
)
async def test_a_wrong_answer_is_a_failure_that_repeats_no_text(
    reranker: Reranker, server: RerankServer, answer: object, says: str
):
    server.answer = answer  # type: ignore[assignment]
    with pytest.raises(RerankerFailed, match=says) as failed:
        await reranker.scores("a secret text", ["a secret text"])
    assert "secret" not in str(failed.value) and KEY not in str(failed.value)


async def test_after_a_failure_the_endpoint_is_left_alone_for_a_while(
    reranker: Reranker, server: RerankServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.2)
    works, server.answer = server.answer, lambda _: web.Response(status=500)
    for _ in range(3):
        with pytest.raises(RerankerFailed, match="answered 500"):
            await reranker.scores("fish", ["a trout"])
    assert len(server.requests) == 1
    await asyncio.sleep(0.2)
    server.answer = works
    assert await reranker.scores("fish", ["a trout"]) == [1.0]


async def test_a_slow_endpoint_is_waited_for_no_longer_than_its_timeout(server: RerankServer):
    server.gate.clear()
    async with open_reranker(settings_of(server, reranker_timeout_s=0.05)) as reranker:  # type: ignore[union-attr]
        with pytest.raises(RerankerFailed, match="did not answer in time"):
            await reranker.scores("fish", ["a trout"])


async def test_check_config_asks_it(settings: Settings, server: RerankServer):
    probe = app.probes(settings)[f"the reranker at {server.url}"]
    await probe()
    assert len(texts_of(server.requests[0][1])) == 2
    server.answer = lambda _: web.Response(status=401, text="{}")
    with pytest.raises(Unavailable, match="the reranker answered 401"):
        await probe()


def test_a_reranker_without_a_url_is_refused_at_the_start():
    with pytest.raises(ValidationError, match="RERANKER_PROVIDER=http needs RERANKER_URL"):
        Settings(reranker_provider="http", _env_file=None)
    assert open_reranker(Settings(reranker_url="http://127.0.0.1:1", _env_file=None)) is None


@given(st.lists(st.tuples(st.integers(), st.none() | st.integers(0, 3).map(float)), max_size=12))
def test_items_without_a_score_keep_their_places_and_the_others_are_sorted_stably(
    pairs: list[tuple[int, float | None]],
):
    items = list(enumerate(pairs))
    ordered = in_order_of(items, [score for _, score in pairs])
    assert sorted(ordered) == sorted(items)
    assert all(ordered[place] == item for place, item in enumerate(items) if item[1][1] is None)
    scored = [item for item in ordered if item[1][1] is not None]
    assert scored == sorted(scored, key=lambda item: (-item[1][1], item[0]))  # type: ignore[operator]
