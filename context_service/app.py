"""Composition root of the Context Service: the only file that knows every concrete class.

`running` opens what all rooms stand on, then room after room, on one stack, and serves what they give. A room is one
function here: it opens what only it needs, makes its stores and rules, and gives its servicer.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import UUID

from context_service.blobs.providers import open_storage
from context_service.blobs.storage import BlobStorage
from context_service.cel import ExpressionLimits
from context_service.contexts.artifact_rows import ArtifactRows
from context_service.contexts.artifacts import Artifacts
from context_service.contexts.checks import MessageChecks
from context_service.contexts.erasing import Eraser, Erasing
from context_service.contexts.index_state import IndexStates, VectorsOwed
from context_service.contexts.log import Log
from context_service.contexts.lookout import Lookout
from context_service.contexts.messaging import Messaging
from context_service.contexts.order import Order
from context_service.contexts.pointed_records import PointedRecords
from context_service.contexts.pointed_state import RecordsOwed
from context_service.contexts.recall import Recalling
from context_service.contexts.references import References
from context_service.contexts.standing import Standing
from context_service.contexts.task_rows import TaskRows
from context_service.contexts.tasks import Tasks
from context_service.contexts.watching import Watching
from context_service.entity_history.graph_events import GraphEvents
from context_service.entity_history.merged import EntityHistory
from context_service.erasure.holds import Holds
from context_service.erasure.register import Register
from context_service.erasure.subjects import SubjectEraser, Subjects
from context_service.extensions import check_installed
from context_service.graph import EntityGraph
from context_service.history import mapping_files
from context_service.history.chat_history import ChatHistories
from context_service.history.context_assembly import ContextAssembly
from context_service.history.limits import HistoryLimits
from context_service.history.mapping_files import FileMappings
from context_service.history.mapping_store import MappingStore
from context_service.history.registry import MappingRegistry
from context_service.history.trial import MappingTrials
from context_service.knowledge import bedrock
from context_service.knowledge.agents import Agents
from context_service.knowledge.asked_bases import AskedBases
from context_service.knowledge.asked_facets import AskedFacets
from context_service.knowledge.asked_pages import AskedPages
from context_service.knowledge.base_dropping import BaseDropping
from context_service.knowledge.base_rows import BaseRows
from context_service.knowledge.compile_states import CompileStates
from context_service.knowledge.compiled_pages import CompiledPages
from context_service.knowledge.compiled_rows import CompiledRows
from context_service.knowledge.compiling import Compiling
from context_service.knowledge.consolidating import Consolidating
from context_service.knowledge.definition_rows import DefinitionRows
from context_service.knowledge.definitions import Definitions
from context_service.knowledge.document_rows import DocumentRows
from context_service.knowledge.document_source import document_source
from context_service.knowledge.document_texts import DocumentTexts
from context_service.knowledge.forgetting import Forgetting
from context_service.knowledge.knowledge_bases import KnowledgeBases
from context_service.knowledge.making import PageMaking
from context_service.knowledge.mcp_client import McpClient
from context_service.knowledge.mcp_servers import McpServers
from context_service.knowledge.memories import Memories
from context_service.knowledge.memory_rows import MemoryRows
from context_service.knowledge.memory_source import memory_source
from context_service.knowledge.page_rows import PageRows
from context_service.knowledge.page_source import page_source
from context_service.knowledge.pages import Pages
from context_service.knowledge.recalling import MemoryRecalling
from context_service.knowledge.specialists import Specialists
from context_service.lessons import RememberedLessons
from context_service.llm.embeddings import Embedder
from context_service.llm.known_vectors import KnownVectors
from context_service.llm.local import MODEL_BYTES
from context_service.llm.providers import open_chat, open_embedder
from context_service.llm.questions import QuestionVectors
from context_service.llm.texts import Chat
from context_service.mcp.servicer import ToolsServicer
from context_service.mcp.tool import Services
from context_service.operations.jobs import Jobs, Progress, Tell
from context_service.operations.tenants import Tenants
from context_service.operations.work import Work
from context_service.query.bedrock import BedrockKnowledgeBases
from context_service.query.brain import TRUST as BRAIN_TRUST
from context_service.query.brain import CompiledFacets
from context_service.query.citing import MemoriesWithPages
from context_service.query.contexts import TRUST as CONTEXT_TRUST
from context_service.query.contexts import NamedContexts
from context_service.query.fan_out import Reaper
from context_service.query.hits import State
from context_service.query.knowledge_bases import TRUST as KNOWLEDGE_BASE_TRUST
from context_service.query.knowledge_bases import KnowledgeBaseDocuments
from context_service.query.mcp_tools import McpTools
from context_service.query.meaning import HitsByMeaning
from context_service.query.memory import TRUST as MEMORY_TRUST
from context_service.query.memory import UserMemories
from context_service.query.policies import Policies
from context_service.query.providers import Entry, OwnProviders, Providers, installed, native
from context_service.query.queries import ContextQueries
from context_service.query.source_test_rows import SourceTestRows
from context_service.query.source_tests import SourceTests
from context_service.query.specialists import AskedSpecialists
from context_service.query.wiki import TRUST as WIKI_TRUST
from context_service.query.wiki import WikiPages
from context_service.query.workspace import TRUST as WORKSPACE_TRUST
from context_service.query.workspace import Workspace
from context_service.retrieval.documents.reading import DocumentReader
from context_service.retrieval.meaning import Meaning
from context_service.retrieval.nearest import Nearest
from context_service.retrieval.passage_vectors import PassageVectorMaking
from context_service.retrieval.passages import BRAIN, CONTEXT, KNOWLEDGE_BASE, MEMORY, OF_USERS, WIKI, Passages, Scope
from context_service.retrieval.vectors import VectorMaking, Worker
from context_service.retrieval.verifying import Verifying
from context_service.servicers.administration import AdministrationServicer
from context_service.servicers.chat_history import ChatHistoryServicer
from context_service.servicers.context_query import ContextQueryServicer
from context_service.servicers.context_windows import ContextWindowsServicer
from context_service.servicers.contexts import ContextsServicer
from context_service.servicers.erasures import ErasuresServicer
from context_service.servicers.finding import Finders
from context_service.servicers.knowledge import KnowledgeServicer
from context_service.servicers.node_names import NodeNames
from context_service.servicers.transfer import TransferServicer
from context_service.servicers.working_memory import WorkingMemoryServicer
from context_service.settings import Settings
from context_service.syncing import Syncing
from context_service.tokens import TokenCounter
from context_service.transfer.exporting import Exporting
from context_service.transfer.importing import Importing
from context_service.transfer.owed import Owed
from context_service.transfer.row_checks import RowChecks
from context_service.windows import plugged
from context_service.windows.accounts import Accounts
from context_service.windows.checkpoint_rows import CheckpointRows
from context_service.windows.checkpoints import Checkpoints
from context_service.windows.editing import Editing
from context_service.windows.ending_rows import EndingRows
from context_service.windows.fork_rows import ForkRows
from context_service.windows.forks import Forks
from context_service.windows.learning import Learning
from context_service.windows.learning_rows import LearningRows
from context_service.windows.merges import Merges
from context_service.windows.originals import Originals
from context_service.windows.outcomes import Outcomes
from context_service.windows.own_profiles import OwnProfiles
from context_service.windows.packs import Packs
from context_service.windows.recovery import Recovery
from context_service.windows.sights import KeptSights
from context_service.windows.statistics import Statistics
from context_service.windows.statistics_rows import StatisticsRows
from context_service.windows.telemetry import Telemetry
from context_service.windows.usage import Billing
from context_service.windows.usage_rows import UsageRows
from context_service.windows.view_rows import ViewRows
from context_service.windows.watching import WindowWatching
from context_service.windows.window_rows import WindowRows
from context_service.windows.windows import Windows
from context_service.windows.writing import Writing
from context_service.working_memory.actions import ActionLog
from context_service.working_memory.asked import AskedRecords
from context_service.working_memory.fields import FieldChecks
from context_service.working_memory.file_texts import FileTexts
from context_service.working_memory.fsck import Fsck
from context_service.working_memory.lifecycle import LifeCycle
from context_service.working_memory.manifest import Manifests
from context_service.working_memory.memory import WorkingMemory
from context_service.working_memory.moving import Mover
from context_service.working_memory.query import RecordQueries
from context_service.working_memory.record_passages import RecordPassages
from context_service.working_memory.record_reader import RecordName, RecordReader
from context_service.working_memory.record_texts import RecordTexts
from context_service.working_memory.record_vectors import RecordVectors
from context_service.working_memory.records import Records
from context_service.working_memory.retention import SWEEPER, Purges, Retention
from context_service.working_memory.search import Searches
from context_service.working_memory.sweep import Sweeper
from context_service.working_memory.tenant_limits import Limits, TenantLimits
from context_service.working_memory.uploads import ResumableUploads
from context_service.working_memory.writing import BlobWriter
from contextkeep.address import Address, parse_address
from contextkeep.client.aio import AsyncEntityClient
from contextkeep.context.v1.administration_pb2_grpc import add_AdministrationServicer_to_server
from contextkeep.context.v1.chat_history_pb2_grpc import add_ChatHistoryServicer_to_server
from contextkeep.context.v1.context_query_pb2_grpc import add_ContextQueryServicer_to_server
from contextkeep.context.v1.context_windows_pb2_grpc import add_ContextWindowsServicer_to_server
from contextkeep.context.v1.contexts_pb2_grpc import add_ContextsServicer_to_server
from contextkeep.context.v1.erasures_pb2_grpc import add_ErasuresServicer_to_server
from contextkeep.context.v1.knowledge_pb2_grpc import add_KnowledgeServicer_to_server
from contextkeep.context.v1.tools_pb2_grpc import add_ToolsServicer_to_server
from contextkeep.context.v1.transfer_pb2_grpc import add_TransferServicer_to_server
from contextkeep.context.v1.working_memory_pb2_grpc import add_WorkingMemoryServicer_to_server
from contextkeep.errors import FailedPrecondition, NotFound, StorageFull, Unavailable
from service_runtime import access, background, connections, database_probes, http, probe, server, tls, tracing
from service_runtime.audit_trail import AuditTrail
from service_runtime.auth import Authenticator, Principal
from service_runtime.connections import Connection
from service_runtime.copying import copied
from service_runtime.destinations import Destinations
from service_runtime.extras import install
from service_runtime.given_keys import GivenKeys
from service_runtime.held_bytes import HeldBytes, memory_limits
from service_runtime.interceptors import Border
from service_runtime.metrics import ERASING_FAILED, Counted, Metrics
from service_runtime.migrate import Migration, access_migrations, load
from service_runtime.observing import observing
from service_runtime.places import Places
from service_runtime.postgres import Database, Tenant, take_half_vectors
from service_runtime.recent_calls import RecentCalls
from service_runtime.replays import Replays
from service_runtime.requests import Requests
from service_runtime.schema import SchemaCheck
from service_runtime.sealing import KeyRing, keys_of
from service_runtime.server import Check, ServerOptions, Service

if TYPE_CHECKING:
    from context_service.mcp.http import Mcp

_T = TypeVar("_T")

_log = logging.getLogger("app")
_ENTITY_SERVICE = "contextkeep.entity.v1.EntityGraph"
_REQUESTS = Requests("context", erasures="context.erasure")
_PROBLEMS_TOLD = 50  # of a check, in the row of its job
_REAPED_S = 1.0  # that searches which go on behind their answers have when the service stops


class McpMissing(FailedPrecondition):
    """A port for MCP is configured, and its package is not installed."""

    reason = "MCP_MISSING"


def migrations() -> list[Migration]:
    """Return everything that this service needs in the database."""
    return [*access_migrations(), *load("context", Path(__file__).parent / "migrations")]


def history_limits_of(settings: Settings) -> HistoryLimits:
    """Return what the settings say of mappings and of reading by them."""
    return HistoryLimits(
        name_chars_max=settings.type_chars_max,
        mapping_bytes_max=settings.mapping_bytes_max,
        rules_max=settings.mapping_rules_max,
        mappings_max=settings.app_mappings_max,
        depth_max=settings.traverse_depth_max,
        sample_bytes_max=settings.node_data_bytes_max,
        sample_nesting_max=settings.json_nesting_max,
        sample_chars_max=settings.name_chars_max,
        expression=ExpressionLimits(
            length_max=settings.expression_chars_max, nesting_max=settings.expression_nesting_max
        ),
        symbols_max=settings.mapping_symbols_max,
        evaluation_steps_max=settings.evaluation_steps_max,
        evaluation_bytes_max=settings.evaluation_bytes_max,
        call_steps_max=settings.call_steps_max,
    )


@asynccontextmanager
async def running(settings: Settings, *, callers: Authenticator | None = None) -> AsyncIterator[int]:
    """Run the service for the block, yielding its port.

    Args:
        settings: Verified settings.
        callers: Who may call, instead of those who have a key: for tests with several tenants.

    Raises:
        CannotListen: the address is taken, or open to everybody.
        UnsafeRole: the database role could pass row-level security.
        ProviderNotConfigured: there is no place for blobs, or no library to ask Amazon Bedrock.
        InvalidArgument, LimitExceeded: a mapping of a file is wrong.
        HttpMissing, McpMissing: there is a port for HTTP or for MCP, and not its package.
    """
    _check_exposure(settings, authenticated=access.needs_key(settings) or callers is not None)
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        if settings.metrics_port is not None:
            stack.enter_context(metrics.exposed(settings.metrics_host, settings.metrics_port))
        stack.enter_context(tracing.exporting(settings, service="context-service"))
        ground = await _ground(settings, metrics, stack)
        limits = _limits(ground)
        memory, searches = await _working_memory(ground, limits, stack)
        history = _chat_history(ground)
        callers = callers or access.authenticator(settings, ground.database, metrics)
        eraser = context_eraser_of(settings, ground.database)
        contexts, messaging, recalling = await _contexts(ground, stack, callers, eraser)
        windows = _windows(ground, messaging, recalling, stack, callers)
        agents = Agents(ground.database, requests=_REQUESTS)
        templates = Agents(ground.database, requests=_REQUESTS, is_template=True)
        mcp_servers = _mcp_servers(ground)
        specialists = Specialists(ground.database, requests=_REQUESTS)
        knowledge, remembering = await _knowledge(ground, stack, agents, templates, mcp_servers, specialists)
        records = AskedRecords(ground.database, ground.passages, searches)
        workspace = Workspace(records, ground.graph, depth_max=settings.traverse_depth_max)
        own: list[OwnProviders] = [McpTools(mcp_servers), AskedSpecialists(specialists, workspace, chat=ground.chat)]
        query = await _query(ground, stack, workspace, recalling, remembering, agents, templates, own)
        tools = _tools(ground, memory, history, contexts, windows)
        trail = AuditTrail(ground.database)
        await stack.enter_async_context(trail.telling())
        administration = await _administration(ground, trail, limits, stack)
        transfer = await _transfer(ground, limits, stack)
        erasures = await _erasures(ground, eraser, stack)
        rooms = (memory, history, contexts, windows, knowledge, query, tools, administration, transfer, erasures)
        recent = RecentCalls("context-service")
        services = [*(room.service for room in rooms), observing(recent)]
        ground.database.show(metrics)
        border = Border(
            callers,
            limits=settings.call_limits,
            metrics=metrics,
            held=ground.held,
            trail=trail,
            recent=recent,
            replays=Replays(ground.database, _REQUESTS),
            health_without_key=settings.health_without_key,
            reflection_without_key=settings.reflects_without_key,
        )
        options = copied(
            ServerOptions,
            settings,
            host=settings.context_service_host,
            port=settings.context_service_port,
            pending_calls_max=ground.held.limits.pending_calls_max,
            tls=tls.files_of(settings),
        )
        servers: list[AbstractAsyncContextManager[int]] = [server.running(services, border, options, metrics)]
        models = await _mcp(settings, stack, tools.servicer, query.servicer, callers, border)
        if settings.http_port is not None:
            beside, scopes = (dict.fromkeys(models.paths, models), models.scopes) if models else ({}, {})
            servers.append(http.serving_rpcs(settings, services, border, beside=beside, scopes=scopes))
        if models and settings.mcp_port is not None:
            servers.append(_mcp_alone(settings, models))
        port, *_ = await stack.enter_async_context(server.together(*servers))
        yield port


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What every room stands on."""

    settings: Settings
    metrics: Metrics
    held: HeldBytes
    erasing_failed: Counted
    database: Database
    graph: EntityGraph
    names: NodeNames
    actions: ActionLog
    records: Records
    log: Log
    order: Order
    lookout: Lookout
    mappings: MappingRegistry
    assembly: ContextAssembly
    embedder: Embedder | None
    chat: Chat | None
    questions: QuestionVectors | None  # where there is an embedder
    known_vectors: KnownVectors
    storage: BlobStorage
    reader: DocumentReader
    record_texts: RecordTexts
    passages: Passages
    tokens: TokenCounter
    schema_ready: Check
    entity_ready: Check


@dataclass(frozen=True, slots=True)
class _Room(Generic[_T]):
    """A servicer, and the proto service that it serves."""

    servicer: _T
    service: Service


async def _ground(settings: Settings, metrics: Metrics, stack: AsyncExitStack) -> _Ground:
    """Open what all rooms need, read the mappings of files, and begin to follow those that apps register."""
    held = HeldBytes(
        memory_limits(
            settings.memory_bytes_max,
            settings.call_limits.shares,
            has_windows=True,
            children_bytes=_children_bytes(settings),
        )
    )
    held.show(metrics)
    await stack.enter_async_context(background.keeping(held.keep_watching))
    database = await stack.enter_async_context(open_database(settings))
    entity = await stack.enter_async_context(_entity_service(settings))
    graph = EntityGraph(entity)
    storage = await stack.enter_async_context(open_storage(settings))
    await _prove_writable(storage)
    limits = history_limits_of(settings)
    files = await _file_mappings(settings, limits)
    mappings = MappingRegistry(MappingStore(database, mappings_max=limits.mappings_max), limits, files=files)
    await stack.enter_async_context(background.keeping(mappings.keep_current))
    embedder = await _embedder(settings, stack)
    known_vectors = KnownVectors()
    passages = Passages(database, embedded_kinds=[CONTEXT, *OF_USERS, KNOWLEDGE_BASE, BRAIN] if embedder else [])
    reader = document_reader_of(settings, bytes_max=held.limits.parsers_bytes_max)
    watches = replace(settings.call_limits, calls_max=settings.watches_max)
    lookout = Lookout(database, places=Places(watches, what="watches", limit="watches"))
    await stack.enter_async_context(background.keeping(lookout.keep_looking))
    return _Ground(
        settings=settings,
        metrics=metrics,
        held=held,
        erasing_failed=metrics.counter(
            ERASING_FAILED, "Passes of erasing that broke off", what=("contexts", "subjects")
        ),
        database=database,
        graph=graph,
        names=NodeNames(graph),
        actions=ActionLog(database),
        records=Records(database, search_language=settings.search_language),
        embedder=embedder,
        chat=await _chat(settings, stack),
        questions=_question_vectors(settings, embedder, known_vectors) if embedder else None,
        known_vectors=known_vectors,
        storage=storage,
        reader=reader,
        record_texts=RecordTexts(storage, reader),
        passages=passages,
        log=Log(database, passages, queued_max=settings.queued_items_max),
        order=Order(),
        lookout=lookout,
        tokens=await asyncio.to_thread(TokenCounter),
        mappings=mappings,
        assembly=ContextAssembly(graph, mappings, limits),
        schema_ready=SchemaCheck(database, migrations()).ready,
        entity_ready=probe.health_check(entity, _ENTITY_SERVICE),
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


def _limits(ground: _Ground) -> Limits:
    settings = ground.settings
    return Limits(
        ground.database,
        TenantLimits(
            blob_bytes_max=settings.blob_bytes_max,
            content_bytes_max=settings.node_data_bytes_max,
            bytes_max=settings.tenant_bytes_max,
            records_max=settings.tenant_records_max,
        ),
    )


async def _working_memory(
    ground: _Ground, limits: Limits, stack: AsyncExitStack
) -> tuple[_Room[WorkingMemoryServicer], Searches]:
    """Begin to sweep, to embed, and to read files; and give what searches."""
    settings, database, embedder, storage = ground.settings, ground.database, ground.embedder, ground.storage
    if embedder:
        making = VectorMaking(
            database,
            RecordVectors(),
            embedder,
            text_chars=settings.embedding_text_chars,
        )
        await _keep_making(settings, making, stack)
    sweeper = sweeper_of(settings, database, storage)
    await stack.enter_async_context(background.keeping(partial(sweeper.keep_sweeping, settings.sweep_interval_s)))
    record_passages = RecordPassages(ground.passages)
    file_texts = FileTexts(database, ground.record_texts, record_passages, count=ground.tokens.count)
    await stack.enter_async_context(background.keeping(file_texts.keep_reading))
    checks = _field_checks(settings)
    writer = BlobWriter(storage, lease_s=settings.upload_lease_s)
    memory = WorkingMemory(
        database,
        records=ground.records,
        requests=_REQUESTS,
        checks=checks,
        writer=writer,
        limits=limits,
        passages=record_passages,
        embeds_texts=embedder is not None,
        queued_max=settings.queued_items_max,
    )
    uploads = ResumableUploads(
        database,
        requests=_REQUESTS,
        memory=memory,
        writer=writer,
        storage=storage,
        limits=limits,
        part_bytes_max=settings.upload_part_bytes_max,
        lease_s=settings.upload_resume_s,
    )
    searches = Searches(
        database,
        language=settings.search_language,
        vectors_max=settings.search_vectors_max,
        passages=ground.passages,
        embed_text=partial(embedder.embed_text, timeout_s=settings.embedding_question_timeout_s) if embedder else None,
    )
    finders = Finders(
        manifests=Manifests(database, graph=ground.graph, checks=checks, depth_max=settings.traverse_depth_max),
        queries=RecordQueries(database),
        searches=searches,
        names=ground.names,
    )
    servicer = WorkingMemoryServicer(
        memory,
        RecordReader(records=ground.records, storage=storage, checks=checks),
        LifeCycle(database, records=ground.records, purges=_purges(settings, database), log=ground.actions),
        uploads,
        finders,
    )
    service = Service(
        full_name="contextkeep.context.v1.WorkingMemory",
        add=partial(add_WorkingMemoryServicer_to_server, servicer),
        checks=[ground.schema_ready, storage.check],
    )
    return _Room(servicer, service), searches


def _chat_history(ground: _Ground) -> _Room[ChatHistoryServicer]:
    limits = history_limits_of(ground.settings)
    servicer = ChatHistoryServicer(
        ChatHistories(ground.graph, ground.mappings, limits),
        ground.assembly,
        MappingTrials(ground.graph, ground.mappings, limits),
        EntityHistory(GraphEvents(ground.graph), ground.actions),
        ground.mappings,
        ground.names,
    )
    service = Service(
        full_name="contextkeep.context.v1.ChatHistory",
        add=partial(add_ChatHistoryServicer_to_server, servicer),
        checks=[ground.schema_ready, ground.entity_ready],
    )
    return _Room(servicer, service)


def _field_checks(settings: Settings) -> FieldChecks:
    return copied(
        FieldChecks, settings, content_bytes_max=settings.node_data_bytes_max, nesting_max=settings.json_nesting_max
    )


def _message_checks(settings: Settings) -> MessageChecks:
    return MessageChecks(
        message_bytes_max=settings.context_message_bytes_max,
        parts_max=settings.context_message_parts_max,
        metadata_bytes_max=settings.metadata_bytes_max,
        nesting_max=settings.json_nesting_max,
        name_chars_max=settings.name_chars_max,
    )


async def _contexts(
    ground: _Ground, stack: AsyncExitStack, callers: Authenticator, eraser: Eraser
) -> tuple[_Room[ContextsServicer], Messaging, Recalling]:
    """Begin to erase what is due, to embed, and to read the records that messages point at; and give what recalls."""
    settings, database, embedder = ground.settings, ground.database, ground.embedder
    passages, log, order, tokens = ground.passages, ground.log, ground.order, ground.tokens

    async def check_record(record_id: UUID, principal: Principal) -> None:
        if not await ground.records.exists(principal, record_id):
            raise RecordName(record_id=record_id).not_found()

    task_rows = TaskRows(database, log)
    references = References(task_rows)
    await stack.enter_async_context(
        background.keeping(
            partial(
                eraser.keep_erasing,
                settings.sweep_interval_s,
                failed=partial(ground.erasing_failed, what="contexts"),
            )
        )
    )
    standing = Standing(database)
    standing.show(ground.metrics)
    await stack.enter_async_context(background.keeping(standing.keep_reading))
    await _keep_making_passage_vectors(ground, CONTEXT, stack)
    checks = _message_checks(settings)
    pointed = PointedRecords(database, passages, read=ground.record_texts.read, count=tokens.count)
    await stack.enter_async_context(background.keeping(pointed.keep_reading))
    messaging = Messaging(
        log,
        requests=_REQUESTS,
        checks=checks,
        tokens=tokens,
        check_record=check_record,
        references=references,
        order=order,
    )
    tasks = Tasks(
        task_rows,
        log=log,
        references=references,
        requests=_REQUESTS,
        checks=checks,
        check_record=check_record,
        order=order,
    )
    artifact_rows = ArtifactRows(log, passages)
    artifacts = Artifacts(
        artifact_rows,
        log=log,
        tasks=tasks,
        references=references,
        requests=_REQUESTS,
        checks=checks,
        check_record=check_record,
        tokens=tokens,
    )
    vectors = VectorsOwed(database, model=embedder.model if embedder else "")
    index_states = IndexStates(database, log, [RecordsOwed(database), vectors])
    watching = Watching(ground.lookout, log=log, tasks=task_rows, artifacts=artifact_rows)
    recalling = Recalling(
        log,
        artifact_rows,
        passages,
        tokens,
        index=index_states,
        meaning=_meaning(ground),
        timed=ground.metrics.timer("contextkeep_recall_seconds", "Recalls, those of SendMessage and of packs too"),
    )
    servicer = ContextsServicer(
        messaging,
        recalling,
        Erasing(database, requests=_REQUESTS, eraser=eraser),
        index_states,
        tasks,
        artifacts,
        watching,
        callers,
        Syncing(ground.assembly, messaging),
        ground.names,
    )
    service = Service(
        full_name="contextkeep.context.v1.Contexts",
        add=partial(add_ContextsServicer_to_server, servicer),
        checks=[ground.schema_ready],
        ending=ground.lookout.end,
    )
    return _Room(servicer, service), messaging, recalling


def _windows(
    ground: _Ground, messaging: Messaging, recalling: Recalling, stack: AsyncExitStack, callers: Authenticator
) -> _Room[ContextWindowsServicer]:
    rows, views, usage = WindowRows(ground.database, ground.log), ViewRows(ground.log), UsageRows(ground.database)
    endings = EndingRows(ground.log)
    for name in check_installed():
        _log.info("extension is installed", extra={"extension": name})
    models = ground.chat.models if ground.chat else ()
    checkpoint_rows, fork_rows = CheckpointRows(ground.log), ForkRows(ground.log)
    profiles = OwnProfiles(ground.database, requests=_REQUESTS)
    stack.callback(profiles.end)
    telemetry = Telemetry(ground.metrics)
    learning = Learning(ground.database, LearningRows(ground.log), profiles, requests=_REQUESTS, telemetry=telemetry)
    windows = Windows(
        rows,
        log=ground.log,
        requests=_REQUESTS,
        order=ground.order,
        nesting_max=ground.settings.json_nesting_max,
        profiles=profiles,
        learning=learning,
        telemetry=telemetry,
        models=models,
    )
    packs = Packs(
        rows,
        views,
        log=ground.log,
        requests=_REQUESTS,
        order=ground.order,
        recalling=recalling,
        usage=usage,
        kept=KeptSights(bytes_max=ground.held.limits.kept_bytes_max, shares=ground.settings.call_limits.shares),
        checkpoints=checkpoint_rows,
        profiles=profiles,
        telemetry=telemetry,
        endings=endings,
        learning=learning,
        writing=_writing(ground, views, profiles, telemetry),
        scoring=plugged.scoring(),
        extracting=plugged.extracting(),
        middleware=plugged.middleware(),
    )
    editing = Editing(
        rows,
        views,
        log=ground.log,
        requests=_REQUESTS,
        order=ground.order,
        packs=packs,
        usage=usage,
        nesting_max=ground.settings.json_nesting_max,
        telemetry=telemetry,
        models=models,
    )
    checkpoints = Checkpoints(
        rows,
        views,
        checkpoint_rows,
        log=ground.log,
        requests=_REQUESTS,
        order=ground.order,
        packs=packs,
        telemetry=telemetry,
        endings=endings,
    )
    forks = Forks(
        windows,
        rows,
        fork_rows,
        log=ground.log,
        messaging=messaging,
        requests=_REQUESTS,
        order=ground.order,
        packs=packs,
        telemetry=telemetry,
    )
    merges = Merges(
        rows,
        fork_rows,
        log=ground.log,
        messaging=messaging,
        requests=_REQUESTS,
        order=ground.order,
        packs=packs,
        telemetry=telemetry,
    )
    accounts = Accounts(rows, views, log=ground.log)
    servicer = ContextWindowsServicer(
        windows,
        profiles,
        learning,
        editing,
        packs,
        checkpoints,
        Recovery(rows, checkpoint_rows, log=ground.log, requests=_REQUESTS, checkpoints=checkpoints, packs=packs),
        forks,
        merges,
        Originals(
            rows,
            views,
            fork_rows,
            log=ground.log,
            passages=ground.passages,
            recalling=recalling,
            learning=learning,
            telemetry=telemetry,
        ),
        accounts,
        Billing(rows, usage, log=ground.log, requests=_REQUESTS, telemetry=telemetry),
        Outcomes(
            rows,
            endings,
            log=ground.log,
            requests=_REQUESTS,
            order=ground.order,
            packs=packs,
            lessons=RememberedLessons(_memories(ground)),
        ),
        Statistics(rows, StatisticsRows(ground.log), usage),
        WindowWatching(ground.lookout, rows, views, accounts),
        callers,
    )
    service = Service(
        full_name="contextkeep.context.v1.ContextWindows",
        add=partial(add_ContextWindowsServicer_to_server, servicer),
        checks=[ground.schema_ready],
        ending=ground.lookout.end,
    )
    return _Room(servicer, service)


def _mcp_servers(ground: _Ground) -> McpServers:
    destinations = Destinations(ground.settings.mcp_servers_allowed)
    keys = KeyRing(keys_of(ground.settings.secrets_key.get_secret_value()))
    return McpServers(ground.database, McpClient(destinations), keys, destinations, requests=_REQUESTS)


def _memory_rows(ground: _Ground) -> MemoryRows:
    return MemoryRows(model=ground.embedder.model if ground.embedder else "")


def _memories(ground: _Ground) -> Memories:
    rows, count = _memory_rows(ground), ground.tokens.count
    return Memories(ground.database, rows, ground.passages, requests=_REQUESTS, count=count)


async def _knowledge(
    ground: _Ground,
    stack: AsyncExitStack,
    agents: Agents,
    templates: Agents,
    mcp_servers: McpServers,
    specialists: Specialists,
) -> tuple[_Room[KnowledgeServicer], MemoryRecalling]:
    """Begin to embed memories, pages and documents, and to read those; and give what recalls memories."""
    await _keep_making_passage_vectors(ground, MEMORY, stack)
    await _keep_making_passage_vectors(ground, WIKI, stack)
    database, passages = ground.database, ground.passages
    rows, memories = _memory_rows(ground), _memories(ground)
    remembering = MemoryRecalling(database, rows, passages, meaning=_meaning(ground))
    pages = Pages(database, PageRows(database, passages), requests=_REQUESTS, tokens=ground.tokens)
    consolidating = Consolidating(database, rows, memories, requests=_REQUESTS)
    bases = await _knowledge_bases(ground, stack)
    definitions, compiling, compiled = await _compiling(ground, stack)
    servicer = KnowledgeServicer(
        memories,
        remembering,
        consolidating,
        pages,
        agents,
        templates,
        bases,
        mcp_servers,
        specialists,
        definitions,
        compiling,
        compiled,
        ground.names,
    )
    service = Service(
        full_name="contextkeep.context.v1.Knowledge",
        add=partial(add_KnowledgeServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return _Room(servicer, service), remembering


async def _knowledge_bases(ground: _Ground, stack: AsyncExitStack) -> KnowledgeBases:
    """Begin to read documents, to follow the records that some are of, and to drop what found those that are gone."""
    await _keep_making_passage_vectors(ground, KNOWLEDGE_BASE, stack)
    database, passages = ground.database, ground.passages
    documents = DocumentRows(database, passages, queued_max=ground.settings.queued_items_max)
    texts = DocumentTexts(database, documents, ground.record_texts, ground.reader, count=ground.tokens.count)
    for work in (texts.keep_reading, texts.keep_following, BaseDropping(database, passages).keep_dropping):
        await stack.enter_async_context(background.keeping(work))
    allowed = ground.settings.bedrock_knowledge_bases
    return KnowledgeBases(database, BaseRows(database), documents, bedrock_ids=allowed, requests=_REQUESTS)


async def _compiling(ground: _Ground, stack: AsyncExitStack) -> tuple[Definitions, Compiling, CompiledPages]:
    """Begin to embed facets."""
    await _keep_making_passage_vectors(ground, BRAIN, stack)
    database, graph, limits = ground.database, ground.graph, history_limits_of(ground.settings)
    making, approved = PageMaking(graph, limits), DefinitionRows(database)
    definitions = Definitions(database, approved, graph, making, limits, requests=_REQUESTS)
    rows = CompiledRows(database, ground.passages, count=ground.tokens.count)
    compiling = Compiling(database, approved, definitions, rows, CompileStates(database), graph, making)
    return definitions, compiling, CompiledPages(database, rows, requests=_REQUESTS)


async def _query(
    ground: _Ground,
    stack: AsyncExitStack,
    workspace: Workspace,
    recalling: Recalling,
    remembering: MemoryRecalling,
    agents: Agents,
    templates: Agents,
    own: Sequence[OwnProviders],
) -> _Room[ContextQueryServicer]:
    """Open the providers that are installed."""
    reaper = Reaper()
    stack.push_async_callback(reaper.end, wait_s=_REAPED_S)
    ground.metrics.watch(
        "contextkeep_query_lingering", "Searches of providers that go on behind their answers", lambda: reaper.lingering
    )
    pages = AskedPages(ground.database, ground.passages, meaning=_meaning(ground))
    bases = AskedBases(ground.database, ground.passages, meaning=_meaning(ground))
    facets = AskedFacets(ground.database, ground.passages, meaning=_meaning(ground))
    entries = [
        native(workspace, trust=WORKSPACE_TRUST),
        native(WikiPages(pages), trust=WIKI_TRUST),
        native(CompiledFacets(facets), trust=BRAIN_TRUST),
        native(KnowledgeBaseDocuments(bases), trust=KNOWLEDGE_BASE_TRUST),
        native(NamedContexts(ground.log, ArtifactRows(ground.log, ground.passages), recalling), trust=CONTEXT_TRUST),
        native(MemoriesWithPages(UserMemories(remembering), pages), trust=MEMORY_TRUST),
        *_bedrock(ground.settings, bases),
        *(await _opened(installed(), stack)),
    ]
    providers = Providers(entries)
    policies = Policies(ground.database, providers, agents, templates, own=own, requests=_REQUESTS)
    fared = ground.metrics.seconds(
        "contextkeep_query_provider_seconds",
        "How long providers took to answer a question, and how they fared",
        family=providers.families | {one.family for one in own},
        state=[state.value for state in State if state is not State.SKIPPED],
    )
    queries = ContextQueries(
        providers,
        policies,
        reaper,
        ground.tokens,
        by_meaning=_hits_by_meaning(ground),
        chat=ground.chat,
        fared=fared,
    )
    servicer = ContextQueryServicer(queries, policies, SourceTests(queries, SourceTestRows(ground.database)))
    service = Service(
        full_name="contextkeep.context.v1.ContextQuery",
        add=partial(add_ContextQueryServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return _Room(servicer, service)


def _bedrock(settings: Settings, bases: AskedBases) -> list[Entry]:
    """Return the provider of knowledge bases of Amazon Bedrock, where a tenant may name some."""
    allowed = settings.bedrock_knowledge_bases
    if not allowed:
        return []
    client = bedrock.client_of(settings, Destinations(settings.mcp_servers_allowed))
    return [native(BedrockKnowledgeBases(bases, client, allowed=allowed), trust=KNOWLEDGE_BASE_TRUST)]


async def _opened(entries: list[Entry], stack: AsyncExitStack) -> list[Entry]:
    """Enter providers that want to be."""
    for entry in entries:
        if isinstance(entry.provider, AbstractAsyncContextManager):
            await stack.enter_async_context(entry.provider)
    return entries


def _tools(
    ground: _Ground,
    memory: _Room[WorkingMemoryServicer],
    history: _Room[ChatHistoryServicer],
    contexts: _Room[ContextsServicer],
    windows: _Room[ContextWindowsServicer],
) -> _Room[ToolsServicer]:
    settings, rooms = ground.settings, (memory, history, contexts, windows)
    servicer = ToolsServicer(
        Services(
            memory=memory.servicer,
            history=history.servicer,
            contexts=contexts.servicer,
            windows=windows.servicer,
            graph=ground.graph,
            answer_bytes_max=settings.mcp_answer_bytes_max,
        ),
        ground.names,
        nesting_max=settings.json_nesting_max,
        read_only=settings.mcp_read_only,
    )
    service = Service(
        full_name="contextkeep.context.v1.Tools",
        add=partial(add_ToolsServicer_to_server, servicer),
        checks=list(dict.fromkeys(check for room in rooms for check in room.service.checks)),
    )
    return _Room(servicer, service)


async def _administration(
    ground: _Ground, trail: AuditTrail, limits: Limits, stack: AsyncExitStack
) -> _Room[AdministrationServicer]:
    """Begin to let jobs run."""
    settings, database, storage = ground.settings, ground.database, ground.storage

    async def sweep(_: Mapping[str, bool], tell: Tell) -> Progress:
        swept = await sweeper_of(settings, database, storage).sweep(lambda swept: tell(dataclasses.asdict(swept)))
        return dataclasses.asdict(swept)

    async def fsck(options: Mapping[str, bool], tell: Tell) -> Progress:
        check = fsck_of(settings, database, storage)
        report = await check.check(
            quick=options["quick"], repair=options["repair"], on_progress=lambda report: tell(report.counted())
        )
        problems = [dataclasses.asdict(one) for one in report.problems[:_PROBLEMS_TOLD]]
        return report.counted() | {"problems": problems, "databases_away": report.databases_away}

    jobs = Jobs(database, {"SWEEP": sweep, "FSCK": fsck})
    await stack.enter_async_context(jobs.running())
    servicer = AdministrationServicer(GivenKeys(database), trail, limits, Tenants(database), Work(database), jobs)
    service = Service(
        full_name="contextkeep.context.v1.Administration",
        add=partial(add_AdministrationServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return _Room(servicer, service)


async def _transfer(ground: _Ground, limits: Limits, stack: AsyncExitStack) -> _Room[TransferServicer]:
    """Begin to clear up behind imports with which nobody goes on."""
    settings, database, count = ground.settings, ground.database, ground.tokens.count
    verifying = Verifying(database, ground.passages, [memory_source(count), page_source(count), document_source(count)])

    async def mend(tenant: Tenant, user_id: str) -> None:
        door = database.tenant(tenant.tenant_id)
        scopes = [Scope.of_user(kind, tenant.tenant_id, user_id).id for kind in OF_USERS] if user_id else [None]
        for scope_id in scopes:
            with contextlib.suppress(NotFound):  # the user has none of that kind
                await verifying.run([door], scope_id=scope_id, mend=True, on_progress=lambda _: None)

    importing = Importing(
        database,
        writer=BlobWriter(ground.storage, lease_s=settings.upload_lease_s),
        provider=ground.storage.provider,
        graph=ground.graph,
        limits=limits,
        owed=Owed(embeds_texts=ground.embedder is not None, queued_max=settings.queued_items_max),
        mend=mend,
        nesting_max=settings.json_nesting_max,
        checks=RowChecks(messages=_message_checks(settings), records=_field_checks(settings)),
        held=ground.held,
    )
    exporting = Exporting(database, ground.storage, ground.graph, held=ground.held)
    await stack.enter_async_context(background.keeping(partial(importing.keep_clearing, settings.sweep_interval_s)))
    service = Service(
        full_name="contextkeep.context.v1.Transfer",
        add=partial(
            add_TransferServicer_to_server,
            servicer := TransferServicer(exporting, importing),
        ),
        checks=[ground.schema_ready, ground.storage.check],
    )
    return _Room(servicer, service)


async def _erasures(ground: _Ground, contexts: Eraser, stack: AsyncExitStack) -> _Room[ErasuresServicer]:
    """Begin to erase subjects."""
    settings, database = ground.settings, ground.database
    eraser = subject_eraser_of(settings, database, ground.storage, contexts)
    await stack.enter_async_context(
        background.keeping(
            partial(
                eraser.keep_erasing,
                settings.sweep_interval_s,
                failed=partial(ground.erasing_failed, what="subjects"),
            )
        )
    )
    servicer = ErasuresServicer(
        Subjects(database, ground.graph, eraser, requests=_REQUESTS), Holds(database, requests=_REQUESTS)
    )
    service = Service(
        full_name="contextkeep.context.v1.Erasures",
        add=partial(add_ErasuresServicer_to_server, servicer),
        checks=[ground.schema_ready, ground.entity_ready],
    )
    return _Room(servicer, service)


def _check_exposure(settings: Settings, *, authenticated: bool) -> None:
    hosts = [settings.context_service_host]
    hosts += [] if settings.http_port is None else [settings.http_host]
    hosts += [] if settings.mcp_port is None else [settings.mcp_host]
    for host in hosts:
        server.check_exposure(host, authenticated=authenticated, allow_insecure=settings.allow_insecure)


async def _mcp(
    settings: Settings,
    stack: AsyncExitStack,
    tools: ToolsServicer,
    query: ContextQueryServicer,
    callers: Authenticator,
    border: Border,
) -> Mcp | None:
    """Open MCP, for the ports of HTTP and of MCP; None: there is neither, or HTTP's alone and no package."""
    if settings.http_port is None and settings.mcp_port is None:
        return None
    try:
        from context_service.mcp import http as mcp
    except ImportError as error:
        if settings.mcp_port is not None:
            raise McpMissing(f"MCP_PORT needs the package mcp: {install('mcp')}") from error
        _log.info("no MCP beside JSON: its package is not installed", extra={"install": install("mcp")})
        return None
    return await stack.enter_async_context(mcp.opened(tools, query, callers, border))


def _mcp_alone(settings: Settings, models: Mcp) -> AbstractAsyncContextManager[int]:
    from service_runtime.http import door  # it is there, since `_mcp` was

    options = door.HttpOptions(
        host=settings.mcp_host,
        port=settings.mcp_port or 0,
        origins=door.Origins(frozenset(settings.mcp_allowed_origins), setting="MCP_ALLOWED_ORIGINS", loopback=True),
        limits=settings.call_limits,
        connections_max=settings.connections_max,
        drain_s=settings.drain_s,
        tls=tls.files_of(settings),
        resources=http.protected(settings, models.scopes),
    )
    return door.serving(models, options)


def probes(settings: Settings) -> dict[str, Check]:
    """Return what `check-config` asks."""

    async def listening() -> None:
        _check_exposure(settings, authenticated=access.needs_key(settings))
        if files := tls.files_of(settings):
            tls.server_credentials(files)

    async def blobs() -> None:
        async with open_storage(settings) as storage:
            await storage.check_writable()

    async def entity() -> None:
        async with _entity_service(settings) as connection:
            await probe.health_check(connection, _ENTITY_SERVICE)()

    asked: dict[str, Check] = {
        f"listening on {settings.context_service_host}": listening,
        **database_probes.of_services(settings, migrations()),
        "the place of the blobs": blobs,
    }
    asked[f"the Entity Service at {_entity_address(settings)}"] = entity
    if settings.embedder == "local":

        async def local_model() -> None:
            async with AsyncExitStack() as stack:
                embedder = await _embedder(settings, stack)
                assert embedder is not None
                await embedder.embed_text("a text")

        asked["the local model for vectors"] = local_model
    if settings.mappings_path is not None:

        async def mappings() -> None:
            await _file_mappings(settings, history_limits_of(settings))

        asked[f"the mappings in {settings.mappings_path}"] = mappings
    return asked | database_probes.of_owner(settings, migrations())


async def _file_mappings(settings: Settings, limits: HistoryLimits) -> FileMappings:
    if settings.mappings_path is None:
        return {}
    return await asyncio.to_thread(mapping_files.load, settings.mappings_path, limits)


def _entity_service(settings: Settings) -> AbstractAsyncContextManager[Connection[AsyncEntityClient]]:
    """Connect to the Entity Service. It checks the caller's own credential itself, and the caller's client retries."""
    address = _entity_address(settings)
    return connections.connected(
        tls.client_certificates(settings, root_path=settings.entity_service_ca_path),
        lambda shown: AsyncEntityClient(
            str(address), api_key="", retries=0, root_certificates=shown.root, client_certificate=shown.own
        ),
    )


def _entity_address(settings: Settings) -> Address:
    return parse_address(
        settings.entity_service_url, default_port=settings.entity_service_port, field="ENTITY_SERVICE_URL"
    )


def sweeper_of(settings: Settings, database: Database, storage: BlobStorage) -> Sweeper:
    """Return what removes from the database and the storage what is due."""
    return Sweeper(
        database,
        requests=_REQUESTS,
        storage=storage,
        purges=_purges(settings, database),
    )


def context_eraser_of(settings: Settings, database: Database) -> Eraser:
    """Return what removes contexts that are gone, with the records that were uploaded for them."""
    purge = partial(_purges(settings, database).purge, principal=SWEEPER, why="context deleted")
    return Eraser(database, Passages(database), purge=purge)


def subject_eraser_of(settings: Settings, database: Database, storage: BlobStorage, contexts: Eraser) -> SubjectEraser:
    """Return what erases subjects."""
    retention = Retention(kept_s=settings.record_retention_s)
    purges = Purges(database, RecordPassages(Passages(database)), retention=retention, blob_grace_s=0.0)
    sweeper = sweeper_of(settings, database, storage)
    pages = CompiledRows(database, Passages(database), count=len)  # it writes none
    return SubjectEraser(
        database,
        contexts,
        purges,
        register=Register(storage),
        compiled=Forgetting(database, pages),
        remove_bytes=sweeper.remove_bytes,
    )


def document_reader_of(settings: Settings, *, bytes_max: int | None = None) -> DocumentReader:
    """Return what reads texts of files.

    Args:
        settings: Of one child process.
        bytes_max: Memory of all children together; None: of a command, which holds nothing for callers.
    """
    return DocumentReader(
        memory_bytes_max=settings.document_parser_memory_bytes_max,
        together_bytes_max=bytes_max,
        timeout_s=settings.document_parser_timeout_s,
    )


def mover_of(settings: Settings, storage: BlobStorage) -> Mover:
    """Return what moves bytes, and heals them."""
    return Mover(storage, lease_s=settings.upload_lease_s, grace_s=settings.blob_delete_grace_s)


def fsck_of(settings: Settings, database: Database, storage: BlobStorage) -> Fsck:
    """Return what compares rows and stored bytes."""
    mover = mover_of(settings, storage)
    return Fsck(database, storage=storage, mover=mover, grace_s=settings.blob_delete_grace_s)


async def _embedder(settings: Settings, stack: AsyncExitStack) -> Embedder | None:
    """Open what makes vectors, if there is to be one."""
    opening = open_embedder(settings)
    return await stack.enter_async_context(opening) if opening else None


async def _chat(settings: Settings, stack: AsyncExitStack) -> Chat | None:
    """Open what writes texts, if there is to be one."""
    opening = open_chat(settings)
    return await stack.enter_async_context(opening) if opening else None


def _writing(ground: _Ground, views: ViewRows, profiles: OwnProfiles, telemetry: Telemetry) -> Writing | None:
    chat = plugged.summarizer(ground.chat, call_s=ground.settings.llm_timeout_s)
    if chat is None:
        return None
    return Writing(chat, views, log=ground.log, profiles=profiles, telemetry=telemetry, validating=plugged.validating())


def _question_vectors(settings: Settings, embedder: Embedder, known: KnownVectors) -> QuestionVectors:
    return QuestionVectors(
        embedder,
        known,
        timeout_s=settings.embedding_question_timeout_s,
        text_chars=settings.embedding_text_chars,
    )


def _hits_by_meaning(ground: _Ground) -> HitsByMeaning | None:
    """Return what compares hits by meaning, where there is an embedder."""
    if ground.embedder is None or ground.questions is None:
        return None
    timeout_s = ground.settings.embedding_question_timeout_s
    return HitsByMeaning(ground.questions, ground.embedder, ground.known_vectors, timeout_s=timeout_s)


def _meaning(ground: _Ground) -> Meaning | None:
    """Return what compares by meaning, where there is an embedder."""
    if ground.embedder is None or ground.questions is None:
        return None
    nearest = Nearest(ground.database, model=ground.embedder.model, unrelated=ground.embedder.unrelated)
    return Meaning(questions=ground.questions, nearest=nearest)


async def _keep_making(settings: Settings, worker: Worker, stack: AsyncExitStack) -> None:
    await stack.enter_async_context(background.keeping(partial(worker.keep_making, settings.embedding_interval_s)))


async def _keep_making_passage_vectors(ground: _Ground, kind: str, stack: AsyncExitStack) -> None:
    """Embed passages of one kind of scope, if there is an embedder."""
    if ground.embedder is None:
        return
    making = PassageVectorMaking(
        ground.database,
        kind,
        ground.embedder,
        text_chars=ground.settings.embedding_text_chars,
    )
    await _keep_making(ground.settings, making, stack)


def _purges(settings: Settings, database: Database) -> Purges:
    retention = Retention(kept_s=settings.record_retention_s, kept_s_by_type=settings.record_retention_by_type_s)
    return Purges(
        database,
        RecordPassages(Passages(database)),
        retention=retention,
        blob_grace_s=settings.blob_delete_grace_s,
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
