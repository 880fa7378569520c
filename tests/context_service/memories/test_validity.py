"""Since when memories hold, who replaces them, when they expire, and by which labels they are found."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from context_service.kernel.dependencies import REQUESTS
from context_service.memories.rules import memories as rules
from context_service.memories.rules.expiry import MemoryExpiry
from context_service.memories.store.memories import MemoryRows
from context_service.retrieval.room import Passages
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded, MemoryNotFound
from tests.context_service.contexts.callers import Opened, an_id, at
from tests.context_service.knowledge.conftest import User


def day(month: int, of: int = 1, year: int = 2026) -> Any:
    return at(datetime(year, month, of, tzinfo=UTC))


async def listed(user: User, **which: object) -> list[str]:
    return [one.text for one in (await user.call("ListMemories", filter=which)).memories]


async def recalled(user: User, query: str, **which: object) -> list[str]:
    answer = await user.call("RecallMemories", query=query, filter=which)
    return [one.memory.text for one in answer.memories]


async def test_a_move_ends_the_old_home_at_its_date_without_a_key(user: User):
    old = await user.retain("I live in Bergen.", happened_at=day(1))
    new = await user.retain("I moved from Bergen to Oslo in May.", happened_at=day(6, 20))
    assert new.valid_from.ToDatetime(UTC) == datetime(2026, 5, 1, tzinfo=UTC)

    (current, ended) = (await user.call("ListMemories")).memories
    assert (ended.memory_id, ended.superseded_by) == (old.memory_id, new.memory_id)
    assert (ended.valid_to, current.HasField("valid_to")) == (new.valid_from, False)
    assert await listed(user, as_of=day(4, 15)) == ["I live in Bergen."] == await recalled(user, "live", as_of=day(4))
    assert (
        await listed(user, as_of=day(5))
        == ["I moved from Bergen to Oslo in May."]
        == await listed(user, holding_only=True)
    )
    assert await listed(user, as_of=day(12, year=2025)) == []


async def test_a_move_that_is_told_later_ends_a_home_that_was_named_meanwhile(user: User):
    """What is said last counts, even if it says that the change was earlier."""
    await user.retain("I live in Bergen.", happened_at=day(9))
    new = await user.retain("I moved to Oslo in May.", happened_at=day(10))
    assert new.superseded_by == ""
    assert await listed(user, as_of=day(9, 15)) == ["I moved to Oslo in May."]


async def test_history_that_is_told_late_takes_its_place_in_the_past(user: User):
    now = await user.retain("Ada lives in Paris.", valid_from=day(1, year=2020))
    past = await user.retain("Ada lives in Bonn.", valid_from=day(1, year=2010))
    assert past.superseded_by == now.memory_id
    assert past.valid_to == now.valid_from
    assert await listed(user, as_of=day(6, year=2015)) == ["Ada lives in Bonn."]


async def test_a_forgotten_successor_lets_the_old_one_hold_again(user: User):
    await user.retain("My manager is Kim Berg.", happened_at=day(1))
    new = await user.retain("My manager is now Ola Lund.", happened_at=day(2))
    await user.call("ForgetMemory", memory_id=new.memory_id)
    (memory,) = (await user.call("ListMemories")).memories
    assert (memory.superseded_by, memory.HasField("valid_to")) == ("", False)


async def test_a_stated_end_is_not_included(user: User):
    await user.retain("Ada has a parking permit.", valid_from=day(1), valid_to=day(3))
    assert [len(await listed(user, as_of=day(*when))) for when in ((1, 1), (2, 28), (3, 1))] == [1, 1, 0]
    assert await listed(user, holding_only=True) == []
    with pytest.raises(InvalidArgument) as error:
        await user.retain("x", valid_from=day(3), valid_to=day(3))
    assert error.value.violations[0].field == "memory.valid_to"
    with pytest.raises(InvalidArgument):
        await user.retain("x", valid_to=day(3))


async def test_the_same_sentence_is_one_memory_with_the_sources_of_both(user: User):
    first = await user.retain(
        "I prefer window seats.", kind=pb.MEMORY_KIND_PREFERENCE, source={"ref": "m1"}, tags=["a"]
    )
    again = await user.retain(
        "I  prefer window SEATS",
        kind=pb.MEMORY_KIND_PREFERENCE,
        source={"ref": "m9"},
        tags=["b"],
        metadata_json='{"n": 1}',
    )
    assert (again.memory_id, again.version, again.text) == (first.memory_id, 2, "I prefer window seats.")
    assert ([one.ref for one in again.sources], list(again.tags)) == (["m9", "m1"], ["a", "b"])
    third = await user.retain("I prefer window seats.", kind=pb.MEMORY_KIND_PREFERENCE, source={"ref": "m1"})
    assert (third.memory_id, third.version) == (first.memory_id, 2)
    assert len(await listed(user)) == 1
    other = await user.retain("I prefer window seats.", kind=pb.MEMORY_KIND_FACT)
    assert other.memory_id != first.memory_id
    assert (await User(user.caller).retain("I prefer window seats.", kind=pb.MEMORY_KIND_PREFERENCE)).version == 1


async def test_the_same_sentence_from_two_replicas_at_once_is_one_memory(user: User):
    kept = await asyncio.gather(*(user.retain("Ada keeps bees.", source={"ref": f"m{n}"}) for n in range(8)))
    assert len({one.memory_id for one in kept}) == 1
    (memory,) = (await user.call("ListMemories")).memories
    assert {one.ref for one in memory.sources} == {f"m{n}" for n in range(8)}


async def test_what_is_so_again_after_a_change_is_a_new_memory(user: User):
    for month, town in enumerate(("Oslo", "Bergen", "Oslo"), 1):
        await user.retain(f"I live in {town}.", happened_at=day(month))
    assert await listed(user, holding_only=True) == ["I live in Oslo."]
    assert await listed(user, as_of=day(2, 5)) == ["I live in Bergen."]
    assert len(await listed(user)) == 3


async def test_experiences_are_attempts_of_their_own(user: User):
    for _ in range(2):
        await user.retain("Ask first.", kind=pb.MEMORY_KIND_EXPERIENCE, experience={"goal": "g", "outcome": "o"})
    assert len(await listed(user)) == 2


async def test_a_repetition_with_one_request_id_is_answered_as_the_first_time(user: User):
    request_id = an_id()
    one, two = [await user.retain("Ada keeps bees.", request_id=request_id, tags=["x"]) for _ in range(2)]
    assert (one.memory_id, one.version, list(one.tags)) == (two.memory_id, two.version, list(two.tags))


# Revisions.


async def test_each_correction_leaves_a_revision_and_pages_follow_each_other(
    user: User, monkeypatch: pytest.MonkeyPatch
):
    kept = await user.retain("Ada has one cat.", tags=["pets"])
    for count in ("two", "three", "four"):
        fields = {"memory": {"text": f"Ada has {count} cats."}, "update_mask": {"paths": ["text"]}}
        await user.call("UpdateMemory", memory_id=kept.memory_id, **fields)

    first = await user.call("ListMemoryRevisions", memory_id=kept.memory_id, page_size=2)
    rest = await user.call(
        "ListMemoryRevisions", memory_id=kept.memory_id, page_size=2, page_token=first.next_page_token
    )
    found = [*first.revisions, *rest.revisions]
    assert [(one.version, one.text) for one in found] == [
        (3, "Ada has three cats."),
        (2, "Ada has two cats."),
        (1, "Ada has one cat."),
    ]
    assert ([list(one.tags) for one in found], rest.next_page_token) == ([["pets"]] * 3, "")

    other = await user.retain("Ada has a dog.")
    with pytest.raises(InvalidPageToken):
        await user.call("ListMemoryRevisions", memory_id=other.memory_id, page_token=first.next_page_token)
    with pytest.raises(MemoryNotFound):
        await User(user.caller).call("ListMemoryRevisions", memory_id=kept.memory_id)
    monkeypatch.setattr(rules, "REVISIONS_MAX", 3)
    with pytest.raises(LimitExceeded):
        await user.call("UpdateMemory", memory_id=kept.memory_id, **fields)


async def test_a_correction_of_the_text_changes_what_it_is_about(user: User):
    await user.retain("I live in Bergen.", happened_at=day(1))
    new = await user.retain("I live in Oslo.", happened_at=day(2))
    fields = {"memory": {"text": "I like Oslo."}, "update_mask": {"paths": ["text"]}}
    await user.call("UpdateMemory", memory_id=new.memory_id, **fields)
    assert set(await listed(user, holding_only=True)) == {"I live in Bergen.", "I like Oslo."}


# Expiry.


async def test_an_expired_memory_is_in_no_answer_and_is_deleted_with_all_that_finds_it(stack: Opened, user: User):
    soon = datetime.now(UTC) + timedelta(seconds=1)
    kept = await user.retain("Ada is in Riga today.", expires_at=at(soon))
    assert kept.expires_at.ToDatetime(UTC) == soon
    assert await recalled(user, "Riga") == ["Ada is in Riga today."]
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute("UPDATE context.memory SET expires_at = now() WHERE memory_id = %s", (kept.memory_id,))
        assert await listed(user) == [] == await recalled(user, "Riga")
        with pytest.raises(MemoryNotFound):
            await user.call("ForgetMemory", memory_id=kept.memory_id)

        again = await user.retain("Ada is in Riga today.")
        assert again.memory_id != kept.memory_id
        expiry = expiry_of(stack)
        await asyncio.gather(*(expiry.delete_due() for _ in range(2)))
        rows = connection.execute(
            "SELECT memory_id::text FROM context.memory WHERE owner_user_id = %s", (user.user_id,)
        )
        assert rows.fetchall() == [(again.memory_id,)]
        passages = "SELECT count(*) FROM context.passage WHERE text LIKE '%%Riga%%' AND owner_user_id = %s"
        assert connection.execute(passages, (user.user_id,)).fetchone() == (1,)


def expiry_of(stack: Opened) -> MemoryExpiry:
    rows, passages = MemoryRows(model=""), Passages(stack.database)
    memories = rules.Memories(stack.database, rows, passages, requests=REQUESTS, count=len)
    return MemoryExpiry(stack.database, rows, memories)


async def test_an_expiry_in_the_past_is_refused(user: User):
    with pytest.raises(InvalidArgument) as error:
        await user.retain("x", expires_at=day(1, year=2020))
    assert error.value.violations[0].field == "memory.expires_at"


# Labels.


async def test_tags_and_metadata_select_memories_in_lists_and_recall(user: User):
    await user.retain("Ada likes red wine.", tags=["food", "drinks"], metadata_json='{"team": {"id": 7}, "n": 1}')
    await user.retain("Ada likes red cars.", tags=["cars"], metadata_json='{"team": {"id": 8}}')
    for which in ({"tags": ["drinks", "food"]}, {"metadata_contains_json": '{"team": {"id": 7}}'}):
        assert await listed(user, **which) == ["Ada likes red wine."] == await recalled(user, "red", **which)
    assert await listed(user, tags=["food", "cars"]) == []
    (memory, _) = (await user.call("ListMemories")).memories
    assert (list(memory.tags), memory.metadata_json) == (["cars"], '{"team": {"id": 8}}')


async def test_a_question_with_the_words_of_an_ended_memory_finds_what_holds_instead(user: User):
    await user.retain("I live in Bergen.", happened_at=day(1))
    await user.retain("I moved from Bergen to Oslo in May.", happened_at=day(6, 20))
    await user.retain("I moved to Turku in August.", happened_at=day(8, 20))
    assert await recalled(user, "Where do I live?") == ["I moved to Turku in August.", "I live in Bergen."]
    assert await recalled(user, "Where do I live?", as_of=day(4)) == ["I live in Bergen."]
    answer = await user.call("RecallMemories", query="Where do I live?", limit=1)
    assert [one.memory.text for one in answer.memories] == ["I moved to Turku in August."]
    reflection = await user.call("ReflectMemories", query="Where do I live?")
    assert reflection.statement == "I moved to Turku in August. (2026-08-20)"
