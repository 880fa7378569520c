"""Hostile expressions end soon, small, and with a clear error.

Times are CPU times in units of `tests.cpu`, with a wide margin over what is measured: an evaluation at its limit of
steps takes 1 to 8.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from context_service.kernel.cel import (
    CallBudget,
    CallBudgetExceeded,
    EvaluationBudgetExceeded,
    EvaluationError,
    Expression,
    compile_expression,
)
from tests import cpu

MIB = 1024 * 1024
MEMORY_BYTES_MAX = 50 * MIB
EVALUATION_UNITS_MAX = 50
VARIABLES = frozenset({"entity"})

THOUSAND = list(range(1000))
LONG = "a" * MIB
WORDS = "ab " * 10_000


def compiled(source: str) -> Expression:
    return compile_expression(source, variables=VARIABLES)


def doublings(count: int) -> str:
    source = "x"
    for _ in range(count):
        source = f"cel.bind(x, x + x, {source})"
    return f"cel.bind(x, 'ab', {source})"


HOSTILE = {
    "three nested loops": (
        "entity.l.all(a, entity.l.all(b, entity.l.all(c, a + b + c >= 0)))",
        "evaluation_steps",
    ),
    "three nested maps": ("entity.l.map(a, entity.l.map(b, entity.l.map(c, a)))", "evaluation_steps"),
    "forty doublings of a string": (doublings(40), "evaluation_bytes"),
    "forty doublings of a list": (doublings(40).replace("'ab'", "[1, 2]"), "evaluation_bytes"),
    "replace that grows": ("entity.words.replace('', entity.long)", "evaluation_bytes"),
    "replace of each character": ("entity.words.replace('a', entity.words)", "evaluation_bytes"),
    "join with a long separator": ("entity.l.filter(x, x < 100).map(x, 'a').join(entity.words)", "evaluation_bytes"),
    "join of one text a thousand times": ("entity.l.map(x, entity.long).join()", "evaluation_bytes"),
    "format of one text many times": ("'%s%s%s%s'.format([entity.long, entity.long, entity.long, 1])", "any"),
    "format of a shared structure": ("'%s'.format([entity.l.map(x, entity.l)])", "any"),
    "split into characters": ("entity.long.split('')", "any"),
    "quote": ("strings.quote(entity.long)", "any"),
    "bytes of a long text, again and again": ("entity.l.map(x, bytes(entity.words))", "any"),
    "base64 of base64": (
        "base64.encode(bytes(base64.encode(bytes(base64.encode(bytes(entity.long))))))",
        "any",
    ),
    "equality of large lists": ("entity.l.exists(x, entity.nested == entity.nested + [1])", "any"),
    "equality of equal lists": ("entity.l.all(x, entity.nested == entity.copy)", "evaluation_steps"),
    "equality of long texts": ("entity.l.exists(x, entity.long == entity.long2)", "evaluation_steps"),
    "order of long texts": ("entity.l.all(x, entity.long <= entity.long2)", "evaluation_steps"),
    "in a list of long texts": ("entity.l.map(x, entity.long2).exists(y, !(entity.long in [y, y]))", "any"),
    "in a long list": ("entity.l.exists(x, -1 in entity.l)", "evaluation_steps"),
    "search in a long text": ("entity.l.exists(x, entity.long.contains('aaab'))", "evaluation_steps"),
    "search with the worst part": (
        "entity.l.exists(x, entity.words.contains('ab ab ab ab ab ab ab ab ac'))",
        "evaluation_steps",
    ),
    "search from the end": ("entity.l.exists(x, entity.long.lastIndexOf('baaaaaaa') > 0)", "evaluation_steps"),
    "trim of white space": ("entity.l.exists(x, entity.spaces.trim() != '')", "evaluation_steps"),
    "errors that are absorbed": (
        "entity.l.exists(a, entity.l.exists(b, a / 0 == 1 || b / 0 == 1))",
        "evaluation_steps",
    ),
    "patterns made at run time": (
        "entity.l.exists(x, 'a'.matches('(x.{0,200}){2}' + string(x)))",
        "evaluation_steps",
    ),
    "pattern of the largest automaton": (
        "entity.l.exists(x, entity.random.matches('(a|b)*a(a|b){100}c'))",
        "evaluation_steps",
    ),
    "time zones that there are not": (
        "entity.l.exists(x, timestamp(0).getHours('Nowhere/' + string(x)) < 0)",
        "evaluation_steps",
    ),
    "map literals in a loop": (
        "entity.l.map(a, entity.l.map(b, {'a': a, 'b': b, 'c': [a, b]}))",
        "any",
    ),
    "numbers in all formats": (
        "entity.l.exists(a, entity.l.exists(b, '%.900f%.900e'.format([1.1, 1.1]) == ''))",
        "any",
    ),
}


@pytest.fixture(scope="module")
def hostile_data() -> dict[str, Any]:
    nested = [[n, [str(n)]] for n in range(20_000)]
    return {
        "l": THOUSAND,
        "long": LONG,
        "long2": "a" * (MIB - 1) + "b",
        "words": WORDS,
        "spaces": " " * MIB,
        "nested": nested,
        "copy": [[n, [str(n)]] for n in range(20_000)],
        "random": "".join("ab"[n * n * 2654435761 >> 13 & 1] for n in range(11_000)),
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_evaluation_ends_in_milliseconds_within_its_memory(name: str, hostile_data: dict[str, Any]) -> None:
    source, limit = HOSTILE[name]
    expression = compiled(source)
    failures: list[EvaluationError] = []

    def run() -> None:
        try:
            expression.evaluate({"entity": hostile_data}, CallBudget())
        except EvaluationError as error:
            failures.append(error)

    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_BYTES_MAX
    assert cpu.units(run) < EVALUATION_UNITS_MAX
    if limit != "any":
        assert isinstance(failures[-1], EvaluationBudgetExceeded)
        assert failures[-1].limit == limit


def test_catastrophic_pattern_is_linear() -> None:
    expression = compiled("entity.t.matches('(a+)+$')")
    text = {"entity": {"t": "a" * 100_000 + "b"}}
    assert expression.evaluate(text, CallBudget()) is False
    assert cpu.units(lambda: expression.evaluate(text, CallBudget())) < EVALUATION_UNITS_MAX


def test_data_nested_to_the_limit_is_read_and_compared() -> None:
    deep: Any = "bottom"
    other: Any = "bottom"
    for _ in range(100):
        deep, other = {"d": [deep]}, {"d": [other]}
    values = {"entity": {"a": deep, "b": other}}
    assert compiled("entity.a == entity.b").evaluate(values, CallBudget()) is True
    assert compiled("entity.a" + ".d[0]" * 40 + " != null").evaluate(values, CallBudget()) is True


def test_data_nested_past_any_limit_fails_the_evaluation() -> None:
    deep: Any = []
    other: Any = []
    for _ in range(100_000):
        deep, other = [deep], [other]
    values = {"entity": {"a": deep, "b": other}}
    with pytest.raises(EvaluationBudgetExceeded):
        compiled("entity.a == entity.b").evaluate(values, CallBudget())


def test_a_budget_that_runs_out_is_not_absorbed() -> None:
    for source in (
        "entity.l.all(x, entity.l.all(y, entity.l.all(z, true))) || true",
        "true || entity.l.all(x, entity.l.all(y, entity.l.all(z, true)))",
        "entity.l.all(x, entity.l.all(y, entity.l.all(z, true))) && false && true",
        "[1, 2].exists(n, entity.l.all(x, entity.l.all(y, entity.l.all(z, true)))) || true",
    ):
        values = {"entity": {"l": THOUSAND}}
        if source.startswith("true ||"):
            assert compiled(source).evaluate(values, CallBudget()) is True  # never evaluated
            continue
        with pytest.raises(EvaluationBudgetExceeded):
            compiled(source).evaluate(values, CallBudget())


def test_a_call_ends_when_its_evaluations_have_spent_its_steps() -> None:
    """9,000 steps on each of 10,000 nodes are within each evaluation's limit, not the call's."""
    expression = compiled("entity.l.all(a, entity.m.all(b, a + b >= 0))")
    values = {"entity": {"l": list(range(100)), "m": list(range(9))}}
    assert CallBudget().call_steps_left == 50_000_000
    budget = CallBudget(steps_max=500_000)
    expression.evaluate(values, budget)
    steps = budget.steps_used
    assert 7_000 < steps < 9_500

    evaluated = 1
    with pytest.raises(CallBudgetExceeded) as error:
        for _ in range(10_000):
            expression.evaluate(values, budget)
            evaluated += 1
    assert error.value.maximum == 500_000
    assert evaluated == 500_000 // steps
    assert budget.call_steps_left == 0

    with pytest.raises(CallBudgetExceeded):
        compiled("1 + entity.n").evaluate({"entity": {"n": 1}}, budget)


def test_the_calls_end_is_no_evaluation_error() -> None:
    """A caller that skips nodes whose evaluation fails must not skip this."""
    assert not issubclass(CallBudgetExceeded, EvaluationError)
    budget = CallBudget(steps_max=100)
    with pytest.raises(CallBudgetExceeded):
        compiled("entity.l.all(x, true) || true").evaluate({"entity": {"l": THOUSAND}}, budget)


def test_steps_are_charged_whatever_the_outcome() -> None:
    budget = CallBudget()
    failing = compiled("entity.l.map(x, x / 0)")
    with pytest.raises(EvaluationError):
        failing.evaluate({"entity": {"l": THOUSAND}}, budget)
    assert budget.steps_used >= 1000
    before = budget.steps_used
    with pytest.raises(EvaluationBudgetExceeded):
        compiled("entity.l.map(x, entity.l.map(y, y))").evaluate({"entity": {"l": THOUSAND}}, budget)
    assert budget.steps_used == before + 10_000


def test_an_evaluation_costs_the_same_every_time() -> None:
    expression = compiled("entity.l.filter(x, x % 2 == 0).map(x, string(x)).join(',').contains('99')")
    spent = set()
    for _ in range(3):
        budget = CallBudget()
        expression.evaluate({"entity": {"l": list(range(100))}}, budget)
        spent.add(budget.steps_used)
    assert len(spent) == 1


def test_limits_are_the_callers() -> None:
    values = {"entity": {"l": THOUSAND, "t": "x" * 100}}
    budget = CallBudget(evaluation_steps_max=500, evaluation_bytes_max=150)
    with pytest.raises(EvaluationBudgetExceeded, match="more than 500 steps"):
        compiled("entity.l.all(x, true)").evaluate(values, budget)
    with pytest.raises(EvaluationBudgetExceeded, match="more than 150 bytes"):
        compiled("entity.t + entity.t").evaluate(values, budget)


def test_each_evaluation_has_its_own_steps_and_bytes() -> None:
    budget = CallBudget(evaluation_steps_max=100, evaluation_bytes_max=150)
    expression = compiled("entity.t + 'y'")
    for _ in range(200):
        expression.evaluate({"entity": {"t": "x" * 100}}, budget)
