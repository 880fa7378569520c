"""The proto service `SourceTests`: parse, one call, render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_service.contexts.wire.requests import principal_of
from context_service.kernel.wire.imported import imported_of
from context_service.query.api.query import STATE_NUMBERS, question_of, response_of
from context_service.query.providers import State
from context_service.query.rules.source_tests import SourceTests, compared
from context_service.query.store.source_tests import SourceTest
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.context.v1 import source_tests_pb2 as pb
from contextkeep.context.v1 import source_tests_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs import pages
from service_runtime.rpc import calls
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id


class SourceTestsServicer(source_tests_pb2_grpc.SourceTestsServicer):
    """Answers the RPCs of `SourceTests`."""

    def __init__(self, tests: SourceTests) -> None:
        self._tests = tests

    async def RunSourceTest(self, request: pb.RunSourceTestRequest, context: object) -> pb.RunSourceTestResponse:
        """Run a query and store its answer as a test."""
        principal = calls.principal()
        if request.HasField("question") == bool(request.replay_of):
            raise InvalidArgument("give either question or replay_of", field="question")
        replay_of = parse_optional_id("replay_of", request.replay_of)
        question, label = request.question, request.label
        if replay_of:
            before = await self._tests.read(replay_of, principal=principal)
            question, label = query_pb.QueryContextRequest.FromString(before.question), label or before.label
        test = await self._tests.run(
            question_of(question),
            request_bytes=question.SerializeToString(),
            label=label,
            replay_of=replay_of,
            rendered=lambda queried: response_of(queried).SerializeToString(),
            asking=principal_of(question.subject_user_id),
            principal=principal,
        )
        return pb.RunSourceTestResponse(test=_test(test))

    async def ListSourceTests(self, request: pb.ListSourceTestsRequest, context: object) -> pb.ListSourceTestsResponse:
        """List tests, without their answers."""
        page = pages.PageRequest(size=request.page_size, token=request.page_token)
        tests, token = await self._tests.page(page, principal=calls.principal())
        return pb.ListSourceTestsResponse(tests=map(_test, tests), next_page_token=token)

    async def GetSourceTest(self, request: pb.GetSourceTestRequest, context: object) -> pb.GetSourceTestResponse:
        """Read a test."""
        test_id = parse_id("test_id", request.test_id)
        return pb.GetSourceTestResponse(test=_test(await self._tests.read(test_id, principal=calls.principal())))

    async def CompareSourceTests(
        self, request: pb.CompareSourceTestsRequest, context: object
    ) -> pb.CompareSourceTestsResponse:
        """Answer the differences between two tests."""
        ids = parse_id("test_id", request.test_id), parse_id("other_test_id", request.other_test_id)
        first, other = [await self._tests.read(hit_id, principal=calls.principal()) for hit_id in ids]
        differ = compared(first, other)
        return pb.CompareSourceTestsResponse(
            hits=[copied(pb.ComparedHit, hit) for hit in differ.hits],
            providers=[_comparison(name, *both) for name, both in differ.providers.items()],
        )

    async def DeleteSourceTest(
        self, request: pb.DeleteSourceTestRequest, context: object
    ) -> pb.DeleteSourceTestResponse:
        """Remove a test."""
        await self._tests.delete(parse_id("test_id", request.test_id), principal=calls.principal())
        return pb.DeleteSourceTestResponse()


def _test(test: SourceTest) -> pb.SourceTest:
    """Return the protobuf message of a stored test."""
    return copied(
        pb.SourceTest,
        test,
        question=query_pb.QueryContextRequest.FromString(test.question),
        hit_count=len(test.outcome["hits"]),
        duration_ms=test.outcome["duration_ms"],
        answer=query_pb.QueryContextResponse.FromString(test.answer) if test.answer else None,
        imported=imported_of(test.imported_json),
    )


def _comparison(name: str, first: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> pb.ComparedProvider:
    """Return the protobuf message that compares a provider in two tests; None stands for a test that did not ask it."""
    left, right = first or {}, other or {}
    return pb.ComparedProvider(
        provider_id=name,
        state=STATE_NUMBERS[State(left["state"])] if left else query_pb.PROVIDER_STATE_UNSPECIFIED,
        other_state=STATE_NUMBERS[State(right["state"])] if right else query_pb.PROVIDER_STATE_UNSPECIFIED,
        duration_ms=left.get("duration_ms", 0),
        other_duration_ms=right.get("duration_ms", 0),
        hit_count=left.get("hit_count", 0),
        other_hit_count=right.get("hit_count", 0),
    )
