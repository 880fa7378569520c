"""The summary of a conversation: where it stands, within a number of tokens."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from context_service.kernel.tokens import TokenCounter
from context_service.summaries.pure.context_summary import HEAD
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.errors import ContextNotFound, InvalidArgument
from tests.context_service.contexts.callers import Opened, an_id, at
from tests.context_service.knowledge.conftest import User

COUNT = TokenCounter().count


async def talk(user: User, *texts: str, context_id: str = "") -> str:
    """Append messages, of which those that begin with `A: ` are the assistant's; return the context."""
    said_at = at(datetime(2026, 6, 1, tzinfo=UTC))
    messages = [
        MessageInput(content=text[3:], role="assistant", said_at=said_at)
        if text.startswith("A: ")
        else MessageInput(content=text, name="Ada", said_at=said_at)
        for text in texts
    ]
    fields = {} if context_id else {"context": {"title": "The move of the shop"}}
    answer = await user.call("AppendMessages", messages=messages, context_id=context_id, **fields)
    return str(answer.context_id)


async def test_it_quotes_the_beginning_what_holds_and_the_last_words_with_speakers_and_refs(user: User):
    context_id = await talk(
        user,
        "I want to move my shop to Porto before autumn.",
        "A: Understood. Which budget do you have?",
        "Never send invoices by mail. The budget is 9,000 euros.",
        "A: Noted. I will ask three movers for offers.",
        "Please also ask for insurance.",
    )
    summary = await user.call("GetContextSummary", context_id=context_id)
    lines = summary.text.split("\n")
    assert lines[0] == HEAD
    assert "«The move of the shop»" in lines[1]
    assert "Began: user Ada: «I want to move my shop to Porto before autumn.» (m1)" in lines
    assert any("Never send invoices by mail." in line and "user Ada" in line and "m3" in line for line in lines)
    assert lines[-1] == "- user Ada: «Please also ask for insurance.» (m5)"
    assert (summary.seq_from, summary.seq_to) == (1, 5)
    assert summary.tokens == COUNT(summary.text) <= 1_000


async def test_it_is_made_again_after_appends_and_keeps_no_rule_that_was_lifted(user: User):
    context_id = await talk(user, "Let us plan the fair.", "Never call the printer.", "A: Agreed.")
    before = await user.call("GetContextSummary", context_id=context_id)
    assert "Constraints" in before.text
    await talk(user, "You may call the printer again.", "A: Good.", context_id=context_id)
    later = await user.call("GetContextSummary", context_id=context_id)
    holding = later.text.partition("Constraints")[2].partition(":\n")[2].partition("\n")[0]
    assert "Never call the printer." not in holding
    assert (before.seq_to, later.seq_to) == (3, 5)


@pytest.mark.parametrize("tokens_max", [1, 20, 60, 90, 150, 400])
async def test_it_fits_whatever_was_said(user: User, tokens_max: int):
    rules = [f"Always check the {thing} twice before you send the report." for thing in ("seal", "lid", "key", "map")]
    context_id = await talk(user, "We ship reports. " * 200, *rules, "A: " + "I checked all of them. " * 300)
    summary = await user.call("GetContextSummary", context_id=context_id, tokens_max=tokens_max)
    assert summary.tokens == COUNT(summary.text) <= tokens_max
    assert bool(summary.text) == (tokens_max >= 60)


async def test_a_key_of_another_context_does_not_get_it(stack: Opened, user: User):
    context_id = await talk(user, "Mine is the red bicycle.")
    assert "red bicycle" in (await user.call("GetContextSummary", context_id=context_id)).text
    with pytest.raises(ContextNotFound):
        await stack.caller.of("context").call("GetContextSummary", context_id=context_id)


async def test_an_unknown_context_and_a_wrong_number_of_tokens_are_refused(stack: Opened, user: User):
    context_id = await talk(user, "We keep bees.")
    with pytest.raises(ContextNotFound):
        await user.call("GetContextSummary", context_id=an_id())
    with pytest.raises(ContextNotFound):
        await User(stack.caller).call("GetContextSummary", context_id=context_id)
    with pytest.raises(InvalidArgument):
        await user.call("GetContextSummary", context_id=context_id, tokens_max=0)
