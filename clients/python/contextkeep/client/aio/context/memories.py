"""Memories about a user, across contexts."""

from __future__ import annotations

from collections.abc import Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio._gen import memories as gen
from contextkeep.context.v1 import memories_pb2 as memories_pb
from contextkeep.values import Consolidation


class Memories(gen.Memories):
    """Memories.

    A memory belongs to a user. A key without a user names the user in `subject_user_id`, for which it needs the scope
    `delegate`; otherwise the call fails with `SubjectRequired`. A memory of another user is `MemoryNotFound`.
    """

    async def consolidate(
        self,
        *,
        plan: str = "",
        run_context_ids: Iterable[str] = (),
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Consolidation:
        """Return a plan of duplicates to merge and lessons to promote; with `plan`, carry it out.

        Args:
            plan: The `plan` that an earlier call for the same runs returned. Empty: change nothing.
            run_context_ids: Runs whose lessons are promoted, up to 20.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            request_id: A UUID. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            PlanOutdated: memories changed since the plan was made.
            SubjectRequired: neither the key nor the call names a user.
        """
        request = memories_pb.ConsolidateMemoriesRequest(
            run_context_ids=messages.texts("run_context_ids", run_context_ids),
            apply=bool(plan),
            plan=plan,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id) if plan else "",
        )
        return Consolidation.from_proto(await self._call("ConsolidateMemories", request, timeout_s=timeout_s))
