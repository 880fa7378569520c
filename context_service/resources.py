"""Open the dependencies of all rooms, in order, on one stack."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path

from context_service.blobs.providers import open_storage
from context_service.blobs.storage import BlobStorage
from context_service.contexts.store.log import Log
from context_service.history.pure.limits import HistoryLimits
from context_service.history.room import history_limits_of
from context_service.history.rules import mapping_files
from context_service.history.rules.assemble_context import ContextAssembly
from context_service.history.rules.mapping_files import FileMappings
from context_service.history.rules.registry import MappingRegistry
from context_service.history.store import MappingStore
from context_service.kernel.dependencies import Dependencies
from context_service.kernel.graph import EntityGraph
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.llm.embeddings import Embedder
from context_service.kernel.llm.known_vectors import KnownVectors
from context_service.kernel.llm.local import MODEL_BYTES
from context_service.kernel.llm.providers import open_chat, open_embedder, open_reranker
from context_service.kernel.llm.questions import QuestionVectors
from context_service.kernel.llm.reranking import Reranker
from context_service.kernel.llm.texts import Chat
from context_service.kernel.lookout import Lookout
from context_service.kernel.tokens import TokenCounter
from context_service.kernel.wire.node_names import NodeNames
from context_service.retrieval.model import BRAIN, CONTEXT, KNOWLEDGE_BASE, OF_USERS
from context_service.retrieval.room import document_reader_of
from context_service.retrieval.store.passages import Passages
from context_service.settings import Settings
from context_service.working_memory.rules.record_texts import RecordTexts
from context_service.working_memory.store.actions import ActionLog
from context_service.working_memory.store.records import Records
from contextkeep.address import Address, parse_address
from contextkeep.client.aio import AsyncEntityClient
from contextkeep.errors import StorageFull, Unavailable
from service_runtime import http
from service_runtime.background_work import background
from service_runtime.databases.migrate import Migration, access_migrations, load
from service_runtime.databases.schema import SchemaCheck
from service_runtime.grpc_server import probe
from service_runtime.network import connections, tls
from service_runtime.network.connections import Connection
from service_runtime.postgres import Database, take_half_vectors
from service_runtime.rpc.admission import CallSlots
from service_runtime.rpc.held_bytes import HeldBytes, memory_limits
from service_runtime.telemetry.metrics import ERASING_FAILED, Metrics

_log = logging.getLogger("app")

ENTITY_SERVICE = "contextkeep.entity.v1.EntityGraph"


def migrations() -> list[Migration]:
    """Return everything that this service needs in the database."""
    return [*access_migrations(), *load("context", Path(__file__).parent / "migrations")]


async def open_dependencies(settings: Settings, metrics: Metrics, stack: AsyncExitStack) -> Dependencies:
    """Open the dependencies of all rooms, read the mapping files, and follow the mappings that apps register."""
    held_bytes = HeldBytes(
        memory_limits(
            settings.memory_bytes_max,
            settings.call_limits.shares,
            has_windows=True,
            children_bytes=_children_bytes(settings),
        )
    )
    held_bytes.show(metrics)
    await stack.enter_async_context(background.keeping(held_bytes.keep_watching))
    database = await stack.enter_async_context(open_database(settings))
    entity = await stack.enter_async_context(entity_service_of(settings))
    graph = EntityGraph(entity)
    storage = await stack.enter_async_context(open_storage(settings))
    await _prove_writable(storage)
    limits = history_limits_of(settings)
    files = await file_mappings_of(settings, limits)
    mappings = MappingRegistry(MappingStore(database, mappings_max=limits.mappings_max), limits, files=files)
    await stack.enter_async_context(background.keeping(mappings.keep_current))
    embedder = await embedder_of(settings, stack)
    known_vectors = KnownVectors()
    passages = Passages(database, embedded_kinds=[CONTEXT, *OF_USERS, KNOWLEDGE_BASE, BRAIN] if embedder else [])
    reader = document_reader_of(settings, bytes_max=held_bytes.limits.parsers_bytes_max)
    watches = replace(settings.call_limits, calls_max=settings.watches_max)
    lookout = Lookout(database, slots=CallSlots(watches, what="watches", limit="watches"))
    await stack.enter_async_context(background.keeping(lookout.keep_looking))
    return Dependencies(
        settings=settings,
        metrics=metrics,
        held=held_bytes,
        erasing_failed=metrics.counter(
            ERASING_FAILED, "Passes of erasing that broke off", what=("contexts", "subjects")
        ),
        database=database,
        graph=graph,
        names=NodeNames(graph),
        actions=ActionLog(database),
        records=Records(database),
        embedder=embedder,
        chat=await _chat(settings, stack),
        reranker=await reranker_of(settings, stack),
        questions=_question_vectors(settings, embedder, known_vectors) if embedder else None,
        known_vectors=known_vectors,
        storage=storage,
        reader=reader,
        record_texts=RecordTexts(storage, reader),
        passages=passages,
        log=Log(
            database,
            passages,
            queued_max=settings.queued_items_max,
            learning_default=settings.learning_default,
            learning_idle_s=settings.learning_idle_s,
        ),
        writer_locks=KeyedLocks(),
        lookout=lookout,
        tokens=await asyncio.to_thread(TokenCounter),
        mappings=mappings,
        assembly=ContextAssembly(graph, mappings, limits),
        schema_ready=SchemaCheck(database, migrations()).ready,
        entity_ready=probe.health_check(entity, ENTITY_SERVICE),
    )


async def _prove_writable(storage: BlobStorage) -> None:
    """Refuse to start where no upload could ever be stored; a provider that is only away is for the health check.

    Raises:
        ProviderNotConfigured: the container is missing, or the credentials do not allow writes.
    """
    try:
        await storage.check_writable()
    except (StorageFull, Unavailable) as error:
        _log.warning("blobs cannot be written", extra={"provider": storage.provider, "error": str(error)})


def _children_bytes(settings: Settings) -> int:
    """Return the memory of child processes, but for those that read documents."""
    model_bytes = MODEL_BYTES if settings.embedder == "local" else 0
    return model_bytes + (http.JSON_BYTES if settings.http_port is not None else 0)


async def file_mappings_of(settings: Settings, limits: HistoryLimits) -> FileMappings:
    """Read the mappings of files, off the event loop."""
    if settings.mappings_path is None:
        return {}
    return await asyncio.to_thread(mapping_files.load, settings.mappings_path, limits)


def entity_service_of(settings: Settings) -> AbstractAsyncContextManager[Connection[AsyncEntityClient]]:
    """Connect to the Entity Service. It checks the caller's own credential itself, and the caller's client retries."""
    address = entity_address_of(settings)
    return connections.connected(
        tls.client_certificates(settings, root_path=settings.entity_service_ca_path),
        lambda shown: AsyncEntityClient(
            str(address), api_key="", retries=0, root_certificates=shown.root, client_certificate=shown.own
        ),
    )


def entity_address_of(settings: Settings) -> Address:
    """Return where the Entity Service listens."""
    return parse_address(
        settings.entity_service_url, default_port=settings.entity_service_port, field="ENTITY_SERVICE_URL"
    )


async def embedder_of(settings: Settings, stack: AsyncExitStack) -> Embedder | None:
    """Open the embedder, if one is configured."""
    opening = open_embedder(settings)
    return await stack.enter_async_context(opening) if opening else None


async def _chat(settings: Settings, stack: AsyncExitStack) -> Chat | None:
    """Open the language model, if one is configured."""
    opening = open_chat(settings)
    return await stack.enter_async_context(opening) if opening else None


async def reranker_of(settings: Settings, stack: AsyncExitStack) -> Reranker | None:
    """Open the reranker, if one is configured."""
    opening = open_reranker(settings)
    return await stack.enter_async_context(opening) if opening else None


def _question_vectors(settings: Settings, embedder: Embedder, known: KnownVectors) -> QuestionVectors:
    """Return the embedder of queries, with a shorter deadline than that of stored texts."""
    return QuestionVectors(
        embedder,
        known,
        timeout_s=settings.embedding_question_timeout_s,
        text_chars=settings.embedding_text_chars,
    )


def open_database(settings: Settings) -> AbstractAsyncContextManager[Database]:
    """Connect to Postgres as the service."""
    return Database.open(
        settings.database,
        others=settings.other_databases,
        connections_max=settings.database_pool_max,
        prepared_statements=settings.database_prepared_statements,
        name="context-service",
        configure=take_half_vectors,
    )
