"""Contexts: begun by a first message, isolated, in an order without gaps, and exactly once."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from context_service.retrieval.store import passages
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.errors import (
    ContextNotFound,
    InvalidArgument,
    InvalidPageToken,
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


async def test_a_message_that_says_no_time_has_that_of_its_transaction(caller: Caller):
    """By the clock of Postgres: clocks of replicas differ."""
    sent = await caller.send("quinces")
    await caller.append(sent.context_id, MessageInput(content="again"), MessageInput(content="more"))
    messages = (await caller.call("ListMessages", context_id=sent.context_id)).messages
    assert len(messages) == 3
    for one in messages:
        assert one.said_at == one.created_at
    found = (await caller.call("Recall", context_id=sent.context_id, text="quinces")).recalled.items
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
