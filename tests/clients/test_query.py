"""Context query through both clients: what a client makes of values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from contextkeep import new_id
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


async def test_sources_are_listed(world: Any, context: Any):
    listed = await world.run(context.query.list_providers)
    assert [(one.provider_id, one.is_default, one.scopes) for one in listed] == [
        ("brain", True, ("team",)),
        ("context", False, ("personal", "team")),
        ("knowledge-base", True, ("team",)),
        ("memory", True, ("personal",)),
        ("wiki", True, ("personal",)),
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
        await world.run(context.query.ask, **{"query": "x", **given})


async def test_what_is_said_of_a_source_is_kept_and_taken_back_by_name(world: Any, context: Any):
    said = await world.run(context.query.update_provider, "context", deadline_ms=60_000, is_default=False)
    assert (said.enabled, said.is_default, said.deadline_ms, said.node_ids) == (None, False, 60_000, None)
    policy = await world.run(context.query.get_policy)
    (own,) = (one for one in policy.providers if one.provider_id == "context")
    assert (own.is_enabled, own.deadline_ms, own.setting) == (True, 60_000, said)
    assert (policy.target_whose, policy.target_node_ids) == ("", ())
    said = await world.run(context.query.update_provider, "context", reset=["deadline_ms", "is_default"])
    assert (said.is_default, said.deadline_ms) == (None, None)
    with pytest.raises(InvalidArgument):
        await world.run(context.query.update_provider, "context", node_ids=[])
    said = await world.run(context.query.update_provider, "memory", memory_mode="recall")
    assert said.memory_mode == "recall"
    assert (await world.run(context.query.update_provider, "memory", reset=["memory"])).memory_mode is None


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
