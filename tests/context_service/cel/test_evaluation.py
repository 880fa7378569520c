"""What an expression promises besides the language: its paths, its results, its safety in threads."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from context_service.kernel.cel import (
    CallBudget,
    EvaluationBudgetExceeded,
    EvaluationError,
    JsonWriter,
    Timestamp,
    compile_expression,
)

VARIABLES = frozenset({"entity", "edge", "root", "item"})


def value_of(source: str, variables: dict[str, Any] | None = None, **options: Any) -> Any:
    expression = compile_expression(source, variables=VARIABLES, **options)
    return expression.evaluate(variables or {}, CallBudget())


def json_text(value: Any) -> str:
    budget = CallBudget()
    budget.resume(budget.call_steps_left)
    return JsonWriter(budget).text(value)


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("entity.data.content == ''", {("entity", "data", "content")}),
        ("entity.io", {("entity", "io")}),
        ("has(entity.io)", {("entity", "io")}),
        ("has(entity.io.output)", {("entity", "io", "output")}),
        ("entity", {("entity",)}),
        ("entity['io'].output", {("entity", "io", "output")}),
        ("entity[edge.type].x", {("entity",), ("edge", "type")}),
        ("entity.data.parts.map(p, p.text + root.name)", {("entity", "data", "parts"), ("root", "name")}),
        ("entity.data.parts[0].text", {("entity", "data", "parts")}),
        ("[1].map(entity, entity.io)", set()),
        ("cel.bind(e, entity, e.io)", {("entity",)}),
        ("1 + 1", set()),
        ("(entity.data).content", {("entity", "data", "content")}),
    ],
)
def test_paths_tell_what_an_expression_reads(source: str, paths: set[tuple[str, ...]]) -> None:
    """The caller fetches only what is read, so nothing may be missing here."""
    assert compile_expression(source, variables=VARIABLES).paths == paths


@pytest.mark.parametrize("data", [{}, {"a": 1}, {"a": None, "b": 1}, {"b": 1}, "a", ["a"], None, 2**70, ...])
@pytest.mark.parametrize(
    "source",
    [
        "has(D.a)",
        "!has(D.a)",
        "has(D.a) && !has(D.b)",
        "has(D.a) && has(D.a) && !has(D.b)",
        "!(has(D.a) && has(D.b))",
        "(has(D.a) && has(D.b)) && !has(D.c)",
        "has(D.a) && true",
    ],
)
def test_the_short_way_to_ask_for_fields_gives_what_the_long_one_gives(source: str, data: Any) -> None:
    """`entity.data.x` is asked for by one closure, several of them too; what is computed by one for each part."""
    entity = {} if data is ... else {"data": data}

    def given(path: str) -> Any:
        try:
            return value_of(source.replace("D", path), {"entity": entity})
        except EvaluationError as error:
            return error.message

    assert given("entity.data") == given("[entity][0].data")


def test_a_result_of_another_type_fails_the_evaluation() -> None:
    with pytest.raises(EvaluationError, match="the result must be string"):
        value_of("entity.data", {"entity": {"data": 1}}, result="string")


def test_a_failure_names_the_place_in_the_expression() -> None:
    with pytest.raises(EvaluationError) as failure:
        value_of("entity.a == 1 &&\n  entity.b.c + 1 > 2", {"entity": {"a": 1, "b": {"c": "x"}}})
    assert str(failure.value) == "+ does not accept (string, int) (line 2, column 14)"


def test_a_variable_without_a_value_fails_where_it_is_read() -> None:
    assert value_of("true || item.x == 1") is True
    with pytest.raises(EvaluationError, match="the variable 'item' has no value"):
        value_of("item.x == 1")


def test_an_aware_datetime_is_returned_as_it_came() -> None:
    created_at = datetime(2025, 1, 2, tzinfo=UTC)
    assert value_of("entity.created_at", {"entity": {"created_at": created_at}}) is created_at


def test_a_datetime_without_a_zone_is_no_timestamp() -> None:
    with pytest.raises(EvaluationError, match="must have a time zone"):
        value_of("string(entity.t)", {"entity": {"t": datetime(2025, 1, 2)}})


def test_timestamps_and_datetimes_sort_together() -> None:
    early, late = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 1, 3, tzinfo=UTC)
    between = Timestamp.parse("2025-01-02T00:00:00Z")
    times: list[Any] = [late, between, early]
    assert sorted(times) == [early, between, late]
    assert Timestamp.of(early) == early
    assert hash(Timestamp.of(early)) == hash(early)


def test_a_value_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(EvaluationError, match="Python type set"):
        value_of("type(entity.s)", {"entity": {"s": {1}}})


def test_evaluating_changes_nothing_it_reads() -> None:
    document = {"list": [3, 1, 2], "map": {"a": [1]}, "text": "abc"}
    entity = {"entity": copy.deepcopy(document)}
    value_of("(entity.list + [4]).map(x, [x]).size() == 4 && entity.map == {'a': [1]}", entity)
    value_of("entity.list.filter(x, x > 1) == [3, 2]", entity)
    assert entity == {"entity": document}


def test_threads_share_an_expression() -> None:
    """cel-python's compiled runner fails this: its threads read each other's answers."""
    expression = compile_expression(
        "entity.list.map(x, entity.list.exists(y, y == x) ? x + entity.n : -1)", variables=VARIABLES
    )

    def run(n: int) -> bool:
        variables = {"entity": {"n": n, "list": list(range(20))}}
        return all(expression.evaluate(variables, CallBudget()) == [x + n for x in range(20)] for _ in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(32)))


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("b'hi'", "aGk="),
        ("timestamp('2025-01-02T03:04:05.5Z')", "2025-01-02T03:04:05.5Z"),
        ("duration('3500ms')", "3.5s"),
        ("7u", 7),
        ("[1u, {'a': b'', 2: true, false: null}]", [1, {"a": "", "2": True, "false": None}]),
        ("[0.0 / 0.0, 1.0 / 0.0, -1.0 / 0.0]", ["NaN", "Infinity", "-Infinity"]),
        ("type(1)", "int"),
    ],
)
def test_results_become_json(source: str, want: Any) -> None:
    assert json.loads(json_text(value_of(source))) == want


def test_a_datetime_becomes_rfc_3339() -> None:
    assert json_text(datetime(2025, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)) == '"2025-01-02T03:04:05.25Z"'


def test_a_json_number_outside_int64_stays_a_double_in_json() -> None:
    assert json_text([10**20]) == "[1e+20]"


def test_a_result_that_repeats_a_document_is_bounded() -> None:
    """A list of references is small while it is built and huge as JSON."""
    document = {"text": "x" * 100_000}
    value = value_of("[1, 2, 3, 4].map(a, [1, 2, 3, 4].map(b, entity))", {"entity": document})
    with pytest.raises(EvaluationBudgetExceeded) as error:
        json_text(value)
    assert error.value.limit == "evaluation_bytes"


def test_a_result_that_is_nested_without_end_is_bounded() -> None:
    source = "[1]"
    for _ in range(20):
        source = f"cel.bind(a, {source}, [[[[[[[[[[[[a]]]]]]]]]]]])"
    with pytest.raises(EvaluationBudgetExceeded) as error:
        json_text(value_of(source))
    assert error.value.limit == "evaluation_depth"
