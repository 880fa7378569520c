"""Composition root of the Context Service: lists the rooms in order, and serves what they give."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from context_service.agents.room import agents_of
from context_service.compiled_pages.room import open_compiled_pages
from context_service.context_settings.room import context_settings_of
from context_service.contexts.room import context_eraser_of, open_contexts
from context_service.erasure.room import open_erasures
from context_service.history.room import chat_history_of
from context_service.kernel.dependencies import REQUESTS, Room
from context_service.kernel.llm.embeddings import give_way
from context_service.knowledge_bases.room import open_knowledge_bases
from context_service.learning.room import keep_learning
from context_service.mcp.room import mcp_alone, open_mcp, tools_of
from context_service.mcp_servers.room import mcp_servers_of
from context_service.memories.room import memories_of, open_memories
from context_service.memories.rules.lessons import RememberedLessons
from context_service.operations.room import open_administration
from context_service.probes import check_exposure, probes
from context_service.query.room import open_query, own_providers_of, workspace_of
from context_service.resources import migrations, open_dependencies
from context_service.settings import Settings
from context_service.specialists.room import specialists_of
from context_service.summaries.room import summaries_of
from context_service.transfer.room import open_transfer
from context_service.wiki.room import open_wiki
from context_service.windows.room import windows_of
from context_service.working_memory.room import limits_of, open_working_memory
from service_runtime import http
from service_runtime.auth import access
from service_runtime.auth.audit_trail import AuditTrail
from service_runtime.grpc_server import server
from service_runtime.grpc_server.interceptors import Border
from service_runtime.grpc_server.observing import observing
from service_runtime.grpc_server.server import ServerOptions
from service_runtime.network import tls
from service_runtime.rpc.principal import Authenticator
from service_runtime.rpc.recent_calls import RecentCalls
from service_runtime.statements.replays import Replays
from service_runtime.telemetry import tracing
from service_runtime.telemetry.metrics import Metrics
from service_runtime.values.copying import copied

__all__ = ["migrations", "probes", "running"]


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
    check_exposure(settings, authenticated=access.needs_key(settings) or callers is not None)
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        if settings.metrics_port is not None:
            stack.enter_context(metrics.exposed(settings.metrics_host, settings.metrics_port))
        stack.enter_context(tracing.exporting(settings, service="context-service"))
        deps = await open_dependencies(settings, metrics, stack)
        limits = limits_of(deps)
        memory, searches = await open_working_memory(deps, limits, stack)
        history = chat_history_of(deps)
        callers = callers or access.authenticator(settings, deps.database, metrics)
        eraser = context_eraser_of(settings, deps.database)
        context_settings, setting_rules = context_settings_of(deps)
        contexts, artifacts, messaging, recalling, finding = await open_contexts(
            deps, stack, callers, eraser, setting_rules
        )
        windows = await windows_of(
            deps, messaging, recalling, stack, callers, RememberedLessons(memories_of(deps)), setting_rules
        )
        memories, remembering = await open_memories(deps, stack, setting_rules)
        await keep_learning(deps, stack, memories_of(deps), remembering, setting_rules)
        summaries = summaries_of(deps)
        wiki = await open_wiki(deps, stack)
        agents, agent_rules, templates = agents_of(deps)
        bases = await open_knowledge_bases(deps, stack)
        mcp_servers, server_rules = mcp_servers_of(deps)
        specialists, specialist_rules = specialists_of(deps)
        compiled = await open_compiled_pages(deps, stack)
        workspace = workspace_of(deps, searches)
        own = own_providers_of(deps, server_rules, specialist_rules, workspace)
        query = await open_query(
            deps, stack, workspace, recalling, finding, remembering, agent_rules, templates, own, setting_rules
        )
        tools = tools_of(deps, memory, history, contexts, artifacts, windows, memories, summaries)
        trail = AuditTrail(deps.database)
        await stack.enter_async_context(trail.telling())
        administration = await open_administration(deps, trail, limits, stack)
        transfer = await open_transfer(deps, limits, stack)
        erasures = await open_erasures(deps, eraser, stack)
        rooms: Sequence[Room[Any]] = (
            memory,
            history,
            contexts,
            *windows.all,
            *(memories, summaries, wiki, agents, context_settings, bases, mcp_servers, specialists, compiled),
            query,
            tools,
            administration,
            transfer,
            erasures,
        )
        recent = RecentCalls("context-service")
        services = [*(service for room in rooms for service in room.services), observing(recent)]
        deps.database.show(metrics)
        border = Border(
            callers,
            limits=settings.call_limits,
            metrics=metrics,
            held=deps.held,
            trail=trail,
            recent=recent,
            replays=Replays(deps.database, REQUESTS),
            health_without_key=settings.health_without_key,
            reflection_without_key=settings.reflects_without_key,
        )
        give_way(deps.embedder, border.calls_wait)
        options = copied(
            ServerOptions,
            settings,
            host=settings.context_service_host,
            port=settings.context_service_port,
            pending_calls_max=deps.held.limits.pending_calls_max,
            tls=tls.files_of(settings),
        )
        servers: list[AbstractAsyncContextManager[int]] = [server.running(services, border, options, metrics)]
        models = await open_mcp(settings, stack, tools.servicer, query.servicer, callers, border)
        if settings.http_port is not None:
            beside, scopes = (dict.fromkeys(models.paths, models), models.scopes) if models else ({}, {})
            servers.append(http.serving_rpcs(settings, services, border, beside=beside, scopes=scopes))
        if models and settings.mcp_port is not None:
            servers.append(mcp_alone(settings, models))
        port, *_ = await stack.enter_async_context(server.together(*servers))
        yield port
