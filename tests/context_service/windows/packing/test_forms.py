"""Forms of steps that a break of the prefix changes: names of speakers, and reasoning."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.rendering import Format
from context_service.packing.pure.steps.forms import shared_roles, with_step
from context_service.packing.pure.steps.step import Step, Turn
from context_service.windows.pure.models import binds_reasoning
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from tests import vendors
from tests.context_service.contexts.callers import Caller
from tests.context_service.kernel.test_rendering import MESSAGES
from tests.context_service.windows.calling import FORMATS, opened, packed, said

BOUND, OLDER = "claude-fable-5-1", "claude-sonnet-4-5"
IN_TEXT = [to for to in FORMATS if to is not Format.OPENAI]  # formats without a field for names


def thought(number: int) -> message_pb2.Part:
    data = {"type": "thinking", "thinking": f"I think {number}.", "signature": f"sig{number}"}
    return message_pb2.Part(
        reasoning=message_pb2.Reasoning(provider="anthropic", data_json=orjson.dumps(data).decode())
    )


async def pinned(caller: Caller, window: windows_pb.Window, text: str = "Be kind.") -> None:
    await caller.call("Pin", window_id=window.window_id, text=text)


@pytest.mark.parametrize("to", IN_TEXT)
async def test_names_are_in_the_text_from_the_second_speaker_on(to: Format, caller: Caller):
    context_id = await said(caller, "", {"content": "Hello from me.", "name": "Ann"})
    window = await opened(caller, context_id, format=FORMATS[to])
    alone = await packed(caller, window)
    assert "Ann" not in alone.messages_json

    await said(caller, context_id, {"role": "assistant", "content": "Hi."}, {"content": "And from me.", "name": "Bo"})
    both = await packed(caller, window)
    assert both.messages_json.encode()[: alone.prefix_bytes] == alone.messages_json.encode()[: alone.prefix_bytes]
    assert "Bo: And from me." in both.messages_json and "Ann: " not in both.messages_json

    await pinned(caller, window)
    await said(caller, context_id, {"content": "Once more.", "name": "Ann"})
    later = await packed(caller, window)
    for text in ("Ann: Hello from me.", "Bo: And from me.", "Ann: Once more."):
        assert text in later.messages_json


async def test_openai_has_a_field_for_names(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello.", "name": "Ann"}, {"content": "Hi.", "name": "Bo Lee"})
    window = await opened(caller, context_id, format=FORMATS[Format.OPENAI])

    messages = orjson.loads((await packed(caller, window)).messages_json)["messages"]

    assert [(one["name"], one["content"]) for one in messages] == [("Ann", "Hello."), ("Bo_Lee", "Hi.")]


async def test_a_single_speaker_never_gets_a_name_in_the_text(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello.", "name": "Ann"}, {"content": "Again.", "name": "Ann"})
    window = await opened(caller, context_id, format=FORMATS[Format.GEMINI])
    await packed(caller, window)
    await pinned(caller, window)

    assert "Ann" not in (await packed(caller, window)).messages_json


@given(names=st.lists(st.sampled_from(["", "Ann", "Bo", "Cy"]), max_size=8))
def test_a_role_is_shared_if_its_turns_have_several_names(names: list[str]):
    speakers: tuple[str, ...] = ()
    for number, name in enumerate(names, 1):
        speakers = with_step(speakers, Step([number], Turn("user", name)))
        speakers = with_step(speakers, Step([number], Turn("user", "grep"), speaker="tool grep"))

    assert shared_roles(speakers) == (["user"] if len(set(names)) > 1 else [])


@pytest.mark.parametrize(
    ("name", "is_bound"),
    [
        ("claude-fable-5-1", True),
        ("claude-opus-5.5-20260901", True),
        ("m", True),
        ("claude-sonnet-4-5", False),
        ("us.anthropic.claude-opus-4-6-v1:0", False),
        ("claude-3-5-haiku", False),
    ],
)
def test_older_claude_models_take_reasoning_back_whatever_is_before_it(name: str, is_bound: bool):
    assert binds_reasoning(name, Format.ANTHROPIC) is is_bound
    assert not binds_reasoning(name, Format.OPENAI)


@pytest.mark.parametrize("model", [BOUND, OLDER])
async def test_after_a_break_of_the_prefix_newer_models_get_no_reasoning_from_before(model: str, caller: Caller):
    context_id = await said(caller, "", {"content": "Go."})
    window = await opened(caller, context_id, model=model, format=FORMATS[Format.ANTHROPIC])
    await packed(caller, window)
    await said(caller, context_id, {"role": "assistant", "content": "One.", "parts": [thought(1)]}, {"content": "On."})
    before = await packed(caller, window)
    assert "sig1" in before.messages_json

    await pinned(caller, window)
    await said(caller, context_id, {"role": "assistant", "content": "Two.", "parts": [thought(2)]}, {"content": "On."})
    pack = await packed(caller, window)
    # The second answer came when the prefix was already another one than it was made for.
    assert ("sig1" in pack.messages_json, "sig2" in pack.messages_json) == (
        (False, True) if model == BOUND else (True, True)
    )
    assert "One." in pack.messages_json


async def test_reasoning_of_a_newer_model_is_sent_only_below_the_request_that_it_answered(caller: Caller):
    """Through folds, pins and recalled passages: the vendor compares all that is before it, byte for byte."""
    chance = random.Random(5)
    context_id = await said(caller, "", {"content": "Look into all parts of the parser, ok?"})
    window = await opened(caller, context_id, 3_000, model=BOUND, format=FORMATS[Format.ANTHROPIC])
    requests: dict[str, dict[str, Any]] = {}
    epochs, seen = set(), set()
    for turn in range(40):
        pack = await packed(caller, window)
        body = orjson.loads(pack.messages_json)
        assert vendors.broken(body[MESSAGES[Format.ANTHROPIC]], Format.ANTHROPIC) == []
        assert vendors.unbound(body, requests) == []
        epochs.add(pack.epoch)
        seen |= {signature for signature in requests if signature in pack.messages_json}
        requests[f"sig{turn}"] = body
        call = message_pb2.ToolCall(id=f"c{turn}", name="read_file", arguments_json="{}")
        text = orjson.dumps(f"error: part {turn} is broken\n" * chance.choice((1, 30, 90))).decode()
        answers = [
            {"role": "assistant", "parts": [thought(turn), message_pb2.Part(tool_call=call)]},
            {
                "role": "tool",
                "parts": [
                    message_pb2.Part(tool_result=message_pb2.ToolResult(tool_call_id=f"c{turn}", content_json=text))
                ],
            },
        ]
        if chance.random() < 0.3:
            answers.append({"content": f"What is wrong with part {turn // 2}?", "name": chance.choice(("Ann", "Bo"))})
        if chance.random() < 0.2:  # a pack while the step waits may fold
            await said(caller, context_id, answers.pop(0))
            await packed(caller, window)
        await said(caller, context_id, *answers)
        if turn % 9 == 8:
            await pinned(caller, window, f"Pinned {turn}.")
    assert len(epochs) > 5 and len(seen) > 10
