"""ChatHistory: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator

from context_service.entity_history import wire as events
from context_service.entity_history.rules import EntityHistory, EntityQuestion
from context_service.history.model import size_bytes
from context_service.history.rules.assemble_context import AssemblyQuestion, ContextAssembly
from context_service.history.rules.chat_history import ChatHistories, HistoryQuestion, Left
from context_service.history.rules.format_history import ANSWER_BYTES_MAX, Formatting
from context_service.history.rules.registry import MappingRegistry
from context_service.history.rules.trial import MappingTrials
from context_service.history.wire import mappings, messages, nodes, trials
from context_service.kernel.rendering import Format
from context_service.kernel.wire.files import body_files, is_inline
from context_service.kernel.wire.node_names import NodeNames
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1 import chat_history_pb2_grpc, message_pb2
from contextkeep.errors import AnswerTooLarge
from service_runtime.rpc import calls
from service_runtime.values.copying import copied

STREAM_BYTES = 1024 * 1024
STREAM_ROWS = 1000


class ChatHistoryServicer(chat_history_pb2_grpc.ChatHistoryServicer):
    """Histories over gRPC."""

    def __init__(
        self,
        histories: ChatHistories,
        assembly: ContextAssembly,
        trials: MappingTrials,
        entities: EntityHistory,
        registry: MappingRegistry,
        names: NodeNames,
        formatting: Formatting,
    ) -> None:
        self._histories = histories
        self._formatting = formatting
        self._assembly = assembly
        self._trials = trials
        self._entities = entities
        self._registry = registry
        self._names = names

    async def GetChatHistory(self, request: pb.GetChatHistoryRequest, context: object) -> pb.GetChatHistoryResponse:
        """Return a whole chat history."""
        to = messages.message_format(request.format)
        history = await self._histories.whole(calls.principal(), await self._question(request, to))
        response = pb.GetChatHistoryResponse(
            nodes_failed=history.left.skipped.nodes_failed,
            roles_unknown=history.left.skipped.roles_unknown,
            tokens=history.left.tokens,
            is_cut=history.left.is_cut,
        )
        if to is None:
            add = response.messages.add
            for index, message in enumerate(history.messages):
                messages.fill(add(), message)
                if index % STREAM_ROWS == 0:
                    await calls.give_way()
        else:
            result = await self._formatting.format(
                history.messages, to, principal=calls.principal(), is_inline=is_inline(request.files)
            )
            response.formatted_json = result.body_json
            response.files.extend(body_files(result.files))
            response.tool_results_left_out = result.results_left_out
            response.tool_calls_unanswered = result.calls_unanswered
        if response.ByteSize() > ANSWER_BYTES_MAX:
            if to is not None:
                raise AnswerTooLarge(
                    "the history does not fit one response; set max_messages or tokens_max", use="max_messages"
                )
            raise AnswerTooLarge(
                "the history does not fit one response; use StreamChatHistory, or set max_messages",
                use="StreamChatHistory",
            )
        return response

    async def StreamChatHistory(
        self, request: pb.StreamChatHistoryRequest, context: object
    ) -> AsyncIterator[pb.StreamChatHistoryResponse]:
        """Stream a history; the last message carries the counts."""
        rest = Left()
        response = pb.StreamChatHistoryResponse()
        add = response.messages.add
        rows = response_bytes = 0
        async for page in self._histories.stream(calls.principal(), await self._question(request), rest):
            for message in page:
                message_bytes = size_bytes(message)
                if rows and (rows == STREAM_ROWS or response_bytes + message_bytes > STREAM_BYTES):
                    yield response
                    response = pb.StreamChatHistoryResponse()
                    add = response.messages.add
                    rows = response_bytes = 0
                next_message = add()
                messages.fill(next_message, message)
                if message_bytes > ANSWER_BYTES_MAX:
                    _check_fits(next_message)
                rows += 1
                response_bytes += message_bytes
        response.nodes_failed = rest.skipped.nodes_failed
        response.roles_unknown = rest.skipped.roles_unknown
        response.tokens = rest.tokens
        response.is_cut = rest.is_cut
        yield response

    async def AssembleContext(self, request: pb.AssembleContextRequest, context: object) -> pb.AssembleContextResponse:
        """Return a page of the nodes of a history, each with its messages and skipped rules."""
        page = await self._assembly.page(
            calls.principal(),
            copied(
                AssemblyQuestion,
                request,
                node_id=str(await self._names.id_of("node_id", request.node_id, request)),
                data_paths=tuple(request.data_paths),
            ),
        )
        response = pb.AssembleContextResponse(next_page_token=page.next_page_token)
        for row in page.nodes:
            nodes.fill(response.nodes.add(), row)
        if response.ByteSize() > ANSWER_BYTES_MAX:
            raise AnswerTooLarge(
                "a node and its messages do not fit one response; use StreamChatHistory", use="StreamChatHistory"
            )
        return response

    async def TestMapping(self, request: pb.TestMappingRequest, context: object) -> pb.TestMappingResponse:
        """Test the rules of a mapping without registering them."""
        node_id = await self._names.optional_id_of("node_id", request.node_id, request)
        page = await self._trials.page(calls.principal(), trials.trial(request, node_id))
        response = pb.TestMappingResponse(
            nodes=map(trials.node_trial, page.nodes), next_page_token=page.next_page_token
        )
        if response.ByteSize() > ANSWER_BYTES_MAX:
            raise AnswerTooLarge(
                "a node and its messages do not fit one response; use StreamChatHistory", use="StreamChatHistory"
            )
        return response

    async def FetchEntityHistory(
        self, request: pb.FetchEntityHistoryRequest, context: object
    ) -> pb.FetchEntityHistoryResponse:
        """Return a page of the events of an entity."""
        question = copied(
            EntityQuestion, request, node_id=str(await self._names.id_of("node_id", request.node_id, request))
        )
        page = await self._entities.page(calls.principal(), question)
        return pb.FetchEntityHistoryResponse(
            events=[events.event(question.node_id, event) for event in page.events],
            next_page_token=page.next_page_token,
        )

    async def RegisterMapping(self, request: pb.RegisterMappingRequest, context: object) -> pb.RegisterMappingResponse:
        """Register rules under a name."""
        mapping, is_changed = await self._registry.register(
            calls.principal(),
            request.app_id,
            request.mapping_name,
            mappings.rules(request.rules),
            rules_version=request.rules_version,
            replace=request.replace,
        )
        return pb.RegisterMappingResponse(mapping=mappings.mapping(mapping), changed=is_changed)

    async def GetMapping(self, request: pb.GetMappingRequest, context: object) -> pb.GetMappingResponse:
        """Return the mapping that a history of this name would use."""
        mapping = await self._registry.get(calls.principal(), request.app_id, request.mapping_name)
        return pb.GetMappingResponse(mapping=mappings.mapping(mapping))

    async def ListMappings(self, request: pb.ListMappingsRequest, context: object) -> pb.ListMappingsResponse:
        """Return a page of mappings."""
        rows, next_page_token = await self._registry.list(
            calls.principal(), request.app_id, requested_size=request.page_size, page_token=request.page_token
        )
        return pb.ListMappingsResponse(mappings=map(mappings.mapping, rows), next_page_token=next_page_token)

    async def DeleteMapping(self, request: pb.DeleteMappingRequest, context: object) -> pb.DeleteMappingResponse:
        """Remove a mapping."""
        mapping = await self._registry.delete(calls.principal(), request.app_id, request.mapping_name)
        return pb.DeleteMappingResponse(mapping=mappings.mapping(mapping))

    async def _question(
        self, request: pb.GetChatHistoryRequest | pb.StreamChatHistoryRequest, to: Format | None = None
    ) -> HistoryQuestion:
        """Return the question of a request, with its node as an id.

        Args:
            request: The request, which names a node by its id or by an external id.
            to: The format of the answer. Its vendor decides how tokens are counted.
        """
        return copied(
            HistoryQuestion,
            request,
            node_id=str(await self._names.id_of("node_id", request.node_id, request)),
            tokens_format=to or Format.OPENAI,
        )


def _check_fits(message: message_pb2.ChatMessage) -> None:
    """Refuse a message that is too large for any answer.

    Raises:
        AnswerTooLarge: the message has more than `ANSWER_BYTES_MAX` bytes.
    """
    message_bytes = message.ByteSize()
    if message_bytes > ANSWER_BYTES_MAX:
        raise AnswerTooLarge(
            f"a message may have up to {ANSWER_BYTES_MAX} bytes (got {message_bytes});"
            " let the mapping read less of its node",
            node_id=message.node_id,
            size_bytes=message_bytes,
            size_bytes_max=ANSWER_BYTES_MAX,
        )
