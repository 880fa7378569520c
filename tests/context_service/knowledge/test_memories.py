"""Memories over running services: kept, superseded, and whose they are."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from context_service.memories.rules import memories
from contextkeep.context.v1 import memories_pb2 as pb
from contextkeep.errors import (
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    MemoryNotFound,
    PermissionDenied,
    PlanOutdated,
    SubjectRequired,
    VersionConflict,
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
    for _ in range(2):
        await user.retain("x")
    with pytest.raises(LimitExceeded) as error:
        await user.retain("x")
    assert error.value.metadata["limit"] == "memories"
    assert (await User(user.caller).retain("x")).memory_id  # another's are others


async def test_memories_need_a_user_and_the_right_to_name_him(stack: Opened):
    said = {"text": "Ada likes tea."}
    for key in ("plain", "runtime", "admin"):
        with pytest.raises(SubjectRequired):
            await stack.caller.of(key).call("RetainMemory", memory=said)
    for key, user_id in (("plain", "ada"), ("ada", "bob")):
        with pytest.raises(PermissionDenied):
            await stack.caller.of(key).call("RetainMemory", memory=said, subject_user_id=user_id)
    for key, user_id in (("ada", ""), ("ada", "ada"), ("runtime", "ada"), ("admin", "ada")):
        kept = (await stack.caller.of(key).call("RetainMemory", memory=said, subject_user_id=user_id)).memory
        assert kept.owner_user_id == "ada"


async def test_a_key_of_an_app_keeps_for_it_and_one_of_a_graph_keeps_nothing(stack: Opened):
    kept = await User(stack.caller, key="app").retain("x")
    assert kept.app_id == "shop"
    for key, said in (("app", {"text": "x", "app_id": "books"}), ("graph", {"text": "x"})):
        with pytest.raises(PermissionDenied):
            await User(stack.caller, key=key).call("RetainMemory", memory=said)


# Listing, correcting, forgetting.


async def texts(user: User, **which: object) -> list[str]:
    answer = await user.call("ListMemories", filter=which)
    return [one.text for one in answer.memories]


async def test_memories_are_listed_in_pages_the_last_retained_first(user: User):
    for n in range(5):
        await user.retain(f"Fact {n}", kind=1 + n % 2, key="odd" if n % 2 else "", happened_at=at(NOW - timedelta(n)))
    found, token = [], ""
    while True:
        page = await user.call("ListMemories", page_size=2, page_token=token)
        assert len(page.memories) <= 2
        found += [one.text for one in page.memories]
        token = page.next_page_token
        if not token:
            break
    assert found == [f"Fact {n}" for n in reversed(range(5))]
    assert await texts(user, kinds=[pb.MEMORY_KIND_PREFERENCE]) == ["Fact 3", "Fact 1"]
    assert await texts(user, key="odd") == ["Fact 3", "Fact 1"]
    assert await texts(user, key="odd", holding_only=True) == ["Fact 1"]
    assert await texts(user, happened_from=at(NOW - timedelta(1)), happened_to=at(NOW)) == ["Fact 1"]
    first = await user.call("ListMemories", page_size=2)
    for other in ({"filter": {"key": "odd"}}, {"page_token": "x" * 24}):
        with pytest.raises(InvalidPageToken):
            await user.call("ListMemories", **{"page_token": first.next_page_token, **other})
    with pytest.raises(InvalidPageToken):
        await User(user.caller).call("ListMemories", page_token=first.next_page_token)
    with pytest.raises(InvalidArgument):
        await user.call("ListMemories", filter={"happened_from": at(NOW), "happened_to": at(NOW)})


async def test_a_correction_leaves_nothing_of_what_was_said(stack: Opened, user: User):
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
    with psycopg.connect(stack.urls.superuser) as connection:
        for table in ("memory", "passage", "request"):
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


async def test_what_cannot_be_corrected_is_refused_and_nothing_changes(user: User):
    kept = await user.retain("Ada likes tea.", kind=pb.MEMORY_KIND_EXPERIENCE, experience={"goal": "drink"})
    for said, paths, field in (
        ({"text": "x"}, [], "update_mask"),
        ({"app_id": "x"}, ["app_id"], "update_mask"),
        ({"text": " "}, ["text"], "memory.text"),
        ({"kind": 1, "experience": {}}, ["kind", "experience"], "memory.experience"),
    ):
        with pytest.raises(InvalidArgument) as error:
            await user.call("UpdateMemory", memory_id=kept.memory_id, memory=said, update_mask={"paths": paths})
        assert [one.field for one in error.value.violations] == [field]
    with pytest.raises(VersionConflict) as conflict:
        await user.call(
            "UpdateMemory",
            memory_id=kept.memory_id,
            memory={"text": "x"},
            update_mask={"paths": ["text"]},
            expected_version=7,
        )
    assert conflict.value.metadata["version"] == "1"
    (same,) = (await user.call("ListMemories")).memories
    assert same == kept
    changed = await user.call(
        "UpdateMemory", memory_id=kept.memory_id, memory={"kind": 1}, update_mask={"paths": ["kind"]}
    )
    assert not changed.memory.HasField("experience")  # a fact has none


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


async def test_what_matters_to_a_question_is_recalled_the_best_first(user: User):
    for text in ("Ada lives in Paris.", "Bob has a boat.", "Ada's cat is called Grace.", "The office is in Rome."):
        await user.retain(text)
    assert (await recalled(user, "What is the cat of Ada called?"))[0] == "Ada's cat is called Grace."
    assert await recalled(user, "Who has a boat?", limit=1) == ["Bob has a boat."]
    assert await recalled(user, "submarine") == []
    assert await recalled(User(user.caller), "Who has a boat?") == []


async def test_a_key_and_an_experience_are_found_by_their_words_and_filters_hold(user: User):
    await user.retain("Paris", key="home_town", happened_at=at(NOW))
    await user.retain("Rome", key="home_town", happened_at=at(NOW + timedelta(1)))
    await user.retain("Ask first.", kind=pb.MEMORY_KIND_EXPERIENCE, experience={"goal": "move the meeting of town"})
    assert set(await recalled(user, "home town")) == {"Paris", "Rome", "Ask first."}
    assert await recalled(user, "home town", filter={"holding_only": True, "key": "home_town"}) == ["Rome"]
    assert await recalled(user, "meeting", filter={"kinds": [pb.MEMORY_KIND_EXPERIENCE]}) == ["Ask first."]
    assert await recalled(user, "home", filter={"happened_to": at(NOW + timedelta(hours=1))}) == ["Paris"]
    assert (await recalled(user, "home town"))[:2] == ["Rome", "Paris"], "what holds comes first"
    (found,) = (await user.call("RecallMemories", query="Paris")).memories
    assert found.memory.superseded_by and found.memory.contradicts


async def test_a_reflection_quotes_what_holds_the_newest_first_and_names_what_it_rests_on(user: User):
    old = await user.retain("Ada lives in Paris.", key="home", happened_at=at(NOW - timedelta(100)))
    new = await user.retain("Ada lives in Rome. She has a bike.", key="home", happened_at=at(NOW - timedelta(50)))
    same = await user.retain("Ada lives in Rome.", happened_at=at(NOW - timedelta(10)))
    beside = await user.retain("Ada lives with a cat.", happened_at=at(NOW))
    await user.retain("Bob has a boat.")

    answer = await user.call("ReflectMemories", query="Where does Ada live?")

    assert answer.statement.splitlines() == ["Ada lives with a cat. (2026-11-01)", "Ada lives in Rome. (2026-10-22)"]
    assert answer.memory_ids[0] == beside.memory_id
    assert set(answer.memory_ids) == {beside.memory_id, new.memory_id, same.memory_id}
    assert list(answer.superseded_ids) == [old.memory_id]
    assert (answer.method, answer.mode) == ("extractive", "words")
    assert len((await user.call("ReflectMemories", query="Ada live", limit=1)).statement.splitlines()) == 1
    nothing = await user.call("ReflectMemories", query="submarine")
    assert (nothing.statement, list(nothing.memory_ids)) == ("", [])


# Consolidating.


async def test_a_dry_run_says_what_is_merged_and_its_plan_does_that(user: User):
    first = await user.retain("Ada's budget is 1,200 euros.", confidence=0.5, source={"label": "a"})
    other = await user.retain("Ada's budget is 1,300 euros.")
    again = await user.retain("The budget of Ada is 1200 euros.", source={"label": "c"})
    same = await user.retain("Ada's budget is 1200 euros.", confidence=0.25, source={"label": "b"})
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


async def test_a_plan_that_is_out_of_date_changes_nothing(user: User):
    for _ in range(2):
        await user.retain("Ada has a cat and a dog.")
    plan = (await user.call("ConsolidateMemories")).plan
    await user.retain("Ada has a cat and a dog.")
    with pytest.raises(PlanOutdated):
        await user.call("ConsolidateMemories", apply=True, plan=plan)
    assert len(await texts(user)) == 3
    for said, field in (({"apply": True}, "plan"), ({"plan": plan}, "plan"), ({"request_id": an_id()}, "request_id")):
        with pytest.raises(InvalidArgument) as error:
            await user.call("ConsolidateMemories", **said)
        assert [one.field for one in error.value.violations] == [field]


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
