"""Fifty cheap calls of one key at once: how many of them another tenant's call waits for."""

from __future__ import annotations

import asyncio
import statistics

import grpc
import pytest

from contextkeep import AsyncContextClient
from contextkeep.context.v1 import working_memory_pb2 as memory
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, ApiKeys, Principal
from tests.conftest import OTHER_PRINCIPAL, Addresses

FLOOD = 50


@pytest.fixture
def callers() -> ApiKeys:
    return ApiKeys({"greedy": Principal(tenant_id=DEFAULT_TENANT_ID, subject="greedy"), "other": OTHER_PRINCIPAL})


async def test_a_call_next_to_fifty_cheap_ones_of_another_tenant_waits_for_few_of_them(services: Addresses):
    """While they fill the event loop, calls wait in grpc's core, which serves them in the order of their arrival."""
    async with (
        AsyncContextClient(services.context, api_key="greedy") as greedy,
        AsyncContextClient(services.context, api_key="other") as other,
        grpc.aio.insecure_channel(services.context) as channel,
    ):
        theirs, ours = [await client.records.insert("data/json", "r", content={"a": 1}) for client in (greedy, other)]
        method = channel.unary_unary("/contextkeep.context.v1.WorkingMemory/FetchWMRecord")
        request = memory.FetchWMRecordRequest(working_memory_id=theirs.working_memory_id).SerializeToString()
        answered = 0

        async def flood() -> None:
            nonlocal answered
            while True:
                await method(request, metadata=(("authorization", "Bearer greedy"),))
                answered += 1

        tasks = [asyncio.create_task(flood()) for _ in range(FLOOD)]
        try:
            async with asyncio.timeout(60):
                while answered < 2 * FLOOD:
                    await asyncio.sleep(0.01)
                answered_meanwhile = []
                for _ in range(40):
                    before = answered
                    await other.records.get(ours.working_memory_id)
                    answered_meanwhile.append(answered - before)
        finally:
            for task in tasks:
                task.cancel()
            failures = await asyncio.gather(*tasks, return_exceptions=True)

    assert all(isinstance(one, asyncio.CancelledError) for one in failures)
    assert statistics.median(answered_meanwhile) < FLOOD / 2  # 8 to 10; without pacing 50
