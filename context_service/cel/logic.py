"""`&&`, `||`, `!` and `?:` as closures.

`&&` and `||` are commutative: a side that decides wins over a side that fails.
A budget that has run out is no such failure, so it always passes through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from context_service.cel.budget import ABSORB_STEPS
from context_service.cel.errors import EvaluationBudgetExceeded, EvaluationError
from context_service.cel.paths import BUDGET, Env, Run
from context_service.cel.syntax import Position
from context_service.cel.values import type_name


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
    """Return the closure for two terms, by far the most common number."""

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
    """Return the closure of `c1 ? v1 : c2 ? v2 : otherwise`; only what is taken runs."""
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
