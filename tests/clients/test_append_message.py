"""`graph.append_message` against the real services: `history.stream` reads what it writes, once and in order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contextkeep import NodeInput, new_id
from contextkeep.errors import InvalidArgument, NodeNotFound, RequestIdReused, Unavailable


@pytest.fixture
def said(world, context):
    async def said(session_id: str) -> list[tuple[str, str]]:
        return [(m.role, m.content) for m in await world.run(context.history.stream, session_id)]

    return said


@pytest.fixture
def calls(world, graph, monkeypatch) -> list[str]:
    """The RPCs that the client sends, attempt by attempt."""
    unary = graph._connection.unary
    sent: list[str] = []

    def noted(rpc: str, *args: Any, **kwargs: Any) -> Any:
        sent.append(rpc)
        return unary(rpc, *args, **kwargs)

    monkeypatch.setattr(graph._connection, "unary", noted)
    return sent


async def test_messages_of_every_role_come_back_in_the_order_of_the_calls(world, graph, said):
    session = await world.run(graph.graph.create_node, "Session")
    turns = [
        ("system", "Be brief."),
        ("user", "Weather?"),
        ("assistant", "One moment."),
        ("tool", "rain"),
        ("user", "?"),
    ]
    written = [await world.run(graph.graph.append_message, session.id, *turn) for turn in turns]

    assert await said(session.id) == turns
    assert {(one.session_id, one.session_created) for one in written} == {(session.id, False)}
    assert len({one.node_id for one in written}) == len(turns)


async def test_the_session_is_made_by_the_first_message(world, graph, said, calls):
    """One round trip each: a newcomer's first line of code needs no session."""
    first = await world.run(graph.graph.append_message, role="user", content="Hello", external_id="t-1", create=True)
    second = await world.run(graph.graph.append_message, role="assistant", content="Hi", external_id="t-1", create=True)

    assert calls == ["WriteGraph"] * 2
    assert (first.session_created, second.session_created) == (True, False)
    assert first.session_id == second.session_id
    assert await said(first.session_id) == [("user", "Hello"), ("assistant", "Hi")]
    session = await world.run(graph.graph.get_node_by_external_id, "t-1")
    assert (session.id, session.general_type_name) == (first.session_id, "Session")


async def test_callers_that_begin_a_session_at_once_get_one(world, graph, said):
    """The unique key decides who makes it; the others wait for that, and append to it."""
    append = [
        world.run(graph.graph.append_message, None, "user", f"{n}", external_id="crowd", create=True) for n in range(12)
    ]
    written = await asyncio.gather(*append)

    assert len({one.session_id for one in written}) == 1
    assert [one.session_created for one in written].count(True) == 1
    assert sorted(content for _, content in await said(written[0].session_id)) == sorted(str(n) for n in range(12))


@pytest.mark.parametrize("named", [{"external_id": "lost", "create": True}, {"external_id": "lost"}, {}])
async def test_a_message_whose_answer_was_lost_is_appended_once(world, graph, said, monkeypatch, named):
    """The client tries again by itself, with the same request id and the same ids of rows."""
    session = await world.run(graph.graph.create_node, "Session", external_id="lost")
    unary = graph._connection.unary
    lost: list[str] = []

    def one_answer_lost(rpc: str, *args: Any, **kwargs: Any) -> Any:
        async def lose(answer: Any) -> Any:
            await answer
            raise Unavailable("the answer is lost")

        answer = unary(rpc, *args, **kwargs)
        if rpc != "WriteGraph" or lost:
            return answer
        lost.append(rpc)
        if world.is_async:
            return lose(answer)
        raise Unavailable("the answer is lost")

    monkeypatch.setattr(graph._connection, "unary", one_answer_lost)
    written = await world.run(
        graph.graph.append_message, *([] if named else [session.id]), role="user", content="x", **named
    )

    assert lost
    assert await said(session.id) == [("user", "x")]
    assert [child.node.id for child in await world.run(graph.graph.traverse, session.id)] == [written.node_id]


@pytest.mark.parametrize("create", [True, False])
async def test_a_request_id_makes_it_happen_once_across_processes(world, graph, said, create):
    """Another process makes other ids of rows unless they follow from the request id: that is another request."""
    await world.run(graph.graph.create_node, "Session", external_id="again")
    given = {"external_id": "again", "create": create, "request_id": new_id()}
    first = await world.run(graph.graph.append_message, role="user", content="once", **given)

    assert await world.run(graph.graph.append_message, role="user", content="once", **given) == first
    assert await said(first.session_id) == [("user", "once")]
    with pytest.raises(RequestIdReused):
        await world.run(graph.graph.append_message, role="user", content="twice", **given)


async def test_a_session_that_nobody_asked_to_create_is_not_found(world, graph):
    with pytest.raises(NodeNotFound) as raised:
        await world.run(graph.graph.append_message, None, "user", "x", external_id="no-such", graph_name="g")
    assert raised.value.metadata == {"external_id": "no-such", "graph_name": "g"}
    with pytest.raises(NodeNotFound):
        await world.run(graph.graph.append_message, new_id(), "user", "x")


async def test_a_session_of_another_graph_is_named_with_it(world, graph, said):
    there = {"external_id": "t-2", "graph_name": "support"}
    first = await world.run(graph.graph.append_message, None, "user", "a", create=True, **there)
    await world.run(graph.graph.append_message, None, "user", "b", **there)
    await world.run(graph.graph.append_message, first.session_id, "user", "c", graph_name="support")

    assert [content for _, content in await said(first.session_id)] == ["a", "b", "c"]
    with pytest.raises(InvalidArgument):
        await world.run(graph.graph.append_message, first.session_id, "user", "d")


async def test_data_stand_beside_role_and_content(world, graph):
    session = await world.run(graph.graph.create_node, "Session")
    data = {"customer": "Ann", "role": "?", "content": "?"}
    written = await world.run(graph.graph.append_message, session.id, "user", "x", data=data)

    message = await world.run(graph.graph.get_node, written.node_id)
    assert message.general_type_name == "Message"
    assert message.data == {"customer": "Ann", "role": "user", "content": "x"}
    assert message.created_at == written.created_at


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"role": "human", "content": "x"}, "role"),
        ({"content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": {"a": 1}}, "content"),
        ({"role": "user", "content": "x", "data": {"n": float("nan")}}, "nodes[0].data_json"),
        ({"role": "user", "content": "x", "request_id": "no-uuid"}, "request_id"),
        ({"session": "thread-42", "role": "user", "content": "x"}, "session"),
        ({"session": None, "role": "user", "content": "x"}, "session"),
        ({"external_id": "thread-42", "role": "user", "content": "x"}, "session"),
    ],
)
async def test_what_no_history_would_show_is_refused_before_it_is_sent(world, graph, calls, given, field):
    with pytest.raises(InvalidArgument) as raised:
        await world.run(graph.graph.append_message, **{"session": NodeInput("Session").id, **given})
    assert raised.value.violations[0].field == field
    assert calls == []
