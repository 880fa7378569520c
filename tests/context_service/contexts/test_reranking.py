"""A reranker orders the best passages of a recall and the best hits of a query again, and its state is visible."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import web

from context_service.kernel.llm import endpoint
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.context.v1 import context_settings_pb2 as settings_pb
from contextkeep.context.v1 import memories_pb2 as memories
from contextkeep.context.v1.message_pb2 import MessageInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Caller, opened
from tests.fakes.rerank_server import RerankServer, prefers, rerank_server

SAID = ("The boat is painted blue.", "We painted the boat in May.", "A boat needs a harbour.", "Boat insurance is due.")
BLUE, MAY, HARBOUR, INSURANCE = SAID


class Stack:
    """A service with a reranker."""

    def __init__(self, caller: Caller, server: RerankServer) -> None:
        self.caller, self.server = caller, server

    async def context_id(self, *said: str, **fields: Any) -> str:
        answer = await self.caller.append("", *(MessageInput(content=one) for one in said or SAID), **fields)
        return str(answer.context_id)


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    async with rerank_server() as server:
        reranker = {"reranker_provider": "http", "reranker_url": server.url, "reranker_timeout_s": 0.5}
        async with opened(postgres, tmp_path_factory.mktemp("blobs"), **reranker) as made:
            yield Stack(made.caller, server)


@pytest.fixture
def stack(shared: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.0)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 0.0)
    shared.server.requests.clear()
    shared.server.answer = prefers("insurance", "harbour", "May")
    yield shared
    shared.server.gate.set()


async def test_recall_and_search_come_in_the_order_of_the_reranker_and_say_so(stack: Stack):
    context_id = await stack.context_id()
    recalled = (await stack.caller.call("Recall", context_id=context_id, text="boat")).recalled
    assert [item.text for item in recalled.items] == [INSURANCE, HARBOUR, MAY, BLUE]
    assert (recalled.by_meaning.is_reranked, recalled.by_meaning.reranker_error) == (True, "")
    found = await stack.caller.call("SearchContext", context_id=context_id, query="boat", limit=2)
    assert [item.text for item in found.hits] == [INSURANCE, HARBOUR], "all four were read, not the first two"
    assert found.by_meaning.is_reranked


async def test_a_message_recalls_in_the_order_of_the_reranker(stack: Stack):
    context_id = await stack.context_id()
    sent = await stack.caller.send("What about the boat?", context_id)
    assert [item.text for item in sent.recall.items][:2] == [INSURANCE, HARBOUR]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda _: web.Response(status=500), "the reranker answered 500"),
        (lambda _: web.json_response({"results": "none"}), "the reranker's answer does not have the form of /rerank"),
        (None, "the reranker did not answer in time"),
    ],
)
async def test_without_the_reranker_the_answer_comes_in_its_own_order_and_says_why(
    stack: Stack, answer: Any, says: str
):
    context_id = await stack.context_id()
    stack.server.answer = lambda _: web.Response(status=500)
    order = await texts(stack, context_id)
    if answer is None:
        stack.server.gate.clear()
    else:
        stack.server.answer = answer
    recalled = (await stack.caller.call("Recall", context_id=context_id, text="painted boat")).recalled
    assert [item.text for item in recalled.items] == order
    assert not recalled.by_meaning.is_reranked
    assert recalled.by_meaning.reranker_error.startswith(says)

    chosen = query_pb.ProviderSelection(ids=["context"])
    answered = await stack.caller.call("QueryContext", query="painted boat", context_ids=[context_id], providers=chosen)
    (status,) = answered.providers
    assert status.state == query_pb.PROVIDER_STATE_STALE
    assert status.reason.startswith(f"not reranked: {says}")
    assert len(answered.hits) == 4


async def texts(stack: Stack, context_id: str) -> list[str]:
    recalled = (await stack.caller.call("Recall", context_id=context_id, text="painted boat")).recalled
    return [item.text for item in recalled.items]


async def test_no_text_of_a_context_without_models_is_sent(stack: Stack):
    off = settings_pb.MODEL_USE_OFF
    context_id = await stack.context_id(context={"app_id": "private"})
    await stack.caller.of("admin").call("PutContextSetting", app_id="private", models=off)
    recalled = (await stack.caller.call("Recall", context_id=context_id, text="boat")).recalled
    assert len(recalled.items) == 4
    assert recalled.by_meaning.reranker_error == "models are switched off for the context"
    chosen = query_pb.ProviderSelection(ids=["context"])
    answered = await stack.caller.call("QueryContext", query="boat", context_ids=[context_id], providers=chosen)
    assert answered.providers[0].reason == "not reranked: models are switched off for the contexts"
    assert stack.server.texts == []


async def test_hits_of_a_query_come_in_the_order_of_the_reranker_and_providers_are_asked_once(stack: Stack):
    """Each provider gives its own order; the merged hits are sent to the reranker, once."""
    ada = stack.caller.of("ada")
    for text in (BLUE, INSURANCE):
        await ada.call("RetainMemory", memory=memories.MemoryInput(text=text))
    context_id = (await ada.append("", *(MessageInput(content=one) for one in (MAY, HARBOUR)))).context_id
    chosen = query_pb.ProviderSelection(ids=["context", "memory"])
    each = query_pb.ProviderOptions(memory=query_pb.MemoryOptions(query_mode=query_pb.MEMORY_QUERY_MODE_RECALL))
    stack.server.requests.clear()
    answered = await ada.call(
        "QueryContext", query="boat", context_ids=[context_id], providers=chosen, provider_options=each
    )
    assert [hit.snippet for hit in answered.hits] == [INSURANCE, HARBOUR, MAY, BLUE]
    assert {status.mode for status in answered.providers} == {"words, reranked", "RECALL (words), reranked"}
    assert {status.state for status in answered.providers} == {query_pb.PROVIDER_STATE_OK}
    assert len(stack.server.requests) == 1
