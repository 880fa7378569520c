# Generated from aio/context/source_tests.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Tests of the sources of context query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from contextkeep.client._messages import Id
from contextkeep.client._query_messages import question_request
from contextkeep.client.sync._gen import source_tests as gen
from contextkeep.context.v1 import source_tests_pb2 as pb
from contextkeep.values import (
    MemoryQueryMode,
    QueryDepth,
    QueryMode,
    QueryScope,
    SourceTest,
)


class SourceTests(gen.SourceTests):
    """Tests of the sources of context query."""

    def run(
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
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        score_min: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> SourceTest:
        """Ask a question like `query.ask`, store the whole answer, and return it; needs the scope admin.

        Args:
            query: The question. It and the arguments below are those of `query.ask`.
            label: The name of the test.
            mode: "results" or "answer".
            scope: "auto", "personal" or "team".
            depth: "quick" or "deep".
            limit: Maximum number of hits, 1 to 50.
            provider_ids: The providers to search.
            families: Families whose providers are all searched, such as "mcp".
            node_ids: The nodes whose files are searched.
            memory_mode: "recall" or "reflect".
            context_ids: The contexts that are searched.
            time_from: Return only hits of this time or later.
            time_to: Return only hits before this time.
            score_min: Return only hits with this score or a higher one, 0 to 1.
            metadata: Return only hits whose metadata have these values.
            agent_id: The agent to act for.
            subject_user_id: The user to act for; the key needs the scope `delegate`, too.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentNotFound: there is no such agent.
            ProviderNotAllowed: the agent may not use a named provider.
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
            time_from=time_from,
            time_to=time_to,
            score_min=score_min,
            metadata=metadata,
            explain=True,
            agent_id=agent_id,
            subject_user_id=subject_user_id,
        )
        request = pb.RunSourceTestRequest(question=question, label=label)
        response: pb.RunSourceTestResponse = self._call("RunSourceTest", request, timeout_s=timeout_s)
        return SourceTest.from_proto(response.test)

    def replay(self, test_id: Id, *, label: str = "", timeout_s: float | None = None) -> SourceTest:
        """Ask the question of a test again, store the whole answer, and return it.

        Raises:
            SourceTestNotFound: there is no such test.
        """
        request = pb.RunSourceTestRequest(replay_of=str(test_id), label=label)
        response: pb.RunSourceTestResponse = self._call("RunSourceTest", request, timeout_s=timeout_s)
        return SourceTest.from_proto(response.test)
