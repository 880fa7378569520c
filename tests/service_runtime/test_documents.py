"""JSON and texts of callers, checked where they come in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextgraph.errors import InvalidArgument, LimitExceeded
from service_runtime.documents import NESTING_MAX, check_text, parse_json, parse_object

MIB = 1024 * 1024
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nul",
        '{"a": NaN}',
        "[Infinity]",
        '{"a": 1,}',
        "{'a': 1}",
        '"\\ud800"',
        '"\\u0000"',
        '{"\\u0000": 1}',
        '["a", {"b": "c\\u0000d"}]',
        "[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1),
        '{"a":' * (NESTING_MAX + 1) + "1" + "}" * (NESTING_MAX + 1),
        '{"a":' + "[" * (NESTING_MAX + 1) + "]" * (NESTING_MAX + 1) + ',"a":"of two the last counts"}',
        "[" * 500_000,
        "[" * (NESTING_MAX + 1) + '"' + '\\"' * 500_000,  # a string without an end is gone through once
        "[1e-" + "9" * 5000 + "]",
    ],
)
def test_what_is_not_safe_json_is_refused_with_the_field(text: str):
    with pytest.raises(InvalidArgument) as caught:
        parse_json("node.data_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)

    assert caught.value.violations[0].field == "node.data_json"


@pytest.mark.parametrize(
    "text",
    [
        "[" * NESTING_MAX + "]" * NESTING_MAX,
        json.dumps("[" * 1000),
        json.dumps({"quoted": '"[' * 200}),
        '"an escaped backslash, then u0000: \\\\u0000"',
        "[" + ",".join(["[]"] * 1000) + "]",
        " 12345678901234567890123 ",
        "[1e-" + "0" * 5000 + "1]",
        json.dumps(['e-999 "e-999" ' * 200, 1e-3]),
    ],
)
def test_what_only_looks_unsafe_is_taken(text: str):
    parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


@given(VALUES)
def test_any_json_without_nul_is_taken_and_means_itself(value: object):
    text = json.dumps(value)
    if "\\u0000" in text:
        return
    assert parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX) == value


@pytest.mark.parametrize("text", ["[]", '"text"', "1", "null"])
def test_an_object_is_not_any_json(text: str):
    with pytest.raises(InvalidArgument, match="not a JSON object"):
        parse_object("node.data_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


def test_no_text_is_an_empty_object():
    assert parse_object("node.data_json", "", size_bytes_max=MIB, nesting_max=NESTING_MAX) == {}


@pytest.mark.parametrize(
    ("text", "fits"), [('"' + "a" * 8 + '"', True), ('"' + "a" * 9 + '"', False), ('"ääää"', True)]
)
def test_the_limit_is_in_bytes_of_utf8_and_inclusive(text: str, fits: bool):
    if fits:
        parse_json("value_json", text, size_bytes_max=10, nesting_max=NESTING_MAX)
        return
    with pytest.raises(LimitExceeded) as caught:
        parse_json("value_json", text, size_bytes_max=10, nesting_max=NESTING_MAX)
    assert caught.value.metadata == {"limit": "value_json", "limit_max": "10", "value": "11"}


@pytest.mark.parametrize("text", ["[1e-401]", "[1E-401]", '{"a": "be-1", "b": -0.5e-999}'])
def test_a_number_too_small_for_a_double_is_refused(text: str):
    with pytest.raises(InvalidArgument, match="too small"):
        parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


def test_numbers_that_would_be_written_out_beyond_the_limit_are_refused():
    for text in ("[0e" + "9" * 20_000 + "]", "[" + ",".join(["1e300"] * 5000) + "]"):
        with pytest.raises(LimitExceeded):
            parse_json("value_json", text, size_bytes_max=MIB, nesting_max=NESTING_MAX)


def test_a_text_is_counted_in_characters_and_holds_no_nul():
    assert check_text("name", "ä" * 512, chars_max=512)
    with pytest.raises(LimitExceeded):
        check_text("name", "ä" * 513, chars_max=512)
    with pytest.raises(InvalidArgument):
        check_text("name", "a\0b", chars_max=512)
    with pytest.raises(InvalidArgument):
        check_text("name", "", chars_max=512, required=True)
