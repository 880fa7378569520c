"""The newest messages, read from the end of the mapping's order, so that older nodes are never read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing

from context_service.history.model import ChatMessage
from context_service.history.rules.walk import HistoryRead
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphNode
from context_service.kernel.parts import texts_of, tokens_of
from service_runtime.documents import beside_the_loop

_LIMIT_MIN = 16
_LIMIT_MAX = 1000
_FEW = 200  # of several levels, are found without a visit to all


class Newest:
    """The newest messages that fit, gathered from the last one back.

    Args:
        count_max: How many messages at most; 0: any number.
        tokens_max: How many tokens they have together at most; 0: any number.
        count: Counts those of a text.
    """

    def __init__(self, *, count_max: int, tokens_max: int, count: Callable[[str], int]) -> None:
        self._count_max = count_max
        self._tokens_max = tokens_max
        self._count = count
        self._taken: list[tuple[ChatMessage, int]] = []  # the last message first, with its tokens
        self._tokens = 0
        self.is_cut = False  # there is one more, and its tokens do not fit

    async def add(self, messages: Sequence[ChatMessage]) -> bool:
        """Take what fits of the messages before those that were added; return whether it is enough now."""
        if not self._tokens_max:
            return self._add(messages)
        size = sum(len(text) for message in messages for text in texts_of(message.content, message.parts))
        return await beside_the_loop(size, self._add, messages)

    def _add(self, messages: Sequence[ChatMessage]) -> bool:
        for message in reversed(messages):
            tokens = tokens_of(message.content, message.parts, count=self._count) if self._tokens_max else 0
            if self._tokens_max and self._tokens + tokens > self._tokens_max:
                self.is_cut = True
                return True
            self._taken.append((message, tokens))
            self._tokens += tokens
            if len(self._taken) == self._count_max:
                return True
        return False

    def fitting(self) -> tuple[list[ChatMessage], int]:
        """Return the messages, oldest first, and their tokens together.

        Within `tokens_max` calls and results are whole: a tool's message whose calls are not among them is left out.
        """
        if not self._tokens_max:
            return [message for message, _ in reversed(self._taken)], 0
        kept = list(_whole(self._taken[::-1]))
        return [message for message, _ in kept], sum(tokens for _, tokens in kept)


def _whole(taken: Sequence[tuple[ChatMessage, int]]) -> Iterator[tuple[ChatMessage, int]]:
    """Yield messages without those that are results of calls before the first of them."""
    called = {part.tool_call.id for message, _ in taken for part in message.parts if part.tool_call}
    has_called = False
    for message, tokens in taken:
        results = [part.tool_result for part in message.parts if part.tool_result]
        has_called = has_called or any(part.tool_call for part in message.parts)
        # A tool's message that names no call answers one before it.
        answers = any(result.tool_call_id in called for result in results) if results else has_called
        if message.role != "tool" or answers:
            yield message, tokens


async def read_back(
    graph: EntityGraph, reading: HistoryRead, expected: int, read: Callable[[GraphNode], Awaitable[bool]]
) -> None:
    """Read nodes from the end of the mapping's order until there are enough messages, or no more nodes.

    Args:
        graph: Where the nodes are.
        reading: The mapping and its walk.
        expected: How many nodes will do, if each gives a message; at least 1.
        read: Reads a node and returns whether it is enough now. The last node that it gets is the one that made it
            enough.
    """
    page_token, limit, is_enough = "", max(expected, _LIMIT_MIN), False
    if reading.walk.depth_max > 1 and limit < _FEW:
        limit = min(limit * 2, _FEW)  # some of them only hold others together, such as turns
    while not is_enough:
        pages = graph.walk(
            reading.walk,
            descending=not reading.mapping.descending,
            limit=min(limit, _LIMIT_MAX),
            page_token=page_token,
        )
        async with aclosing(pages):
            async for page in pages:
                page_token = page.next_page_token
                for node in page.nodes:
                    if not is_enough:  # the rest is passed over: a stream cut short would count as cancelled
                        is_enough = await read(node)
        if not page_token:
            return
        limit *= 2  # the mapping skips most nodes: fewer, larger pages
