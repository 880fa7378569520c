"""Chat history, rebuilt from the entity graph.

Messages are not stored: they are read off the graph each time, so the graph stays the only truth. Walk, map, order: a
page of nodes comes from the walk, `NodeMapper` gives each node's messages, and the order is the walk's own unless the
mapping has another.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from context_service.history.cel import CallBudget, CallBudgetExceeded, EvaluationError, Timestamp
from context_service.history.entity_graph import EntityGraph, GraphNode, Walk
from context_service.history.limits import DEFAULTS, HistoryLimits
from context_service.history.mappings import CompiledMessageRule, Mapping, Rule
from context_service.history.messages import (
    ROLES,
    ChatMessage,
    content_text,
    metadata_json,
    parts,
)
from context_service.history.registry import MappingRegistry
from contextgraph.errors import CostExceeded, InvalidArgument, MappingFailed
from service_runtime.auth import Principal

SLICE_S = 0.003  # the loop is given back after this; one evaluation takes few ms at most
_NEWEST_LIMIT_MIN = 16
_NEWEST_LIMIT_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which history, read how."""

    node_id: str
    app_id: str
    mapping_name: str  # empty: the default
    max_messages: int  # 0: all; else the last N of the mapping's order
    strict: bool  # fail on the first node on which a rule fails


@dataclass(slots=True, kw_only=True)
class Skipped:
    """What gave no message though it might have been meant to; counted while a history is read."""

    nodes_failed: int = 0
    roles_unknown: int = 0


@dataclass(slots=True, kw_only=True)
class History:
    """A whole history."""

    messages: list[ChatMessage] = field(default_factory=list)
    skipped: Skipped = field(default_factory=Skipped)


class ContextAssembly:
    """Graph and mapping to messages."""

    def __init__(self, graph: EntityGraph, mappings: MappingRegistry, limits: HistoryLimits = DEFAULTS) -> None:
        self._graph = graph
        self._mappings = mappings
        self._limits = limits

    async def chat_history(self, principal: Principal, question: Question) -> History:
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
        self, principal: Principal, question: Question, skipped: Skipped
    ) -> AsyncGenerator[list[ChatMessage], None]:
        """Yield the messages in the mapping's order, page by page; count what is skipped in `skipped`.

        Raises:
            The errors of `chat_history`.
        """
        if question.max_messages < 0:
            raise InvalidArgument("max_messages is negative", field="max_messages")
        mapping = await self._mappings.find(principal, question.app_id, question.mapping_name)
        root = {}
        if mapping.reads("root"):
            root = await self._graph.node(question.node_id, with_io=mapping.reads("root", "io"))
        mapper = NodeMapper(mapping, root, skipped, self._limits.call_budget(), strict=question.strict)
        walk = _walk(mapping, question.node_id)
        try:
            if mapping.order_by is not None:
                yield await self._ordered(walk, mapping, mapper, question.max_messages)
            elif question.max_messages:
                yield await self._newest(walk, mapping, mapper, question.max_messages)
            else:
                async with aclosing(self._graph.walk(walk, descending=mapping.descending)) as pages:
                    async for page in pages:
                        yield await mapper.messages(page.nodes)
        except CallBudgetExceeded as error:
            raise CostExceeded(str(error), limit=error.limit, limit_max=error.maximum, value=error.value) from error

    async def _newest(self, walk: Walk, mapping: Mapping, mapper: NodeMapper, count_max: int) -> list[ChatMessage]:
        """Read from the end of the mapping's order until there are enough messages."""
        of_nodes: list[list[ChatMessage]] = []  # the last node first
        count, page_token = 0, ""
        limit = max(count_max, _NEWEST_LIMIT_MIN)
        while count < count_max:
            pages = self._graph.walk(
                walk,
                descending=not mapping.descending,
                limit=min(limit, _NEWEST_LIMIT_MAX),
                page_token=page_token,
            )
            async with aclosing(pages):
                async for page in pages:
                    page_token = page.next_page_token
                    for node in page.nodes:
                        if count < count_max:
                            of_nodes.append(await mapper.messages([node]))
                            count += len(of_nodes[-1])
            if not page_token:
                break
            limit *= 2  # the mapping skips most nodes: fewer, larger pages
        return [message for messages in reversed(of_nodes) for message in messages][-count_max:]

    async def _ordered(self, walk: Walk, mapping: Mapping, mapper: NodeMapper, count_max: int) -> list[ChatMessage]:
        """Read all, then sort by the mapping's own order."""
        with_value: list[tuple[tuple[object, ...], list[ChatMessage]]] = []
        without_value: list[list[ChatMessage]] = []
        async for page in self._graph.walk(walk):
            for node in page.nodes:
                messages = await mapper.messages([node])
                if not messages:
                    continue
                key = mapper.order_key(node)
                if key is None:
                    without_value.append(messages)  # in the order of the walk: created_at, then seq
                else:
                    with_value.append((key, messages))
        with_value.sort(key=lambda row: row[0], reverse=mapping.descending)
        of_nodes = [messages for _, messages in with_value] + without_value
        return [message for messages in of_nodes for message in messages][-count_max:]  # -0 is 0: all of them


class NodeMapper:
    """Gives the messages of one node after another, within one call's budget."""

    def __init__(
        self, mapping: Mapping, root: dict[str, Any], skipped: Skipped, budget: CallBudget, *, strict: bool
    ) -> None:
        self._mapping = mapping
        self._root = root
        self._skipped = skipped
        self._strict = strict
        self._budget = budget
        self._place = ""  # of the rule that runs, for the error of a strict call
        self._pause_at = time.perf_counter() + SLICE_S

    async def messages(self, nodes: Sequence[GraphNode]) -> list[ChatMessage]:
        """Return the messages of some nodes, each in the order of the rules; none of a node on which a rule fails.

        The event loop is given back every `SLICE_S`.

        Raises:
            MappingFailed: a rule failed, and the call is strict.
            CallBudgetExceeded: the call has spent what it may.
        """
        messages: list[ChatMessage] = []
        for node in nodes:
            if time.perf_counter() > self._pause_at:
                await self._pause()
            count_before = len(messages)
            try:
                for message in self._each(node):
                    if message is not None:
                        messages.append(message)
                    if time.perf_counter() > self._pause_at:  # one node may have a long list
                        await self._pause()
            except EvaluationError as error:
                if self._strict:
                    raise MappingFailed(
                        f"{self._place} failed on node {node.node_id}: {error}", node_id=node.node_id, rule=self._place
                    ) from error
                del messages[count_before:]
                self._skipped.nodes_failed += 1
        return messages

    def order_key(self, node: GraphNode) -> tuple[object, ...] | None:
        """Return what the node is sorted by, or None if its order value is missing or has no order.

        Numbers come before texts before times; ties go by `created_at`, then `seq`.
        """
        assert self._mapping.order_by is not None
        try:
            ranked = _ranked(self._value(self._mapping.order_by, self._variables(node)))
        except EvaluationError:
            return None
        return None if ranked is None else (*ranked, node.created_at_us, node.seq)

    async def _pause(self) -> None:
        await asyncio.sleep(0)
        self._pause_at = time.perf_counter() + SLICE_S

    def _each(self, node: GraphNode) -> Iterator[ChatMessage | None]:
        """Yield what each rule, and each element of a `for_each`, gives: a message or none."""
        variables = self._variables(node)
        if self._mapping.filter is not None and not self._value(self._mapping.filter, variables):
            yield None
            return
        for rule in self._mapping.messages:
            if rule.for_each is None:
                yield self._message(rule, variables, node)
                continue
            for index, item in enumerate(self._value(rule.for_each, variables)):
                yield self._message(rule, {**variables, "item": item, "index": index}, node)

    def _message(self, rule: CompiledMessageRule, variables: dict[str, object], node: GraphNode) -> ChatMessage | None:
        if rule.when is not None and not self._value(rule.when, variables):
            return None
        content = content_text(self._value(rule.content, variables)) if rule.content else ""
        message_parts = parts(self._value(rule.parts, variables)) if rule.parts else ()
        if not content and not message_parts:
            return None
        role = self._value(rule.role, variables)
        if role not in ROLES:
            self._skipped.roles_unknown += 1
            return None
        return ChatMessage(
            role,
            content,
            node.node_id,
            node.created_at_us,
            self._value(rule.name, variables) if rule.name else "",
            message_parts,
            metadata_json(self._value(rule.metadata, variables)) if rule.metadata else "",
        )

    def _variables(self, node: GraphNode) -> dict[str, object]:
        return {"entity": node.entity, "edge": node.edge, "root": self._root}

    def _value(self, rule: Rule, variables: dict[str, object]) -> Any:
        """Return the rule's value, of the type that it was compiled for."""
        self._place = rule.place
        return rule.expression.evaluate(variables, self._budget)


def _walk(mapping: Mapping, node_id: str) -> Walk:
    walk = mapping.walk
    return Walk(
        node_id=node_id,
        edge_types=walk.edge_types,
        direction=walk.direction,
        depth_max=walk.depth_max,
        entity_types=walk.entity_types,
        include_start=walk.include_start,
        include_archived=walk.include_archived,
        with_edges=mapping.reads("edge"),
        with_times=mapping.reads("entity", "created_at") or mapping.reads("entity", "modified_at"),
        with_io=mapping.reads("entity", "io"),
    )


def _ranked(value: object) -> tuple[object, ...] | None:
    """Return a key in which numbers come before texts before times; None for a value without an order."""
    match value:
        case bool():
            return None
        case int() | float():
            return None if math.isnan(value) else (0, value)
        case str():
            return 1, value
        case datetime() | Timestamp():
            return 2, Timestamp.of(value).ns
        case _:
            return None
