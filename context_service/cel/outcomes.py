"""What an expression may give, as far as its text shows it.

An expression whose result is computed shows nothing. One that ends in a choice, a look-up in a map that is written
out, or a list of literals shows each value that may come of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from context_service.cel.syntax import (
    Call,
    Conditional,
    Ident,
    Index,
    ListLiteral,
    MapLiteral,
    Node,
    Operation,
)


def outcomes(node: Node) -> Iterator[Node]:
    """Yield the parts of an expression one of which gives its value: of a choice, both sides."""
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
    """Yield the parts of an expression that give elements of its list; none of a list that is read or computed."""
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
