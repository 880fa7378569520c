"""Tests of sources: the same path as a question, and all of it kept, for who administers the tenant."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from context_service.contexts.store.erasures import count_owned_rows
from context_service.query.rules import source_tests
from context_service.query.store import source_tests as source_test_rows
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1 import source_tests_pb2 as source_tests_pb
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from contextkeep.context.v1.source_tests_pb2_grpc import SourceTestsStub
from contextkeep.errors import ContextKeepError
from service_runtime.postgres import Database
from tests.conftest import PRINCIPAL
from tests.context_service.erased import erase_subject
from tests.context_service.query.conftest import World, over_grpc
from tests.errors import raised

QUERY = "When was the renewal of Acme signed?"

WITHOUT_EMBEDDER = "words only: no embedder is configured"


async def call(world: World, name: str, request: Any, key: str = "admin") -> Any:
    channel = world.opened.caller.channel
    stub = next(stub for stub in (SourceTestsStub(channel), ContextQueryStub(channel)) if hasattr(stub, name))
    try:
        return await getattr(stub, name)(request, metadata=(("authorization", f"Bearer {key}"),), timeout=30)
    except grpc.aio.AioRpcError as error:
        raise raised(error) from None


async def ran(world: World, *, key: str = "admin", label: str = "", replay_of: str = "", **question: Any) -> Any:
    request = source_tests_pb.RunSourceTestRequest(label=label, replay_of=replay_of)
    if not replay_of:
        request.question.CopyFrom(pb.QueryContextRequest(**{"query": QUERY, **question}))
    return (await call(world, "RunSourceTest", request, key)).test


async def kept(world: World, test_id: str, key: str = "admin") -> Any:
    return (await call(world, "GetSourceTest", source_tests_pb.GetSourceTestRequest(test_id=test_id), key)).test


def only(*ids: str) -> pb.ProviderSelection:
    return pb.ProviderSelection(ids=ids)


async def test_a_test_is_what_the_question_is_answered_and_is_kept_whole(world: World):
    test = await ran(world, providers=only("fast", "twin", "down"), label="weekly", depth=pb.QUERY_DEPTH_DEEP)
    answer = await over_grpc(world).query(query=QUERY, providers={"ids": ["fast", "twin", "down"]})
    assert [one.ref for one in test.answer.hits] == [one["ref"] for one in answer["hits"]]
    assert [one.state for one in test.answer.providers] == [
        pb.PROVIDER_STATE_ERROR,
        pb.PROVIDER_STATE_OK,
        pb.PROVIDER_STATE_OK,
    ]
    assert {one.provider_id: len(one.hits) for one in test.answer.explained} == {"fast": 1, "twin": 2}
    assert (test.label, test.question.query, test.hit_count) == ("weekly", QUERY, len(answer["hits"]))
    assert await kept(world, test.test_id) == test


async def test_tests_are_listed_the_newest_first_replayed_compared_and_removed(world: World):
    first = await ran(world, providers=only("fast"), label="first")
    other = await ran(world, providers=only("fast", "twin"))
    replayed = await ran(world, replay_of=first.test_id)
    assert (replayed.replay_of, replayed.label, replayed.question) == (first.test_id, "first", first.question)
    assert [one.ref for one in replayed.answer.hits] == [one.ref for one in first.answer.hits]
    page = await call(world, "ListSourceTests", source_tests_pb.ListSourceTestsRequest(page_size=2))
    assert [one.test_id for one in page.tests] == [replayed.test_id, other.test_id]
    assert not page.tests[0].HasField("answer")
    more = await call(world, "ListSourceTests", source_tests_pb.ListSourceTestsRequest(page_token=page.next_page_token))
    assert more.tests[0].test_id == first.test_id

    request = source_tests_pb.CompareSourceTestsRequest(test_id=first.test_id, other_test_id=other.test_id)
    compared = await call(world, "CompareSourceTests", request)
    assert [(one.provider_id, one.state, one.other_state) for one in compared.providers] == [
        ("fast", pb.PROVIDER_STATE_OK, pb.PROVIDER_STATE_OK),
        ("twin", pb.PROVIDER_STATE_UNSPECIFIED, pb.PROVIDER_STATE_OK),
    ]
    assert [one.rank for one in compared.hits if one.rank] == [1]
    assert sorted(one.other_rank for one in compared.hits if one.other_rank) == [1, 2]

    await call(world, "DeleteSourceTest", source_tests_pb.DeleteSourceTestRequest(test_id=first.test_id))
    for name, gone in (
        ("GetSourceTest", source_tests_pb.GetSourceTestRequest(test_id=first.test_id)),
        ("DeleteSourceTest", source_tests_pb.DeleteSourceTestRequest(test_id=first.test_id)),
        ("RunSourceTest", source_tests_pb.RunSourceTestRequest(replay_of=first.test_id)),
        ("CompareSourceTests", request),
    ):
        with pytest.raises(ContextKeepError) as refused:
            await call(world, name, gone)
        assert refused.value.reason == "SOURCE_TEST_NOT_FOUND"


async def test_a_mode_that_did_not_run_as_asked_is_warned_of(world: World):
    options = pb.ProviderOptions(memory=pb.MemoryOptions(query_mode=pb.MEMORY_QUERY_MODE_RECALL))
    fine = await ran(world, providers=only("memory"), provider_options=options, subject_user_id="ada")
    assert list(fine.warnings) == [WITHOUT_EMBEDDER] and fine.owner_user_id == "ada"
    skipped = await ran(world, providers=only("empty"), mode=pb.QUERY_MODE_ANSWER)
    assert list(skipped.warnings) == [WITHOUT_EMBEDDER, "the mode is answer, but nothing was found"]


async def test_the_last_state_and_latency_stand_on_the_provider_for_who_tests(world: World):
    await ran(world, providers=only("fast"))
    await ran(world, providers=only("down"))
    listed = await call(world, "ListContextProviders", pb.ListContextProvidersRequest())
    last = {one.provider_id: one.last_test for one in listed.providers if one.HasField("last_test")}
    assert (last["fast"].state, last["down"].state) == (pb.PROVIDER_STATE_OK, pb.PROVIDER_STATE_ERROR)
    assert last["down"].tested_at.seconds > 0
    told = await call(world, "ListContextProviders", pb.ListContextProvidersRequest(), "ada")
    assert not any(one.HasField("last_test") for one in told.providers)


async def test_an_answer_is_kept_up_to_a_bound_and_so_many_are_kept(world: World, monkeypatch):
    monkeypatch.setattr(source_tests, "ANSWER_BYTES_MAX", 7_000)
    test = await ran(world, providers=only("huge"), limit=2)
    assert list(test.warnings) == [WITHOUT_EMBEDDER, source_tests.CUT]
    assert len(test.answer.hits) == 2 and source_test_rows.KEPT_MAX == 200


async def test_what_is_kept_goes_with_its_user_and_with_a_context_that_it_names(world: World):
    database: Database = world.opened.database
    await ran(world, providers=only("fast"), subject_user_id="grace")
    door = database.tenant(PRINCIPAL.tenant_id)
    assert (await count_owned_rows(door, "grace"))["context.source_test"] == 1
    await erase_subject(database, "grace")
    assert (await count_owned_rows(door, "grace"))["context.source_test"] == 0
