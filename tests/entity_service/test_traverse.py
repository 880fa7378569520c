"""Traverse: what the property test does not say by itself."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator

import grpc
import pytest

import entity_service.app
import entity_service.settings
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidPageToken, NodeBudgetExceeded
from entity_service.rules.traverse import _ahead
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused


async def star(graph: Graph, count: int, **fields: object) -> tuple[str, list[str]]:
    root = new_id()
    await graph.write(node("Session", id=root))
    ids: list[str] = []
    while len(ids) < count:
        some = [new_id() for _ in range(min(1000, count - len(ids)))]
        await graph.write(*[node(id=i, **fields) for i in some], *[edge(root, i) for i in some])
        ids += some
    return root, ids


async def test_an_empty_answer_is_one_message(graph: Graph):
    (only,) = (await graph.write(node())).nodes

    (indexed,) = await graph.walk(only.id, depth_max=1)
    (full,) = await graph.walk(only.id)

    assert indexed == pb.TraverseResponse(indexed=True)
    assert full == pb.TraverseResponse()


async def test_only_the_first_message_says_which_walk_it_was(graph: Graph):
    root, _ = await star(graph, 1500)

    messages = await graph.walk(root, depth_max=1)

    assert [message.indexed for message in messages] == [True] + [False] * (len(messages) - 1)
    assert max(len(message.nodes) for message in messages) <= 1000


async def test_a_long_history_comes_whole_from_either_end_and_in_pages(graph: Graph):
    root, ids = await star(graph, 2500)

    for depth_max in (1, 2):
        reached = await graph.reached(root, depth_max=depth_max)
        assert [row.node.id for row in reached] == ids
        reached = await graph.reached(root, depth_max=depth_max, descending=True)
        assert [row.node.id for row in reached] == ids[::-1]
        (*_, last) = await graph.walk(root, depth_max=depth_max, limit=1200)
        rest = await graph.reached(root, depth_max=depth_max, page_token=last.next_page_token)
        assert [row.node.id for row in rest] == ids[1200:]


async def test_messages_stay_near_a_mebibyte(graph: Graph):
    root, ids = await star(graph, 12, data={"text": "lorem ipsum" * 30_000})

    for depth_max in (1, 2):
        messages = await graph.walk(root, depth_max=depth_max)
        assert sum(len(message.nodes) for message in messages) == len(ids)
        assert max(message.ByteSize() for message in messages) < 1_100_000


async def test_a_filter_that_hides_nearly_all_still_finds_the_rest_and_no_token_lies(graph: Graph):
    root, _ = await star(graph, 3000)
    rare = [new_id() for _ in range(3)]
    await graph.write(*[node("Rare", id=i) for i in rare], *[edge(root, i) for i in rare])

    for descending in (False, True):
        asked = {"depth_max": 1, "node_types": ["Rare"], "descending": descending}
        two = await graph.walk(root, limit=2, **asked)
        found = [row.node.id for message in two for row in message.nodes]
        assert found == (rare[::-1] if descending else rare)[:2]
        last = await graph.reached(root, limit=2, page_token=two[-1].next_page_token, **asked)
        assert [row.node.id for row in last] == (rare[::-1] if descending else rare)[2:]
        assert (await graph.walk(root, limit=3, **asked))[-1].next_page_token == ""


async def test_a_page_that_was_just_full_is_followed_by_its_token(graph: Graph):
    """The pages of the index and the limit end at the same row, and only a look behind it says that more is there."""
    root, child = new_id(), new_id()
    hidden = [new_id() for _ in range(4)]
    await graph.write(
        *[node("Hidden", id=i) for i in hidden[:2]],
        node(id=root),
        *[node("Hidden", id=i) for i in hidden[2:]],
        node(id=child),
        *[edge(root, i) for i in (*hidden, child)],
    )

    asked = {"depth_max": 1, "limit": 1, "node_types": ["Message"], "include_start": True}
    messages = await graph.walk(root, **asked)
    rest = await graph.walk(root, **asked, page_token=messages[-1].next_page_token)

    assert [row.node.id for message in messages for row in message.nodes] == [root]
    assert [row.node.id for message in rest for row in message.nodes] == [child]


async def test_long_texts_to_order_by_fit_a_token(graph: Graph):
    root = new_id()
    children = [node(id=new_id(), data={"t": "ü\n" * 5000 + str(n)}) for n in range(6)]
    await graph.write(node(id=root), *children, *[edge(root, child.id) for child in children])

    found, token = [], ""
    while True:
        (message,) = await graph.walk(root, depth_max=1, order_path="t", limit=2, page_token=token)
        found += [row.node.id for row in message.nodes]
        token = message.next_page_token
        if not token:
            break

    assert found == [child.id for child in children]


async def test_a_walk_stops_at_its_budget(graph: Graph):
    root, _ = await star(graph, 10)

    for depth_max in (1, 2):
        assert len(await graph.reached(root, depth_max=depth_max, node_budget=11)) == 10
        async with refused(NodeBudgetExceeded, node_budget=10):
            await graph.walk(root, depth_max=depth_max, node_budget=10)
    # An indexed walk visits what it returns.
    assert len(await graph.reached(root, depth_max=1, node_budget=5, limit=4)) == 4


async def test_forged_tokens_are_refused(graph: Graph):
    root, _ = await star(graph, 3)

    def forged(order_path: list[str], key: list[object]) -> str:
        return encode_token(
            ("Traverse", graph.tenant_id, [root], [], "out", 1, [], False, False, order_path, False), key
        )

    assert len(await graph.reached(root, depth_max=1, page_token=forged([], [0, 0]))) == 3
    for key in ([1], ["a", 1], [1, 2**63], [2**63, 1], [1e30, 1], [True, 1], [None, None]):
        async with refused(InvalidPageToken, violations=["page_token"]):
            await graph.walk(root, depth_max=1, page_token=forged([], key))
    for key in ([0, 0], [0, "x", 1, 1], [0, "NaN", 1, 1], [0, "Infinity", 1, 1], [1, 0, 1, 1], ["0", "1", 1, 1]):
        async with refused(InvalidPageToken, violations=["page_token"]):
            await graph.walk(root, depth_max=1, order_path="a", page_token=forged(["a"], key))


async def test_a_walk_that_starts_in_a_context_stays_in_it(graph: Graph, database: Database):
    root, ids = await star(graph, 4)
    context_id = new_id()
    for node_id in (root, *ids[:2]):
        await database.tenant(DEFAULT_TENANT_ID).query(
            "UPDATE entity.node SET context_id = %s WHERE id = %s", (context_id, node_id)
        )

    for depth_max in (1, 2):
        reached = await graph.reached(root, depth_max=depth_max)
        assert [row.node.id for row in reached] == ids[:2]
        assert {row.node.context_id for row in reached} == {context_id}


async def test_rows_written_between_pages_neither_hide_nor_repeat_a_row(graph: Graph):
    root, ids = await star(graph, 20)
    found, token = [], ""
    for depth_max in (1, 2):
        found, token = [], ""
        while True:
            late = new_id()
            await graph.write(node(id=late, created_at={"seconds": 5}), edge(root, late))
            messages = await graph.walk(root, depth_max=depth_max, limit=3, page_token=token)
            found += [row.node.id for message in messages for row in message.nodes]
            token = messages[-1].next_page_token
            if not token:
                break

        assert len(found) == len(set(found))
        assert [node_id for node_id in found if node_id in ids] == ids


async def test_a_cancelled_walk_gives_its_connection_back(
    entity_settings: entity_service.settings.Settings, graph: Graph
):
    root, _ = await star(graph, 2500)
    for _ in range(entity_settings.database_pool_max * 2):
        call = graph.Traverse(pb.TraverseRequest(start_node_ids=[root], depth_max=1))
        await call.read()
        call.cancel()

    assert len(await graph.reached(root, depth_max=1)) == 2500


async def test_reading_ahead_ends_with_its_walk_though_a_cancellation_was_lost():
    """Before Python 3.12 `asyncio.wait_for`, which psycopg waits with, may lose one."""

    async def pages() -> AsyncGenerator[int, None]:
        for number in itertools.count():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05 if number else 0)
            yield number

    ahead = _ahead(pages())
    await anext(ahead)
    await asyncio.sleep(0.01)

    async with asyncio.timeout(30):
        await ahead.aclose()


async def test_slow_readers_hold_no_connection(entity_settings: entity_service.settings.Settings, graph: Graph):
    root, _ = await star(graph, 3000, data={"text": "x" * 1000})
    readers = [
        graph.Traverse(pb.TraverseRequest(start_node_ids=[root], depth_max=1))
        for _ in range(entity_settings.database_pool_max + 2)
    ]
    await asyncio.gather(*[reader.read() for reader in readers])

    await graph.get(root)

    for reader in readers:
        reader.cancel()


async def test_a_deadline_ends_a_walk(graph: Graph):
    root, _ = await star(graph, 2000)

    with pytest.raises(grpc.RpcError) as failure:
        call = graph._stub.Traverse(pb.TraverseRequest(start_node_ids=[root]), metadata=graph._metadata, timeout=0.001)
        async for _ in call:
            pass
    assert failure.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
