"""Steps and packs, over random logs: nothing is lost, calls have their results, and a pack begins as the one before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_service.contexts.model import Message
from context_service.kernel.parts import Part, Reasoning, ToolCall, ToolResult
from context_service.kernel.rendering import Format, empty
from context_service.kernel.rendering.turns import NO_RESULT, is_only_reasoning
from context_service.packing.model import STEP, NewBlock, ViewPart
from context_service.packing.pure.body.window_body import WindowBody
from context_service.packing.pure.steps.blocks import Block, block_of
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.packing.pure.steps.step import Step, cut
from context_service.packing.pure.texts.quotation import NOTICE
from context_service.profiles.pure.profiles import profile
from tests.context_service.kernel.test_rendering import MESSAGES, THINKING, adapter, exhausted
from tests.context_service.windows import messages as short
from tests.examples import examples
from tests.vendors import broken

AT = datetime(2026, 1, 1, tzinfo=UTC)
IDS = st.sampled_from(["c1", "c2", "", "not an id"])


def message(seq: int, role: str, *parts: Part, content: str = "") -> Message:
    return short.message(role, content, *parts, seq=seq)


@st.composite
def logs(draw: st.DrawFn) -> list[Message]:
    """Return messages of a log: each says its number, so that it is found again."""
    messages = []
    for seq in range(1, draw(st.integers(0, 12)) + 1):
        role = draw(st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "system"]))
        parts: list[Part] = []
        if role == "assistant":
            if draw(st.booleans()):
                parts.append(Part(reasoning=Reasoning(provider="anthropic", data_json=THINKING)))
            for call_id in draw(st.lists(IDS, max_size=3)):
                parts.append(Part(tool_call=ToolCall(id=call_id, name="look", arguments_json="{}")))
        if role == "tool":
            for number, call_id in enumerate(draw(st.lists(IDS, min_size=1, max_size=3))):
                content = orjson.dumps(f"r{seq}.{number};").decode()
                parts.append(Part(tool_result=ToolResult(tool_call_id=call_id, content_json=content)))
        says = role not in ("assistant", "tool") or draw(st.booleans())
        messages.append(message(seq, role, *parts, content=f"m{seq};" if says else ""))
    return messages


def count(text: str) -> int:
    return len(text)


def packed(blocks: Sequence[Block], to: Format) -> bytes:
    return empty(to).with_pieces(piece for block in blocks for piece in block.pieces).json


def said(steps: Sequence[Step], to: Format = Format.OPENAI_RESPONSES) -> list[str]:
    """Return what is said in steps, in order."""
    blocks = [block_of(step, to, count) for step in steps]
    return re.findall(r"[mr][\d.]+;", packed(blocks, to).decode())


def all_said(messages: Sequence[Message]) -> list[str]:
    texts = [
        orjson.dumps([one.content, *(part.tool_result.content_json for part in one.parts if part.tool_result)])
        for one in messages
    ]
    return re.findall(r"[mr][\d.]+;", b"".join(texts).decode())


@given(messages=logs())
def test_all_that_was_said_is_in_one_step_once(messages: list[Message]):
    done = cut(messages, is_end=True)

    steps = done.closed + ([done.open] if done.open else [])
    # Results of an open step beyond the first that is missing are not read yet.
    shown = said([step for step in steps if not step.is_open])
    held = [call.result.text for step in steps if step.is_open for call in step.turn.calls if call.result]
    opened = [part.text for step in steps if step.is_open for part in step.turn.parts if part.text]
    assert sorted(shown + held + opened) == sorted(all_said(messages))


@given(messages=logs())
def test_every_step_that_is_closed_has_a_result_for_each_call(messages: list[Message]):
    done = cut(messages, is_end=True)

    assert not any(step.is_open for step in done.closed)
    assert done.open is None or done.open.is_open
    if done.open:
        assert done.next_seq == done.open.seqs[0]
    else:  # reasoning alone waits unseen for what follows it
        rest = messages[done.next_seq - 1 :] if done.next_seq else []
        assert all(is_only_reasoning(one.parts) and not one.content for one in rest)
    unanswered = [
        call for step in done.closed for call in step.turn.calls if call.result and call.result.text == NO_RESULT
    ]
    assert all(call.result and call.result.is_error for call in unanswered)


@given(messages=logs(), sizes=st.lists(st.integers(1, 4), min_size=12, max_size=12))
def test_reading_on_where_it_stopped_gives_the_same_steps(messages: list[Message], sizes: list[int]):
    """However many messages are read at once: what is not closed is read again."""
    whole = cut(messages, is_end=False)

    steps: list[Step] = []
    start, reach = 0, 0
    for size in sizes:
        reach = min(reach + size, len(messages))
        done = cut(messages[start:reach], is_end=False)
        steps += done.closed
        start = reach if done.next_seq is None else done.next_seq - 1

    assert said(steps) == said(whole.closed)
    assert [step.seqs for step in steps] == [step.seqs for step in whole.closed]


def body_without_its_end(body: bytes) -> bytes:
    return body.rstrip(b"]}")


@pytest.mark.parametrize("to", Format)
@given(messages=logs(), stops=st.sets(st.integers(0, 12)))
@settings(max_examples=examples(40))
def test_a_pack_begins_with_the_bytes_of_the_one_before(to: Format, messages: list[Message], stops: set[int]):
    """Whenever it is asked for: blocks that were made stay, and an open step only grows."""
    blocks: list[Block] = []
    start, before = 0, b""
    for stop in sorted(one for one in stops if one <= len(messages)):
        done = cut(messages[start:stop], is_end=True)
        blocks += [block_of(step, to, count) for step in done.closed]
        start = stop if done.next_seq is None else done.next_seq - 1
        tail = [block_of(done.open, to, count)] if done.open else []
        body = packed([*blocks, *tail], to)
        exhausted(adapter(to).validate_python(orjson.loads(body)[MESSAGES[to]]))
        if before:
            assert body.startswith(body_without_its_end(before))
        before = body if orjson.loads(body)[MESSAGES[to]] else b""


def test_reasoning_alone_is_of_the_step_of_the_assistants_next_message():
    """Frameworks write the items of an answer one by one; a pack between them shows nothing of it yet."""
    thought = Part(reasoning=Reasoning(provider="anthropic", data_json=THINKING))
    log = [message(1, "user", content="go"), message(2, "assistant", thought), message(3, "assistant", content="gone")]

    between, whole = cut(log[:2], is_end=True), cut(log, is_end=True)

    assert ([step.seqs for step in between.closed], between.open, between.next_seq) == ([[1]], None, 2)
    assert [step.seqs for step in whole.closed] == [[1], [2, 3]]
    assert whole.closed[1].said_refs == ["m2/1", "m3/0"]
    alone = cut([*log[:2], message(3, "user", content="again")], is_end=True)
    assert [step.seqs for step in alone.closed] == [[1], [2], [3]]
    body = packed([block_of(step, Format.ANTHROPIC, count) for step in alone.closed], Format.ANTHROPIC)
    assert [one["role"] for one in orjson.loads(body)["messages"]] == ["user"]


def test_a_result_that_comes_when_nobody_waits_for_it_is_said():
    call = Part(tool_call=ToolCall(id="c1", name="look", arguments_json="{}"))
    result = Part(tool_result=ToolResult(tool_call_id="c1", content_json='"seen"'))
    done = cut([message(1, "assistant", call), message(2, "user", content="hurry")], is_end=True)
    late = cut([message(3, "tool", result)], is_end=True)

    assert [step.seqs for step in done.closed] == [[1], [2]]
    assert done.closed[0].turn.calls[0].result is not None
    (piece,) = block_of(late.closed[0], Format.OPENAI, count).pieces
    assert orjson.loads(piece.json)["content"] == (
        f"[A result of the call c1 that came late, or twice]\n{NOTICE}\ntool: «seen»"
    )


@pytest.mark.parametrize("to", [Format.ANTHROPIC, Format.GEMINI])
@given(messages=logs(), stops=st.sets(st.integers(1, 12)))
@settings(max_examples=examples(40))
def test_what_is_seen_begins_with_a_user(to: Format, messages: list[Message], stops: set[int]):
    """Whatever the first messages are, and however often it was read: blank ones, another vendor's reasoning."""
    blank = replace(messages[0], content=" \n", role="user", parts=()) if messages else None
    steps = cut([blank, *messages[1:]] if blank else [], is_end=True).closed
    made = [block_of(step, to, count) for step in steps]
    seen = [
        (
            ViewPart.of(NewBlock(kind=STEP, step=n, seq_from=1, seq_to=1, tokens=one.tokens, pieces=one.pieces)),
            one.pieces,
        )
        for n, one in enumerate(made, 1)
    ]
    sight = WindowBody(epoch=0, block_count=0, format=to, tokens_family="claude", body=empty(to), is_bare=True)
    at_once = sight.with_blocks(seen, block_count=len(seen))
    places = [0, *sorted(one for one in stops if one < len(seen)), len(seen)]
    for start, end in pairwise(places):
        sight = sight.with_blocks(seen[start:end], block_count=end)

    assert sight.body.json == at_once.body.json
    assert sight.note_tokens == at_once.note_tokens
    shown = orjson.loads(sight.body.json)[MESSAGES[to]]
    assert [one["role"] for one in shown[:1]] in ([], ["user"])


@pytest.mark.parametrize("to", Format)
@given(messages=logs(), blanks=st.sets(st.integers(0, 11)), names=st.lists(st.sampled_from(["", "Ann", "Bo"])))
@settings(max_examples=examples(40))
def test_vendors_accept_every_pack(to: Format, messages: list[Message], blanks: set[int], names: list[str]):
    """Types and order rules, with blank parts, several speakers, parallel calls, and reasoning that nothing follows."""
    log = [
        replace(
            one,
            content=" \n" if number in blanks else one.content,
            parts=(*one.parts, *([Part(text="")] if number in blanks else [])),
            name=names[number % len(names)] if names else "",
        )
        for number, one in enumerate(messages)
    ]
    made = caught_up(log, to=to, profile=profile("general"), count=count, is_end=True, last_seq=len(log), bound_seq=4)
    body = WindowBody(epoch=0, block_count=0, format=to, tokens_family="claude", body=empty(to), is_bare=True)
    for number, step in enumerate(made.steps, 1):
        new = NewBlock(kind=STEP, step=number, seq_from=1, seq_to=1, tokens=1, pieces=step.block.pieces)
        body = body.with_blocks([(ViewPart.of(new), new.pieces)], block_count=number)

    whole, _ = body.with_waiting(made.waiting)
    shown = orjson.loads(whole.json)[MESSAGES[to]]
    exhausted(adapter(to).validate_python(shown))
    assert broken(shown, to, is_waiting=made.waiting is not None) == []
