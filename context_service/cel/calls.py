"""Calls and lookups as closures: what happens once the arguments have values.

An error of a function gets the place of the call it happened in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from context_service.cel.errors import EvaluationError
from context_service.cel.paths import BUDGET, Env, Run
from context_service.cel.syntax import Position
from context_service.cel.values import NUMBERS, BoolKey, Uint, key_of, no_overload, number, type_name

_SHOWN_CHARS_MAX: Final = 60  # of a key, in a message


def caller(function: Callable[..., Any], args: Sequence[Run], at: Position) -> Run:
    """Return the closure that calls `function` with the budget and the values of `args`."""
    if len(args) == 1:
        (only,) = args

        def call_one(env: Env) -> Any:
            value = only(env)
            try:
                return function(env[BUDGET], value)
            except EvaluationError as error:
                raise error.located(at) from None

        return call_one
    if len(args) == 2:
        first, second = args

        def call_two(env: Env) -> Any:
            value, other = first(env), second(env)
            try:
                return function(env[BUDGET], value, other)
            except EvaluationError as error:
                raise error.located(at) from None

        return call_two

    def call(env: Env) -> Any:
        values = [arg(env) for arg in args]
        try:
            return function(env[BUDGET], *values)
        except EvaluationError as error:
            raise error.located(at) from None

    return call


def indexer(operand: Run, index: Run, at: Position) -> Run:
    """Return the closure of `operand[index]`."""

    def run(env: Env) -> Any:
        container = operand(env)
        key = index(env)
        if type(container) is dict:
            stored = key_of(key)
            if stored is None:
                raise EvaluationError(f"{type_name(key)} can be no key of a map", *at)
            try:
                return number(container[stored])
            except KeyError:
                raise EvaluationError(f"the map has no key {_shown(stored)}", *at) from None
        if type(container) is not list or type(key) not in NUMBERS:
            raise no_overload("[]", container, key).located(at)
        place = int(key) if abs(key) < 2**53 else -1  # NaN is not below anything
        if place != key or not 0 <= place < len(container):
            raise EvaluationError(f"the index {key} is outside the list of {len(container)} elements", *at)
        return number(container[place])

    return run


def _shown(key: Any) -> str:
    """Return a key as a message may show it: short."""
    if type(key) is BoolKey:
        return "true" if key.value else "false"
    if type(key) is str:
        return repr(key) if len(key) <= _SHOWN_CHARS_MAX else f"{key[:_SHOWN_CHARS_MAX]!r}..."
    return repr(int(key) if type(key) is Uint else key)
