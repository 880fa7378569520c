"""Contexts: begun by a first message, isolated, in an order without gaps, and exactly once."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from context_service.retrieval.store import passages
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1 import working_memory_pb2
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import (
    ContextClosed,
    ContextNotFound,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    MessageExists,
    MessageNotFound,
    PermissionDenied,
    RecordNotFound,
    RequestIdReused,
)
from service_runtime.postgres import Across, Database
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, Opened, an_id, at

_COUNT = Across(
    sql="SELECT count(*) AS n FROM context.message WHERE content = %s",
    contexts=True,
    subjects=True,
    why="in no context",
)


# What a context is found by, but for which one it is.
_INDEX = Across(
    sql="""
        SELECT (SELECT json_agg(
                json_build_array(seq, ordinal, session, place, length_before, kind, role, author, said_at, text)
                ORDER BY seq, ordinal
            ) FROM context.passage WHERE scope_id = c.context_id)::text AS passages,
            (SELECT json_agg(
                json_build_array(session, passages, length, places, last_length)
                ORDER BY session
            ) FROM context.passage_session WHERE scope_id = c.context_id)::text AS sessions,
            (SELECT json_build_array(
                first_seq, last_seq, passages, sessions, length, length_before, length_after, authors
            ) FROM context.passage_scope WHERE scope_id = c.context_id)::text AS totals
        FROM context.context c WHERE c.context_id = %s
    """,
    contexts=True,
    subjects=True,
    why="of two contexts",
)


@pytest.fixture
def caller(contexts: Opened) -> Caller:
    return contexts.caller


@pytest.fixture
def database(contexts: Opened) -> Database:
    return contexts.database


async def test_a_first_message_begins_a_context_and_later_ones_name_it(caller: Caller):
    first = await caller.send("hello", context=pb.ContextInput(title="greetings"))
    assert (first.created, first.message.seq) == (True, 1)

    second = await caller.send("hello again", first.context_id)
    assert (second.context_id, second.created, second.message.seq) == (first.context_id, False, 2)

    assert await caller.texts(first.context_id) == ["hello", "hello again"]
    found = (await caller.call("GetContext", context_id=first.context_id)).context
    assert (found.title, found.last_seq, found.message_count) == ("greetings", 2, 2)
    assert found.token_count == first.message.tokens + second.message.tokens > 0


async def test_two_first_messages_begin_two_contexts(caller: Caller):
    first, second = await caller.send(message_id="m"), await caller.send(message_id="m")
    assert first.context_id != second.context_id


async def test_an_invented_context_is_not_made(caller: Caller):
    invented = an_id()
    for _ in range(2):
        with pytest.raises(ContextNotFound):
            await caller.send("hello", invented)
    with pytest.raises(ContextNotFound):
        await caller.texts(invented)
    with pytest.raises(InvalidArgument):
        await caller.send("hello", "no id")


async def test_a_message_that_says_no_time_has_that_of_its_transaction(caller: Caller):
    """By the clock of Postgres: clocks of replicas differ."""
    sent = await caller.send("hello")
    await caller.append(sent.context_id, MessageInput(content="again"), MessageInput(content="more"))
    messages = (await caller.call("ListMessages", context_id=sent.context_id)).messages
    assert len(messages) == 3
    for one in messages:
        assert one.said_at == one.created_at
    found = (await caller.call("Recall", context_id=sent.context_id, text="hello")).recalled.items
    assert found[0].said_at == messages[0].created_at


async def test_a_message_comes_back_byte_for_byte(caller: Caller):
    """Documents keep their spaces and the order of their keys, and a provider's block its bytes."""
    parts = [
        message.Part(text="a text", media_type="text/markdown"),
        message.Part(data_json='{"b": 1,  "a": [1.0, null]}', metadata_json='{"index": false}'),
        message.Part(url="https://example.com/x", file_name="x"),
        message.Part(tool_call=message.ToolCall(id="c1", name="read", arguments_json='{"path":  "a"}')),
        message.Part(tool_result=message.ToolResult(tool_call_id="c1", content_json='"no"', is_error=True)),
        message.Part(reasoning=message.Reasoning(provider="p", data=bytes(range(256)), text="thinking")),
        message.Part(text=""),
    ]
    said_at = at(datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC))
    sent = await caller.send(
        "content 🙂", role="agent", parts=parts, name="n", agent_id="a1", metadata_json='{"k":  1}', said_at=said_at
    )
    found = (await caller.call("GetMessage", context_id=sent.context_id, message_id=sent.message.message_id)).message
    assert (found.content, found.role, found.name, found.agent_id) == ("content 🙂", "assistant", "n", "a1")
    assert list(found.parts) == parts
    assert (found.metadata_json, found.said_at) == ('{"k":  1}', said_at)
    assert found.created_at == sent.message.created_at
    header = (await caller.call("GetContext", context_id=sent.context_id, history_length=0)).context
    assert list(header.agent_ids) == ["a1"]


async def test_many_messages_are_written_in_their_order_or_none(caller: Caller):
    context_id = (await caller.send("first")).context_id
    answer = await caller.append(context_id, *(MessageInput(content=str(n)) for n in range(500)))
    assert [one.seq for one in answer.messages] == list(range(2, 502))
    assert (await caller.texts(context_id, seq_from=2, page_size=1000)) == [str(n) for n in range(500)]

    with pytest.raises(LimitExceeded):
        await caller.append(context_id, *(MessageInput(content="x") for _ in range(501)))
    with pytest.raises(InvalidArgument, match="messages"):
        await caller.append(context_id)
    with pytest.raises(InvalidArgument, match=r"messages\[1\]"):
        await caller.append(context_id, MessageInput(content="x"), MessageInput())
    assert (await caller.call("GetContext", context_id=context_id, history_length=0)).context.last_seq == 501


async def test_appending_without_a_context_begins_one(caller: Caller):
    answer = await caller.append("", MessageInput(content="a"), MessageInput(content="b", role="assistant"))
    assert answer.created
    assert await caller.texts(answer.context_id) == ["a", "b"]


async def test_the_same_message_id_is_the_same_message(caller: Caller):
    first = await caller.send("once", message_id="m1")
    again = await caller.send("once", first.context_id, message_id="m1")
    assert again.message == first.message
    with pytest.raises(MessageExists):
        await caller.send("twice", first.context_id, message_id="m1")
    with pytest.raises(MessageExists):  # what differs may be anything that is said
        await caller.send("once", first.context_id, message_id="m1", role="assistant")
    assert await caller.texts(first.context_id) == ["once"]


async def test_what_is_there_of_several_messages_is_not_written_again(caller: Caller):
    one, two, three = (MessageInput(content=text, message_id=text) for text in ("one", "two", "three"))
    context_id = (await caller.append("", one)).context_id
    answer = await caller.append(context_id, two, one, three, three)
    assert [(sent.message_id, sent.seq) for sent in answer.messages] == [("one", 1), ("two", 2), ("three", 3)]
    assert await caller.texts(context_id) == ["one", "two", "three"]
    with pytest.raises(MessageExists):
        await caller.append(context_id, MessageInput(content="four"), MessageInput(content="1", message_id="one"))
    with pytest.raises(InvalidArgument, match="also that of another message"):
        await caller.append(
            context_id,
            MessageInput(content="4", message_id="4"),
            MessageInput(content="5", message_id="4"),
        )
    assert await caller.texts(context_id) == ["one", "two", "three"]


async def test_a_repeated_request_answers_as_the_first_time(caller: Caller):
    request_id = an_id()
    first = await caller.send("begin", request_id=request_id)
    assert await caller.send("begin", request_id=request_id) == first
    with pytest.raises(RequestIdReused):
        await caller.send("other", request_id=request_id)

    request_id = an_id()
    known = MessageInput(content="known", message_id="k")
    await caller.append(first.context_id, known)
    said = [MessageInput(content="new"), known]
    answer = await caller.append(first.context_id, *said, request_id=request_id)
    assert await caller.append(first.context_id, *said, request_id=request_id) == answer
    assert await caller.texts(first.context_id) == ["begin", "known", "new"]


async def test_fifty_writers_of_one_context_leave_no_gap(caller: Caller):
    context_id = (await caller.send("first")).context_id
    answers = await asyncio.gather(*(caller.send(str(n), context_id, message_id=str(n)) for n in range(50)))
    assert sorted(answer.message.seq for answer in answers) == list(range(2, 52))
    found = (await caller.call("ListMessages", context_id=context_id)).messages
    assert [one.seq for one in found] == list(range(1, 52))
    assert {one.content for one in found} == {"first", *map(str, range(50))}


async def test_one_external_id_has_one_context_whoever_is_first(caller: Caller):
    only = pb.ExternalId(system="thread", id=an_id())
    answers = await asyncio.gather(*(caller.send(str(n), get_or_create=only) for n in range(8)))
    assert len({answer.context_id for answer in answers}) == 1
    assert [answer.created for answer in answers].count(True) == 1
    found = await caller.call("GetContextsByExternalId", external_id=only)
    assert [one.context_id for one in found.contexts] == [answers[0].context_id]
    theirs = await caller.of("ada").send("hers", get_or_create=only)
    assert theirs.context_id != answers[0].context_id
    with pytest.raises(InvalidArgument):
        await caller.send("both", answers[0].context_id, get_or_create=only)


async def test_an_external_id_outlives_its_expired_context(caller: Caller, database: Database):
    only = pb.ExternalId(system="thread", id=an_id())
    soon = pb.ContextInput(expires_at=at(datetime.now(UTC) + timedelta(seconds=0.5)))
    first = await caller.send("first", get_or_create=only, context=soon)
    await asyncio.sleep(0.6)
    with pytest.raises(ContextNotFound):
        await caller.send("late", first.context_id)
    second = await caller.send("second", get_or_create=only)
    assert second.created and second.context_id != first.context_id


async def test_a_standalone_message_leaves_nothing(caller: Caller, database: Database):
    words = f"standalone {an_id()}"
    answer = await caller.send(words, standalone=True)
    assert (answer.context_id, answer.message.seq) == ("", 0)
    with pytest.raises(InvalidArgument):
        await caller.send("", standalone=True)
    with pytest.raises(InvalidArgument, match="standalone"):
        await caller.send("x", an_id(), standalone=True)
    (row,) = await database.of(PRINCIPAL).query(_COUNT, (words,))
    assert row.n == 0


async def test_a_closed_context_is_read_and_takes_no_messages(caller: Caller):
    sent = await caller.send("said", message_id="m")
    for _ in range(2):
        closed = (await caller.call("CloseContext", context_id=sent.context_id)).context
        assert closed.state == pb.CONTEXT_STATE_CLOSED
    with pytest.raises(ContextClosed):
        await caller.send("more", sent.context_id)
    with pytest.raises(ContextClosed):
        await caller.call("RetractMessages", context_id=sent.context_id, message_ids=["m"])
    with pytest.raises(ContextClosed):
        await caller.call(
            "UpdateContext", context_id=sent.context_id, context={"title": "t"}, update_mask={"paths": ["title"]}
        )
    assert (await caller.send("said", sent.context_id, message_id="m")).message == sent.message  # it was, and is
    assert await caller.texts(sent.context_id) == ["said"]


async def test_retracted_messages_are_hidden_and_keep_their_places(caller: Caller):
    context_id = (await caller.append("", *(MessageInput(content=t, message_id=t) for t in "abc"))).context_id
    request_id = an_id()
    for _ in range(2):
        answer = await caller.call(
            "RetractMessages", context_id=context_id, message_ids=["b", "b"], request_id=request_id
        )
        assert answer.retracted_count == 1
    assert (await caller.call("RetractMessages", context_id=context_id, message_ids=["b"])).retracted_count == 0
    with pytest.raises(MessageNotFound):
        await caller.call("RetractMessages", context_id=context_id, message_ids=["a", "z"])
    assert await caller.texts(context_id) == ["a", "c"]
    with pytest.raises(MessageNotFound):
        await caller.call("GetMessage", context_id=context_id, message_id="b")
    assert (await caller.send("b", context_id, message_id="b")).message.seq == 2  # sent again, it stays retracted
    assert await caller.texts(context_id) == ["a", "c"]
    header = (await caller.call("GetContext", context_id=context_id)).context
    assert (header.last_seq, header.message_count) == (3, 2)


@pytest.mark.parametrize("newest_first", [False, True])
async def test_messages_are_listed_to_the_last_page(caller: Caller, newest_first: bool):
    context_id = (await caller.append("", *(MessageInput(content=str(n)) for n in range(1, 8)))).context_id
    seen: list[str] = []
    token = ""
    for _ in range(10):
        page = await caller.call(
            "ListMessages", context_id=context_id, page_size=3, page_token=token, newest_first=newest_first, seq_from=2
        )
        seen += [one.content for one in page.messages]
        token = page.next_page_token
        if not token:
            break
    expected = [str(n) for n in range(2, 8)]
    assert seen == (expected[::-1] if newest_first else expected)
    first = await caller.call("ListMessages", context_id=context_id, page_size=1)
    with pytest.raises(InvalidPageToken):
        await caller.call(
            "ListMessages", context_id=context_id, page_size=1, seq_to=3, page_token=first.next_page_token
        )
    with pytest.raises(InvalidArgument, match="seq_from"):
        await caller.call("ListMessages", context_id=context_id, seq_from=-1)


@pytest.mark.parametrize("key", [["x"], [0], [2**63], [True], [1, 2]])
async def test_a_token_that_was_made_up_is_no_page_of_messages(caller: Caller, key: list[object]):
    context_id = (await caller.append("", MessageInput(content="1"), MessageInput(content="2"))).context_id
    page = await caller.call("ListMessages", context_id=context_id, page_size=1)
    with pytest.raises(InvalidPageToken):
        await caller.call("ListMessages", context_id=context_id, page_token=made_up(page.next_page_token, key))


@pytest.mark.parametrize("key", [["x", "y"], ["2026-01-01", str(uuid.UUID(int=7))], ["2026-01-01T00:00:00Z", "y"], [1]])
async def test_a_token_that_was_made_up_is_no_page_of_contexts(caller: Caller, key: list[object]):
    for _ in range(2):
        await caller.send("hello", context=pb.ContextInput(metadata_json='{"made": "up"}'))
    wanted = {"metadata_contains_json": '{"made": "up"}'}
    page = await caller.call("ListContexts", page_size=1, **wanted)
    with pytest.raises(InvalidPageToken):
        await caller.call("ListContexts", page_token=made_up(page.next_page_token, key), **wanted)


def made_up(token: str, key: list[object]) -> str:
    """Return a token of the same query with another key: the query takes the first twelve characters."""
    return token[:12] + base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


async def test_a_page_of_large_messages_ends_at_its_bytes(caller: Caller):
    large = "x" * 1024 * 900
    context_id = (await caller.send(large)).context_id
    for _ in range(3):
        await caller.send(large, context_id)
    page = await caller.call("ListMessages", context_id=context_id)
    assert [one.seq for one in page.messages] == [1, 2]
    page = await caller.call("ListMessages", context_id=context_id, page_token=page.next_page_token)
    assert [one.seq for one in page.messages] == [3, 4]
    newest = await caller.call("GetContext", context_id=context_id)
    assert [one.seq for one in newest.messages] == [3, 4]
    assert [one.seq for one in (await caller.call("GetContext", context_id=context_id, history_length=1)).messages] == [
        4
    ]
    assert not (await caller.call("GetContext", context_id=context_id, history_length=0)).messages


async def test_contexts_are_found_by_what_is_said_of_them(caller: Caller):
    mark = an_id()
    made = []
    for place in range(5):
        sent = await caller.send(
            agent_id="odd" if place % 2 else "even",
            context=pb.ContextInput(
                metadata_json=json.dumps({"mark": mark, "place": place}),
                external_ids=[pb.ExternalId(system="crm", id=mark), pb.ExternalId(system="n", id=f"{mark}{place}")],
                app_id=f"app{place % 2}",
                entity_node_id=str(uuid.UUID(int=place + 1, version=4)),
            ),
        )
        made.append(sent.context_id)
    await caller.call("CloseContext", context_id=made[0])

    async def listed(**fields: Any) -> list[int]:
        answer = await caller.call("ListContexts", **{"metadata_contains_json": json.dumps({"mark": mark})} | fields)
        return [made.index(one.context_id) for one in answer.contexts]

    assert await listed() == [4, 3, 2, 1, 0]
    assert await listed(agent_id="odd") == [3, 1]
    assert await listed(state=pb.CONTEXT_STATE_CLOSED) == [0]
    assert await listed(state=pb.CONTEXT_STATE_OPEN) == [4, 3, 2, 1]
    assert await listed(app_id="app0") == [4, 2, 0]
    assert await listed(entity_node_id=str(uuid.UUID(int=3, version=4))) == [2]
    assert await listed(external_id=pb.ExternalId(system="n", id=f"{mark}2")) == [2]
    assert await listed(metadata_contains_json=json.dumps({"mark": mark, "place": 3})) == [3]
    assert await listed(created_to=at(datetime.now(UTC) - timedelta(hours=1))) == []
    assert await listed(owner_user_id="ada") == []

    seen, token = [], ""
    while True:
        page = await caller.call(
            "GetContextsByExternalId", external_id={"system": "crm", "id": mark}, page_size=2, page_token=token
        )
        seen += [made.index(one.context_id) for one in page.contexts]
        if not (token := page.next_page_token):
            break
    assert seen == [4, 3, 2, 1, 0]


async def test_a_list_of_contexts_goes_to_its_last_page(caller: Caller):
    """By owner and times, of all users for an administrator: none comes twice, none is missed."""
    mark = an_id()
    hers = pb.ContextInput(metadata_json=json.dumps({"mark": mark}))
    made = [(await caller.of("ada").send(context=hers)).context_id for _ in range(5)]
    await caller.send(context=hers)

    async def pages(of: Caller, **fields: Any) -> list[list[str]]:
        read, token = [], ""
        while True:
            which = {"metadata_contains_json": json.dumps({"mark": mark}), **fields}
            page = await of.call("ListContexts", **which, page_size=2, page_token=token)
            read.append([one.context_id for one in page.contexts])
            if not (token := page.next_page_token):
                return read

    newest_first = made[::-1]
    of_ada = [newest_first[:2], newest_first[2:4], newest_first[4:]]
    assert await pages(caller.of("ada"), owner_user_id="ada") == of_ada
    assert await pages(caller.of("admin"), owner_user_id="ada") == of_ada
    assert await pages(caller, owner_user_id="ada") == [[]]
    assert [len(page) for page in await pages(caller.of("admin"))] == [2, 2, 2]
    third = (await caller.of("ada").call("GetContext", context_id=made[2])).context.created_at
    assert await pages(caller.of("admin"), owner_user_id="ada", created_from=third) == [newest_first[:2], [made[2]]]
    assert await pages(caller.of("admin"), owner_user_id="ada", created_to=third) == [newest_first[3:]]


async def test_a_header_changes_in_the_fields_that_are_named(caller: Caller):
    ids = [pb.ExternalId(system="crm", id=an_id()), pb.ExternalId(system="crm", id=an_id())]
    context_id = (await caller.send(context=pb.ContextInput(title="old", external_ids=ids[:1]))).context_id
    request_id = an_id()
    for _ in range(2):
        answer = await caller.call(
            "UpdateContext",
            context_id=context_id,
            context=pb.ContextInput(title="new", external_ids=ids[1:], metadata_json='{"a": 1}'),
            update_mask={"paths": ["title", "external_ids"]},
            request_id=request_id,
        )
        found = answer.context
        assert (found.title, list(found.external_ids), found.metadata_json) == ("new", ids[1:], "{}")
    assert not (await caller.call("GetContextsByExternalId", external_id=ids[0])).contexts
    assert len((await caller.call("GetContextsByExternalId", external_id=ids[1])).contexts) == 1
    for paths in (["app_id"], ["nothing"], []):
        with pytest.raises(InvalidArgument):
            await caller.call("UpdateContext", context_id=context_id, update_mask={"paths": paths})


async def test_secrets_are_not_kept_and_the_answer_says_which(caller: Caller, database: Database):
    planted = f"planted{uuid.uuid4().hex}"
    parts = [
        message.Part(data_json=json.dumps({"type": "Credentials", "mcp_name": "x", "client_secret": planted})),
        message.Part(text="harmless"),
        message.Part(data_json=json.dumps({"type": "TOKEN", "token": planted})),
        message.Part(text=planted, metadata_json='{"secret": true}'),
        message.Part(
            tool_call=message.ToolCall(id="c", name="login", arguments_json=json.dumps(planted)),
            metadata_json='{"secret": 1}',
        ),
        message.Part(data_json='{"t\\u0079pe": "token", "token": "%s"}' % planted),  # noqa: UP031
    ]
    inner = {"type": "token", "token": planted}
    deep = [{"auth": inner, "n": 1}, [2, [inner]]]
    sent = await caller.send("deep", parts=[message.Part(data_json=json.dumps(one)) for one in deep])
    assert list(sent.message.redacted_parts) == [0, 1]
    found = (await caller.call("ListMessages", context_id=sent.context_id)).messages[0]
    assert [json.loads(one.data_json) for one in found.parts] == [
        {"auth": {"redacted": True}, "n": 1},
        [2, [{"redacted": True}]],
    ]

    request_id = an_id()
    sent = await caller.send("with secrets", parts=parts, request_id=request_id, message_id="s")
    assert list(sent.message.redacted_parts) == [0, 2, 3, 4, 5]
    found = (await caller.call("ListMessages", context_id=sent.context_id)).messages[0]
    assert planted not in str(found)
    assert [one.data_json for one in found.parts if one.data_json] == ['{"redacted": true}'] * 4
    assert found.parts[4].tool_call == message.ToolCall(id="c", name="login", arguments_json='{"redacted": true}')

    # The fingerprint knows no secret either: with another one it is the same request, and the same message.
    for part in parts:
        if "token" in part.data_json:
            part.data_json = json.dumps({"type": "token", "token": "another"})
    assert await caller.send("with secrets", parts=parts, request_id=request_id, message_id="s") == sent
    assert (await caller.send("with secrets", sent.context_id, parts=parts, message_id="s")).message == sent.message


async def test_users_have_contexts_of_their_own(caller: Caller):
    ada, bob, runtime, admin = (caller.of(name) for name in ("ada", "bob", "runtime", "admin"))
    hers = (await ada.send("hers")).context_id
    nobodys = (await caller.send("nobody's")).context_id

    assert await ada.texts(hers) == ["hers"]
    assert await runtime.texts(hers, subject_user_id="ada") == ["hers"]
    assert await admin.texts(hers) == ["hers"]  # by statements that are named
    for stranger, fields in ((bob, {}), (caller, {}), (runtime, {}), (runtime, {"subject_user_id": "bob"})):
        with pytest.raises(ContextNotFound):
            await stranger.texts(hers, **fields)
        with pytest.raises(ContextNotFound):
            await stranger.send("intruding", hers, **fields)
    for one in (ada, bob, caller):
        assert await one.texts(nobodys) == ["nobody's"]
    with pytest.raises(PermissionDenied):
        await caller.texts(hers, subject_user_id="ada")
    with pytest.raises(PermissionDenied):
        await bob.send("as ada", subject_user_id="ada")
    with pytest.raises(ContextNotFound):
        await admin.send("intruding", hers)

    assert (await runtime.send("for ada", hers, subject_user_id="ada")).message.seq == 2
    listed = {one.context_id for one in (await bob.call("ListContexts", page_size=1000)).contexts}
    assert hers not in listed and nobodys in listed
    assert hers in {one.context_id for one in (await admin.call("ListContexts", page_size=1000)).contexts}


async def test_bounds_hold_for_contexts(caller: Caller):
    shop = caller.of("app")
    mine = await shop.send("in the shop")
    assert (await shop.call("GetContext", context_id=mine.context_id)).context.app_id == "shop"
    foreign = await caller.send("elsewhere", context=pb.ContextInput(app_id="else"))
    with pytest.raises(ContextNotFound):
        await shop.texts(foreign.context_id)
    with pytest.raises(PermissionDenied):
        await shop.send("elsewhere", context=pb.ContextInput(app_id="else"))
    with pytest.raises(PermissionDenied):
        await caller.of("graph").send("a context is in no graph")
    with pytest.raises(ContextNotFound):
        await caller.of("graph").texts(mine.context_id)


async def test_a_part_names_only_records_that_the_caller_can_read(caller: Caller):
    async def insert(key: str) -> str:
        record = working_memory_pb2.WMRecordInput(memory_type="file", name="a.txt", content_text="text")
        answer = await WorkingMemoryStub(caller.channel).InsertWMRecord(
            working_memory_pb2.InsertWMRecordRequest(record=record), metadata=(("authorization", f"Bearer {key}"),)
        )
        return answer.record.working_memory_id

    mine, theirs = await insert("plain"), await insert("other")
    sent = await caller.send("look", parts=[message.Part(working_memory_id=mine)])
    for record_id in (theirs, an_id()):
        for fields in ({"context_id": sent.context_id}, {}, {"standalone": True}):
            with pytest.raises(RecordNotFound):
                await caller.send("look", parts=[message.Part(working_memory_id=record_id)], **fields)
    assert await caller.texts(sent.context_id) == ["look"]


@pytest.mark.parametrize(
    "fields",
    [
        {"role": "robot"},
        {"content": "nul \0"},
        {"content": "", "parts": [message.Part()]},
        {"parts": [message.Part(data_json="{")]},
        {"parts": [message.Part(data_json="[" * 200 + "]" * 200)]},
        {"parts": [message.Part(tool_call=message.ToolCall(id="", name="x"))]},
        {"parts": [message.Part(working_memory_id="no id")]},
        {"parts": [message.Part(reasoning=message.Reasoning(data=b"x"))]},
        {"metadata_json": "[]"},
        {"said_at": Timestamp(seconds=10**15)},
        {"message_id": "nul \0"},
    ],
    ids=[
        "role",
        "nul",
        "empty part",
        "no json",
        "nesting",
        "call without id",
        "record",
        "provider",
        "list",
        "year",
        "id",
    ],
)
async def test_what_cannot_be_stored_is_refused_with_its_place(caller: Caller, fields: dict[str, Any]):
    with pytest.raises(InvalidArgument) as caught:
        await caller.send(**{"content": "x", **fields})
    assert caught.value.violations[0].field.startswith("message")


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "x" * (1024 * 1024 + 1)},
        {"parts": [message.Part(text="x")] * 101},
        {"content": "x" * 1024 * 1000, "parts": [message.Part(text="x" * 1024 * 1000)] * 2},
        {"message_id": "x" * 201},
        {"metadata_json": json.dumps({"x": "x" * 70_000})},
    ],
    ids=["content", "parts", "all", "id", "metadata"],
)
async def test_what_is_too_large_is_refused_with_its_limit(caller: Caller, fields: dict[str, Any]):
    with pytest.raises(LimitExceeded) as caught:
        await caller.send(**{"content": "x", **fields})
    assert int(caught.value.metadata["value"]) > int(caught.value.metadata["limit_max"])


async def test_a_message_without_a_space_and_one_of_a_hundred_parts_are_kept(caller: Caller):
    sent = await caller.send("x" * 1024 * 1024, parts=[message.Part(text=base64.b85encode(bytes(99)).decode())] * 100)
    found = (await caller.call("GetMessage", context_id=sent.context_id, message_id=sent.message.message_id)).message
    assert (len(found.content), len(found.parts)) == (1024 * 1024, 100)


async def test_sessions_begin_after_four_hours_or_as_they_are_named(caller: Caller, database: Database):
    start = datetime(2026, 1, 1, tzinfo=UTC)

    def said(hours: float, session: str = "") -> MessageInput:
        return MessageInput(content="x", said_at=at(start + timedelta(hours=hours)), session=session)

    context_id = (await caller.append("", said(0), said(3), said(8))).context_id
    await caller.append(context_id, said(11))  # three hours later: the same
    await caller.append(context_id, said(16))  # five
    await caller.append(context_id, said(16, "b"), said(30, "b"), said(30, "c"))
    await caller.append(context_id, said(90, "c"), said(90, "b"))
    await caller.append(context_id, said(91), said(91, "b"), said(91, "d"))
    tenant = database.of(PRINCIPAL, context_id=uuid.UUID(context_id))
    rows = await tenant.query("SELECT session FROM context.message ORDER BY seq")
    assert [row.session for row in rows] == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 6]


async def test_many_passages_are_indexed_as_few_are(
    caller: Caller, database: Database, monkeypatch: pytest.MonkeyPatch
):
    """Too many for one statement are written in several of its transaction, and nobody can tell."""
    lines = [f"{fruit} {number} of the orchard." for number, fruit in enumerate(("Apples", "Pears", "Plums", "Figs"))]
    said = [
        MessageInput(
            content=line,
            parts=[message.Part(text=f"{line} Eaten."), message.Part(data_json='{"ripe": true}')],
            name="ann" if number % 2 else "bob",
            role="user" if number % 3 else "assistant",
            session="" if number < 2 else f"session {number // 3}",
            said_at=at(datetime(2026, 3, 1, 9, number, tzinfo=UTC)),
        )
        for number, line in enumerate(lines * 2)
    ]
    admin = database.of(PRINCIPAL)
    found = []
    for portion_bytes in (passages._PORTION_BYTES, 1, 60):
        monkeypatch.setattr(passages, "_PORTION_BYTES", portion_bytes)
        begun = (await caller.call("AppendMessages", messages=said[:4])).context_id
        await caller.call("AppendMessages", context_id=begun, messages=said[4:])
        (index,) = await admin.query(_INDEX, (begun,))
        found.append(tuple(index))

    assert len(json.loads(found[0][0])) == 24
    assert found[0] == found[1] == found[2]
