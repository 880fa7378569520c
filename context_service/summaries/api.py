"""The proto service `Summaries`: parse, one call, render."""

from __future__ import annotations

from context_service.contexts.wire.requests import principal_of, somebody_of
from context_service.summaries.rules import context_summary
from context_service.summaries.rules.user_context import TOKENS_DEFAULT, UserContexts
from contextkeep.context.v1 import summaries_pb2 as pb
from contextkeep.context.v1 import summaries_pb2_grpc
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id


class SummariesServicer(summaries_pb2_grpc.SummariesServicer):
    """Answers the RPCs of `Summaries`."""

    def __init__(self, user_contexts: UserContexts, context_summaries: context_summary.ContextSummaries) -> None:
        self._user_contexts = user_contexts
        self._context_summaries = context_summaries

    async def GetContextSummary(
        self, request: pb.GetContextSummaryRequest, context: object
    ) -> pb.GetContextSummaryResponse:
        """Return the text about a conversation."""
        summary = await self._context_summaries.read(
            parse_id("context_id", request.context_id),
            tokens_max=request.tokens_max if request.HasField("tokens_max") else context_summary.TOKENS_DEFAULT,
            principal=principal_of(request.subject_user_id),
        )
        return copied(pb.GetContextSummaryResponse, summary)

    async def GetUserContext(self, request: pb.GetUserContextRequest, context: object) -> pb.GetUserContextResponse:
        """Return the text about a user for a prompt."""
        known = await self._user_contexts.read(
            tokens_max=request.tokens_max if request.HasField("tokens_max") else TOKENS_DEFAULT,
            principal=somebody_of(request.subject_user_id),
        )
        return copied(
            pb.GetUserContextResponse,
            known,
            lines=[copied(pb.UserContextLine, line) for line in known.lines],
        )
