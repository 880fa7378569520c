"""Single nodes: written, read in four ways, changed."""

from __future__ import annotations

import asyncio
import json

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    AnswerTooLarge,
    ExternalIdTaken,
    InvalidArgument,
    LimitExceeded,
    NodeExists,
    NodeNotFound,
    StatusConflict,
    VersionConflict,
)
from service_runtime.auth import DEFAULT_TENANT_ID
from service_runtime.postgres import Database
from tests.entity_service.graph import Graph, new_id, node
from tests.errors import refused

ENVELOPES = "SELECT type, status, message, value, created_by FROM entity.progress ORDER BY seq"


async def create(graph: Graph, row: pb.NodeInput, **fields: object) -> pb.CreateNodeResponse:
    return await graph.CreateNode(pb.CreateNodeRequest(node=row, **fields))


async def update(graph: Graph, node_id: str, data_json: str, **fields: object) -> pb.Node:
    request = pb.UpdateNodeDataRequest(node_id=node_id, data_json=data_json, **fields)
    return (await graph.UpdateNodeData(request)).node


async def test_a_created_node_reads_back_as_it_was_answered(graph: Graph):
    created = await create(graph, node(data={"z": 1, "a": [1.50]}, external_id="x", name="n"))

    assert not created.existed
    assert await graph.get(created.node.id) == created.node


async def test_a_node_may_come_with_its_id_and_time(graph: Graph):
    node_id = new_id()

    created = await create(graph, node(id=node_id.upper(), created_at={"seconds": 5, "nanos": 1999}))

    assert created.node.id == node_id
    assert (created.node.created_at.seconds, created.node.created_at.nanos) == (5, 1000)


async def test_taken_ids_are_refused_with_the_node_that_has_them(graph: Graph):
    there = (await create(graph, node(external_id="x"))).node

    async with refused(NodeExists, violations=["node.id"], node_id=there.id):
        await create(graph, node(id=there.id))
    async with refused(ExternalIdTaken, violations=["node.external_id"], node_id=there.id):
        await create(graph, node(external_id="x"))


async def test_get_existing_answers_the_node_that_is_there_unchanged(graph: Graph):
    there = (await create(graph, node(external_id="x", data={"n": 1}))).node
    there = await update(graph, there.id, '{"n": 2}')

    again = await create(graph, node("Other", external_id="x", data={"n": 3}), get_existing=True)

    assert again.existed
    assert again.node == there


async def test_get_existing_creates_what_is_not_there(graph: Graph):
    assert not (await create(graph, node(external_id="x"), get_existing=True)).existed
    assert not (await create(graph, node(), get_existing=True)).existed
    taken = (await create(graph, node())).node.id
    async with refused(NodeExists):
        await create(graph, node(id=taken, external_id="y"), get_existing=True)


async def test_of_fifty_that_create_one_external_id_at_once_one_does(graph: Graph):
    answers = await asyncio.gather(
        *[
            create(graph, node(external_id="x", data={"n": n}), get_existing=True, request_id=new_id())
            for n in range(50)
        ]
    )

    assert [answer.existed for answer in answers].count(False) == 1
    assert all(answer.node == answers[0].node for answer in answers)


async def test_a_repeat_that_found_a_node_the_first_time_finds_it_again(graph: Graph):
    await create(graph, node(external_id="x"))
    request_id = new_id()

    first = await create(graph, node(external_id="x"), get_existing=True, request_id=request_id)

    assert first.existed
    assert await create(graph, node(external_id="x"), get_existing=True, request_id=request_id) == first


async def test_nodes_are_read_in_the_order_asked_for_and_the_missing_are_listed(graph: Graph, missing_id: str):
    ids = [row.id for row in (await graph.write(*[node() for _ in range(5)])).nodes]
    asked = [ids[3], missing_id, ids[0], ids[3], ids[4]]

    answer = await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=asked))

    assert [row.id for row in answer.nodes] == [ids[3], ids[0], ids[4]]
    assert list(answer.missing_ids) == [missing_id]
    assert answer.nodes[1] == await graph.get(ids[0])


async def test_a_batch_has_its_limits(graph: Graph):
    async with refused(InvalidArgument, violations=["node_ids"]):
        await graph.BatchGetNodes(pb.BatchGetNodesRequest())
    async with refused(InvalidArgument, violations=["node_ids[1]"]):
        await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=[new_id(), "x"]))
    async with refused(LimitExceeded, limit="node_ids"):
        await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=[new_id()] * 1001))


async def test_a_batch_that_fits_no_message_is_refused(graph: Graph):
    rows = [(await graph.write(node(data={"a": "xyz" * 300_000}))).nodes[0].id for _ in range(5)]

    async with refused(AnswerTooLarge):
        await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=rows))
    assert len((await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=rows[:4]))).nodes) == 4


async def test_a_node_is_found_by_its_external_id_in_its_graph(graph: Graph, others: Graph):
    there = (await create(graph, node(external_id="x", graph_name="g"))).node

    def ask(**fields: str) -> pb.GetNodeByExternalIdRequest:
        return pb.GetNodeByExternalIdRequest(**fields)

    assert (await graph.GetNodeByExternalId(ask(external_id="x", graph_name="g"))).node == there
    async with refused(NodeNotFound):
        await graph.GetNodeByExternalId(ask(external_id="x"))
    async with refused(NodeNotFound):
        await others.GetNodeByExternalId(ask(external_id="x", graph_name="g"))
    async with refused(InvalidArgument, violations=["external_id"]):
        await graph.GetNodeByExternalId(ask())
    async with refused(LimitExceeded, limit="external_id"):
        await graph.GetNodeByExternalId(ask(external_id="x" * 513))


async def test_of_a_name_the_newest_node_that_is_not_archived_is_found(graph: Graph, others: Graph):
    ids = [row.id for row in (await graph.write(*[node(name="n", data={"n": n}) for n in range(4)])).nodes]
    await graph.write(node(name="n", created_at={"seconds": 5}), node(name="n", graph_name="other"), node(name="m"))
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=ids[3]))

    found = await graph.GetNodeByName(pb.GetNodeByNameRequest(name="n"))

    assert (found.node.id, found.matches) == (ids[2], 4)
    async with refused(NodeNotFound):
        await others.GetNodeByName(pb.GetNodeByNameRequest(name="n"))
    async with refused(InvalidArgument, violations=["name"]):
        await graph.GetNodeByName(pb.GetNodeByNameRequest())


async def test_data_is_merged_or_replaced(graph: Graph):
    first = (await create(graph, node(data={"a": 1, "b": {"c": 1, "d": 2}, "e": [1]}))).node

    merged = await update(graph, first.id, '{"a": null, "b": {"c": null, "x": {"y": null}}, "e": 2}')
    assert json.loads(merged.data_json) == {"b": {"d": 2, "x": {}}, "e": 2}
    replaced = await update(graph, first.id, '{"z": null}', update=pb.DATA_UPDATE_REPLACE)
    assert json.loads(replaced.data_json) == {"z": None}

    assert (merged.version, replaced.version) == (2, 3)
    assert replaced.created_at == first.created_at
    times = [row.modified_at.ToMicroseconds() for row in (first, merged, replaced)]
    assert times == sorted(set(times))
    assert await graph.get(first.id) == replaced


async def test_a_merge_keeps_every_digit_of_what_it_does_not_touch(graph: Graph):
    numbers = '{"big": 123456789012345678901234567890, "long": 0.1234567890123456789012345, "int64": 9007199254740993}'
    there = (await create(graph, node(data_json=numbers))).node

    merged = await update(graph, there.id, '{"more": 18446744073709551617}')

    for digits in ("123456789012345678901234567890", "0.1234567890123456789012345", "9007199254740993"):
        assert digits in merged.data_json
    assert "18446744073709551617" in merged.data_json


async def test_a_change_of_data_is_checked(graph: Graph, missing_id: str):
    there = (await create(graph, node(data={"a": "x" * 600_000}))).node

    async with refused(LimitExceeded, limit="data_json"):
        await update(graph, there.id, json.dumps({"b": "x" * 600_000}))
    async with refused(InvalidArgument, violations=["data_json"]):
        await update(graph, there.id, "[]")
    async with refused(InvalidArgument, violations=["update"]):
        await update(graph, there.id, "{}", update=7)
    async with refused(InvalidArgument, violations=["node_id"]):
        await update(graph, "x", "{}")
    async with refused(NodeNotFound, node_id=missing_id):
        await update(graph, missing_id, "{}")
    assert await graph.get(there.id) == there


async def test_concurrent_merges_lose_nothing(graph: Graph):
    there = (await create(graph, node())).node

    await asyncio.gather(*[update(graph, there.id, json.dumps({str(n): n})) for n in range(20)])

    got = await graph.get(there.id)
    assert json.loads(got.data_json) == {str(n): n for n in range(20)}
    assert got.version == 21


async def set_status(graph: Graph, node_id: str, status: str, **fields: object) -> pb.Node:
    request = pb.UpdateNodeStatusRequest(node_id=node_id, status=status, **fields)
    return (await graph.UpdateNodeStatus(request)).node


async def test_a_status_goes_into_the_timeline(graph: Graph, database: Database):
    there = (await create(graph, node("Task"))).node

    await set_status(graph, there.id, "Running", message="off we go")
    await set_status(graph, there.id, "Waiting")
    done = await set_status(graph, there.id, "Completed", expected_status="Waiting", expected_version=3)

    assert (done.status, done.version) == ("Completed", 4)
    rows = await database.tenant(DEFAULT_TENANT_ID).query(ENVELOPES)
    assert [tuple(row) for row in rows] == [
        ("STATUS", "RUNNING", "off we go", {"from": "Created", "to": "Running"}, "first"),
        ("STATUS", "", "", {"from": "Running", "to": "Waiting"}, "first"),
        ("STATUS", "COMPLETED", "", {"from": "Waiting", "to": "Completed"}, "first"),
    ]


async def test_a_node_that_has_the_status_already_is_answered_whatever_was_expected(graph: Graph, database: Database):
    there = (await create(graph, node())).node

    assert await set_status(graph, there.id, "Created", expected_status="x", expected_version=9) == there
    assert await database.tenant(DEFAULT_TENANT_ID).query(ENVELOPES) == []


async def test_a_status_change_is_checked(graph: Graph, others: Graph, missing_id: str, database: Database):
    there = (await create(graph, node())).node

    async with refused(StatusConflict, status="Created"):
        await set_status(graph, there.id, "Failed", expected_status="Running")
    async with refused(VersionConflict, version=1):
        await set_status(graph, there.id, "Failed", expected_version=2)
    async with refused(InvalidArgument, violations=["status"]):
        await set_status(graph, there.id, "")
    async with refused(LimitExceeded, limit="status"):
        await set_status(graph, there.id, "x" * 129)
    async with refused(LimitExceeded, limit="message"):
        await set_status(graph, there.id, "x", message="x" * 65537)
    async with refused(NodeNotFound, node_id=missing_id):
        await set_status(graph, missing_id, "x")
    async with refused(NodeNotFound, node_id=there.id):
        await set_status(others, there.id, "x")
    assert await graph.get(there.id) == there
    assert await database.tenant(DEFAULT_TENANT_ID).query(ENVELOPES) == []


async def test_of_many_that_expect_one_status_one_wins(graph: Graph, database: Database):
    there = (await create(graph, node())).node

    async def claim(n: int) -> bool:
        try:
            await set_status(graph, there.id, f"claimed by {n}", expected_status="Created")
        except Exception:
            return False
        return True

    assert (await asyncio.gather(*map(claim, range(20)))).count(True) == 1
    assert len(await database.tenant(DEFAULT_TENANT_ID).query(ENVELOPES)) == 1


async def test_a_node_is_archived_and_brought_back(graph: Graph, others: Graph, missing_id: str):
    there = (await create(graph, node())).node

    async def archive(to: Graph = graph, node_id: str = there.id, **fields: object) -> pb.Node:
        return (await to.ArchiveNode(pb.ArchiveNodeRequest(node_id=node_id, **fields))).node

    archived = await archive()
    assert (archived.is_archived, archived.version) == (True, 2)
    assert await graph.get(there.id) == archived
    assert await archive(expected_version=1) == archived  # a repeat is harmless
    async with refused(VersionConflict, version=2):
        await archive(restore=True, expected_version=1)
    restored = await archive(restore=True, expected_version=2)
    assert (restored.is_archived, restored.version) == (False, 3)
    async with refused(NodeNotFound, node_id=missing_id):
        await archive(node_id=missing_id)
    async with refused(NodeNotFound, node_id=there.id):
        await archive(others)
