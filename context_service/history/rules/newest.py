"""The newest messages, read from the end of the mapping's order, so that older nodes are never read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing

from context_service.history.model import ChatMessage
from context_service.history.rules.walk import HistoryRead
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphNode

CountTokens = Callable[[Sequence[ChatMessage]], Awaitable[Sequence[int]]]

_LIMIT_MIN = 16
_LIMIT_MAX = 1000
_FEW = 200  # with a few levels, the newest nodes are found without visiting all nodes


class Newest:
    """Collects the newest messages that fit, from the last one backwards.

    Args:
        count_max: The number of messages at most; 0 sets no limit.
        tokens_max: The tokens of all messages together at most; 0 sets no limit.
        count: A function that counts the tokens of each of some messages.
    """

    def __init__(self, *, count_max: int, tokens_max: int, count: CountTokens) -> None:
        self._count_max = count_max
        self._tokens_max = tokens_max
        self._count = count
        self._taken: list[tuple[ChatMessage, int]] = []  # the last message first, with its tokens
        self._tokens = 0
        self.is_cut = False  # there is one more, and its tokens do not fit

    async def add(self, messages: Sequence[ChatMessage]) -> bool:
        """Add as many of these older messages as fit, the newest first; return whether the limit is reached."""
        tokens_of_each = await self._count(messages) if self._tokens_max else [0] * len(messages)
        for message, tokens in zip(reversed(messages), reversed(tokens_of_each), strict=True):
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

        With `tokens_max`, calls and results stay together: a tool message is left out if its calls are not included.
        """
        if not self._tokens_max:
            return [message for message, _ in reversed(self._taken)], 0
        newest = list(_whole(self._taken[::-1]))
        return [message for message, _ in newest], sum(tokens for _, tokens in newest)


def _whole(messages: Sequence[tuple[ChatMessage, int]]) -> Iterator[tuple[ChatMessage, int]]:
    """Yield messages without the results of calls that came before the first message."""
    called = {part.tool_call.id for message, _ in messages for part in message.parts if part.tool_call}
    has_called = False
    for message, tokens in messages:
        results = [part.tool_result for part in message.parts if part.tool_result]
        has_called = has_called or any(part.tool_call for part in message.parts)
        # A tool message without a call id answers a call before it.
        answers = any(result.tool_call_id in called for result in results) if results else has_called
        if message.role != "tool" or answers:
            yield message, tokens


async def read_back(
    graph: EntityGraph, reading: HistoryRead, expected: int, read_node: Callable[[GraphNode], Awaitable[bool]]
) -> None:
    """Read nodes from the end of the mapping's order until there are enough messages, or no more nodes.

    Args:
        graph: The Entity Service, read as the caller.
        reading: The mapping, and the walk that it uses.
        expected: An estimate of how many nodes must be read, if each gives one message; at least 1.
        read_node: Reads a node, and returns whether there are enough messages now. It is not called again after it
            has returned True.
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
                        is_enough = await read_node(node)
        if not page_token:
            return
        limit *= 2  # the mapping skips most nodes: fewer, larger pages
