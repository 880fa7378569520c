"""Composition of the rooms of windows: opens what they share, and returns their servicers."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from context_service.checkpoints.api import CheckpointsServicer
from context_service.checkpoints.room import CheckpointRows, checkpoints_of
from context_service.contexts.rules.messages import Messaging
from context_service.contexts.rules.recall import Recalling
from context_service.folding.api import FoldingServicer
from context_service.folding.room import folding_of
from context_service.folding.rules.fold import Folding
from context_service.folding.rules.model_segments import Writing
from context_service.folding.rules.plan_fold import FoldPlanning
from context_service.folding.rules.write_fold import FoldWriting
from context_service.forks.api import ForksServicer
from context_service.forks.room import ForkRows, forks_of
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.kernel.extensions import check_installed
from context_service.packing.api import PackingServicer
from context_service.packing.room import packing_of
from context_service.packing.rules import plugins
from context_service.packing.rules.append_blocks import Appending
from context_service.packing.rules.body_cache import BodyCache
from context_service.packing.rules.catch_up import CatchingUp
from context_service.packing.rules.pack import Packing
from context_service.packing.rules.read_log import LogReading
from context_service.packing.rules.rebuild import Rebuilding
from context_service.packing.rules.recall_after_step import StepRecalling
from context_service.packing.rules.window_bodies import WindowBodies
from context_service.packing.store.views import ViewRows
from context_service.profiles.api import CompressionProfilesServicer
from context_service.profiles.room import profiles_of
from context_service.profiles.rules.profiles import OwnProfiles
from context_service.usage.api import UsageServicer
from context_service.usage.room import EndingRows, UsageRows, usage_of
from context_service.usage.rules.outcomes import Lessons
from context_service.windows.api import WindowsServicer
from context_service.windows.rules.explain import Accounts
from context_service.windows.rules.originals import Originals
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.rules.update_window import Editing
from context_service.windows.rules.watch import WindowWatching
from context_service.windows.rules.windows import Windows
from context_service.windows.store.windows import WindowRows
from contextkeep.context.v1.context_windows_pb2_grpc import add_WindowsServicer_to_server
from service_runtime.auth import Authenticator
from service_runtime.server import Service

_log = logging.getLogger("app")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRooms:
    """The rooms of windows."""

    windows: Room[WindowsServicer]
    packing: Room[PackingServicer]
    folding: Room[FoldingServicer]
    checkpoints: Room[CheckpointsServicer]
    forks: Room[ForksServicer]
    profiles: Room[CompressionProfilesServicer]
    usage: Room[UsageServicer]

    @property
    def all(self) -> list[Room[Any]]:
        """All of them."""
        return [self.windows, self.packing, self.folding, self.checkpoints, self.forks, self.profiles, self.usage]


def windows_of(
    deps: Dependencies,
    messaging: Messaging,
    recalling: Recalling,
    stack: AsyncExitStack,
    callers: Authenticator,
    lessons: Lessons,
) -> WindowRooms:
    """Return the rooms of windows; lessons of outcomes go to `lessons`."""
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
    bodies = WindowBodies(
        views, BodyCache(bytes_max=deps.held.limits.kept_bytes_max, shares=deps.settings.call_limits.shares)
    )
    appending = Appending(deps.log, views, checkpoints=checkpoint_rows, bodies=bodies)
    planning = FoldPlanning(views, usage=usage_rows, endings=endings, scoring=plugins.scoring())
    fold_writing = FoldWriting(
        rows,
        views,
        log=deps.log,
        requests=REQUESTS,
        checkpoints=checkpoint_rows,
        telemetry=telemetry,
        learning=learning,
    )
    catching_up = CatchingUp(
        rows,
        views,
        reading=LogReading(deps.log, profiles=own_profiles, extracting=plugins.extracting()),
        rebuilding=Rebuilding(rows, views, log=deps.log, endings=endings, telemetry=telemetry),
        appending=appending,
        bodies=bodies,
        planning=planning,
        folding=fold_writing,
    )
    packing = Packing(
        rows,
        log=deps.log,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        appending=appending,
        planning=planning,
        folding=fold_writing,
        recalling=StepRecalling(deps.log, views, recalling),
        telemetry=telemetry,
        middleware=plugins.middleware(),
    )
    folding = Folding(
        views,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        planning=planning,
        writing=fold_writing,
        segments=_writing(deps, views, own_profiles, telemetry),
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
        recalling=recalling,
        learning=learning,
        telemetry=telemetry,
    )
    all_forks, forks = forks_of(
        deps, rows, fork_rows, windows=windows, messaging=messaging, catching_up=catching_up, telemetry=telemetry
    )
    accounts = Accounts(rows, views, log=deps.log)
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
        packing=packing_of(deps, packing, accounts),
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


def _writing(deps: Dependencies, views: ViewRows, profiles: OwnProfiles, telemetry: Telemetry) -> Writing | None:
    chat = plugins.summarizer(deps.chat, call_s=deps.settings.llm_timeout_s)
    if chat is None:
        return None
    return Writing(chat, views, log=deps.log, profiles=profiles, telemetry=telemetry, validating=plugins.validating())
