"""FetchEntityHistory: all that happened to an entity, merged from where each thing is kept."""

from __future__ import annotations

import uuid
from typing import Any

import grpc
import orjson
import pytest

from contextkeep.context.v1 import chat_history_pb2 as pb
from tests.calling import AnyRpc


class Stubs(AnyRpc):
    async def node(self, node_id: str = "", **fields: Any) -> str:
        node = {"id": node_id, "general_type_name": "Task", **fields}
        return (await self.CreateNode(node=node)).node.id

    async def edge(self, near: str, far: str, edge_type: str = "Contains") -> str:
        edge = {"from_node_id": near, "to_node_id": far, "edge_type": edge_type}
        return (await self.CreateEdge(edge=edge)).edge.id

    async def status(self, node_id: str, status: str) -> None:
        await self.UpdateNodeStatus(node_id=node_id, status=status, message="now")

    async def progress(self, node_id: str, **fields: Any) -> None:
        await self.AppendProgress(node_id=node_id, type="ENVELOPE_TYPE_VALUE", **fields)

    async def record(self, node_id: str, name: str = "notes") -> str:
        record = {"entity_node_id": node_id, "memory_type": "file", "name": name}
        return (await self.InsertWMRecord(record=record)).record.working_memory_id

    async def page(self, node_id: str, **fields: Any) -> pb.FetchEntityHistoryResponse:
        return await self.FetchEntityHistory(node_id=node_id, **fields)

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
    request_id, changed = str(uuid.uuid4()), {"working_memory_id": record_id, "name": "more notes"}
    await stubs.UpdateWMRecord(record=changed, update_mask={"paths": ["name"]}, request_id=request_id)
    child_id = await stubs.node()
    out_id = await stubs.edge(node_id, child_id)
    in_id = await stubs.edge(child_id, node_id, "Calls")
    await stubs.status(node_id, "Running")
    await stubs.progress(node_id, sub_type="return", value_json="[1]", error_json="null")
    await stubs.progress(child_id, message="of another node")
    await stubs.SetNodeIO(node_id=node_id, input_json="null")
    await stubs.DeleteWMRecord(working_memory_id=record_id)
    await stubs.RestoreWMRecord(working_memory_id=record_id)
    await stubs.DeleteWMRecord(working_memory_id=record_id, purge=True)

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
    assert of_record[1].request_id == request_id
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
        edge = {"from_node_id": node_id, "to_node_id": await stubs.node(), "edge_type": "Old"}
        await stubs.CreateEdge(edge={**edge, "created_at": {"seconds": 1}})

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
