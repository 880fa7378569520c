"""Composition of the room mcp servers: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from context_service.kernel.ground import REQUESTS, Ground
from context_service.mcp_servers.client import McpClient
from context_service.mcp_servers.rules import McpServers
from service_runtime.destinations import Destinations
from service_runtime.sealing import KeyRing, keys_of


def mcp_servers_of(ground: Ground) -> McpServers:
    """Return the MCP servers of tenants, with the client that calls their tools."""
    destinations = Destinations(ground.settings.mcp_servers_allowed)
    keys = KeyRing(keys_of(ground.settings.secrets_key.get_secret_value()))
    return McpServers(ground.database, McpClient(destinations), keys, destinations, requests=REQUESTS)
