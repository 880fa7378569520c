"""Memories by the Python clients."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from contextkeep import AsyncContextClient, ContextClient, Experience, InvalidArgument, MemorySource
from tests.conftest import KEY, Addresses

NOW = datetime(2026, 11, 1, tzinfo=UTC)


async def test_a_memory_comes_back_as_it_was_said(stack: Addresses):
    user = str(uuid.uuid4())
    said = {
        "kind": "experience",
        "key": "meetings",
        "confidence": 0.5,
        "source": MemorySource(label="run 7", context_id="c"),
        "happened_at": NOW,
        "experience": Experience(goal="move a meeting", quality=0.25),
        "subject_user_id": user,
    }
    with ContextClient(stack.context, api_key=KEY) as context:
        kept = context.memories.retain("Ask first.", **said)
        with pytest.raises(InvalidArgument):
            context.memories.retain("Ask first.", kind="dream", subject_user_id=user)
    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        again = await context.memories.retain("Ask first.", **said)

    for one in (kept, again):
        assert (str(one), one.kind, one.key, one.confidence) == ("Ask first.", "experience", "meetings", 0.5)
        assert (one.sources, one.happened_at, one.state) == ((said["source"],), NOW, "indexed")
        assert (one.experience, one.owner_user_id) == (said["experience"], user)
    assert again.superseded_by == "" and not again.contradicts
