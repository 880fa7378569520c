"""Windows through both clients: what a client makes of values, and of packs."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from contextkeep import (
    ContextClient,
    MessageInput,
    PartInput,
    StateEntryInput,
    TokenPrices,
    ToolCallInput,
    ToolResultInput,
    WindowConfig,
    new_id,
)
from contextkeep.errors import (
    InvalidArgument,
    LogMoved,
)

TOOLS = [{"name": "look", "input_schema": {"type": "object"}}]


async def test_each_pack_begins_with_the_one_before(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Where is my file?")).context_id
    window = await world.run(
        context.windows.open, context_id, "claude-sonnet-4-5", system_prompt="Be brief.", tools=TOOLS, goal="Find it."
    )
    assert (window.message_format, window.tokens_family, window.token_limit) == ("anthropic", "claude", 160_000)
    assert (window.tools, window.system_prompt, window.goal) == (TOOLS, "Be brief.", "Find it.")
    assert str(window) == f"window of claude-sonnet-4-5 on {context_id} (160000 tokens)"
    first = await world.run(context.windows.pack, window.window_id)

    look = PartInput(tool_call=ToolCallInput(id="c-1", name="look", arguments={"at": "/"}))
    await world.run(context.contexts.send, MessageInput("I look.", role="assistant", parts=[look]), context_id)
    waiting = await world.run(context.windows.pack, window.window_id)
    found = PartInput(tool_result=ToolResultInput(tool_call_id="c-1", content="a.txt"))
    await world.run(context.contexts.send, MessageInput(role="tool", parts=[found]), context_id)
    second = await world.run(context.windows.pack, window.window_id)

    assert (waiting.is_waiting, second.is_waiting) == (True, False)
    for before in (first, waiting):
        prefix = str(second).encode()[: before.prefix_bytes]
        assert hashlib.sha256(prefix).hexdigest() == before.prefix_sha
    for before in (first, waiting, second):
        assert await world.run(context.windows.pack, window.window_id, since=before) == second
    assert second.body["tools"] == TOOLS
    assert [one["role"] for one in second.body["messages"]] == ["user", "assistant", "user"]
    assert second.tokens == sum(second.tokens_by_zone.values())
    assert (second.step_count, second.last_seq, second.epoch, second.omitted_step_count) == (2, 3, 0, 0)
    again = await world.run(context.windows.get, window.window_id)
    assert (again.step_count, again.reached_seq) == (2, 3)


async def test_a_response_that_is_of_no_use_takes_back_what_led_to_it(world: Any, context: Any):
    context_id = (await world.run(context.contexts.send, "Hello")).context_id
    config = WindowConfig(recovery_strategy="reread_from_checkpoint")
    window = await world.run(context.windows.open, context_id, "gpt-5", config=config)
    pack = await world.run(context.windows.pack, window.window_id)
    assert await world.run(context.windows.report_response, window.window_id, pack, invalid=False) is None
    await world.run(context.contexts.send, MessageInput("Nonsense.", role="assistant"), context_id)
    with pytest.raises(LogMoved):
        await world.run(context.windows.report_response, window.window_id, pack, invalid=True)
    with pytest.raises(InvalidArgument):
        await world.run(context.windows.report_response, window.window_id, "0.1", invalid=True)
    recovered = await world.run(
        context.windows.report_response, window.window_id, pack, invalid=True, expected_last_seq=pack.last_seq + 1
    )
    assert recovered.pack.messages_json == pack.messages_json
    assert recovered.rolled_back.receipt.left_out_refs == ("m2",)
    again = await world.run(context.windows.report_response, window.window_id, pack, invalid=True)
    assert (again.pack, again.rolled_back) == (recovered.pack, None)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"message_format": "none"}, "format"),
        ({"tools": [float("nan")]}, "tools"),
        ({"tools": {"name": "one tool alone"}}, "tools"),
        ({"tools": "[]"}, "tools"),
        ({"config": {"high_mark": 1}}, "config"),
        ({"config": WindowConfig(high_mark="much")}, "config.high_mark"),  # type: ignore[arg-type]
        ({"config": WindowConfig(prices=TokenPrices(input="much"))}, "config.prices.input"),  # type: ignore[arg-type]
        ({"config": WindowConfig(tier_ratios=TokenPrices())}, "config.tier_ratios"),  # type: ignore[arg-type]
    ],
)
def test_of_a_window_what_cannot_travel_is_refused_by_name(given: Any, field: str):
    with ContextClient("127.0.0.1:1") as context, pytest.raises(InvalidArgument) as refused:
        context.windows.open(new_id(), "gpt-5", **given)
    assert [one.field for one in refused.value.violations] == [field]


def test_a_pack_and_entries_of_other_types_are_refused():
    with ContextClient("127.0.0.1:1") as context:
        with pytest.raises(InvalidArgument, match="must be the Pack before"):
            context.windows.pack(new_id(), since="a pack")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument):
            context.windows.report_response(new_id(), "0.1", invalid=True)  # type: ignore[arg-type]
        for wrong in (["a text"], [StateEntryInput("value", 7)]):  # type: ignore
            with pytest.raises(InvalidArgument):
                context.windows.patch_state(new_id(), wrong)  # type: ignore[arg-type]
