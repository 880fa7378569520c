"""Composes the room forks: forks windows, and merges what came of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from context_service.context_settings.room import ContextSettings
from context_service.contexts.room import Messaging
from context_service.forks.api import ForksServicer
from context_service.forks.rules.fork import Forks
from context_service.forks.rules.merge import Merges
from context_service.forks.store import ForkRows
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from contextkeep.context.v1.context_windows_pb2_grpc import add_ForksServicer_to_server
from service_runtime.grpc_server.server import Service

if TYPE_CHECKING:
    from context_service.packing.room import CatchingUp, ViewRows
    from context_service.windows.room import Telemetry, WindowRows, Windows

__all__ = ["ForkRows", "Forks", "forks_of"]


def forks_of(
    deps: Dependencies,
    rows: WindowRows,
    fork_rows: ForkRows,
    *,
    windows: Windows,
    messaging: Messaging,
    catching_up: CatchingUp,
    views: ViewRows,
    telemetry: Telemetry,
    settings: ContextSettings,
) -> tuple[Forks, Room[ForksServicer]]:
    """Return the forks of windows, and the servicer that forks and merges."""
    forks = Forks(
        windows,
        rows,
        fork_rows,
        log=deps.log,
        messaging=messaging,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        views=views,
        telemetry=telemetry,
        settings=settings,
    )
    merges = Merges(
        rows,
        fork_rows,
        log=deps.log,
        messaging=messaging,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        telemetry=telemetry,
    )
    servicer = ForksServicer(forks, merges)
    service = Service(
        full_name="contextkeep.context.v1.Forks",
        add=partial(add_ForksServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return forks, Room(servicer, service)
