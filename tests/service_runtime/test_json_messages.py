"""Large JSON: who waits for whom, and what it costs to refuse it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import LimitExceeded
from service_runtime.http.json_messages import JsonMessages
from service_runtime.rpc.principal import Principal
from tests.cpu import units

LARGE = b'{"nodes":[' + b",".join([b'{"dataJson":"{}"}'] * 20_000) + b"]}"
TOO_MANY = b'{"nodes":[' + b",".join([b"{}"] * 349_000) + b"]}"


def caller(tenant: int, key: str) -> Principal:
    return Principal(tenant_id=uuid.UUID(int=tenant), subject=key)


@pytest.fixture
async def messages() -> AsyncIterator[JsonMessages]:
    reader = JsonMessages([pb.DESCRIPTOR])
    yield reader
    await reader.close()


async def test_two_keys_of_one_tenant_leave_a_process_to_others(messages: JsonMessages):
    """Twelve bodies of 1 MB by two keys of a tenant kept another tenant waiting for 7 to 26 s."""
    read: list[int] = []

    async def send(who: Principal) -> None:
        await messages.read(pb.WriteGraphRequest, LARGE, of=who)
        read.append(who.tenant_id.int)

    await asyncio.gather(send(caller(1, "a")), send(caller(2, "c")))  # a process each begins
    read.clear()
    flood = [asyncio.create_task(send(caller(1, key))) for key in ("a", "b") for _ in range(6)]
    while len(read) < 2:
        await asyncio.sleep(0.01)
    before = len(read)
    await send(caller(2, "c"))
    assert read.index(2) - before <= 2, "the flood had both processes"
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


def test_a_body_of_too_many_objects_is_refused_for_the_cost_of_reading_its_bytes():
    reader = JsonMessages([pb.DESCRIPTOR])  # it begins no process for this

    def refuse() -> None:
        with pytest.raises(LimitExceeded, match="at most 65,536 lists and objects"):
            asyncio.run(reader.read(pb.WriteGraphRequest, TOO_MANY, of=caller(1, "a")))

    assert units(refuse) < 25  # 9, of which reading them is 1; to make them messages takes 5,000
