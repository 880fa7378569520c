"""Composes the rooms of windows: opens what they share, and returns their servicers."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from context_service.checkpoints.api import CheckpointsServicer
from context_service.checkpoints.room import CheckpointRows, checkpoints_of
from context_service.context_settings.room import ContextSettings
from context_service.contexts.room import Messaging, Recalling
from context_service.folding.api import FoldingServicer
from context_service.folding.room import (
    FOLDS,
    Folding,
    fold_rules_of,
    folding_of,
    keep_preparing_folds,
    queue_fold,
    segment_writing_of,
)
from context_service.forks.api import ForksServicer
from context_service.forks.room import ForkRows, forks_of
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.kernel.extensions import check_installed
from context_service.packing.api import PackingServicer
from context_service.packing.room import BEHIND, ViewRows, keep_catching_up, packing_of, packing_rules_of
from context_service.profiles.api import CompressionProfilesServicer
from context_service.profiles.room import profiles_of
from context_service.usage.api import UsageServicer
from context_service.usage.room import EndingRows, Lessons, UsageRows, usage_of
from context_service.windows.api import WindowsServicer
from context_service.windows.rules.explain import Accounts, Explained
from context_service.windows.rules.originals import Originals
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.rules.trace_message import MessageTrace, TracedBreak, Tracing
from context_service.windows.rules.update_window import Editing
from context_service.windows.rules.watch import WindowWatching
from context_service.windows.rules.windows import Windows
from context_service.windows.store.queue import WindowQueue
from context_service.windows.store.traces import TraceRows
from context_service.windows.store.windows import WindowRows
from context_service.working_memory.room import FileContents
from contextkeep.context.v1.context_windows_pb2_grpc import add_WindowsServicer_to_server
from service_runtime.grpc_server.server import Service
from service_runtime.rpc.principal import Authenticator

__all__ = [
    "Accounts",
    "Explained",
    "MessageTrace",
    "Telemetry",
    "TracedBreak",
    "Tracing",
    "WindowQueue",
    "WindowRooms",
    "WindowRows",
    "Windows",
    "windows_of",
]


_log = logging.getLogger("app")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRooms:
    """The servicers and rules of windows, for the other packages that need them."""

    windows: Room[WindowsServicer]
    packing: Room[PackingServicer]
    folding: Room[FoldingServicer]
    checkpoints: Room[CheckpointsServicer]
    forks: Room[ForksServicer]
    profiles: Room[CompressionProfilesServicer]
    usage: Room[UsageServicer]

    @property
    def all(self) -> list[Room[Any]]:
        """All servicers of windows, to register with the server."""
        return [self.windows, self.packing, self.folding, self.checkpoints, self.forks, self.profiles, self.usage]


async def windows_of(
    deps: Dependencies,
    messaging: Messaging,
    recalling: Recalling,
    stack: AsyncExitStack,
    callers: Authenticator,
    lessons: Lessons,
    settings: ContextSettings,
) -> WindowRooms:
    """Open the servicers and rules of windows.

    Args:
        deps: The clients and settings that all rooms share.
        messaging: Writes the messages of forks and merges.
        recalling: Finds passages of a log by a text.
        stack: The stack that closes the resources of this room.
        callers: Checks again whether the caller of a stream may go on.
        lessons: Stores the lessons of outcomes as memories.
        settings: Says whether text of a context may be sent to a model.
    """
    rows, views, usage_rows = WindowRows(deps.database, deps.log), ViewRows(deps.log), UsageRows(deps.database)
    endings, checkpoint_rows, fork_rows = EndingRows(deps.log), CheckpointRows(deps.log), ForkRows(deps.log)
    for name in check_installed():
        _log.info("extension is installed", extra={"extension": name})
    models = deps.chat.models if deps.chat else ()
    telemetry = Telemetry(deps.metrics)
    own_profiles, learning, profiles = profiles_of(deps, telemetry, stack)
    windows = Windows(
        rows,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        nesting_max=deps.settings.json_nesting_max,
        profiles=own_profiles,
        learning=learning,
        telemetry=telemetry,
        models=models,
    )
    planning, writing = fold_rules_of(
        deps,
        rows,
        views,
        usage_rows,
        endings,
        checkpoint_rows,
        profiles=own_profiles,
        telemetry=telemetry,
        learning=learning,
    )
    segments = segment_writing_of(deps, views, own_profiles, telemetry, settings)
    folds, behind = WindowQueue(deps.log, FOLDS), WindowQueue(deps.log, BEHIND)
    catching_up, packing = packing_rules_of(
        deps,
        rows,
        views,
        checkpoint_rows,
        endings,
        profiles=own_profiles,
        recalling=recalling,
        planning=planning,
        folding=writing,
        telemetry=telemetry,
        queue_fold=partial(queue_fold, folds) if segments else None,
        behind=behind,
    )
    await keep_catching_up(deps, behind, stack, catching_up=catching_up)
    if segments:
        await keep_preparing_folds(
            deps, folds, views, stack, catching_up=catching_up, planning=planning, segments=segments
        )
    folding = Folding(
        views,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        planning=planning,
        writing=writing,
        segments=segments,
    )
    editing = Editing(
        rows,
        views,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        folding=folding,
        usage=usage_rows,
        nesting_max=deps.settings.json_nesting_max,
        telemetry=telemetry,
        models=models,
    )
    originals = Originals(
        rows,
        views,
        fork_rows,
        log=deps.log,
        passages=deps.passages,
        contents=FileContents(deps.records, deps.storage),
        recalling=recalling,
        learning=learning,
        telemetry=telemetry,
    )
    all_forks, forks = forks_of(
        deps,
        rows,
        fork_rows,
        windows=windows,
        messaging=messaging,
        catching_up=catching_up,
        views=views,
        telemetry=telemetry,
        settings=settings,
    )
    accounts = Accounts(rows, views, log=deps.log)
    tracing = Tracing(rows, views, TraceRows(deps.log), log=deps.log, profiles=own_profiles)
    servicer = WindowsServicer(
        windows,
        editing,
        originals,
        accounts,
        WindowWatching(deps.lookout, rows, views, accounts),
        all_forks,
        callers,
    )
    service = Service(
        full_name="contextkeep.context.v1.Windows",
        add=partial(add_WindowsServicer_to_server, servicer),
        checks=[deps.schema_ready],
        ending=deps.lookout.end,
    )
    return WindowRooms(
        windows=Room(servicer, service),
        packing=packing_of(deps, packing, accounts, tracing),
        folding=folding_of(deps, folding),
        checkpoints=checkpoints_of(
            deps,
            rows,
            views,
            checkpoint_rows,
            catching_up=catching_up,
            packing=packing,
            telemetry=telemetry,
            endings=endings,
        ),
        forks=forks,
        profiles=profiles,
        usage=usage_of(deps, rows, usage_rows, endings, catching_up=catching_up, lessons=lessons, telemetry=telemetry),
    )
