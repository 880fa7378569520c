"""Composition of the room windows: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from functools import partial

from context_service.checkpoints.rules.checkpoints import Checkpoints
from context_service.checkpoints.rules.report_response import Recovery
from context_service.checkpoints.store import CheckpointRows
from context_service.contexts.rules.messages import Messaging
from context_service.contexts.rules.recall import Recalling
from context_service.folding.rules.model_segments import Writing
from context_service.forks.rules.fork import Forks
from context_service.forks.rules.merge import Merges
from context_service.forks.store import ForkRows
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.kernel.extensions import check_installed
from context_service.packing.rules import plugins
from context_service.packing.rules.pack import Packs
from context_service.packing.rules.sights import KeptSights
from context_service.packing.store.views import ViewRows
from context_service.profiles.rules.learning import Learning
from context_service.profiles.rules.profiles import OwnProfiles
from context_service.profiles.store.learning import LearningRows
from context_service.usage.rules.outcomes import Lessons, Outcomes
from context_service.usage.rules.statistics import Statistics
from context_service.usage.rules.usage import Billing
from context_service.usage.store.endings import EndingRows
from context_service.usage.store.statistics import StatisticsRows
from context_service.usage.store.usage import UsageRows
from context_service.windows.api import ContextWindowsServicer
from context_service.windows.rules.explain import Accounts
from context_service.windows.rules.originals import Originals
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.rules.update_window import Editing
from context_service.windows.rules.watch import WindowWatching
from context_service.windows.rules.windows import Windows
from context_service.windows.store.windows import WindowRows
from contextkeep.context.v1.context_windows_pb2_grpc import add_ContextWindowsServicer_to_server
from service_runtime.auth import Authenticator
from service_runtime.server import Service

_log = logging.getLogger("app")


def windows_of(
    deps: Dependencies,
    messaging: Messaging,
    recalling: Recalling,
    stack: AsyncExitStack,
    callers: Authenticator,
    lessons: Lessons,
) -> Room[ContextWindowsServicer]:
    """Return the servicer of windows; lessons of outcomes go to `lessons`."""
    rows, views, usage = (
        WindowRows(deps.database, deps.log),
        ViewRows(deps.log),
        UsageRows(deps.database),
    )
    endings = EndingRows(deps.log)
    for name in check_installed():
        _log.info("extension is installed", extra={"extension": name})
    models = deps.chat.models if deps.chat else ()
    checkpoint_rows, fork_rows = CheckpointRows(deps.log), ForkRows(deps.log)
    profiles = OwnProfiles(deps.database, requests=REQUESTS)
    stack.callback(profiles.end)
    telemetry = Telemetry(deps.metrics)
    learning = Learning(deps.database, LearningRows(deps.log), profiles, requests=REQUESTS, telemetry=telemetry)
    windows = Windows(
        rows,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        nesting_max=deps.settings.json_nesting_max,
        profiles=profiles,
        learning=learning,
        telemetry=telemetry,
        models=models,
    )
    packs = Packs(
        rows,
        views,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        recalling=recalling,
        usage=usage,
        kept=KeptSights(bytes_max=deps.held.limits.kept_bytes_max, shares=deps.settings.call_limits.shares),
        checkpoints=checkpoint_rows,
        profiles=profiles,
        telemetry=telemetry,
        endings=endings,
        learning=learning,
        writing=_writing(deps, views, profiles, telemetry),
        scoring=plugins.scoring(),
        extracting=plugins.extracting(),
        middleware=plugins.middleware(),
    )
    editing = Editing(
        rows,
        views,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        packs=packs,
        usage=usage,
        nesting_max=deps.settings.json_nesting_max,
        telemetry=telemetry,
        models=models,
    )
    checkpoints = Checkpoints(
        rows,
        views,
        checkpoint_rows,
        log=deps.log,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        packs=packs,
        telemetry=telemetry,
        endings=endings,
    )
    forks = Forks(
        windows,
        rows,
        fork_rows,
        log=deps.log,
        messaging=messaging,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        packs=packs,
        telemetry=telemetry,
    )
    merges = Merges(
        rows,
        fork_rows,
        log=deps.log,
        messaging=messaging,
        requests=REQUESTS,
        writer_locks=deps.writer_locks,
        packs=packs,
        telemetry=telemetry,
    )
    accounts = Accounts(rows, views, log=deps.log)
    servicer = ContextWindowsServicer(
        windows,
        profiles,
        learning,
        editing,
        packs,
        checkpoints,
        Recovery(rows, checkpoint_rows, log=deps.log, requests=REQUESTS, checkpoints=checkpoints, packs=packs),
        forks,
        merges,
        Originals(
            rows,
            views,
            fork_rows,
            log=deps.log,
            passages=deps.passages,
            recalling=recalling,
            learning=learning,
            telemetry=telemetry,
        ),
        accounts,
        Billing(rows, usage, log=deps.log, requests=REQUESTS, telemetry=telemetry),
        Outcomes(
            rows,
            endings,
            log=deps.log,
            requests=REQUESTS,
            writer_locks=deps.writer_locks,
            packs=packs,
            lessons=lessons,
        ),
        Statistics(rows, StatisticsRows(deps.log), usage),
        WindowWatching(deps.lookout, rows, views, accounts),
        callers,
    )
    service = Service(
        full_name="contextkeep.context.v1.ContextWindows",
        add=partial(add_ContextWindowsServicer_to_server, servicer),
        checks=[deps.schema_ready],
        ending=deps.lookout.end,
    )
    return Room(servicer, service)


def _writing(deps: Dependencies, views: ViewRows, profiles: OwnProfiles, telemetry: Telemetry) -> Writing | None:
    chat = plugins.summarizer(deps.chat, call_s=deps.settings.llm_timeout_s)
    if chat is None:
        return None
    return Writing(chat, views, log=deps.log, profiles=profiles, telemetry=telemetry, validating=plugins.validating())
