"""Changes of graphs."""

from __future__ import annotations

from contextkeep.client.aio._gen import changes as gen
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import (
    ChangePage,
)


class Changes(gen.Changes):
    """Changes of graphs."""

    async def list(self, place: str = "", *, page_size: int = 0, timeout_s: float | None = None) -> ChangePage:
        """Return the changes after a place: nodes and edges, in an order in which nothing late is missed.

        Keep `next_place` of the answer once its changes are dealt with, and go on from it: at once if the answer
        `has_more`, else later.

        Args:
            place: Of `start`, or of an answer before. Empty: no changes, and the place that is reached now.
            page_size: Changes at most; 0: 100.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ChangesNotStarted: `start` was not called, or has not answered yet.
            ChangesExpired: changes after the place were deleted. Take a new place, then read everything again.
            InvalidPageToken: the place is malformed, or of another tenant.
        """
        request = graph_pb.ListChangesRequest(place=place, page_size=page_size)
        return ChangePage.from_proto(await self._call("ListChanges", request, timeout_s=timeout_s))
