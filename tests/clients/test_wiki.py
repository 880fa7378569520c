"""Wiki pages by the Python clients."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from contextkeep import AsyncContextClient, ContextClient, PageSource
from contextkeep.errors import PageNotFound, VersionConflict
from tests.conftest import KEY, Addresses


async def test_a_page_comes_back_as_it_was_written_version_by_version(stack: Addresses):
    user = str(uuid.uuid4())
    until = datetime(2999, 1, 1, tzinfo=UTC)
    with ContextClient(stack.context, api_key=KEY) as context:
        memory = context.memories.retain("Acme pays late.", subject_user_id=user)
        said = {
            "slug": "customers/acme",
            "aliases": ["Road Runner"],
            "sources": [PageSource(label="CRM", id="7")],
            "memory_ids": [memory.memory_id],
            "fresh_until": until,
            "subject_user_id": user,
        }
        first = context.pages.put("Acme", "A customer.", **said)
        assert (first.version, first.markdown, str(first), first.state) == (1, "", "Acme", "fresh")
        with pytest.raises(VersionConflict):
            context.pages.put("Acme", "Mine.", expected_version=0, **said)
        context.pages.put("Acme", "A customer no more.", expected_version=1, **said)

    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        page = await context.pages.get("road runner", subject_user_id=user)
        assert (str(page), page.version, page.fresh_until) == ("A customer no more.", 2, until)
        assert (page.sources, page.memory_ids) == ((PageSource(label="CRM", id="7"),), (memory.memory_id,))
        old = await context.pages.get(page_id=page.page_id, version=1, subject_user_id=user)
        assert (old.markdown, old.state, old.stale, old.fresh_until) == (
            "A customer.",
            "stale",
            ("version 2 is newer",),
            None,
        )
        versions = [one async for one in context.pages.list_versions(page.slug, subject_user_id=user, page_size=1)]
        assert [(one.version, one.size_bytes) for one in versions] == [(2, 19), (1, 11)]
        listed = [one async for one in context.pages.list("customers/", subject_user_id=user, page_size=1)]
        assert [(one.slug, one.markdown) for one in listed] == [("customers/acme", "")]
        await context.pages.delete(page.slug, expected_version=2, subject_user_id=user)
        with pytest.raises(PageNotFound):
            await context.pages.get(page.slug, subject_user_id=user)
