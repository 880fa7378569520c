"""Composes the room contexts: opens its own parts, and exports the parts that other rooms use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from context_service.context_settings.room import ContextSettings
from context_service.contexts.api.artifacts import ArtifactsServicer
from context_service.contexts.api.contexts import ContextsServicer
from context_service.contexts.api.tasks import TasksServicer
from context_service.contexts.pure.checks import MessageChecks
from context_service.contexts.rules import artifacts
from context_service.contexts.rules.artifacts import Artifacts
from context_service.contexts.rules.find import ContextsFinding, ContextsQuery
from context_service.contexts.rules.index_state import IndexStates, VectorsOwed
from context_service.contexts.rules.messages import Messaging, not_found
from context_service.contexts.rules.pointed_state import RecordsOwed
from context_service.contexts.rules.recall import (
    ITEMS_DEFAULT,
    NOTHING_RECALLED,
    ByMeaning,
    Filter,
    Recalled,
    RecalledItem,
    Recalling,
    RecallQuery,
)
from context_service.contexts.rules.recall import RecallQuery as RecallAsked
from context_service.contexts.rules.references import References
from context_service.contexts.rules.sync_history import Syncing
from context_service.contexts.rules.tasks import Tasks
from context_service.contexts.rules.watch import Watching
from context_service.contexts.store.artifacts import ArtifactRows
from context_service.contexts.store.backlog import IndexGauges
from context_service.contexts.store.erasures import (
    OF_SUBJECTS,
    Eraser,
    Erasing,
    count_owned_rows,
    erase_contexts_of,
    on_hold,
    remove_from_agents,
)
from context_service.contexts.store.erasures import SQL as ERASURES_SQL
from context_service.contexts.store.findable import FindableContexts
from context_service.contexts.store.log import MESSAGES_JSON, SEQ_MAX, Log, messages_of
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.contexts.store.pointed_records import PointedRecords, queue_of_pointed_records
from context_service.contexts.store.tasks import TaskRows, read_message
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.retrieval.model import CONTEXT
from context_service.retrieval.room import AcrossContexts, Passages, keep_making_passage_vectors, meaning_of
from context_service.settings import Settings
from context_service.working_memory.room import SWEEPER, context_files_of, purges_of
from contextkeep.context.v1.artifacts_pb2_grpc import add_ArtifactsServicer_to_server
from contextkeep.context.v1.contexts_pb2_grpc import add_ContextsServicer_to_server
from contextkeep.context.v1.tasks_pb2_grpc import add_TasksServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Authenticator

# The rules that other packages use; windows, forks and folds write in the log's transaction.
__all__ = [
    "ERASURES_SQL",
    "ITEMS_DEFAULT",
    "LOG_SQL",
    "MESSAGES_JSON",
    "NOTHING_RECALLED",
    "OF_SUBJECTS",
    "SEQ_MAX",
    "ArtifactRows",
    "ByMeaning",
    "ContextsFinding",
    "ContextsQuery",
    "Eraser",
    "Filter",
    "FindableContexts",
    "Log",
    "Messaging",
    "RecallAsked",
    "RecallQuery",
    "Recalled",
    "RecalledItem",
    "Recalling",
    "artifacts",
    "context_eraser_of",
    "count_owned_rows",
    "erase_contexts_of",
    "message_checks_of",
    "messages_of",
    "not_found",
    "on_hold",
    "open_contexts",
    "queue_of_pointed_records",
    "read_message",
    "remove_from_agents",
]


def message_checks_of(settings: Settings) -> MessageChecks:
    """Return the checks of messages, with the limits of the settings."""
    return MessageChecks(
        message_bytes_max=settings.context_message_bytes_max,
        parts_max=settings.context_message_parts_max,
        metadata_bytes_max=settings.metadata_bytes_max,
        nesting_max=settings.json_nesting_max,
        name_chars_max=settings.name_chars_max,
    )


async def open_contexts(
    deps: Dependencies, stack: AsyncExitStack, callers: Authenticator, eraser: Eraser, setting_rules: ContextSettings
) -> tuple[Room[ContextsServicer], ArtifactsServicer, Messaging, Recalling, ContextsFinding]:
    """Start erasing, embedding and the reading of records that messages point at; return the room and its rules."""
    settings, database, embedder = deps.settings, deps.database, deps.embedder
    passages, log, tokens = deps.passages, deps.log, deps.tokens

    task_rows = TaskRows(database, log)
    references = References(task_rows)
    await stack.enter_async_context(
        background.keeping(
            partial(
                eraser.keep_erasing,
                settings.sweep_interval_s,
                failed=partial(deps.erasing_failed, what="contexts"),
            )
        )
    )
    standing = IndexGauges(database)
    standing.show(deps.metrics)
    await stack.enter_async_context(background.keeping(standing.keep_reading))
    await keep_making_passage_vectors(deps, CONTEXT, stack)
    checks = replace(message_checks_of(settings), takes_bytes=True)
    files = context_files_of(deps, stack)
    pointed = PointedRecords(database, passages, read=deps.record_texts.read, count=tokens.count)
    await stack.enter_async_context(background.keeping(pointed.keep_reading))
    messaging = Messaging(
        log,
        requests=REQUESTS,
        checks=checks,
        tokens=tokens,
        files=files,
        references=references,
        writer_locks=deps.writer_locks,
    )
    tasks = Tasks(
        task_rows,
        log=log,
        references=references,
        requests=REQUESTS,
        checks=checks,
        files=files,
        writer_locks=deps.writer_locks,
    )
    artifact_rows = ArtifactRows(log, passages)
    artifacts = Artifacts(
        artifact_rows,
        log=log,
        tasks=tasks,
        references=references,
        requests=REQUESTS,
        checks=checks,
        files=files,
        tokens=tokens,
    )
    vectors = VectorsOwed(database, model=embedder.model if embedder else "")
    index_states = IndexStates(database, log, [RecordsOwed(database), vectors])
    watching = Watching(deps.lookout, log=log, tasks=task_rows, artifacts=artifact_rows)
    recalling = Recalling(
        log,
        artifact_rows,
        passages,
        tokens,
        index=index_states,
        meaning=meaning_of(deps),
        reranker=deps.reranker,
        settings=setting_rules,
        timed=deps.metrics.timer("contextkeep_recall_seconds", "Recalls, those of SendMessage and of packs too"),
    )
    finding = ContextsFinding(
        FindableContexts(database),
        AcrossContexts(database),
        artifact_rows,
        tokens,
        checks=checks,
        meaning=meaning_of(deps),
    )
    servicer = ContextsServicer(
        messaging,
        recalling,
        finding,
        Erasing(database, requests=REQUESTS, eraser=eraser),
        index_states,
        watching,
        callers,
        Syncing(deps.assembly, messaging),
        deps.names,
    )
    service = Service(
        full_name="contextkeep.context.v1.Contexts",
        add=partial(add_ContextsServicer_to_server, servicer),
        checks=[deps.schema_ready],
        ending=deps.lookout.end,
    )
    artifacts_servicer = ArtifactsServicer(artifacts)
    others = (
        Service(
            full_name="contextkeep.context.v1.Tasks",
            add=partial(add_TasksServicer_to_server, TasksServicer(tasks, artifacts)),
            checks=[deps.schema_ready],
        ),
        Service(
            full_name="contextkeep.context.v1.Artifacts",
            add=partial(add_ArtifactsServicer_to_server, artifacts_servicer),
            checks=[deps.schema_ready],
        ),
    )
    return Room(servicer, service, others), artifacts_servicer, messaging, recalling, finding


def context_eraser_of(settings: Settings, database: Database) -> Eraser:
    """Return the eraser of deleted contexts and of the records that were uploaded for them."""
    purge = partial(purges_of(settings, database).purge, principal=SWEEPER, why="context deleted")
    return Eraser(database, Passages(database), purge=purge)
