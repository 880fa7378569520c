"""Maps a node to messages, and says why rules gave no message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from context_service.history.model import ROLES, ChatMessage, content_text, metadata_json, parts
from context_service.history.pure.mappings import CompiledMessageRule, Mapping, Rule
from context_service.history.pure.places import Group, OrderKey, Place, group_of, in_order, order_key
from context_service.kernel.cel import CallBudget, EvaluationError, JsonWriter
from context_service.kernel.graph_values import GraphNode
from context_service.kernel.parts import Part
from contextkeep.errors import MappingFailed
from service_runtime.rpc.calls import give_way
from service_runtime.rpc.fair_queue import SLICE_S

Variables = dict[str, object]

_ROLE_CHARS_SHOWN = 100
_LOOK_STEPS = 250  # steps of the budget between two reads of the clock; a step takes at most a third of a microsecond
_ELEMENT_STEPS = 4  # the cost of one element of a list, in addition to its expressions
_ELEMENTS_AT_ONCE = 64  # how many elements are charged to the budget at once, before they are read


class SkipReason(Enum):
    """Why a rule gave no message."""

    FILTERED = "filtered"  # the filter is false
    UNMATCHED = "unmatched"  # `when` is false
    EMPTY = "empty"  # there is neither content nor a part, or `for_each` has no element
    ROLE_UNKNOWN = "role_unknown"
    FAILED = "failed"  # an expression raised an error on this node


# Aliases, because Python 3.11 takes 0.1 us to look up a member of an enum.
_UNMATCHED, _EMPTY, _ROLE_UNKNOWN = SkipReason.UNMATCHED, SkipReason.EMPTY, SkipReason.ROLE_UNKNOWN


class Skip(NamedTuple):
    """A rule that gave no message for a node, and why."""

    reason: SkipReason
    rule: str  # the expression that decided: "rules.messages[0].when"
    error: str = ""  # the error, for the last two reasons
    elements: int = 1  # the number of elements of `for_each` that were skipped for this reason


Result = ChatMessage | Skip
_Elements = Callable[[Variables], Iterator[Variables]]
_new_message: Callable[..., ChatMessage] = tuple.__new__  # does the same as calling `ChatMessage`, in half the time


class RuleMessage(NamedTuple):
    """A message and the rule that gave it."""

    rule: str  # "rules.messages[0]"
    message: ChatMessage


class MappedNode(NamedTuple):
    """The messages of a node, and the rules that gave none."""

    given: list[RuleMessage]
    skips: list[Skip]


@dataclass(slots=True, kw_only=True)
class Skipped:
    """Counts of nodes and rules that gave no message, though their authors may have wanted one."""

    nodes_failed: int = 0
    roles_unknown: int = 0


@dataclass(slots=True)
class _Progress:
    """State that the compiled readers of a call share with its mapper.

    Readers do not refer to the mapper itself, so that it is freed with the call.
    """

    place: str = ""  # the place of the expression that failed last


class _Reader(NamedTuple):
    """A message rule that is ready to read nodes in one call."""

    rule: CompiledMessageRule
    elements: _Elements | None  # gives the variables for each element of `for_each`, if it is set
    result: Callable[[Variables, GraphNode], Result]


class NodeMapper:
    """Maps one node after another to messages, within the budget of one call."""

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
        self._group_by = self._optional(mapping.group_by)
        self._sees_links = mapping.reads_any("edges") or mapping.reads_any("path")
        self.order_error = ""  # of the first node on which `order_by` failed
        self._progress = progress = _Progress()
        self._readers = [_reader(rule, self._optional, budget, progress) for rule in mapping.messages]
        self._pause_at = time.perf_counter() + SLICE_S
        self._look_below = budget.call_steps_left  # when fewer steps are left, it is time to look at the clock

    async def messages(self, nodes: Sequence[GraphNode]) -> list[ChatMessage]:
        """Return the messages of some nodes, each in the order of the rules; a node on which a rule fails gives none.

        It yields to the event loop every `SLICE_S`.

        Raises:
            MappingFailed: a rule failed, and the call is strict.
            CallBudgetExceeded: the call has used up its budget.
        """
        messages: list[ChatMessage] = []
        budget, progress, sees_links = self._budget, self._progress, self._sees_links
        for node in nodes:
            count_before = len(messages)
            variables: Variables = {"entity": node.entity, "edge": node.edge, "root": self._root}
            if sees_links:
                _add_links(variables, node)
            try:
                # The same as `_results`, but without a generator for each node, which is slower.
                for _, elements, result_of in self._readers if self._filter is None or self._keeps(variables) else ():
                    for scope in (variables,) if elements is None else elements(variables):
                        result = result_of(scope, node)
                        if isinstance(result, ChatMessage):
                            messages.append(result)
                        elif result.reason is _ROLE_UNKNOWN:
                            self._skipped.roles_unknown += 1
                        if budget.call_steps_left < self._look_below:
                            await self._look()
            except EvaluationError as error:
                if self._strict:
                    place = progress.place
                    raise MappingFailed(
                        f"{place} failed on node {node.node_id}: {error}", node_id=node.node_id, rule=place
                    ) from error
                del messages[count_before:]
                self._skipped.nodes_failed += 1
            if budget.call_steps_left < self._look_below:  # a filter or a failure gives no result
                await self._look()
        return messages

    async def outcome(self, node: GraphNode) -> MappedNode:
        """Return the messages of a node and why each of the other rules gave none.

        Raises:
            CallBudgetExceeded: the call has used up its budget.
        """
        messages: list[RuleMessage] = []
        skips: dict[tuple[SkipReason, str], Skip] = {}
        try:
            for rule, result in self._results(node):
                if isinstance(result, ChatMessage):
                    messages.append(RuleMessage(rule, result))
                else:
                    first = skips.get((result.reason, result.rule))
                    skips[result.reason, result.rule] = first._replace(elements=first.elements + 1) if first else result
                await self._look()
        except EvaluationError as error:
            return MappedNode([], [*skips.values(), Skip(SkipReason.FAILED, self._progress.place, str(error))])
        return MappedNode(messages, list(skips.values()))

    async def ordered(self, nodes: Sequence[GraphNode]) -> list[GraphNode]:
        """Return nodes in the order of the mapping, with its groups.

        Raises:
            CallBudgetExceeded: the call has used up its budget.
        """
        rows = []
        for node in nodes:
            rows.append((self.place(node), node))
            await self._look()
        return await in_order(rows, descending=self._mapping.descending)

    async def object_text(self, values: dict[str, Any]) -> str:
        """Return an object as JSON. Each value costs as much budget as a value of an expression.

        Raises:
            EvaluationError: it is too large.
            CallBudgetExceeded: the call has used up its budget.
        """
        writer = JsonWriter(self._budget)
        entries = []
        for name, value in values.items():
            self._budget.resume(self._budget.call_steps_left)
            entries.append(f"{writer.text(name)}:{writer.text(value)}")
            await self._look()
        return "{" + ",".join(entries) + "}"

    def place(self, node: GraphNode) -> Place:
        """Return the place of a node. Equal values to order by are sorted by `created_at`, then `seq`.

        Raises:
            CallBudgetExceeded: the call has used up its budget.
        """
        variables = self._variables(node)
        return Place(self._order_key(node, variables), self._group(variables))

    def _order_key(self, node: GraphNode, variables: Variables) -> OrderKey | None:
        """Return the sort key of a node, or None if its value is missing or has no order."""
        if self._order_by is None:
            return node.created_at_us, node.seq
        try:
            ranked = order_key(self._order_by(variables))
        except EvaluationError as error:
            self.order_error = self.order_error or str(error)
            return None
        return None if ranked is None else (*ranked, node.created_at_us, node.seq)

    def _group(self, variables: Variables) -> Group:
        """Return the group of a node; empty if its value is missing or names none."""
        if self._group_by is None:
            return ()
        try:
            return group_of(self._group_by(variables))
        except EvaluationError:
            return ()

    async def _look(self) -> None:
        """Yield to the event loop if the time slice is over."""
        if time.perf_counter() > self._pause_at:
            await give_way()
            self._pause_at = time.perf_counter() + SLICE_S
        self._look_below = self._budget.call_steps_left - _LOOK_STEPS

    def _results(self, node: GraphNode) -> Iterator[tuple[str, Result]]:
        """Yield for each rule, or each element of its `for_each`, its place and result: a message, or why none."""
        variables = self._variables(node)
        if not self._keeps(variables):
            yield "", Skip(SkipReason.FILTERED, _place(self._mapping.filter))
            return
        for rule, elements, result_of in self._readers:
            empty = True
            for scope in (variables,) if elements is None else elements(variables):
                empty = False
                yield rule.place, result_of(scope, node)
            if empty:
                yield rule.place, Skip(SkipReason.EMPTY, _place(rule.for_each))

    def _variables(self, node: GraphNode) -> Variables:
        """Return the variables that rules see for a node: the node, the edge that led to it, and the root."""
        variables: Variables = {"entity": node.entity, "edge": node.edge, "root": self._root}
        if self._sees_links:
            _add_links(variables, node)
        return variables

    def _keeps(self, variables: Variables) -> bool:
        """Return whether the filter of the mapping keeps a node."""
        self._progress.place = _place(self._mapping.filter)
        return self._filter is None or self._filter(variables)

    def _optional(self, rule: Rule | None) -> Any:
        return None if rule is None else self._evaluator(rule)

    def _evaluator(self, rule: Rule) -> Callable[[Variables], Any]:
        """Return a function that evaluates a rule to the type that it was compiled for."""
        return rule.expression.evaluator(self._budget)


def _add_links(variables: Variables, node: GraphNode) -> None:
    """Add the edges of a node and the path to it; an expression that reads edges of which there are too many fails."""
    if node.edges is not None:
        variables["edges"] = node.edges
    if node.path is not None:
        variables["path"] = node.path


def _reader(
    rule: CompiledMessageRule, evaluator: Callable[[Rule | None], Any], budget: CallBudget, progress: _Progress
) -> _Reader:
    """Return a reader of nodes for a rule. Missing expressions are handled here once, not for every node."""
    when_of, content_of, parts_of = map(evaluator, (rule.when, rule.content, rule.parts))
    name_of, metadata_of, role_of, turn_of = map(evaluator, (rule.name, rule.metadata, rule.role, rule.turn))
    unmatched = Skip(_UNMATCHED, _place(rule.when))
    empty = Skip(_EMPTY, _place(rule.parts or rule.content))

    def result(variables: Variables, node: GraphNode) -> Result:
        """Return the message of a node or element, or the reason why there is none.

        If an expression fails, its place is in `progress` for the report. The conversion of values to JSON is charged
        to the budget.
        """
        running = rule.when
        try:
            if when_of is not None and not when_of(variables):
                return unmatched
            running = rule.content
            steps_left = budget.call_steps_left
            content = "" if content_of is None else content_of(variables)
            if type(content) is not str:
                budget.resume(steps_left)
                content = content_text(content, budget)
            message_parts: tuple[Part, ...] = ()
            if parts_of is not None:
                running = rule.parts
                steps_left = budget.call_steps_left
                value = parts_of(variables)
                budget.resume(steps_left)
                message_parts = parts(value, budget)
            if not content and not message_parts:
                return empty
            running = rule.role
            role = role_of(variables)
            if role not in ROLES:
                fault = f"{role[:_ROLE_CHARS_SHOWN]!r} is not a role"
                return Skip(_ROLE_UNKNOWN, running.place, fault)
            name = metadata = turn = ""
            if name_of is not None:
                running = rule.name
                name = name_of(variables)
            if metadata_of is not None:
                running = rule.metadata
                steps_left = budget.call_steps_left
                value = metadata_of(variables)
                budget.resume(steps_left)
                metadata = metadata_json(value, JsonWriter(budget))
            if turn_of is not None:
                running = rule.turn
                turn = turn_of(variables)
        except EvaluationError:
            progress.place = _place(running)
            raise
        fields = role, content, node.node_id, node.created_at_us, name, message_parts, metadata, turn
        return _new_message(ChatMessage, fields)

    elements = None
    if rule.for_each is not None:
        elements = _elements(rule.for_each.place, evaluator(rule.for_each), budget, progress)
    return _Reader(rule, elements, result)


def _elements(place: str, list_of: Callable[[Variables], Any], budget: CallBudget, progress: _Progress) -> _Elements:
    """Return a function that gives the variables for each element of a list, and charges the budget for each."""

    def elements(variables: Variables) -> Iterator[Variables]:
        progress.place = place
        items = list_of(variables)
        for index, item in enumerate(items):
            if index % _ELEMENTS_AT_ONCE == 0:
                budget.resume(budget.call_steps_left)
                budget.charge(_ELEMENT_STEPS * min(len(items) - index, _ELEMENTS_AT_ONCE))
            yield {**variables, "item": item, "index": index}

    return elements


def _place(rule: Rule | None) -> str:
    return rule.place if rule else ""
