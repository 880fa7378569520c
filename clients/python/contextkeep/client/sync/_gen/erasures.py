# Generated from aio/_gen/erasures.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of erasures that are one RPC each, made by `make proto`."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import erasures_pb2 as erasures_pb
from contextkeep.values import ErasurePlan, SubjectErasure


class Erasures(Noun):
    """Erasures of subjects. All calls need the scope admin, of a key without bounds."""

    def plan(self, subject: str, *, timeout_s: float | None = None) -> ErasurePlan:
        """Says what there is of a subject, by kind, and which holds forbid to erase it.

        It also says what no erasure finds, since nothing says whose it is. It changes nothing. It counts what is there,
        which takes a second for some million rows.

        Args:
            subject: The id of a user, as `owner_user_id` has it: up to 512 characters.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            Unavailable: the Entity Service does not answer.
        """
        request = erasures_pb.PlanErasureRequest(subject=subject)
        answer: erasures_pb.PlanErasureResponse = self._call("PlanErasure", request, timeout_s=timeout_s)
        return ErasurePlan.from_proto(answer)

    def erase(self, subject: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> SubjectErasure:
        """Begins to erase a subject, and answers a receipt at once.

        The services go on by themselves, whichever process is killed, in steps that hold up nobody. What goes: the
        subject's keys; contexts with all below them; memories, wiki pages, tests of sources; records with their bytes,
        which have no grace; unfinished uploads; nodes with all that hangs on them; what compiled pages say of those;
        all that any of these is found by; the answers of repeated calls. Where something of others' says who wrote it,
        a pseudonym takes the place of the subject, in the kept calls of administrators too. While an erasure of the
        subject runs, another call answers the same receipt. Stop before whoever writes for the subject: what comes
        behind a step stays.

        If the Entity Service does not answer, the erasure is begun all the same, and the call is UNAVAILABLE: call
        again, and it is begun there, too.

        Args:
            subject: As of PlanErasureRequest.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            LegalHold: with `hold_ids`.
            InvalidArgument: A field is malformed; `violations` name it.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Unavailable: A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again.
        """
        request = erasures_pb.EraseRequest(subject=subject, request_id=messages.new_request_id(request_id))
        answer: erasures_pb.EraseResponse = self._call("Erase", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(answer.erasure)

    def get(self, erasure_id: Id, *, timeout_s: float | None = None) -> SubjectErasure:
        """Reads a receipt as it is now.

        Who was erased is on none: numbers, times and ids of our own are. They are kept for good, so that erasures can
        be done again on a database that was restored from before them.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            ErasureNotFound: There is no erasure with this id that the caller may see; a receipt of a context is kept
                for a year.
            PermissionDenied: The key lacks the scope (`scope` in the metadata), is bound to something else, or is
                another user's.
            Unavailable: the Entity Service does not answer.
        """
        request = erasures_pb.GetSubjectErasureRequest(erasure_id=messages.to_id(erasure_id))
        answer: erasures_pb.GetSubjectErasureResponse = self._call("GetSubjectErasure", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(answer.erasure)
