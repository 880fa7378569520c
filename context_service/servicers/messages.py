"""Chat messages and their parts, as they travel."""

from __future__ import annotations

from context_service.history.formats import Format
from context_service.history.messages import ChatMessage, Part
from contextgraph.context.v1 import chat_history_pb2, message_pb2
from contextgraph.errors import InvalidArgument


def fill(target: message_pb2.ChatMessage, message: ChatMessage) -> None:
    """Fill a message in its place: half the time of making one and copying it there."""
    role, content, node_id, created_at_us, name, parts, metadata_json = message
    target.role = role
    target.content = content
    target.node_id = node_id
    seconds, microseconds = divmod(created_at_us, 1_000_000)
    created_at = target.created_at
    created_at.seconds = seconds
    created_at.nanos = microseconds * 1000
    if name:
        target.name = name
    if parts:
        target.parts.extend(map(_part, parts))
    if metadata_json:
        target.metadata_json = metadata_json


def message_format(value: int) -> Format | None:
    """Return whose messages are wanted; None: ours.

    Raises:
        InvalidArgument: a newer client names a format that this server does not know.
    """
    match value:
        case chat_history_pb2.MESSAGE_FORMAT_UNSPECIFIED:
            return None
        case chat_history_pb2.MESSAGE_FORMAT_OPENAI:
            return Format.OPENAI
        case chat_history_pb2.MESSAGE_FORMAT_ANTHROPIC:
            return Format.ANTHROPIC
    raise InvalidArgument(f"format {value} is unknown", field="format")


def _part(part: Part) -> message_pb2.Part:
    message = message_pb2.Part(
        text=part.text,
        data_json=part.data_json,
        working_memory_id=part.working_memory_id,
        url=part.url,
        media_type=part.media_type,
        file_name=part.file_name,
        metadata_json=part.metadata_json,
    )
    if part.tool_call:
        call = part.tool_call
        message.tool_call.CopyFrom(message_pb2.ToolCall(id=call.id, name=call.name, arguments_json=call.arguments_json))
    if part.tool_result:
        result = part.tool_result
        message.tool_result.CopyFrom(
            message_pb2.ToolResult(
                tool_call_id=result.tool_call_id, content_json=result.content_json, is_error=result.is_error
            )
        )
    return message
