"""Composes the room packing: catches up with logs, packs windows and explains packs."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from context_service.contexts.room import Recalling
from context_service.kernel.dependencies import Dependencies, Room
from context_service.packing.api import PackingServicer
from context_service.packing.rules.append_blocks import Appending
from context_service.packing.rules.body_cache import BodyCache
from context_service.packing.rules.catch_up import CatchingUp
from context_service.packing.rules.catch_up_ahead import TOPIC as BEHIND
from context_service.packing.rules.catch_up_ahead import CatchingUpAhead
from context_service.packing.rules.deliver import Delivery
from context_service.packing.rules.newest_steps import NewestSteps
from context_service.packing.rules.pack import Packing, QueueFold
from context_service.packing.rules.plugins import (
    Scoring,
    Validating,
    extracting,
    middleware,
    scoring,
    summarizer,
    validating,
)
from context_service.packing.rules.read_log import LogReading
from context_service.packing.rules.read_step import StepReading
from context_service.packing.rules.rebuild import Rebuilding
from context_service.packing.rules.recall_after_step import StepRecalling
from context_service.packing.rules.window_bodies import WindowBodies
from context_service.packing.store.views import ViewRows
from context_service.working_memory.room import FileContents
from contextkeep.context.v1.context_windows_pb2_grpc import add_PackingServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service

if TYPE_CHECKING:
    from context_service.checkpoints.room import CheckpointRows
    from context_service.folding.room import FoldPlanning, FoldWriting
    from context_service.profiles.room import OwnProfiles
    from context_service.usage.room import EndingRows
    from context_service.windows.room import Accounts, Telemetry, Tracing, WindowQueue, WindowRows

__all__ = [
    "BEHIND",
    "CatchingUp",
    "Packing",
    "Scoring",
    "StepReading",
    "Validating",
    "ViewRows",
    "keep_catching_up",
    "packing_of",
    "packing_rules_of",
    "scoring",
    "summarizer",
    "validating",
]


def packing_of(deps: Dependencies, packing: Packing, accounts: Accounts, tracing: Tracing) -> Room[PackingServicer]:
    """Return the servicer of packs."""
    delivery = Delivery(packing, FileContents(deps.records, deps.storage))
    servicer = PackingServicer(delivery, accounts, tracing)
    service = Service(
        full_name="contextkeep.context.v1.Packing",
        add=partial(add_PackingServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)


def packing_rules_of(
    deps: Dependencies,
    rows: WindowRows,
    views: ViewRows,
    checkpoints: CheckpointRows,
    endings: EndingRows,
    *,
    profiles: OwnProfiles,
    recalling: Recalling,
    planning: FoldPlanning,
    folding: FoldWriting,
    telemetry: Telemetry,
    queue_fold: QueueFold | None,
    behind: WindowQueue,
) -> tuple[CatchingUp, Packing]:
    """Return the rules that read logs into windows, and the rules that pack windows."""
    cache = BodyCache(bytes_max=deps.held.limits.kept_bytes_max, shares=deps.settings.call_limits.shares)
    bodies = WindowBodies(views, cache)
    contents = FileContents(deps.records, deps.storage)
    appending = Appending(deps.log, views, checkpoints=checkpoints, bodies=bodies)
    catching_up = CatchingUp(
        rows,
        views,
        reading=LogReading(deps.log, profiles=profiles, extracting=extracting()),
        rebuilding=Rebuilding(rows, views, log=deps.log, endings=endings, telemetry=telemetry),
        appending=appending,
        bodies=bodies,
        planning=planning,
        folding=folding,
    )
    packing = Packing(
        rows,
        views,
        log=deps.log,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        appending=appending,
        planning=planning,
        folding=folding,
        recalling=StepRecalling(deps.log, views, recalling),
        telemetry=telemetry,
        bodies=bodies,
        contents=contents,
        middleware=middleware(),
        queue_fold=queue_fold,
        newest=NewestSteps(deps.log, profiles=profiles),
        behind=behind,
    )
    return catching_up, packing


async def keep_catching_up(
    deps: Dependencies, queue: WindowQueue, stack: AsyncExitStack, *, catching_up: CatchingUp
) -> None:
    """Let queued windows read their logs in the background."""
    worker = CatchingUpAhead(deps.database, queue, writer_locks=deps.writer_locks, catching_up=catching_up)
    await stack.enter_async_context(background.keeping(worker.keep_reading))
