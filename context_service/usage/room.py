"""Composes the room usage: bills, outcomes and statistics of windows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.usage.api import UsageServicer
from context_service.usage.rules.outcomes import Lessons, Outcomes
from context_service.usage.rules.statistics import Statistics
from context_service.usage.rules.usage import Billing
from context_service.usage.store.endings import EndingRows
from context_service.usage.store.statistics import StatisticsRows
from context_service.usage.store.usage import UsageRows
from contextkeep.context.v1.context_windows_pb2_grpc import add_UsageServicer_to_server
from service_runtime.grpc_server.server import Service

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp
    from context_service.windows.room import Telemetry, WindowRows

__all__ = ["EndingRows", "Lessons", "UsageRows", "usage_of"]


def usage_of(
    deps: Dependencies,
    rows: WindowRows,
    usage: UsageRows,
    endings: EndingRows,
    *,
    catching_up: CatchingUp,
    lessons: Lessons,
    telemetry: Telemetry,
) -> Room[UsageServicer]:
    """Return the servicer of `Usage`; it stores the lessons of outcomes with `lessons`."""
    servicer = UsageServicer(
        Billing(rows, usage, log=deps.log, requests=REQUESTS, telemetry=telemetry),
        Outcomes(
            rows,
            endings,
            log=deps.log,
            requests=REQUESTS,
            writer_locks=deps.writer_locks,
            catching_up=catching_up,
            lessons=lessons,
        ),
        Statistics(rows, StatisticsRows(deps.log), usage),
    )
    service = Service(
        full_name="contextkeep.context.v1.Usage",
        add=partial(add_UsageServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
