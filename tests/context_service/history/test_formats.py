"""Histories as model vendors take them: whatever the history is, the vendor's rules hold.

Examples are in `cases/history/formats.yaml`.
"""

from __future__ import annotations

import re
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from context_service.history.model import ChatMessage
from context_service.history.pure.formats import formatted
from context_service.kernel.parts import Part, Reasoning, ToolCall, ToolResult
from context_service.kernel.rendering import Format

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
    parts=st.lists(_PARTS, max_size=4).map(tuple),
)
_HISTORIES = st.lists(_MESSAGES, max_size=10)
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def calls_of(history: list[ChatMessage]) -> int:
    return sum(part.tool_call is not None for message in history for part in message.parts)


@given(_HISTORIES)
def test_openai_finds_every_call_followed_by_its_results(history: list[ChatMessage]):
    done = formatted(history, Format.OPENAI)
    messages: list[dict[str, Any]] = orjson.loads(done.body_json)["messages"]
    ids: list[str] = []
    expected: list[str] = []  # results that have to come next
    for message in messages:
        if message["role"] == "tool":
            # In the last turn some may be still to come.
            while expected and expected[0] != message["tool_call_id"]:
                assert message["tool_call_id"] in expected
                expected.pop(0)
            assert expected.pop(0) == message["tool_call_id"]
            assert isinstance(message["content"], str)
            continue
        assert not expected
        assert message["content"] or message["tool_calls"]
        expected = [call["id"] for call in message.get("tool_calls", [])]
        ids += expected
        for call in message.get("tool_calls", []):
            assert _ID.fullmatch(call["id"])
            assert _NAME.fullmatch(call["function"]["name"])
            assert isinstance(orjson.loads(call["function"]["arguments"]), dict)
    assert len(set(ids)) == len(ids) == calls_of(history)


@given(_HISTORIES)
def test_anthropic_finds_roles_in_turns_and_results_first_in_the_next_message(history: list[ChatMessage]):
    messages: list[dict[str, Any]] = orjson.loads(formatted(history, Format.ANTHROPIC).body_json)["messages"]
    ids: list[str] = []
    for before, message, after in zip([None, *messages], messages, [*messages[1:], None], strict=False):
        assert message["role"] in ("user", "assistant")
        assert before is None or before["role"] != message["role"]
        assert message["content"]
        kinds = [block["type"] for block in message["content"]]
        called = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert kinds[: len(answered)] == ["tool_result"] * len(answered)
        assert kinds[-1] != "thinking"
        asked = [block["id"] for block in before["content"] if block["type"] == "tool_use"] if before else []
        assert set(answered) <= set(asked)
        if after is not None and messages[-1] is not after:
            assert set(called) <= {block.get("tool_use_id") for block in after["content"]}
        assert all(block["text"].strip() for block in message["content"] if block["type"] == "text")
        assert all(isinstance(block["input"], dict) for block in message["content"] if block["type"] == "tool_use")
        ids += called
    assert len(set(ids)) == len(ids) == calls_of(history)
    assert [message["role"] for message in messages[:1]] in ([], ["user"])


@given(_HISTORIES)
def test_openai_finds_every_reasoning_item_followed_by_an_item_of_the_assistant(history: list[ChatMessage]):
    items: list[dict[str, Any]] = orjson.loads(formatted(history, Format.OPENAI_RESPONSES).body_json)["input"]
    for item, after in zip(items, [*items[1:], {}], strict=False):
        if item.get("type") == "reasoning":
            assert after.get("role") == "assistant" or after.get("type") in ("function_call", "reasoning")


@given(_HISTORIES)
def test_gemini_finds_every_call_answered_by_name_in_the_next_content(history: list[ChatMessage]):
    """It refuses a call that is not answered at once, by as many results, and an empty text or content."""
    contents: list[dict[str, Any]] = orjson.loads(formatted(history, Format.GEMINI).body_json)["contents"]
    calls = 0
    for before, content, after in zip([None, *contents], contents, [*contents[1:], None], strict=False):
        assert content["role"] in ("user", "model")
        assert before is None or content["role"] != "model" or before["role"] == "user"
        assert content["parts"]
        assert all(part["text"].strip() for part in content["parts"] if "text" in part)
        called = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        answered = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        assert not answered or len(answered) == len(content["parts"])
        assert not answered or (before is not None and "functionCall" in before["parts"][-1])
        names = [call["name"] for call in called]
        assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in names)
        assert all(isinstance(call["args"], dict) for call in called)
        if after is not None and called and after is not contents[-1]:
            assert [part["functionResponse"]["name"] for part in after["parts"]] == names
        calls += len(called)
    assert calls == calls_of(history)
    assert [content["role"] for content in contents[:1]] in ([], ["user"])


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

    told = sum(message["role"] == "tool" for message in orjson.loads(done.body_json)["messages"])
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

    messages = orjson.loads(formatted(history, Format.OPENAI).body_json)["messages"]

    told = [message["content"] for message in messages if message["role"] == "tool"]
    assert told == ["first", "No result is recorded.", "third"]


def of(role: str, *parts: Part, content: str = "") -> ChatMessage:
    return ChatMessage(role=role, content=content, node_id="n", created_at_us=0, parts=parts)


THINKING = Part(reasoning=Reasoning(provider="openai", data_json='{"type":"reasoning","id":"rs_1"}'))
AGAIN = Part(reasoning=Reasoning(provider="openai", data_json='{"type":"reasoning","id":"rs_2"}'))


def test_reasoning_in_a_message_of_its_own_goes_with_the_assistants_next_one():
    """Frameworks write the items of an answer one by one."""
    history = [of("user", content="go"), of("assistant", THINKING), of("assistant", content="gone")]

    items = orjson.loads(formatted(history, Format.OPENAI_RESPONSES).body_json)["input"]

    assert [item.get("id", item.get("content")) for item in items] == ["go", "rs_1", "gone"]


def test_reasoning_whose_answer_is_missing_is_not_sent():
    history = [
        of("user", content="go"),
        of("assistant", THINKING),
        of("assistant", AGAIN),
        of("assistant", content="a"),
    ]
    history += [of("assistant", THINKING), of("user", content="again")]

    items = orjson.loads(formatted(history, Format.OPENAI_RESPONSES).body_json)["input"]

    assert [item.get("id", item.get("content")) for item in items] == ["go", "rs_2", "a", "again"]


def test_reasoning_stands_before_the_content_that_it_led_to():
    items = orjson.loads(formatted([of("assistant", THINKING, content="a")], Format.OPENAI_RESPONSES).body_json)[
        "input"
    ]

    assert [item.get("id", item.get("content")) for item in items] == ["rs_1", "a"]
