"""Composes the room checkpoints: it stores states of windows, and rolls windows back to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from context_service.checkpoints.api import CheckpointsServicer
from context_service.checkpoints.rules.checkpoints import Checkpoints
from context_service.checkpoints.rules.report_response import Recovery
from context_service.checkpoints.store import CheckpointRows
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.usage.room import EndingRows
from contextkeep.context.v1.context_windows_pb2_grpc import add_CheckpointsServicer_to_server
from service_runtime.grpc_server.server import Service

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp, Packing, ViewRows
    from context_service.windows.room import Telemetry, WindowRows

__all__ = ["CheckpointRows", "checkpoints_of"]


def checkpoints_of(
    deps: Dependencies,
    rows: WindowRows,
    views: ViewRows,
    checkpoint_rows: CheckpointRows,
    *,
    catching_up: CatchingUp,
    packing: Packing,
    telemetry: Telemetry,
    endings: EndingRows,
) -> Room[CheckpointsServicer]:
    """Return the servicer of checkpoints."""
    checkpoints = Checkpoints(
        rows,
        views,
        checkpoint_rows,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        telemetry=telemetry,
        endings=endings,
    )
    recovery = Recovery(
        rows, checkpoint_rows, log=deps.log, requests=REQUESTS, checkpoints=checkpoints, packing=packing
    )
    servicer = CheckpointsServicer(checkpoints, recovery)
    service = Service(
        full_name="contextkeep.context.v1.Checkpoints",
        add=partial(add_CheckpointsServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
