"""The proto service `Packing`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from context_service.contexts.wire.requests import principal_of
from context_service.kernel.wire.files import is_inline
from context_service.packing.model import Prefix
from context_service.packing.rules.deliver import Delivery
from context_service.packing.wire import (
    explain_response,
    pack_response,
    receipt_messages,
    trace_response,
)
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import PageRequest
from service_runtime.values.ids import parse_id

if TYPE_CHECKING:
    from context_service.windows.room import Accounts, Tracing

_PART_BYTES = 80  # bytes of parsing that rendering a part of a pack costs


class PackingServicer(context_windows_pb2_grpc.PackingServicer):
    """Answers the RPCs of `Packing`."""

    def __init__(
        self,
        delivery: Delivery,
        accounts: Accounts,
        tracing: Tracing,
    ) -> None:
        self._delivery = delivery
        self._accounts = accounts
        self._tracing = tracing

    async def Pack(self, request: pb.PackRequest, context: object) -> pb.PackResponse:
        """Return the messages for the next call of the model."""
        pack = await self._delivery.pack(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            recalls=not request.without_recall,
            prefix=Prefix(request.if_prefix_sha, request.if_prefix_bytes),
            is_inline=is_inline(request.files),
        )
        return pack_response(pack)

    async def PackBody(self, request: pb.PackBodyRequest, context: object) -> AsyncIterator[pb.PackBodyResponse]:
        """Stream a pack with the bytes of its files."""
        pack, chunks = await self._delivery.pack_and_body(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            recalls=not request.without_recall,
        )
        yield pb.PackBodyResponse(pack=pack_response(pack))
        async with aclosing(chunks):
            async for chunk in chunks:
                yield pb.PackBodyResponse(chunk=chunk)

    async def ExplainPack(self, request: pb.ExplainPackRequest, context: object) -> pb.ExplainPackResponse:
        """Explain part by part what the last pack of a window showed."""
        explained = await self._accounts.explained(
            parse_id("window_id", request.window_id), principal=principal_of(request.subject_user_id)
        )
        return await beside_the_loop(_PART_BYTES * len(explained.parts), explain_response, explained)

    async def GetLineage(self, request: pb.GetLineageRequest, context: object) -> pb.GetLineageResponse:
        """List the breaks of a window's prefix."""
        rows, next_page_token = await self._accounts.lineage(
            parse_id("window_id", request.window_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        size = sum(
            20 * len(result.account.masked_steps) + _PART_BYTES * len(result.account.summaries) for result in rows
        )
        receipts = await beside_the_loop(size, receipt_messages, rows)
        return pb.GetLineageResponse(receipts=receipts, next_page_token=next_page_token)

    async def TraceMessage(self, request: pb.TraceMessageRequest, context: object) -> pb.TraceMessageResponse:
        """Find where messages are in the packs of a window, and since when."""
        trace = await self._tracing.trace(
            parse_id("window_id", request.window_id),
            request.ref,
            request.text,
            principal=principal_of(request.subject_user_id),
        )
        return trace_response(trace)
