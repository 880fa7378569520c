"""Knowledge bases and their documents by the Python clients."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from contextkeep import AsyncContextClient, ContextClient
from contextkeep.errors import DocumentNotFound, InvalidArgument, KnowledgeBaseNotFound
from tests.conftest import KEY, Addresses


async def test_a_document_is_added_read_found_and_removed(stack: Addresses):
    name = f"ferries {uuid.uuid4()}"
    with ContextClient(stack.context, api_key=KEY) as context:
        put = context.knowledge_bases.put(name, description="Ferries", is_of_tenant=True)
        assert (put.version, put.documents, put.is_of_tenant) == (1, {}, True)
        added = context.knowledge_bases.add_document(
            name, b"The ferry leaves at six.", name="a.md", uri="https://ferries.example"
        )
        assert (added.state, added.size_bytes, added.uri) == ("queued", 24, "https://ferries.example")

    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        async with asyncio.timeout(20):
            while not (
                found := [one async for one in context.knowledge_bases.list_documents(name, states=["indexed"])]
            ):
                await asyncio.sleep(0.05)
        assert [(one.document_id, one.passage_count) for one in found] == [(added.document_id, 1)]
        assert (await context.knowledge_bases.get(name)).documents == {"indexed": 1}
        answer = await context.query.ask("When does the ferry leave?", provider_ids=["knowledge-base"])
        assert answer.hits[0].title == "a.md"
        record = await context.records.insert(name="b.md", memory_type="file", content_text="The other ferry.")
        followed = await context.knowledge_bases.add_document(name, working_memory_id=record.working_memory_id)
        assert (followed.name, followed.working_memory_id) == ("b.md", record.working_memory_id)
        with pytest.raises(InvalidArgument, match="neither"):
            await context.knowledge_bases.add_document(name)
        with pytest.raises(InvalidArgument, match="not both"):
            await context.knowledge_bases.add_document(name, b"bytes", working_memory_id=record.working_memory_id)
        with pytest.raises(InvalidArgument, match="states"):
            _ = [one async for one in context.knowledge_bases.list_documents(name, states=["gone"])]
        for document in (added, followed):
            await context.knowledge_bases.remove_document(name, document.document_id)
        with pytest.raises(DocumentNotFound):
            await context.knowledge_bases.remove_document(name, added.document_id)
        assert [one async for one in context.knowledge_bases.list_documents(name)] == []
        assert name in {one.name async for one in context.knowledge_bases.list(page_size=1)}
        await context.knowledge_bases.delete(name)
        with pytest.raises(KnowledgeBaseNotFound):
            await context.knowledge_bases.get(name)
