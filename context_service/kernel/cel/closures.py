"""The closures for each kind of node: calls and look-ups, operators, logic, loops.

A closure takes the environment (`paths.Env`) and returns a value. The compiler makes the closure of a node from the
closures of its parts. An error of a function or an operator gets the position of its token in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from context_service.kernel.cel.budget import ABSORB_STEPS, ITEM_BYTES, CallBudget
from context_service.kernel.cel.errors import EvaluationBudgetExceeded, EvaluationError
from context_service.kernel.cel.library.operators import Operator
from context_service.kernel.cel.paths import BUDGET, Env, Run
from context_service.kernel.cel.syntax import Position
from context_service.kernel.cel.values import NUMBERS, BoolKey, Uint, key_of, keys_of, no_overload, number, type_name

# Calls and look-ups, once the arguments have values.

_SHOWN_CHARS_MAX: Final = 60  # characters of a key that an error shows


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
                raise EvaluationError(f"{type_name(key)} cannot be a key of a map", *at)
            try:
                return number(container[stored])
            except KeyError:
                raise EvaluationError(f"the map has no key {_short_text(stored)}", *at) from None
        if type(container) is not list or type(key) not in NUMBERS:
            raise no_overload("[]", container, key).located(at)
        place = int(key) if abs(key) < 2**53 else -1  # NaN is not below anything
        if place != key or not 0 <= place < len(container):
            raise EvaluationError(f"the index {key} is outside the list of {len(container)} elements", *at)
        return number(container[place])

    return run


def _short_text(key: Any) -> str:
    """Return a key as a short text for an error message."""
    if type(key) is BoolKey:
        return "true" if key.value else "false"
    if type(key) is str:
        return repr(key) if len(key) <= _SHOWN_CHARS_MAX else f"{key[:_SHOWN_CHARS_MAX]!r}..."
    return repr(int(key) if type(key) is Uint else key)


# Arithmetic and relations. Most rules compare a field with a constant. Such a comparison need not check the types of
# both sides, so it has a closure of its own.


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
        # Exact: for these values, Python compares as doubles do. A bool is not a number here.
        return lambda env: ((value_of_field := run(env)) == value and type(value_of_field) is not bool) is not negated
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


# `&&`, `||`, `!` and `?:`. The first two are commutative: if one side decides the result, an error of the other side
# is ignored. An exceeded budget is not such an error: it is always raised.


def junction(operator: str, terms: Sequence[Run], at: Position) -> Run:
    """Return the closure of terms joined by `&&` or `||`."""
    decides = operator == "||"
    if len(terms) == 2:
        return _pair(operator, terms[0], terms[1], decides, at)

    def run(env: Env) -> Any:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value = term(env)
            except EvaluationBudgetExceeded:
                raise
            except EvaluationError as error:
                env[BUDGET].charge(ABSORB_STEPS)
                failure = error
                continue
            if value is decides:
                return decides
            if type(value) is not bool:
                failure = _not_bool(operator, value, at)
        if failure is not None:
            raise failure
        return not decides

    return run


def _pair(operator: str, left: Run, right: Run, decides: bool, at: Position) -> Run:
    """Return the closure for two terms joined by `&&` or `||`, by far the most common number."""

    def run(env: Env) -> Any:
        try:
            value = left(env)
        except EvaluationBudgetExceeded:
            raise
        except EvaluationError as error:
            env[BUDGET].charge(ABSORB_STEPS)
            if right(env) is decides:
                return decides
            raise error from None
        if value is decides:
            return decides
        other = right(env)
        if other is decides:
            return decides
        if type(value) is not bool:
            raise _not_bool(operator, value, at)
        if type(other) is not bool:
            raise _not_bool(operator, other, at)
        return not decides

    return run


def negation(operand: Run, at: Position) -> Run:
    """Return the closure of `!operand`."""

    def run(env: Env) -> bool:
        value = operand(env)
        if type(value) is not bool:
            raise _not_bool("!", value, at)
        return not value

    return run


def choice(branches: Sequence[tuple[Run, Run]], otherwise: Run, at: Position) -> Run:
    """Return the closure of `c1 ? v1 : c2 ? v2 : otherwise`; only the chosen branch runs."""
    if len(branches) == 1:
        ((condition, then),) = branches

        def run_one(env: Env) -> Any:
            value = condition(env)
            if value is True:
                return then(env)
            if value is False:
                return otherwise(env)
            raise _not_bool("?:", value, at)

        return run_one

    def run(env: Env) -> Any:
        for condition, then in branches:
            value = condition(env)
            if value is True:
                return then(env)
            if value is not False:
                raise _not_bool("?:", value, at)
        return otherwise(env)

    return run


def _not_bool(operator: str, value: Any, at: Position) -> EvaluationError:
    return EvaluationError(f"{operator} needs a bool, not {type_name(value)}", *at)


# The loops: all, exists, exists_one, map and filter. A loop over a map runs over its keys. A loop that cannot end early
# is charged as a whole before it starts, other loops for each element. The bound name has a slot of its own in the
# environment, so nested loops never share one.


def quantifier(name: str, source: Run, slot: int, body: Run, cost: int, *, decides: bool, at: Position) -> Run:
    """Return the closure of the macros `all` (decided by a false) or `exists` (decided by a true).

    An error in one element matters only if no other element decides the result.
    """

    def run(env: Env) -> Any:
        budget: CallBudget = env[BUDGET]
        failure: EvaluationError | None = None
        for item in _items(name, budget, source(env), at):
            budget.call_steps_left -= cost
            if budget.call_steps_left < budget.steps_floor:
                raise budget.out_of_steps()
            env[slot] = number(item)
            try:
                value = body(env)
            except EvaluationBudgetExceeded:
                raise
            except EvaluationError as error:
                budget.charge(ABSORB_STEPS)
                failure = error
                continue
            if value is decides:
                return decides
            if type(value) is not bool:
                failure = _not_bool(name, value, at)
        if failure is not None:
            raise failure
        return not decides

    return run


def exactly_one(source: Run, slot: int, body: Run, cost: int, at: Position) -> Run:
    """Return the closure of `exists_one`: its test is true for one element, and false for all others."""

    def run(env: Env) -> bool:
        budget: CallBudget = env[BUDGET]
        items = _items("exists_one", budget, source(env), at)
        budget.charge(cost * len(items))
        count = 0
        for item in items:
            env[slot] = number(item)
            value = body(env)
            if value is True:
                count += 1
            elif value is not False:
                raise _not_bool("exists_one", value, at)
        return count == 1

    return run


def mapping(source: Run, slot: int, body: Run, cost: int, at: Position) -> Run:
    """Return the closure of `map` with two arguments."""

    def run(env: Env) -> list[Any]:
        budget: CallBudget = env[BUDGET]
        items = source(env)
        if type(items) is not list:
            items = _items("map", budget, items, at)
        count = len(items)
        budget.call_steps_left -= cost * count
        if budget.call_steps_left < budget.steps_floor:
            raise budget.out_of_steps()
        budget.charge_bytes(ITEM_BYTES * count)
        values = []
        for item in items:
            env[slot] = number(item) if type(item) is int else item
            values.append(body(env))
        return values

    return run


def filtering(name: str, source: Run, slot: int, keep: Run, *, body: Run | None, cost: int, at: Position) -> Run:
    """Return the closure of `filter`, or of `map` with three arguments, which filters first."""

    def run(env: Env) -> list[Any]:
        budget: CallBudget = env[BUDGET]
        items = _items(name, budget, source(env), at)
        budget.charge(cost * len(items))
        budget.charge_bytes(ITEM_BYTES * len(items))
        values = []
        for item in items:
            value = number(item)
            env[slot] = value
            kept = keep(env)
            if kept is True:
                values.append(value if body is None else body(env))
            elif kept is not False:
                raise _not_bool(name, kept, at)
        return values

    return run


def _items(name: str, budget: CallBudget, source: Any, at: Position) -> list[Any]:
    """Return the items over which a macro such as `all` loops: the elements of a list, or the keys of a map.

    Raises:
        EvaluationError: the value is neither a list nor a map.
    """
    if type(source) is list:
        return source
    if type(source) is dict:
        budget.charge(len(source) // 4)
        budget.charge_bytes(ITEM_BYTES * len(source))
        return keys_of(source)
    raise no_overload(name, source).located(at)
