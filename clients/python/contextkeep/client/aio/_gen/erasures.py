"""The calls of erasures that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import erasures_pb2 as erasures_pb
from contextkeep.values import ErasurePlan, SubjectErasure


class Erasures(Noun):
    """Erasures of subjects. All calls need the scope admin, of a key without bounds."""

    async def plan(self, subject: str, *, timeout_s: float | None = None) -> ErasurePlan:
        """Count the data of a subject by kind, and list the holds that forbid its erasure.

        It also lists data that no erasure finds, because nothing in it says whose it is. It changes nothing. It counts
        existing rows, which takes about a second for several million rows.

        Args:
            subject: The id of a user, as in `owner_user_id`: up to 512 characters.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            Unavailable: the Entity Service does not answer.
        """
        request = erasures_pb.PlanErasureRequest(subject=subject)
        answer: erasures_pb.PlanErasureResponse = await self._call("PlanErasure", request, timeout_s=timeout_s)
        return ErasurePlan.from_proto(answer)

    async def erase(
        self, subject: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> SubjectErasure:
        """Start the erasure of a subject, and answer a receipt at once.

        The services then continue by themselves in small steps that do not block other work; they also continue if a
        process is killed.

        They delete: the subject's keys; contexts with all child contexts; memories, wiki pages and tests of sources;
        records with their bytes, without a grace period; unfinished uploads; nodes with everything attached to them;
        the content of compiled pages about these nodes; all search indexes of these; the stored answers of repeated
        calls. If data of other users names the subject as the author, a pseudonym replaces the name, also in the log of
        administrative calls. While an erasure of the subject runs, another call answers the same receipt. First stop
        the programs that write for the subject: rows that they write after a step stay.

        If the Entity Service does not answer, the erasure starts in the Context Service only, and the call fails with
        UNAVAILABLE. Repeat the call to start it in the Entity Service too.

        Args:
            subject: The id of the user to erase, as in `owner_user_id`: up to 512 characters.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            LegalHold: holds forbid it; metadata `hold_ids`.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Unavailable: The service, or a dependency of it, does not answer.
        """
        request = erasures_pb.EraseRequest(subject=subject, request_id=messages.new_request_id(request_id))
        answer: erasures_pb.EraseResponse = await self._call("Erase", request, timeout_s=timeout_s)
        return SubjectErasure.from_proto(answer.erasure)

    async def get(self, erasure_id: Id, *, timeout_s: float | None = None) -> SubjectErasure:
        """Read the current state of a receipt.

        A receipt does not name the erased subject; it has only numbers, times and ids that the service made. The
        service keeps receipts for good, so that erasures can be repeated on a database that was restored from an older
        backup.

        Args:
            erasure_id: The erasure, as in its receipt.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ErasureNotFound: No erasure that the caller may see has this id. The receipt of a context is kept for a
                year.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            Unavailable: the Entity Service does not answer.
        """
        request = erasures_pb.GetSubjectErasureRequest(erasure_id=messages.to_id(erasure_id))
        answer: erasures_pb.GetSubjectErasureResponse = await self._call(
            "GetSubjectErasure", request, timeout_s=timeout_s
        )
        return SubjectErasure.from_proto(answer.erasure)
