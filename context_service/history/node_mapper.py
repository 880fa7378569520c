"""What a node gives by a mapping: messages, and why it gives no others."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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
Variables = dict[str, object]

_ROLE_CHARS_SHOWN = 100
_LOOK_STEPS = 250  # are paid between two looks at the clock; a step is worth a third of a microsecond at most
_LOOK_ELEMENTS = 64  # of a list: they may cost no steps
_AT_ONCE = 2**63  # more steps than there ever are
SLICE_S = 0.003  # the loop is given back after this; one evaluation takes few ms at most


class SkipReason(Enum):
    """Why a rule gave no message."""

    FILTERED = "filtered"  # the filter is false
    UNMATCHED = "unmatched"  # `when` is false
    EMPTY = "empty"  # neither content nor parts, or no element
    ROLE_UNKNOWN = "role_unknown"
    FAILED = "failed"  # on this node


# Python 3.11 takes 0.1 us to find a member.
_UNMATCHED, _EMPTY, _ROLE_UNKNOWN = SkipReason.UNMATCHED, SkipReason.EMPTY, SkipReason.ROLE_UNKNOWN


class Skip(NamedTuple):
    """A rule that gave no message of a node."""

    reason: SkipReason
    rule: str  # the expression that decided: "rules.messages[0].when"
    error: str = ""  # what went wrong, of the last two reasons
    elements: int = 1  # of a `for_each`, to which it happened


Result = ChatMessage | Skip
_Elements = Callable[[Variables], Iterator[Variables]]
_new_message: Callable[..., ChatMessage] = tuple.__new__  # what `ChatMessage` does, in half the time


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


@dataclass(slots=True)
class _Progress:
    """What the readers of a call tell its mapper, which they do not know: so the mapper goes when the call does."""

    place: str = ""  # of the expression that failed last
    look_below: int = _AT_ONCE  # when the budget has fewer steps left, it is time to look at the clock

    def rendered(self, render: Callable[[Any], _T], value: object) -> _T:
        """Return a value as it goes into a message; no steps are paid for that."""
        self.look_below = _AT_ONCE
        return render(value)


class _Reader(NamedTuple):
    """A message rule, ready to read nodes in one call."""

    rule: CompiledMessageRule
    elements: _Elements | None  # of a `for_each`: what its expressions see of each
    result: Callable[[Variables, GraphNode], Result]


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
        self._filter = self._optional(mapping.filter)
        self._order_by = self._optional(mapping.order_by)
        self._progress = progress = _Progress()
        self._readers = [_reader(rule, self._optional, progress) for rule in mapping.messages]
        self._pause_at = time.perf_counter() + SLICE_S

    async def messages(self, nodes: Sequence[GraphNode]) -> list[ChatMessage]:
        """Return the messages of some nodes, each in the order of the rules; none of a node on which a rule fails.

        The event loop is given back every `SLICE_S`.

        Raises:
            MappingFailed: a rule failed, and the call is strict.
            CallBudgetExceeded: the call has spent what it may.
        """
        messages: list[ChatMessage] = []
        budget, progress = self._budget, self._progress
        for node in nodes:
            count_before = len(messages)
            variables: Variables = {"entity": node.entity, "edge": node.edge, "root": self._root}
            try:
                # What `_results` yields, without a generator for each node.
                for _, elements, result_of in self._readers if self._filter is None or self._keeps(variables) else ():
                    for seen in (variables,) if elements is None else elements(variables):
                        result = result_of(seen, node)
                        if isinstance(result, ChatMessage):
                            messages.append(result)
                        elif result.reason is _ROLE_UNKNOWN:
                            self._skipped.roles_unknown += 1
                        if budget.call_steps_left < progress.look_below:
                            await self._look()
            except EvaluationError as error:
                if self._strict:
                    place = progress.place
                    raise MappingFailed(
                        f"{place} failed on node {node.node_id}: {error}", node_id=node.node_id, rule=place
                    ) from error
                del messages[count_before:]
                self._skipped.nodes_failed += 1
            if budget.call_steps_left < progress.look_below:  # a filter or a failure gives no result
                await self._look()
        return messages

    async def outcome(self, node: GraphNode) -> Outcome:
        """Return the messages of a node and why each of the other rules gave none.

        Raises:
            CallBudgetExceeded: the call has spent what it may.
        """
        given: list[Given] = []
        skips: dict[tuple[SkipReason, str], Skip] = {}
        try:
            for rule, result in self._results(node):
                if isinstance(result, ChatMessage):
                    given.append(Given(rule, result))
                else:
                    first = skips.get((result.reason, result.rule))
                    skips[result.reason, result.rule] = first._replace(elements=first.elements + 1) if first else result
                await self._look()
        except EvaluationError as error:
            return Outcome([], [*skips.values(), Skip(SkipReason.FAILED, self._progress.place, str(error))])
        return Outcome(given, list(skips.values()))

    async def ordered(self, nodes: Sequence[GraphNode]) -> list[GraphNode]:
        """Return nodes in the order of the mapping's `order_by`; those that come in the order of the walk.

        Raises:
            CallBudgetExceeded: the call has spent what it may.
        """
        rows = []
        for node in nodes:
            rows.append((self.order_key(node), node))
            await self._look()
        return sorted_by_key(rows, descending=self._mapping.descending)

    def order_key(self, node: GraphNode) -> OrderKey | None:
        """Return what the node is sorted by, or None if its order value is missing or has no order.

        Numbers come before texts before times; ties go by `created_at`, then `seq`.
        """
        assert self._mapping.order_by is not None
        try:
            ranked = _ranked(self._order_by(self._variables(node)))
        except EvaluationError:
            return None
        return None if ranked is None else (*ranked, node.created_at_us, node.seq)

    async def _look(self) -> None:
        """Look at the clock, and give the event loop back if it is time."""
        if time.perf_counter() > self._pause_at:
            await asyncio.sleep(0)
            self._pause_at = time.perf_counter() + SLICE_S
        self._progress.look_below = self._budget.call_steps_left - _LOOK_STEPS

    def _results(self, node: GraphNode) -> Iterator[tuple[str, Result]]:
        """Yield the place of each rule and what it, or an element of its `for_each`, gives: a message, or why none."""
        variables = self._variables(node)
        if not self._keeps(variables):
            yield "", Skip(SkipReason.FILTERED, _place(self._mapping.filter))
            return
        for rule, elements, result_of in self._readers:
            empty = True
            for seen in (variables,) if elements is None else elements(variables):
                empty = False
                yield rule.place, result_of(seen, node)
            if empty:
                yield rule.place, Skip(SkipReason.EMPTY, _place(rule.for_each))

    def _variables(self, node: GraphNode) -> Variables:
        return {"entity": node.entity, "edge": node.edge, "root": self._root}

    def _keeps(self, variables: Variables) -> bool:
        """Say whether the filter lets a node pass."""
        self._progress.place = _place(self._mapping.filter)
        return self._filter is None or self._filter(variables)

    def _optional(self, rule: Rule | None) -> Any:
        return None if rule is None else self._evaluator(rule)

    def _evaluator(self, rule: Rule) -> Callable[[Variables], Any]:
        """Return what gives the rule's value, of the type that it was compiled for."""
        return rule.expression.evaluator(self._budget)


def _reader(rule: CompiledMessageRule, evaluator: Callable[[Rule | None], Any], progress: _Progress) -> _Reader:
    """Return a rule that is ready to read: what it lacks is settled here, and not for every node."""
    when_of, content_of, parts_of = map(evaluator, (rule.when, rule.content, rule.parts))
    name_of, metadata_of, role_of = map(evaluator, (rule.name, rule.metadata, rule.role))
    unmatched = Skip(_UNMATCHED, _place(rule.when))
    empty = Skip(_EMPTY, _place(rule.parts or rule.content))

    def result(variables: Variables, node: GraphNode) -> Result:
        running = rule.when
        try:
            if when_of is not None and not when_of(variables):
                return unmatched
            running = rule.content
            content = "" if content_of is None else content_of(variables)
            if type(content) is not str:
                content = progress.rendered(content_text, content)
            running = rule.parts
            message_parts = () if parts_of is None else progress.rendered(parts, parts_of(variables))
            if not content and not message_parts:
                return empty
            running = rule.role
            role = role_of(variables)
            if role not in ROLES:
                fault = f"{role[:_ROLE_CHARS_SHOWN]!r} is no role"
                return Skip(_ROLE_UNKNOWN, running.place, fault)
            running = rule.name
            name = "" if name_of is None else name_of(variables)
            running = rule.metadata
            metadata = "" if metadata_of is None else progress.rendered(metadata_json, metadata_of(variables))
        except EvaluationError:
            progress.place = _place(running)
            raise
        fields = role, content, node.node_id, node.created_at_us, name, message_parts, metadata
        return _new_message(ChatMessage, fields)

    elements = None if rule.for_each is None else _elements(rule.for_each.place, evaluator(rule.for_each), progress)
    return _Reader(rule, elements, result)


def _elements(place: str, list_of: Callable[[Variables], Any], progress: _Progress) -> _Elements:
    """Return what gives the variables of each element of a list."""

    def elements(variables: Variables) -> Iterator[Variables]:
        progress.place = place
        for index, item in enumerate(list_of(variables)):
            if index % _LOOK_ELEMENTS == 0:
                progress.look_below = _AT_ONCE
            yield {**variables, "item": item, "index": index}

    return elements


def _place(rule: Rule | None) -> str:
    return rule.place if rule else ""


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
