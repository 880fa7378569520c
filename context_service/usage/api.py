"""The proto service `Usage`: parse, one call, render."""

from __future__ import annotations

from dataclasses import asdict

from context_service.contexts.wire.requests import principal_of
from context_service.packing.wire import (
    zones_message,
)
from context_service.usage import wire as statistics_wire
from context_service.usage.model import Outcome, RecordedOutcome, Usage
from context_service.usage.rules.outcomes import Outcomes
from context_service.usage.rules.statistics import Statistics
from context_service.usage.rules.usage import Billing
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id


class UsageServicer(context_windows_pb2_grpc.UsageServicer):
    """Answers the RPCs of `Usage`."""

    def __init__(
        self,
        billing: Billing,
        outcomes: Outcomes,
        statistics: Statistics,
    ) -> None:
        self._billing = billing
        self._outcomes = outcomes
        self._statistics = statistics

    async def RecordUsage(self, request: pb.RecordUsageRequest, context: object) -> pb.RecordUsageResponse:
        """Store the tokens that a vendor billed for a pack."""
        learned = await self._billing.record(
            parse_id("window_id", request.window_id),
            request.epoch if request.HasField("epoch") else None,
            Usage(
                pack_tokens=request.pack_tokens,
                input_tokens=request.input_tokens,
                cached_tokens=request.cached_tokens,
                cache_write_tokens=request.cache_write_tokens,
                output_tokens=request.output_tokens,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("RecordUsage", request, replay=lambda answer: pb.RecordUsageResponse(**answer)),
        )
        return pb.RecordUsageResponse(**asdict(learned))

    async def RecordOutcome(self, request: pb.RecordOutcomeRequest, context: object) -> pb.RecordOutcomeResponse:
        """Store how steps of a window ended."""

        def response(recorded: RecordedOutcome) -> pb.RecordOutcomeResponse:
            return copied(pb.RecordOutcomeResponse, recorded)

        recorded = await self._outcomes.record(
            parse_id("window_id", request.window_id),
            copied(
                Outcome,
                request,
                is_success=request.success,
                quality=request.quality if request.HasField("quality") else None,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("RecordOutcome", request, response=response),
        )
        return response(recorded)

    async def EstimateCost(self, request: pb.EstimateCostRequest, context: object) -> pb.EstimateCostResponse:
        """Estimate the cost of a window's next packs."""
        estimate = await self._statistics.estimate(
            parse_id("window_id", request.window_id),
            request.steps,
            request.step_tokens,
            principal=principal_of(request.subject_user_id),
        )
        return statistics_wire.estimate_response(estimate)

    async def WindowStats(self, request: pb.WindowStatsRequest, context: object) -> pb.WindowStatsResponse:
        """Answer the statistics of a window."""
        statistics = await self._statistics.of(
            parse_id("window_id", request.window_id), principal=principal_of(request.subject_user_id)
        )
        return statistics_wire.statistics_response(statistics, zones=zones_message(statistics.zones))
