"""No number in an answer or a token tells a tenant how much others write."""

from __future__ import annotations

import asyncio
import base64
import json

import grpc

from contextkeep import AsyncContextClient, AsyncEntityClient, NodeInput
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from service_runtime.inputs.pages import _BINDING_BYTES
from tests.conftest import KEY, OTHER_KEY, Addresses


def number_in(token: str) -> int:
    """Return the last number of a page token, which whoever has it can decode."""
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    number: int = json.loads(data[_BINDING_BYTES:])[-1]
    return number


async def written(services: Addresses, api_key: str) -> list[int]:
    """Write rows of each kind, and return the numbers that are told of them."""
    metadata = (("authorization", f"Bearer {api_key}"),)
    async with (
        AsyncEntityClient(services.entity, api_key=api_key) as entity,
        AsyncContextClient(services.context, api_key=api_key) as context,
        grpc.aio.insecure_channel(services.context) as channel,
    ):
        result = await entity.graph.write([node := NodeInput("Session")])
        envelope = await entity.progress.append(node.id, "message", message="begun")
        record = await context.records.insert("note", "one", content="1", entity_node_id=node.id)
        await context.records.insert("note", "two", content="2", entity_node_id=node.id)
        await context.records.update(record.working_memory_id, name="three")
        stub = WorkingMemoryStub(channel)
        records = await stub.FetchWMRecordsByEntity(
            memory_pb.FetchWMRecordsByEntityRequest(entity_node_id=str(node.id), page_size=1), metadata=metadata
        )
        actions = await stub.ListWMRecordActions(
            memory_pb.ListWMRecordActionsRequest(working_memory_id=record.working_memory_id, page_size=1),
            metadata=metadata,
        )
    tokens = (records.next_page_token, actions.next_page_token)
    return [result.nodes[0].seq, envelope.seq, *map(number_in, tokens)]


async def test_numbers_do_not_depend_on_what_others_write(services: Addresses):
    """Of three rows the second and the third are as far apart as the first and the second, whoever wrote in between."""
    for api_key in (KEY, OTHER_KEY):
        await written(services, api_key)  # each has its sequences
    first, second = await written(services, KEY), await written(services, KEY)
    await asyncio.gather(*(written(services, OTHER_KEY) for _ in range(3)))
    third = await written(services, KEY)

    apart = [later - earlier for earlier, later in zip(first, second, strict=True)]
    assert min(apart) > 0
    assert [later - earlier for earlier, later in zip(second, third, strict=True)] == apart
