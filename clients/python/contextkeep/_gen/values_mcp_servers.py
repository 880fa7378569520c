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
    # Whether the service stores a bearer secret for the server. No call returns the secret.
    has_secret: bool = False
    # Counts the puts of the server, from 1.
    version: int = 0
    created_at: datetime
    updated_at: datetime
    # The subject of the credential that put it last.
    updated_by: str = ""
    # When its tools were last discovered. Unset: never.
    discovered_at: datetime | None = None
    # Where an import took it from. Unset: no import wrote it, or it was put since.
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
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            updated_by=message.updated_by,
            discovered_at=time_of(message.discovered_at) if message.HasField("discovered_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class McpTool(Value):
    """A tool of a server, as the last discovery found it.

    Title, description and schema come from the server: do not trust them.
    """

    server_id: str = ""
    tool_name: str = ""
    # Its provider id in context query, of the family `mcp`.
    provider_id: str = ""
    title: str = ""
    description: str = ""
    input_schema_json: str = "{}"
    # Whether the tool declares by MCP's read-only hint that it changes nothing.
    declares_read_only: bool = False
    # Whether the tool declares in its `_meta` that a search with it does no harm: {"contextkeep/searchSafe": true}, or
    # {"contextEngine": {"searchSafe": true}}.
    declares_search_safe: bool = False
    # The administrator who recorded that the tool is search-safe, if the tool does not declare it.
    search_safe_recorded_by: str = ""
    state: McpToolState | Literal[""] = ""
    # Why the tool does not run. Empty: it runs when it is called.
    reason: str = ""
    # Context query calls it if a question selects no provider.
    is_default: bool = False
    # The arguments of its calls, as ApproveMcpTool has them.
    arguments_json: str = ""
    # Hash of the definition: name, texts, schemas and declarations. It changes with the definition.
    definition_sha256: str = ""
    approved_by: str = ""
    # Unset: the tool is not approved.
    approved_at: datetime | None = None
    discovered_at: datetime
    # Where an import took it from. Unset: no import wrote it.
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
            discovered_at=time_of(message.discovered_at),
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
