"""The proto service `Erasures`: parse, one call, render."""

from __future__ import annotations

from collections.abc import Mapping

from context_service.erasure.rules.holds import Hold, Holds
from context_service.erasure.rules.subjects import SubjectErasure, Subjects
from contextkeep.context.v1 import contexts_pb2, erasures_pb2_grpc
from contextkeep.context.v1 import erasures_pb2 as pb
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id


class ErasuresServicer(erasures_pb2_grpc.ErasuresServicer):
    """Answers the RPCs of `Erasures`."""

    def __init__(self, subjects: Subjects, holds: Holds) -> None:
        self._subjects = subjects
        self._holds = holds

    async def PlanErasure(self, request: pb.PlanErasureRequest, context: object) -> pb.PlanErasureResponse:
        """Count the data of a subject."""
        plan = await self._subjects.plan(request.subject, principal=calls.principal())
        return pb.PlanErasureResponse(
            counts=_counts(plan.counts), holds=map(_hold, plan.held_by), not_found=plan.not_found
        )

    async def Erase(self, request: pb.EraseRequest, context: object) -> pb.EraseResponse:
        """Begin to erase a subject."""
        once = request_of("Erase", request)
        erasure = await self._subjects.erase(request.subject, principal=calls.principal(), request=once)
        return pb.EraseResponse(erasure=_erasure(erasure))

    async def GetSubjectErasure(
        self, request: pb.GetSubjectErasureRequest, context: object
    ) -> pb.GetSubjectErasureResponse:
        """Read a receipt."""
        erasure_id = parse_id("erasure_id", request.erasure_id)
        erasure = await self._subjects.receipt(erasure_id, principal=calls.principal())
        return pb.GetSubjectErasureResponse(erasure=_erasure(erasure))

    async def PutHold(self, request: pb.PutHoldRequest, context: object) -> pb.PutHoldResponse:
        """Forbid the erasure of a subject or a context."""

        def response(hold: Hold) -> pb.PutHoldResponse:
            return pb.PutHoldResponse(hold=_hold(hold))

        hold = await self._holds.put(
            subject=request.subject,
            context_id=parse_optional_id("context_id", request.context_id),
            reason=request.reason,
            principal=calls.principal(),
            request=request_of("PutHold", request, response=response),
        )
        return response(hold)

    async def ReleaseHold(self, request: pb.ReleaseHoldRequest, context: object) -> pb.ReleaseHoldResponse:
        """Remove a hold."""
        hold_id = parse_id("hold_id", request.hold_id)
        once = request_of("ReleaseHold", request, response=lambda _: pb.ReleaseHoldResponse())
        await self._holds.release(hold_id, principal=calls.principal(), request=once)
        return pb.ReleaseHoldResponse()

    async def ListHolds(self, request: pb.ListHoldsRequest, context: object) -> pb.ListHoldsResponse:
        """List holds."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        holds, token = await self._holds.page(page, principal=calls.principal())
        return pb.ListHoldsResponse(holds=map(_hold, holds), next_page_token=token)


def _counts(counts: Mapping[str, int]) -> list[pb.ErasureCount]:
    return [pb.ErasureCount(kind=kind, count=count) for kind, count in sorted(counts.items())]


def _erasure(erasure: SubjectErasure) -> pb.SubjectErasure:
    """Return an erasure as protobuf."""
    return copied(
        pb.SubjectErasure,
        erasure,
        state=contexts_pb2.ERASURE_STATE_FINISHED if erasure.finished_at else contexts_pb2.ERASURE_STATE_RUNNING,
        removed=_counts(erasure.removed),
    )


def _hold(hold: Hold) -> pb.Hold:
    return copied(pb.Hold, hold)
