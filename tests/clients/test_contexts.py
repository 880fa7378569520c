"""Contexts through both clients: what a client makes of values, and of calls that it repeats."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from contextkeep import (
    ArtifactInput,
    ContextInput,
    ExternalId,
    MessageInput,
    PartInput,
    Reasoning,
    RecallFilter,
    RecallOptions,
    ToolCall,
    ToolCallInput,
    ToolResult,
    ToolResultInput,
    new_id,
)
from contextkeep.client import _context_messages as contexts
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1.contexts_pb2_grpc import ContextsServicer
from contextkeep.errors import (
    ArtifactComplete,
    ArtifactNotFound,
    ContextClosed,
    ContextNotFound,
    ErasureNotFound,
    InvalidArgument,
    MessageExists,
    MessageNotFound,
    TaskEnded,
    TaskNotFound,
    Unavailable,
    VersionConflict,
)
from contextkeep.values import ContextKey, Part
from tests.clients.serving import serving

SAID_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BLOCK = Reasoning(provider="anthropic", data=b"\x00\xffsigned", text="thinking")


async def test_a_conversation_is_begun_gone_on_with_and_read(world, context):
    first = await world.run(
        context.contexts.send,
        "Hello",
        context=ContextInput(title="support", external_ids=[ExternalId("shop", "7")], metadata={"vip": True}),
    )
    assert (first.created, first.seq) == (True, 1)
    assert first.created_at is not None

    said = [
        MessageInput("Hi", role="agent", agent_id="helper", message_id="m-2", said_at=SAID_AT),
        MessageInput("Bye", name="Ann", metadata={"n": 1}),
    ]
    second, third = await world.run(context.contexts.append, said, first.context_id)
    assert [(one.context_id, one.created, one.seq) for one in (second, third)] == [
        (first.context_id, False, 2),
        (first.context_id, False, 3),
    ]

    found, messages = await world.run(context.contexts.get, first.context_id)
    assert (found.title, found.metadata, found.external_ids) == ("support", {"vip": True}, (ExternalId("shop", "7"),))
    assert (found.state, found.last_seq, found.message_count, found.agent_ids) == ("open", 3, 3, ("helper",))
    assert found.token_count == sum(one.tokens for one in messages)
    assert str(found) == "support (3 messages)"
    assert [str(one) for one in messages] == ["user: Hello", "assistant: Hi", "user: Bye"]
    assert (messages[1].said_at, messages[1].agent_id, messages[1].message_id) == (SAID_AT, "helper", "m-2")
    assert (messages[2].name, messages[2].metadata, messages[2].node_id) == ("Ann", {"n": 1}, "")
    assert await world.run(context.contexts.get_message, first.context_id, "m-2") == messages[1]
    assert (await world.run(context.contexts.get, first.context_id, history_length=1)).messages == messages[2:]
    assert (await world.run(context.contexts.get, first.context_id, history_length=0)).messages == []


async def test_lists_follow_their_pages(world, context):
    shop = ExternalId("shop", "7")
    sent = [
        await world.run(context.contexts.send, "x", context=ContextInput(external_ids=[shop], metadata={"n": n}))
        for n in range(3)
    ]
    newest_first = [one.context_id for one in reversed(sent)]
    begun = sent[0].context_id
    await world.run(context.contexts.append, ["y", "z"], begun)

    async def ids(method: Any, *args: Any, **kwargs: Any) -> list[str]:
        return [one.context_id for one in await world.run(method, *args, **kwargs)]

    assert await ids(context.contexts.get_by_external_id, shop, page_size=1) == newest_first
    assert await ids(context.contexts.list, page_size=2) == newest_first
    assert await ids(context.contexts.list, metadata_contains={"n": 1}) == [sent[1].context_id]
    assert await ids(context.contexts.list, external_id=shop, state="open", created_to=SAID_AT) == []
    messages = await world.run(context.contexts.list_messages, begun, page_size=1)
    assert [one.content for one in messages] == ["x", "y", "z"]
    backwards = await world.run(context.contexts.list_messages, begun, seq_from=2, newest_first=True, page_size=1)
    assert [one.seq for one in backwards] == [3, 2]


async def test_a_context_is_changed_field_by_field_and_closed(world, context):
    said = ContextInput(title="a", metadata={"n": 1}, expires_at=datetime.now(UTC) + timedelta(days=1))
    context_id = (await world.run(context.contexts.send, "x", context=said)).context_id

    changed = await world.run(context.contexts.update, context_id, metadata={"m": 2}, expires_at=None)
    assert (changed.title, changed.metadata, changed.expires_at) == ("a", {"m": 2}, None)
    changed = await world.run(context.contexts.update, context_id, title=None, external_ids=[ExternalId("s", "1")])
    assert (changed.title, changed.metadata, changed.external_ids) == ("", {"m": 2}, (ExternalId("s", "1"),))

    closed = await world.run(context.contexts.close, context_id)
    assert (closed.state, str(closed)) == ("closed", f"{context_id} (1 messages, closed)")
    with pytest.raises(ContextClosed):
        await world.run(context.contexts.send, "y", context_id)


async def test_every_kind_of_part_travels_and_what_was_read_goes_again_as_it_came(world, context):
    record = await world.run(context.records.insert, "data/json", "plan", content={"steps": []})
    parts = [
        PartInput(text="see", media_type="text/markdown", metadata={"index": False}),
        PartInput(data={"n": [1, None]}),
        PartInput(working_memory_id=record.working_memory_id),
        PartInput(url="https://example.com/a.png", file_name="a.png"),
        PartInput(tool_call=ToolCallInput(id="c-1", name="search", arguments={"q": "ü"})),
        PartInput(tool_call=ToolCallInput(id="c-2", name="search", arguments='{ "q" : 1 }')),
        PartInput(tool_result=ToolResultInput(tool_call_id="c-1", content=["found"], is_error=True)),
        PartInput(reasoning=BLOCK),
    ]
    sent = await world.run(context.contexts.send, MessageInput(role="assistant", parts=parts))
    read = await world.run(context.contexts.get_message, sent.context_id, sent.message_id)

    assert [part.kind for part in read.parts] == [
        *("text", "data_json", "working_memory_id", "url", "tool_call", "tool_call", "tool_result", "reasoning")
    ]
    text, data, _, _, call, verbatim, result, reasoning = read.parts
    assert (text.text, text.media_type, text.metadata) == ("see", "text/markdown", {"index": False})
    assert (data.data, call.tool_call.arguments) == ({"n": [1, None]}, {"q": "ü"})
    assert verbatim.tool_call == ToolCall(id="c-2", name="search", arguments_json='{ "q" : 1 }')
    assert result.tool_result == ToolResult(tool_call_id="c-1", content_json='["found"]', is_error=True)
    assert reasoning.reasoning == BLOCK

    again = await world.run(context.contexts.send, MessageInput(role="assistant", parts=read.parts))
    assert (await world.run(context.contexts.get_message, again.context_id, again.message_id)).parts == read.parts


async def test_secrets_are_named_by_their_places(world, context):
    parts = [PartInput(text="a"), PartInput(data={"type": "token", "value": "t"})]
    sent = await world.run(context.contexts.send, MessageInput(parts=parts))
    assert sent.redacted_parts == (1,)
    read = await world.run(context.contexts.get_message, sent.context_id, sent.message_id)
    assert read.parts[1].data == {"redacted": True}


async def test_a_standalone_message_leaves_nothing(world, context):
    sent = await world.run(context.contexts.send, "x", standalone=True)
    assert (sent.context_id, sent.seq, sent.created_at) == ("", 0, None)
    assert await world.run(context.contexts.list) == []


async def test_an_id_of_ones_own_is_one_context(world, context):
    thread = ExternalId("threads", "42")
    first = await world.run(context.contexts.send, "a", get_or_create=thread)
    second = await world.run(context.contexts.append, ["b"], get_or_create=thread)
    assert (first.created, second[0].created) == (True, False)
    assert second[0].context_id == first.context_id


async def test_an_id_of_a_message_is_its_own(world, context):
    sent = await world.run(context.contexts.send, MessageInput("a", message_id="m"))
    assert await world.run(context.contexts.send, MessageInput("a", message_id="m"), sent.context_id)
    with pytest.raises(MessageExists):
        await world.run(context.contexts.send, MessageInput("b", message_id="m"), sent.context_id)


async def test_retracted_messages_are_counted_once(world, context):
    sent = await world.run(context.contexts.append, [MessageInput("a", message_id="m"), "b"])
    context_id = sent[0].context_id
    assert await world.run(context.contexts.retract_messages, context_id, ["m"]) == 1
    assert await world.run(context.contexts.retract_messages, context_id, ["m"]) == 0
    with pytest.raises(MessageNotFound):
        await world.run(context.contexts.get_message, context_id, "m")


async def test_what_is_not_there_is_not_found(world, context):
    with pytest.raises(ContextNotFound):
        await world.run(context.contexts.send, "x", new_id())
    with pytest.raises(ContextNotFound):
        await world.run(context.contexts.get, new_id())


async def test_the_user_of_a_call_goes_along(world, context):
    """What is Ada's is not there for Bob; the key of these tests may call for both."""
    context_id = (await world.run(context.contexts.send, "x", subject_user_id="ada")).context_id
    for method, *args in (
        (context.contexts.send, "y", context_id),
        (context.contexts.append, ["y"], context_id),
        (context.contexts.recall, context_id, "x"),
        (context.contexts.search, context_id, "x"),
        (context.contexts.get, context_id),
        (partial(context.contexts.update, title="t"), context_id),
        (context.contexts.close, context_id),
        (context.contexts.list_messages, context_id),
        (context.contexts.get_message, context_id, "m"),
        (context.contexts.retract_messages, context_id, ["m"]),
        (partial(context.contexts.sync_history, context_id=context_id), str(new_id())),
        (context.contexts.issue_key, context_id),
    ):
        with pytest.raises(ContextNotFound):
            await world.run(method, *args, subject_user_id="bob")
    for user, seen in (("bob", False), ("ada", True)):
        listed = await world.run(context.contexts.list, subject_user_id=user)
        assert (context_id in {one.context_id for one in listed}) is seen


async def test_a_history_of_the_graph_is_synced_and_what_is_new_in_it(world, context, graph):
    thread = ExternalId("graph", new_id())
    await world.run(graph.graph.append_message, role="user", content="Hello", external_id=thread.id, create=True)
    synced = await world.run(context.contexts.sync_history, external_id=thread.id, get_or_create=thread)
    assert (synced.created, synced.appended_count, synced.unchanged_count) == (True, 1, 0)
    await world.run(graph.graph.append_message, role="assistant", content="Hi", external_id=thread.id)
    again = await world.run(context.contexts.sync_history, external_id=thread.id, context_id=synced.context_id)
    assert (again.context_id, again.created, again.appended_count) == (synced.context_id, False, 1)


async def test_a_key_of_a_context_is_made(world, context):
    context_id = (await world.run(context.contexts.send, "x")).context_id
    made = await world.run(context.contexts.issue_key, context_id, scopes=["read"], ttl_s=60)
    assert made.key.startswith("cgc_")
    assert timedelta(0) < made.expires_at - datetime.now(UTC) <= timedelta(seconds=60)


async def test_what_matters_is_recalled_within_a_budget(world, context):
    cat = MessageInput("The cat is black.", name="Ann", message_id="cat", said_at=SAID_AT)
    said = [cat, *(f"It rains on day {n}." for n in range(5))]
    context_id = (await world.run(context.contexts.append, said))[0].context_id

    recalled = await world.run(
        context.contexts.recall, context_id, "Is the cat grey?", tokens_max=1000, with_features=True
    )
    (item,) = recalled.items
    assert (item.ref, item.kind, item.seq, item.message_id) == ("m1.0", "text", 1, "cat")
    assert (item.role, item.name, item.said_at, item.text) == ("user", "Ann", SAID_AT, "The cat is black.")
    assert item.score > 0
    assert item.tokens > 0
    assert sum(item.features.values()) == pytest.approx(item.score)
    assert str(item) == "[m1.0] user: The cat is black."
    assert "[m1.0]" in str(recalled)
    assert (0 < recalled.tokens <= 1000, recalled.left_out_count, recalled.error) == (True, 0, "")

    cut = await world.run(
        context.contexts.recall, context_id, "On which day does it rain?", items_max=2, profile="conversation"
    )
    assert len(cut.items) == 2
    assert cut.left_out_count > 0
    assert cut.items[0].features == {}
    assert (await world.run(context.contexts.recall, context_id, "elephants")).prompt_text == ""


async def test_what_is_recalled_and_found_can_be_filtered(world, context):
    said = [
        MessageInput("One zebra.", role="assistant", name="Ann", said_at=SAID_AT),
        MessageInput("Two zebra.", said_at=SAID_AT + timedelta(hours=1)),
        MessageInput(parts=[PartInput(data={"animal": "zebra"})], said_at=SAID_AT + timedelta(hours=2)),
    ]
    context_id = (await world.run(context.contexts.append, said))[0].context_id

    for only, seqs in (
        (None, [1, 2, 3]),
        (RecallFilter(roles=["assistant"]), [1]),
        (RecallFilter(authors=["Ann"]), [1]),
        (RecallFilter(kinds=["data"]), [3]),
        (RecallFilter(said_from=SAID_AT + timedelta(hours=1)), [2, 3]),
        (RecallFilter(said_to=SAID_AT + timedelta(hours=1)), [1]),
        (RecallFilter(seq_from=2, seq_to=2), [2]),
        (RecallFilter(entity_node_ids=[new_id()]), []),
    ):
        found = await world.run(context.contexts.search, context_id, "zebra", filter=only)
        assert sorted(item.seq for item in found) == seqs, only
        recalled = await world.run(context.contexts.recall, context_id, "zebra", filter=only)
        assert sorted(item.seq for item in recalled.items) == seqs, only
    assert len(await world.run(context.contexts.search, context_id, "zebra", limit=1)) == 1
    held = await world.run(context.contexts.recall, context_id, "zebra", not_after_seq=1)
    assert [item.seq for item in held.items] == [1]
    with pytest.raises(InvalidArgument):
        await world.run(context.contexts.search, context_id, "zebra", profile="none of them")


async def test_a_message_comes_back_with_what_matters_to_it(world, context):
    first = await world.run(context.contexts.send, "The cat is black.")
    assert first.recalled is None

    async def recalled(said: MessageInput | str, **options: Any) -> list[str] | None:
        sent = await world.run(context.contexts.send, said, first.context_id, **options)
        return None if sent.recalled is None else [item.text for item in sent.recalled.items]

    assert await recalled("Is the cat grey?") == ["The cat is black."]
    assert await recalled("Is the cat grey?", recall=False) is None
    assert await recalled(MessageInput("No cat is grey.", role="assistant")) is None
    asked = RecallOptions(tokens_max=500, filter=RecallFilter(seq_to=1))
    assert await recalled(MessageInput("No cat at all.", role="assistant"), recall=asked) == ["The cat is black."]


async def test_a_task_is_begun_talked_about_and_ended(world, context):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    task = await world.run(context.tasks.create, context_id, metadata={"n": 1})
    assert (task.context_id, task.state, task.version, task.metadata) == (context_id, "submitted", 1, {"n": 1})
    assert (task.has_ended, str(task)) == (False, f"{task.task_id} (submitted)")

    sent = await world.run(context.contexts.send, MessageInput("About it", task_id=task.task_id))
    assert sent.context_id == context_id
    asked = await world.run(context.tasks.update, task.task_id, state="input_required", status_message="Which?")
    assert (asked.state, asked.status_message.role, asked.status_message.content) == (
        "input_required",
        "assistant",
        "Which?",
    )
    found = await world.run(context.tasks.get, task.task_id, context_id=context_id)
    assert found.task == asked
    assert [(one.content, one.task_id) for one in found.messages] == [("About it", task.task_id)]
    assert (await world.run(context.tasks.get, task.task_id, history_length=0)).messages == []

    said = MessageInput("No.", message_id="m", agent_id="clerk")
    failed = await world.run(context.tasks.update, task.task_id, state="FAILED", status_message=said, metadata={"n": 2})
    assert (failed.has_ended, failed.metadata) == (True, {"n": 2})
    assert (failed.status_message.message_id, failed.status_message.agent_id) == ("m", "clerk")
    assert (failed.status_message.seq, failed.status_message.task_id) == (0, "")
    with pytest.raises(TaskEnded):
        await world.run(context.tasks.cancel, task.task_id)


async def test_what_goes_on_with_a_task_refers_to_it(world, context):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    first = await world.run(context.tasks.create, context_id, state="completed")
    second = await world.run(context.tasks.create, context_id, reference_task_ids=[first.task_id])
    said = MessageInput("x", task_id=second.task_id, reference_task_ids=[first.task_id])
    sent = await world.run(context.contexts.send, said)
    found = await world.run(context.contexts.get_message, context_id, sent.message_id)
    assert found.reference_task_ids == second.reference_task_ids == (first.task_id,)
    assert await world.run(context.tasks.list, context_id, page_size=1) == [second, first]
    assert await world.run(context.tasks.list, context_id, states=["completed"]) == [first]
    canceled = await world.run(context.tasks.cancel, second.task_id)
    assert await world.run(context.tasks.cancel, second.task_id) == canceled


async def test_what_a_task_makes_is_put_in_chunks_found_and_read(world, context):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    task = await world.run(context.tasks.create, context_id)
    first = ArtifactInput([PartInput(text="The giraffe eats acacia.")], artifact_id="plan", metadata={"n": 1})
    made = await world.run(context.artifacts.put, task.task_id, first)
    assert (made.version, made.parts, made.is_complete, str(made)) == (1, (), False, "plan (version 1)")
    secret = ArtifactInput([PartInput(data={"type": "token"})], artifact_id="plan")
    done = await world.run(context.artifacts.put, task.task_id, secret, append=True, last_chunk=True)
    assert (done.part_count, done.is_complete, done.redacted_parts) == (2, True, (0,))
    with pytest.raises(ArtifactComplete):
        await world.run(context.artifacts.put, task.task_id, secret, append=True)

    read = await world.run(context.artifacts.get, task.task_id, "plan", version=1, context_id=context_id)
    assert ([part.kind for part in read.parts], read.metadata) == (["text", "data_json"], {"n": 1})
    bare = await world.run(context.artifacts.put, task.task_id, "a text alone")
    assert (await world.run(context.tasks.get, task.task_id)).artifacts[1].artifact_id == bare.artifact_id

    only = RecallFilter(kinds=["artifact"], task_ids=[task.task_id])
    (hit,) = await world.run(context.contexts.search, context_id, "giraffe", filter=only)
    assert (hit.artifact_id, hit.task_id, hit.seq, hit.message_id) == ("plan", task.task_id, 0, "")
    assert await world.run(context.artifacts.get_at, context_id, hit.ref) == read
    with pytest.raises(ArtifactNotFound):
        await world.run(context.artifacts.get_at, context_id, "a99.0")
    recalled = await world.run(context.contexts.recall, context_id, "hello", reference_task_ids=[task.task_id])
    assert recalled.items[0].text == "The giraffe eats acacia."
    with pytest.raises(ArtifactNotFound):
        await world.run(context.artifacts.get, task.task_id, "none")
    with pytest.raises(InvalidArgument):
        await world.run(context.artifacts.put, task.task_id, [PartInput(text="x")])


async def test_what_happens_in_a_context_is_watched(world, context):
    context_id = (await world.run(context.contexts.send, "one")).context_id
    task = await world.run(context.tasks.create, context_id)
    await world.run(context.artifacts.put, task.task_id, ArtifactInput([PartInput(text="x")], artifact_id="plan"))
    two = await world.run(context.contexts.send, "two", context_id)
    await world.run(context.contexts.retract_messages, context_id, [two.message_id])
    closed = await world.run(context.contexts.close, context_id)
    told = await world.run(context.contexts.watch, context_id)
    assert [one.message and one.message.content for one in told] == ["one", None, None, None, None]
    assert (told[1].task, told[2].artifact.artifact_id, told[4].context) == (task, "plan", closed)
    assert (told[3].retracted.seqs, told[3].retracted.message_ids) == ((2,), (two.message_id,))
    last = told[-1]
    assert (last.seq_from, last.change_after) == (3, 4)
    places = {"seq_from": last.seq_from, "change_after": last.change_after}
    assert await world.run(context.contexts.watch, context_id, until_now=True, **places) == []
    with pytest.raises(ContextNotFound):
        await world.run(context.contexts.watch, new_id())


async def test_of_tasks_what_cannot_be_is_refused(world, context):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    task = await world.run(context.tasks.create, context_id)
    with pytest.raises(TaskNotFound):
        await world.run(context.tasks.get, new_id())
    with pytest.raises(VersionConflict):
        await world.run(context.tasks.update, task.task_id, state="working", expected_version=7)
    for changes in ({}, {"status_message": "alone"}, {"state": "paused"}):
        with pytest.raises(InvalidArgument):
            await world.run(context.tasks.update, task.task_id, **changes)
    with pytest.raises(InvalidArgument):
        await world.run(context.tasks.list, context_id, states="completed")


class Contexts(ContextsServicer):
    """Answers nothing but the first call of a kind with an error that is tried again."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def _come(self, request: Any) -> None:
        self.requests.append(request)
        if len(self.requests) == 1:
            raise Unavailable("not yet")

    async def SendMessage(self, request, context):
        self._come(request)
        return pb.SendMessageResponse(message=pb.SentMessage(seq=1))

    async def IssueContextKey(self, request, context):
        self._come(request)
        return pb.IssueContextKeyResponse(key="a-key")


async def test_who_waits_for_the_index_learns_how_far_it_is(world, context):
    sent = await world.run(context.contexts.send, "The lever is behind the clock.")
    index = await world.run(context.contexts.wait_for_index, sent.context_id, wait_s=1)
    assert (index.is_complete, index.oldest_pending_at, index.error) == (True, None, "")
    assert str(index) == "0 of 1 passages have vectors, 0 are pending"
    assert (await world.run(context.contexts.get, sent.context_id)).context.index == index
    with pytest.raises(ContextNotFound):
        await world.run(context.contexts.wait_for_index, new_id())


async def test_a_context_is_deleted_for_good_and_the_receipt_says_how_far(world, context):
    sent = await world.run(context.contexts.send, "Hello")
    receipt = await world.run(context.contexts.delete, sent.context_id, now=True)
    assert (receipt.context_id, receipt.message_count) == (sent.context_id, 1)
    with pytest.raises(ContextNotFound):
        await world.run(context.contexts.get, sent.context_id)
    assert (await world.run(context.contexts.delete, sent.context_id)).erasure_id == receipt.erasure_id
    erasure = receipt
    async with asyncio.timeout(30):
        while erasure.state == "running":
            assert "messages removed" in str(erasure)
            erasure = await world.run(context.contexts.get_erasure, receipt.erasure_id)
    assert (erasure.messages_removed, str(erasure)) == (1, f"erasure of {sent.context_id} (all removed)")
    with pytest.raises(ErasureNotFound):
        await world.run(context.contexts.get_erasure, new_id())


async def test_a_message_that_is_sent_again_is_the_same_call(world):
    """Without the request id a first message whose answer was lost would begin a second context."""
    async with serving(served := Contexts()) as address, world.context(address, app_id="shop") as client:
        await world.run(client.contexts.send, "x")

    first, second = served.requests
    assert first == second
    assert first.request_id
    assert first.context.app_id == "shop"


async def test_a_key_is_asked_for_again_and_not_printed(world):
    async with serving(served := Contexts()) as address, world.context(address) as client:
        key = await world.run(client.contexts.issue_key, "c", scopes=["read"], ttl_s=60, subject_user_id="ada")

    assert served.requests[1] == pb.IssueContextKeyRequest(
        context_id="c", scopes=["read"], ttl_s=60, subject_user_id="ada"
    )
    assert isinstance(key, ContextKey)
    assert key.key == "a-key"
    assert "a-key" not in f"{key} {key!r}"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (5, "message"),
        (MessageInput(content=5), "message.content"),
        (MessageInput(parts="text"), "message.parts"),
        (MessageInput(parts=["text"]), "message.parts[0]"),
        (MessageInput(parts=[PartInput()]), "message.parts[0]"),
        (MessageInput(parts=[PartInput(text="a", data=1)]), "message.parts[0]"),
        (MessageInput(parts=[PartInput(text="a"), PartInput(data=float("nan"))]), "message.parts[1].data_json"),
        (
            MessageInput(parts=[PartInput(tool_call=ToolCallInput(id="c", name="f", arguments=[1]))]),
            "message.parts[0].tool_call.arguments_json",
        ),
        (
            MessageInput(parts=[PartInput(tool_result=ToolResultInput(tool_call_id=5))]),
            "message.parts[0].tool_result.tool_call_id",
        ),
        (MessageInput(parts=[Part(kind="")]), "message.parts[0]"),
        (MessageInput("a", metadata=[]), "message.metadata_json"),
        (MessageInput("a", said_at=datetime(2026, 1, 1)), "message.said_at"),
    ],
)
def test_what_cannot_travel_is_refused_by_the_name_of_its_field(said: Any, field: str):
    with pytest.raises(InvalidArgument) as refused:
        contexts.message_input(said, field="message")
    assert [violation.field for violation in refused.value.violations] == [field]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"external_ids": ExternalId("s", "1")}, "context.external_ids"),
        ({"external_ids": ["1"]}, "context.external_ids[0]"),
        ({"title": 5}, "context.title"),
        ({"metadata": "x"}, "context.metadata_json"),
        ({"expires_at": "tomorrow"}, "context.expires_at"),
    ],
)
def test_what_is_said_of_a_context_is_refused_likewise(given: Any, field: str):
    for refusing in (
        lambda: contexts.context_input(ContextInput(**given), ""),
        lambda: contexts.context_changes(given),
    ):
        with pytest.raises(InvalidArgument) as refused:
            refusing()
        assert [violation.field for violation in refused.value.violations] == [field]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (5, "recall"),
        (True, "recall"),
        (RecallOptions(tokens_max="many"), "recall.tokens_max"),
        (RecallOptions(filter={"roles": ["user"]}), "recall.filter"),
        (RecallOptions(filter=RecallFilter(roles="user")), "recall.filter.roles"),
        (RecallOptions(filter=RecallFilter(said_to=datetime(2026, 1, 1))), "recall.filter.said_to"),
    ],
)
def test_what_is_to_be_recalled_is_refused_likewise(given: Any, field: str):
    with pytest.raises(InvalidArgument) as refused:
        contexts.recall_behind(given)
    assert [violation.field for violation in refused.value.violations] == [field]


def test_one_message_is_not_a_list_of_messages():
    """Else a text would be a message a letter."""
    for wrong in ("hello", MessageInput("hello"), 5):
        with pytest.raises(InvalidArgument, match="a list of MessageInput is wanted"):
            contexts.message_inputs(wrong)


def test_a_mask_names_what_is_given():
    said, mask = contexts.context_changes({"title": None, "metadata": {"a": 1}})
    assert mask == ["metadata_json", "title"]
    assert (said.title, json.loads(said.metadata_json)) == ("", {"a": 1})
    with pytest.raises(TypeError, match="colour"):
        contexts.context_changes({"colour": "red"})  # type: ignore[typeddict-unknown-key]


def test_each_content_of_a_part_can_be_said():
    """A new kind of part in the proto is one more field of `PartInput`."""
    kinds = {field.name.removesuffix("_json") for field in message_pb2.Part.DESCRIPTOR.oneofs_by_name["content"].fields}
    assert kinds == set(contexts._CONTENTS)
