"""MCP servers of others, and their tools that context query may ask."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contextkeep.context.v1 import mcp_servers_pb2 as pb
from contextkeep.values.base import Value, time_of

McpToolState = Literal["", "found", "approved", "changed", "gone"]
_STATES: dict[int, McpToolState] = {
    pb.MCP_TOOL_STATE_FOUND: "found",
    pb.MCP_TOOL_STATE_APPROVED: "approved",
    pb.MCP_TOOL_STATE_CHANGED: "changed",
    pb.MCP_TOOL_STATE_GONE: "gone",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class McpServer(Value):
    """A server."""

    server_id: str
    display_name: str = ""
    url: str = ""
    disabled: bool = False
    has_secret: bool = False  # nothing gives it out
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""
    discovered_at: datetime | None = None  # None: never

    @classmethod
    def from_proto(cls, server: pb.McpServer) -> McpServer:
        """Return the value of a message."""
        return cls(
            server_id=server.server_id,
            display_name=server.display_name,
            url=server.url,
            disabled=server.disabled,
            has_secret=server.has_secret,
            version=server.version,
            created_at=time_of(server.created_at),
            updated_at=time_of(server.updated_at),
            updated_by=server.updated_by,
            discovered_at=time_of(server.discovered_at) if server.HasField("discovered_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class McpTool(Value):
    """A tool of a server, as it was discovered last. Title, description and schema are the server's own words."""

    server_id: str
    tool_name: str
    provider_id: str = ""  # of context query
    title: str = ""
    description: str = ""
    input_schema_json: str = ""
    declares_read_only: bool = False
    declares_search_safe: bool = False
    search_safe_recorded_by: str = ""
    state: McpToolState = ""
    reason: str = ""  # why it does not run; empty: it does
    is_default: bool = False
    arguments_json: str = ""
    definition_sha256: str = ""
    approved_by: str = ""
    approved_at: datetime | None = None
    discovered_at: datetime | None = None

    @classmethod
    def from_proto(cls, tool: pb.McpTool) -> McpTool:
        """Return the value of a message."""
        return cls(
            server_id=tool.server_id,
            tool_name=tool.tool_name,
            provider_id=tool.provider_id,
            title=tool.title,
            description=tool.description,
            input_schema_json=tool.input_schema_json,
            declares_read_only=tool.declares_read_only,
            declares_search_safe=tool.declares_search_safe,
            search_safe_recorded_by=tool.search_safe_recorded_by,
            state=_STATES.get(tool.state, ""),
            reason=tool.reason,
            is_default=tool.is_default,
            arguments_json=tool.arguments_json,
            definition_sha256=tool.definition_sha256,
            approved_by=tool.approved_by,
            approved_at=time_of(tool.approved_at) if tool.HasField("approved_at") else None,
            discovered_at=time_of(tool.discovered_at),
        )
