"""Specialists by the Python clients."""

from __future__ import annotations

import uuid

import pytest

from contextkeep import AsyncContextClient, ContextClient, EntityClient
from contextkeep.errors import SpecialistNotFound
from tests.conftest import KEY, Addresses


async def test_a_specialist_is_put_asked_and_deleted(stack: Addresses):
    specialist_id = f"s{uuid.uuid4()}"
    with EntityClient(stack.entity, api_key=KEY) as graph, ContextClient(stack.context, api_key=KEY) as context:
        folder = graph.graph.create_node("Folder", name="contracts")
        record = context.records.insert(
            "file", "contract.md", entity_node_id=folder.id, content_text="The orrery costs 7 EUR."
        )
        put = context.specialists.put(specialist_id, node_ids=[folder.id], instructions="Contracts.", steps_max=2)
        assert (put.node_ids, put.steps_max, put.version) == ((folder.id,), 2, 1)
        answer = context.query.ask("What costs the orrery?", provider_ids=[put.provider_id])
        (hit,) = answer.hits
        assert hit.metadata["working_memory_id"] == record.working_memory_id

    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        assert put in [one async for one in context.specialists.list(page_size=1)]
        await context.specialists.delete(specialist_id)
        with pytest.raises(SpecialistNotFound):
            await context.specialists.delete(specialist_id)
