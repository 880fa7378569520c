"""The newest messages, read from the end of the mapping's order: what is older is never walked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing

from context_service.graph import EntityGraph, GraphNode
from context_service.history.reading import Reading

_LIMIT_MIN = 16
_LIMIT_MAX = 1000
_FEW = 200  # of several levels, are found without a visit to all


async def read_back(
    graph: EntityGraph, reading: Reading, count_max: int, read: Callable[[GraphNode], Awaitable[int]]
) -> None:
    """Read nodes from the end of the mapping's order until there are enough messages, or no more nodes.

    Args:
        graph: Where the nodes are.
        reading: The mapping and its walk.
        count_max: How many messages are enough; at least 1.
        read: Reads a node and returns how many messages it gives. The last node that it gets is the one that made it
            enough.
    """
    count, page_token, limit = 0, "", max(count_max, _LIMIT_MIN)
    if reading.walk.depth_max > 1 and limit < _FEW:
        limit = min(limit * 2, _FEW)  # some of them only hold others together, such as turns
    while count < count_max:
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
                    if count < count_max:  # the rest is passed over: a stream cut short would count as cancelled
                        count += await read(node)
        if not page_token:
            return
        limit *= 2  # the mapping skips most nodes: fewer, larger pages
