"""JSON of calls and results as text for people: each text has its own lines, and nothing is lost."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep_console.pages.windows import _blocks
from contextkeep_console.trees import block_text, tree

_NAMES = st.text("abcdef", min_size=1, max_size=4)
_LEAVES = st.none() | st.booleans() | st.integers() | st.text("xyz \n", max_size=12)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=12
)


def test_texts_have_their_own_lines_and_fields_their_names():
    value = {
        "invoice": 4711,
        "lines": [{"sku": "A-7", "note": "Am Montag.\nNicht bezahlt."}, "x"],
        "empty": {},
        "no": None,
    }
    assert tree(json.dumps(value)).splitlines() == [
        "invoice: 4711",
        "lines:",
        "  - sku: A-7",
        "    note:",
        "      Am Montag.",
        "      Nicht bezahlt.",
        "  - x",
        "empty: {}",
        "no: null",
    ]
    assert tree("no JSON: {") == "no JSON: {"
    assert tree('"two\\nlines"') == "two\nlines"


@given(value=_VALUES)
def test_no_text_of_a_value_is_lost_and_none_is_escaped(value: Any):
    shown = tree(json.dumps(value))

    def check(inner: Any) -> None:
        for each in inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ():
            check(each)
        for line in inner.splitlines() if isinstance(inner, str) else ():
            assert line.rstrip() in shown

    check(value)
    assert "\\n" not in shown


def test_deep_and_large_json_is_shown_at_once():
    began = time.process_time()
    for hostile in ("[" * 50_000 + "]" * 50_000, "[" * 19 + ",".join("0" * 90_000) + "]" * 19, "[" * 900 + "]" * 900):
        assert tree(hostile)
    assert tree("[" + "0," * 10**6 + "0]").startswith("[0,0")
    assert time.process_time() - began < 3


REQUESTS: dict[str, Any] = {
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c", "name": "look", "input": {"q": "a\nb"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "one\ntwo"}]}],
        },
    ],
    "openai": [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"q": "a\\nb"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "one\ntwo"},
    ],
    "openai_responses": {
        "input": [
            {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"q": "a\\nb"}'},
            {"type": "function_call_output", "call_id": "c", "output": "one\ntwo"},
        ]
    },
    "gemini": {
        "contents": [
            {
                "role": "model",
                "parts": [{"text": "I look."}, {"functionCall": {"name": "look", "args": {"q": "a\nb"}}}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": "one\ntwo"}}}]},
        ]
    },
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_pack_of_any_vendor_shows_texts_calls_and_results_without_json(name: str):
    blocks = _blocks(json.dumps(REQUESTS[name]), [])
    lines = [line.strip() for block in blocks for line in block.text.splitlines()]
    for expected in ("name: look", "one", "two", "a", "b"):
        assert expected in lines, lines
    assert any("I look." in line for line in lines)
    assert not any("\\n" in line or "{" in line for line in lines)


def test_a_text_block_is_its_text_and_an_empty_place_of_bytes_is_left_out():
    assert block_text({"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}) == "Hi."
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    assert "image/png" in block_text(picture)
