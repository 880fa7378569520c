"""Holds, which forbid erasures."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.values import Hold


class Holds(Noun):
    """Holds. All calls need the scope admin, of a key without bounds."""

    async def put(
        self,
        reason: str,
        *,
        subject: str = "",
        context_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Hold:
        """Forbid to erase a subject, or a context with those below it, until `release`.

        Args:
            reason: For people.
            subject: The id of a user; or
            context_id: of a context.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is none.
        """
        request = pb.PutHoldRequest(
            subject=subject,
            context_id=messages.to_id(context_id),
            reason=reason,
            request_id=messages.new_request_id(request_id),
        )
        response: pb.PutHoldResponse = await self._call("PutHold", request, timeout_s=timeout_s)
        return Hold.from_proto(response.hold)

    async def release(self, hold_id: Id, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Take a hold away.

        Raises:
            HoldNotFound: there is none.
        """
        request = pb.ReleaseHoldRequest(hold_id=messages.to_id(hold_id), request_id=messages.new_request_id(request_id))
        await self._call("ReleaseHold", request, timeout_s=timeout_s)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Hold, None]:
        """Yield the holds, the newest first, following the pages.

        Args:
            page_size: Holds of one page; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListHoldsRequest(page_size=page_size)
        while True:
            page: pb.ListHoldsResponse = await self._call("ListHolds", request, timeout_s=timeout_s)
            for hold in page.holds:
                yield Hold.from_proto(hold)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
