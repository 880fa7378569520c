"""The proto service `Folding`: parse, one call, render."""

from __future__ import annotations

from context_service.contexts.wire.requests import principal_of
from context_service.folding.rules.fold import Folding
from context_service.packing.model import Receipt
from context_service.packing.wire import (
    receipt_message,
)
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from service_runtime.statements.requests import request_of
from service_runtime.values.ids import parse_id


class FoldingServicer(context_windows_pb2_grpc.FoldingServicer):
    """Answers the RPCs of `Folding`."""

    def __init__(
        self,
        folding: Folding,
    ) -> None:
        self._folding = folding

    async def Fold(self, request: pb.FoldRequest, context: object) -> pb.FoldResponse:
        """Fold a window now, or return what a fold would do."""
        receipt = await self._folding.fold(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            dry_run=request.dry_run,
            instructions=request.instructions,
        )
        return pb.FoldResponse(receipt=receipt_message(receipt))

    async def PrepareFold(self, request: pb.PrepareFoldRequest, context: object) -> pb.PrepareFoldResponse:
        """Prepare a fold, and store it until it is committed."""
        receipt, epoch = await self._folding.prepare(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            expected_epoch=request.expected_epoch if request.HasField("expected_epoch") else None,
            instructions=request.instructions,
        )
        return pb.PrepareFoldResponse(receipt=receipt_message(receipt), epoch=epoch)

    async def CommitFold(self, request: pb.CommitFoldRequest, context: object) -> pb.CommitFoldResponse:
        """Fold a window as the prepared fold says."""

        def response(receipt: Receipt) -> pb.CommitFoldResponse:
            return pb.CommitFoldResponse(receipt=receipt_message(receipt))

        receipt = await self._folding.commit(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            expected_epoch=request.expected_epoch if request.HasField("expected_epoch") else None,
            request=request_of("CommitFold", request, response=response),
        )
        return response(receipt)
