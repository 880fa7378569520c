"""What a part of a message is found by, whatever it holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.parts import File, Part, Reasoning, ToolCall, ToolResult
from context_service.retrieval.pure.part_texts import json_text, part_text
from context_service.retrieval.pure.terms import terms_of
from tests.cpu import units

KEYS = st.text("abcdefghij", min_size=1, max_size=5)
VALUES = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text("abcdefghij \n", max_size=10)
DOCUMENTS = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20
)


@pytest.mark.parametrize(
    ("part", "kind", "text"),
    [
        (Part(text=" Hello,\nbees. "), "text", " Hello,\nbees. "),
        (
            Part(data_json='{"hive": {"id": 7, "queens": ["Ada", "Eve"], "checks": [{"ok": true}, {"ok": null}]}}'),
            "data",
            "hive.id = 7\nhive.queens = Ada, Eve\nhive.checks[0].ok = true\nhive.checks[1].ok = null",
        ),
        (Part(data_json='{"empty": {}, "none": []}'), "data", "empty\nnone"),
        (Part(data_json='"a text"'), "data", "a text"),
        (Part(data_json="[1, 2]"), "data", "1, 2"),
        (Part(data_json='{"broken'), "data", '{"broken'),
        (
            Part(tool_call=ToolCall(id="1", name="read_file", arguments_json='{"path": "/srv/main.py"}')),
            "tool_call",
            "read_file\npath = /srv/main.py",
        ),
        (Part(tool_call=ToolCall(id="1", name="ping", arguments_json="")), "tool_call", "ping\n"),
        (Part(tool_result=ToolResult(tool_call_id="1", content_json='"done"')), "tool_result", "done"),
        (
            Part(tool_result=ToolResult(tool_call_id="1", content_json='{"code": 2}', is_error=True)),
            "tool_result",
            "error\ncode = 2",
        ),
        (Part(working_memory_id="7", file_name="report.pdf"), "file", "report.pdf"),
        (
            Part(file=File(url="https://bees.example/x", name="hive.png", alt="bees")),
            "file",
            "hive.png\nbees\nhttps://bees.example/x",
        ),
        (
            Part(tool_result=ToolResult(tool_call_id="1", content_json='"done"', files=(File(url="u", name="shot"),))),
            "tool_result",
            "shot\nu\ndone",
        ),
        (Part(url="https://bees.example/map"), "file", "https://bees.example/map"),
        (Part(text="See it.", metadata_json='{"index": true}'), "text", "See it."),
        (Part(text="See it.", metadata_json='{"index" broken'), "text", "See it."),
    ],
)
def test_a_part_is_found_by_what_it_says(part, kind, text):
    assert part_text(part) == (kind, text)


@pytest.mark.parametrize(
    "part",
    [
        Part(text=""),
        Part(text=" \n"),
        Part(data_json="{}"),
        Part(working_memory_id="7"),
        Part(tool_result=ToolResult(tool_call_id="1", content_json="")),
        Part(reasoning=Reasoning(provider="one", data=b"secret", text="I think"), file_name="thoughts"),
        Part(text="hidden", metadata_json='{"index": false}'),
        Part(data_json='{"hidden": 1}', metadata_json='{"a": [], "index": false}'),
    ],
)
def test_what_says_nothing_or_shall_not_be_found_has_no_text(part):
    assert part_text(part) is None


@given(DOCUMENTS)
def test_every_key_and_value_of_a_document_is_found(document):
    found = set(terms_of(json_text(json.dumps(document))))

    assert {term for said in _said(document) for term in terms_of(said)} <= found


def _said(value: object) -> list[str]:
    if isinstance(value, dict):
        return [one for key, inner in value.items() for one in [key, *_said(inner)]]
    if isinstance(value, list):
        return [one for inner in value for one in _said(inner)]
    return [value if isinstance(value, str) else json.dumps(value)]


@pytest.mark.parametrize(
    "document",
    [
        "[" * 1000 + "1" + "]" * 1000,
        '{"k":' * 1000 + "1" + "}" * 1000,
        json.dumps({"k" * 5000: {"j" * 5000: [[number] for number in range(100_000)]}}),
        json.dumps({"a" * 150: {str(number): number for number in range(60_000)}}),
        "[" + ",".join(["{}"] * 60_000) + "]",
        json.dumps({"k" * 1000 + str(number): {"x" * 50: [{"y": 1}] * 500} for number in range(40)}),
    ],
    ids=["lists", "objects", "long paths", "long key", "empty", "much of all"],
)
def test_a_document_gives_a_few_times_its_size_in_a_bounded_time(document):
    """Each leaf would repeat all keys that it is in: of a MiB, gigabytes."""
    assert len(json_text(document)) < 5 * len(document) + 8192
    assert units(lambda: json_text(document), rounds=1) < 2500


def test_keys_are_found_where_paths_are_cut_short():
    document = {"outer" * 100: {f"middle{number}": {"inner": {"leaf": number}} for number in range(1000)}}
    found = set(terms_of(json_text(json.dumps(document))))

    assert {f"middle{number}" for number in range(1000)} <= found
