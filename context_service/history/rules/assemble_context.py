"""`AssembleContext`: the nodes of a history with their messages, the rules that gave them, and why others gave none.

It reads nodes as `chat_history` does, one page at a time. In the order of `created_at` a page begins after the last
node of the earlier page, so all pages cost the same. Any other order is computed again for each page.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NamedTuple

from context_service.history.model import size_bytes
from context_service.history.pure.limits import DEFAULTS, HistoryLimits
from context_service.history.pure.mapping_rules import path_steps
from context_service.history.pure.node_mapper import MappedNode
from context_service.history.rules.newest import read_back
from context_service.history.rules.registry import MappingRegistry
from context_service.history.rules.walk import HistoryRead, begin, within_budget
from context_service.kernel.cel import EvaluationError
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphNode
from contextkeep.errors import AnswerTooLarge, InvalidArgument, InvalidPageToken
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token, is_place, page_size
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_count, check_text, utf8_bytes

PATHS_MAX = 32
_NOTHING = object()
_NODE_BYTES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyQuestion:
    """The history to read, and which page of it."""

    node_id: str
    app_id: str
    mapping_name: str  # empty takes the default mapping
    max_messages: int  # only the last N messages of the mapping's order; 0 takes all
    data_paths: Sequence[str]  # paths of values in the nodes that the answer also has
    page_size: int  # nodes
    page_token: str


class AssembledNode(NamedTuple):
    """A node of the history, with its messages and skipped rules."""

    node: GraphNode
    outcome: MappedNode
    values_json: str  # the values at the requested paths; empty if there are none


class AssembledPage(NamedTuple):
    """Some nodes, in the mapping's order."""

    nodes: list[AssembledNode]
    next_page_token: str


class _Start(NamedTuple):
    """Where a page begins."""

    created_at_us: int  # the time of the node after which the page begins
    seq: int
    position: int  # the position of that node in an order by value
    left: int  # the number of messages that the next pages may have; -1 means all


class ContextAssembly:
    """Reads histories with their provenance, for `AssembleContext`."""

    def __init__(self, graph: EntityGraph, mappings: MappingRegistry, limits: HistoryLimits = DEFAULTS) -> None:
        self._graph = graph
        self._mappings = mappings
        self._limits = limits

    async def page(self, principal: Principal, question: AssemblyQuestion) -> AssembledPage:
        """Return a page of the nodes that the mapping reads, each with its messages and skipped rules.

        Raises:
            InvalidArgument: a number is negative, or a path is malformed.
            LimitExceeded: there are more than `PATHS_MAX` paths.
            AnswerTooLarge: the values at the paths of one node have more than 1 MiB.
            InvalidPageToken: the token is malformed, or belongs to another query.
            NodeNotFound: the caller sees no such node.
            MappingNotFound: the caller has no such mapping.
            MappingBroken: the mapping no longer compiles.
            CostExceeded: the expressions cost more than a call may spend.
            Unavailable: the Entity Service does not answer.
        """
        if question.max_messages < 0:
            raise InvalidArgument(f"max_messages must be 0 or more (got {question.max_messages})", field="max_messages")
        size = page_size(question.page_size)
        paths = self._paths(question.data_paths)
        start = _start_of(principal, question)
        mapping = await self._mappings.find(principal, question.app_id, question.mapping_name)
        with_io = any(steps[0] == "io" for steps in paths.values())
        reading = await begin(self._graph, mapping, question.node_id, self._limits, whole=True, with_io=with_io)
        page = _Page(reading, paths, size)
        with within_budget():
            if mapping.sorts:
                last = await self._by_value(page, start, question.max_messages)
            else:
                last = await self._by_time(page, start, question.max_messages)
        token = "" if last is None else encode_token(_query(principal, question), last)
        return AssembledPage(page.rows, token)

    def _paths(self, paths: Sequence[str]) -> dict[str, list[str]]:
        """Parse the paths that select fields of a node's data.

        Raises:
            InvalidArgument: a path is malformed.
            LimitExceeded: there are too many paths, or one is too long.
        """
        check_count("data_paths", len(paths), PATHS_MAX)
        return {
            check_text("data_paths", path, chars_max=self._limits.expression.length_max): path_steps("data_paths", path)
            for path in paths
        }

    async def _by_time(self, page: _Page, start: _Start | None, max_messages: int) -> _Start | None:
        """Fill a page in the order of `created_at`; return where the next page begins, or None after the last page."""
        reading = page.reading
        descending = reading.mapping.descending
        after = None
        if start is not None:
            after, page.left = (start.created_at_us, start.seq), start.left
        elif max_messages:
            first, page.drop = await self._first_of_newest(page, max_messages)
            page.left = max_messages
            if first is not None:  # `seq` is whole, so this node is the first after that place
                after = first.created_at_us, first.seq + (1 if descending else -1)
        pages = self._graph.walk(reading.walk, descending=descending, limit=page.size, after=after)
        more = False
        async with aclosing(pages):
            async for walked in pages:
                more = bool(walked.next_page_token)
                for node in walked.nodes:
                    if not await page.add(node):
                        return page.end(0)
        return page.end(0) if more and page.rows else None

    async def _first_of_newest(self, page: _Page, max_messages: int) -> tuple[GraphNode | None, int]:
        """Find where the newest messages begin.

        Returns:
            The node with the first of these messages, or None if there are not more messages than wanted; and how many
            messages of this node are too old.
        """
        first: GraphNode | None = None
        count = 0

        async def read(node: GraphNode) -> bool:
            nonlocal first, count
            first = node
            count += len((await page.reading.mapper.outcome(node)).given)
            return count >= max_messages

        await read_back(self._graph, page.reading, max_messages, read)
        return (first, count - max_messages) if count >= max_messages else (None, 0)

    async def _by_value(self, page: _Page, start: _Start | None, max_messages: int) -> _Start | None:
        """Fill a page in the mapping's own order; return where the next page begins, or None after the last page."""
        reading = page.reading
        nodes: list[GraphNode] = []
        async with aclosing(self._graph.walk(reading.walk)) as pages:
            async for walked in pages:
                nodes += walked.nodes
        nodes = await reading.mapper.ordered(nodes)
        index = 0
        if start is not None:
            # After the last node; if that one was deleted, the node after it has its place.
            places = [(node.created_at_us, node.seq) for node in nodes]
            place = (start.created_at_us, start.seq)
            index = places.index(place) + 1 if place in places else start.position
            page.left = start.left
        elif max_messages:
            page.left = max_messages
            count, index = 0, len(nodes)
            while index and count < max_messages:
                index -= 1
                count += len((await reading.mapper.outcome(nodes[index])).given)
            page.drop = max(0, count - max_messages)
        for position in range(index, len(nodes)):
            if not await page.add(nodes[position]):
                return page.end(position - 1)
        return None


class _Page:
    """A page that is being filled."""

    def __init__(self, reading: HistoryRead, paths: dict[str, list[str]], size: int) -> None:
        self.reading = reading
        self.size = size
        self.rows: list[AssembledNode] = []
        self.left = -1  # the number of messages that this and later pages may have; -1 means all
        self.drop = 0  # the number of messages of the first node that are too old
        self.complete = False  # the answer has no node after this page
        self._paths = paths
        self._bytes = 0

    async def add(self, node: GraphNode) -> bool:
        """Add a node, and return whether it fits on this page."""
        if len(self.rows) >= self.size:
            return False
        outcome = await self.reading.mapper.outcome(node)
        messages = outcome.given[self.drop :]
        if self.left >= 0:
            if messages and not self.left:  # these messages were written after the first page was read
                self.complete = True
                return False
            messages = messages[: self.left]
        row = AssembledNode(node, MappedNode(messages, outcome.skips), await self._values(node))
        row_bytes = _NODE_BYTES + utf8_bytes(row.values_json) + sum(size_bytes(message.message) for message in messages)
        row_bytes += sum(utf8_bytes(skip.error) + len(skip.rule) for skip in outcome.skips)
        if self.rows and self._bytes + row_bytes > PAGE_BYTES_MAX:
            return False
        self.rows.append(row)
        self._bytes += row_bytes
        self.drop = 0
        if self.left >= 0:
            self.left -= len(messages)
        return True

    def end(self, index: int) -> _Start | None:
        """Return the start of the next page: after the last row; `index` is its position in an order by value."""
        if self.complete or not self.rows:
            return None
        last = self.rows[-1].node
        return _Start(last.created_at_us, last.seq, index, self.left)

    async def _values(self, node: GraphNode) -> str:
        """Return the JSON of a node's values at the requested paths; empty if no paths were requested.

        Raises:
            AnswerTooLarge: the values do not fit one response.
        """
        if not self._paths:
            return ""
        values = {path: _at(node.entity, steps) for path, steps in self._paths.items()}
        try:
            return await self.reading.mapper.object_text(
                {path: value for path, value in values.items() if value is not _NOTHING}
            )
        except EvaluationError as error:
            raise AnswerTooLarge(
                "the values at data_paths do not fit one response; give fewer paths, or paths to smaller values",
                node_id=node.node_id,
            ) from error


def _at(entity: dict[str, Any], steps: Sequence[str]) -> Any:
    """Return the value at the end of a path, or `_NOTHING` if the entity has no such value."""
    value: Any = entity
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return _NOTHING
        value = value[step]
    return value


def _query(principal: Principal, question: AssemblyQuestion) -> tuple[object, ...]:
    """Return the parameters of a question; a page token is only valid with the same ones."""
    return (
        "AssembleContext",
        principal.tenant_id,
        question.node_id,
        question.app_id,
        question.mapping_name,
        question.max_messages,
        question.data_paths,
    )


def _start_of(principal: Principal, question: AssemblyQuestion) -> _Start | None:
    """Return where the page of a token begins, or None for the first page.

    Raises:
        InvalidPageToken: the token is malformed, or belongs to another query.
    """
    key = decode_token(_query(principal, question), question.page_token, parts=4)
    if key is None:
        return None
    created_at_us, seq, index, message_count = key
    counts = type(index) is int and index >= 0 and type(message_count) is int and message_count >= -1
    if not counts or not is_place(created_at_us, seq):
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return _Start(created_at_us, seq, index, message_count)
