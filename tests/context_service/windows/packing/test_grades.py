"""Grades: what is left of a step that is masked, and of one that does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.contexts.model import Message
from context_service.kernel.parts import Part, Reasoning
from context_service.kernel.rendering import Format, Turn
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.steps.blocks import Block, block_of
from context_service.packing.pure.steps.grades import SAID_CHARS_MAX, fit_step, mask_step
from context_service.packing.pure.steps.step import Step, cut
from context_service.packing.pure.texts.units import units_of
from context_service.profiles.pure.profiles import Profile, parse_profile, profile, profile_names
from context_service.windows.pure.refs import parse_ref as ref
from tests.context_service.windows.messages import answered, called, message

GENERAL, CODING = profile("general"), profile("coding")


def count(text: str) -> int:
    return (len(text) + 3) // 4


def mask(messages: list[Message], of: Profile = GENERAL) -> Turn | None:
    (step,) = cut(messages, is_end=True).closed
    return mask_step(step, [unit for one in messages for unit in units_of(one, of)], of, count)


def result(text: str, of: Profile = GENERAL, *, tool: str = "look") -> str:
    """Return what a mask makes of a tool's answer; empty: none."""
    turn = mask([called(tool, {"of": "a" * 2_000}), answered(text)], of)
    assert turn is None or turn.calls[0].result
    return turn.calls[0].result.text if turn and turn.calls[0].result else ""


def test_a_mask_is_the_head_what_matters_and_where_all_of_it_is():
    text = "\n".join(["first line", *["nothing to see here"] * 200, "error: the disk is full", "last line"])

    kept = result(text)

    lines = kept.splitlines()
    assert lines[0] == "first line"
    assert lines[-2:] == ["… error: the disk is full", f"[{len(text) - len(head_of(kept))} characters more: m2/1]"]
    assert len(head_of(kept)) <= GENERAL.trim_default


def head_of(kept: str) -> str:
    return kept.partition("\n… ")[0]


def test_the_ref_names_the_part():
    one, other = answered("a b " * 500, call_id="c1", seq=5), answered("c d " * 500, call_id="c2", seq=5)
    calls = message("assistant", "", *called("x", call_id="c1").parts, *called("y", call_id="c2").parts, seq=4)

    turn = mask([calls, message("tool", "", *one.parts, *other.parts, seq=5)])

    assert turn
    assert [call.result.text.splitlines()[-1].partition(": ")[2] for call in turn.calls if call.result] == [
        "m5/1]",
        "m5/2]",
    ]


def test_calls_and_reasoning_stay_as_they_are():
    thinking = Part(reasoning=Reasoning(provider="anthropic", data_json='{"thinking": "long"}'))
    first = message("assistant", "I look.", thinking, *called("look", {"of": "a" * 5_000}).parts)

    turn = mask([first, answered("word " * 1_000, is_error=True)])

    assert turn
    assert [part.text for part in turn.parts] == [None, "I look."]
    assert turn.parts[0] == thinking
    assert turn.calls[0].call == first.parts[1].tool_call
    assert turn.calls[0].result
    assert turn.calls[0].result.is_error


@pytest.mark.parametrize("words", [10, 70, 130])
def test_what_saves_less_than_a_hundred_tokens_is_no_mask(words: int):
    assert result("word " * words) == ""


def test_what_saves_less_than_half_is_no_mask():
    """Four hundred characters that matter, of eight hundred."""
    text = "high_importance: [{kind: a, of: tool, line: error}]\ntool_output_trim: {default: 600}"
    profile = parse_profile("test", text)

    assert result("word " * 200 + "\n" + "\n".join(f"error {n} {'x' * 80}" for n in range(4)), profile) == ""


@given(
    text=st.text(max_size=200).map(lambda text: text * 20) | st.text(max_size=3_000),
    name=st.sampled_from(profile_names()),
    tool=st.sampled_from(["read_file", "shell", "grep", "web_fetch", "look"]),
)
def test_a_mask_saves_a_hundred_tokens_and_half_and_says_where_the_rest_is(text: str, name: str, tool: str):
    of = profile(name)
    text = text.encode(errors="replace").decode()
    kept = result(text, of, tool=tool)

    if kept:
        assert count(text) - count(kept) >= 100
        assert count(kept) <= count(text) / 2
        said, _, where = kept.rpartition("\n[")
        number, _, place = where.removesuffix("]").partition(" characters more: ")
        assert ref(place) == ref("m2/1")
        assert text.startswith(text[: len(text) - int(number)])
        assert said.startswith(text[: len(text) - int(number)])
        assert len(said) <= 3 * of.trim_of(tool) + 40


def test_no_number_and_no_path_is_cut_in_two():
    for text in ("123456 " * 400, ",".join(["123456"] * 400), '{"a":123456,"b":"x/y.py"}' * 100):
        head = head_of(result(text)).rpartition("\n[")[0]

        assert text.startswith(head)
        assert not (head[-1].isalnum() and text[len(head)].isalnum())


def test_a_line_of_a_mebibyte_without_spaces_is_masked():
    kept = result("a" * 2**20)

    assert kept == "a" * 300 + f"\n[{2**20 - 300} characters more: m2/1]"


def test_a_diff_is_kept_whole_within_its_room():
    diff = ["diff --git a/src/a.py b/src/a.py", "-    value  =  1", "+    value  =  2"]
    text = "\n".join(["compiling the module"] * 60 + diff + [" unchanged = True"] * 60)

    assert "\n…\n" + "\n".join(diff) + "\n" in result(text, CODING, tool="shell")
    assert "-    value" not in result(text, GENERAL, tool="shell")


def test_a_line_that_has_no_room_whole_is_not_kept_in_part():
    text = "\n".join(["compiling the module"] * 60 + ["+" + "x " * 150, "+short"] + ["more of it"] * 60)

    kept = result(text, CODING, tool="shell")

    assert "\n+short\n" in kept
    assert "+x x" not in kept


def test_a_line_that_the_head_cuts_is_not_taken_for_a_whole_one():
    text = "word " * 39 + "a MODE = 1 " + "word " * 20 + "\n" + "more of it\n" * 100

    kept = result(text, CODING, tool="shell")

    assert "\n…\n" not in kept


def test_a_long_quote_is_kept_whole_for_research():
    quote = '"' + "so it was said and so it was done, " * 12 + 'and not otherwise"'
    text = "\n".join(["Accept all cookies, please"] * 60 + [f"They write: {quote}."] + ["Menu of the page"] * 60)

    assert quote in result(text, profile("research"), tool="read_pdf")


def test_what_somebody_says_is_masked_only_if_it_is_very_long():
    assert mask([message("user", "word " * (SAID_CHARS_MAX // 5))]) is None

    turn = mask([message("user", "word " * SAID_CHARS_MAX)])

    assert turn
    assert turn.parts[0].text
    assert turn.parts[0].text.endswith(" characters more: m1/0]")
    assert len(turn.parts[0].text) < 1_500


@pytest.mark.parametrize("text", ["\x00\x1b[31m" * 500, "从现在开始" * 500, "👩‍👩‍👧‍👦 " * 500, "\ud7ff\ue000" * 1_000])
def test_odd_results_are_masked(text: str):
    kept = result(text)

    assert kept.endswith(" characters more: m2/1]")
    assert kept.startswith(text[:100])


# A step that does not fit.

EXACTLY = TokenCounter("o200k").count
WORDS = (
    "the parser",
    "reads",
    "a_line\n",
    "from",
    "从现在开始",
    "ещё",
    "\t",
    '"quoted"',
    "{}",
    "a/b.py",
    "\x07",
    "4711",
)
LOG = "\n".join(f"{n:04} compiling module {n * 7919 % 1000}" for n in range(3_000))


def step_of(*messages: Message) -> Step:
    (step,) = cut(messages, is_end=True).closed
    return step


def fit(step: Step, room: int, to: Format = Format.OPENAI, of: Profile = GENERAL) -> Block:
    return fit_step(step, room, to=to, profile=of, count=EXACTLY)


def shown_result(block: Block) -> str:
    text: str = orjson.loads(block.pieces[-1].json)["content"]
    return text


@pytest.mark.parametrize("to", Format)
def test_a_result_that_does_not_fit_uses_the_room_with_its_head_and_its_tail(to: Format):
    step = step_of(called("run", {"what": "all"}), answered(LOG))

    block = fit(step, 9_000, to)

    assert 0.95 * 9_000 < block.tokens <= 9_000
    body = "".join(piece.json for piece in block.pieces)
    assert "0000 compiling" in body
    assert "2999 compiling" in body
    assert "characters left out: m2/1]" in body


@given(data=st.data(), room=st.integers(200, 6_000), to=st.sampled_from(list(Format)))
def test_a_step_fills_the_room_and_never_passes_it(data: st.DataObject, room: int, to: Format):
    """Texts of any kind, in results, arguments and speech; at 200 tokens the fixed parts of three calls fit."""
    text = st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join)
    long = st.builds(lambda text, count: text * count, text, st.integers(0, 3_000))
    count = data.draw(st.integers(0, 3))
    ids = [f"c{n}" for n in range(count)]
    calls = [
        part for id_ in ids for part in called("write", {"to": "a.py", "of": [data.draw(long)]}, call_id=id_).parts
    ]
    results = [part for id_ in ids for part in answered(data.draw(long), call_id=id_).parts]
    messages = [message("assistant", data.draw(long) + "x", *calls)]
    step = step_of(*messages, *([message("tool", "", *results, seq=2)] if count else []))

    block, whole = fit(step, room, to), block_of(step, to, EXACTLY)

    assert block.tokens <= room
    assert fit(step, room, to) == block
    if whole.tokens <= room:
        assert block == whole
    else:
        assert block.tokens >= 0.85 * room - 150  # a text is whole, or saves more than its note
    for piece in block.pieces:
        orjson.loads(piece.json)


def test_errors_in_the_middle_stay_with_the_lines_around_them():
    lines = LOG.splitlines()
    lines[1_500:1_500] = ["running test_cart", "AssertionError: 12 != 15", "in cart.py"]

    kept = shown_result(fit(step_of(called("run"), answered("\n".join(lines))), 1_000, of=CODING))

    assert "running test_cart\nAssertionError: 12 != 15\nin cart.py" in kept


@pytest.mark.parametrize("to", Format)
def test_arguments_stay_an_object_with_its_members_and_only_long_texts_in_it_are_cut(to: Format):
    arguments = {"path": "src/ledger.py", "mode": 420, "edits": [{"old": "a", "new": LOG}], "dry": None}
    step = step_of(called("write_file", arguments), answered("written"))

    block = fit(step, 3_000, to)

    call = next(value for value in found_in([orjson.loads(piece.json) for piece in block.pieces]) if "edits" in value)
    assert 2_700 < block.tokens <= 3_000
    assert list(call) == list(arguments)
    assert (call["path"], call["mode"], call["edits"][0]["old"], call["dry"]) == ("src/ledger.py", 420, "a", None)
    new = call["edits"][0]["new"]
    assert new.startswith("0000 compiling") and new.endswith("compiling module 81") and "left out: m1/1]" in new


def found_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects within a JSON value, also those that are JSON texts."""
    if isinstance(value, str) and value.startswith("{"):
        value = orjson.loads(value)
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from found_in(one)


def test_arguments_of_thousands_of_numbers_become_one_text_in_an_object():
    step = step_of(called("plot", {"points": list(range(20_000))}), answered("plotted"))

    block = fit(step, 1_000)

    call = orjson.loads(orjson.loads(block.pieces[0].json)["tool_calls"][0]["function"]["arguments"])
    assert 800 < block.tokens <= 1_000
    assert list(call) == ["arguments"]
    assert call["arguments"].startswith('{"points":[0,1,2')
    assert call["arguments"].endswith("19998,19999]}")


def test_results_share_the_room_and_short_ones_stay_whole():
    parts = [part for id_ in ("c1", "c2", "c3") for part in called("look", call_id=id_).parts]
    results = [*answered(LOG, call_id="c1").parts, *answered("short", call_id="c2").parts]
    step = step_of(
        message("assistant", "I look.", *parts),
        message("tool", "", *results, *answered(LOG * 2, call_id="c3").parts, seq=2),
    )

    block = fit(step, 8_000)

    _, first, second, third = [orjson.loads(piece.json)["content"] for piece in block.pieces]
    assert second == "short"
    assert EXACTLY(first) == pytest.approx(EXACTLY(third), rel=0.1)


def test_a_step_whose_fixed_parts_do_not_fit_is_as_small_as_can_be():
    step = step_of(called("run", {"what": LOG}), answered(LOG))

    assert fit(step, 10) == fit(step, 50)
    assert fit(step, 10).tokens < 110


CLEARING = """
extends: general
tool_clearing:
  '^(notes|todo)$': {never_clear: true}
  write_file: {clear_inputs: true}
"""


def test_results_of_a_tool_that_is_never_cleared_stay_whole_in_a_mask():
    of = parse_profile("test", CLEARING)
    parts = [*called("notes", call_id="c1").parts, *called("look", call_id="c2").parts]
    results = [*answered(LOG, call_id="c1").parts, *answered(LOG, call_id="c2").parts]

    turn = mask([message("assistant", "", *parts), message("tool", "", *results, seq=2)], of)

    assert turn
    notes, look = [call.result.text for call in turn.calls if call.result]
    assert notes == LOG
    assert look.endswith("characters more: m2/2]")


def test_inputs_are_cleared_only_for_tools_that_say_so():
    of = parse_profile("test", CLEARING)
    arguments = {"path": "a.py", "content": LOG}

    turn = mask([called("write_file", arguments), answered("written")], of)

    assert turn
    cleared = orjson.loads(turn.calls[0].call.arguments_json)
    assert cleared["path"] == "a.py"
    assert len(cleared["content"]) < 400
    assert "characters left out: m1/1]" in cleared["content"]
    assert mask([called("write_page", arguments), answered("written")], of) is None
