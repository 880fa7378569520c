"""ChatHistory: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator

from context_service.history.assembly import ContextAssembly, Question, Skipped
from context_service.history.messages import ChatMessage, Part
from context_service.history.registry import MappingRegistry
from context_service.servicers import mappings
from contextgraph.context.v1 import chat_history_pb2 as pb
from contextgraph.context.v1 import chat_history_pb2_grpc, message_pb2
from contextgraph.errors import AnswerTooLarge
from service_runtime import calls
from service_runtime.ids import parse_id

ANSWER_BYTES_MAX = 4 * 1024 * 1024 - 4096  # gRPC's default, less the headers
STREAM_BYTES = 1024 * 1024
STREAM_ROWS = 1000


class ChatHistoryServicer(chat_history_pb2_grpc.ChatHistoryServicer):
    """Histories over gRPC."""

    def __init__(self, assembly: ContextAssembly, registry: MappingRegistry) -> None:
        self._assembly = assembly
        self._registry = registry

    async def GetChatHistory(self, request: pb.GetChatHistoryRequest, context: object) -> pb.GetChatHistoryResponse:
        """Answer a whole history."""
        history = await self._assembly.chat_history(calls.principal(), _question(request))
        response = pb.GetChatHistoryResponse(
            nodes_failed=history.skipped.nodes_failed, roles_unknown=history.skipped.roles_unknown
        )
        for message in history.messages:
            _fill(response.messages.add(), message)
        if response.ByteSize() > ANSWER_BYTES_MAX:
            raise AnswerTooLarge(
                "the history does not fit one answer; use StreamChatHistory, or max_messages", use="StreamChatHistory"
            )
        return response

    async def StreamChatHistory(
        self, request: pb.StreamChatHistoryRequest, context: object
    ) -> AsyncIterator[pb.StreamChatHistoryResponse]:
        """Stream a history; the last message carries the counts."""
        skipped = Skipped()
        response = pb.StreamChatHistoryResponse()
        size_bytes = 0
        async for messages in self._assembly.stream(calls.principal(), _question(request), skipped):
            for message in messages:
                added = response.messages.add()
                _fill(added, message)
                message_bytes = added.ByteSize()
                size_bytes += message_bytes
                if size_bytes > STREAM_BYTES or len(response.messages) > STREAM_ROWS:
                    following = pb.StreamChatHistoryResponse(messages=[added])
                    del response.messages[-1]
                    if response.messages:
                        yield response
                    response, size_bytes = following, message_bytes
        response.nodes_failed = skipped.nodes_failed
        response.roles_unknown = skipped.roles_unknown
        yield response

    async def RegisterMapping(self, request: pb.RegisterMappingRequest, context: object) -> pb.RegisterMappingResponse:
        """Register rules under a name."""
        listed, changed = await self._registry.register(
            calls.principal(),
            request.app_id,
            request.mapping_name,
            mappings.rules(request.rules),
            rules_version=request.rules_version,
            replace=request.replace,
        )
        return pb.RegisterMappingResponse(mapping=mappings.mapping(listed), changed=changed)

    async def GetMapping(self, request: pb.GetMappingRequest, context: object) -> pb.GetMappingResponse:
        """Answer the mapping that a history would use."""
        listed = await self._registry.get(calls.principal(), request.app_id, request.mapping_name)
        return pb.GetMappingResponse(mapping=mappings.mapping(listed))

    async def ListMappings(self, request: pb.ListMappingsRequest, context: object) -> pb.ListMappingsResponse:
        """Answer a page of mappings."""
        listed, next_page_token = await self._registry.list(
            calls.principal(), request.app_id, requested_size=request.page_size, page_token=request.page_token
        )
        return pb.ListMappingsResponse(mappings=map(mappings.mapping, listed), next_page_token=next_page_token)

    async def DeleteMapping(self, request: pb.DeleteMappingRequest, context: object) -> pb.DeleteMappingResponse:
        """Remove a mapping."""
        listed = await self._registry.delete(calls.principal(), request.app_id, request.mapping_name)
        return pb.DeleteMappingResponse(mapping=mappings.mapping(listed))


def _question(request: pb.GetChatHistoryRequest | pb.StreamChatHistoryRequest) -> Question:
    return Question(
        node_id=str(parse_id("node_id", request.node_id)),
        app_id=request.app_id,
        mapping_name=request.mapping_name,
        max_messages=request.max_messages,
        strict=request.strict,
    )


def _fill(target: message_pb2.ChatMessage, message: ChatMessage) -> None:
    """Fill a message in its place: half the time of making one and copying it there."""
    target.role = message.role
    target.content = message.content
    target.node_id = message.node_id
    seconds, microseconds = divmod(message.created_at_us, 1_000_000)
    created_at = target.created_at
    created_at.seconds = seconds
    created_at.nanos = microseconds * 1000
    if message.name:
        target.name = message.name
    if message.parts:
        target.parts.extend(map(_part, message.parts))
    if message.metadata_json:
        target.metadata_json = message.metadata_json


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
