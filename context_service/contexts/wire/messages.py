"""Messages of contexts, from values to protobuf."""

from __future__ import annotations

from context_service.contexts.model import Message
from context_service.history.wire.messages import fill_part
from context_service.kernel.wire import times
from contextkeep.context.v1 import message_pb2


def fill(target: message_pb2.ChatMessage, message: Message) -> None:
    """Fill a protobuf message in place from a message of a context."""
    target.role = message.role
    target.content = message.content
    target.name = message.name
    for part in message.parts:
        fill_part(target.parts.add(), part)
    target.metadata_json = message.metadata_json
    target.message_id = message.message_id
    target.seq = message.seq
    target.agent_id = message.agent_id
    target.tokens = message.tokens
    target.created_at.CopyFrom(times.timestamp(message.created_at))
    target.said_at.CopyFrom(times.timestamp(message.said_at))
    if message.task_id:
        target.task_id = str(message.task_id)
    if message.reference_task_ids:
        target.reference_task_ids.extend(map(str, message.reference_task_ids))
    target.is_imported = message.is_imported
