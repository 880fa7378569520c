"""What registration refuses, and where it points.

An author sees these messages and nothing else, so each names the offending
token's line and column.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from context_service.kernel.cel import CelError, CompileBudget, ExpressionLimits, ExpressionTooLarge, compile_expression
from tests import cpu

VARIABLES = frozenset({"entity", "edge", "root"})


def refusal(source: str, **options: object) -> tuple[str, int, int]:
    with pytest.raises(CelError) as error:
        compile_expression(source, variables=VARIABLES, **options)  # type: ignore[arg-type]
    return error.value.message, error.value.line, error.value.column


@pytest.mark.parametrize(
    ("source", "message", "line", "column"),
    [
        ("entity.data.content ==", "the expression ends too early", 1, 23),
        ("", "the expression ends too early", 1, 1),
        ("entity.name ==\n  ", "the expression ends too early", 2, 3),
        ("1 + )", "unexpected ')'", 1, 5),
        ("(1 + 2", "the expression ends too early", 1, 7),
        ("entity.name 'x'", "unexpected \"'x'\"", 1, 13),
        (
            "entity.name == 'a'\n  && status",
            "unknown variable 'status', only edge, entity, root; a text stands in quotes",
            2,
            6,
        ),
        ("foo(1)", "unknown function 'foo'", 1, 1),
        ("entity.name = 'a'", "unexpected character '='; CEL has ==", 1, 13),
        ("entity.name == 'a' and true", "unexpected 'and'; CEL has &&", 1, 20),
        ("true or false", "unexpected 'or'; CEL has ||", 1, 6),
        ("not entity.done", "unexpected 'entity'; CEL has !", 1, 5),
        ("entity.name is null", "unexpected 'is'; CEL has ==", 1, 13),
        ("entiti.name", "unknown variable 'entiti', only edge, entity, root; is it entity?", 1, 1),
        ("True", "unknown variable 'True'; CEL has true", 1, 1),
        ("len(entity.name)", "unknown function 'len'; CEL has size(...)", 1, 1),
        ("entity.name.includes('a')", "unknown method 'includes'; CEL has x.contains(...)", 1, 13),
        ("entity.name.foo()", "unknown method 'foo'", 1, 13),
        ("math.cube(2)", "unknown function 'math.cube'", 1, 6),
        ("math", "'math' is a namespace of functions, not a value", 1, 1),
        ("startsWith('a', 'b')", "startsWith is a method; write it after a value, as in x.startsWith(...)", 1, 1),
        ("entity.name.string()", "string is not a method; write string(...)", 1, 13),
        ("size()", "size takes 1 argument, not 0", 1, 1),
        ("entity.name.replace('a')", "replace takes 2 or 3 arguments, not 1", 1, 13),
        ("math.greatest()", "math.greatest takes 1 or more arguments, not 0", 1, 6),
        ("has(entity)", "has needs a field, as in has(entity.data)", 1, 5),
        ("has(entity.a, 1)", "has takes 1 argument", 1, 1),
        ("[1].map(1, 2)", "map needs a name to bind first", 1, 9),
        ("[1].all(x)", "all takes 2 arguments", 1, 5),
        ("[1].all(x, y)", "unknown variable 'y', only edge, entity, root; a text stands in quotes", 1, 12),
        ("[1].map(x, x) == x", "unknown variable 'x', only edge, entity, root; a text stands in quotes", 1, 18),
        ("cel.bind(x, 1)", "cel.bind takes 3 arguments", 1, 5),
        ("entity.if", None, 0, 0),
        ("if", "'if' is a reserved word", 1, 1),
        ("for(1)", "'for' is a reserved word", 1, 1),
        ("`entity`", "only the name of a field may be in backticks", 1, 1),
        ("entity.`a\nb`", "a name in backticks is letters, digits, and _ . - / and spaces, in one line", 1, 8),
        ("Message{a: 1}", "messages are not supported; write a map", 1, 1),
        ("entity.?name", "unexpected '?'", 1, 8),
        ("entity @ 1", "unexpected character '@'", 1, 8),
        ("'é' + '😀' + $", "unexpected character '$'", 1, 13),
        ("entity.name // the rest\n ==", "the expression ends too early", 2, 4),
        ("'abc", "the string is not closed", 1, 1),
        ('"""abc""', "the string is not closed", 1, 1),
        ("entity\r\n.name ~", "unexpected character '~'", 2, 7),
    ],
)
def test_refusal_points_at_the_offending_token(source: str, message: str | None, line: int, column: int) -> None:
    if message is None:
        compile_expression(source, variables=VARIABLES)
        return
    assert refusal(source) == (message, line, column)


FIELDS = {"entity": frozenset({"data", "name"}), "edge": frozenset({"type"})}


@pytest.mark.parametrize(
    ("source", "message", "line", "column"),
    [
        ("entity.content", "entity has no field 'content', only data, name; is it entity.data.content?", 1, 8),
        ("entity.name ==\n  entity.nam", "entity has no field 'nam', only data, name; is it entity.data.nam?", 2, 10),
        ("has(entity.note)", "entity has no field 'note', only data, name; is it entity.data.note?", 1, 12),
        ("entity['content'].text", "entity has no field 'content', only data, name; is it entity.data.content?", 1, 7),
        ("edge.kind", "edge has no field 'kind', only type", 1, 6),
    ],
)
def test_a_field_that_a_variable_never_has_is_refused(source: str, message: str, line: int, column: int) -> None:
    assert refusal(source, fields=FIELDS) == (message, line, column)


@pytest.mark.parametrize(
    "source",
    [
        "entity.data.anything.below",
        "entity",
        "has(entity.data.x)",
        "root.anything",  # nobody said what it has
        "[{'content': 1}].map(entity, entity.content)",  # another entity
        "entity[edge.type]",
    ],
)
def test_a_field_that_may_be_there_is_left_to_the_evaluation(source: str) -> None:
    compile_expression(source, variables=VARIABLES, fields=FIELDS)


@pytest.mark.parametrize(
    ("source", "result", "found", "column"),
    [
        ("'text'", "bool", "string", 1),
        ("entity.a == 1", "string", "bool", 10),
        ("entity.a && entity.b", "string", "bool", 10),
        ("!entity.a", "string", "bool", 1),
        ("has(entity.a)", "list", "bool", 1),
        ("entity.a.trim()", "bool", "string", 10),
        ("entity.a.map(x, x)", "string", "list", 10),
        ("entity.a.exists(x, x)", "string", "bool", 10),
        ("[1]", "map", "list", 1),
        ("{'a': 1}", "list", "map", 1),
        ("null", "string", "null_type", 1),
        ("1 + entity.a", "string", "int", 3),
        ("size(entity.a)", "string", "int", 1),
        ("entity.a ? 'x' : 1 == 1", "string", "bool", 20),
        ("entity.a ? 1 : entity.b", "string", "int", 12),
        ("cel.bind(x, 'a', 1)", "string", "int", 5),
    ],
)
def test_result_that_is_evidently_of_another_type_is_refused(source: str, result: str, found: str, column: int) -> None:
    assert refusal(source, result=result) == (f"the result must be {result} (got {found})", 1, column)


@pytest.mark.parametrize(
    ("source", "found", "column"),
    [
        ("true", "bool", 1),
        ("size(entity.a)", "int", 1),
        ("1.5", "double", 1),
        ("b'x'", "bytes", 1),
        ("entity.a ? 'x' : 7", "int", 18),
    ],
)
def test_content_that_is_evidently_neither_text_nor_json_is_refused(source: str, found: str, column: int) -> None:
    assert refusal(source, result="content") == (
        f"the result must be a text, an object or a list (got {found})",
        1,
        column,
    )


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("'text'", "content"),
        ("[1]", "content"),
        ("{'a': 1}", "content"),
        ("null", "content"),
        ("entity.a ? entity.b : null", "content"),
        ("entity.a", "bool"),
        ("entity.a ? entity.b : 'x'", "string"),
        ("entity.a + entity.b", "list"),
        ("dyn('text')", "bool"),
        ("cel.bind(x, 1, entity.a)", "string"),
    ],
)
def test_result_that_is_not_evident_is_left_to_the_evaluation(source: str, result: str) -> None:
    compile_expression(source, variables=VARIABLES, result=result)  # type: ignore[arg-type]


def test_length_is_checked_before_anything_is_read() -> None:
    with pytest.raises(ExpressionTooLarge) as error:
        compile_expression("(" * 100_000, variables=VARIABLES)

    assert (error.value.limit, error.value.maximum) == ("length", 4096)
    assert (error.value.line, error.value.column) == (1, 4097)


def test_length_counts_characters() -> None:
    compile_expression("'" + "😀" * 4094 + "'", variables=VARIABLES)
    with pytest.raises(ExpressionTooLarge):
        compile_expression("'" + "😀" * 4095 + "'", variables=VARIABLES)


@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [("(", "1", ")"), ("[", "", "]"), ("size(", "[]", ")"), ("!", "true", ""), ("-", "1", ""), ("{1: ", "1", "}")],
)
def test_fifty_levels_are_accepted_and_one_more_is_refused(opening: str, middle: str, closing: str) -> None:
    levels = 50 if middle != "[]" else 49  # the innermost list is a level too
    compile_expression(opening * levels + middle + closing * levels, variables=VARIABLES)
    with pytest.raises(ExpressionTooLarge) as error:
        compile_expression(opening * 51 + middle + closing * 51, variables=VARIABLES)
    assert (error.value.limit, error.value.maximum) == ("nesting", 50)


@pytest.mark.parametrize(
    "source",
    [
        "x" + ".a" * 2000,
        "x" + "[0]" * 1300,
        "x" + ".trim()" * 580,
        "(x+" * 51 + "x" + ")" * 51,
    ],
)
def test_depth_without_brackets_is_refused_too(source: str) -> None:
    with pytest.raises(ExpressionTooLarge):
        compile_expression(source, variables=frozenset({"x"}))


@pytest.mark.parametrize(
    "source",
    [
        "+".join(["1"] * 2000),
        " && ".join(["x"] * 800),
        " || ".join(["x"] * 800),
        "x ? 1 : " * 500 + "2",
        "1" + " == 1" * 800,
        "[" + ",".join(["1"] * 2000) + "]",
    ],
)
def test_long_flat_expressions_are_accepted(source: str) -> None:
    """What a reader sees as one level is one, however long."""
    compile_expression(source, variables=frozenset({"x"}))


@pytest.mark.parametrize(
    "source",
    [
        "'" * 4095,
        "'''" + "\\" * 4000,
        "'" + "\\'" * 2000,
        "b'" + "\\x" * 2000,
        "r'''" + "''" * 2000,
        "/" * 4000,
        "(" * 4096,
        "[[[[" + "]" * 4000,
        "1." * 2000,
        "a" + "`" * 4000,
    ],
)
def test_no_text_takes_long_to_refuse(source: str) -> None:
    """The grammar's own lexer takes exponential time on some of these."""
    compile_expression("1", variables=VARIABLES)  # the parser is made at its first use

    def run() -> None:
        with pytest.raises(CelError):
            compile_expression(source, variables=VARIABLES)

    assert cpu.units(run) < 600


def test_limits_are_the_callers() -> None:
    budget = CompileBudget(expression=ExpressionLimits(length_max=10, nesting_max=2))
    compile_expression("((1))", variables=VARIABLES, budget=budget)
    with pytest.raises(ExpressionTooLarge):
        compile_expression("(((1)))", variables=VARIABLES, budget=budget)
    with pytest.raises(ExpressionTooLarge):
        compile_expression("1 + 1 + 1 + 1", variables=VARIABLES, budget=budget)


def test_the_parser_leaves_the_recursion_limit_alone() -> None:
    """cel-python raises it for the whole process."""
    script = (
        "import sys; sys.setrecursionlimit(777);"
        "from context_service.kernel.cel import compile_expression;"
        "compile_expression('1 + 1', variables=frozenset());"
        "print(sys.getrecursionlimit())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "777"
