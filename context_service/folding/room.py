"""Composes the room folding: folds windows now, or prepares folds and commits them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from context_service.context_settings.room import ContextSettings
from context_service.folding.api import FoldingServicer
from context_service.folding.rules.fold import Folding
from context_service.folding.rules.model_segments import Writing
from context_service.folding.rules.plan_fold import FoldPlanning
from context_service.folding.rules.prepare_ahead import TOPIC as FOLDS
from context_service.folding.rules.prepare_ahead import PreparingAhead, queue_fold
from context_service.folding.rules.write_fold import FoldWriting
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.kernel.llm.budget import TokenBudget
from context_service.packing.room import StepReading, scoring, summarizer, validating
from contextkeep.context.v1.context_windows_pb2_grpc import add_FoldingServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service

if TYPE_CHECKING:
    from context_service.checkpoints.room import CheckpointRows
    from context_service.packing.room import CatchingUp, ViewRows
    from context_service.profiles.room import Learning, OwnProfiles
    from context_service.usage.room import EndingRows, UsageRows
    from context_service.windows.room import Telemetry, WindowQueue, WindowRows

__all__ = [
    "FOLDS",
    "FoldPlanning",
    "FoldWriting",
    "Folding",
    "fold_rules_of",
    "folding_of",
    "keep_preparing_folds",
    "queue_fold",
    "segment_writing_of",
]


def folding_of(deps: Dependencies, folding: Folding) -> Room[FoldingServicer]:
    """Return the servicer of folds."""
    servicer = FoldingServicer(folding)
    service = Service(
        full_name="contextkeep.context.v1.Folding",
        add=partial(add_FoldingServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)


def fold_rules_of(
    deps: Dependencies,
    rows: WindowRows,
    views: ViewRows,
    usage: UsageRows,
    endings: EndingRows,
    checkpoints: CheckpointRows,
    *,
    profiles: OwnProfiles,
    telemetry: Telemetry,
    learning: Learning,
) -> tuple[FoldPlanning, FoldWriting]:
    """Return the rules that plan and write folds."""
    writing = FoldWriting(
        rows,
        views,
        log=deps.log,
        requests=REQUESTS,
        checkpoints=checkpoints,
        telemetry=telemetry,
        learning=learning,
    )
    planning = FoldPlanning(
        views,
        usage=usage,
        endings=endings,
        steps=StepReading(deps.log),
        profiles=profiles,
        scoring=scoring(),
    )
    return planning, writing


def segment_writing_of(
    deps: Dependencies, views: ViewRows, profiles: OwnProfiles, telemetry: Telemetry, settings: ContextSettings
) -> Writing | None:
    """Return the writer of segments, or None if there is no model and no extension."""
    chat = summarizer(deps.chat, call_s=deps.settings.llm_timeout_s)
    if chat is None:
        return None
    return Writing(
        chat,
        views,
        log=deps.log,
        profiles=profiles,
        telemetry=telemetry,
        settings=settings,
        budget=TokenBudget(deps.database, deps.settings.llm_tokens_per_day_max),
        validating=validating(),
    )


async def keep_preparing_folds(
    deps: Dependencies,
    queue: WindowQueue,
    views: ViewRows,
    stack: AsyncExitStack,
    *,
    catching_up: CatchingUp,
    planning: FoldPlanning,
    segments: Writing,
) -> None:
    """Let a model prepare queued folds in the background."""
    worker = PreparingAhead(
        deps.database,
        queue,
        views,
        writer_locks=deps.writer_locks,
        catching_up=catching_up,
        planning=planning,
        segments=segments,
        metrics=deps.metrics,
    )
    await stack.enter_async_context(background.keeping(worker.keep_preparing))
