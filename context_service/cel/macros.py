"""The loops: all, exists, exists_one, map and filter as closures.

A loop over a map runs over its keys. A loop that cannot end early is paid for
as a whole before it starts, the others by the turn. The bound name has a place
of its own in the environment, so nested loops never share one.
"""

from __future__ import annotations

from typing import Any

from context_service.cel.budget import ABSORB_STEPS, ITEM_BYTES, CallBudget
from context_service.cel.errors import EvaluationBudgetExceeded, EvaluationError
from context_service.cel.paths import BUDGET, Env, Run
from context_service.cel.syntax import Position
from context_service.cel.values import keys_of, no_overload, number, type_name


def quantifier(name: str, source: Run, slot: int, body: Run, cost: int, *, decides: bool, at: Position) -> Run:
    """Return the closure of `all` (decided by a false) or `exists` (decided by a true).

    A turn that fails matters only if no other turn decides.
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
    """Return the closure of `exists_one`: true in one turn, and false in all others."""

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
    if type(source) is list:
        return source
    if type(source) is dict:
        budget.charge(len(source) // 4)
        budget.charge_bytes(ITEM_BYTES * len(source))
        return keys_of(source)
    raise no_overload(name, source).located(at)


def _not_bool(name: str, value: Any, at: Position) -> EvaluationError:
    return EvaluationError(f"{name} needs a bool, not {type_name(value)}", *at)
