"""The newest messages that fit: what is kept, whatever the history is, and however it comes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from context_service.history.model import ChatMessage
from context_service.history.rules.newest import Newest
from context_service.kernel.parts import Part, ToolCall, ToolResult, tokens_of

_IDS = st.sampled_from(["c1", "c2", "c3"])
_PARTS = st.one_of(
    st.builds(Part, text=st.sampled_from(["", "a b c"])),
    st.builds(Part, tool_call=st.builds(ToolCall, id=_IDS, name=st.just("look"), arguments_json=st.just("{}"))),
    st.builds(Part, tool_result=st.builds(ToolResult, tool_call_id=_IDS, content_json=st.just('"x y z"'))),
)


@st.composite
def histories(draw: st.DrawFn) -> list[list[ChatMessage]]:
    """Return messages by node."""
    number = itertools.count()
    message = st.builds(
        ChatMessage,
        role=st.sampled_from(["user", "assistant", "tool"]),
        content=st.sampled_from(["", "one", "one two three four"]),
        node_id=st.builds(lambda: str(next(number))),
        created_at_us=st.just(0),
        parts=st.lists(_PARTS, max_size=2).map(tuple),
    )
    return draw(st.lists(st.lists(message, max_size=3), max_size=6))


def words(text: str) -> int:
    return len(text.split())


def cost(message: ChatMessage) -> int:
    return tokens_of(message.content, message.parts, count=words)


async def costs(messages: Sequence[ChatMessage]) -> list[int]:
    return list(map(cost, messages))


async def newest_of(nodes: list[list[ChatMessage]], *, count_max: int = 0, tokens_max: int = 0) -> Newest:
    newest = Newest(count_max=count_max, tokens_max=tokens_max, count=costs)
    for messages in reversed(nodes):
        if await newest.add(messages):
            break
    return newest


@given(nodes=histories(), tokens_max=st.integers(1, 60))
async def test_what_is_kept_fits_and_is_all_of_the_end_but_results_without_their_calls(
    nodes: list[list[ChatMessage]], tokens_max: int
):
    newest = await newest_of(nodes, tokens_max=tokens_max)
    kept, tokens = newest.fitting()

    messages = [message for of_node in nodes for message in of_node]
    assert tokens == sum(map(cost, kept)) <= tokens_max
    first = len(messages)
    while first and sum(map(cost, messages[first - 1 :])) <= tokens_max:
        first -= 1
    assert newest.is_cut == (first > 0)
    called = {part.tool_call.id for message in messages[first:] for part in message.parts if part.tool_call}
    left_out = [message for message in messages[first:] if message not in kept]
    assert [message for message in messages[first:] if message in kept] == kept
    for message in left_out:
        assert message.role == "tool"
        assert not any(part.tool_result and part.tool_result.tool_call_id in called for part in message.parts)
    for message in kept:
        results = [part.tool_result.tool_call_id for part in message.parts if part.tool_result]
        assert message.role != "tool" or not results or called & set(results)


@given(nodes=histories(), count_max=st.integers(0, 8))
async def test_without_a_number_of_tokens_nothing_is_left_out(nodes: list[list[ChatMessage]], count_max: int):
    newest = await newest_of(nodes, count_max=count_max)

    messages = [message for of_node in nodes for message in of_node]
    assert newest.fitting() == (messages[-count_max:], 0)
    assert not newest.is_cut


async def test_a_tools_message_that_names_no_call_goes_with_the_call_before_it():
    call = ChatMessage(
        "assistant", "", "1", 0, parts=(Part(tool_call=ToolCall(id="c", name="look", arguments_json="")),)
    )
    answer = ChatMessage("tool", "seen", "2", 0)

    with_call = await newest_of([[call], [answer]], tokens_max=cost(call) + cost(answer))
    without = await newest_of([[call], [answer]], tokens_max=cost(answer))

    assert with_call.fitting()[0] == [call, answer]
    assert without.fitting()[0] == []
