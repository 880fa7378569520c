"""Whatever walks a value is paid for what it visits: values share, so what is small to store may have no end to visit.

Times are CPU times in units of `tests.cpu`, with a wide margin: an evaluation at its limit takes 1 to 10.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from context_service.history.model import content_text, metadata_json, parts
from context_service.history.pure.mapping_rules import MessageRule, Rules
from context_service.history.pure.mappings import compile_mapping
from context_service.history.pure.node_mapper import NodeMapper, Skipped, SkipReason
from context_service.history.pure.places import sorted_by_key
from context_service.kernel.cel import (
    CallBudget,
    CallBudgetExceeded,
    CelError,
    EvaluationBudgetExceeded,
    EvaluationError,
    Expression,
    JsonWriter,
    compile_expression,
)
from context_service.kernel.cel.library.functions import GLOBAL, METHODS
from context_service.kernel.graph_values import GraphNode
from tests import cpu

EVALUATION_UNITS_MAX = 50
WAIT_UNITS_MAX = 125  # of others

# Forty levels, each of which holds the one below it twice: a few steps to build, and 2**40 values to visit.
DOUBLING = "cel.bind(v, {'a': 1}, " + "cel.bind(v, {'a': v, 'b': v}, " * 40 + "v" + ")" * 41
DOUBLING_LIST = "cel.bind(v, [1], " + "cel.bind(v, [v, v], " * 40 + "v" + ")" * 41
WIDE = "[entity.data.wide, entity.data.wide]"
HUGE = {"a doubling map": DOUBLING, "a doubling list": DOUBLING_LIST, "a wide list": WIDE}
DATA: dict[str, Any] = {"wide": [[]] * 60_000, "list": list(range(1000)), "long": "x" * 500_000, "one": 1}

WALKS: dict[str, Callable[[Any, CallBudget], object]] = {
    "JSON": lambda value, budget: JsonWriter(budget).text(value),
    "content": content_text,
    "metadata": lambda value, budget: metadata_json({"x": value}, JsonWriter(budget)),
    "a part": lambda value, budget: parts([{"type": "data", "data": value}], budget),
    "the arguments of a call": lambda value, budget: parts(
        [{"type": "tool_call", "id": "", "name": "", "arguments": value}], budget
    ),
    "the content of a result": lambda value, budget: parts(
        [{"type": "tool_result", "tool_call_id": "", "content": value}], budget
    ),
    "many parts": lambda value, budget: parts(["x"] * 60_000, budget),
}
IN_EXPRESSIONS = {
    "equality": "cel.bind(x, V, cel.bind(y, V, x == y))",
    "inequality": "cel.bind(x, V, cel.bind(y, V, x != y))",
    "in": "cel.bind(x, V, cel.bind(y, V, x in [1, y]))",
    "format": "'%s'.format([V]) == ''",
}


def value_of(source: str) -> tuple[Any, CallBudget]:
    budget = CallBudget()
    expression = compile_expression(source, variables=frozenset({"entity"}))
    return expression.evaluate({"entity": {"data": DATA}}, budget), budget


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("huge", HUGE)
def test_writing_a_value_ends_with_the_steps_of_its_evaluation(huge: str, walk: str):
    value, budget = value_of(HUGE[huge])
    steps_before = budget.steps_used
    assert steps_before < 1000

    def run() -> None:
        budget.resume(budget.call_steps_left)
        with pytest.raises(EvaluationBudgetExceeded) as caught:
            WALKS[walk](value, budget)
        assert caught.value.limit == "evaluation_steps"

    run()
    assert budget.steps_used == steps_before + budget.evaluation_steps_max
    assert cpu.units(run) < EVALUATION_UNITS_MAX


@pytest.mark.parametrize("walk", IN_EXPRESSIONS)
@pytest.mark.parametrize("huge", HUGE)
def test_an_operator_that_walks_ends_with_the_steps_of_its_evaluation(huge: str, walk: str):
    source = IN_EXPRESSIONS[walk].replace("V", HUGE[huge])
    expression = compile_expression(source, variables=frozenset({"entity"}))

    def run() -> None:
        with pytest.raises(EvaluationBudgetExceeded):
            expression.evaluate({"entity": {"data": DATA}}, CallBudget())

    assert cpu.units(run) < EVALUATION_UNITS_MAX


def test_a_value_that_an_evaluation_can_hold_is_written():
    """Ten thousand steps are twelve thousand values of a table, or a text of a mebibyte."""
    rows = [{f"column{i}": i for i in range(10)} for _ in range(1200)]
    for value in (rows, [0.5] * 15_000, "x" * 1_000_000):
        budget = CallBudget()
        budget.resume(budget.call_steps_left)
        JsonWriter(budget).text(value)


def test_a_value_is_paid_by_the_steps_that_its_evaluation_left():
    """Else a rule would have its steps twice."""
    walked = "[1, 2, 3, 4, 5, 6].map(x, entity.data.list)"
    costly = "entity.data.list.all(x, x * 3 >= 0)"
    assert "rules.messages[0].content" not in failures({"content": walked})
    assert "rules.messages[0].content" not in failures({"content": f"[{costly}]"})
    assert "rules.messages[0].content" in failures({"content": f"{costly} ? {walked} : []"})


def failures(rule: dict[str, str]) -> dict[str, str]:
    outcome = asyncio.run(mapper_of(rule).outcome(node(0)))
    return {skip.rule: skip.error for skip in outcome.skips if skip.reason is SkipReason.FAILED}


def mapper_of(rule: dict[str, str], *, order_by: str = "", budget: CallBudget | None = None) -> NodeMapper:
    rules = Rules(messages=(MessageRule(**{"role": "'user'", "content": "'x'", **rule}),), order_by=order_by)
    return NodeMapper(compile_mapping(rules), {}, Skipped(), budget or CallBudget(), strict=False)


def node(number: int) -> GraphNode:
    entity = {"id": f"{number:06}", "type": "T", "general_type": "T", "data": DATA, "io": {}}
    return GraphNode(str(number), 0, number, entity, {"type": "", "depth": 1, "data": {}})


@pytest.mark.parametrize("field", ["content", "parts", "metadata"])
@pytest.mark.parametrize("huge", HUGE)
def test_others_do_not_wait_for_a_history_of_huge_values(huge: str, field: str):
    """Of each rule of each of 100 nodes the value is given up soon, and between nodes others have their turn."""
    value = HUGE[huge]
    source = {
        "content": f"[{value}]",
        "parts": f"[{{'type': 'data', 'data': {value}}}]",
        "metadata": f"{{'x': {value}}}",
    }
    budget = CallBudget()
    mapper = mapper_of({field: source[field]}, budget=budget)

    messages, wait_s = asyncio.run(longest_wait(mapper.messages([node(number) for number in range(100)])))

    assert messages == []
    assert budget.steps_used == 100 * budget.evaluation_steps_max
    assert cpu.in_units(wait_s) < WAIT_UNITS_MAX


async def longest_wait(work: Any) -> tuple[Any, float]:
    """Return what a coroutine gives, and the longest CPU time between two turns of another."""
    task = asyncio.ensure_future(work)
    longest_s, before = 0.0, time.thread_time()
    while not task.done():
        await asyncio.sleep(0)
        longest_s = max(longest_s, time.thread_time() - before)
        before = time.thread_time()
    return await task, longest_s


async def test_each_element_of_a_list_is_paid_by_the_call():
    """A rule of constants costs nothing else, and a list of doublings has 100,000 elements."""
    many = "cel.bind(v, [1], " + "cel.bind(v, v + v, " * 16 + "v" + ")" * 17
    budget = CallBudget(steps_max=100_000)
    mapper = mapper_of({"for_each": many, "when": "false"}, budget=budget)

    with pytest.raises(CallBudgetExceeded):
        await mapper.messages([node(0)])


async def test_order_is_by_the_beginning_of_a_text():
    """A key is kept for each node until all are read: whole, 100,000 of them could take as many mebibytes."""
    mapper = mapper_of({}, order_by="entity.data.long + entity.id")

    key = mapper.place(node(0)).key

    assert key is not None
    assert len(key[1]) == 512


@pytest.mark.parametrize("descending", [False, True])
async def test_others_do_not_wait_for_a_long_history_to_be_sorted(descending: bool):
    keys = [(0, (number * 7919) % 100_003, number) for number in range(100_000)]

    found, wait_s = await longest_wait(sorted_by_key([(key, key) for key in keys], descending=descending))

    assert found == sorted(keys, reverse=descending)
    assert cpu.in_units(wait_s) < WAIT_UNITS_MAX


LARGE = ["entity.long", "entity.spaces", "entity.list", "entity.map", "entity.doubling", "1.5", "''", "'a'"]


def calls() -> dict[str, list[str]]:
    """Return calls of each function, method and operator with large arguments, by its name."""
    found: dict[str, list[str]] = {}
    for name, function in GLOBAL.items():
        for count in range(function.arity_min, min(function.arity_max, 2) + 1):
            found.setdefault(name, []).extend(
                f"{name}({', '.join(args)})" for args in itertools.product(LARGE, repeat=count)
            )
    for name, function in METHODS.items():
        for count in range(function.arity_min, min(function.arity_max, 1) + 1):
            found.setdefault(f"x.{name}", []).extend(
                f"{args[0]}.{name}({', '.join(args[1:])})" for args in itertools.product(LARGE, repeat=count + 1)
            )
    for form in ("{}[{}]", "{} in {}", "{} == {}", "{} < {}", "{} + {}", "[{}, {}]", "{{{}: {}}}"):
        found[form] = [form.format(*args) for args in itertools.product(LARGE, repeat=2)]
    return found


CALLS = calls()


@pytest.fixture(scope="module")
def large() -> dict[str, Any]:
    doubling: Any = [1]
    for _ in range(40):
        doubling = {"a": doubling, "b": doubling}
    return {
        "l": list(range(1000)),
        "long": "ä" * 500_000,
        "spaces": " " * 1_000_000,
        "list": ["x"] * 100_000,
        "map": {f"k{n}": n for n in range(50_000)},
        "doubling": doubling,
    }


@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_done_with_large_values_again_and_again_ends_soon(name: str, large: dict[str, Any]):
    """Its errors too: one that `exists` absorbs is made anew at each turn."""
    took_s: dict[str, float] = {}
    expressions: dict[str, Expression] = {}

    def evaluate(call: str) -> None:
        with contextlib.suppress(EvaluationError):
            expressions[call].evaluate({"entity": large}, CallBudget())

    for call in CALLS[name]:
        with contextlib.suppress(CelError):  # of a form that is known to be wrong
            expressions[call] = compile_expression(f"entity.l.exists(q, {call} == q)", variables=frozenset({"entity"}))
            before_s = time.thread_time()
            evaluate(call)
            took_s[call] = time.thread_time() - before_s
    slowest = max(took_s, key=took_s.__getitem__)
    assert cpu.units(lambda: evaluate(slowest)) < EVALUATION_UNITS_MAX, slowest
