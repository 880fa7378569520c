"""Traverse against a model, on random graphs: every option, paged and unpaged, indexed and not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from tests.entity_service import model
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.examples import examples

EDGE_TYPES = ["Contains", "Calls", "x"]
NODE_TYPES = ["Message", "Task", "Odd"]
DIRECTIONS = {"out": pb.DIRECTION_OUT, "in": pb.DIRECTION_IN, "both": pb.DIRECTION_BOTH}
VALUES = st.sampled_from(
    [None, 1, 2, -1, 1.5, 2**60, 2**60 + 1, "a", "b", "", True, [1], {"b": 1}, {"b": "z"}, {"b": None}]
)

SIDES = st.sampled_from([{}, {}, {"input_json": "1"}, {"output_json": "null"}, {"input_json": "2", "output_json": "3"}])

few = st.integers(0, 8)
graphs = st.fixed_dictionaries(
    {
        # Few different times, so that ties are the rule.
        "nodes": st.lists(
            st.tuples(
                st.integers(0, 3),
                st.sampled_from(NODE_TYPES),
                st.sampled_from(NODE_TYPES),
                st.booleans(),
                VALUES,
                SIDES,
            ),
            min_size=1,
            max_size=9,
        ),
        "edges": st.lists(st.tuples(few, few, st.sampled_from(EDGE_TYPES), st.integers(0, 3)), max_size=24),
    }
)
walks = st.fixed_dictionaries(
    {
        "starts": st.lists(few, min_size=1, max_size=3),
        "edge_types": st.lists(st.sampled_from([*EDGE_TYPES, "none"]), max_size=2, unique=True),
        "direction": st.sampled_from(["out", "out", "in", "both"]),
        "depth_max": st.integers(1, 4),
        "node_types": st.one_of(st.just([]), st.lists(st.sampled_from(NODE_TYPES), max_size=2, unique=True)),
        "include_archived": st.booleans(),
        "include_start": st.booleans(),
        "include_io": st.booleans(),
        "order_path": st.sampled_from(["", "", "a", "a.b"]),
        "descending": st.booleans(),
    }
)


class Written:
    """A random graph, in the service and in memory."""

    def __init__(self) -> None:
        self.nodes: dict[str, model.ModelNode] = {}
        self.edges: list[model.ModelEdge] = []

    async def write(self, graph: Graph, shape: dict[str, Any]) -> None:
        ids = [new_id() for _ in shape["nodes"]]
        inputs = []
        for node_id, (at, general, specific, _, value, _) in zip(ids, shape["nodes"], strict=True):
            fields = {"id": node_id, "specific_type_name": specific, "data": {"a": value} if value is not None else {}}
            inputs.append(node(general, created_at={"seconds": at}, **fields))
        edges: dict[tuple[str, str, str], pb.EdgeInput] = {}
        for near, far, edge_type, at in shape["edges"]:
            ends = (ids[near % len(ids)], ids[far % len(ids)], edge_type)
            edges.setdefault(ends, edge(*ends, id=new_id(), created_at={"seconds": at}))
        written = await graph.write(*inputs, *edges.values())
        for node_input, row, values in zip(inputs, written.nodes, shape["nodes"], strict=True):
            is_archived, io = values[3], values[5]
            if io:
                await graph.SetNodeIO(pb.SetNodeIORequest(node_id=row.id, **io))
            if is_archived:
                await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=row.id))
            self.nodes[row.id] = model.ModelNode(
                row.id,
                row.created_at.ToMicroseconds(),
                row.seq,
                (node_input.general_type_name, node_input.specific_type_name),
                is_archived,
                json.loads(node_input.data_json),
                io,
            )
        for ends, edge_input in edges.items():
            self.edges.append(model.ModelEdge(edge_input.id, *ends, edge_input.created_at.ToMicroseconds()))


async def answer(
    graph: Graph, starts: list[str], page_rows: int, *, by_place: bool = False, **options: Any
) -> list[model.Reached]:
    """Walk with a limit of `page_rows` and follow the tokens, or the places; 0 asks for everything at once."""
    token, rows = "", []
    while True:
        if by_place and rows:
            last = rows[-1].node
            options["after"] = pb.TraversePosition(created_at=last.created_at, seq=last.seq)
            token = ""
        messages = await graph.walk(*starts, limit=page_rows, page_token=token, **options)
        assert messages
        page = [row for message in messages for row in message.nodes]
        assert not page_rows or len(page) <= page_rows
        rows += page
        token = messages[-1].next_page_token
        assert not any(message.next_page_token for message in messages[:-1])
        if not token:
            break
        assert len(page) == page_rows
    return [
        model.Reached(
            row.node.id,
            row.depth,
            row.reached_by.edge_id or None,
            row.reached_by.node_id or None,
            {field.name: text for field, text in row.io.ListFields()},
        )
        for row in rows
    ]


@pytest.mark.timeout(300)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=graphs, many=st.lists(walks, min_size=6, max_size=6), page_rows=st.integers(1, 4))
async def test_every_walk_is_what_the_model_says(
    graph: Graph, shape: dict[str, Any], many: list[dict[str, Any]], page_rows: int
):
    written = Written()
    await written.write(graph, shape)
    ids = list(written.nodes)
    for options in many:
        starts = list(dict.fromkeys(ids[start % len(ids)] for start in options["starts"]))
        asked = {key: value for key, value in options.items() if key != "starts"}
        expected = model.walk(written.nodes, written.edges, starts, **asked)

        asked["direction"] = DIRECTIONS[asked["direction"]]
        assert await answer(graph, starts, 0, **asked) == expected
        assert await answer(graph, starts, page_rows, **asked) == expected
        if not asked["order_path"]:
            assert await answer(graph, starts, page_rows, by_place=True, **asked) == expected


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=graphs, options=walks, page_rows=st.integers(0, 3))
async def test_an_indexed_walk_and_a_full_one_answer_the_same(
    graph: Graph, shape: dict[str, Any], options: dict[str, Any], page_rows: int
):
    """A second start node that has no edges and is hidden makes any walk a full one."""
    written = Written()
    await written.write(graph, shape)
    hidden = (await graph.write(node("Hidden", created_at={"seconds": 1}))).nodes[0].id
    start = next(iter(written.nodes))
    asked = {key: value for key, value in options.items() if key not in ("starts", "direction", "order_path")}
    asked |= {"depth_max": 1, "node_types": asked["node_types"] or NODE_TYPES}

    assert (await graph.walk(start, **asked))[0].indexed
    assert not (await graph.walk(start, hidden, **asked))[0].indexed
    assert await answer(graph, [start], page_rows, **asked) == await answer(graph, [start, hidden], page_rows, **asked)
