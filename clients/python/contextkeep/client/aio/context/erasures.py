"""Subjects erased, and holds that forbid it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import AsyncClient
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.values import ErasurePlan, Hold, SubjectErasure


class ErasureCalls(AsyncClient):
    """The RPCs of erasing. All of them need the scope admin, of a key without bounds."""

    async def plan_erasure(self, subject: str, *, timeout_s: float | None = None) -> ErasurePlan:
        """Return what there is of a subject in both services, what forbids to erase it, and what no erasure finds.

        Args:
            subject: The id of the user, as of `owner_user_id`.
            timeout_s: Deadline; None: the client's.
        """
        request = pb.PlanErasureRequest(subject=subject)
        return ErasurePlan.from_proto(await self.call("PlanErasure", request, timeout_s=timeout_s))

    async def erase(
        self, subject: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> SubjectErasure:
        """Begin to erase a subject in both services, and return the receipt; `get_subject_erasure` tells how far it is.

        Stop before whoever writes for the subject. While an erasure runs, another call returns the same.

        Args:
            subject: The id of the user, as of `owner_user_id`.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            LegalHold: it may not be erased now.
        """
        request = pb.EraseRequest(subject=subject, request_id=messages.new_request_id(request_id))
        response: pb.EraseResponse = await self.call("Erase", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(response.erasure)

    async def get_subject_erasure(self, erasure_id: Id, *, timeout_s: float | None = None) -> SubjectErasure:
        """Return the receipt of a subject that is erased, as it is now.

        Raises:
            ErasureNotFound: there is none.
        """
        request = pb.GetSubjectErasureRequest(erasure_id=messages.to_id(erasure_id))
        response: pb.GetSubjectErasureResponse = await self.call("GetSubjectErasure", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(response.erasure)

    async def put_hold(
        self,
        reason: str,
        *,
        subject: str = "",
        context_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Hold:
        """Forbid to erase a subject, or a context with those below it, until `release_hold`.

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
        response: pb.PutHoldResponse = await self.call("PutHold", request, timeout_s=timeout_s)
        return Hold.from_proto(response.hold)

    async def release_hold(self, hold_id: Id, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Take a hold away.

        Raises:
            HoldNotFound: there is none.
        """
        request = pb.ReleaseHoldRequest(hold_id=messages.to_id(hold_id), request_id=messages.new_request_id(request_id))
        await self.call("ReleaseHold", request, timeout_s=timeout_s)

    async def list_holds(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Hold, None]:
        """Yield the holds, the newest first, following the pages.

        Args:
            page_size: Holds of one page; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListHoldsRequest(page_size=page_size)
        while True:
            page: pb.ListHoldsResponse = await self.call("ListHolds", request, timeout_s=timeout_s)
            for hold in page.holds:
                yield Hold.from_proto(hold)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
