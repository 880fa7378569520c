"""The proto service `Checkpoints`: parse, one call, render."""

from __future__ import annotations

from context_service.checkpoints.model import Checkpoint
from context_service.checkpoints.rules.checkpoints import Checkpoints, RolledBack
from context_service.checkpoints.rules.report_response import Recovered, Recovery
from context_service.contexts.wire.requests import principal_of
from context_service.packing.wire import (
    pack_response,
    receipt_message,
)
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from service_runtime.inputs.pages import PageRequest
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id


class CheckpointsServicer(context_windows_pb2_grpc.CheckpointsServicer):
    """Answers the RPCs of `Checkpoints`."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        recovery: Recovery,
    ) -> None:
        self._checkpoints = checkpoints
        self._recovery = recovery

    async def CreateCheckpoint(
        self, request: pb.CreateCheckpointRequest, context: object
    ) -> pb.CreateCheckpointResponse:
        """Store the current state of a window as a checkpoint."""

        def response(checkpoint: Checkpoint) -> pb.CreateCheckpointResponse:
            return pb.CreateCheckpointResponse(checkpoint=_checkpoint(checkpoint))

        checkpoint = await self._checkpoints.create(
            parse_id("window_id", request.window_id),
            request.label,
            principal=principal_of(request.subject_user_id),
            request=request_of("CreateCheckpoint", request, response=response),
        )
        return response(checkpoint)

    async def ListCheckpoints(self, request: pb.ListCheckpointsRequest, context: object) -> pb.ListCheckpointsResponse:
        """List the checkpoints of a window."""
        checkpoints, next_page_token = await self._checkpoints.page(
            parse_id("window_id", request.window_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        return pb.ListCheckpointsResponse(checkpoints=map(_checkpoint, checkpoints), next_page_token=next_page_token)

    async def Rollback(self, request: pb.RollbackRequest, context: object) -> pb.RollbackResponse:
        """Return a window to a checkpoint."""

        def response(result: RolledBack) -> pb.RollbackResponse:
            return pb.RollbackResponse(
                receipt=receipt_message(result.receipt),
                left_out_message_ids=result.message_ids,
                left_out_message_count=result.message_count,
            )

        result = await self._checkpoints.rollback(
            parse_id("window_id", request.window_id),
            request.checkpoint,
            expected_last_seq=request.expected_last_seq,
            principal=principal_of(request.subject_user_id),
            request=request_of("Rollback", request, response=response),
        )
        return response(result)

    async def ReportResponse(self, request: pb.ReportResponseRequest, context: object) -> pb.ReportResponseResponse:
        """Roll a window back after an invalid response of the model."""
        recovered = await self._recovery.report(
            parse_id("window_id", request.window_id),
            request.pack_id,
            is_invalid=request.invalid,
            expected_last_seq=request.expected_last_seq if request.HasField("expected_last_seq") else None,
            principal=principal_of(request.subject_user_id),
            request=request_of("ReportResponse", request, response=_recovery_message),
        )
        return _recovery_message(recovered)


def _recovery_message(recovered: Recovered | None) -> pb.ReportResponseResponse:
    """Return the protobuf answer of `ReportResponse`; it is empty if the response of the model was valid."""
    answer = pb.ReportResponseResponse()
    if recovered is None:
        return answer
    if recovered.pack:
        answer.pack.CopyFrom(pack_response(recovered.pack))
    if result := recovered.done:
        answer.receipt.CopyFrom(receipt_message(result.receipt))
        answer.left_out_message_ids.extend(result.message_ids)
        answer.left_out_message_count = result.message_count
    return answer


def _checkpoint(checkpoint: Checkpoint) -> pb.Checkpoint:
    return copied(pb.Checkpoint, checkpoint, last_seq=checkpoint.reached_seq, imported=None)
