"""A conversation in the format of a model's vendor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contextkeep._gen.values_chat_history import BodyFile
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.values.base import Value
from contextkeep.values.bases import body_with_files, json_with_files


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FormattedHistory(Value):
    """A conversation for the body of a request to a model."""

    formatted_json: str
    nodes_failed: int = 0  # as in ChatHistory, the next too
    roles_unknown: int = 0
    tool_results_left_out: int = 0  # their calls are not among the messages, or a later result replaces them
    tool_calls_unanswered: int = 0  # before the last turn; they got a result that says so
    tokens: int = 0  # as in ChatHistory, the next too
    is_cut: bool = False
    files: tuple[BodyFile, ...] = ()  # whose bytes `formatted_json` lacks, and `body` has
    file_bytes: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def body(self) -> dict[str, Any]:
        """Return the body of a request: `messages` (and `system`), Gemini's `contents`, or Responses' `input`."""
        return body_with_files(self.formatted_json, self.files, self.file_bytes)

    @property
    def body_json(self) -> str:
        """Return the body of a request as JSON, with the bytes of its files."""
        return json_with_files(self.formatted_json, self.files, self.file_bytes)

    def __str__(self) -> str:
        return self.formatted_json

    @classmethod
    def from_proto(cls, response: history_pb.GetChatHistoryResponse) -> FormattedHistory:
        """Return the value of a message."""
        return cls(
            formatted_json=response.formatted_json,
            nodes_failed=response.nodes_failed,
            roles_unknown=response.roles_unknown,
            tool_results_left_out=response.tool_results_left_out,
            tool_calls_unanswered=response.tool_calls_unanswered,
            tokens=response.tokens,
            is_cut=response.is_cut,
            files=tuple(map(BodyFile.from_proto, response.files)),
        )
