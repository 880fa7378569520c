"""Chat history, rebuilt from the entity graph: `GetChatHistory` and `StreamChatHistory`.

Messages are not stored: they are read from the graph each time, so no copy can differ from the graph. A walk gives
pages of nodes, `NodeMapper` gives the messages of each node, and the order is that of the walk, unless the mapping has
another order.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from context_service.history.model import ChatMessage
from context_service.history.pure.formats import record_ids, with_files
from context_service.history.pure.limits import DEFAULTS, HistoryLimits
from context_service.history.pure.message_tokens import tokens_of_message
from context_service.history.pure.node_mapper import Skipped
from context_service.history.pure.places import Place, in_order
from context_service.history.rules.newest import Newest, read_back
from context_service.history.rules.registry import MappingRegistry
from context_service.history.rules.walk import HistoryRead, begin, within_budget
from context_service.kernel.files.models import media_model
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphNode
from context_service.kernel.parts import File, texts_of
from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from contextkeep.errors import InvalidArgument, MappingFailed
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal

# Finds the files of records that the principal may read, by the ids of the records.
FilesOf = Callable[[Collection[str], Principal], Awaitable[Mapping[str, File]]]

_FAMILIES = {Format.ANTHROPIC: "claude", Format.GEMINI: "gemini"}  # of tokens; else OpenAI's
_MESSAGE_TOKENS = 100  # estimated size of a message, for the number of nodes to read


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuestion:
    """The history to read, and its limits and order."""

    node_id: str
    app_id: str
    mapping_name: str  # empty takes the default mapping
    max_messages: int  # only the last N messages of the mapping's order; 0 takes all
    strict: bool  # fail on the first node on which a rule fails
    tokens_max: int = 0  # only the newest messages that fit, with whole groups of calls and results; 0 takes all
    tokens_format: Format = Format.OPENAI  # the vendor whose tokens are counted


@dataclass(slots=True, kw_only=True)
class Left:
    """Counts of the messages that a history contains, and of those that it leaves out."""

    skipped: Skipped = field(default_factory=Skipped)
    tokens: int = 0  # the tokens of the messages; counted only with `tokens_max`
    is_cut: bool = False  # an older message does not fit `tokens_max`


@dataclass(slots=True, kw_only=True)
class History:
    """All messages of a history, with their counts."""

    messages: list[ChatMessage] = field(default_factory=list)
    left: Left = field(default_factory=Left)


class ChatHistories:
    """Reads chat histories: graph and mapping to messages.

    Args:
        graph: The Entity Service.
        mappings: The mappings of tenants.
        limits: The limits of mappings and walks.
        files_of: Finds the files of records, to count them; without it, records count as no files.
    """

    def __init__(
        self,
        graph: EntityGraph,
        mappings: MappingRegistry,
        limits: HistoryLimits = DEFAULTS,
        *,
        files_of: FilesOf | None = None,
    ) -> None:
        self._graph = graph
        self._mappings = mappings
        self._limits = limits
        self._files_of = files_of

    async def whole(self, principal: Principal, question: HistoryQuestion) -> History:
        """Return the messages in the mapping's order.

        Raises:
            InvalidArgument: `max_messages` or `tokens_max` is negative.
            NodeNotFound: there is no such node.
            MappingNotFound: there is no such mapping.
            MappingFailed: a rule failed on a node, and the call is strict; or no node has a value to order by.
            CostExceeded: the expressions cost more than a call may spend.
            Unavailable: the Entity Service does not answer.
        """
        history = History()
        async with aclosing(self.stream(principal, question, history.left)) as pages:
            async for messages in pages:
                history.messages += messages
        return history

    async def stream(
        self, principal: Principal, question: HistoryQuestion, rest: Left
    ) -> AsyncGenerator[list[ChatMessage], None]:
        """Yield the messages in the mapping's order, page by page, and count in `rest` the messages that are left out.

        Raises:
            The errors of `whole`.
        """
        for name in ("max_messages", "tokens_max"):
            if (value := getattr(question, name)) < 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {value})", field=name)
        mapping = await self._mappings.find(principal, question.app_id, question.mapping_name)
        reading = await begin(
            self._graph, mapping, question.node_id, self._limits, skipped=rest.skipped, strict=question.strict
        )
        with within_budget():
            if mapping.sorts:
                yield await self._in_order(reading, self._collector(question, principal), rest)
            elif question.max_messages or question.tokens_max:
                yield await self._newest(reading, question, self._collector(question, principal), rest)
            else:
                async with aclosing(self._graph.walk(reading.walk, descending=mapping.descending)) as pages:
                    async for page in pages:
                        yield await reading.mapper.messages(page.nodes)

    def _collector(self, question: HistoryQuestion, principal: Principal) -> Newest:
        """Return a collector for the newest messages that a question asks for."""
        texts = TokenCounter(_FAMILIES.get(question.tokens_format, "o200k"))
        model = media_model("", question.tokens_format)

        async def count(messages: Sequence[ChatMessage]) -> Sequence[int]:
            files = await self._files_of(record_ids(messages), principal) if self._files_of else {}
            counted = with_files(messages, files) if files else messages
            size = sum(len(text) for message in counted for text in texts_of(message.content, message.parts))
            return await beside_the_loop(
                size, lambda: [tokens_of_message(message, model, count=texts.count) for message in counted]
            )

        return Newest(count_max=question.max_messages, tokens_max=question.tokens_max, count=count)

    async def _newest(
        self, reading: HistoryRead, question: HistoryQuestion, newest: Newest, rest: Left
    ) -> list[ChatMessage]:
        """Read from the end of the mapping's order until there are enough messages."""

        async def read(node: GraphNode) -> bool:
            return await newest.add(await reading.mapper.messages([node]))

        expected = [question.max_messages, -(-question.tokens_max // _MESSAGE_TOKENS)]
        await read_back(self._graph, reading, min(filter(None, expected)), read)
        return _fitting(newest, rest)

    async def _in_order(self, reading: HistoryRead, newest: Newest, rest: Left) -> list[ChatMessage]:
        """Read all nodes, then bring them into the mapping's own order and groups.

        Raises:
            MappingFailed: no node with messages has a value to order by.
        """
        mapper, mapping = reading.mapper, reading.mapping
        of_nodes: list[tuple[Place, list[ChatMessage]]] = []
        async with aclosing(self._graph.walk(reading.walk)) as pages:
            async for page in pages:
                for node in page.nodes:
                    messages = await mapper.messages([node])
                    if messages or mapping.group_by is not None:  # a node without messages may begin a group
                        of_nodes.append((mapper.place(node), messages))
        with_messages = [(place.key, messages) for place, messages in of_nodes if messages]
        if len(with_messages) > 1 and all(key is None for key, _ in with_messages):
            raise _no_order(reading, with_messages[0][1][0].node_id)
        ordered = await in_order(of_nodes, descending=mapping.descending)
        for messages in reversed(ordered):
            if await newest.add(messages):
                break
        return _fitting(newest, rest)


def _no_order(reading: HistoryRead, node_id: str) -> MappingFailed:
    """Return the error for a history in which no node has a value to order by: probably the mapping is wrong."""
    order_by = reading.mapping.order_by
    assert order_by is not None, "only an order of its own fails"
    return MappingFailed(
        f"{order_by.place} gives no node of this history a number, a text or a time:"
        f" {reading.mapper.order_error or 'its values have no order'}. Without it, nodes are ordered by created_at;"
        " TestMapping shows its value on each node",
        node_id=node_id,
        rule=order_by.place,
    )


def _fitting(newest: Newest, rest: Left) -> list[ChatMessage]:
    """Return the collected messages that fit, oldest first; store in `rest` their tokens and whether others do not."""
    messages, rest.tokens = newest.fitting()
    rest.is_cut = newest.is_cut
    return messages
