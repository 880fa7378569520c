"""Stores lessons of windows as memories of their users. It depends on both packages, so it stands above them."""

from __future__ import annotations

from uuid import UUID

from context_service.kernel.lesson import Lesson
from context_service.memories.model import Experience, MemoryInput, MemoryKind, MemorySource
from context_service.memories.pure.checks import EXPERIENCE_CHARS_MAX
from context_service.memories.rules.memories import Memories
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import AnsweredBefore, Request

SUCCESS, FAILURE = "success", "failure"


class RememberedLessons:
    """Stores lessons of windows as memories.

    Args:
        memories: Stores memories of users.
    """

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def remember(self, lesson: Lesson, *, principal: Principal, request: Request | None) -> UUID:
        """Store a lesson for the principal's user, once for an idempotency key; return the id of the memory.

        Raises:
            InvalidArgument, LimitExceeded, PermissionDenied: as `Memories.retain` raises them.
        """
        memory_input = MemoryInput(
            text=lesson.text,
            kind=MemoryKind.EXPERIENCE,
            source=MemorySource(context_id=str(lesson.context_id)),
            experience=Experience(
                goal=lesson.goal[:EXPERIENCE_CHARS_MAX],
                outcome=SUCCESS if lesson.is_success else FAILURE,
                quality=lesson.quality,
            ),
            app_id=lesson.app_id,
            agent_bundle_id=lesson.agent_bundle_id,
        )
        try:
            return (await self._memories.retain(memory_input, principal=principal, request=request)).memory_id
        except AnsweredBefore as error:
            return UUID(error.answer["memory_id"])
