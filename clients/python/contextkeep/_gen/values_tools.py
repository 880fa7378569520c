"""Values of contextkeep/context/v1/tools.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextkeep.context.v1 import tools_pb2 as pb
from contextkeep.values.base import Value, kept



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tool(Value):
    """A tool that a model may call with ExecuteTool."""

    tool_name: str = ""
    # Area of the tool: "WM" (working memory), "History", "Context", "Memory" or "RAG" (searches).
    context_type: str = ""
    # Description for the model.
    description: str = ""
    # JSON schema of the arguments: an object.
    input_schema_json: str = "{}"
    # The tool changes nothing.
    read_only: bool = False
    # The tool removes something. The effect of `wm_archive` can be undone.
    destructive: bool = False
    # Calling the tool again with the same arguments changes nothing more.
    idempotent: bool = False
    # JSON schema of `result_json`: an object.
    output_schema_json: str = "{}"
    _input_schema: Any = kept()
    _output_schema: Any = kept()

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return `input_schema_json`, parsed."""
        return self._kept_object("_input_schema", self.input_schema_json)

    @property
    def output_schema(self) -> dict[str, Any]:
        """Return `output_schema_json`, parsed."""
        return self._kept_object("_output_schema", self.output_schema_json)

    @classmethod
    def from_proto(cls, message: pb.Tool) -> Tool:
        """Return the value of a message."""
        return cls(
            tool_name=message.tool_name,
            context_type=message.context_type,
            description=message.description,
            input_schema_json=message.input_schema_json,
            read_only=message.read_only,
            destructive=message.destructive,
            idempotent=message.idempotent,
            output_schema_json=message.output_schema_json,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resource(Value):
    """A record of an entity, named as in the Model Context Protocol."""

    # "wm://{working_memory_id}".
    uri: str = ""
    # This and the fields below are those of the record.
    name: str = ""
    description: str = ""
    content_type: str = ""
    size_bytes: int = 0

    @classmethod
    def from_proto(cls, message: pb.Resource) -> Resource:
        """Return the value of a message."""
        return cls(
            uri=message.uri,
            name=message.name,
            description=message.description,
            content_type=message.content_type,
            size_bytes=message.size_bytes,
        )
