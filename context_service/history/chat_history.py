"""Chat history, rebuilt from the entity graph: `GetChatHistory` and `StreamChatHistory`.

Messages are not stored: they are read off the graph each time, so the graph stays the only truth. Walk, map, order: a
page of nodes comes from the walk, `NodeMapper` gives each node's messages, and the order is the walk's own unless the
mapping has another.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from context_service.graph import EntityGraph, GraphNode
from context_service.history.limits import DEFAULTS, HistoryLimits
from context_service.history.messages import ChatMessage
from context_service.history.newest import read_back
from context_service.history.node_mapper import OrderKey, Skipped, sorted_by_key
from context_service.history.reading import Reading, begin, within_budget
from context_service.history.registry import MappingRegistry
from contextkeep.errors import InvalidArgument
from service_runtime.auth import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuestion:
    """Which history, read how."""

    node_id: str
    app_id: str
    mapping_name: str  # empty: the default
    max_messages: int  # 0: all; else the last N of the mapping's order
    strict: bool  # fail on the first node on which a rule fails


@dataclass(slots=True, kw_only=True)
class History:
    """A whole history."""

    messages: list[ChatMessage] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)


class ChatHistories:
    """Reads chat histories: graph and mapping to messages."""

    def __init__(self, graph: EntityGraph, mappings: MappingRegistry, limits: HistoryLimits = DEFAULTS) -> None:
        self._graph = graph
        self._mappings = mappings
        self._limits = limits

    async def whole(self, principal: Principal, question: HistoryQuestion) -> History:
        """Return the messages in the mapping's order.

        Raises:
            InvalidArgument: `max_messages` is negative.
            NodeNotFound: the node is not there.
            MappingNotFound: the mapping is not.
            MappingFailed: a rule failed on a node of a strict call.
            CostExceeded: the expressions cost more than a call may spend.
            Unavailable: the Entity Service does not answer.
        """
        history = History()
        async with aclosing(self.stream(principal, question, history.skipped)) as pages:
            async for messages in pages:
                history.messages += messages
        return history

    async def stream(
        self, principal: Principal, question: HistoryQuestion, skipped: Skipped
    ) -> AsyncGenerator[list[ChatMessage], None]:
        """Yield the messages in the mapping's order, page by page; count what is skipped in `skipped`.

        Raises:
            The errors of `whole`.
        """
        if question.max_messages < 0:
            raise InvalidArgument("max_messages is negative", field="max_messages")
        mapping = await self._mappings.find(principal, question.app_id, question.mapping_name)
        reading = await begin(
            self._graph, mapping, question.node_id, self._limits, skipped=skipped, strict=question.strict
        )
        with within_budget():
            if mapping.order_by is not None:
                yield await self._ordered(reading, question.max_messages)
            elif question.max_messages:
                yield await self._newest(reading, question.max_messages)
            else:
                async with aclosing(self._graph.walk(reading.walk, descending=mapping.descending)) as pages:
                    async for page in pages:
                        yield await reading.mapper.messages(page.nodes)

    async def _newest(self, reading: Reading, count_max: int) -> list[ChatMessage]:
        """Read from the end of the mapping's order until there are enough messages."""
        of_nodes: list[list[ChatMessage]] = []  # the last node first

        async def read(node: GraphNode) -> int:
            of_nodes.append(await reading.mapper.messages([node]))
            return len(of_nodes[-1])

        await read_back(self._graph, reading, count_max, read)
        return [message for messages in reversed(of_nodes) for message in messages][-count_max:]

    async def _ordered(self, reading: Reading, count_max: int) -> list[ChatMessage]:
        """Read all, then sort by the mapping's own order."""
        of_nodes: list[tuple[OrderKey | None, list[ChatMessage]]] = []
        async with aclosing(self._graph.walk(reading.walk)) as pages:
            async for page in pages:
                for node in page.nodes:
                    if messages := await reading.mapper.messages([node]):
                        of_nodes.append((reading.mapper.order_key(node), messages))
        ordered = await sorted_by_key(of_nodes, descending=reading.mapping.descending)
        return [message for messages in ordered for message in messages][-count_max:]  # -0 is 0: all of them
