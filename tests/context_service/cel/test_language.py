"""The language, case by case: `tests/cases/cel/*.yaml`.

A case has a name that states its claim, an expression, variables, and `want`
(the value, of the same type), `error` (the evaluation's message) or `refused`
(the registration's message and place). `declared` names variables without values.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from context_service.kernel.cel import (
    CallBudget,
    CelError,
    CelType,
    EvaluationError,
    Expression,
    Timestamp,
    Uint,
    compile_expression,
)
from tests.conformance.cel_vectors import same_value

FOLDER = Path(__file__).parents[2] / "cases" / "cel"
KEYS = {"name", "expr", "variables", "declared", "want", "error", "refused"}


class _Loader(yaml.CSafeLoader):
    """YAML with the types that JSON lacks."""


def _scalar(make: Any) -> Any:
    return lambda loader, node: make(loader.construct_scalar(node))


for _tag, _make in (
    ("!uint", Uint),
    ("!bytes", base64.b64decode),
    ("!type", CelType),
    ("!timestamp", Timestamp.parse),
    ("!time", lambda text: datetime.fromisoformat(text).astimezone(UTC)),
):
    _Loader.add_constructor(_tag, _scalar(_make))


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(FOLDER.glob("*.yaml"))
        for case in yaml.load(path.read_text(), _Loader)
    ]


@pytest.mark.parametrize("case", _cases())
def test_case_holds(case: dict[str, Any]) -> None:
    assert case.keys() <= KEYS
    assert len(case.keys() & {"want", "error", "refused"}) == 1, "a case expects one thing"
    if "refused" in case:
        with pytest.raises(CelError) as refusal:
            _compiled(case)
        got = {"message": refusal.value.message, "line": refusal.value.line, "column": refusal.value.column}
        assert got == case["refused"]
        return
    expression = _compiled(case)
    variables = case.get("variables", {})
    if "error" in case:
        with pytest.raises(EvaluationError) as failure:
            expression.evaluate(variables, CallBudget())
        assert failure.value.message == case["error"]
        return
    value = expression.evaluate(variables, CallBudget())
    assert same_value(value, case["want"]), f"{value!r}"


def _compiled(case: dict[str, Any]) -> Expression:
    names = {*case.get("variables", {}), *case.get("declared", ())}
    return compile_expression(case["expr"], variables=frozenset(names))


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.id for case in _cases()]
    assert len(set(names)) == len(names)
