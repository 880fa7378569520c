"""AssembleContext: where each message is from, why there are no others, and pages of it."""

from __future__ import annotations

import uuid

import grpc
import orjson
import pytest

from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.errors import AnswerTooLarge, InvalidArgument, InvalidPageToken, LimitExceeded
from tests.calling import AnyRpc
from tests.conftest import OTHER_KEY
from tests.errors import refused


class Stubs(AnyRpc):
    async def add(self, session_id: str, **data: object) -> None:
        node = {"id": str(uuid.uuid4()), "general_type_name": "Turn", "data_json": orjson.dumps(data)}
        edge = {"from_node_id": session_id, "to_node_id": node["id"], "edge_type": "Contains"}
        await self.WriteGraph(nodes=[node], edges=[edge])

    async def mapping(self, rules: dict[str, object]) -> str:
        name = str(uuid.uuid4())
        await self.RegisterMapping(mapping_name=name, rules=rules)
        return name

    async def page(self, node_id: str, **fields: object) -> pb.AssembleContextResponse:
        return await self.AssembleContext(node_id=node_id, **fields)

    async def pages(self, node_id: str, **fields: object) -> list[list[pb.AssembledNode]]:
        found, token = [], ""
        while True:
            page = await self.page(node_id, page_token=token, **fields)
            found.append(list(page.nodes))
            token = page.next_page_token
            if not token:
                return found


@pytest.fixture(scope="module")
def stubs(shared_channels: tuple[grpc.aio.Channel, grpc.aio.Channel]) -> Stubs:
    return Stubs(*shared_channels)


def said(rows: list[pb.AssembledNode]) -> list[str]:
    return [given.message.content for row in rows for given in row.messages]


def why(row: pb.AssembledNode) -> list[tuple[str, str, str, int]]:
    return [
        (pb.SkipReason.Name(one.reason).removeprefix("SKIP_REASON_"), one.rule, one.error, one.elements)
        for one in row.skipped
    ]


async def test_a_row_says_which_node_it_is_and_how_it_was_reached(stubs: Stubs):
    session_id, (turn_id,) = await stubs.session({"user_input": "hello"})
    edge = (await stubs.ListEdges(node_id=session_id)).edges[0]
    node = (await stubs.UpdateNodeData(node_id=turn_id, data_json='{"more": 1}')).node

    (row,) = (await stubs.page(session_id)).nodes

    assert (row.node_id, row.type, row.general_type, row.depth) == (turn_id, "Turn", "Turn", 1)
    assert (row.edge_id, row.edge_type, row.from_node_id) == (edge.id, "Contains", session_id)
    assert (row.created_at, row.modified_at) == (node.created_at, node.modified_at)
    assert row.messages[0].message.created_at == node.created_at
    assert row.values_json == ""


async def test_each_reason_is_told_with_the_expression_that_decided(stubs: Stubs):
    name = await stubs.mapping(
        {
            "filter": "!has(entity.data.hidden)",
            "messages": [
                pb.MessageRule(when="entity.data.n > 1", role="entity.data.role", content="entity.data.text"),
                pb.MessageRule(for_each="entity.data.list", role="item", content="'a' + item"),
            ],
        }
    )
    session_id, _ = await stubs.session(
        {"hidden": True},
        {"n": 1, "list": []},
        {"n": 2, "role": "user", "text": "", "list": ["robot", "user", "x" * 200]},
        {"n": "two"},
    )

    hidden, unmatched, mixed, failed = (await stubs.page(session_id, mapping_name=name)).nodes

    assert why(hidden) == [("FILTERED", "rules.filter", "", 1)]
    assert why(unmatched) == [
        ("UNMATCHED", "rules.messages[0].when", "", 1),
        ("EMPTY", "rules.messages[1].for_each", "", 1),
    ]
    assert why(mixed) == [
        ("EMPTY", "rules.messages[0].content", "", 1),
        ("ROLE_UNKNOWN", "rules.messages[1].role", "'robot' is not a role", 2),
    ]
    assert [(given.message.content, given.rule) for given in mixed.messages] == [("auser", "rules.messages[1]")]
    ((reason, rule, error, _),) = why(failed)
    assert (reason, rule) == ("FAILED", "rules.messages[0].when")
    assert "does not accept (string, int)" in error


async def test_a_node_on_which_a_later_rule_fails_gives_nothing_and_says_where(stubs: Stubs):
    name = await stubs.mapping(
        {
            "messages": [
                pb.MessageRule(role="'user'", content="entity.data.a"),
                pb.MessageRule(role="'user'", content="entity.data.b"),
            ]
        }
    )
    session_id, _ = await stubs.session({"a": "given at first"})

    (row,) = (await stubs.page(session_id, mapping_name=name)).nodes

    assert (list(row.messages), why(row)[0][:2]) == ([], ("FAILED", "rules.messages[1].content"))


async def test_values_come_along_from_the_paths_at_which_there_is_something(stubs: Stubs):
    session_id, (turn_id,) = await stubs.session(
        {"role": "user", "content": "x", "turn": {"index": 2**60, "none": None}}
    )
    await stubs.SetNodeIO(node_id=turn_id, input_json='{"q": 1}')

    paths = ["turn.index", "data.turn.none", "turn.gone", "content.deeper", "status", "io.input.q", "io.output"]
    (row,) = (await stubs.page(session_id, data_paths=paths)).nodes
    assert orjson.loads(row.values_json) == {
        "turn.index": 2**60,
        "data.turn.none": None,
        "status": "Created",
        "io.input.q": 1,
    }

    (row,) = (await stubs.page(session_id, data_paths=["created_at", "turn"])).nodes
    values = orjson.loads(row.values_json)
    assert values["created_at"].startswith("20")
    assert values["turn"] == {"index": 2**60, "none": None}


@pytest.mark.parametrize("max_messages", [0, 1, 4, 5, 6, 100])
@pytest.mark.parametrize("order", [{}, {"order": "descending"}, {"order_by": "n"}])
async def test_pages_of_any_size_hold_the_same_nodes_in_the_same_order(
    stubs: Stubs, max_messages: int, order: dict[str, str]
):
    rules = [pb.MessageRule(role="'user'", content=f"entity.data.{text}") for text in ("a", "b")]
    name = await stubs.mapping({"messages": rules, **order})
    turns = [{"a": f"a{n}", "b": f"b{n}", "n": -n} for n in range(4)]
    session_id, _ = await stubs.session({"n": 9}, *turns[:2], {"n": -1.5}, *turns[2:], {"n": -9})

    history = await stubs.GetChatHistory(node_id=session_id, mapping_name=name, max_messages=max_messages)
    (all_at_once,) = await stubs.pages(session_id, mapping_name=name, max_messages=max_messages)

    assert said(all_at_once) == [message.content for message in history.messages]
    # The node behind the last message failed; it is what one wants to know.
    assert why(all_at_once[-1])[0][0] == "FAILED"
    if not max_messages:
        assert len(all_at_once) == 7
    for size in (1, 2, 3):
        pages = await stubs.pages(session_id, mapping_name=name, max_messages=max_messages, page_size=size)
        assert [row for page in pages for row in page] == all_at_once
        assert max(map(len, pages)) <= size


@pytest.mark.parametrize("order_by", ["", "content"])
async def test_what_is_written_between_pages_neither_hides_nor_repeats(stubs: Stubs, order_by: str):
    name = await stubs.mapping({"role_field": "role", "content_field": "content", "order_by": order_by})
    session_id, ids = await stubs.session(*[{"role": "user", "content": f"{n}"} for n in range(6)])
    first = await stubs.page(session_id, mapping_name=name, page_size=3, max_messages=5)
    assert said(first.nodes) == ["1", "2", "3"]

    await stubs.add(session_id, role="user", content="9 is newer")
    await stubs.DeleteNode(node_id=ids[3])
    second = await stubs.page(
        session_id, mapping_name=name, page_size=3, max_messages=5, page_token=first.next_page_token
    )

    assert said(second.nodes) == ["4", "5"]
    assert second.next_page_token == ""


async def test_a_page_ends_at_two_mebibytes(stubs: Stubs):
    session_id, _ = await stubs.session(*[{"user_input": "é" * 300_000} for _ in range(6)])

    pages = await stubs.pages(session_id)

    assert [len(page) for page in pages] == [3, 3]


async def test_a_node_that_fits_no_answer_is_named(stubs: Stubs):
    name = await stubs.mapping(
        {"messages": [pb.MessageRule(for_each="[1, 2, 3, 4, 5, 6]", role="'user'", content="entity.data.big")]}
    )
    session_id, (turn_id,) = await stubs.session({"big": "x" * 900_000, "role": "user", "content": "x"})

    async with refused(AnswerTooLarge, use="StreamChatHistory"):
        await stubs.page(session_id, mapping_name=name)
    async with refused(AnswerTooLarge, node_id=turn_id):
        await stubs.page(session_id, data_paths=["big", "data"])


async def test_a_question_is_checked(stubs: Stubs):
    session_id, _ = await stubs.session({"user_input": "1"}, {"user_input": "2"})

    async with refused(InvalidArgument, violations=["node_id"]):
        await stubs.page("x")
    for field in ("max_messages", "page_size"):
        async with refused(InvalidArgument, violations=[field]):
            await stubs.page(session_id, **{field: -1})
    for path in ("", "a..b", "a b", "1a", "entity.data['x']"):
        async with refused(InvalidArgument, violations=["data_paths"]):
            await stubs.page(session_id, data_paths=[path])
    async with refused(LimitExceeded, limit="data_paths", limit_max=32, value=33):
        await stubs.page(session_id, data_paths=["a"] * 33)
    async with refused(LimitExceeded, limit="data_paths"):
        await stubs.page(session_id, data_paths=["a" * 5000])


async def test_a_token_fits_its_question_only(stubs: Stubs):
    session_id, _ = await stubs.session({"user_input": "1"}, {"user_input": "2"})
    token = (await stubs.page(session_id, page_size=1)).next_page_token

    for other in ({"max_messages": 1}, {"mapping_name": "chat_turns"}, {"data_paths": ["a"]}, {"app_id": "a"}):
        async with refused(InvalidPageToken):
            await stubs.page(session_id, page_token=token, **other)
    async with refused(InvalidPageToken):
        await Stubs(stubs.channel, stubs.entity, OTHER_KEY).page(session_id, page_token=token)
