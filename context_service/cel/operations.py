"""Arithmetic and relations as closures, and the shortcuts for constants.

Most rules compare a field with a constant. Such a comparison needs no look at
both types, so it has a closure of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from context_service.cel.errors import EvaluationError
from context_service.cel.operators import Operator
from context_service.cel.paths import BUDGET, Env, Run
from context_service.cel.syntax import Position
from context_service.cel.values import NUMBERS


def binary(operator: Operator, left: Run, right: Run, at: Position) -> Run:
    """Return the closure of one operator."""

    def run(env: Env) -> Any:
        value = left(env)
        other = right(env)
        try:
            return operator(env[BUDGET], value, other)
        except EvaluationError as error:
            raise error.located(at) from None

    return run


def chain(first: Run, rest: Sequence[tuple[Operator, Run, Position]]) -> Run:
    """Return the closure of several operators, from left to right."""

    def run(env: Env) -> Any:
        value = first(env)
        budget = env[BUDGET]
        for operator, operand, at in rest:
            other = operand(env)
            try:
                value = operator(budget, value, other)
            except EvaluationError as error:
                raise error.located(at) from None
        return value

    return run


def equal_to(run: Run, value: Any, *, negated: bool) -> Run | None:
    """Return the closure of `run == value` or `run != value`; None without a shortcut."""
    kind = type(value)
    if kind is str:
        # A string equals strings only, in Python too.
        return (lambda env: run(env) != value) if negated else (lambda env: run(env) == value)
    if value is None or kind is bool:
        return (lambda env: run(env) is not value) if negated else (lambda env: run(env) is value)
    if kind in NUMBERS and abs(value) <= 2**53:
        # Exact, so comparing as Python does is comparing as doubles. A bool is no number here.
        return lambda env: ((found := run(env)) == value and type(found) is not bool) is not negated
    return None


def among(run: Run, items: Any) -> Run | None:
    """Return the closure of `run in items` for strings; None for anything else."""
    if type(items) is not list or not all(type(item) is str for item in items):
        return None
    names = frozenset(items)

    def test(env: Env) -> bool:
        value = run(env)
        return type(value) is str and value in names

    return test
