"""Memories over running services: kept, superseded, and whose they are."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from context_service.memories.rules import memories
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.errors import (
    LimitExceeded,
    MemoryNotFound,
)
from tests.context_service.contexts.callers import Opened, an_id, at
from tests.context_service.knowledge.conftest import User

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


async def test_what_is_retained_is_answered_whole(user: User):
    kept = await user.retain(
        "Ask before moving a meeting.",
        kind=pb.MEMORY_KIND_EXPERIENCE,
        confidence=0.75,
        source={"label": "run 7", "uri": "https://example.org/7", "context_id": an_id(), "ref": "m7"},
        happened_at=at(NOW),
        key="meetings",
        experience={"goal": "move a meeting", "outcome": "nobody came", "quality": 0.25},
    )

    assert (kept.text, kept.kind, kept.confidence) == ("Ask before moving a meeting.", pb.MEMORY_KIND_EXPERIENCE, 0.75)
    assert (kept.sources[0].label, kept.sources[0].ref, kept.experience.quality) == ("run 7", "m7", 0.25)
    assert (kept.happened_at.ToDatetime(UTC), kept.key, kept.owner_user_id) == (NOW, "meetings", user.user_id)
    assert (kept.state, kept.version, kept.superseded_by, list(kept.contradicts)) == (
        pb.MEMORY_STATE_INDEXED,
        1,
        "",
        [],
    )
    plain = await user.retain("Ada likes tea.")
    assert (plain.kind, plain.confidence, len(plain.sources)) == (pb.MEMORY_KIND_FACT, 1.0, 0)
    assert abs(plain.happened_at.ToDatetime(UTC) - datetime.now(UTC)) < timedelta(minutes=5)


async def test_a_newer_one_of_the_same_key_supersedes_and_both_are_marked(user: User):
    old = await user.retain("Ada lives in Paris.", key="home", happened_at=at(NOW))
    new = await user.retain("Ada lives in Rome.", key="home", happened_at=at(NOW + timedelta(days=2)))
    assert (new.superseded_by, list(new.contradicts)) == ("", [old.memory_id])

    between = await user.retain("Ada lives in Bern.", key="home", happened_at=at(NOW + timedelta(days=1)))
    assert between.superseded_by == new.memory_id
    assert set(between.contradicts) == {old.memory_id, new.memory_id}
    other = await user.retain("Ada lives with a cat.", key="pets")
    assert (other.superseded_by, list(other.contradicts)) == ("", [])


async def test_the_same_statement_in_the_same_key_is_no_contradiction(user: User):
    await user.retain("Ada lives in Paris, since May 1, 2024.", key="home")
    again = await user.retain("Ada lived in Paris since 2024-05-01", key="home")
    assert (again.superseded_by, list(again.contradicts)) == ("", [])


async def test_writers_of_one_key_at_once_leave_one_that_holds(stack: Opened, user: User):
    """Each writer's place in the chain depends on all others'."""
    times = [NOW + timedelta(hours=n * 7 % 10) for n in range(10)]
    await asyncio.gather(*(user.retain(f"Version {n}", key="k", happened_at=at(time)) for n, time in enumerate(times)))
    with psycopg.connect(stack.urls.superuser) as connection:
        rows = connection.execute(
            "SELECT memory_id, superseded_by FROM context.memory WHERE owner_user_id = %s ORDER BY happened_at",
            (user.user_id,),
        ).fetchall()
    assert [newer for _, newer in rows] == [*(memory_id for memory_id, _ in rows[1:]), None]


async def test_a_user_has_so_many_and_no_more(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memories, "MEMORIES_MAX", 2)
    for text in ("x", "y"):
        await user.retain(text)
    with pytest.raises(LimitExceeded) as error:
        await user.retain("z")
    assert error.value.metadata["limit"] == "memories"
    assert (await User(user.caller).retain("x")).memory_id  # another's are others


# Listing, correcting, forgetting.


async def texts(user: User, **which: object) -> list[str]:
    answer = await user.call("ListMemories", filter=which)
    return [one.text for one in answer.memories]


async def test_a_correction_is_found_by_its_new_words_only_and_keeps_the_old_ones_as_a_revision(
    stack: Opened, user: User
):
    words = an_id()
    kept = await user.retain(f"Ada lives in {words}.", source={"label": "a letter"})
    changed = await user.call(
        "UpdateMemory",
        memory_id=kept.memory_id,
        memory={"text": "Ada lives in Rome.", "confidence": 0.5},
        update_mask={"paths": ["text", "confidence"]},
        expected_version=1,
    )
    assert (changed.memory.text, changed.memory.version, changed.memory.confidence) == ("Ada lives in Rome.", 2, 0.5)
    assert (changed.memory.sources[0].label, changed.memory.happened_at) == ("a letter", kept.happened_at)
    assert await recalled(user, words) == []
    assert await recalled(user, "Rome") == ["Ada lives in Rome."]
    (revision,) = (await user.call("ListMemoryRevisions", memory_id=kept.memory_id)).revisions
    assert (revision.version, revision.text, revision.confidence) == (1, f"Ada lives in {words}.", 1.0)
    assert (revision.sources[0].label, revision.replaced_by) == ("a letter", changed.memory.created_by)

    await user.call("ForgetMemory", memory_id=kept.memory_id)
    with psycopg.connect(stack.urls.superuser) as connection:
        for table in ("memory", "memory_revision", "passage", "request"):
            (count,) = connection.execute(
                f"SELECT count(*) FROM context.{table} t WHERE t::text LIKE %s".encode(), (f"%{words}%",)
            ).fetchone()
            assert count == 0, table


async def test_a_correction_moves_a_memory_in_the_order_of_its_key(user: User):
    first, second, third = [
        await user.retain(f"Town {n}", key="home", happened_at=at(NOW + timedelta(n))) for n in range(3)
    ]

    async def update(one: object, **said: object) -> None:
        await user.call("UpdateMemory", memory_id=one.memory_id, memory=said, update_mask={"paths": list(said)})

    async def newer() -> dict[str, str]:
        found = (await user.call("ListMemories")).memories
        names = {one.memory_id: one.text for one in found}
        return {one.text: names.get(one.superseded_by, "") for one in found}

    await update(first, happened_at=at(NOW + timedelta(5)))
    assert await newer() == {"Town 1": "Town 2", "Town 2": "Town 0", "Town 0": ""}
    await update(third, key="")
    assert await newer() == {"Town 1": "Town 0", "Town 2": "", "Town 0": ""}
    await update(third, key="home")
    assert await newer() == {"Town 1": "Town 2", "Town 2": "Town 0", "Town 0": ""}
    await user.call("ForgetMemory", memory_id=first.memory_id)
    assert await newer() == {"Town 1": "Town 2", "Town 2": ""}
    assert second.memory_id


async def test_a_forgotten_memory_is_gone_from_every_table(stack: Opened, user: User):
    words = an_id()
    kept = await user.retain(f"Ada knows {words}.", request_id=an_id())
    request_id = an_id()
    for _ in range(2):
        await user.call("ForgetMemory", memory_id=kept.memory_id, request_id=request_id)
    with pytest.raises(MemoryNotFound):
        await user.call("ForgetMemory", memory_id=kept.memory_id)
    assert await texts(user) == [] == await recalled(user, words)
    with psycopg.connect(stack.urls.superuser) as connection:
        for table in ("memory", "passage", "passage_session", "passage_scope"):
            statement = f"SELECT count(*) FROM context.{table} WHERE owner_user_id = %s"
            assert connection.execute(statement.encode(), (user.user_id,)).fetchone() == (0,), table
        counted = connection.execute(
            "SELECT memory_count FROM context.memory_user WHERE owner_user_id = %s", (user.user_id,)
        ).fetchone()
    assert counted == (0,)


async def test_anothers_memory_is_as_one_that_was_never_there(stack: Opened, user: User):
    kept = await user.retain("Ada likes tea.")
    others = (User(stack.caller), User(stack.caller, user.user_id, key="other"))
    for other in others:
        for memory_id in (kept.memory_id, an_id()):
            with pytest.raises(MemoryNotFound):
                await other.call("ForgetMemory", memory_id=memory_id)
            with pytest.raises(MemoryNotFound):
                await other.call(
                    "UpdateMemory", memory_id=memory_id, memory={"text": "x"}, update_mask={"paths": ["text"]}
                )
        assert await texts(other) == [] == await recalled(other, "Ada tea")
    app = User(stack.caller, user.user_id, key="app")
    assert await texts(app) == [] == await recalled(app, "Ada tea")
    mine = await app.retain("Ada likes tea of the shop.", key="tea")
    assert await texts(app) == ["Ada likes tea of the shop."]
    assert set(await texts(user)) == {"Ada likes tea.", "Ada likes tea of the shop."}
    elsewhere = await user.retain("Ada likes coffee.", key="tea")  # of no app: it is another key
    assert (elsewhere.superseded_by, list(elsewhere.contradicts)) == ("", [])
    assert mine.superseded_by == ""


# Recalling and reflecting.


async def recalled(user: User, query: str, **fields: object) -> list[str]:
    answer = await user.call("RecallMemories", query=query, **fields)
    return [one.memory.text for one in answer.memories]


async def test_a_reflection_quotes_what_holds_the_best_answer_first_and_names_what_it_rests_on(user: User):
    old = await user.retain("Ada lives in Paris.", key="home", happened_at=at(NOW - timedelta(100)))
    new = await user.retain("Ada lives in Rome. She has a bike.", key="home", happened_at=at(NOW - timedelta(50)))
    same = await user.retain("Ada lives in Rome.", happened_at=at(NOW - timedelta(10)))
    beside = await user.retain("Ada lives with a cat.", happened_at=at(NOW))
    await user.retain("Bob has a boat.")

    answer = await user.call("ReflectMemories", query="Where does Ada live?")

    assert answer.statement.splitlines() == ["Ada lives in Rome. (2026-10-22)", "Ada lives with a cat. (2026-11-01)"]
    assert answer.memory_ids[-1] == beside.memory_id
    assert set(answer.memory_ids) == {beside.memory_id, new.memory_id, same.memory_id}
    assert list(answer.superseded_ids) == [old.memory_id]
    assert (answer.method, answer.mode) == ("extractive", "words")
    assert len((await user.call("ReflectMemories", query="Ada live", limit=1)).statement.splitlines()) == 1
    nothing = await user.call("ReflectMemories", query="submarine")
    assert (nothing.statement, list(nothing.memory_ids)) == ("", [])


# Consolidating.


async def test_a_dry_run_says_what_is_merged_and_its_plan_does_that(user: User):
    first = await user.retain("Ada has saved 1,200 euros.", confidence=0.5, source={"label": "a"})
    other = await user.retain("Ada has saved 1,300 euros.")
    again = await user.retain("Saved: Ada has 1200 euros.", source={"label": "c"})
    same = await user.retain("Ada has saved 1200 euros.", confidence=0.25, source={"label": "b"})
    dry = await user.call("ConsolidateMemories")
    assert [(one.memory_id, list(one.merged_ids)) for one in dry.merged] == [(same.memory_id, [first.memory_id])]
    assert (dry.is_applied, dry.has_more, bool(dry.plan)) == (False, False, True)
    assert len(await texts(user)) == 4

    request_id = an_id()
    for _ in range(2):
        done = await user.call("ConsolidateMemories", apply=True, plan=dry.plan, request_id=request_id)
        assert (done.is_applied, done.plan, [one.memory_id for one in done.merged]) == (
            True,
            dry.plan,
            [same.memory_id],
        )

    found = {one.memory_id: one for one in (await user.call("ListMemories")).memories}
    assert set(found) == {other.memory_id, again.memory_id, same.memory_id}
    merged = found[same.memory_id]
    assert ([one.label for one in merged.sources], merged.confidence, merged.version) == (["b", "a"], 0.5, 2)
    assert (await user.call("ConsolidateMemories")).plan == ""


async def test_what_was_so_again_is_no_duplicate_of_what_was_so_before(user: User):
    for n, town in enumerate(["Paris", "Rome", "Paris", "Paris"]):
        await user.retain(f"Ada lives in the town of {town}.", key="home", happened_at=at(NOW + timedelta(n)))
    assert not (await user.call("ConsolidateMemories")).merged


async def test_lessons_of_runs_that_are_named_are_promoted_once(user: User):
    runs = [an_id() for _ in range(3)]
    taught = [
        await user.retain(
            "Ask before moving a meeting.",
            kind=pb.MEMORY_KIND_EXPERIENCE,
            confidence=(n + 1) / 4,
            source={"context_id": run},
            experience={"goal": f"move meeting {n}", "outcome": "nobody came"},
        )
        for n, run in enumerate(runs)
    ]
    dry = await user.call("ConsolidateMemories", run_context_ids=runs[:2])
    (lesson,) = dry.promoted
    assert (lesson.memory_id, set(lesson.experience_ids)) == ("", {one.memory_id for one in taught[:2]})

    done = await user.call("ConsolidateMemories", run_context_ids=runs[:2], apply=True, plan=dry.plan)

    (kept, *_) = (await user.call("ListMemories")).memories
    assert (kept.memory_id, kept.kind) == (done.promoted[0].memory_id, pb.MEMORY_KIND_OBSERVATION)
    assert (kept.text, kept.confidence) == ("Ask before moving a meeting.", 0.5)
    assert {one.context_id for one in kept.sources} == set(runs[:2])
    assert len(await texts(user)) == 4
    assert not (await user.call("ConsolidateMemories", run_context_ids=runs)).promoted
    with pytest.raises(LimitExceeded):
        await user.call("ConsolidateMemories", run_context_ids=[an_id() for _ in range(21)])
