"""Tests of the sources of context query."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from contextkeep.client._messages import (
    Id,
    MemoryQueryMode,
    QueryDepth,
    QueryMode,
    QueryScope,
)
from contextkeep.client._query_messages import question_request
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.values import (
    ComparedTests,
    SourceTest,
)


class SourceTests(Noun):
    """Tests of the sources of context query."""

    async def run(
        self,
        query: str,
        *,
        label: str = "",
        mode: QueryMode = "results",
        scope: QueryScope = "auto",
        depth: QueryDepth = "quick",
        limit: int = 20,
        provider_ids: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        node_ids: Sequence[Id] | None = None,
        memory_mode: MemoryQueryMode | None = None,
        context_ids: Sequence[Id] = (),
        agent_id: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> SourceTest:
        """Ask a question as `query.ask` does, keep all that comes back, and return it; needs the scope admin.

        Args:
            query: As of `query.ask`, as all below.
            label: What the test is called.
            mode: "results" or "answer".
            scope: "auto", "personal" or "team".
            depth: "quick" or "deep".
            limit: Hits, 1 to 50.
            provider_ids: Whom to ask.
            families: Of each, all providers.
            node_ids: Whose files are searched.
            memory_mode: "recall" or "reflect".
            context_ids: Which contexts are searched.
            agent_id: For which agent.
            subject_user_id: For which user; the key needs the scope delegate, too.
            timeout_s: Deadline; None: the client's.

        Raises:
            AgentNotFound: there is no such agent.
            ProviderNotAllowed: the agent may not ask what is named.
            PermissionDenied: the key lacks the scope, or is bound.
        """
        question = question_request(
            query,
            mode=mode,
            scope=scope,
            depth=depth,
            limit=limit,
            provider_ids=provider_ids,
            families=families,
            node_ids=node_ids,
            memory_mode=memory_mode,
            context_ids=context_ids,
            explain=True,
            agent_id=agent_id,
            subject_user_id=subject_user_id,
        )
        request = query_pb.RunSourceTestRequest(question=question, label=label)
        response: query_pb.RunSourceTestResponse = await self._call("RunSourceTest", request, timeout_s=timeout_s)
        return SourceTest.from_proto(response.test)

    async def replay(self, test_id: Id, *, label: str = "", timeout_s: float | None = None) -> SourceTest:
        """Ask the question of a test again, keep all that comes back, and return it.

        Raises:
            SourceTestNotFound: there is no such test.
        """
        request = query_pb.RunSourceTestRequest(replay_of=str(test_id), label=label)
        response: query_pb.RunSourceTestResponse = await self._call("RunSourceTest", request, timeout_s=timeout_s)
        return SourceTest.from_proto(response.test)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[SourceTest, None]:
        """Yield the tests that are kept without their answers, the newest first, following the pages."""
        request = query_pb.ListSourceTestsRequest(page_size=page_size)
        while True:
            page: query_pb.ListSourceTestsResponse = await self._call("ListSourceTests", request, timeout_s=timeout_s)
            for test in page.tests:
                yield SourceTest.from_proto(test)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def get(self, test_id: Id, *, timeout_s: float | None = None) -> SourceTest:
        """Return a test with its answer.

        Raises:
            SourceTestNotFound: there is no such test.
        """
        request = query_pb.GetSourceTestRequest(test_id=str(test_id))
        response: query_pb.GetSourceTestResponse = await self._call("GetSourceTest", request, timeout_s=timeout_s)
        return SourceTest.from_proto(response.test)

    async def compare(self, test_id: Id, other_test_id: Id, *, timeout_s: float | None = None) -> ComparedTests:
        """Return what two tests differ in.

        Raises:
            SourceTestNotFound: there is no such test.
        """
        request = query_pb.CompareSourceTestsRequest(test_id=str(test_id), other_test_id=str(other_test_id))
        return ComparedTests.from_proto(await self._call("CompareSourceTests", request, timeout_s=timeout_s))

    async def delete(self, test_id: Id, *, timeout_s: float | None = None) -> None:
        """Remove a test.

        Raises:
            SourceTestNotFound: there is no such test.
        """
        await self._call(
            "DeleteSourceTest", query_pb.DeleteSourceTestRequest(test_id=str(test_id)), timeout_s=timeout_s
        )
