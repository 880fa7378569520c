"""What evaluates an expression in one call, for one node after another.

`whole` is how: it begins an evaluation on the call's budget and runs the code. Most expressions of a mapping are a
constant, a path, or a question which fields are there; such a one has a closure that does it at once where the data
are as expected and the steps are there, and leaves all else to `whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from context_service.cel.budget import CallBudget
from context_service.cel.compile import Code
from context_service.cel.errors import EvaluationBudgetExceeded, EvaluationError
from context_service.cel.paths import VARIABLES, Path
from context_service.cel.presence import Presence
from context_service.cel.values import type_name

Evaluator = Callable[[Mapping[str, Any]], object]


def evaluator(code: Code, names: tuple[None, ...], result: type | None, budget: CallBudget) -> Evaluator:
    """Return what evaluates an expression.

    Args:
        code: The expression.
        names: A place for each name that its macros bind.
        result: The type that its value must have; None: any.
        budget: The call's. Whatever the outcome, the steps are charged to it.
    """
    if code.constant:
        value = code.value
        return lambda variables: value
    whole = _whole(code, names, result, budget)
    if code.cost <= budget.evaluation_steps_max:
        if code.path and code.path.slot == VARIABLES:
            return _path(code.path, code.cost, result, budget, whole)
        if code.presence and code.presence.path.slot == VARIABLES:
            return _presence(code.presence, code.cost, budget, whole)
    return whole


def _whole(code: Code, names: tuple[None, ...], result: type | None, budget: CallBudget) -> Evaluator:
    run, cost = code.run, code.cost
    steps_max, bytes_max = budget.evaluation_steps_max, budget.evaluation_bytes_max

    def whole(variables: Mapping[str, Any]) -> object:
        left = budget.call_steps_left
        floor = left - steps_max
        if floor < 0:
            floor = 0
            budget.nearly_spent = True
        budget.steps_floor = floor
        budget.bytes_left = bytes_max
        budget.call_steps_left = left = left - cost
        if left < floor:
            raise budget.out_of_steps()
        try:
            value = run([budget, variables, *names])
        except RecursionError:
            raise EvaluationBudgetExceeded(
                "the evaluation is nested too deeply", limit="evaluation_depth", maximum=100
            ) from None
        if result is not None and type(value) is not result:
            raise EvaluationError(f"the result is {type_name(value)}, not {type_name(result())}")
        return value

    return whole


def _path(path: Path, cost: int, result: type | None, budget: CallBudget, whole: Evaluator) -> Evaluator:
    keys = path.keys

    def read(variables: Mapping[str, Any]) -> object:
        left = budget.call_steps_left - cost
        value: Any = variables
        try:
            for key in keys:
                value = value[key]
        except (KeyError, TypeError):
            return whole(variables)
        kind = type(value)
        if left < 0 or (kind is not result and result is not None) or kind is int:  # an int may be too large for one
            return whole(variables)
        budget.call_steps_left = left
        return value

    return read


def _presence(presence: Presence, cost: int, budget: CallBudget, whole: Evaluator) -> Evaluator:
    (first, second), wanted = presence.path.keys, presence.wanted

    def test(variables: Mapping[str, Any]) -> object:
        left = budget.call_steps_left - cost
        try:
            fields = variables[first][second]
        except (KeyError, TypeError):
            return whole(variables)
        if left < 0 or type(fields) is not dict:
            return whole(variables)
        budget.call_steps_left = left
        for field, there in wanted:  # noqa: SIM110  # all() takes three times as long
            if (field in fields) is not there:
                return False
        return True

    return test
