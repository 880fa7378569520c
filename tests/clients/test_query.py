"""Context query through both clients: what a client makes of values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from contextkeep import new_id
from contextkeep.errors import InvalidArgument, LimitExceeded

THEN = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_question_is_answered_with_hits_and_with_how_each_source_fared(world: Any, context: Any):
    context_id = (await world.run(context.send_message, "The narrowboat is moored at Hebden.")).context_id
    found = await world.run(
        context.query_context,
        "Where is the narrowboat?",
        mode="answer",
        context_ids=[context_id],
        provider_ids=["context"],
        families=["workspace"],
        tokens_max=500,
        time_from=THEN,
        explain=True,
    )
    assert [(one.provider_id, one.state) for one in found.providers] == [("context", "ok"), ("workspace", "ok")]
    hit = found.hits[0]
    assert (hit.rank, hit.family, hit.scope, hit.untrusted, hit.metadata["role"]) == (
        1,
        "context",
        "team",
        True,
        "user",
    )
    assert hit.sources[0].ref == hit.ref and hit.as_of is not None and hit.as_of > THEN
    assert found.answer_refs[0] == hit.ref and "> The narrowboat" in found.answer_text == str(found)
    assert "> The narrowboat" in found.prompt_text and 0 < found.prompt_tokens <= 500
    assert found.explained["context"][0].shown_in == hit.ref
    assert found.trace_id


async def test_sources_are_listed(world: Any, context: Any):
    listed = await world.run(context.list_context_providers)
    assert [(one.provider_id, one.is_default, one.scopes) for one in listed] == [
        ("context", False, ("personal", "team")),
        ("workspace", True, ("personal", "team")),
    ]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"query": ""}, InvalidArgument),
        ({"mode": "poem"}, InvalidArgument),
        ({"provider_ids": []}, InvalidArgument),
        ({"families": ["astrology"]}, InvalidArgument),
        ({"limit": 0}, InvalidArgument),
        ({"context_ids": [new_id() for _ in range(17)]}, LimitExceeded),
        ({"node_ids": [new_id() for _ in range(21)]}, LimitExceeded),
    ],
    ids=["query", "mode", "ids", "families", "limit", "contexts", "nodes"],
)
async def test_what_cannot_be_asked_is_refused(world: Any, context: Any, given, error):
    with pytest.raises(error):
        await world.run(context.query_context, **{"query": "x", **given})
