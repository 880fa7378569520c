"""Composition of the package mcp: opens its own resources, and returns its servicer and its exports."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from context_service.contexts.api.artifacts import ArtifactsServicer
from context_service.contexts.api.contexts import ContextsServicer
from context_service.history.api import ChatHistoryServicer
from context_service.kernel.dependencies import Dependencies, Room
from context_service.mcp.api import ToolsServicer
from context_service.mcp.tool import Services
from context_service.memories.api import MemoriesServicer
from context_service.query.api.query import ContextQueryServicer
from context_service.settings import Settings
from context_service.summaries.api import SummariesServicer
from context_service.windows.room import WindowRooms
from context_service.working_memory.api.records import WorkingMemoryServicer
from contextkeep.context.v1.tools_pb2_grpc import add_ToolsServicer_to_server
from contextkeep.errors import FailedPrecondition
from service_runtime import http
from service_runtime.grpc_server.interceptors import Border
from service_runtime.grpc_server.server import Service
from service_runtime.imports.extras import install
from service_runtime.network import tls
from service_runtime.rpc.principal import Authenticator

if TYPE_CHECKING:
    from context_service.mcp.http import Mcp

_log = logging.getLogger("app")


class McpMissing(FailedPrecondition):
    """A port for MCP is configured, and its package is not installed."""

    reason = "MCP_MISSING"


def tools_of(
    deps: Dependencies,
    memory: Room[WorkingMemoryServicer],
    history: Room[ChatHistoryServicer],
    contexts: Room[ContextsServicer],
    artifacts: ArtifactsServicer,
    windows: WindowRooms,
    memories: Room[MemoriesServicer],
    summaries: Room[SummariesServicer],
) -> Room[ToolsServicer]:
    """Return the servicer of tools, which calls the servicers of other rooms."""
    settings, rooms = deps.settings, (memory, history, contexts, windows.windows, windows.packing, memories, summaries)
    servicer = ToolsServicer(
        Services(
            memory=memory.servicer,
            history=history.servicer,
            contexts=contexts.servicer,
            artifacts=artifacts,
            windows=windows.windows.servicer,
            packing=windows.packing.servicer,
            memories=memories.servicer,
            summaries=summaries.servicer,
            graph=deps.graph,
            answer_bytes_max=settings.mcp_answer_bytes_max,
        ),
        deps.names,
        nesting_max=settings.json_nesting_max,
        read_only=settings.mcp_read_only,
    )
    service = Service(
        full_name="contextkeep.context.v1.Tools",
        add=partial(add_ToolsServicer_to_server, servicer),
        checks=list(dict.fromkeys(check for room in rooms for check in room.service.checks)),
    )
    return Room(servicer, service)


async def open_mcp(
    settings: Settings,
    stack: AsyncExitStack,
    tools: ToolsServicer,
    query: ContextQueryServicer,
    callers: Authenticator,
    border: Border,
) -> Mcp | None:
    """Open MCP for the ports of HTTP and of MCP. Return None without either, or for HTTP without the package."""
    if settings.http_port is None and settings.mcp_port is None:
        return None
    try:
        from context_service.mcp import http as mcp
    except ImportError as error:
        if settings.mcp_port is not None:
            raise McpMissing(f"MCP_PORT needs the package mcp: {install('mcp')}") from error
        _log.info("MCP is off: its package is not installed", extra={"install": install("mcp")})
        return None
    return await stack.enter_async_context(mcp.opened(tools, query, callers, border))


def mcp_alone(settings: Settings, models: Mcp) -> AbstractAsyncContextManager[int]:
    """Serve MCP on a port of its own."""
    from service_runtime.http import admission  # it is there, since `open_mcp` was

    options = admission.HttpOptions(
        host=settings.mcp_host,
        port=settings.mcp_port or 0,
        origins=admission.Origins(
            frozenset(settings.mcp_allowed_origins), setting="MCP_ALLOWED_ORIGINS", loopback=True
        ),
        limits=settings.call_limits,
        connections_max=settings.connections_max,
        drain_s=settings.drain_s,
        tls=tls.files_of(settings),
        resources=http.protected(settings, models.scopes),
    )
    return admission.serving(models, options)
