"""The calls of specialists that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import specialists_pb2 as specialists_pb
from contextkeep.values import Specialist


class Specialists(Noun):
    """Specialists. All calls need the scope admin; a bound key cannot write."""

    async def put(
        self,
        specialist_id: str,
        *,
        display_name: str = "",
        instructions: str = "",
        node_ids: Iterable[Id] = (),
        steps_max: int = 0,
        is_default: bool = False,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Specialist:
        """Create a specialist, or replace it.

        A tenant has up to 50.

        A specialist is a provider of context query; its provider id is `sub-agent-` and the specialist's id. It makes
        several queries of a question. If the service has a model, the model instead searches and reads the specialist's
        folder step by step. Either way, it answers passages that it read, word by word, and sees no more than the
        caller. If the model fails, the call does not: the queries answer instead, and the status says so.

        Args:
            specialist_id: The caller's own id: 1 to 50 lowercase letters, digits and hyphens; it begins with a letter.
            display_name: A name for people; up to 200 characters. Empty: the id.
            instructions: Instructions for the model about the subject: what the folder contains, which names things
                have, what matters. Up to 8,000 characters. They guide the search; they never widen what it may read.
            node_ids: The folder: up to 20 nodes of the graph. The specialist searches the records of these nodes and of
                all nodes below them that the caller sees, except the caller's own records. The nodes need not exist
                yet. Empty: the specialist has no folder; it is listed, and its status says so.
            steps_max: Searches and readings per question, from 1 to 10. 0: 4.
            is_default: Query the specialist if a question selects no provider.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: limits `specialists` and `specialist.node_ids`.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = specialists_pb.PutSpecialistRequest(
            specialist=specialists_pb.SpecialistInput(
                specialist_id=specialist_id,
                display_name=display_name,
                instructions=instructions,
                node_ids=messages.ids("specialist.node_ids", node_ids),
                steps_max=steps_max,
                is_default=is_default,
            ),
            request_id=messages.new_request_id(request_id),
        )
        answer: specialists_pb.PutSpecialistResponse = await self._call("PutSpecialist", request, timeout_s=timeout_s)
        return Specialist.from_proto(answer.specialist)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Specialist, None]:
        """List the specialists by id.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = specialists_pb.ListSpecialistsRequest(page_size=page_size)
        while True:
            page: specialists_pb.ListSpecialistsResponse = await self._call(
                "ListSpecialists", request, timeout_s=timeout_s
            )
            for item in page.specialists:
                yield Specialist.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(self, specialist_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Delete a specialist; the content of its folder stays.

        Args:
            specialist_id: The specialist to delete.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            SpecialistNotFound: No specialist has this id.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = specialists_pb.DeleteSpecialistRequest(
            specialist_id=specialist_id, request_id=messages.new_request_id(request_id)
        )
        await self._call("DeleteSpecialist", request, timeout_s=timeout_s)
