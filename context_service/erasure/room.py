"""Composes the room erasure: opens its own parts, and exports the parts that other rooms use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.blobs.storage import BlobStorage
from context_service.compiled_pages.room import forgetting_of
from context_service.contexts.room import Eraser
from context_service.erasure.api import ErasuresServicer
from context_service.erasure.rules.holds import Holds
from context_service.erasure.rules.register import Register
from context_service.erasure.rules.subjects import SubjectEraser, Subjects
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.retrieval.room import Passages
from context_service.settings import Settings
from context_service.working_memory.room import Purges, RecordPassages, Retention, sweeper_of
from contextkeep.context.v1.erasures_pb2_grpc import add_ErasuresServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service
from service_runtime.postgres import Database


async def open_erasures(deps: Dependencies, contexts: Eraser, stack: AsyncExitStack) -> Room[ErasuresServicer]:
    """Start the erasing of subjects, and return the room."""
    settings, database = deps.settings, deps.database
    eraser = subject_eraser_of(settings, database, deps.storage, contexts)
    await stack.enter_async_context(
        background.keeping(
            partial(
                eraser.keep_erasing,
                settings.sweep_interval_s,
                failed=partial(deps.erasing_failed, what="subjects"),
            )
        )
    )
    servicer = ErasuresServicer(
        Subjects(database, deps.graph, eraser, requests=REQUESTS), Holds(database, requests=REQUESTS)
    )
    service = Service(
        full_name="contextkeep.context.v1.Erasures",
        add=partial(add_ErasuresServicer_to_server, servicer),
        checks=[deps.schema_ready, deps.entity_ready],
    )
    return Room(servicer, service)


def subject_eraser_of(settings: Settings, database: Database, storage: BlobStorage, contexts: Eraser) -> SubjectEraser:
    """Return the eraser of subjects."""
    retention = Retention(kept_s=settings.record_retention_s)
    purges = Purges(database, RecordPassages(Passages(database)), retention=retention, blob_grace_s=0.0)
    sweeper = sweeper_of(settings, database, storage)
    return SubjectEraser(
        database,
        contexts,
        purges,
        register=Register(storage),
        compiled_pages=forgetting_of(database),
        remove_bytes=sweeper.remove_bytes,
    )
