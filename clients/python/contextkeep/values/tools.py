"""What a model may call, and records as resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextkeep.context.v1 import tools_pb2
from contextkeep.values.base import Value, kept


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tool(Value):
    """What a model may call by itself: `execute_tool`."""

    tool_name: str
    context_type: str  # "WM", "History", "Context" or "RAG"
    description: str
    input_schema_json: str
    output_schema_json: str
    read_only: bool
    destructive: bool
    idempotent: bool
    _input_schema: Any = kept()
    _output_schema: Any = kept()

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self._kept_object("_input_schema", self.input_schema_json)

    @property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of its result."""
        return self._kept_object("_output_schema", self.output_schema_json)

    @classmethod
    def from_proto(cls, tool: tools_pb2.Tool) -> Tool:
        """Return the value of a message."""
        return cls(
            tool_name=tool.tool_name,
            context_type=tool.context_type,
            description=tool.description,
            input_schema_json=tool.input_schema_json,
            output_schema_json=tool.output_schema_json,
            read_only=tool.read_only,
            destructive=tool.destructive,
            idempotent=tool.idempotent,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resource(Value):
    """A record of an entity, as the Model Context Protocol names it."""

    uri: str  # "wm://{working_memory_id}"
    name: str
    description: str = ""
    content_type: str = ""
    size_bytes: int

    @classmethod
    def from_proto(cls, resource: tools_pb2.Resource) -> Resource:
        """Return the value of a message."""
        return cls(
            uri=resource.uri,
            name=resource.name,
            description=resource.description,
            content_type=resource.content_type,
            size_bytes=resource.size_bytes,
        )
