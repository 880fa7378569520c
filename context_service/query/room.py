"""Composition of the package query: opens its own resources, and returns its servicer and its exports."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial

from context_service.agents.room import Agents
from context_service.compiled_pages.room import FacetSearch, freshness_of
from context_service.context_settings.room import ContextSettings
from context_service.contexts.room import ArtifactRows, ContextsFinding, Recalling
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.knowledge_bases import bedrock
from context_service.knowledge_bases.room import BaseSearch
from context_service.mcp_servers.room import McpServers
from context_service.memories.room import MemoryRecalling
from context_service.query.api.query import ContextQueryServicer
from context_service.query.api.source_tests import SourceTestsServicer
from context_service.query.model import State
from context_service.query.providers import installed, native
from context_service.query.providers.bedrock import BedrockKnowledgeBases
from context_service.query.providers.compiled_pages import TRUST as BRAIN_TRUST
from context_service.query.providers.compiled_pages import CompiledFacets
from context_service.query.providers.contexts import TRUST as CONTEXT_TRUST
from context_service.query.providers.contexts import Contexts
from context_service.query.providers.knowledge_bases import TRUST as KNOWLEDGE_BASE_TRUST
from context_service.query.providers.knowledge_bases import KnowledgeBaseDocuments
from context_service.query.providers.mcp_tools import McpTools
from context_service.query.providers.memories import TRUST as MEMORY_TRUST
from context_service.query.providers.memories import UserMemories
from context_service.query.providers.memories_with_pages import MemoriesWithPages
from context_service.query.providers.specialists import SpecialistProviders
from context_service.query.providers.wiki import TRUST as WIKI_TRUST
from context_service.query.providers.wiki import WikiPages
from context_service.query.providers.workspace import TRUST as WORKSPACE_TRUST
from context_service.query.providers.workspace import Workspace
from context_service.query.pure.provider_table import OwnProviders, ProviderEntry, Providers
from context_service.query.rules.fan_out import Reaper
from context_service.query.rules.meaning import HitsByMeaning
from context_service.query.rules.policies import Policies
from context_service.query.rules.query import ContextQueries
from context_service.query.rules.reranking import HitReranking
from context_service.query.rules.source_tests import LABEL_CHARS_MAX, SourceTests
from context_service.query.store.source_tests import SourceTestRows
from context_service.retrieval.room import meaning_of
from context_service.settings import Settings
from context_service.specialists.room import Specialists
from context_service.wiki.room import PageSearch
from context_service.working_memory.room import RecordQuotes, Searches
from contextkeep.context.v1.context_query_pb2_grpc import add_ContextQueryServicer_to_server
from contextkeep.context.v1.source_tests_pb2_grpc import add_SourceTestsServicer_to_server
from service_runtime.grpc_server.server import Service
from service_runtime.network.destinations import Destinations

# What other rooms use.
__all__ = [
    "LABEL_CHARS_MAX",
    "open_query",
    "own_providers_of",
    "workspace_of",
]

_REAPED_S = 1.0  # how long the service waits at its stop for searches that are still running


def workspace_of(deps: Dependencies, searches: Searches) -> Workspace:
    """Return the provider of records, which also searches for specialists."""
    records = RecordQuotes(deps.database, deps.passages, searches)
    return Workspace(records, deps.graph, depth_max=deps.settings.traverse_depth_max)


def own_providers_of(
    deps: Dependencies, servers: McpServers, specialists: Specialists, workspace: Workspace
) -> list[OwnProviders]:
    """Return the providers that tenants add themselves: tools of MCP servers, and specialists."""
    return [McpTools(servers), SpecialistProviders(specialists, workspace, chat=deps.chat)]


async def open_query(
    deps: Dependencies,
    stack: AsyncExitStack,
    workspace: Workspace,
    recalling: Recalling,
    finding: ContextsFinding,
    remembering: MemoryRecalling,
    agents: Agents,
    templates: Agents,
    own: Sequence[OwnProviders],
    settings: ContextSettings,
) -> Room[ContextQueryServicer]:
    """Open the installed providers and return the servicer of queries."""
    reaper = Reaper()
    stack.push_async_callback(reaper.end, wait_s=_REAPED_S)
    deps.metrics.watch(
        "contextkeep_query_lingering",
        "Searches of providers that still run after their answer",
        lambda: reaper.lingering,
    )
    pages = PageSearch(deps.database, deps.passages, meaning=meaning_of(deps))
    bases = BaseSearch(deps.database, deps.passages, meaning=meaning_of(deps))
    facets = FacetSearch(deps.database, deps.passages, meaning=meaning_of(deps))
    entries = [
        native(workspace, trust=WORKSPACE_TRUST),
        native(WikiPages(pages), trust=WIKI_TRUST),
        native(CompiledFacets(facets, freshness_of(deps)), trust=BRAIN_TRUST),
        native(KnowledgeBaseDocuments(bases), trust=KNOWLEDGE_BASE_TRUST),
        native(Contexts(deps.log, ArtifactRows(deps.log, deps.passages), recalling, finding), trust=CONTEXT_TRUST),
        native(MemoriesWithPages(UserMemories(remembering), pages), trust=MEMORY_TRUST),
        *_bedrock(deps.settings, bases),
        *(await _enter(installed(), stack)),
    ]
    providers = Providers(entries)
    policies = Policies(deps.database, providers, agents, templates, own=own, requests=REQUESTS)
    fared = deps.metrics.seconds(
        "contextkeep_query_provider_seconds",
        "How long providers took to answer a question, and how they fared",
        family=providers.families | {provider.family for provider in own},
        state=[state.value for state in State if state is not State.SKIPPED],
    )
    queries = ContextQueries(
        providers,
        policies,
        reaper,
        deps.tokens,
        by_meaning=_hits_by_meaning(deps),
        reranking=HitReranking(deps.reranker, settings) if deps.reranker else None,
        chat=deps.chat,
        settings=settings,
        fared=fared,
    )
    source_tests = SourceTests(queries, SourceTestRows(deps.database))
    servicer = ContextQueryServicer(queries, policies, source_tests)
    service = Service(
        full_name="contextkeep.context.v1.ContextQuery",
        add=partial(add_ContextQueryServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    tests_service = Service(
        full_name="contextkeep.context.v1.SourceTests",
        add=partial(add_SourceTestsServicer_to_server, SourceTestsServicer(source_tests)),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service, [tests_service])


def _bedrock(settings: Settings, bases: BaseSearch) -> list[ProviderEntry]:
    """Return the provider of Amazon Bedrock knowledge bases, if the operator lets tenants name some."""
    allowed = settings.bedrock_knowledge_bases
    if not allowed:
        return []
    client = bedrock.client_of(settings, Destinations(settings.mcp_servers_allowed))
    return [native(BedrockKnowledgeBases(bases, client, allowed=allowed), trust=KNOWLEDGE_BASE_TRUST)]


async def _enter(entries: list[ProviderEntry], stack: AsyncExitStack) -> list[ProviderEntry]:
    """Enter the providers that are context managers."""
    for entry in entries:
        if isinstance(entry.provider, AbstractAsyncContextManager):
            await stack.enter_async_context(entry.provider)
    return entries


def _hits_by_meaning(deps: Dependencies) -> HitsByMeaning | None:
    """Return the comparison of hits by embeddings; None if no embedder is configured."""
    if deps.embedder is None or deps.questions is None:
        return None
    timeout_s = deps.settings.embedding_question_timeout_s
    return HitsByMeaning(deps.questions, deps.embedder, deps.known_vectors, timeout_s=timeout_s)
