"""The proto service `Observing`, which both services serve: parse, one call, render."""

from __future__ import annotations

import secrets
from functools import partial

from contextkeep.context.v1 import observing_pb2 as pb
from contextkeep.context.v1 import observing_pb2_grpc
from service_runtime.grpc_server.server import Service
from service_runtime.rpc import calls
from service_runtime.rpc.recent_calls import Minute, RecentCalls


class ObservingServicer(observing_pb2_grpc.ObservingServicer):
    """Answers the RPCs of `Observing`."""

    def __init__(self, recent: RecentCalls) -> None:
        self._recent = recent
        self._process_id = secrets.token_hex(4)

    async def GetRecentCalls(self, request: pb.GetRecentCallsRequest, context: object) -> pb.GetRecentCallsResponse:
        """Read the calls of the last hour."""
        answer = pb.GetRecentCallsResponse(
            service=self._recent.service,
            process_id=self._process_id,
            minutes=map(_minute, self._recent.minutes(calls.principal().tenant_id)),
        )
        answer.started_at.FromDatetime(self._recent.started_at)
        return answer


def observing(recent: RecentCalls) -> Service:
    """Return the proto service of a process."""
    servicer = ObservingServicer(recent)
    return Service(
        full_name="contextkeep.context.v1.Observing",
        add=partial(observing_pb2_grpc.add_ObservingServicer_to_server, servicer),
        checks=[],
    )


def _minute(minute: Minute) -> pb.RecentMinute:
    """Return the counts of a minute as protobuf."""
    minute_message = pb.RecentMinute(
        calls=minute.calls,
        refused=minute.refused,
        failed=minute.failed,
        p50_ms=minute.p50_s * 1000,
        p95_ms=minute.p95_s * 1000,
    )
    minute_message.begins_at.FromDatetime(minute.begins_at)
    return minute_message
