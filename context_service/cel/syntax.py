"""The tree of an expression: what the parser says and the compiler reads.

Chains that users write long (`&&`, `||`, operators of one precedence, `?:` in
the else branch) are one flat node each, so that the depth of the tree is the
nesting a reader sees and a recursive pass over it stays shallow.
"""

from __future__ import annotations

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
    """`operand.field`; `quoted` if the field stands in backticks."""

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
    """One operator of a chain with what stands right of it."""

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
