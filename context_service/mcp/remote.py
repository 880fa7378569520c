"""MCP for a process that is not the service: it calls the tools over gRPC, with its own key.

`context-service mcp` serves it over stdio; a program serves it in memory: `mcp.Client(remote_server(client))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from context_service.mcp.server import mcp_server
from contextkeep.client.aio import AsyncContextClient
from service_runtime.values.ids import parse_optional_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSession:
    """The one caller of a process that serves MCP over standard input and output."""

    rpcs: AsyncContextClient
    entity_node_id: str
    subject_user_id: str
    read_only: bool


def remote_server(
    client: AsyncContextClient, *, entity_node_id: str = "", subject_user_id: str = "", read_only: bool = False
) -> Server[Any]:
    """Return an MCP server that calls a service.

    Args:
        client: The client of the service; its API key identifies the caller.
        entity_node_id: The entity that tools are about unless the model names another.
        subject_user_id: The user for whom a key without a user calls; the model cannot choose it.
        read_only: Offer only tools that do not write.

    Raises:
        InvalidArgument: the entity's id is malformed.
    """
    entity = parse_optional_id("entity", entity_node_id)
    session = RemoteSession(
        rpcs=client, entity_node_id=str(entity or ""), subject_user_id=subject_user_id, read_only=read_only
    )
    return mcp_server(lambda context: session)


async def serve_stdio(
    client: AsyncContextClient, *, entity_node_id: str, subject_user_id: str, read_only: bool
) -> None:
    """Serve over standard input and output, until the input ends.

    Raises:
        InvalidArgument: the entity's id is malformed.
    """
    served = remote_server(client, entity_node_id=entity_node_id, subject_user_id=subject_user_id, read_only=read_only)
    async with stdio_server() as (read, write):
        await served.run(read, write, served.create_initialization_options())
