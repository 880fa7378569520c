"""The tree of an expression: the output of the parser and the input of the compiler.

Chains that users write long (`&&`, `||`, operators of one precedence, `?:` in the else branch) are one flat node each.
So the depth of the tree is the nesting that a reader sees, and recursion over it stays shallow.

`outcomes` and `elements` return the possible values of an expression, as far as its text shows them. A computed value
is not known. A choice, a look-up in a map literal, and a list of literals show each possible value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Position(NamedTuple):
    """Where a token starts; both are 1-based, columns count code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: int, Uint, float, str, bytes, bool or None."""

    value: object
    at: Position


@dataclass(frozen=True, slots=True)
class Ident:
    """A name. `absolute` is the leading dot: it skips the names that macros bind."""

    name: str
    absolute: bool
    at: Position


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; `quoted` if the field is in backticks."""

    operand: Node
    field: str
    quoted: bool
    at: Position


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[index]`."""

    operand: Node
    index: Node
    at: Position


@dataclass(frozen=True, slots=True)
class Call:
    """`function(args)`, or `target.function(args)`: a function, a method or a macro."""

    target: Node | None
    function: str
    args: tuple[Node, ...]
    absolute: bool
    at: Position


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """`[items]`."""

    items: tuple[Node, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """`{key: value}`."""

    entries: tuple[tuple[Node, Node], ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Unary:
    """`!operand` or `-operand`."""

    operator: str
    operand: Node
    at: Position


class Step(NamedTuple):
    """One operator of a chain with its right operand."""

    operator: str
    operand: Node
    at: Position


@dataclass(frozen=True, slots=True)
class Operation:
    """`first op a op b ...`, from left to right: arithmetic or relations."""

    first: Node
    steps: tuple[Step, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Logic:
    """Two or more terms joined by `&&` or by `||`."""

    operator: str
    terms: tuple[Node, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Conditional:
    """`c1 ? v1 : c2 ? v2 : otherwise`."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node
    at: Position


Node: TypeAlias = (
    Literal | Ident | Select | Index | Call | ListLiteral | MapLiteral | Unary | Operation | Logic | Conditional
)


def outcomes(node: Node) -> Iterator[Node]:
    """Yield the parts of an expression that may become its value, such as both branches of a choice."""
    match node:
        case Conditional():
            for _, then in node.branches:
                yield from outcomes(then)
            yield from outcomes(node.otherwise)
        case Index(operand=MapLiteral(entries=entries)):
            for _, value in entries:
                yield from outcomes(value)
        case Call(target=Ident(name="cel"), function="bind", args=(_, _, body)):
            yield from outcomes(body)
        case _:
            yield node


def elements(node: Node) -> Iterator[Node]:
    """Yield the parts of an expression that become elements of its list; none if the list is read or computed."""
    for outcome in outcomes(node):
        match outcome:
            case ListLiteral(items=items):
                for item in items:
                    yield from outcomes(item)
            case Operation(first=first, steps=steps) if all(step.operator == "+" for step in steps):
                for operand in (first, *(step.operand for step in steps)):
                    yield from elements(operand)
            case Call(function="map", args=(_, *_, body)) if outcome.target is not None:
                yield from outcomes(body)
            case Call(target=target, function="filter") if target is not None:
                yield from elements(target)
