"""Random expressions on our evaluator and on cel-python's interpreter.

Wherever cel-python gives a value, ours gives the same value of the same type.
It fails on more, and that is no claim. The differences that are known, and
kept out of the expressions:

- A double divided by zero: cel-python gives infinity whatever the signs, and
  for zero by zero too; the specification, like IEEE 754, has signs and NaN.
- Numbers of different types: cel-python has no `1 == 1.0` and no `1 < 1.5`, and
  finds no number of another type by `in` or as a key.
- `map` with three arguments, the extensions (strings, math, `cel.bind`, base64), `type` of a timestamp, and
  time zones by offset without a sign: cel-python has them not, or otherwise.
- A list or a map with a part that fails: cel-python gives the rest of it.
- `contains` on a text that was just joined: cel-python fails.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import celpy
import pytest
from celpy import celtypes
from celpy.adapter import json_to_cel
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.kernel.cel import CallBudget, EvaluationError, compile_expression
from tests.examples import MORE, examples

DOCUMENT: dict[str, Any] = {
    "n": 5,
    "m": -2,
    "d": 0.5,
    "s": "añb",
    "l": [3, 1, 2],
    "b": True,
    "none": None,
    "deep": {"er": {"est": "x"}},
}
DEPTH = 3


@st.composite
def _joined(draw: st.DrawFn, /, template: str, **parts: st.SearchStrategy[str]) -> str:
    """Return `template` with a drawn text for each of its names."""
    return template.format(**{name: draw(part) for name, part in parts.items()})


def _one_of(*options: str) -> st.SearchStrategy[str]:
    return st.sampled_from(options)


def _ints(depth: int) -> st.SearchStrategy[str]:
    leaves = _one_of("0", "1", "2", "-3", "7", "100", "0x1F", "x.n", "x.m", "x['n']")
    if depth == 0:
        return leaves
    number = _ints(depth - 1)
    return st.one_of(
        leaves,
        _joined("({a} {op} {b})", a=number, op=_one_of(*"+-*/%"), b=number),
        _joined("-({a})", a=number),
        _joined("size({a})", a=st.one_of(_texts(depth - 1), _lists(depth - 1))),
        _joined("({c} ? {a} : {b})", c=_bools(depth - 1), a=number, b=number),
        _joined("{a}[{b}]", a=_lists(depth - 1), b=_one_of("0", "1", "2")),
        _joined("int({a})", a=st.one_of(_doubles(depth - 1), number)),
        _joined("int(string({a}))", a=number),
    )


def _doubles(depth: int) -> st.SearchStrategy[str]:
    leaves = _one_of("0.0", "1.5", "-2.25", "1e3", "x.d")
    if depth == 0:
        return leaves
    number = _doubles(depth - 1)
    return st.one_of(
        leaves,
        _joined("({a} {op} {b})", a=number, op=_one_of(*"+-*"), b=number),
        _joined("({a} / {b})", a=number, b=_one_of("2.0", "-0.25", "1e3")),
        _joined("double({a})", a=_ints(depth - 1)),
        _joined("-({a})", a=number),
    )


def _texts(depth: int) -> st.SearchStrategy[str]:
    leaves = _one_of("''", "'a'", "'ab'", "'ñ😀'", "'b a'", 'r"\\d"', '"\\n\\x41\\u00e9"', "x.s", "x.deep.er.est")
    if depth == 0:
        return leaves
    text = _texts(depth - 1)
    return st.one_of(
        leaves,
        _joined("({a} + {b})", a=text, b=text),
        _joined("string({a})", a=_ints(depth - 1)),
        _joined("({c} ? {a} : {b})", c=_bools(depth - 1), a=text, b=text),
        _joined("{{'k': {a}, 'l': {b}}}.{k}", a=leaves, b=leaves, k=_one_of("k", "l")),
    )


def _lists(depth: int) -> st.SearchStrategy[str]:
    leaves = _one_of("[]", "[1]", "[1, 2, 3]", "x.l")
    if depth == 0:
        return leaves
    items, number = _lists(depth - 1), _ints(depth - 1)
    return st.one_of(
        leaves,
        _joined("[{a}, {b}]", a=number, b=number),
        _joined("({a} + {b})", a=items, b=items),
        _joined("{a}.map(e, e {op} {b})", a=items, op=_one_of(*"+-*/%"), b=number),
        _joined("{a}.filter(e, e {op} {b})", a=items, op=_one_of("<", ">=", "==", "!="), b=number),
        _joined("{a}.filter(e, {b}.exists(f, e == f + {c}))", a=items, b=items, c=number),
    )


def _bools(depth: int) -> st.SearchStrategy[str]:
    leaves = _one_of("true", "false", "x.b", "has(x.n)", "has(x.zz)", "x.none == null", "has(x.deep.er)")
    if depth == 0:
        return leaves
    truth, relation = _bools(depth - 1), _one_of("<", "<=", ">", ">=", "==", "!=")
    return st.one_of(
        leaves,
        _joined("({a} {op} {b})", a=truth, op=_one_of("&&", "||", "==", "!="), b=truth),
        _joined("!{a}", a=truth),
        *(
            _joined("({a} {op} {b})", a=same(depth - 1), op=relation, b=same(depth - 1))
            for same in (_ints, _doubles, _texts)
        ),
        _joined("({a} == {b})", a=_lists(depth - 1), b=_lists(depth - 1)),
        _joined("({a} in {b})", a=_ints(depth - 1), b=_lists(depth - 1)),
        _joined("('{a}' in x)", a=_one_of("n", "zz")),
        _joined("{a}.{f}({b})", a=_texts(0), f=_one_of("startsWith", "endsWith", "contains"), b=_texts(depth - 1)),
        _joined("{a}.matches('{b}')", a=_texts(0), b=_one_of("a", "^a.*b$", "[0-9]+", "(a|b)*")),
        _joined(
            "{a}.{f}(e, e {op} {b})",
            a=_lists(depth - 1),
            f=_one_of("all", "exists", "exists_one"),
            op=_one_of("<", ">", "=="),
            b=_ints(depth - 1),
        ),
    )


EXPRESSIONS = st.one_of([kind(DEPTH) for kind in (_ints, _doubles, _texts, _lists, _bools)])


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Return cel-python's environment; making it raises the recursion limit of the process."""
    limit = sys.getrecursionlimit()
    environment = celpy.Environment()
    sys.setrecursionlimit(limit)
    return environment


# The same expressions each time: what fails here must fail for whoever broke it.
@settings(max_examples=examples(200), deadline=None, derandomize=not MORE)
@given(source=EXPRESSIONS)
def test_where_cel_python_gives_a_value_ours_gives_the_same(theirs: Any, source: str) -> None:
    try:
        program = theirs.program(theirs.compile(source))
        expected = _plain(program.evaluate({"x": json_to_cel(DOCUMENT)}))
    except Exception:  # among them faults of its own, while it tells an error
        return
    try:
        got = compile_expression(source, variables=frozenset({"x"})).evaluate({"x": DOCUMENT}, CallBudget())
    except EvaluationError as error:
        pytest.fail(f"{source}: {error} instead of {expected!r}")
    assert type(got) is type(expected), source
    assert got == expected or (isinstance(got, float) and math.isnan(got)), source


def _plain(value: Any) -> Any:
    """Return cel-python's value as Python's."""
    if isinstance(value, celtypes.BoolType):
        return bool(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (int, float, str):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    return value
