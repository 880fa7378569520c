"""Contexts that are filled from histories of the graph: synced twice is synced once, and what changed there changes."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from context_service.contexts.rules import messages as messaging
from context_service.contexts.rules import sync_history as syncing
from contextkeep import ContextInput, ExternalId, MessageInput, RecallFilter
from contextkeep.client.aio import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import (
    ContextClosed,
    ContextKeepError,
    ContextNotFound,
    InvalidArgument,
    LimitExceeded,
    MappingNotFound,
    NodeNotFound,
    PermissionDenied,
    RecordNotFound,
    Unavailable,
)
from contextkeep.values import ChatMessage, SyncedHistory
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import cloned
from tests.context_service.contexts.callers import KEYS
from tests.media import png

# A node gives a message for each of its lines; a failing or an empty one is left to the node.
RULES = {
    "messages": [
        {"for_each": "entity.data.lines", "role": "'user'", "content": "item"},
        {"when": "has(entity.data.note)", "role": "'assistant'", "content": "entity.data.note + ''"},
    ],
    "edge_types": ["HAS"],
    "include_start": False,
}


@dataclass(frozen=True, kw_only=True)
class Stack:
    addresses: Any

    def clients(self, key: str = "plain") -> tuple[AsyncContextClient, AsyncEntityClient]:
        return (
            AsyncContextClient(self.addresses.context, api_key=key, retries=0),
            AsyncEntityClient(self.addresses.entity, api_key=key),
        )


@dataclass(frozen=True, kw_only=True)
class Session:
    """A session of the graph, and the one context that it is synced to."""

    context: AsyncContextClient
    graph: AsyncEntityClient
    external_id: str

    async def say(self, content: str, role: Any = "user") -> str:
        said = await self.graph.graph.append_message(
            role=role, content=content, external_id=self.external_id, create=True
        )
        return said.node_id

    async def sync(self, **fields: Any) -> SyncedHistory:
        only = ExternalId(system="graph", id=self.external_id)
        named = {"get_or_create": only, "external_id": self.external_id, **fields}
        return await self.context.contexts.sync_history(**named)

    async def messages(self, context_id: str, **fields: Any) -> list[ChatMessage]:
        return [one async for one in self.context.contexts.list_messages(context_id, **fields)]

    async def texts(self, context_id: str) -> list[str]:
        return [one.content for one in await self.messages(context_id)]


def counts(synced: SyncedHistory) -> tuple[int, int, int]:
    return synced.appended_count, synced.retracted_count, synced.unchanged_count


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        folder: Path = tmp_path_factory.mktemp("blobs")
        async with running(urls.service, folder, callers=ApiKeys(KEYS)) as addresses:
            yield Stack(addresses=addresses)


@pytest.fixture
async def session(stack: Stack) -> AsyncIterator[Session]:
    context, graph = stack.clients()
    async with context, graph:
        yield Session(context=context, graph=graph, external_id=f"session-{uuid.uuid4()}")


async def test_a_history_synced_twice_is_synced_once(session: Session):
    await session.say("Where is my file?")
    await session.say("In the drawer.", role="assistant")
    first = await session.sync()
    assert (first.created, counts(first)) == (True, (2, 0, 0))
    again = await session.sync()
    assert (again.created, again.context_id, counts(again)) == (False, first.context_id, (0, 0, 2))

    await session.say("Which one?")
    assert counts(await session.sync()) == (1, 0, 2)
    assert await session.texts(first.context_id) == ["Where is my file?", "In the drawer.", "Which one?"]
    roles = [one.role for one in await session.messages(first.context_id)]
    assert roles == ["user", "assistant", "user"]
    hits = await session.context.contexts.search(first.context_id, "drawer")
    assert [one.text for one in hits] == ["In the drawer.", "Where is my file?"]


async def test_what_was_said_in_the_graph_was_said_then(session: Session):
    node_id = await session.say("Hello")
    synced = await session.sync()
    (message,) = await session.messages(synced.context_id)
    assert message.said_at == (await session.graph.graph.get_node(node_id)).created_at
    assert message.message_id.startswith(f"history:{node_id}:")


async def test_what_was_said_by_a_node_is_about_it(session: Session):
    first = await session.say("It is about a zebra.")
    second = await session.say("Which zebra?")
    synced = await session.sync()
    for node_id, texts in ((first, ["It is about a zebra."]), (second, ["Which zebra?"]), (str(uuid.uuid4()), [])):
        only = RecallFilter(entity_node_ids=[node_id])
        found = await session.context.contexts.search(synced.context_id, "zebra", filter=only)
        assert [one.text for one in found] == texts


async def test_of_a_changed_node_the_new_message_is_appended_and_the_old_one_retracted(session: Session):
    await session.say("first")
    node_id = await session.say("It is on Monday.")
    synced = await session.sync()
    data = (await session.graph.graph.get_node(node_id)).data
    await session.graph.graph.update_node_data(node_id, {**data, "content": "It is on Friday."})
    assert counts(await session.sync()) == (1, 1, 1)
    assert await session.texts(synced.context_id) == ["first", "It is on Friday."]
    assert await session.context.contexts.search(synced.context_id, "monday") == []
    assert counts(await session.sync()) == (0, 0, 2)

    await session.graph.graph.update_node_data(node_id, data)  # back again: a version of its own
    assert counts(await session.sync()) == (1, 1, 1)
    assert await session.texts(synced.context_id) == ["first", "It is on Monday."]


async def test_what_somebody_retracted_stays_so(session: Session):
    await session.say("a secret")
    synced = await session.sync()
    (message,) = await session.messages(synced.context_id)
    await session.context.contexts.retract_messages(synced.context_id, [message.message_id])
    assert counts(await session.sync()) == (0, 0, 1)
    assert await session.texts(synced.context_id) == []


async def test_messages_of_others_stay_where_they_are(session: Session):
    """Also one with an id that looks like ours."""
    node_id = await session.say("from the graph")
    synced = await session.sync()
    for message_id in (f"history:{node_id}:zz", f"history:{node_id}:1:2:3:4:5", "mine"):
        await session.context.contexts.send(MessageInput(message_id, message_id=message_id), synced.context_id)
    assert counts(await session.sync()) == (0, 0, 1)
    assert len(await session.texts(synced.context_id)) == 4


async def test_a_node_gives_several_messages_and_fewer_when_it_changed(session: Session):
    await session.context.mappings.register("lines", RULES)
    root = await session.graph.graph.create_node("Session", name="root", external_id=session.external_id)
    node = await session.graph.graph.create_node("Lines", data={"lines": ["a", "b", "c"]})
    await session.graph.graph.create_edge(root.id, node.id, "HAS")
    synced = await session.sync(mapping_name="lines")
    assert counts(synced) == (3, 0, 0)
    await session.graph.graph.update_node_data(node.id, {"lines": ["a"], "note": "fewer"})
    assert counts(await session.sync(mapping_name="lines")) == (2, 3, 0)
    assert await session.texts(synced.context_id) == ["a", "fewer"]

    await session.graph.graph.update_node_data(node.id, {"lines": ["a"], "note": 1})  # the rule fails on it
    failed = await session.sync(mapping_name="lines")
    assert (failed.nodes_failed, counts(failed)) == (1, (0, 0, 0))
    assert await session.texts(synced.context_id) == ["a", "fewer"]


async def test_a_long_history_is_written_in_batches_and_goes_on_where_it_broke(
    session: Session, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(syncing, "_NODES", 4)
    monkeypatch.setattr(syncing, "MESSAGES_MAX", 3)
    for number in range(10):
        await session.say(f"message {number}")
    send, sent = messaging.Messaging.send, 0

    async def failing(self: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent == 3:
            raise Unavailable("gone")
        return await send(self, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(messaging.Messaging, "send", failing)
        with pytest.raises(Unavailable):
            await session.sync()
    rest = await session.sync()
    assert (rest.created, counts(rest)) == (False, (6, 0, 4))
    assert await session.texts(rest.context_id) == [f"message {number}" for number in range(10)]


NAMED = {
    "messages": [
        {
            "role": "'user'",
            "content": "entity.data.said",
            "name": "entity.data.name",
            "parts": "has(entity.data.record) ? [{'type': 'record', 'working_memory_id': entity.data.record}] : []",
        }
    ],
    "edge_types": ["HAS"],
    "include_start": False,
}


async def test_what_a_context_does_not_take_is_left_out_and_told(session: Session, monkeypatch: pytest.MonkeyPatch):
    """The others go in, an older version stays, and once it can be taken, it is."""
    monkeypatch.setattr(syncing, "_SHOWN_MAX", 2)
    await session.context.mappings.register("named", NAMED)
    root = await session.graph.graph.create_node("Session", name="root", external_id=session.external_id)
    nodes = []

    async def said(content: str, **data: str) -> str:
        node = await session.graph.graph.create_node("Said", data={"said": content, "name": "Ada", **data})
        await session.graph.graph.create_edge(root.id, node.id, "HAS")
        nodes.append(node.id)
        return node.id

    record = str(uuid.uuid4())
    changing, lacking = await said("one"), await said("two", record=record)
    await said("three", name="a" * 5_000)
    await said("four", record="no id")
    await said("five")
    synced = await session.sync(mapping_name="named")
    assert counts(synced) == (2, 0, 0)
    assert synced.left_out_count == 3
    assert [(one.node_id, one.reason) for one in synced.left_out] == [
        (lacking, "RECORD_NOT_FOUND"),
        (nodes[2], "LIMIT_EXCEEDED"),
    ]
    assert "message.name" in synced.left_out[1].detail
    assert await session.texts(synced.context_id) == ["one", "five"]

    data = (await session.graph.graph.get_node(changing)).data
    await session.graph.graph.update_node_data(changing, {**data, "said": "one again", "record": "no id"})
    again = await session.sync(mapping_name="named")
    assert (counts(again), again.left_out_count) == ((0, 0, 1), 4)
    assert await session.texts(synced.context_id) == ["one", "five"]

    await session.context.records.insert("data/json", "plan", content={"a": 1}, working_memory_id=record)
    await session.graph.graph.update_node_data(changing, {**data, "said": "one again", "record": None})
    last = await session.sync(mapping_name="named")
    assert (counts(last), last.left_out_count) == ((2, 1, 1), 2)
    assert await session.texts(synced.context_id) == ["five", "one again", "two"]


SHOWN = {
    "messages": [
        {"role": "'user'", "content": "entity.data.said", "parts": "[{'type': 'url', 'url': entity.data.shown}]"},
    ],
    "edge_types": ["HAS"],
    "include_start": False,
}


async def test_a_sync_deletes_the_picture_of_a_message_that_it_retracts(session: Session):
    await session.context.mappings.register("shown", SHOWN)
    root = await session.graph.graph.create_node("Session", name="root", external_id=session.external_id)
    pictures = [f"data:image/png;base64,{b64encode(png(4, 4, color=color)).decode()}" for color in (91, 92)]
    node = await session.graph.graph.create_node("Shown", data={"said": "a map", "shown": pictures[0]})
    await session.graph.graph.create_edge(root.id, node.id, "HAS")
    synced = await session.sync(mapping_name="shown")
    (before,) = await session.messages(synced.context_id)
    await session.graph.graph.update_node_data(node.id, {"said": "a map", "shown": pictures[1]})
    assert counts(await session.sync(mapping_name="shown")) == (1, 1, 0)

    (after,) = await session.messages(synced.context_id)
    assert await session.context.blobs.get_content(after.parts[0].file.working_memory_id) == png(4, 4, color=92)
    with pytest.raises(RecordNotFound):
        await session.context.blobs.get_content(before.parts[0].file.working_memory_id)
    await session.graph.graph.update_node_data(node.id, {"said": "the map again", "shown": pictures[1]})
    assert counts(await session.sync(mapping_name="shown")) == (1, 1, 0)
    assert await session.context.blobs.get_content(after.parts[0].file.working_memory_id) == png(4, 4, color=92)


async def test_a_history_of_which_nothing_is_taken_begins_nothing(session: Session):
    await session.context.mappings.register("named", NAMED)
    root = await session.graph.graph.create_node("Session", name="root", external_id=session.external_id)
    node = await session.graph.graph.create_node("Said", data={"said": "x", "name": "", "record": str(uuid.uuid4())})
    await session.graph.graph.create_edge(root.id, node.id, "HAS")
    synced = await session.sync(mapping_name="named")
    assert (synced.context_id, synced.left_out_count) == ("", 1)
    with pytest.raises(LimitExceeded):
        await session.sync(context=ContextInput(title="t" * 1_000), external_id=await _said_somewhere(session))


async def _said_somewhere(session: Session) -> str:
    external_id = f"other-{uuid.uuid4()}"
    await session.graph.graph.append_message(role="user", content="x", external_id=external_id, create=True)
    return external_id


async def test_a_context_that_takes_nothing_is_refused_before_anything_is_read(session: Session, stack: Stack):
    await session.say("hello")
    context_id = (await session.sync()).context_id
    await session.context.contexts.close(context_id)
    for named in ({"context_id": context_id, "get_or_create": None}, {}):
        with pytest.raises(ContextClosed):
            await session.sync(**named)
    with pytest.raises(ContextNotFound):
        await session.sync(context_id=uuid.uuid4(), get_or_create=None)
    for named in ({"get_or_create": None}, {"context_id": context_id}):
        with pytest.raises(InvalidArgument):
            await session.sync(**named)
    other, _ = stack.clients("other")
    async with other:
        with pytest.raises(ContextNotFound):
            await other.contexts.sync_history(uuid.uuid4(), context_id=context_id)


async def test_the_graph_is_read_as_the_caller(session: Session, stack: Stack):
    """A node of another tenant is none; nothing is begun for what cannot be read."""
    node_id = await session.say("hello")
    other, _ = stack.clients("other")
    only = ExternalId(system="graph", id=session.external_id)
    async with other:
        with pytest.raises(NodeNotFound):
            await other.contexts.sync_history(node_id, get_or_create=only)
        assert [one async for one in other.contexts.get_by_external_id(only)] == []
    with pytest.raises(MappingNotFound):
        await session.sync(mapping_name="nobodys")


async def test_a_history_without_messages_begins_nothing(session: Session):
    node = await session.graph.graph.create_node("Session")
    synced = await session.sync(external_id="", node_id=node.id)
    assert synced == SyncedHistory()


async def test_a_runtime_fills_the_context_of_a_user(session: Session, stack: Stack):
    await session.say("for ada")
    runtime, _ = stack.clients("runtime")
    ada, _ = stack.clients("ada")
    async with runtime, ada:
        only = ExternalId(system="graph", id=session.external_id)
        synced = await runtime.contexts.sync_history(
            external_id=session.external_id, get_or_create=only, subject_user_id="ada"
        )
        assert [one.content async for one in ada.contexts.list_messages(synced.context_id)] == ["for ada"]
        key = await ada.contexts.issue_key(synced.context_id)
        with pytest.raises(PermissionDenied):
            await ada.contexts.sync_history(external_id=session.external_id, get_or_create=only, subject_user_id="bob")
    async with AsyncContextClient(stack.addresses.context, api_key=key.key) as bound:
        with pytest.raises(ContextKeepError):
            await bound.contexts.sync_history(external_id=session.external_id, context_id=synced.context_id)
