"""What turns become for each vendor, held to the types that the vendors' own libraries have for it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from context_service.kernel.parts import Part, Reasoning, ToolCall
from context_service.kernel.rendering import Call, Format, Result, Turn, body, pieces

THINKING = '{"type":"thinking","thinking":"Let me  see","signature":"c2ln\\u0061"}'
REASONING_ITEM = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Zm9v\\u0061"}'
SIGNATURE = b"\x00\xffsigned"

_TEXTS = st.sampled_from(["", " ", "hello", "ä\n", "\u6f22\u5b57", "\x01"])
_JSON = st.sampled_from(["null", '"text"', "{}", '{"a":1}', "[1]", '"{\\"b\\":2}"', "7", ""])
_URLS = st.sampled_from(["https://example.com/x", "data:image/png;base64,aGk=", "data:application/pdf;base64,aGk="])
_TYPES = st.sampled_from(["", "image/png", "application/pdf", "audio/wav", "text/plain"])
_SAID = st.one_of(
    st.builds(Part, text=_TEXTS),
    st.builds(Part, data_json=_JSON),
    st.builds(Part, url=_URLS, media_type=_TYPES, file_name=_TEXTS),
    st.builds(Part, working_memory_id=st.just("r1"), media_type=_TYPES),
)
_REASONING = st.sampled_from(
    [
        Part(reasoning=Reasoning(provider="anthropic", data_json=THINKING)),
        Part(reasoning=Reasoning(provider="openai", data_json=REASONING_ITEM)),
        Part(reasoning=Reasoning(provider="gemini", data=SIGNATURE)),
        Part(reasoning=Reasoning(provider="another", data_json='{"type":"secret"}', text="thoughts")),
    ]
)
_RESULTS = st.builds(Result, _TEXTS, st.booleans())


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    """Return turns of any roles, with calls in parallel; all but the last call of the last turn are answered."""
    turns = []
    for number in range(draw(st.integers(0, 6))):
        role = draw(st.sampled_from(["user", "assistant", "system"]))
        said = draw(st.lists(_SAID, max_size=3))
        if role != "assistant":
            turns.append(Turn(role, draw(_TEXTS), said))
            continue
        calls = [
            Call(
                ToolCall(id="", name=draw(_TEXTS), arguments_json=draw(_JSON)),
                id=f"c{number}_{place}",
                result=draw(_RESULTS),
            )
            for place in range(draw(st.integers(0, 3)))
        ]
        turns.append(Turn(role, draw(_TEXTS), draw(st.lists(_REASONING, max_size=2)) + said, calls))
    return turns


def exhausted(value: Any) -> Any:
    """Return a validated value with what pydantic checks only when it is read."""
    if isinstance(value, Mapping):
        return {name: exhausted(one) for name, one in value.items()}
    if isinstance(value, Sequence | Iterator) and not isinstance(value, str | bytes):
        return [exhausted(one) for one in value]
    return value


@cache
def adapter(of: Format) -> TypeAdapter[Any]:
    """Return what checks the messages of a vendor, of the vendor's own library."""
    if of is Format.OPENAI:
        from openai.types.chat import ChatCompletionMessageParam

        return TypeAdapter(list[ChatCompletionMessageParam])
    if of is Format.OPENAI_RESPONSES:
        from openai.types.responses import ResponseInputParam

        return TypeAdapter(ResponseInputParam)
    if of is Format.ANTHROPIC:
        from anthropic.types import MessageParam

        return TypeAdapter(list[MessageParam])
    from google.genai.types import Content

    return TypeAdapter(list[Content])


MESSAGES = {
    Format.OPENAI: "messages",
    Format.OPENAI_RESPONSES: "input",
    Format.ANTHROPIC: "messages",
    Format.GEMINI: "contents",
}


@pytest.mark.parametrize("to", Format)
@given(turns=conversations())
def test_a_body_is_of_the_types_of_the_vendors_own_library(to: Format, turns: list[Turn]):
    exhausted(adapter(to).validate_python(orjson.loads(body(turns, to).json)[MESSAGES[to]]))


@pytest.mark.parametrize(
    ("to", "wrong"),
    [
        (Format.OPENAI, [{"role": "tool", "content": "no id"}]),
        (Format.OPENAI_RESPONSES, [{"type": "function_call", "call_id": 1}]),
        (Format.ANTHROPIC, [{"role": "user", "content": [{"type": "tool_result"}]}]),
        (Format.GEMINI, [{"role": "user", "parts": [{"function_result": {}}]}]),
    ],
)
def test_those_types_refuse_what_is_wrong(to: Format, wrong: list[dict[str, Any]]):
    with pytest.raises(ValueError, match="validation error"):
        exhausted(adapter(to).validate_python(wrong))


@pytest.mark.parametrize("to", Format)
@given(turns=conversations())
def test_what_a_turn_becomes_depends_on_that_turn_alone(to: Format, turns: list[Turn]):
    def made(turns: list[Turn]) -> list[tuple[str, bytes]]:
        return [(piece.role, orjson.dumps(piece.value)) for turn in turns for piece in pieces(turn, to)]

    for count in range(len(turns)):
        assert made(turns)[: len(made(turns[:count]))] == made(turns[:count])


def of_an_agent(*reasoning: Reasoning, calls: int = 1) -> Turn:
    """Return an assistant's turn that thinks, says something, and calls."""
    made = [
        Call(ToolCall(id="", name="look", arguments_json="{}"), id=f"c{place}", result=Result("seen", False))
        for place in range(calls)
    ]
    return Turn("assistant", parts=[*(Part(reasoning=one) for one in reasoning), Part(text="I look.")], calls=made)


def test_thinking_comes_back_byte_for_byte_in_front_of_its_calls():
    made = body([of_an_agent(Reasoning(provider="anthropic", data_json=THINKING))], Format.ANTHROPIC).json

    assert THINKING.encode() in made
    blocks = orjson.loads(made)["messages"][0]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use"]


def test_a_reasoning_item_comes_back_byte_for_byte_in_front_of_its_calls():
    made = body([of_an_agent(Reasoning(provider="openai", data_json=REASONING_ITEM))], Format.OPENAI_RESPONSES).json

    assert REASONING_ITEM.encode() in made
    items = orjson.loads(made)["input"]
    assert [item.get("type", "message") for item in items] == [
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
    ]


def test_a_thought_signature_is_of_the_first_of_parallel_calls():
    turn = of_an_agent(Reasoning(provider="gemini", data=SIGNATURE), calls=2)

    contents = orjson.loads(body([turn], Format.GEMINI).json)["contents"]

    said, first, second = contents[0]["parts"]
    assert base64.b64decode(first["thoughtSignature"]) == SIGNATURE
    assert "thoughtSignature" not in said
    assert "thoughtSignature" not in second


def test_a_thought_signature_of_an_answer_without_calls_is_of_its_last_text():
    turn = of_an_agent(Reasoning(provider="gemini", data=SIGNATURE), calls=0)

    (part,) = orjson.loads(body([turn], Format.GEMINI).json)["contents"][0]["parts"]

    assert base64.b64decode(part["thoughtSignature"]) == SIGNATURE


@pytest.mark.parametrize("to", Format)
def test_reasoning_goes_to_no_other_vendor_and_is_never_text(to: Format):
    others = {
        "anthropic": Reasoning(provider="anthropic", data_json=THINKING, text="my thoughts"),
        "openai": Reasoning(provider="openai", data_json=REASONING_ITEM, text="my thoughts"),
        "gemini": Reasoning(provider="gemini", data=SIGNATURE, text="my thoughts"),
    }
    others.pop(to.value.split("_")[0])
    if to is Format.OPENAI:  # which takes none back
        others["openai"] = Reasoning(provider="openai", data_json=REASONING_ITEM)

    made = body([of_an_agent(*others.values())], to).json

    assert made == body([of_an_agent()], to).json


@pytest.mark.parametrize("to", Format)
def test_a_turn_of_nothing_is_no_message(to: Format):
    assert pieces(Turn("assistant"), to) == []
    nothing = Part(reasoning=Reasoning(provider="another", data_json="{}"))
    assert pieces(Turn("assistant", parts=[nothing]), to) == []


def test_a_file_within_its_address_is_what_the_address_says_not_what_its_part_says():
    part = Part(url="data:image/png;base64,aGk=", media_type="application/pdf")

    def block(to: Format) -> dict[str, Any]:
        message = orjson.loads(body([Turn("user", parts=[part])], to).json)[MESSAGES[to]][0]
        found: dict[str, Any] = message.get("content", message.get("parts"))[0]
        return found

    assert block(Format.OPENAI)["type"] == "image_url"
    assert block(Format.OPENAI_RESPONSES)["type"] == "input_image"
    assert block(Format.ANTHROPIC)["type"] == "image"
    assert block(Format.GEMINI)["inlineData"]["mimeType"] == "image/png"
