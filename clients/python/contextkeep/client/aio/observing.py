"""How the process that answers does: of both services."""

from __future__ import annotations

from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import observing_pb2 as pb
from contextkeep.values import RecentCalls


class Observed(Noun):
    """Operations of a service: how the process that answers does."""

    async def get_recent_calls(self, *, timeout_s: float | None = None) -> RecentCalls:
        """Return the calls of your tenant to the process that answers, minute by minute, of the last hour."""
        return RecentCalls.from_proto(
            await self._call("GetRecentCalls", pb.GetRecentCallsRequest(), timeout_s=timeout_s)
        )
