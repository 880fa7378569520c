"""Mappings: rules that are compiled once, and the built-in ones.

A mapping is immutable and does not depend on apps or tenants; `rules/registry.py` stores which of them has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

from context_service.history.pure.limits import DEFAULTS, HistoryLimits
from context_service.history.pure.mapping_rules import MessageRule, Rules
from context_service.kernel.cel import (
    CallBudget,
    CelError,
    CompileBudget,
    Evaluator,
    ExpressionTooLarge,
    Fields,
    ResultType,
    compile_expression,
)
from context_service.kernel.graph_values import ENTITY_FIELDS
from contextkeep.errors import ContextKeepError, InvalidArgument, LimitExceeded

DEFAULT_NAME = "simple_chat"

_NODE = frozenset({"entity", "edge", "edges", "path", "root"})
_ELEMENT = _NODE | {"item", "index"}
_FIELDS = {"entity": ENTITY_FIELDS, "root": ENTITY_FIELDS, "edge": frozenset({"type", "depth", "data"})}
_BY_TIME = "entity.created_at"


class Expression(Protocol):
    """A compiled expression; `cel.Expression` is one."""

    @property
    def source(self) -> str:
        """The text that it was compiled from."""
        ...

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """The fields that the expression reads, such as ("entity", "data", "content")."""
        ...

    def evaluator(self, budget: CallBudget) -> Evaluator:
        """Return a function that evaluates the expression to its type, or raises EvaluationError."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled expression and its place in the mapping."""

    place: str  # "rules.messages[0].role"
    expression: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledMessageRule:
    """The compiled expressions of a message rule; None stands for an empty expression."""

    place: str  # "rules.messages[0]"
    role: Rule
    content: Rule | None
    when: Rule | None
    for_each: Rule | None
    name: Rule | None
    parts: Rule | None
    metadata: Rule | None
    turn: Rule | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """A mapping with compiled expressions, ready to read nodes."""

    rules: Rules  # as they were written
    walk: Rules  # expanded: how to walk
    filter: Rule | None
    messages: tuple[CompiledMessageRule, ...]
    order_by: Rule | None  # None means `created_at`, which is the order of the walk itself
    group_by: Rule | None  # None means that there are no groups
    descending: bool
    read: frozenset[tuple[str, ...]]  # variables, or fields of them, that the expressions read

    @property
    def sorts(self) -> bool:
        """Whether its order is another than that of the walk, so that all nodes have to be read first."""
        return self.order_by is not None or self.group_by is not None

    def reads(self, variable: str, field: str) -> bool:
        """Return whether an expression may read a field of a variable."""
        return (variable, field) in self.read or (variable,) in self.read

    def reads_any(self, variable: str) -> bool:
        """Return whether an expression reads a variable or any field of it."""
        return any(path[0] == variable for path in self.read)


def compile_mapping(rules: Rules, limits: HistoryLimits = DEFAULTS, budget: CompileBudget | None = None) -> Mapping:
    """Compile and check rules.

    Args:
        rules: The rules as their author wrote them.
        limits: The limits on the size of the rules.
        budget: The budget for the cost of the expressions; None makes one from the limits.

    Raises:
        CompileStopped: the budget was stopped.
        InvalidArgument: the violation names the field, and says line and column of an expression's fault.
        LimitExceeded: an expression is too long or too deeply nested, the rules are too many or too large, or their
            expressions have too many symbols together.
    """
    walk = rules.expanded(limits)
    budget = budget or limits.compile_budget()
    filter_rule = _compile("filter", walk.filter, "bool", budget)
    messages = tuple(_compile_rule(f"messages[{i}]", rule, budget) for i, rule in enumerate(walk.messages))
    order_by = None if walk.order_by == _BY_TIME else _compile("order_by", walk.order_by, "any", budget)
    group_by = _compile("group_by", walk.group_by, "any", budget)
    expressions = [filter_rule, order_by, group_by]
    for message in messages:
        expressions += [message.role, message.content, message.when, message.for_each]
        expressions += [message.name, message.parts, message.metadata, message.turn]
    return Mapping(
        rules=rules,
        walk=walk,
        filter=filter_rule,
        messages=messages,
        order_by=order_by,
        group_by=group_by,
        descending=walk.order == "descending",
        read=frozenset(path[:2] for rule in expressions if rule is not None for path in rule.expression.paths),
    )


def _compile_rule(place: str, rule: MessageRule, budget: CompileBudget) -> CompiledMessageRule:
    """Compile the expressions of a message rule; `place` is its path in the mapping, for errors."""
    variables = _ELEMENT if rule.for_each else _NODE
    role = _compile(f"{place}.role", rule.role, "string", budget, variables)
    assert role is not None, "Rules.expanded requires a role"
    return CompiledMessageRule(
        place=f"rules.{place}",
        role=role,
        content=_compile(f"{place}.content", rule.content, "content", budget, variables),
        when=_compile(f"{place}.when", rule.when, "bool", budget, variables),
        for_each=_compile(f"{place}.for_each", rule.for_each, "list", budget),
        name=_compile(f"{place}.name", rule.name, "string", budget, variables),
        parts=_compile(f"{place}.parts", rule.parts, "list", budget, variables),
        metadata=_compile(f"{place}.metadata", rule.metadata, "map", budget, variables),
        turn=_compile(f"{place}.turn", rule.turn, "string", budget, variables),
    )


def _compile(
    place: str,
    source: str,
    result: ResultType,
    budget: CompileBudget,
    variables: frozenset[str] = _NODE,
) -> Rule | None:
    """Compile a rule of a mapping; None if it is empty. `place` names the rule in errors."""
    return compile_rule(f"rules.{place}", source, result, budget, variables=variables, fields=_FIELDS)


def compile_rule(
    place: str, source: str, result: ResultType, budget: CompileBudget, *, variables: frozenset[str], fields: Fields
) -> Rule | None:
    """Compile an expression; return None if it is empty.

    Args:
        place: The path of the expression in the mapping, such as "rules.filter".
        source: The text of the expression.
        result: The type that the expression must give.
        budget: The compile budget, shared by all expressions of the mapping.
        variables: The names of the variables that it may read.
        fields: The fields of those variables that always have the same ones.

    Raises:
        CompileStopped: the budget was stopped.
        InvalidArgument: the expression does not compile; the violation names its place.
        LimitExceeded: the expression is too long or too deeply nested, or the budget has no symbols left.
    """
    if not source:
        return None
    try:
        expression = compile_expression(source, variables=variables, result=result, budget=budget, fields=fields)
        return Rule(place, expression)
    except CelError as error:
        raise expression_fault(place, error) from error


def expression_fault(field: str, error: CelError) -> ContextKeepError:
    """Return the error for a fault in the expression of `field`, such as "rules.messages[0].role"."""
    message = f"{field}, line {error.line}, column {error.column}: {error.message}"
    values: dict[str, Any] = {"rule": field, "line": error.line, "column": error.column}
    if isinstance(error, ExpressionTooLarge):
        return LimitExceeded(
            message, field=field, limit=error.limit, limit_max=error.maximum, value=error.value, **values
        )
    return InvalidArgument(message, field=field, **values)


# A node has a whole turn (input and output) or one message: the fields that exist decide. Empty text gives no message.
_SIMPLE_CHAT = Rules(
    edge_types=("Contains",),
    depth_max=1,
    messages=(
        MessageRule(
            when="has(entity.data.user_input)",
            role="'user'",
            content="entity.data.user_input",
        ),
        MessageRule(
            when="has(entity.data.assistant_output)",
            role="'assistant'",
            content="entity.data.assistant_output",
        ),
        MessageRule(
            when="!has(entity.data.user_input) && !has(entity.data.assistant_output)"
            " && has(entity.data.role) && has(entity.data.content)",
            role="entity.data.role",
            content="entity.data.content",
        ),
    ),
)

# The same for a session of messages in which each answer hangs below the message that it answers.
_CHAT_TURNS = replace(_SIMPLE_CHAT, edge_types=("Contains", "InResponseTo"), depth_max=3)

# The input and output of each step of a run, as a turn.
_IO_CHAT = Rules(
    edge_types=("Contains", "Calls"),
    depth_max=3,
    include_start=True,
    messages=(
        MessageRule(when="has(entity.io.input)", role="'user'", content="entity.io.input"),
        MessageRule(when="has(entity.io.output)", role="'assistant'", content="entity.io.output"),
    ),
)

_BUILT_IN = {DEFAULT_NAME: _SIMPLE_CHAT, "chat_turns": _CHAT_TURNS, "io_chat": _IO_CHAT}


def built_in_names() -> list[str]:
    """Return the names that every tenant sees and that cannot be registered."""
    return sorted(_BUILT_IN)


@cache
def built_in(name: str) -> Mapping | None:
    """Return the built-in mapping of a name, or None if there is none. It is compiled at its first use."""
    rules = _BUILT_IN.get(name)
    return None if rules is None else compile_mapping(rules)
