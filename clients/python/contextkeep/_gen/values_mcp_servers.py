"""Values of contextkeep/context/v1/mcp_servers.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import mcp_servers_pb2 as pb
from contextkeep.values.base import Value, kept, time_of

McpToolState = Literal[
    "found",
    "approved",
    "changed",
    "gone",
]
MCP_TOOL_STATES: dict[int, McpToolState] = {
    1: "found",
    2: "approved",
    3: "changed",
    4: "gone",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class McpServer(Value):
    """An MCP server."""

    server_id: str = ""
    display_name: str = ""
    url: str = ""
    # None of its tools runs.
    disabled: bool = False
    # Whether a bearer secret is kept. Nothing gives it out.
    has_secret: bool = False
    # Counts how often it was put, from 1.
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Who put it last.
    updated_by: str = ""
    # When its tools were discovered last. Unset: never.
    discovered_at: datetime | None = None
    # Unset: no import wrote it, or it was put since.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.McpServer) -> McpServer:
        """Return the value of a message."""
        return cls(
            server_id=message.server_id,
            display_name=message.display_name,
            url=message.url,
            disabled=message.disabled,
            has_secret=message.has_secret,
            version=message.version,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            updated_at=time_of(message.updated_at) if message.HasField("updated_at") else None,
            updated_by=message.updated_by,
            discovered_at=time_of(message.discovered_at) if message.HasField("discovered_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class McpTool(Value):
    """A tool of a server, as it was discovered last.

    Title, description and schema are the server's own words: not to be trusted.
    """

    server_id: str = ""
    tool_name: str = ""
    # Of context query, family `mcp`.
    provider_id: str = ""
    title: str = ""
    description: str = ""
    input_schema_json: str = "{}"
    # Whether it says by the standard hint that it changes nothing.
    declares_read_only: bool = False
    # Whether it says in its `_meta` that searching with it does no harm: {"contextkeep/searchSafe": true}, or
    # {"contextEngine": {"searchSafe": true}}.
    declares_search_safe: bool = False
    # The administrator who recorded that it is search-safe, where it does not say so.
    search_safe_recorded_by: str = ""
    state: McpToolState | Literal[""] = ""
    # Why it does not run. Empty: it does, when it is asked.
    reason: str = ""
    # Whether it is asked where a question selects no provider.
    is_default: bool = False
    # With which arguments it is called.
    arguments_json: str = ""
    # What was discovered: name, texts, schemas and declarations. Another definition has another hash.
    definition_sha256: str = ""
    approved_by: str = ""
    # Unset: it is not approved.
    approved_at: datetime | None = None
    discovered_at: datetime | None = None
    # Unset: no import wrote it.
    imported: Imported | None = None
    _input_schema: Any = kept()
    _arguments: Any = kept()

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return `input_schema_json`, parsed."""
        return self._kept_object("_input_schema", self.input_schema_json)

    @property
    def arguments(self) -> Any:
        """Return `arguments_json`, parsed; None if it is empty."""
        return self._kept("_arguments", self.arguments_json)

    @classmethod
    def from_proto(cls, message: pb.McpTool) -> McpTool:
        """Return the value of a message."""
        return cls(
            server_id=message.server_id,
            tool_name=message.tool_name,
            provider_id=message.provider_id,
            title=message.title,
            description=message.description,
            input_schema_json=message.input_schema_json,
            declares_read_only=message.declares_read_only,
            declares_search_safe=message.declares_search_safe,
            search_safe_recorded_by=message.search_safe_recorded_by,
            state=MCP_TOOL_STATES.get(message.state, ""),
            reason=message.reason,
            is_default=message.is_default,
            arguments_json=message.arguments_json,
            definition_sha256=message.definition_sha256,
            approved_by=message.approved_by,
            approved_at=time_of(message.approved_at) if message.HasField("approved_at") else None,
            discovered_at=time_of(message.discovered_at) if message.HasField("discovered_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
