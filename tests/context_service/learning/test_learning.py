"""Memories that are learned from contexts in the background, by two replicas of the service."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import grpc
import psycopg
import pytest

from context_service.learning.rules import learn
from context_service.learning.store.queue import TOPIC
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.context.v1.message_pb2 import MessageInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller, at

OFF, RULES = "LEARNING_MODE_OFF", "LEARNING_MODE_RULES"


@dataclass(frozen=True, kw_only=True)
class World:
    """Two replicas that learn from contexts which are idle for a moment."""

    replicas: tuple[Caller, Caller]
    urls: Urls

    async def said(self, *texts: str, context_id: str = "", by: str = "", **header: Any) -> str:
        """Append messages, of which every other one is the assistant's if it begins with `A: `; return the context."""
        messages = [
            MessageInput(content=text[3:], role="assistant")
            if text.startswith("A: ")
            else MessageInput(content=text, name=by)
            for text in texts
        ]
        fields = {"context": {"learning": RULES, **header}} if not context_id else {}
        caller = self.replicas[len(texts) % 2].of("ada")
        answer = await caller.append(context_id, *messages, **fields)
        return str(answer.context_id)

    async def learned(self, **fields: Any) -> list[pb.Memory]:
        """Return the memories of Ada after all queued contexts are learned from, the first one first."""
        async with asyncio.timeout(30):
            while self.count("SELECT count(*) FROM context.outbox WHERE topic = %s", TOPIC):
                await asyncio.sleep(0.05)
        answer = await self.replicas[0].of("ada").call("ListMemories", **fields)
        return list(reversed(answer.memories))

    async def texts(self) -> list[str]:
        return [memory.text for memory in await self.learned()]

    def count(self, statement: str, *parameters: object) -> int:
        with psycopg.connect(self.urls.superuser, autocommit=True) as connection:
            row = connection.execute(statement, parameters).fetchone()
        return int(row[0]) if row else 0


@pytest.fixture(scope="module")
async def both(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("blobs")
    with pytest.MonkeyPatch.context() as patched, cloned(postgres) as urls:
        patched.setattr(learn, "INTERVAL_S", 0.05)
        fields: dict[str, Any] = {"learning_idle_s": 0.3}
        async with (
            running(urls.service, folder, callers=ApiKeys(KEYS), **fields) as one,
            running(urls.service, folder, callers=ApiKeys(KEYS), **fields) as another,
            grpc.aio.insecure_channel(one.context) as first,
            grpc.aio.insecure_channel(another.context) as second,
        ):
            yield World(replicas=(Caller(first), Caller(second)), urls=urls)


@pytest.fixture
def world(both: World) -> World:
    with psycopg.connect(both.urls.superuser, autocommit=True) as connection:
        for table in ("memory", "memory_user", "memory_refusal", "context_setting"):
            connection.execute(f"DELETE FROM context.{table}")
    return both


async def test_statements_of_the_user_become_memories_with_their_source(world: World):
    context_id = await world.said("Hi, can you help?", "A: Sure.", "I prefer aisle seats. My boss says he is allergic.")

    (memory,) = await world.learned()

    assert (memory.text, memory.kind, memory.is_learned) == ("I prefer aisle seats.", pb.MEMORY_KIND_PREFERENCE, True)
    (source,) = memory.sources
    assert (source.context_id, source.ref) == (context_id, "m3")
    assert (memory.owner_user_id, memory.created_by) == ("ada", "learning")


async def test_a_move_ends_the_old_address(world: World):
    first = MessageInput(content="I live in Bergen.", said_at=at(datetime(2026, 1, 5, tzinfo=UTC)))
    await world.replicas[0].of("ada").append("", first, context={"learning": RULES})
    assert await world.texts() == ["I live in Bergen."]
    later = MessageInput(content="I moved from Bergen to Oslo in May.", said_at=at(datetime(2026, 7, 5, tzinfo=UTC)))
    await world.replicas[0].of("ada").append("", later, context={"learning": RULES})
    old, new = await world.learned()
    assert old.superseded_by == new.memory_id
    assert new.valid_from.ToDatetime(UTC) == datetime(2026, 5, 1, tzinfo=UTC)


async def test_a_preference_that_is_said_twice_is_one_memory_with_two_sources(world: World):
    contexts = [await world.said("I prefer aisle seats."), await world.said("Hello.", "Well, I prefer aisle seats!")]
    (memory,) = await world.learned()
    assert {source.context_id for source in memory.sources} == set(contexts)


async def test_each_message_is_learned_from_once(world: World):
    """Also when messages come while the worker reads, and in steps of a few messages."""
    context_id = await world.said("I hate olives.")
    for number in range(6):
        await world.said(f"I have {number + 2} cats.", context_id=context_id)
        await asyncio.sleep(0.15)
    memories = await world.learned()
    assert [memory.text for memory in memories] == [
        "I hate olives.",
        *(f"I have {number} cats." for number in range(2, 8)),
    ]
    assert all(len(memory.sources) == 1 and memory.version == 1 for memory in memories)


async def test_a_long_context_is_learned_from_in_steps(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(learn, "MESSAGES_AT_ONCE", 7)
    await world.said(*(f"I have {number} cats." for number in range(2, 32)))
    assert await world.texts() == [f"I have {number} cats." for number in range(2, 32)]


async def test_what_a_killed_worker_has_not_written_another_learns(world: World, monkeypatch: pytest.MonkeyPatch):
    """The memories and the place in the queue are one transaction, so a step is done as a whole or not at all."""
    keep = learn.Memories.keep_learned
    kept = 0

    async def killed_after_one(self: Any, *arguments: Any, **named: Any) -> None:
        nonlocal kept
        kept += 1
        await keep(self, *arguments, **named)
        if kept == 2:
            raise asyncio.CancelledError

    monkeypatch.setattr(learn.Memories, "keep_learned", killed_after_one)
    monkeypatch.setattr("service_runtime.background_work.outbox.LEASE_S", 0.3)
    await world.said("I hate olives. I live in Oslo. I have two cats.")
    assert sorted(await world.texts()) == ["I hate olives.", "I have two cats.", "I live in Oslo."]


@pytest.mark.parametrize("whose", ["context", "tenant", "app", "agent"])
async def test_off_anywhere_teaches_nothing(world: World, whose: str):
    admin = world.replicas[0].of("admin")
    fields = {"tenant": {}, "app": {"app_id": "shop"}, "agent": {"agent_id": "clerk"}}
    if whose == "context":
        await admin.call("PutContextSetting", learning=RULES)
        await world.said("I live in Oslo.", learning=OFF)
    else:
        await admin.call("PutContextSetting", learning=OFF, **fields[whose])
        message = MessageInput(content="I live in Oslo.", agent_id="clerk")
        header = {"learning": RULES, "app_id": "shop"}
        await world.replicas[0].of("ada").append("", message, context=header)
    assert await world.texts() == []


@pytest.mark.parametrize("fields", [{}, {"app_id": "shop"}, {"agent_id": "clerk"}])
async def test_a_setting_lets_contexts_teach(world: World, fields: dict[str, str]):
    await world.replicas[0].of("admin").call("PutContextSetting", learning=RULES, **fields)
    message = MessageInput(content="I live in Oslo.", agent_id="clerk")
    await world.replicas[0].of("ada").append("", message, context={"app_id": "shop"})
    assert await world.texts() == ["I live in Oslo."]


async def test_without_a_setting_nothing_is_learned(world: World):
    await world.said("I live in Oslo.", learning="LEARNING_MODE_UNSPECIFIED")
    assert world.count("SELECT count(*) FROM context.outbox WHERE topic = %s", TOPIC) == 0
    assert await world.texts() == []


async def test_messages_from_before_learning_was_switched_on_teach_nothing(world: World):
    context_id = await world.said("I live in Oslo.", learning=OFF)
    change = {"context": {"learning": RULES}, "update_mask": {"paths": ["learning"]}}
    await world.replicas[0].of("ada").call("UpdateContext", context_id=context_id, **change)
    await world.said("I hate olives.", context_id=context_id)
    assert await world.texts() == ["I hate olives."]


async def test_a_closed_context_need_not_be_idle(both: World, world: World):
    context_id = await world.said("I live in Oslo.")
    with psycopg.connect(both.urls.superuser, autocommit=True) as connection:
        connection.execute("UPDATE context.outbox SET due_at = now() + interval '1 h' WHERE topic = %s", (TOPIC,))
    await world.replicas[0].of("ada").call("CloseContext", context_id=context_id)
    assert await world.texts() == ["I live in Oslo."]


async def test_other_users_of_the_context_and_tools_teach_nothing_about_its_owner(world: World):
    context_id = await world.said("I hate olives.", by="Ada")
    await world.said("I live in Rome.", context_id=context_id, by="Bob")
    result = {"tool_result": {"tool_call_id": "c", "content_json": '"I live in Rome."'}}
    ada = world.replicas[0].of("ada")
    await ada.append(context_id, MessageInput(role="tool", parts=[result]))
    data = {"data_json": '{"a": "I live in Rome."}'}
    await ada.append(context_id, MessageInput(role="user", name="Ada", parts=[data]))
    assert await world.texts() == ["I hate olives."]


async def test_a_retracted_message_teaches_nothing(world: World):
    ada = world.replicas[0].of("ada")
    sent = await ada.append("", MessageInput(content="I live in Oslo."), context={"learning": RULES})
    await ada.call("RetractMessages", context_id=sent.context_id, message_ids=[sent.messages[0].message_id])
    assert await world.texts() == []


async def test_retracting_the_message_or_deleting_the_context_forgets_what_they_taught(world: World):
    """A memory that another message teaches, too, stays with that source."""
    ada = world.replicas[0].of("ada")
    sent = await ada.append(
        "",
        MessageInput(content="I live in Oslo."),
        MessageInput(content="I hate olives. I have two ferrets."),
        context={"learning": RULES},
    )
    other = await world.said("I hate olives.")
    assert len(await world.texts()) == 3

    await ada.call("RetractMessages", context_id=sent.context_id, message_ids=[sent.messages[0].message_id])
    assert sorted(await world.texts()) == ["I hate olives.", "I have two ferrets."]
    await ada.call("DeleteContext", context_id=sent.context_id)
    (memory,) = await world.learned()
    assert (memory.text, [source.context_id for source in memory.sources]) == ("I hate olives.", [other])
    left = "SELECT count(*) FROM context.passage WHERE scope_kind = 'memory' AND text LIKE %s"
    assert world.count(left, "%ferrets%") == 0


async def test_forget_that_forgets_what_was_learned_before_and_for_good(world: World):
    context_id = await world.said("I hate olives.", "I live in Oslo.")
    assert len(await world.texts()) == 2
    await world.said("Please forget that.", context_id=context_id)
    assert await world.texts() == ["I hate olives."]
    await world.said("I live in Oslo.")
    assert await world.texts() == ["I hate olives."]


async def test_a_refused_memory_is_not_learned_again(world: World):
    """From another message that says the same, either; the user may still retain it."""
    ada = world.replicas[0].of("ada")
    await world.said("I live in Oslo.")
    (memory,) = await world.learned()
    await ada.call("ForgetMemory", memory_id=memory.memory_id)

    await world.said("I live in Oslo.", "A: Where do you live?", "I hate olives.")
    assert await world.texts() == ["I hate olives."]
    await ada.call("RetainMemory", memory={"text": "I live in Oslo."})
    assert sorted(await world.texts()) == ["I hate olives.", "I live in Oslo."]


async def test_a_corrected_memory_is_not_learned_again_as_it_was(world: World):
    ada = world.replicas[0].of("ada")
    await world.said("I live in Oslo.")
    (memory,) = await world.learned()
    await ada.call(
        "UpdateMemory",
        memory_id=memory.memory_id,
        memory={"text": "I live in Moss."},
        update_mask={"paths": ["text"]},
    )
    await world.said("I live in Oslo.")
    assert await world.texts() == ["I live in Moss."]


async def test_a_refused_memory_does_not_come_back_by_a_restore(world: World):
    """An archive from before the refusal still has the memory."""
    ada = world.replicas[0].of("ada")
    await world.said("I live in Oslo. I hate olives.")
    copied = "CREATE TABLE IF NOT EXISTS public.before AS SELECT * FROM context.memory"
    memories = await world.learned()
    with psycopg.connect(world.urls.superuser, autocommit=True) as connection:
        connection.execute(copied)
        await ada.call("ForgetMemory", memory_id=memories[0].memory_id)
        connection.execute("DELETE FROM context.memory")
        connection.execute("INSERT INTO context.memory SELECT * FROM public.before")
        connection.execute("DROP TABLE public.before")
    assert await world.texts() == [memories[1].text]


async def test_a_context_without_an_owner_and_a_fork_teach_nothing(world: World):
    plain = world.replicas[0].of("plain")
    await plain.append("", MessageInput(content="I live in Oslo."), context={"learning": RULES})
    assert await world.texts() == []
    assert world.count("SELECT count(*) FROM context.memory") == 0


async def test_no_text_of_another_context_is_read(world: World):
    """Memories of a user do not depend on what other users say at the same time."""
    bob = world.replicas[1].of("bob")
    await bob.append("", MessageInput(content="I live in Rome."), context={"learning": RULES})
    await world.said(f"I have {uuid.uuid4().int % 7 + 2} cats.")
    assert all("cats" in text for text in await world.texts())
    answer = await bob.call("ListMemories")
    assert [memory.text for memory in answer.memories] == ["I live in Rome."]
