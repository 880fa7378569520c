# Generated from aio/context/specialists.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Specialists: providers of context query that search one folder of the workspace in several steps."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import specialists_pb2 as pb
from contextkeep.values import Specialist


class Specialists(Noun):
    """Specialists. All calls need the scope admin; a bound key cannot write."""

    def put(
        self,
        specialist_id: str,
        *,
        node_ids: Sequence[Id] = (),
        instructions: str = "",
        display_name: str = "",
        steps_max: int = 0,
        is_default: bool = False,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Specialist:
        """Write a specialist as it is said, whether there was one or not, and return it.

        Args:
            specialist_id: Your own id: 1 to 50 small letters, digits and hyphens.
            node_ids: Its folder: it searches records of these nodes and of those below them, up to 20. Empty: it is
                not wired, which its status says.
            instructions: What a model is told of the folder, up to 8,000 characters.
            display_name: Up to 200 characters. Empty: the id.
            steps_max: How many searches and readings a question may cost, up to 10. 0: 4.
            is_default: Whether it is asked where a question selects nobody.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            LimitExceeded: there are 50.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        said = pb.SpecialistInput(
            specialist_id=specialist_id,
            display_name=display_name,
            instructions=instructions,
            node_ids=messages.ids("node_ids", node_ids),
            steps_max=steps_max,
            is_default=is_default,
        )
        request = pb.PutSpecialistRequest(specialist=said, request_id=messages.new_request_id(request_id))
        response: pb.PutSpecialistResponse = self._call("PutSpecialist", request, timeout_s=timeout_s)
        return Specialist.from_proto(response.specialist)

    def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[Specialist, None, None]:
        """Yield the specialists by id, following the pages.

        Args:
            page_size: Specialists of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListSpecialistsRequest(page_size=page_size)
        while True:
            page: pb.ListSpecialistsResponse = self._call("ListSpecialists", request, timeout_s=timeout_s)
            for specialist in page.specialists:
                yield Specialist.from_proto(specialist)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(self, specialist_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Remove a specialist; what is in its folder stays.

        Raises:
            SpecialistNotFound: there is none.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.DeleteSpecialistRequest(
            specialist_id=specialist_id, request_id=messages.new_request_id(request_id)
        )
        self._call("DeleteSpecialist", request, timeout_s=timeout_s)
