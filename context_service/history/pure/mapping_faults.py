"""Faults of a mapping that its expressions show by themselves: unknown roles, malformed parts.

A mapping says how nodes of the entity graph become chat messages. A mapping with such a fault compiles and would run: a
message with an unknown role is skipped, and an unknown field of a part is ignored. But no author intends this, so it
cannot be registered. A mapping that is registered already keeps working.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from context_service.history.model import PART_FIELDS, PART_FIELDS_COMMON, ROLE_NAMES, ROLES
from context_service.history.pure.mappings import Mapping as CompiledMapping
from context_service.history.pure.mappings import Rule, expression_fault
from context_service.kernel.cel import CelError, CompileBudget, Literal, MapLiteral, Node, elements, outcomes
from contextkeep.errors import InvalidArgument
from contextkeep.slips import meant

_SHOWN_CHARS_MAX = 40  # characters of a text that an error shows
# Names that other systems use for our roles and fields.
_ROLES_MEANT = {
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
}
_TYPES_MEANT = {"json": "data", "image_url": "url", "function": "tool_call", "tool_use": "tool_call"}
_FIELDS_MEANT = {
    "input": "arguments",
    "parameters": "arguments",
    "tool_use_id": "tool_call_id",
    "output": "content",
    "result": "content",
}

_NO_ROLE = f"is not a role ({', '.join(ROLE_NAMES)})"


def check_evident(mapping: CompiledMapping, budget: CompileBudget) -> None:
    """Refuse a mapping whose expressions show that they give an unknown role or a malformed part.

    Args:
        mapping: The mapping with its compiled expressions.
        budget: The budget with which they were compiled; it has kept their syntax trees.

    Raises:
        InvalidArgument: a role is unknown; a part has an unknown type, lacks a field or has a field that its type does
            not have; or the order or the group is the same for all nodes. The violation names the field, and the line
            and the column of an expression.
    """
    for value, role in mapping.rules.role_mapping.items():
        if role not in ROLES:
            message = (
                f"rules.role_mapping: {_shown(role)}, of {_shown(value)}, {_NO_ROLE}{_hint(role, ROLES, _ROLES_MEANT)}"
            )
            raise InvalidArgument(message, field="rules.role_mapping")
    for rule in mapping.messages:
        _check(rule.role, outcomes, _role_fault, budget)
        if rule.parts is not None:
            _check(rule.parts, elements, _part_fault, budget)
    for ordering in (mapping.order_by, mapping.group_by):
        if ordering is not None and all(path[0] == "root" for path in ordering.expression.paths):
            message = (
                f"{ordering.place} reads no field of the nodes, so it is the same for all (got"
                f" {_shown(ordering.expression.source)}); give a path such as created_at or data.turn.index"
            )
            raise InvalidArgument(message, field=ordering.place)


def _check(
    rule: Rule,
    elements: Callable[[Node], Iterator[Node]],
    fault_of: Callable[[Node], CelError | None],
    budget: CompileBudget,
) -> None:
    """Refuse a rule if a part of its syntax tree has a fault.

    Args:
        rule: The compiled expression.
        elements: Yields the parts of the tree to check.
        fault_of: Returns the fault of a part, or None.
        budget: The budget with which the expression was compiled.

    Raises:
        InvalidArgument: a part has a fault.
    """
    for node in elements(budget.trees[rule.expression.source]):
        budget.look()
        if fault := fault_of(node):
            raise expression_fault(rule.place, fault)


def _role_fault(node: Node) -> CelError | None:
    """Return the fault of a text that is an unknown role; other expressions may have any value."""
    if not isinstance(node, Literal) or not isinstance(node.value, str) or node.value in ROLES:
        return None
    hint = _hint(node.value, ROLES, _ROLES_MEANT) or "; `when` says which nodes give no message"
    return CelError(f"{_shown(node.value)} {_NO_ROLE}{hint}", *node.at)


def _part_fault(part: Node) -> CelError | None:
    """Return the fault of an object literal; computed values in it may be anything."""
    if not isinstance(part, MapLiteral):
        return None
    values = {key.value: value for key, value in part.entries if isinstance(key, Literal)}
    types = list(outcomes(values["type"])) if "type" in values else []
    for node in types:
        if isinstance(node, Literal) and node.value not in PART_FIELDS:
            hint = _hint(node.value, PART_FIELDS, _TYPES_MEANT)
            return CelError(f"{_shown(node.value)} is not a type of a part ({', '.join(PART_FIELDS)}){hint}", *node.at)
    complete = len(values) == len(part.entries)
    kind = ""  # empty if the part may have one of several types
    if len(types) == 1 and isinstance(types[0], Literal):
        kind = str(types[0].value)
    elif not types and complete:
        kind = "text"
    forms = [PART_FIELDS[kind]] if kind else PART_FIELDS.values()
    field_names = [name for form in forms for name in (*form.required, *form.optional)] + [*PART_FIELDS_COMMON]
    whose = f"a part of type {kind}" if kind else "a part"
    for key, _ in part.entries:
        if isinstance(key, Literal) and key.value not in field_names:
            hint = _hint(key.value, field_names, _FIELDS_MEANT)
            return CelError(f"{whose} has no field {_shown(key.value)}, only {', '.join(field_names)}{hint}", *key.at)
    missing = [name for name in PART_FIELDS[kind].required if name not in values] if kind and complete else []
    return CelError(f"{whose} needs {' and '.join(missing)}", *part.at) if missing else None


def _hint(text: object, names: Collection[str], elsewhere: Mapping[str, str]) -> str:
    """Return a hint with the name that was probably meant; empty if none is similar."""
    right_place = elsewhere.get(str(text).lower())
    return f"; is it {right_place}?" if right_place in names else meant(text, names)


def _shown(text: object) -> str:
    return repr(text if not isinstance(text, str) or len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}...")
