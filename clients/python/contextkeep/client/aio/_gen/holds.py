"""The calls of holds that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import erasures_pb2 as erasures_pb
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
        """Forbid the erasure of a subject, or of a context and its child contexts.

        While the hold exists, Erase and `contexts.delete` fail with `LegalHold`, expired data (`expires_at`) stays, and
        a running erasure pauses. The hold forbids nothing else: `contexts.retract_messages`, purges of records and
        deletions of memories still work. Several holds of the same subject or context all count, and each must be
        released. A tenant has up to 1,000.

        Args:
            reason: The reason, for people: 1 to 1,000 characters.
            subject: The id of a user. Give either this or `context_id`.
            context_id: The id of a context. Give either this or `subject`.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            InvalidArgument: both or neither of `subject` and `context_id` are set, or `reason` is empty.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = erasures_pb.PutHoldRequest(
            subject=subject,
            context_id=messages.to_id(context_id),
            reason=reason,
            request_id=messages.new_request_id(request_id),
        )
        answer: erasures_pb.PutHoldResponse = await self._call("PutHold", request, timeout_s=timeout_s)
        return Hold.from_proto(answer.hold)

    async def release(self, hold_id: Id, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Release a hold.

        `operations.list_administrative_calls` shows who released it, and when.

        Args:
            hold_id: The hold to release.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            HoldNotFound: No legal hold has this id: it never existed, or was released.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = erasures_pb.ReleaseHoldRequest(
            hold_id=messages.to_id(hold_id), request_id=messages.new_request_id(request_id)
        )
        await self._call("ReleaseHold", request, timeout_s=timeout_s)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Hold, None]:
        """List holds, newest first.

        Args:
            page_size: Holds per page, at most 1,000. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = erasures_pb.ListHoldsRequest(page_size=page_size)
        while True:
            page: erasures_pb.ListHoldsResponse = await self._call("ListHolds", request, timeout_s=timeout_s)
            for item in page.holds:
                yield Hold.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
