"""Rules: a mapping as its author writes it, and the long form that every shorthand stands for.

Expressions are CEL over `entity`, `edge`, `edges`, `path` and `root` (and `item`, `index` below a `for_each`). The
shorthands are only another way of writing: `Rules.expanded` turns them into expressions, so that one compiler and one
meaning serve both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

import orjson

from context_service.history.pure.limits import DEFAULTS, HistoryLimits
from context_service.kernel.cel.parse import NO_IDENTIFIERS
from context_service.kernel.graph_values import ENTITY_FIELDS, Direction
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_at_most, check_bytes, check_count, check_texts

Order = Literal["ascending", "descending"]
Ordering = Literal["", "timestamp_asc", "timestamp_desc"]

DEPTH_DEFAULT = 3
_VARIABLES = frozenset({"entity", "edge", "edges", "path", "root", "item", "index"})
_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Texts that name a direction: other systems write it with the value to order by.
_DIRECTED = re.compile(
    r"[+-]\s*[A-Za-z_][\w.-]*|[\w.-]+\s+(?:asc|desc)\w*|(?:timestamp_)?(?:asc|desc)(?:ending)?", re.IGNORECASE
)
_FIELDS_PLAIN = {name.replace("_", ""): name for name in ENTITY_FIELDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRule:
    """How one node becomes one message, or one message per element of a list. Each field is a CEL expression."""

    role: str = ""  # text
    content: str = ""  # text; an object or a list becomes JSON; without content and parts there is no message
    when: str = ""  # bool; an empty expression is always true
    for_each: str = ""  # list; one message per element, which the other expressions read as `item` and `index`
    name: str = ""  # text
    parts: str = ""  # list
    metadata: str = ""  # object
    turn: str = ""  # text; messages of the assistant with the same text form one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a mapping: how to walk, which nodes to use, and how they become messages, in order."""

    edge_types: tuple[str, ...] = ()  # empty means all types
    direction: Direction = "out"
    depth_max: int = DEPTH_DEFAULT
    entity_types: tuple[str, ...] = ()  # general or specific types of nodes; empty means all types
    include_start: bool = False
    include_archived: bool = False
    filter: str = ""  # CEL, bool; an empty expression keeps each node
    messages: tuple[MessageRule, ...] = ()
    order_by: str = ""  # CEL or a path; empty means `created_at`
    order: Order = "ascending"
    group_by: str = ""  # CEL or a path that gives a text or a list of texts; nodes of the same group follow each other
    # Shorthands.
    role_field: str = ""  # path
    content_field: str = ""  # path
    order_field: str = ""  # path
    role_mapping: Mapping[str, str] = field(default_factory=dict)  # type name, or value of role_field, to role
    ordering: Ordering = ""

    def expanded(self, limits: HistoryLimits = DEFAULTS) -> Rules:
        """Return the same rules without shorthands.

        Raises:
            InvalidArgument: a field has an invalid value, two fields contradict each other, or no rule gives messages.
            LimitExceeded: the rules exceed a limit.
        """
        _check_size(self, limits)
        _check(self, limits)
        messages = self.messages
        if self.content_field or self.role_field or self.role_mapping:
            messages = (_message_rule(self),)
        order_by, order = self.order_by, self.order
        if self.ordering:
            order = "descending" if self.ordering == "timestamp_desc" else "ascending"
        if self.order_field:
            order_by = path_expression("order_field", self.order_field)
        return replace(
            self,
            messages=messages,
            order_by=_expression("order_by", order_by or "created_at"),
            order=order,
            group_by=_expression("group_by", self.group_by),
            role_field="",
            content_field="",
            order_field="",
            role_mapping={},
            ordering="",
        )


def rules_bytes(rules: Rules) -> int:
    """Return the size of rules as JSON."""
    return len(orjson.dumps(rules))


def path_steps(field: str, path: str) -> list[str]:
    """Return the names on a path: from the entity if its first name is a field of entities, else from the data.

    Raises:
        InvalidArgument: the path is malformed; the violation names `field`.
    """
    if not _PATH.fullmatch(path):
        raise InvalidArgument(
            f"{field} must be a path such as `content` or `data.turn.text` (got {path[:100]!r})", field=field
        )
    first, *rest = path.split(".")
    return [first, *rest] if first in ENTITY_FIELDS else ["data", first, *rest]


def path_expression(field_name: str, path: str) -> str:
    """Return the CEL expression of a path.

    Raises:
        InvalidArgument: the path is malformed; the violation names `rules.<field_name>`.
    """
    expression = "entity"
    for step in path_steps(f"rules.{field_name}", path):
        plain = _IDENTIFIER.fullmatch(step) and step not in NO_IDENTIFIERS
        expression += f".{step}" if plain else f"[{_cel_string(step)}]"
    return expression


def _expression(field_name: str, text: str) -> str:
    """Return the expression of a field that may also be a path."""
    return path_expression(field_name, text) if _is_path(text) else text


def _message_rule(rules: Rules) -> MessageRule:
    """Return the message rule that the shorthands stand for."""
    if not rules.content_field:
        raise InvalidArgument("content_field is required with role_field and role_mapping", field="rules.content_field")
    content = path_expression("content_field", rules.content_field)
    roles = (
        "{" + ", ".join(f"{_cel_string(key)}: {_cel_string(role)}" for key, role in rules.role_mapping.items()) + "}"
    )
    if rules.role_field:
        value = path_expression("role_field", rules.role_field)
        if not rules.role_mapping:
            return MessageRule(role=value, content=content)
        return MessageRule(when=f"{value} in {roles}", role=f"{roles}[{value}]", content=content)
    if not rules.role_mapping:
        raise InvalidArgument("role_field or role_mapping is required with content_field", field="rules.role_field")
    return MessageRule(
        when=f"entity.type in {roles} || entity.general_type in {roles}",
        role=f"entity.type in {roles} ? {roles}[entity.type] : {roles}[entity.general_type]",
        content=content,
    )


def _check_size(rules: Rules, limits: HistoryLimits) -> None:
    """Refuse rules that could not be stored, or whose types the Entity Service would refuse."""
    for name in ("edge_types", "entity_types"):
        types: Sequence[str] = getattr(rules, name)
        check_texts(f"rules.{name}", types, count_max=limits.types_max, chars_max=limits.name_chars_max)
    check_count("rules.messages", len(rules.messages), limits.rules_max)
    check_at_most("rules.depth_max", rules.depth_max, limits.depth_max)
    check_bytes("rules", rules_bytes(rules), limits.mapping_bytes_max)
    if any("\0" in text for text in _texts(rules)):
        raise InvalidArgument("rules must not have NUL characters", field="rules")


def _texts(rules: Rules) -> Iterator[str]:
    """Yield all texts of rules: expressions, paths and roles, but not the lists of types."""
    values: list[Rules | MessageRule] = [rules, *rules.messages]
    for value in values:
        yield from (text for attribute in fields(value) if isinstance(text := getattr(value, attribute.name), str))
    for key, role in rules.role_mapping.items():
        yield key
        yield role


def _check(rules: Rules, limits: HistoryLimits) -> None:
    """Refuse rules with contradicting, missing or unknown values.

    Raises:
        InvalidArgument: the violation names the field.
    """
    shorthand = bool(rules.content_field or rules.role_field or rules.role_mapping)
    if rules.messages and shorthand:
        raise InvalidArgument(
            "give messages, or role_field, role_mapping and content_field, not both", field="rules.messages"
        )
    if not rules.messages and not shorthand:
        raise InvalidArgument(
            "give messages or content_field; without them no node has a message", field="rules.messages"
        )
    for position, rule in enumerate(rules.messages):
        for name in ("role", "content"):
            if not getattr(rule, name) and not (name == "content" and rule.parts):
                place = f"rules.messages[{position}].{name}"
                raise InvalidArgument(f"{place} is required", field=place)
    if rules.order_by and rules.order_field:
        raise InvalidArgument("give order_by or order_field, not both", field="rules.order_field")
    for name in ("order_by", "order_field"):
        _check_order(f"rules.{name}", getattr(rules, name))
    if rules.depth_max < 1:
        raise InvalidArgument(
            f"rules.depth_max must be between 1 and {limits.depth_max} (got {rules.depth_max})", field="rules.depth_max"
        )
    _one_of("direction", rules.direction, get_args(Direction))
    _one_of("order", rules.order, get_args(Order))
    _one_of("ordering", rules.ordering, get_args(Ordering))
    if rules.ordering and (rules.order_by or rules.order_field):
        raise InvalidArgument(
            "ordering sorts by created_at and goes with neither order_by nor order_field; use order with them",
            field="rules.ordering",
        )


def _check_order(place: str, text: str) -> None:
    """Refuse an order that has a direction in it, or that misspells a field of nodes.

    Raises:
        InvalidArgument: the order has a direction or a misspelled field; the error says what to write instead.
    """
    sign_path = text.lstrip("+- ").split(".", maxsplit=1)[0]
    if _DIRECTED.fullmatch(text) and sign_path not in _VARIABLES:
        raise InvalidArgument(
            f"{place} must be a path or an expression without a direction (got {text[:100]!r}); the direction is"
            " rules.order: ascending or descending",
            field=place,
        )
    if not _is_path(text):
        return
    first = text.split(".", maxsplit=1)[0]
    field_name = _FIELDS_PLAIN.get(_plain(first))
    if field_name is not None and first != field_name:
        raise InvalidArgument(
            f"{place} is {text[:100]!r}, but nodes have no field {first[:100]!r}; is it {field_name}? A field of the"
            f" node's data is data.{first[:100]}",
            field=place,
        )


def _plain(name: str) -> str:
    """Return a name in a form that is the same for all spellings, such as `createdAt` and `created_at`."""
    return name.replace("_", "").replace("-", "").lower()


def _one_of(name: str, value: str, values: Sequence[str]) -> None:
    if value not in values:
        names = ", ".join(filter(None, values))
        raise InvalidArgument(f"rules.{name} must be one of {names} (got {value[:100]!r})", field=f"rules.{name}")


def _is_path(text: str) -> bool:
    return bool(_PATH.fullmatch(text)) and text.split(".", maxsplit=1)[0] not in _VARIABLES


def _cel_string(text: str) -> str:
    """Return a CEL string literal; JSON's escapes are among CEL's."""
    return orjson.dumps(text).decode()
