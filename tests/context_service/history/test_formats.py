"""Histories as model vendors take them: whatever the history is, the vendor's rules hold.

Examples are in `cases/history/formats.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.history.model import ChatMessage
from context_service.history.pure.formats import formatted
from context_service.kernel.parts import Part, Reasoning, ToolCall, ToolResult
from context_service.kernel.rendering import Format
from tests import vendors
from tests.context_service.kernel.test_rendering import MESSAGES

_TEXTS = st.sampled_from(["", " ", "hello", "ä\n"])
_IDS = st.sampled_from(["c1", "c2", "", "not an id", "x" * 50])
_JSON = st.sampled_from(["null", '"text"', "{}", '{"a":1}', "[1]", '"{\\"b\\":2}"', "7", '"{"'])
_PARTS = st.one_of(
    st.builds(Part, text=_TEXTS),
    st.builds(Part, data_json=_JSON),
    st.builds(
        Part, url=st.just("https://example.com/x"), media_type=st.sampled_from(["", "image/png", "application/pdf"])
    ),
    st.builds(
        Part,
        reasoning=st.sampled_from(
            [
                Reasoning(provider="anthropic", data_json='{"type":"thinking","thinking":"hm","signature":"c2ln"}'),
                Reasoning(provider="openai", data_json='{"type":"reasoning","id":"rs_1","summary":[]}'),
                Reasoning(provider="gemini", data=b"signed"),
            ]
        ),
    ),
    st.builds(Part, tool_call=st.builds(ToolCall, id=_IDS, name=_TEXTS, arguments_json=_JSON)),
    st.builds(Part, tool_result=st.builds(ToolResult, tool_call_id=_IDS, content_json=_JSON, is_error=st.booleans())),
)
_MESSAGES = st.builds(
    ChatMessage,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    content=_TEXTS,
    node_id=st.just("n"),
    created_at_us=st.just(0),
    name=_TEXTS,
    turn=st.sampled_from(["", "", "t1", "t2"]),
    parts=st.lists(_PARTS, max_size=4).map(tuple),
)
_HISTORIES = st.lists(_MESSAGES, max_size=10)
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def calls_of(history: list[ChatMessage]) -> int:
    return sum(part.tool_call is not None for message in history for part in message.parts)


@pytest.mark.parametrize("to", Format)
@given(history=_HISTORIES)
def test_vendors_accept_every_history(to: Format, history: list[ChatMessage]):
    """The last turn may lack results: they can still come."""
    messages = orjson.loads(formatted(history, to).body.json)[MESSAGES[to]]

    assert vendors.broken(messages, to, is_waiting=True) == []
    calls = list(_calls(messages, to))
    assert len(calls) == calls_of(history)
    for call_id, name, arguments in calls:
        assert _ID.fullmatch(call_id)
        assert _NAME.fullmatch(name)
        assert isinstance(arguments, dict)


def _calls(messages: list[dict[str, Any]], to: Format) -> Iterator[tuple[str, str, Any]]:
    """Yield id, name and arguments of each call; Gemini knows no ids."""
    for message in messages:
        if to is Format.OPENAI:
            for call in message.get("tool_calls") or []:
                yield call["id"], call["function"]["name"], orjson.loads(call["function"]["arguments"])
        elif to is Format.OPENAI_RESPONSES:
            if message.get("type") == "function_call":
                yield message["call_id"], message["name"], orjson.loads(message["arguments"])
        elif to is Format.ANTHROPIC:
            for block in message["content"]:
                if block["type"] == "tool_use":
                    yield block["id"], block["name"], block["input"]
        else:
            for part in message["parts"]:
                if "functionCall" in part:
                    yield "-", part["functionCall"]["name"], part["functionCall"]["args"]


_SPEAKERS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system"]), st.sampled_from(["", "Ann", "Bo\nAhn", "Çelik"])),
    max_size=8,
)


@pytest.mark.parametrize("to", Format)
@given(speakers=_SPEAKERS)
def test_texts_stand_in_the_order_of_the_history_with_their_speakers(to: Format, speakers: list[tuple[str, str]]):
    """Of system messages, too: one that came later must not act on what was before it."""
    history = [ChatMessage(role, f"text {number}.", "n", 0, name) for number, (role, name) in enumerate(speakers)]

    body_json = formatted(history, to).body.json.decode()

    assert re.findall(r"text \d+\.", body_json) == [message.content for message in history]
    assert vendors.broken(orjson.loads(body_json)[MESSAGES[to]], to) == []
    for role, name in speakers:
        if name and len({other for of_role, other in speakers if of_role == role}) > 1:
            assert re.search(" ".join(name.split()).replace(" ", "[ _]"), body_json)


@given(steps=st.lists(st.tuples(st.sampled_from(["call", "result", "user"]), st.sampled_from("ab")), max_size=12))
def test_the_calls_of_a_turn_stand_together_whatever_came_between(steps: list[tuple[str, str]]):
    history, calls = [], []
    for number, (kind, turn) in enumerate(steps):
        if kind == "call":
            calls.append((f"c{number}", turn))
            part = Part(tool_call=ToolCall(id=f"c{number}", name="f", arguments_json="{}"))
            history.append(ChatMessage("assistant", "", "n", 0, parts=(part,), turn=turn))
        elif kind == "result" and calls:
            part = Part(tool_result=ToolResult(tool_call_id=calls[-1][0], content_json='"ok"'))
            history.append(ChatMessage("tool", "", "n", 0, parts=(part,)))
        elif kind == "user":
            history.append(ChatMessage("user", "wait", "n", 0))

    messages = orjson.loads(formatted(history, Format.OPENAI).body.json)["messages"]

    shown = [[call["id"] for call in message["tool_calls"]] for message in messages if message.get("tool_calls")]
    turns = dict.fromkeys(turn for _, turn in calls)  # each where its first call was
    assert shown == [[call_id for call_id, of_turn in calls if of_turn == turn] for turn in turns]


@given(_HISTORIES)
def test_no_result_is_lost_uncounted(history: list[ChatMessage]):
    results = 0
    for message in history:
        named = sum(part.tool_result is not None for part in message.parts)
        says = message.content or any(
            part.text != "" and not part.tool_call and not part.tool_result for part in message.parts
        )
        results += named or (message.role == "tool" and bool(says))

    done = formatted(history, Format.OPENAI)

    told = sum(message["role"] == "tool" for message in orjson.loads(done.body.json)["messages"])
    assert told - done.calls_unanswered + done.results_left_out == results


def test_an_id_that_is_used_again_means_the_last_turn_that_calls_with_it():
    def call() -> ChatMessage:
        return ChatMessage(
            "assistant", "", "n", 0, parts=(Part(tool_call=ToolCall(id="1", name="f", arguments_json="{}")),)
        )

    def result(text: str) -> ChatMessage:
        part = Part(tool_result=ToolResult(tool_call_id="1", content_json=orjson.dumps(text).decode()))
        return ChatMessage("tool", "", "n", 0, parts=(part,))

    history = [call(), result("first"), call(), ChatMessage("user", "wait", "n", 0), call(), result("third")]

    messages = orjson.loads(formatted(history, Format.OPENAI).body.json)["messages"]

    told = [message["content"] for message in messages if message["role"] == "tool"]
    assert told == ["first", "No result is recorded.", "third"]


def of(role: str, *parts: Part, content: str = "") -> ChatMessage:
    return ChatMessage(role=role, content=content, node_id="n", created_at_us=0, parts=parts)


THINKING = Part(reasoning=Reasoning(provider="openai", data_json='{"type":"reasoning","id":"rs_1"}'))
AGAIN = Part(reasoning=Reasoning(provider="openai", data_json='{"type":"reasoning","id":"rs_2"}'))


def test_reasoning_in_a_message_of_its_own_goes_with_the_assistants_next_one():
    """Frameworks write the items of an answer one by one."""
    history = [of("user", content="go"), of("assistant", THINKING), of("assistant", content="gone")]

    items = orjson.loads(formatted(history, Format.OPENAI_RESPONSES).body.json)["input"]

    assert [item.get("id", item.get("content")) for item in items] == ["go", "rs_1", "gone"]


def test_reasoning_whose_answer_is_missing_is_not_sent():
    history = [
        of("user", content="go"),
        of("assistant", THINKING),
        of("assistant", AGAIN),
        of("assistant", content="a"),
    ]
    history += [of("assistant", THINKING), of("user", content="again")]

    items = orjson.loads(formatted(history, Format.OPENAI_RESPONSES).body.json)["input"]

    assert [item.get("id", item.get("content")) for item in items] == ["go", "rs_2", "a", "again"]


def test_reasoning_stands_before_the_content_that_it_led_to():
    items = orjson.loads(formatted([of("assistant", THINKING, content="a")], Format.OPENAI_RESPONSES).body.json)[
        "input"
    ]

    assert [item.get("id", item.get("content")) for item in items] == ["rs_1", "a"]
