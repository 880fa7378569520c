"""Composes the room summaries: returns its servicer."""

from __future__ import annotations

from functools import partial

from context_service.contexts.room import FindableContexts
from context_service.kernel.dependencies import Dependencies, Room
from context_service.memories.room import memories_of
from context_service.summaries.api import SummariesServicer
from context_service.summaries.rules.context_summary import ContextSummaries
from context_service.summaries.rules.user_context import UserContexts
from contextkeep.context.v1.summaries_pb2_grpc import add_SummariesServicer_to_server
from service_runtime.grpc_server.server import Service

# What other rooms use.
__all__ = ["summaries_of"]


def summaries_of(deps: Dependencies) -> Room[SummariesServicer]:
    """Return the servicer of summaries."""
    count = deps.tokens.count
    servicer = SummariesServicer(
        UserContexts(memories_of(deps), FindableContexts(deps.database), count=count),
        ContextSummaries(deps.log, count=count),
    )
    service = Service(
        full_name="contextkeep.context.v1.Summaries",
        add=partial(add_SummariesServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
