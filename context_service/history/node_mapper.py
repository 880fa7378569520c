"""What a node gives by a mapping: messages, and why it gives no others."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from context_service.history.cel import CallBudget, EvaluationError, Timestamp
from context_service.history.entity_graph import GraphNode
from context_service.history.mappings import CompiledMessageRule, Mapping, Rule
from context_service.history.messages import ROLES, ChatMessage, content_text, metadata_json, parts
from contextgraph.errors import MappingFailed

_T = TypeVar("_T")
OrderKey = tuple[Any, ...]

_ROLE_CHARS_SHOWN = 100
SLICE_S = 0.003  # the loop is given back after this; one evaluation takes few ms at most


class SkipReason(Enum):
    """Why a rule gave no message."""

    FILTERED = "filtered"  # the filter is false
    UNMATCHED = "unmatched"  # `when` is false
    EMPTY = "empty"  # neither content nor parts, or no element
    ROLE_UNKNOWN = "role_unknown"
    FAILED = "failed"  # on this node


class Skip(NamedTuple):
    """A rule that gave no message of a node."""

    reason: SkipReason
    rule: str  # the expression that decided: "rules.messages[0].when"
    error: str = ""  # what went wrong, of the last two reasons
    elements: int = 1  # of a `for_each`, to which it happened


class Given(NamedTuple):
    """A message and the rule that gave it."""

    rule: str  # "rules.messages[0]"
    message: ChatMessage


class Outcome(NamedTuple):
    """All that came of a node."""

    given: list[Given]
    skips: list[Skip]


@dataclass(slots=True, kw_only=True)
class Skipped:
    """What gave no message though it might have been meant to; counted while a history is read."""

    nodes_failed: int = 0
    roles_unknown: int = 0


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
        self._rule = ""  # that is being followed
        self._place = ""  # of its expression that ran last
        self._fault = ""  # why a message has no role
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
                    if not isinstance(message, SkipReason):
                        messages.append(message)
                    elif message is SkipReason.ROLE_UNKNOWN:
                        self._skipped.roles_unknown += 1
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

    async def outcome(self, node: GraphNode) -> Outcome:
        """Return the messages of a node and why each of the other rules gave none.

        Raises:
            CallBudgetExceeded: the call has spent what it may.
        """
        given: list[Given] = []
        skips: dict[tuple[SkipReason, str], Skip] = {}
        try:
            for message in self._each(node):
                if isinstance(message, SkipReason):
                    fault = self._fault if message is SkipReason.ROLE_UNKNOWN else ""
                    skip = skips.get((message, self._place), Skip(message, self._place, fault, 0))
                    skips[message, self._place] = skip._replace(elements=skip.elements + 1)
                else:
                    given.append(Given(self._rule, message))
                if time.perf_counter() > self._pause_at:
                    await self._pause()
        except EvaluationError as error:
            return Outcome([], [*skips.values(), Skip(SkipReason.FAILED, self._place, str(error))])
        return Outcome(given, list(skips.values()))

    async def ordered(self, nodes: Sequence[GraphNode]) -> list[GraphNode]:
        """Return nodes in the order of the mapping's `order_by`; those that come in the order of the walk.

        Raises:
            CallBudgetExceeded: the call has spent what it may.
        """
        rows = []
        for node in nodes:
            rows.append((self.order_key(node), node))
            if time.perf_counter() > self._pause_at:
                await self._pause()
        return sorted_by_key(rows, descending=self._mapping.descending)

    def order_key(self, node: GraphNode) -> OrderKey | None:
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

    def _each(self, node: GraphNode) -> Iterator[ChatMessage | SkipReason]:
        """Yield what each rule, and each element of a `for_each`, gives: a message, or why none."""
        variables = self._variables(node)
        if self._mapping.filter is not None and not self._value(self._mapping.filter, variables):
            yield SkipReason.FILTERED
            return
        for rule in self._mapping.messages:
            self._rule = rule.place
            if rule.for_each is None:
                yield self._message(rule, variables, node)
                continue
            elements = self._value(rule.for_each, variables)
            if not elements:
                yield SkipReason.EMPTY
            for index, item in enumerate(elements):
                yield self._message(rule, {**variables, "item": item, "index": index}, node)

    def _message(
        self, rule: CompiledMessageRule, variables: dict[str, object], node: GraphNode
    ) -> ChatMessage | SkipReason:
        if rule.when is not None and not self._value(rule.when, variables):
            return SkipReason.UNMATCHED
        content = content_text(self._value(rule.content, variables)) if rule.content else ""
        message_parts = parts(self._value(rule.parts, variables)) if rule.parts else ()
        if not content and not message_parts:
            return SkipReason.EMPTY
        role = self._value(rule.role, variables)
        if role not in ROLES:
            self._fault = f"{role[:_ROLE_CHARS_SHOWN]!r} is no role"
            return SkipReason.ROLE_UNKNOWN
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


def sorted_by_key(rows: Iterable[tuple[OrderKey | None, _T]], *, descending: bool) -> list[_T]:
    """Return what comes with keys in their order; behind it what has none, as it came."""
    rows = list(rows)
    with_key = [(key, row) for key, row in rows if key is not None]
    with_key.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in with_key] + [row for key, row in rows if key is None]


def _ranked(value: object) -> OrderKey | None:
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
