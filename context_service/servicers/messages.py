"""Chat messages and their parts, as they travel."""

from __future__ import annotations

from context_service.history.formats import Format
from context_service.history.messages import ChatMessage
from context_service.parts import Part
from contextkeep.context.v1 import chat_history_pb2, message_pb2
from contextkeep.errors import InvalidArgument


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
    for part in parts:
        _fill_part(target.parts.add(), part)
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
        case chat_history_pb2.MESSAGE_FORMAT_GEMINI:
            return Format.GEMINI
    raise InvalidArgument(f"format {value} is unknown", field="format")


def _fill_part(target: message_pb2.Part, part: Part) -> None:
    if part.text is not None:
        target.text = part.text
    elif part.data_json is not None:
        target.data_json = part.data_json
    elif part.working_memory_id is not None:
        target.working_memory_id = part.working_memory_id
    elif part.url is not None:
        target.url = part.url
    elif part.tool_call:
        call = target.tool_call
        call.id = part.tool_call.id
        call.name = part.tool_call.name
        call.arguments_json = part.tool_call.arguments_json
    elif part.tool_result:
        result = target.tool_result
        result.tool_call_id = part.tool_result.tool_call_id
        result.content_json = part.tool_result.content_json
        result.is_error = part.tool_result.is_error
    target.media_type = part.media_type
    target.file_name = part.file_name
    target.metadata_json = part.metadata_json
