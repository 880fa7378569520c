"""A reflection answers the question: the most relevant sentence first, a few of them, within its tokens."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bench.quality.reflection import ANSWERED, RIGHT_MIN, memories_of, right_of
from contextkeep import AsyncContextClient
from contextkeep.errors import InvalidArgument
from tests.context_service.contexts.callers import Opened, at
from tests.context_service.knowledge.conftest import User


async def reflected(user: User, query: str, **fields: object) -> list[str]:
    return (await user.call("ReflectMemories", query=query, **fields)).statement.splitlines()


@pytest.mark.parametrize("count", [20, 60])
async def test_direct_questions_begin_with_the_answer(stack: Opened, count: int):
    """`python -m bench.quality.reflection` asks users with 200 memories."""
    async with AsyncContextClient(stack.addresses.context, api_key="runtime") as client:
        wrong = await right_of(client, memories_of(count))
    assert len(ANSWERED) - len(wrong) >= RIGHT_MIN, wrong


async def test_a_name_that_all_memories_share_is_no_match(user: User):
    for text in ("Kim likes tea.", "Kim has two dogs.", "Kim lives in Drammen.", "Kim sold the boat."):
        await user.retain(text)
    assert await reflected(user, "Who is Kim's manager?") == []
    await user.retain("Kim's manager is Ola.", happened_at=at(datetime(2025, 1, 1, tzinfo=UTC)))
    assert await reflected(user, "Who is Kim's manager?") == ["Kim's manager is Ola. (2025-01-01)"]


async def test_at_most_three_sentences_are_quoted_within_the_tokens(user: User):
    for month in range(1, 7):
        text = f"Ada sailed around island number {month} and wrote a long report about the weather there."
        await user.retain(text, happened_at=at(datetime(2026, month, 1, tzinfo=UTC)))
    assert len(await reflected(user, "Where did Ada sail around an island?")) == 3
    assert len(await reflected(user, "Where did Ada sail around an island?", limit=5)) == 5
    assert len(await reflected(user, "Where did Ada sail around an island?", tokens_max=30)) == 1
    (cut,) = await reflected(user, "Where did Ada sail around an island?", tokens_max=5)
    assert cut.startswith("Ada sailed")
    assert cut.endswith("…")
    for tokens_max in (0, 4001):
        with pytest.raises(InvalidArgument):
            await reflected(user, "Where?", tokens_max=tokens_max)


async def test_what_held_at_a_time_is_quoted_for_that_time(user: User):
    await user.retain("I live in Bergen.", happened_at=at(datetime(2026, 1, 1, tzinfo=UTC)))
    await user.retain("I moved from Bergen to Oslo in May.", happened_at=at(datetime(2026, 6, 1, tzinfo=UTC)))
    april = {"as_of": at(datetime(2026, 4, 15, tzinfo=UTC))}
    assert await reflected(user, "Where do I live?", filter=april) == ["I live in Bergen. (2026-01-01)"]
