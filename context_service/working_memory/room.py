"""Composes the room working memory: opens its own parts, and exports the parts that other rooms use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.blobs.storage import BlobStorage
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.kernel.files.reading import FactReader
from context_service.retrieval.room import Passages, VectorMaking, keep_making
from context_service.settings import Settings
from context_service.working_memory.api.find import Finders
from context_service.working_memory.api.records import WorkingMemoryServicer
from context_service.working_memory.pure.fields import FieldChecks
from context_service.working_memory.rules.blobs import BlobWriter, WrittenBlob, upload_expired
from context_service.working_memory.rules.context_files import ContextFiles
from context_service.working_memory.rules.fetch import RecordName, RecordReader
from context_service.working_memory.rules.file_contents import FileContents, size_with_files
from context_service.working_memory.rules.file_texts import (
    ATTEMPTS_MAX,
    DELAY_S,
    DELAY_S_MAX,
    INTERVAL_S,
    PASSAGES_OF_STEP,
    READ_AT_ONCE,
    STEP_S,
    FileTexts,
)
from context_service.working_memory.rules.lifecycle import LifeCycle
from context_service.working_memory.rules.manifest import EDGE_TYPES, Manifests
from context_service.working_memory.rules.passages import FILES_COUNTED, RecordQuote, RecordQuotes
from context_service.working_memory.rules.query import RecordQueries
from context_service.working_memory.rules.record_texts import RecordTexts
from context_service.working_memory.rules.records import WorkingMemory
from context_service.working_memory.rules.retention import SWEEPER, Purges, Retention
from context_service.working_memory.rules.search import ENTITIES_MAX, Searches
from context_service.working_memory.rules.uploads import ResumableUploads
from context_service.working_memory.store.actions import ActionLog, ActionPlace, EntityAction
from context_service.working_memory.store.blobs import blob_rows
from context_service.working_memory.store.context_files import MESSAGE_FILE
from context_service.working_memory.store.record_filters import SQL as RECORD_FILTERS_SQL
from context_service.working_memory.store.records import EMBEDDING_TOPIC, TEXT_TOPIC, StoredFile
from context_service.working_memory.store.tenant_limits import Limits, TenantLimits
from context_service.working_memory.store.texts.passages import RecordPassages
from context_service.working_memory.store.texts.record_index import index_records
from context_service.working_memory.store.texts.vectors import RecordVectors
from context_service.working_memory.upkeep.fsck import Fsck
from context_service.working_memory.upkeep.move_blobs import Mover
from context_service.working_memory.upkeep.sweep import Sweeper
from contextkeep.context.v1.working_memory_pb2_grpc import add_WorkingMemoryServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service
from service_runtime.postgres import Database
from service_runtime.values.copying import copied

# What other rooms use.
__all__ = [
    "ATTEMPTS_MAX",
    "DELAY_S",
    "DELAY_S_MAX",
    "EDGE_TYPES",
    "EMBEDDING_TOPIC",
    "ENTITIES_MAX",
    "FILES_COUNTED",
    "INTERVAL_S",
    "PASSAGES_OF_STEP",
    "READ_AT_ONCE",
    "RECORD_FILTERS_SQL",
    "STEP_S",
    "SWEEPER",
    "TEXT_TOPIC",
    "ActionLog",
    "ActionPlace",
    "BlobWriter",
    "ContextFiles",
    "EntityAction",
    "FileContents",
    "Limits",
    "Purges",
    "RecordName",
    "RecordPassages",
    "RecordQuote",
    "RecordQuotes",
    "RecordTexts",
    "Retention",
    "Searches",
    "StoredFile",
    "TenantLimits",
    "WrittenBlob",
    "blob_rows",
    "context_files_of",
    "fact_reader_of",
    "field_checks_of",
    "fsck_of",
    "index_records",
    "limits_of",
    "mover_of",
    "open_working_memory",
    "purges_of",
    "size_with_files",
    "sweeper_of",
    "upload_expired",
]


def limits_of(deps: Dependencies) -> Limits:
    """Return the limits of tenants, with those of the settings as defaults."""
    settings = deps.settings
    return Limits(
        deps.database,
        TenantLimits(
            blob_bytes_max=settings.blob_bytes_max,
            content_bytes_max=settings.node_data_bytes_max,
            bytes_max=settings.tenant_bytes_max,
            records_max=settings.tenant_records_max,
        ),
    )


def context_files_of(deps: Dependencies, stack: AsyncExitStack) -> ContextFiles:
    """Return the store of files of messages; `stack` ends the processes that read them."""
    settings = deps.settings
    facts = fact_reader_of(settings)
    stack.push_async_callback(facts.aclose)
    return ContextFiles(
        deps.database,
        storage=deps.storage,
        writer=BlobWriter(deps.storage, lease_s=settings.upload_lease_s),
        limits=limits_of(deps),
        facts=facts,
        # Who retracts a message wants its files gone, and an erasure of their owner could not find them later.
        purges=purges_of(settings, deps.database, blob_grace_s=0.0),
    )


def fact_reader_of(settings: Settings) -> FactReader:
    """Return what reads the type and the dimensions of files."""
    return FactReader(
        memory_bytes_max=settings.document_parser_memory_bytes_max,
        timeout_s=settings.document_parser_timeout_s,
    )


async def open_working_memory(
    deps: Dependencies, limits: Limits, stack: AsyncExitStack
) -> tuple[Room[WorkingMemoryServicer], Searches]:
    """Start the sweeper, the embedding and the reading of files; return the room and its search."""
    settings, database, embedder, storage = deps.settings, deps.database, deps.embedder, deps.storage
    if embedder:
        making = VectorMaking(
            database,
            RecordVectors(),
            embedder,
            text_chars=settings.embedding_text_chars,
        )
        await keep_making(settings, making, stack)
    sweeper = sweeper_of(settings, database, storage)
    await stack.enter_async_context(background.keeping(partial(sweeper.keep_sweeping, settings.sweep_interval_s)))
    record_passages = RecordPassages(deps.passages)
    file_texts = FileTexts(database, deps.record_texts, record_passages, count=deps.tokens.count)
    await stack.enter_async_context(background.keeping(file_texts.keep_reading))
    checks = field_checks_of(settings)
    writer = BlobWriter(storage, lease_s=settings.upload_lease_s)
    memory = WorkingMemory(
        database,
        records=deps.records,
        requests=REQUESTS,
        checks=checks,
        writer=writer,
        limits=limits,
        passages=record_passages,
        embeds_texts=embedder is not None,
        queued_max=settings.queued_items_max,
    )
    uploads = ResumableUploads(
        database,
        requests=REQUESTS,
        memory=memory,
        writer=writer,
        storage=storage,
        limits=limits,
        part_bytes_max=settings.upload_part_bytes_max,
        lease_s=settings.upload_resume_s,
    )
    searches = Searches(
        database,
        vectors_max=settings.search_vectors_max,
        passages=deps.passages,
        embed_text=partial(embedder.embed_text, timeout_s=settings.embedding_question_timeout_s) if embedder else None,
    )
    finders = Finders(
        manifests=Manifests(database, graph=deps.graph, checks=checks, depth_max=settings.traverse_depth_max),
        queries=RecordQueries(database),
        searches=searches,
        names=deps.names,
    )
    servicer = WorkingMemoryServicer(
        memory,
        RecordReader(records=deps.records, storage=storage, checks=checks),
        LifeCycle(database, records=deps.records, purges=purges_of(settings, database), log=deps.actions),
        uploads,
        finders,
    )
    service = Service(
        full_name="contextkeep.context.v1.WorkingMemory",
        add=partial(add_WorkingMemoryServicer_to_server, servicer),
        checks=[deps.schema_ready, storage.check],
    )
    return Room(servicer, service), searches


def field_checks_of(settings: Settings) -> FieldChecks:
    """Return the checks of record fields, with the limits of the settings."""
    return copied(
        FieldChecks, settings, content_bytes_max=settings.node_data_bytes_max, nesting_max=settings.json_nesting_max
    )


def sweeper_of(settings: Settings, database: Database, storage: BlobStorage) -> Sweeper:
    """Return the sweeper, which removes expired uploads and the bytes of released blobs."""
    return Sweeper(
        database,
        requests=REQUESTS,
        storage=storage,
        purges=purges_of(settings, database),
    )


def mover_of(settings: Settings, storage: BlobStorage) -> Mover:
    """Return the mover, which points records to a copy of their blob at another provider."""
    return Mover(storage, lease_s=settings.upload_lease_s, grace_s=settings.blob_delete_grace_s)


def fsck_of(settings: Settings, database: Database, storage: BlobStorage) -> Fsck:
    """Return the check that compares the rows of blobs with the stored bytes."""
    mover = mover_of(settings, storage)
    return Fsck(database, storage=storage, mover=mover, grace_s=settings.blob_delete_grace_s)


def purges_of(settings: Settings, database: Database, *, blob_grace_s: float | None = None) -> Purges:
    """Return the rule that purges archived records. By default, bytes stay for the grace time of the settings."""
    kept_s_by_type = {MESSAGE_FILE: 0.0, **settings.record_retention_by_type_s}
    retention = Retention(kept_s=settings.record_retention_s, kept_s_by_type=kept_s_by_type)
    return Purges(
        database,
        RecordPassages(Passages(database)),
        retention=retention,
        blob_grace_s=settings.blob_delete_grace_s if blob_grace_s is None else blob_grace_s,
    )
