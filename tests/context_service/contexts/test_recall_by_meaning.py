"""Recall with an embedder: what means the same is found without a word of it; words stay where the embedder fails."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from context_service.kernel.llm import endpoint
from context_service.retrieval.store import passages as passages_module
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.errors import DeadlineExceeded
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Across, Database
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, with_embedder
from tests.context_service.working_memory.callers import until
from tests.fakes.embedding_server import DIMENSION, EmbeddingServer

# Words of one meaning; all others mean something else, each.
MEANINGS = ({"cough", "hacking", "throat"}, {"dog", "rex", "puppy"}, {"paint", "colour", "wall"})

TALK = ("The weather is {n} degrees.", "My cousin {n} plays the violin.", "Train {n} was late.", "Bread costs {n}.")


def meant(text: str) -> list[float]:
    """Return a vector that is near those of other texts with the same meanings."""
    noise = hashlib.shake_128(text.encode()).digest(DIMENSION)
    vector = [(byte - 128) / 128 / 40 for byte in noise]
    for axis, words in enumerate(MEANINGS):
        vector[axis] += 3.0 * bool(words & set(text.lower().replace(".", " ").replace("?", " ").split()))
    return vector


def by_meaning(texts: list[str]) -> web.StreamResponse:
    data = [{"index": place, "embedding": meant(text)} for place, text in enumerate(texts)]
    return web.json_response({"data": data})


class Stack:
    """A service with an embedder."""

    def __init__(self, caller: Caller, server: EmbeddingServer, database: Database) -> None:
        self.caller, self.server, self.database = caller, server, database

    async def begun(self, *said: str | MessageInput, wait: bool = True) -> str:
        messages = [MessageInput(content=one) if isinstance(one, str) else one for one in said]
        context_id = str((await self.caller.append("", *messages)).context_id)
        if wait:
            await self.indexed(context_id)
        return context_id

    async def indexed(self, context_id: str) -> None:
        assert (await self.caller.call("WaitForIndex", context_id=context_id)).is_complete

    async def recall(self, context_id: str, text: str, **options: Any) -> pb.Recalled:
        answer = await self.caller.call("Recall", context_id=context_id, text=text, options=options)
        recalled: pb.Recalled = answer.recalled
        return recalled


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    folder = tmp_path_factory.mktemp("blobs")
    async with with_embedder(postgres, folder, embedding_question_timeout_s=0.5) as (made, server):
        yield Stack(made.caller, server, made.database)


@pytest.fixture
def stack(shared: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setattr(endpoint, "PAUSE_S", 0.01)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 0.01)
    shared.server.answer = by_meaning
    yield shared
    shared.server.answer = by_meaning
    shared.server.gate.set()


@pytest.fixture(params=["whole", "by terms"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small scope is read as it is, others by terms: what is meant is found in both."""
    if request.param == "by terms":
        monkeypatch.setattr(passages_module, "READ_WHOLE", 0)


def talk(count: int) -> list[str]:
    return [TALK[n % len(TALK)].format(n=n) for n in range(count)]


@pytest.mark.usefixtures("read")
@pytest.mark.parametrize("profile", ["default", "conversation"])
async def test_what_means_the_same_is_found_without_a_word_of_it(stack: Stack, profile: str):
    context_id = await stack.begun("She came because of a hacking that kept her awake.", *talk(120))

    recalled = await stack.recall(context_id, "cough?", profile=profile, with_features=True)

    assert recalled.items[0].seq == 1
    assert recalled.items[0].features["cos"] > 0
    assert 0 < recalled.items[0].score < 1
    assert recalled.by_meaning == pb.ByMeaning(is_compared=True)
    found = await stack.caller.call("SearchContext", context_id=context_id, query="cough", limit=3, profile=profile)
    assert (found.hits[0].seq, found.by_meaning.is_compared) == (1, True)


@pytest.mark.usefixtures("read")
async def test_words_and_meaning_count_together(stack: Stack):
    context_id = await stack.begun(*talk(30), "The puppy sleeps.", *talk(30), "Rex barks at train 7.", *talk(30))
    recalled = await stack.recall(context_id, "does the dog bark at a train?")
    assert recalled.items[0].text == "Rex barks at train 7."
    assert "The puppy sleeps." in [item.text for item in recalled.items[:3]], "beside what follows the first"


@pytest.mark.usefixtures("read")
async def test_an_answer_is_found_by_what_its_question_meant(stack: Stack):
    """It is compared together with what was said before it."""
    asked, answered = (
        MessageInput(content="What colour?"),
        MessageInput(content="Ochre.", role="assistant"),
    )
    context_id = await stack.begun(*talk(20), asked, answered, *talk(20))
    items = (await stack.recall(context_id, "paint", with_features=True)).items
    assert {"What colour?", "Ochre."} <= {item.text for item in items[:3]}


async def test_what_no_words_ask_for_is_asked_for_by_meaning(stack: Stack):
    """A question of words that are passed over has no terms at all."""
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    assert (await stack.recall(context_id, "and then?")).by_meaning.is_compared


async def test_filters_hold_for_what_is_near(stack: Stack):
    robot = MessageInput(content="A puppy is small.", role="assistant")
    context_id = await stack.begun("The puppy sleeps.", robot, *talk(5))
    found = await stack.recall(context_id, "dog", filter=pb.RecallFilter(roles=["assistant"]))
    assert [item.text for item in found.items][:1] == ["A puppy is small."]
    assert {item.role for item in found.items} == {"assistant"}
    before = await stack.recall(context_id, "dog", not_after_seq=1)
    assert [item.seq for item in before.items] == [1]


async def test_a_message_recalls_what_it_means(stack: Stack):
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    sent = await stack.caller.send("dog?", context_id)
    assert sent.recall.items[0].text == "The puppy sleeps."


async def test_what_has_no_vector_yet_is_found_by_words_and_said_to_be_pending(stack: Stack):
    context_id = await stack.begun("The puppy sleeps.")
    stack.server.answer = lambda texts: (
        by_meaning(texts) if texts == ["where is the kennel"] else web.Response(status=500)
    )
    await stack.caller.send("A kennel was built.", context_id)
    recalled = await stack.recall(context_id, "where is the kennel")
    assert "A kennel was built." in recalled.prompt_text
    assert recalled.by_meaning == pb.ByMeaning(is_compared=True, pending_count=1)
    stack.server.answer = by_meaning
    await stack.indexed(context_id)
    assert (await stack.recall(context_id, "where is the kennel")).by_meaning.pending_count == 0


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda texts: web.Response(status=503, text="overloaded"), "the embedder answered 503"),
        (lambda texts: web.Response(status=401, text="who are you?"), "the embedder answered 401"),
        (
            lambda texts: web.json_response({"error": {"code": "no_model", "message": texts[0]}}, status=404),
            "the embedder answered 404 (no_model)",
        ),
        (lambda texts: web.Response(status=400, text="too long"), "too long"),
        (lambda texts: web.Response(text="<html>"), "does not have the form of /embeddings"),
        (lambda texts: web.json_response({"data": [{"index": 0, "embedding": [1.0] * 8}]}), "(got 8)"),
        (lambda texts: web.json_response({"data": [{"index": 0, "embedding": [0.0] * DIMENSION}]}), "not be zero"),
        (
            lambda texts: web.json_response({"data": [{"index": 0, "embedding": ["x"]}]}),
            "does not have the form of /embeddings",
        ),
    ],
)
async def test_an_embedder_that_fails_leaves_words_and_is_named(stack: Stack, answer: Any, says: str):
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    stack.server.answer = answer
    recalled = await stack.recall(context_id, "puppy")
    assert [item.text for item in recalled.items] == ["The puppy sleeps."]
    assert not recalled.by_meaning.is_compared
    assert says in recalled.by_meaning.error
    stack.server.answer = by_meaning
    await asyncio.sleep(0.02)
    # Of what was asked lately the vector is known.
    assert (await stack.recall(context_id, f"dog, {says}")).by_meaning.is_compared, "and it is asked again"


async def test_a_slow_embedder_is_waited_for_once_and_not_for_long(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    monkeypatch.setattr(endpoint, "PAUSE_S", 3)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 3)
    stack.server.gate.clear()
    began = time.monotonic()
    recalled = await stack.recall(context_id, "puppy")
    waited_s = time.monotonic() - began
    assert (len(recalled.items), recalled.by_meaning.error) == (1, "the embedder did not answer in time")
    assert 0.4 < waited_s < 10

    asked = len(stack.server.requests)
    again = await stack.recall(context_id, "puppy")
    assert (again.items, again.by_meaning) == (recalled.items, recalled.by_meaning)
    assert len(stack.server.requests) == asked, "those who ask next do not wait for it again"

    stack.server.gate.set()
    await until(lambda: _is_compared(stack, context_id))


async def test_what_an_embedder_says_of_one_text_is_shown_to_no_other_caller(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    monkeypatch.setattr(endpoint, "PAUSE_S", 1)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 1)
    stack.server.answer = lambda texts: web.Response(status=500, text=f"I cannot embed: {texts[0]}")
    with caplog.at_level("INFO"):
        for question in ("is the zebra ill?", "and the mouse?"):
            assert (await stack.recall(context_id, question)).by_meaning.error == "the embedder answered 500"
    assert "zebra" not in str([vars(record) for record in caplog.records])
    await asyncio.sleep(1.05)


async def test_a_caller_in_a_hurry_takes_the_embedder_from_nobody(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    monkeypatch.setattr(endpoint, "PAUSE_S", 30)
    monkeypatch.setattr(endpoint, "PAUSE_S_MAX", 30)
    stack.server.gate.clear()
    asked = len(stack.server.requests)
    with suppress(DeadlineExceeded):  # on a slow machine
        hurried = await stack.caller.call("Recall", context_id=context_id, text="in a hurry", deadline_s=0.9)
        assert hurried.recalled.by_meaning.error == "the embedder did not answer in time"
    assert len(stack.server.requests) == asked + 1
    stack.server.gate.set()
    assert (await stack.recall(context_id, "dog, at leisure")).by_meaning.is_compared


async def _is_compared(stack: Stack, context_id: str) -> bool:
    return (await stack.recall(context_id, "puppy")).by_meaning.is_compared


async def test_vectors_of_another_model_or_size_are_not_compared(stack: Stack):
    context_id = await stack.begun("The puppy sleeps.", *talk(5))
    tenant = stack.database.tenant(PRINCIPAL.tenant_id)
    for change in ("model = 'm0'", "model = 'm1', vector = '[1, 2, 3]'"):
        await tenant.query(
            Across(
                sql=f"UPDATE context.passage_vector SET {change} WHERE scope_id = %s",
                contexts=True,
                subjects=True,
                why="a test changes the model",
            ),
            (uuid.UUID(context_id),),
        )
        recalled = await stack.recall(context_id, "dog")
        assert (list(recalled.items), recalled.by_meaning) == ([], pb.ByMeaning())


async def test_nothing_near_comes_out_of_another_context(stack: Stack):
    mine = await stack.begun("The puppy sleeps.")
    theirs = await stack.begun("A dog lives next door.")
    assert {item.text for item in (await stack.recall(mine, "dog")).items} == {"The puppy sleeps."}
    assert {item.text for item in (await stack.recall(theirs, "puppy")).items} == {"A dog lives next door."}
