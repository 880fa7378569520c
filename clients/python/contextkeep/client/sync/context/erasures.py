# Generated from aio/context/erasures.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Erasures of subjects."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.values import ErasurePlan, SubjectErasure


class Erasures(Noun):
    """Erasures of subjects. All calls need the scope admin, of a key without bounds."""

    def plan(self, subject: str, *, timeout_s: float | None = None) -> ErasurePlan:
        """Return what there is of a subject in both services, what forbids to erase it, and what no erasure finds.

        Args:
            subject: The id of the user, as of `owner_user_id`.
            timeout_s: Deadline; None: the client's.
        """
        request = pb.PlanErasureRequest(subject=subject)
        return ErasurePlan.from_proto(self._call("PlanErasure", request, timeout_s=timeout_s))

    def erase(self, subject: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> SubjectErasure:
        """Begin to erase a subject in both services, and return the receipt; `get` tells how far it is.

        Stop before whoever writes for the subject. While an erasure runs, another call returns the same.

        Args:
            subject: The id of the user, as of `owner_user_id`.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            LegalHold: it may not be erased now.
        """
        request = pb.EraseRequest(subject=subject, request_id=messages.new_request_id(request_id))
        response: pb.EraseResponse = self._call("Erase", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(response.erasure)

    def get(self, erasure_id: Id, *, timeout_s: float | None = None) -> SubjectErasure:
        """Return the receipt of a subject that is erased, as it is now.

        Raises:
            ErasureNotFound: there is none.
        """
        request = pb.GetSubjectErasureRequest(erasure_id=messages.to_id(erasure_id))
        response: pb.GetSubjectErasureResponse = self._call("GetSubjectErasure", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(response.erasure)
