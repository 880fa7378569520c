"""Traverse with columns: the same nodes in the same order, as rows of JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument, NodeNotFound
from entity_service.model.limits import Limits
from entity_service.rules.traverse import Traversal
from entity_service.wire.walks import walk
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, Principal
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused

EDGES, PATH = pb.TRAVERSE_COLUMN_EDGES, pb.TRAVERSE_COLUMN_PATH
ALL = [number for number in pb.TraverseColumn.values() if number not in (0, EDGES, PATH)]  # those of whole nodes
ID, DATA, SEQ = pb.TRAVERSE_COLUMN_ID, pb.TRAVERSE_COLUMN_DATA, pb.TRAVERSE_COLUMN_SEQ
# What escapes, orders or sizes may get wrong.
TEXTS = ['"', "\\", "line\nbreak\t\x01", "ключ 🔑", "[1,2]", "'; --", "%(rows)s %s {columns}"]


def as_row(reached: pb.TraversedNode) -> list[Any]:
    """Return a node as a row of all columns, in the order of their numbers."""
    one, by, io = reached.node, reached.reached_by, reached.io
    sides = {"input": io.input_json, "output": io.output_json}
    return [
        one.id,
        one.external_id,
        one.general_type_name,
        one.specific_type_name,
        one.name,
        one.status,
        json.loads(one.data_json),
        one.created_at.ToMicroseconds(),
        one.modified_at.ToMicroseconds(),
        one.seq,
        one.is_archived,
        reached.depth,
        by.edge_id,
        by.edge_type,
        by.node_id,
        json.loads(by.data_json or "{}"),
        {side: json.loads(text) for side, text in sides.items() if text},
        one.version,
        one.agent_bundle_id,
        1 if by.edge_id else 0,  # none of the edges was changed
        one.owner_user_id,
    ]


async def rows(graph: Graph, *start_ids: str, columns: list[int], **fields: Any) -> list[list[Any]]:
    messages = await graph.walk(*start_ids, columns=columns, **fields)
    assert not any(message.nodes for message in messages)
    return [row for message in messages for row in json.loads(message.rows_json)]


async def session_of_turns(graph: Graph) -> str:
    """Write a session with a turn for each odd text, a message below each, and some input and output."""
    session = new_id()
    await graph.write(node("Session", id=session, name="start"))
    for number, text in enumerate(TEXTS):
        turn, message = new_id(), new_id()
        document = {"text": text, text: [1.5, 2**53, None, True, {"deep": text}]}
        await graph.write(
            node("Turn", id=turn, name=text, specific_type_name=f"Turn {text}", external_id=f"{session} {text}"),
            node("Message", id=message, data=document, status="Odd" if number % 2 else "Completed"),
            edge(session, turn, data_json=json.dumps({"n": number, "text": text})),
            edge(turn, message, "InResponseTo" if number % 2 else "Contains"),
        )
        if number % 3 == 0:
            await graph.SetNodeIO(pb.SetNodeIORequest(node_id=message, input_json=json.dumps(text)))
        if number % 2 == 0:
            await graph.SetNodeIO(pb.SetNodeIORequest(node_id=message, output_json="null"))
    return session


@pytest.mark.parametrize(
    "asked",
    [
        {"depth_max": 1},
        {"depth_max": 1, "descending": True, "limit": 3},
        {"depth_max": 3, "descending": True, "limit": 10},
        {"depth_max": 3},
        {"depth_max": 3, "order_path": "text", "limit": 5},
    ],
    ids=["children", "newest children", "newest of levels", "full", "full by a value"],
)
@pytest.mark.parametrize("include_start", [False, True], ids=["", "with start"])
async def test_rows_say_what_nodes_say(graph: Graph, asked: dict[str, Any], include_start: bool):
    session = await session_of_turns(graph)
    asked = {**asked, "edge_types": ["Contains", "InResponseTo"], "include_start": include_start}

    messages = await graph.walk(session, include_io=True, **asked)
    same = await graph.walk(session, columns=ALL, **asked)

    assert await rows(graph, session, columns=ALL, **asked) == [
        as_row(reached) for message in messages for reached in message.nodes
    ]
    assert (same[0].indexed, same[-1].next_page_token) == (messages[0].indexed, messages[-1].next_page_token)


async def test_columns_come_in_the_order_of_the_request_and_no_others(graph: Graph):
    session, message = new_id(), new_id()
    await graph.write(node(id=session), node(id=message, data={"a": 1}), edge(session, message))
    (reached,) = await graph.reached(session)

    assert await rows(graph, session, columns=[SEQ, DATA, ID]) == [[reached.node.seq, {"a": 1}, message]]
    assert await rows(graph, session, columns=[ID]) == [[message]]


async def test_a_walk_that_reaches_nothing_has_an_empty_array(graph: Graph):
    session = new_id()
    await graph.write(node(id=session))

    for depth_max in (1, 2):
        for descending in (False, True):
            asked = {"depth_max": depth_max, "descending": descending, "limit": 5, "edge_types": ["Contains"]}
            (message,) = await graph.walk(session, columns=[ID], **asked)
            assert message.rows_json == b"[]"
    async with refused(NodeNotFound):
        await graph.walk(new_id(), columns=[ID])


@pytest.mark.parametrize("depth_max", [1, 2])
async def test_what_a_filter_hides_is_in_no_row(graph: Graph, depth_max: int):
    session = new_id()
    ids = [new_id() for _ in range(40)]
    await graph.write(node(id=session), *[node("Kept" if n % 7 == 0 else "Hidden", id=i) for n, i in enumerate(ids)])
    await graph.write(*[edge(session, i) for i in ids])

    for descending in (False, True):
        asked = {"depth_max": depth_max, "edge_types": ["Contains"], "node_types": ["Kept"], "descending": descending}
        found = await rows(graph, session, columns=[ID], limit=4, **asked)
        kept = ids[::7][::-1] if descending else ids[::7]
        assert [row[0] for row in found] == kept[:4]


@pytest.mark.parametrize(
    "asked", [{"depth_max": 1}, {"depth_max": 2}, {"depth_max": 2, "descending": True, "limit": 9}]
)
async def test_large_documents_come_in_messages_of_one_mebibyte(graph: Graph, asked: dict[str, Any]):
    session = new_id()
    ids = [new_id() for _ in range(9)]
    text = base64.b64encode(bytes(range(256)) * 1000).decode()  # incompressible enough
    await graph.write(node(id=session))
    for number, one in enumerate(ids):
        await graph.write(node(id=one, data={"text": text, "n": number}), edge(session, one))

    messages = await graph.walk(session, columns=[ID, DATA], edge_types=["Contains"], **asked)

    found = [row for message in messages for row in json.loads(message.rows_json)]
    assert [row[0] for row in found] == (ids[::-1] if asked.get("descending") else ids)
    assert all(row[1]["text"] == text for row in found)
    assert len(messages) > 1
    assert max(len(message.rows_json) for message in messages) <= 1024 * 1024
    assert sum(message.indexed for message in messages) == (asked != {"depth_max": 2})
    # Without their documents they are one page.
    (message,) = await graph.walk(session, columns=[ID], edge_types=["Contains"], **asked)
    assert len(json.loads(message.rows_json)) == 9


async def test_a_token_goes_on_with_other_columns_or_none(graph: Graph):
    session = await session_of_turns(graph)
    asked: dict[str, Any] = {"edge_types": ["Contains", "InResponseTo"], "depth_max": 3, "descending": True}
    whole = [reached.node.id for reached in await graph.reached(session, **asked)]
    (first,) = await graph.walk(session, columns=[ID], limit=4, **asked)

    token = first.next_page_token
    rest = await rows(graph, session, columns=[SEQ, ID], page_token=token, **asked)
    assert [row[0] for row in json.loads(first.rows_json)] + [row[1] for row in rest] == whole
    assert [reached.node.id for reached in await graph.reached(session, page_token=token, **asked)] == whole[4:]


async def test_unknown_and_repeated_columns_are_refused(graph: Graph):
    session = new_id()
    await graph.write(node(id=session))

    for columns, field in (([ID, 0], "columns[1]"), ([99], "columns[0]"), ([ID, DATA, ID], "columns")):
        async with refused(InvalidArgument, violations=[field]):
            await graph.walk(session, columns=columns)


async def revised(graph: Graph) -> tuple[str, str, str, str]:
    """Write a thread with a draft, its revision, and an author who is out of the walk's reach."""
    thread, draft, revision, author = (new_id() for _ in range(4))
    await graph.write(
        node("Thread", id=thread, name="Tråd"),
        node("Draft", id=draft, specific_type_name="Utkast", status="Completed"),
        node("Revision", id=revision),
        node("Person", id=author, name="Åsa"),
        edge(thread, draft, "Holds"),
        edge(draft, revision, "Holds"),
        edge(revision, draft, "Revises", data_json='{"why": "tone"}'),
        edge(author, draft, "Wrote"),
        edge(draft, draft, "SameAs"),
    )
    return thread, draft, revision, author


@pytest.mark.parametrize(
    "asked",
    [{"depth_max": 1}, {"depth_max": 3}, {"depth_max": 3, "descending": True, "limit": 9}],
    ids=["children", "full", "newest"],
)
async def test_a_row_has_all_edges_of_its_node_in_both_directions(graph: Graph, asked: dict[str, Any]):
    thread, draft, revision, author = await revised(graph)

    found = dict(await rows(graph, thread, columns=[ID, EDGES], edge_types=["Holds"], **asked))

    assert [(edge["type"], edge["direction"], edge["node"]["id"], edge["data"]) for edge in found[draft]] == [
        ("Holds", "in", thread, {}),
        ("Holds", "out", revision, {}),
        ("Revises", "in", revision, {"why": "tone"}),
        ("Wrote", "in", author, {}),
        ("SameAs", "in", draft, {}),
        ("SameAs", "out", draft, {}),
    ]
    far = {"id": author, "name": "Åsa", "type": "Person", "general_type": "Person", "status": "Created"}
    assert found[draft][3]["node"] == {**far, "is_archived": False}


@pytest.mark.parametrize(
    "asked",
    [{"depth_max": 3}, {"depth_max": 3, "descending": True, "limit": 1}, {"depth_max": 3, "order_path": "n"}],
    ids=["full", "newest", "by a value"],
)
async def test_a_row_has_the_steps_to_its_node_over_nodes_that_are_not_returned(graph: Graph, asked: dict[str, Any]):
    thread, draft, revision, _ = await revised(graph)

    found = await rows(graph, thread, columns=[ID, PATH], edge_types=["Holds"], node_types=["Revision"], **asked)

    ((reached, path),) = found
    assert reached == revision
    assert [(step["type"], step["direction"], step["node"]["id"]) for step in path] == [
        ("Holds", "out", draft),
        ("Holds", "out", revision),
    ]
    assert (path[0]["node"]["type"], path[0]["node"]["status"]) == ("Utkast", "Completed")


async def test_a_path_against_the_direction_says_so_and_a_start_has_none(graph: Graph):
    thread, draft, revision, _ = await revised(graph)

    asked = {"edge_types": ["Holds"], "include_start": True}
    inward = dict(await rows(graph, revision, columns=[ID, PATH], direction=pb.DIRECTION_IN, **asked))
    children = dict(await rows(graph, thread, columns=[ID, PATH], depth_max=1, **asked))

    assert [step["direction"] for step in inward[thread]] == ["in", "in"]
    assert (inward[revision], children[thread]) == ([], [])
    assert [(step["type"], step["node"]["id"]) for step in children[draft]] == [("Holds", draft)]


async def test_a_node_with_too_many_edges_has_none_instead_of_some(graph: Graph):
    """A rule that looks for a replacement must not miss it."""
    hub, message = new_id(), new_id()
    await graph.write(node("Hub", id=hub), node(id=message), edge(message, hub))
    for _ in range(2):
        spokes = [new_id() for _ in range(500)]
        await graph.write(*(node(id=spoke) for spoke in spokes), *(edge(hub, spoke, "Spoke") for spoke in spokes))
    wide = new_id()
    await graph.write(node(id=wide), edge(message, wide))
    for number in range(5):
        far = new_id()
        await graph.write(node(id=far), edge(wide, far, "Has", data_json=json.dumps({"x": f"{number}" * 60_000})))

    found = dict(await rows(graph, message, columns=[ID, EDGES], depth_max=1))

    assert found == {hub: None, wide: None}


@pytest.mark.parametrize("depth_max", [1, 3])
async def test_edges_to_nodes_out_of_a_keys_bounds_are_not_among_them(graph: Graph, database: Database, depth_max: int):
    """Not even as a number: an expression of the key's owner runs on what the row has."""
    chat, message, replacement, theirs = (new_id() for _ in range(4))
    await graph.write(
        *(node(id=one, agent_bundle_id="mine") for one in (chat, message, replacement)),
        node(id=theirs, agent_bundle_id="theirs", name="confidential"),
        edge(chat, message, "Holds"),
        edge(replacement, message, "Replaces"),
        edge(theirs, message, "Replaces", data_json='{"why": "confidential"}'),
    )
    asked = pb.TraverseRequest(start_node_ids=[chat], depth_max=depth_max, edge_types=["Holds"], columns=[EDGES, PATH])

    async def seen(**bounds: Any) -> str:
        reader = Principal(tenant_id=DEFAULT_TENANT_ID, subject="reader", **bounds)
        pages = [page async for page in Traversal(database).walk(reader, walk(asked, Limits()))]
        return b"".join(row[-1] for page in pages for row in page.rows).decode()

    assert "confidential" in await seen()
    bound = await seen(agent_bundle_id="mine")
    assert replacement in bound
    assert "confidential" not in bound
    assert theirs not in bound
