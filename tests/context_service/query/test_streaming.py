"""A question whose answer is told as it comes: each provider when it ends, then all of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from service_runtime.rpc.fair_queue import FairQueue
from tests.context_service.query.conftest import World, request_of
from tests.errors import raised
from tests.examples import examples
from tests.fakes import context_providers as stubs

EXPENSIVE_CALLS_MAX = 8  # as the settings have it
RENEWAL = "When was the renewal of Acme signed?"
OK, SKIPPED = pb.PROVIDER_STATE_OK, pb.PROVIDER_STATE_SKIPPED
# All that answer the same each time, in whatever way.
REPEATABLE = [
    "fast",
    "twin",
    "loud",
    "down",
    "throwing",
    "empty",
    "untargeted",
    "injecting",
    "hostile",
    "huge",
]


def stream(world: World, *ids: str, timeout: float | None = 30, **fields: Any) -> Any:
    selected = {"providers": {"ids": list(ids)}} if ids else {}
    request = request_of({"query": RENEWAL, **selected, **fields})
    stub = ContextQueryStub(world.opened.caller.channel)
    return stub.StreamQueryContext(request, metadata=world.opened.caller.metadata, timeout=timeout)


async def told(world: World, *ids: str, **fields: Any) -> tuple[list[pb.AnsweredProvider], pb.QueryContextResponse]:
    *events, last = [one async for one in stream(world, *ids, **fields)]
    assert last.WhichOneof("event") == "answer"
    assert {one.WhichOneof("event") for one in events} <= {"provider"}
    return [one.provider for one in events], last.answer


def timeless(answer: pb.QueryContextResponse) -> pb.QueryContextResponse:
    """Return an answer without what no two calls have in common."""
    kept = pb.QueryContextResponse()
    kept.CopyFrom(answer)
    kept.ClearField("trace_id")
    kept.ClearField("duration_ms")
    for one in kept.providers:
        one.ClearField("duration_ms")
    return kept


def ids(events: list[pb.AnsweredProvider]) -> list[str]:
    return [one.status.provider_id for one in events]


async def test_providers_come_as_they_end_and_the_answer_last(world: World):
    """What is not asked comes first, what is late when it is cancelled."""
    events, answer = await told(world, "took-1", "fast", "slow", "team", "empty", scope="personal")
    assert ids(events)[0] == "team"
    assert set(ids(events)[1:3]) == {"empty", "fast"}
    assert ids(events)[3:] == ["slow", "took-1"]
    assert list(events[0].status.reason) and not events[0].hits
    assert events[3].status.state == pb.PROVIDER_STATE_TIMEOUT
    assert {one.provider_id: one for one in answer.providers} == {one.status.provider_id: one.status for one in events}


async def test_a_provider_is_told_while_others_are_still_asked(world: World):
    for _ in range(20):  # on a busy machine `took-1` may end before the first event is read
        ended = stubs.Took1.ended
        coming = aiter(stream(world, "fast", "took-1"))
        first = await anext(coming)
        if stubs.Took1.ended == ended:
            break
    else:
        raise AssertionError("the first provider was never told before the other one had ended")
    assert [(hit.ref, hit.rank, hit.score) for hit in first.provider.hits] == [("fast:1", 1, 0.0)]
    assert [one.ref for one in first.provider.hits[0].sources] == ["fast:1"]
    assert [one.WhichOneof("event") async for one in coming] == ["provider", "answer"]


async def test_hits_are_checked_before_they_are_told(world: World):
    events, answer = await told(world, "hostile", "huge", "no-answer", limit=50)
    hits = [hit for one in events for hit in one.hits]
    assert {one.status.provider_id for one in events if one.hits} == {"hostile", "huge"}
    assert all(len(hit.snippet) <= 1200 and hit.untrusted for hit in hits)
    assert {source.ref for hit in answer.hits for source in hit.sources} <= {hit.ref for hit in hits}
    assert {one.status.provider_id: len(one.hits) for one in events} == {
        one.provider_id: one.hit_count for one in answer.providers
    }


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chosen=st.lists(st.sampled_from(REPEATABLE), min_size=1, max_size=6, unique=True),
    depth=st.sampled_from(["quick", "deep"]),
    mode=st.sampled_from(["results", "answer"]),
    scope=st.sampled_from(["auto", "team", "personal"]),
    limit=st.integers(1, 50),
    tokens_max=st.sampled_from([0, 200]),
    explain=st.booleans(),
)
async def test_the_last_message_is_what_the_same_request_is_answered(world: World, chosen, **fields):
    request = request_of({"query": RENEWAL, "providers": {"ids": chosen}, **fields})
    whole = await ContextQueryStub(world.opened.caller.channel).QueryContext(
        request, metadata=world.opened.caller.metadata, timeout=30
    )
    events, answer = await told(world, *chosen, **fields)
    assert timeless(answer) == timeless(whole)
    assert {one.status.provider_id: one.status for one in events} == {one.provider_id: one for one in answer.providers}
    first = [one for one in events if not one.is_second_pass]
    assert sorted(ids(first)) == sorted(chosen)
    hits = [hit.ref for one in events for hit in one.hits]
    assert len(hits) == len(set(hits)) == sum(one.hit_count for one in answer.providers)


async def test_of_a_second_pass_what_is_new_is_told(world: World):
    events, answer = await told(world, "fast", "empty", depth="deep")
    assert [one.is_second_pass for one in events] == [False, False, True, True]
    assert sorted(ids(events[2:])) == ["empty", "fast"]
    assert [hit.ref for one in events for hit in one.hits] == ["fast:1"]
    assert {one.provider_id: one for one in answer.providers} == {
        one.status.provider_id: one.status for one in events[2:]
    }


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": " "}, "query"),
        ({"limit": 51}, "limit"),
        ({"providers": {}}, "providers"),
        ({"providers": {"ids": ["fast", "nobody"]}}, "providers.ids[1]"),
        ({"context_ids": ["7"]}, "context_ids[0]"),
    ],
    ids=repr,
)
async def test_what_cannot_be_asked_is_refused_before_the_first_message(world: World, fields, field):
    before = stubs.Fast.began
    call = stream(world, **fields)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call.read()
    error = raised(refused.value)
    assert (error.reason, [one.field for one in error.violations]) == ("INVALID_ARGUMENT", [field])
    assert stubs.Fast.began == before


async def test_who_leaves_cancels_the_providers(world: World):
    began, ended = stubs.Slow.began, stubs.Took1.ended
    call = stream(world, "fast", "slow", "took-1")
    assert (await call.read()).provider.status.provider_id == "fast"
    assert stubs.Slow.began == began + 1
    call.cancel()
    await asyncio.sleep(0.6)
    assert (stubs.Slow.ended, stubs.Took1.ended) == (0, ended)


async def test_the_answer_comes_before_the_callers_deadline(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stubs.Took1, "answered", stubs.Slow.answered)  # which takes longer than the caller waits
    monkeypatch.setattr(stubs.Took1, "cancelled", 0, raising=False)
    events, answer = await told(world, "fast", "took-1", "stubborn", timeout=1.5)
    assert ids(events)[0] == "fast"
    assert [one.ref for one in answer.hits] == ["fast:1"]
    assert [one.state for one in answer.providers] == [OK, pb.PROVIDER_STATE_TIMEOUT, pb.PROVIDER_STATE_TIMEOUT]


async def test_nobody_waits_for_one_that_hangs(world: World):
    began = time.monotonic()
    events, _ = await told(world, "fast", "stubborn", timeout=None)
    assert time.monotonic() - began < stubs.Stubborn.goes_on_s
    assert ids(events) == ["fast", "stubborn"]


async def test_who_reads_slowly_keeps_no_turn(world: World, monkeypatch: pytest.MonkeyPatch):
    """While his providers are asked and while his answer waits for him: he could keep all who search from it."""
    every: list[FairQueue] = []
    take = FairQueue.take

    async def noted(self: FairQueue, principal: Any) -> None:
        await take(self, principal)
        if self._at_once_max == EXPENSIVE_CALLS_MAX:
            every.append(self)

    monkeypatch.setattr(FairQueue, "take", noted)
    calls = [aiter(stream(world, "workspace", "huge", limit=50, depth="deep")) for _ in range(4)]
    for call in calls:
        await anext(call)
    await asyncio.sleep(1.0)
    assert len(every) == 4
    assert {one.taken for one in every} == {0}
    for call in calls:
        assert [one async for one in call][-1].WhichOneof("event") == "answer"
    assert len(every) == 4
