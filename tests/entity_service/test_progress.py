"""The timeline of a node: appended to, listed with what the node calls, cleared."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidPageToken, NodeBudgetExceeded
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
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


async def test_the_largest_envelope_fits_a_page_of_its_own(graph: Graph, there: str):
    largest = json.dumps("x" * (1024 * 1024 - 2))
    for _ in range(3):
        await append(graph, there, "m" * 65536, value_json=largest, error_json=largest)

    page = await graph.ListProgress(pb.ListProgressRequest(node_id=there))

    assert len(page.envelopes) == 1
    assert len(await listed(graph, there)) == 3


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


async def test_forged_tokens_are_refused(graph: Graph, there: str):
    binding = ("ListProgress", graph.tenant_id, there, False, [], False)
    for key in ([-1], [2**63], [1.5], ["1"], [None], [True], [1, 2], []):
        async with refused(InvalidPageToken, violations=["page_token"]):
            await graph.ListProgress(pb.ListProgressRequest(node_id=there, page_token=encode_token(binding, key)))


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
