"""The timeline of a node: appended to, listed with what the node calls, cleared."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded, NodeBudgetExceeded, NodeNotFound
from service_runtime.auth import DEFAULT_TENANT_ID
from service_runtime.pages import encode_token
from service_runtime.postgres import Database
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused
from tests.examples import examples

SETTINGS = {"traverse_nodes_max": 50}


async def append(graph: Graph, node_id: str, message: str = "", **fields: object) -> pb.AppendProgressResponse:
    fields = {"type": pb.ENVELOPE_TYPE_MESSAGE} | fields
    return await graph.AppendProgress(pb.AppendProgressRequest(node_id=node_id, message=message, **fields))


async def listed(graph: Graph, node_id: str, **fields: object) -> list[pb.Envelope]:
    """Every envelope, page by page."""
    token, rows = "", []
    while True:
        page = await graph.ListProgress(pb.ListProgressRequest(node_id=node_id, page_token=token, **fields))
        rows += page.envelopes
        token = page.next_page_token
        if not token:
            return rows


async def messages(graph: Graph, node_id: str, **fields: object) -> list[str]:
    return [row.message for row in await listed(graph, node_id, **fields)]


@pytest.fixture
async def there(graph: Graph) -> str:
    return (await graph.write(node())).nodes[0].id


async def test_an_envelope_is_checked(graph: Graph, others: Graph, there: str, missing_id: str):
    async with refused(InvalidArgument, violations=["type"]):
        await append(graph, there, type=0)
    async with refused(InvalidArgument, violations=["type"]):
        await append(graph, there, type=7)
    async with refused(InvalidArgument, violations=["status"]):
        await append(graph, there, status=-1)
    async with refused(LimitExceeded, limit="message"):
        await append(graph, there, "ü" * 32769)
    async with refused(InvalidArgument, violations=["message"]):
        await append(graph, there, "a\0b")
    async with refused(LimitExceeded, limit="sub_type"):
        await append(graph, there, sub_type="x" * 129)
    for field in ("value_json", "error_json"):
        for bad in ("{", "NaN", '"\\u0000"', "[" * 101 + "]" * 101):
            async with refused(InvalidArgument, violations=[field]):
                await append(graph, there, **{field: bad})
        async with refused(LimitExceeded, limit=field):
            await append(graph, there, **{field: '"' + "x" * 1024 * 1024 + '"'})
    async with refused(InvalidArgument, violations=["node_id"]):
        await append(graph, "x")
    for to, node_id in ((others, there), (graph, missing_id)):
        async with refused(NodeNotFound, node_id=node_id):
            await append(to, node_id)
    assert await listed(graph, there) == []


async def test_the_largest_envelope_fits_a_page_of_its_own(graph: Graph, there: str):
    largest = json.dumps("x" * (1024 * 1024 - 2))
    for _ in range(3):
        await append(graph, there, "m" * 65536, value_json=largest, error_json=largest)

    page = await graph.ListProgress(pb.ListProgressRequest(node_id=there))

    assert len(page.envelopes) == 1
    assert len(await listed(graph, there)) == 3


async def test_a_caller_lists_what_it_calls_to_any_depth_each_once(graph: Graph):
    """A diamond below a chain, a circle back to the top, and a neighbour that is not called."""
    top, a, b, c, bottom, apart = ids = [new_id() for _ in range(6)]
    calls = [(top, a), (a, b), (a, c), (b, bottom), (c, bottom), (bottom, top), (bottom, bottom)]
    await graph.write(
        *[node(id=i) for i in ids],
        *[edge(x, y, "Calls") for x, y in calls],
        edge(top, apart),
        edge(apart, top, "Calls"),
    )
    for turn in range(2):
        for name, node_id in zip(("top", "a", "b", "c", "bottom", "apart"), ids, strict=True):
            await append(graph, node_id, f"{name} {turn}")

    everything = [f"{name} {turn}" for turn in range(2) for name in ("top", "a", "b", "c", "bottom")]
    for page_size in (0, 1, 2, 3):
        assert await messages(graph, top, page_size=page_size) == everything
        assert await messages(graph, top, page_size=page_size, descending=True) == everything[::-1]
    assert await messages(graph, bottom) == everything, "the circle has no top"
    assert await messages(graph, top, own_only=True) == ["top 0", "top 1"]
    assert await messages(graph, apart) == sorted([*everything, "apart 0", "apart 1"], key=lambda m: m[-1])


async def test_types_are_filtered(graph: Graph, there: str):
    for kind in (1, 2, 3, 4, 5, 6, 2):
        await append(graph, there, str(kind), type=kind)

    assert await messages(graph, there, types=[2, 6], page_size=2) == ["2", "6", "2"]
    assert await messages(graph, there, types=[2, 2], descending=True) == ["2", "2"]
    async with refused(InvalidArgument, violations=["types[1]"]):
        await messages(graph, there, types=[1, 0])


async def test_a_list_stays_in_its_context(graph: Graph, database: Database):
    inside, also_inside, outside = ids = [new_id() for _ in range(3)]
    await graph.write(*[node(id=i) for i in ids], edge(inside, also_inside, "Calls"), edge(inside, outside, "Calls"))
    for node_id in ids:
        await append(graph, node_id, node_id)
    await database.tenant(DEFAULT_TENANT_ID).query(
        "UPDATE entity.node SET context_id = %s WHERE id <> %s", (new_id(), outside)
    )

    assert await messages(graph, inside) == [inside, also_inside]


async def test_a_caller_of_too_many_is_refused_but_for_its_own(graph: Graph):
    top, *rest = [new_id() for _ in range(50)]
    await graph.write(*[node(id=i) for i in (top, *rest)], *[edge(top, i, "Calls") for i in rest])
    await append(graph, top, "own")
    assert await messages(graph, top) == ["own"]

    one_more = new_id()
    await graph.write(node(id=one_more), edge(rest[-1], one_more, "Calls"))

    async with refused(NodeBudgetExceeded, node_budget=50):
        await listed(graph, top)
    assert await messages(graph, top, own_only=True) == ["own"]


async def test_a_token_fits_its_query_only(graph: Graph, others: Graph, there: str):
    await others.write(node(id=there))
    for to in (graph, others):
        await append(to, there, "1")
        await append(to, there, "2")
    token = (await graph.ListProgress(pb.ListProgressRequest(node_id=there, page_size=1))).next_page_token

    async def use(to: Graph, page_token: str, **fields: object) -> None:
        await to.ListProgress(pb.ListProgressRequest(node_id=there, page_token=page_token, **fields))

    await use(graph, token)
    for fields in ({"own_only": True}, {"descending": True}, {"types": [1]}):
        async with refused(InvalidPageToken):
            await use(graph, token, **fields)
    async with refused(InvalidPageToken):
        await use(others, token)
    binding = ("ListProgress", graph.tenant_id, there, False, [], False)
    for key in ([-1], [2**63], [1.5], ["1"], [None], [True], [1, 2], []):
        async with refused(InvalidPageToken, violations=["page_token"]):
            await use(graph, encode_token(binding, key))


@given(
    calls=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=16),
    writes=st.lists(st.integers(0, 6), max_size=12),
    page_size=st.integers(1, 5),
)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_list_is_what_a_walk_along_calls_reaches(
    graph: Graph, calls: set[tuple[int, int]], writes: list[int], page_size: int
):
    ids = [new_id() for _ in range(7)]
    await graph.write(*[node(id=i) for i in ids], *[edge(ids[x], ids[y], "Calls") for x, y in calls])
    for position, place in enumerate(writes):
        await append(graph, ids[place], str(position))
    reached, level = {0}, {0}
    while level:
        level = {y for x, y in calls if x in level} - reached
        reached |= level

    expected = [str(position) for position, place in enumerate(writes) if place in reached]
    assert await messages(graph, ids[0], page_size=page_size) == expected
    assert await messages(graph, ids[0], page_size=page_size, descending=True) == expected[::-1]
