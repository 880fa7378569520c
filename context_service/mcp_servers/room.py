"""Composes the room mcp servers: returns its servicer and the rules that others use."""

from __future__ import annotations

from functools import partial

from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.mcp_servers.api import McpServersServicer
from context_service.mcp_servers.client import McpClient
from context_service.mcp_servers.rules import (
    ARGUMENTS_BYTES_MAX,
    NAME_CHARS_MAX,
    SERVER_ID_CHARS_MAX,
    TOOL_CHARS_MAX,
    URL_CHARS_MAX,
    McpServers,
)
from contextkeep.context.v1.mcp_servers_pb2_grpc import add_McpServersServicer_to_server
from service_runtime.auth.sealing import KeyRing, keys_of
from service_runtime.grpc_server.server import Service
from service_runtime.network.destinations import Destinations

# What other rooms use.
__all__ = [
    "ARGUMENTS_BYTES_MAX",
    "NAME_CHARS_MAX",
    "SERVER_ID_CHARS_MAX",
    "TOOL_CHARS_MAX",
    "URL_CHARS_MAX",
    "McpServers",
    "mcp_servers_of",
]


def mcp_servers_of(deps: Dependencies) -> tuple[Room[McpServersServicer], McpServers]:
    """Return the servicer and the rules of MCP servers, with the client that calls their tools."""
    destinations = Destinations(deps.settings.mcp_servers_allowed)
    keys = KeyRing(keys_of(deps.settings.secrets_key.get_secret_value()))
    servers = McpServers(deps.database, McpClient(destinations), keys, destinations, requests=REQUESTS)
    servicer = McpServersServicer(servers)
    service = Service(
        full_name="contextkeep.context.v1.McpServers",
        add=partial(add_McpServersServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service), servers
