"""A node's input and output: set, read, and carried by walks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import AnswerTooLarge, LimitExceeded
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused

MIB = 1024 * 1024
FULL_AND_INDEXED = (2, 1)


async def new_node(graph: Graph) -> str:
    (written,) = (await graph.write(node())).nodes
    return written.id


async def set_io(graph: Graph, node_id: str, **sides: str) -> pb.SetNodeIOResponse:
    return await graph.SetNodeIO(pb.SetNodeIORequest(node_id=node_id, **sides))


async def get_io(graph: Graph, node_id: str) -> pb.GetNodeIOResponse:
    return await graph.GetNodeIO(pb.GetNodeIORequest(node_id=node_id))


async def sides_of(graph: Graph, node_id: str) -> list[Any]:
    io = await get_io(graph, node_id)
    return [json.loads(text) if text else "" for text in (io.input_json, io.output_json)]


async def family(graph: Graph, count: int) -> tuple[str, list[str]]:
    """A parent and its children, oldest first."""
    root, ids = new_id(), [new_id() for _ in range(count)]
    await graph.write(node("Session", id=root), *[node(id=i) for i in ids], *[edge(root, i) for i in ids])
    return root, ids


async def test_a_side_holds_a_mebibyte_and_no_more(graph: Graph):
    node_id = await new_node(graph)
    largest = "[" + "1," * (MIB // 2 - 2) + "11]"  # which Postgres spells half as long again
    assert len(largest) == MIB

    await set_io(graph, node_id, input_json=largest, output_json=largest)
    assert await sides_of(graph, node_id) == [json.loads(largest)] * 2

    async with refused(LimitExceeded, limit="output_json", limit_max=MIB, value=MIB + 1):
        await set_io(graph, node_id, output_json=largest + " ")


async def test_writers_of_the_two_sides_at_once_lose_neither(graph: Graph):
    node_id = await new_node(graph)

    await asyncio.gather(
        *[set_io(graph, node_id, input_json=str(n)) for n in range(10)],
        *[set_io(graph, node_id, output_json=str(n)) for n in range(10)],
    )

    given = set(range(10))
    assert all(side in given for side in await sides_of(graph, node_id))


@pytest.mark.parametrize("depth_max", FULL_AND_INDEXED)
async def test_a_walk_carries_what_was_set_where_it_is_asked_for(graph: Graph, depth_max: int):
    root, ids = await family(graph, 4)
    await set_io(graph, ids[0], input_json='{"a": 1}', output_json="2")
    await set_io(graph, ids[1], output_json="null")
    await set_io(graph, root, input_json="0")

    for descending in (False, True):
        rows = await graph.reached(
            root, depth_max=depth_max, include_start=True, include_io=True, descending=descending
        )
        found = {row.node.id: (row.io.input_json, row.io.output_json) for row in rows if row.HasField("io")}
        assert found == {root: ("0", ""), ids[0]: ('{"a": 1}', "2"), ids[1]: ("", "null")}
        assert [row.node.id for row in rows] == [root, *ids][:: -1 if descending else 1]

    plain = await graph.reached(root, depth_max=depth_max, include_start=True)
    assert not any(row.HasField("io") for row in plain)


@pytest.mark.parametrize("depth_max", FULL_AND_INDEXED)
async def test_io_changes_nothing_else_of_a_walk(graph: Graph, depth_max: int):
    root, ids = await family(graph, 3)
    hidden = new_id()
    await graph.write(node("Hidden", id=hidden), edge(root, hidden, "Calls", data_json='{"x": 1}'))
    for node_id in (*ids, hidden):
        await set_io(graph, node_id, input_json="1")

    for fields in ({}, {"node_types": ["Message"]}, {"edge_types": ["Calls"]}, {"order_path": "a", "descending": True}):
        plain = await graph.reached(root, depth_max=depth_max, **fields)
        with_io = await graph.reached(root, depth_max=depth_max, include_io=True, **fields)
        assert all(row.io.input_json == "1" for row in with_io)
        for row in with_io:
            row.ClearField("io")
        assert with_io == plain


@pytest.mark.parametrize("depth_max", FULL_AND_INDEXED)
async def test_pages_with_io_go_on_where_they_were_cut(graph: Graph, depth_max: int):
    root, ids = await family(graph, 7)
    for place, node_id in enumerate(ids):
        await set_io(graph, node_id, output_json=str(place))

    seen, token = [], ""
    while True:
        messages = await graph.walk(root, depth_max=depth_max, include_io=True, limit=3, page_token=token)
        seen += [(row.node.id, row.io.output_json) for message in messages for row in message.nodes]
        token = messages[-1].next_page_token
        if not token:
            break

    assert seen == [(node_id, str(place)) for place, node_id in enumerate(ids)]


@pytest.mark.parametrize("depth_max", FULL_AND_INDEXED)
async def test_large_sides_end_messages_as_large_data_does(graph: Graph, depth_max: int):
    root, ids = await family(graph, 12)
    large = json.dumps("lorem ipsum " * 30_000)
    for node_id in ids:
        await set_io(graph, node_id, input_json=large, output_json=large)

    messages = await graph.walk(root, depth_max=depth_max, include_io=True)

    assert [row.node.id for message in messages for row in message.nodes] == ids
    assert all(row.io.output_json == large for message in messages for row in message.nodes)
    assert max(message.ByteSize() for message in messages) < 1_100_000


@pytest.mark.parametrize("depth_max", FULL_AND_INDEXED)
async def test_a_node_that_fits_no_message_with_its_io_is_named(graph: Graph, depth_max: int):
    root, child = new_id(), new_id()
    largest = '{"a":[' + "1," * (MIB // 2 - 5) + "1]}"
    await graph.write(node(id=root), node(id=child, data_json=largest), edge(root, child))
    await set_io(graph, child, input_json=largest, output_json=largest)

    async with refused(AnswerTooLarge, node_id=child):
        await graph.walk(root, depth_max=depth_max, include_io=True)

    assert len(await graph.reached(root, depth_max=depth_max)) == 1
