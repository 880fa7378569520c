"""FetchEntityHistory: all that happened to an entity, merged from where each thing is kept."""

from __future__ import annotations

import uuid
from typing import Any

import grpc
import orjson
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from tests.conftest import METADATA


class Stubs:
    def __init__(self, context: grpc.aio.Channel, entity: grpc.aio.Channel) -> None:
        self.history = ChatHistoryStub(context)
        self.memory = WorkingMemoryStub(context)
        self.graph = EntityGraphStub(entity)

    async def node(self, node_id: str = "", **fields: Any) -> str:
        node_input = graph_pb.NodeInput(id=node_id, general_type_name="Task", **fields)
        answer = await self.graph.CreateNode(graph_pb.CreateNodeRequest(node=node_input), metadata=METADATA)
        return answer.node.id

    async def edge(self, near: str, far: str, edge_type: str = "Contains") -> str:
        edge = graph_pb.EdgeInput(from_node_id=near, to_node_id=far, edge_type=edge_type)
        return (await self.graph.CreateEdge(graph_pb.CreateEdgeRequest(edge=edge), metadata=METADATA)).edge.id

    async def status(self, node_id: str, status: str) -> None:
        request = graph_pb.UpdateNodeStatusRequest(node_id=node_id, status=status, message="now")
        await self.graph.UpdateNodeStatus(request, metadata=METADATA)

    async def progress(self, node_id: str, **fields: Any) -> None:
        request = graph_pb.AppendProgressRequest(node_id=node_id, type=graph_pb.ENVELOPE_TYPE_VALUE, **fields)
        await self.graph.AppendProgress(request, metadata=METADATA)

    async def record(self, node_id: str, name: str = "notes") -> str:
        record = memory_pb.WMRecordInput(entity_node_id=node_id, memory_type="file", name=name)
        answer = await self.memory.InsertWMRecord(memory_pb.InsertWMRecordRequest(record=record), metadata=METADATA)
        return answer.record.working_memory_id

    async def purge(self, record_id: str) -> None:
        request = memory_pb.DeleteWMRecordRequest(working_memory_id=record_id, purge=True)
        await self.memory.DeleteWMRecord(request, metadata=METADATA)

    async def page(self, node_id: str, metadata: object = METADATA, **fields: Any) -> pb.FetchEntityHistoryResponse:
        request = pb.FetchEntityHistoryRequest(node_id=node_id, **fields)
        return await self.history.FetchEntityHistory(request, metadata=metadata)

    async def all(self, node_id: str, **fields: Any) -> list[pb.HistoryEvent]:
        found, token = [], ""
        while True:
            page = await self.page(node_id, page_token=token, **fields)
            found += page.events
            token = page.next_page_token
            if not token:
                return found


@pytest.fixture(scope="module")
def stubs(shared_channels: tuple[grpc.aio.Channel, grpc.aio.Channel]) -> Stubs:
    return Stubs(*shared_channels)


def kinds(events: list[pb.HistoryEvent]) -> list[str]:
    return [pb.HistoryEventKind.Name(event.kind).removeprefix("HISTORY_EVENT_KIND_") for event in events]


def document(event: pb.HistoryEvent) -> Any:
    return orjson.loads(event.document_json)


async def test_everything_is_told_in_its_order_with_its_document(stubs: Stubs):
    node_id = await stubs.node(external_id=str(uuid.uuid4()), data_json='{"n": 1}')
    record_id = await stubs.record(node_id)
    changed = memory_pb.UpdateWMRecordRequest(
        record=memory_pb.WMRecordInput(working_memory_id=record_id, name="more notes"),
        update_mask=FieldMask(paths=["name"]),
        request_id=str(uuid.uuid4()),
    )
    await stubs.memory.UpdateWMRecord(changed, metadata=METADATA)
    child_id = await stubs.node()
    out_id = await stubs.edge(node_id, child_id)
    in_id = await stubs.edge(child_id, node_id, "Calls")
    await stubs.status(node_id, "Running")
    await stubs.progress(node_id, sub_type="return", value_json="[1]", error_json="null")
    await stubs.progress(child_id, message="of another node")
    await stubs.graph.SetNodeIO(graph_pb.SetNodeIORequest(node_id=node_id, input_json="null"), metadata=METADATA)
    archive = memory_pb.DeleteWMRecordRequest(working_memory_id=record_id)
    await stubs.memory.DeleteWMRecord(archive, metadata=METADATA)
    await stubs.memory.RestoreWMRecord(memory_pb.RestoreWMRecordRequest(working_memory_id=record_id), metadata=METADATA)
    await stubs.purge(record_id)

    events = await stubs.all(node_id)

    told = kinds(events)
    assert told == [
        "NODE_CREATED",
        "RECORD_CREATED",
        "RECORD_UPDATED",
        "EDGE_CREATED",
        "EDGE_CREATED",
        *sorted(["NODE_CHANGED", "STATUS"], key=told.index),  # one transaction: a microsecond apart
        "PROGRESS",
        "IO_SET",
        "RECORD_ARCHIVED",
        "RECORD_RESTORED",
        "RECORD_PURGED",
    ]
    by_kind = dict(zip(told, events, strict=True))
    assert document(by_kind["NODE_CREATED"])["general_type_name"] == "Task"
    assert document(by_kind["NODE_CHANGED"]) == {
        "status": "Running",
        "is_archived": False,
        "version": 2,
        "data": {"n": 1},
    }
    assert document(by_kind["STATUS"]) == {
        "type": "STATUS",
        "status": document(by_kind["STATUS"])["status"],
        "message": "now",
        "value": {"from": "Created", "to": "Running"},
    }
    assert document(by_kind["PROGRESS"]) == {"type": "VALUE", "sub_type": "return", "value": [1], "error": None}
    assert document(by_kind["IO_SET"]) == {"input": None}
    edges = [event for event in events if event.edge_id]
    assert [(event.edge_id, document(event)["edge_type"]) for event in edges] == [
        (out_id, "Contains"),
        (in_id, "Calls"),
    ]
    assert document(edges[0])["to_node_id"] == document(edges[1])["from_node_id"] == child_id
    of_record = [event for event in events if event.working_memory_id == record_id]
    assert len(of_record) == 5
    assert of_record[1].request_id == changed.request_id
    assert document(of_record[1])["fields"] == ["name"]
    assert document(of_record[4])["why"] == "deleted"
    assert {event.principal for event in events if not event.edge_id} == {"first", ""}
    assert {event.node_id for event in events} == {node_id}


async def test_a_node_that_never_changed_shows_its_data_where_it_was_created(stubs: Stubs):
    node_id = await stubs.node(data_json='{"n": 1}', status="Waiting")

    (event,) = await stubs.all(node_id)

    created = document(event)
    assert (created["data"], created["status"], event.principal) == ({"n": 1}, "Waiting", "first")


@pytest.mark.parametrize("descending", [False, True])
async def test_pages_of_any_size_hold_the_same_in_both_orders(stubs: Stubs, descending: bool):
    node_id = await stubs.node()
    for _ in range(3):
        await stubs.progress(node_id, message="x")
        await stubs.edge(node_id, await stubs.node())
        await stubs.record(node_id)
    await stubs.status(node_id, "Done")

    at_once = (await stubs.page(node_id, descending=descending)).events

    assert len(at_once) == 12
    times = [(event.time.seconds, event.time.nanos) for event in at_once]
    assert times == sorted(times, reverse=descending)
    for size in (1, 2, 3, 5, 11, 12):
        assert await stubs.all(node_id, descending=descending, page_size=size) == list(at_once)


@pytest.mark.parametrize("descending", [False, True])
async def test_what_happens_between_pages_neither_hides_nor_repeats_what_was_there(stubs: Stubs, descending: bool):
    node_id = await stubs.node()
    for _ in range(3):
        await stubs.edge(node_id, await stubs.node())
        await stubs.progress(node_id, message="x")
    before = await stubs.all(node_id, descending=descending)
    seen, token = [], ""
    while True:
        page = await stubs.page(node_id, descending=descending, page_size=2, page_token=token)
        seen += page.events
        token = page.next_page_token
        if not token or len(seen) > 30:
            break
        # One that is older than all, so that every page of the edges shifts.
        edge = graph_pb.EdgeInput(from_node_id=node_id, to_node_id=await stubs.node(), edge_type="Old")
        edge.created_at.FromSeconds(1)
        await stubs.graph.CreateEdge(graph_pb.CreateEdgeRequest(edge=edge), metadata=METADATA)

    assert [event for event in seen if event.time.seconds > 1] == before
    assert len({(event.kind, event.edge_id, event.time.ToMicroseconds()) for event in seen}) == len(seen)


async def test_a_page_ends_at_two_mebibytes(stubs: Stubs):
    node_id = await stubs.node()
    for _ in range(5):
        await stubs.progress(node_id, value_json=orjson.dumps("é" * 400_000).decode())

    sizes, token = [], ""
    while True:
        page = await stubs.page(node_id, page_token=token)
        sizes.append(len(page.events))
        token = page.next_page_token
        if not token:
            break

    assert sum(sizes) == 6
    assert max(sizes) <= 3
