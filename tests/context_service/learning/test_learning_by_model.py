"""Memories that a scripted model learns: whatever it answers, nothing is lost, doubled or invented."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import orjson
import psycopg
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.quality.statements import labelled
from context_service.kernel.llm import endpoint
from context_service.learning.pure.model_changes import (
    ASKED_CHARS_MAX,
    CHANGES_MAX,
    LABEL,
    NotUsable,
    exchanges_of,
    statements_in,
    that_fit,
)
from context_service.learning.rules import learn
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.context.v1.message_pb2 import MessageInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import cloned
from tests.context_service.contexts.callers import KEYS, Caller
from tests.context_service.learning.test_learning import World
from tests.context_service.learning.test_statements import conversation
from tests.fakes.chat_server import Answer, ChatServer, chat_server, says

MODEL = "LEARNING_MODE_MODEL"
HELD_OUT = Path(__file__).with_name("held_out.txt")
_BLOCK = re.compile(r"^\[(m\d+)\] user\n((?:> .*\n?)*)|^assistant\n((?:> .*\n?)*)", re.MULTILINE)


def change(text: str, ref: str = "m1", quote: str = "", **more: str) -> dict[str, str]:
    return {"change": "add", "kind": "fact", "text": text, "ref": ref, "quote": quote or text.rstrip("."), **more}


def changing(*changes: dict[str, str]) -> Answer:
    return says(orjson.dumps({"changes": changes}).decode())


def judged(*changes: dict[str, str], said: Sequence[str], known: int = 0) -> tuple[list[str], list[str]]:
    """Return the texts that are kept of a model's changes, and the checks that refused others."""
    exchanges = exchanges_of(conversation(*said), reached_seq=0)
    ids = [f"id {number}" for number in range(known)]
    statements, refused = statements_in(orjson.dumps({"changes": changes}).decode(), exchanges, ids)  # type: ignore[arg-type]
    return [statement.text for statement in statements], [fault.partition(":")[0] for fault in refused]


@pytest.mark.parametrize(
    ("said", "bad", "check"),
    [
        ("I live in Oslo.", change("I live in Rome.", quote="live in Rome"), "quotation"),
        ("I live in Oslo.", change("I live in Rome.", quote="live in"), "invented"),
        ("I have two cats.", change("I have 2 cats.", quote="two cats"), "invented"),
        ("Oslo!", change("I own an expensive house in Oslo", quote="Oslo"), "invented"),
        ("I live in Oslo.", change("I live in Oslo.", ref="m9"), "source"),
        ("I live in Oslo.", change("I live in Oslo.", kind="instruction"), "form"),
        ("I live in Oslo.", change("I live in Oslo.", change="erase"), "form"),
        ("I live in Oslo.", {"change": "add"}, "form"),
        ("I live in Oslo.", change("I live in Oslo.", change="replace", known="k7"), "known"),
        ("I live in Oslo.", change("I live in Oslo.", change="end"), "known"),
        ("Bob wrote: «I live in Rome».", change("I live in Rome", quote="I live in Rome"), "quotation"),
        ("The mail:\nI live in Rome.", change("I live in Rome.", quote="I live in Rome"), "source"),
        ("> I live in Rome.\nWhat does he mean?", change("I live in Rome."), "quotation"),
        ("My PIN is 4711. I live in Oslo.", change("My PIN is 4711."), "quotation"),
        ("My password:\nhunter2.\nI live in Oslo.", change("hunter2"), "source"),
    ],
)
def test_a_change_that_the_message_does_not_support_is_refused(said: str, bad: dict[str, str], check: str):
    texts, refused = judged(bad, said=[said])
    assert (texts, refused) == ([], [check])


def test_one_bad_change_does_not_spoil_the_others():
    good = change("I live in Oslo.")
    assert judged(change("I live in Rome."), good, good, said=["I live in Oslo."]) == (
        ["I live in Oslo."],
        ["quotation", "excess"],
    )


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        (["A: Where do you live?", "In Oslo, since May."], change("I live in Oslo since May.", "m2", "In Oslo")),
        (["A: So you live in Porto?", "Yes, exactly."], change("I live in Porto.", "m2", "live in Porto")),
        (["About me:\n- vegan\n- two cats"], change("I am vegan", quote="vegan")),
        (["毎朝コーヒーを飲みます。"], change("毎朝コーヒーを飲みます")),
        (["Ich wohne jetzt in Köln, endlich!"], change("Ich wohne in Köln.", quote="wohne jetzt in Köln")),
    ],
)
def test_a_change_may_rest_on_a_question_or_a_confirmed_statement_of_the_assistant(
    said: list[str], stated: dict[str, str]
):
    texts, refused = judged(stated, said=said)
    assert (len(texts), refused) == (1, [])


def test_a_statement_of_the_assistant_that_is_not_confirmed_teaches_nothing():
    said = ["A: So you live in Porto?", "No, not any more."]
    assert judged(change("I live in Porto.", "m2", "live in Porto"), said=said) == ([], ["quotation"])


def test_a_message_that_is_taken_back_teaches_nothing():
    assert judged(change("I live in Oslo."), said=["I live in Oslo.", "Forget that."]) == ([], ["source"])


def test_one_message_cannot_end_all_that_is_known():
    """A text that a user pastes may tell the model to do so."""
    said = ["I own nothing, rent nothing, eat nothing, play nothing, want nothing."]
    words = ("own", "rent", "eat", "play", "want")
    ends = [change(f"I {word} nothing.", quote=word, change="end", known=f"k{n}") for n, word in enumerate(words, 1)]
    texts, refused = judged(*ends, said=said, known=5)
    assert (len(texts), refused) == (3, ["excess", "excess"])


@settings(max_examples=15)
@given(
    answer=st.one_of(st.text(), st.recursive(st.none() | st.text(), st.lists).map(lambda v: orjson.dumps(v).decode()))
)
def test_no_answer_is_more_than_refused(answer: str):
    exchanges = exchanges_of(conversation("I live in Oslo."), reached_seq=0)
    for text in (answer, f'{{"changes": {orjson.dumps([answer]).decode()}}}'):
        with suppress(NotUsable):
            assert statements_in(text, exchanges, [])[0] == []


def test_an_answer_with_too_many_changes_is_not_used():
    exchanges = exchanges_of(conversation("I live in Oslo."), reached_seq=0)
    with pytest.raises(NotUsable):
        statements_in(orjson.dumps({"changes": [{}] * (CHANGES_MAX + 1)}).decode(), exchanges, [])


def test_a_prompt_has_a_limit_and_at_least_one_new_message():
    utterances = conversation(*["x" * 3_900 for _ in range(20)])
    fitting = that_fit(utterances, reached_seq=3)
    assert 4 <= len(fitting) < 20
    assert sum(len(utterance.text) for utterance in fitting) <= ASKED_CHARS_MAX
    assert len(that_fit(utterances, reached_seq=18)) == 19


@pytest.fixture(scope="module")
async def both(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[World, ChatServer]]:
    folder = tmp_path_factory.mktemp("blobs")
    with pytest.MonkeyPatch.context() as patched, cloned(postgres) as urls:
        patched.setattr(learn, "INTERVAL_S", 0.05)
        patched.setattr(learn, "DELAY_S", 0.05)
        patched.setattr(learn, "DELAY_S_MAX", 0.2)
        patched.setattr(endpoint, "PAUSE_S", 0.0)
        patched.setattr(endpoint, "PAUSE_S_MAX", 0.0)
        async with chat_server() as server:
            fields: dict[str, Any] = {"learning_idle_s": 0.2, "llm_url": server.url, "llm_timeout_s": 0.3}
            async with (
                running(urls.service, folder, callers=ApiKeys(KEYS), **fields) as one,
                running(urls.service, folder, callers=ApiKeys(KEYS), **fields) as another,
                grpc.aio.insecure_channel(one.context) as first,
                grpc.aio.insecure_channel(another.context) as second,
            ):
                yield World(replicas=(Caller(first), Caller(second)), urls=urls), server


@pytest.fixture
def model(both: tuple[World, ChatServer]) -> ChatServer:
    server = both[1]
    server.requests.clear()
    server.answer = changing()
    return server


@pytest.fixture
def world(both: tuple[World, ChatServer], model: ChatServer) -> World:
    with psycopg.connect(both[0].urls.superuser, autocommit=True) as connection:
        for table in ("memory", "memory_user", "memory_refusal", "context_setting", "outbox"):
            connection.execute(f"DELETE FROM context.{table}")
    return both[0]


def asked(model: ChatServer) -> list[str]:
    return [body["messages"][-1]["content"] for _, body in model.requests]


async def test_a_model_learns_what_no_rule_knows(world: World, model: ChatServer):
    model.answer = changing(change("Mondays are when I visit my gran.", "m2", "visit my gran", kind="event"))
    context_id = await world.said("A: Hi.", "Mondays are when I visit my gran.", learning=MODEL)

    (memory,) = await world.learned()

    assert (memory.text, memory.kind, memory.is_learned) == (
        "Mondays are when I visit my gran.",
        pb.MEMORY_KIND_EVENT,
        True,
    )
    (source,) = memory.sources
    assert (source.context_id, source.ref, source.label) == (context_id, "m2", LABEL)
    (prompt,) = asked(model)
    assert "[m2] user\n> Mondays are" in prompt


async def test_a_replacement_and_an_end_supersede_what_was_known(world: World, model: ChatServer):
    ada = world.replicas[0].of("ada")
    for text in ("I commute by tram.", "I have a dog called Rex."):
        await ada.call("RetainMemory", memory={"text": text})

    def answer(body: dict[str, Any]) -> web.StreamResponse:
        known = dict(re.findall(r"^(k\d+)\n> (.*)$", body["messages"][-1]["content"], re.MULTILINE))
        by_text = {text: name for name, text in known.items()}
        return changing(
            change("I commute by bike now.", change="replace", known=by_text["I commute by tram."]),
            change("My dog Rex died.", change="end", known=by_text["I have a dog called Rex."]),
        )(body)

    model.answer = answer
    await world.said("I commute by bike now. My dog Rex died.", learning=MODEL)
    tram, rex, bike, died = await world.learned()
    assert (tram.superseded_by, rex.superseded_by) == (bike.memory_id, died.memory_id)
    assert tram.HasField("valid_to")
    # Refusing the new one brings the old one back: nothing was overwritten.
    await ada.call("ForgetMemory", memory_id=bike.memory_id)
    (tram, *_) = await world.learned()
    assert (tram.superseded_by, tram.HasField("valid_to")) == ("", False)


@pytest.mark.parametrize(
    "bad",
    [
        says("I'm sorry, I cannot help with that."),
        says("x" * 2_000_000),
        says('{"changes": "all"}'),
        lambda _: web.Response(text="<html>"),
        lambda _: web.json_response({"error": "too long"}, status=400),
    ],
    ids=["words", "2 MB", "no list", "html", "400"],
)
async def test_rules_read_messages_to_which_a_model_gives_no_usable_answer(
    world: World, model: ChatServer, bad: Answer
):
    model.answer = bad
    await world.said("I live in Oslo.", learning=MODEL)
    assert await world.texts() == ["I live in Oslo."]
    assert len(model.requests) == learn.MODEL_ATTEMPTS_MAX


@pytest.mark.parametrize("how", ["500", "late", "gone"])
async def test_a_model_that_does_not_answer_delays_and_loses_nothing(world: World, model: ChatServer, how: str):
    answers: dict[str, Answer] = {
        "500": lambda _: web.json_response({"error": "no"}, status=500),
        "gone": lambda _: web.Response(status=404),
    }
    model.answer = answers.get(how, changing(change("Mondays are when I visit my gran.")))
    if how == "late":
        model.gate.clear()
    await world.said("Mondays are when I visit my gran. I live in Oslo.", learning=MODEL)
    async with asyncio.timeout(20):
        while len(model.requests) < learn.MODEL_ATTEMPTS_MAX + 1:
            await asyncio.sleep(0.02)
    assert world.count("SELECT count(*) FROM context.memory") == 0

    model.gate.set()
    model.answer = changing(change("Mondays are when I visit my gran."))
    (memory,) = await world.learned()
    assert (memory.text, len(memory.sources), memory.version) == ("Mondays are when I visit my gran.", 1, 1)


async def test_no_text_goes_to_a_model_where_models_are_switched_off(world: World, model: ChatServer):
    """Rules learn there, and what they have learned does not reach the model by a later context, either."""
    await world.said("I keep bees in Oslo.", "I live in Oslo.", learning=MODEL, models="MODEL_USE_OFF")
    assert await world.texts() == ["I live in Oslo."]
    assert not model.requests

    await world.said("I am in Oslo with my bees.", learning=MODEL)
    await world.learned()
    assert len(asked(model)) == 1
    assert "I live in Oslo" not in asked(model)[0]


async def test_no_memory_of_another_app_goes_to_a_model(world: World, model: ChatServer):
    ada = world.replicas[0].of("ada")
    for app_id, text in (("shop", "I want shoes in Oslo."), ("payroll", "My salary in Oslo is low.")):
        await ada.call("RetainMemory", memory={"text": text, "app_id": app_id})
    await world.said("I am still in Oslo.", learning=MODEL, app_id="shop")
    await world.learned()
    (prompt,) = asked(model)
    assert "shoes" in prompt
    assert "salary" not in prompt


async def test_a_refused_statement_is_not_learned_from_a_model_either(world: World, model: ChatServer):
    model.answer = changing(change("I live in Oslo."))
    ada = world.replicas[0].of("ada")
    await world.said("I live in Oslo.", learning=MODEL)
    (memory,) = await world.learned()
    await ada.call("ForgetMemory", memory_id=memory.memory_id)
    await world.said("I live in Oslo.", learning=MODEL)
    assert await world.texts() == []


async def test_retracting_the_message_forgets_what_a_model_learned_from_it(world: World, model: ChatServer):
    model.answer = changing(change("I commute by bike."))
    ada = world.replicas[0].of("ada")
    sent = await ada.append("", MessageInput(content="I commute by bike."), context={"learning": MODEL})
    assert await world.texts() == ["I commute by bike."]
    model.answer = changing()
    await ada.call("RetractMessages", context_id=sent.context_id, message_ids=[sent.messages[0].message_id])
    assert await world.texts() == []


async def test_a_good_model_learns_nine_of_ten_statements_of_strangers(world: World, model: ChatServer):
    """End to end, with a model that knows the labels but overlooks some, and invents others."""
    messages = list(labelled(HELD_OUT))[:110]
    labels = [clause for message in messages for _, clause in message.labels]

    def answer(body: dict[str, Any]) -> web.StreamResponse:
        found, before = [], ""
        for ref, user, assistant in _BLOCK.findall(body["messages"][-1]["content"]):
            if not ref:
                before = assistant
                continue
            text = " ".join(line[2:] for line in (before + user).splitlines())
            for number, clause in enumerate(labels):
                if clause.rstrip(".!") in text and number % 20:
                    found.append(change(clause, ref, clause.rstrip(".!")))
            if len(text) % 9 == 0:
                found.append(change("I live in Atlantis with 77 cats.", ref, text[:12]))
            before = ""
        return changing(*found)(body)

    model.answer = answer
    texts: list[str] = []
    for start in range(0, len(messages), 55):
        part = [
            utterance.text if utterance.is_user else f"A: {utterance.text}"
            for message in messages[start : start + 55]
            for utterance in message.utterances
        ]
        await world.said(*part, learning=MODEL)
    async with asyncio.timeout(60):
        while world.count("SELECT count(*) FROM context.outbox WHERE topic = 'learning'"):
            await asyncio.sleep(0.05)
    with psycopg.connect(world.urls.superuser, autocommit=True) as connection:
        texts = [row[0] for row in connection.execute("SELECT text FROM context.memory").fetchall()]
    folded = {clause.rstrip(".!").casefold() for clause in labels}
    right = [text for text in texts if text.rstrip(".!").casefold() in folded]
    assert len(right) >= 0.9 * len(texts)
    assert len({text.rstrip(".!").casefold() for text in right}) >= 0.9 * len(folded)
