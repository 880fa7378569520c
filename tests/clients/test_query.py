"""Context query through both clients: what a client makes of values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from contextkeep.errors import InvalidArgument, LimitExceeded, SourceTestNotFound

THEN = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_question_is_answered_with_hits_and_with_how_each_source_fared(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "The narrowboat is moored at Hebden.")).context_id
    found = await world.run(
        context.query.ask,
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


async def test_refs_bring_back_whole_texts(world: Any, context: Any):
    said = "The narrowboat is moored. " * 100
    context_id = (await world.run(context.contexts.send, said)).context_id
    found = await world.run(context.query.ask, "narrowboat", context_ids=[context_id])
    ref = found.hits[0].ref
    again = await world.run(context.query.ask, "x", expand_refs=[ref, "workspace:x"])
    whole, other = again.expanded
    assert (whole.ref, whole.is_found, str(whole), whole.scope, whole.untrusted) == (ref, True, said, "team", True)
    assert (other.is_found, other.text, other.scope) == (False, "", "") and other.reason
    with pytest.raises(LimitExceeded):
        await world.run(context.query.ask, "x", expand_refs=["a:1"] * 21)


async def test_each_source_is_told_and_then_the_whole(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "The coracle is dry.")).context_id
    asked = {"context_ids": [context_id], "provider_ids": ["context", "wiki"], "mode": "answer"}
    *told, last = await world.run(context.query.stream, "Where is the coracle?", **asked)
    states = [(one.provider.status.provider_id, one.provider.status.state, len(one.provider.hits)) for one in told]
    assert states == [("wiki", "skipped", 0), ("context", "ok", 1)]
    assert (told[1].provider.hits[0].snippet, told[1].provider.is_second_pass) == ("The coracle is dry.", False)
    assert (last.provider, last.answer.hits[0].ref) == (None, told[1].provider.hits[0].ref)
    assert last.answer.answer_refs == (last.answer.hits[0].ref,)
    with pytest.raises(InvalidArgument):
        await world.run(context.query.stream, "x", provider_ids=[])


async def test_a_test_of_sources_is_kept_replayed_compared_and_removed(world: Any, context: Any):
    test = await world.run(context.source_tests.run, "Where is the narrowboat?", label="boats", mode="answer")
    assert (test.query, test.label, test.replay_of) == ("Where is the narrowboat?", "boats", "")
    assert test.answer is not None and {one.provider_id for one in test.answer.providers} >= {"workspace"}
    again = await world.run(context.source_tests.replay, test.test_id)
    assert (again.replay_of, again.label) == (test.test_id, "boats")
    compared = await world.run(context.source_tests.compare, test.test_id, again.test_id)
    assert {one.provider_id: one.state == one.other_state for one in compared.providers}["workspace"]
    assert (await world.run(context.source_tests.get, test.test_id)) == test
    listed = [one.test_id for one in await world.run(context.source_tests.list, page_size=1)]
    assert listed[:2] == [again.test_id, test.test_id]
    await world.run(context.source_tests.delete, test.test_id)
    with pytest.raises(SourceTestNotFound):
        await world.run(context.source_tests.get, test.test_id)
