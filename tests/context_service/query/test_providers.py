"""Providers: the suite over native and installed ones, and how operators install them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from context_service.compiled_pages.rules.freshness import PageFreshness
from context_service.compiled_pages.rules.search import FacetSearch
from context_service.compiled_pages.store.progress import CompileStates
from context_service.context_settings.room import ContextSettings
from context_service.contexts.room import message_checks_of
from context_service.contexts.rules.find import ContextsFinding
from context_service.contexts.rules.index_state import IndexStates
from context_service.contexts.rules.recall import Recalling
from context_service.contexts.store.artifacts import ArtifactRows
from context_service.contexts.store.findable import FindableContexts
from context_service.contexts.store.log import Log
from context_service.kernel.dependencies import REQUESTS
from context_service.kernel.graph import EntityGraph
from context_service.kernel.tokens import TokenCounter
from context_service.memories.rules.recall import MemoryRecalling
from context_service.memories.store.memories import MemoryRows
from context_service.query.model import MemoryMode
from context_service.query.providers import Answered, Hit, ProviderQuery, QueryScope, State, installed
from context_service.query.providers.compiled_pages import CompiledFacets
from context_service.query.providers.contexts import Contexts
from context_service.query.providers.memories import UserMemories
from context_service.query.providers.specialists import SpecialistProvider
from context_service.query.providers.wiki import WikiPages
from context_service.query.providers.workspace import Workspace
from context_service.query.pure.hit_checks import LOOKED_AT_MAX, Malformed, checked_answer
from context_service.query.pure.provider_table import ProviderInvalid, Providers
from context_service.resources import entity_service_of
from context_service.retrieval.store.across import AcrossContexts
from context_service.retrieval.store.passages import Passages
from context_service.settings import Settings
from context_service.specialists.model import Specialist
from context_service.wiki.rules.search import PageSearch
from context_service.working_memory.rules.passages import RecordQuotes, excerpt
from context_service.working_memory.rules.search import Searches
from contextkeep import AsyncContextClient, AsyncEntityClient
from service_runtime.values.ids import new_id
from tests.conformance.context_provider import AskedProvider, ContextProviderConformance, found
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL
from tests.context_service.query.conftest import World
from tests.context_service.query.test_query import written
from tests.fakes import context_providers as stubs
from tests.fakes.entity_graph import FakeEntityGraph

ADA = replace(PRINCIPAL, user_id="ada")


def native(provider: Any, asked: ProviderQuery) -> AskedProvider:
    return AskedProvider(provider=provider, asked=asked, principal=ADA, stranger=OTHER_PRINCIPAL, is_native=True)


class TestWorkspace(ContextProviderConformance):
    @pytest.fixture
    async def asked_provider(self, world: World) -> AskedProvider:
        for number in range(3):
            await written(world, f"The gondola of Venice has seat {number}.", name=f"{number}.md", key="ada")
        await written(world, "The gondola of nobody in particular.", name="nobody.md")
        database = world.opened.database
        searches = Searches(database, vectors_max=1, passages=Passages(database))
        provider = Workspace(RecordQuotes(database, Passages(database), searches), None, depth_max=1)  # type: ignore[arg-type]
        return native(provider, ProviderQuery(query="Which gondola is it?", limit=10))


class Reader:
    """A model that cites all that it is shown."""

    async def text(self, *, system: str, user: str, tokens_max: int) -> str:
        cited = sorted({int(number) for number in re.findall(r"^\[(\d+)\]$", user, re.MULTILINE)})
        return json.dumps({"cite": cited})


class TestSpecialist(ContextProviderConformance):
    @pytest.fixture(params=[None, Reader()], ids=["queries", "model"])
    async def asked_provider(self, world: World, request: pytest.FixtureRequest) -> AskedProvider:
        folder = new_id()
        for number in range(3):
            await written(world, f"The gondola of Venice has seat {number}.", name=f"{number}.md", node=str(folder))
        await written(world, "The gondola of Ada.", name="ada.md", key="ada", node=str(folder))
        database = world.opened.database
        searches = Searches(database, vectors_max=1, passages=Passages(database))
        records = RecordQuotes(database, Passages(database), searches)
        workspace = Workspace(records, FakeEntityGraph([], []), depth_max=1)  # type: ignore[arg-type]
        now = datetime.now(UTC)
        specialist = Specialist(
            specialist_id="venice",
            display_name="Venice",
            instructions="",
            node_ids=(folder,),
            steps_max=4,
            is_default=False,
            version=1,
            created_at=now,
            updated_at=now,
            updated_by="",
        )
        provider = SpecialistProvider(specialist, workspace, chat=request.param)
        return native(provider, ProviderQuery(query="Which gondola is it?", limit=10))


class TestWiki(ContextProviderConformance):
    @pytest.fixture
    async def asked_provider(self, world: World) -> AskedProvider:
        for number in range(3):
            page = {"slug": f"gondola-{number}", "title": "Gondola", "markdown": f"The gondola of Venice, {number}."}
            await world.opened.caller.of("ada").call("PutPage", page=page)
        database = world.opened.database
        provider = WikiPages(PageSearch(database, Passages(database), meaning=None))
        return native(provider, ProviderQuery(query="Which gondola is it?", limit=10))


class TestCompiledFacets(ContextProviderConformance):
    @pytest.fixture
    async def asked_provider(self, world: World) -> AsyncIterator[AskedProvider]:
        facet = {"slug": "seat", "heading": "Seat", "kind": "operational", "text": "entity.data.text"}
        async with (
            AsyncEntityClient(world.opened.addresses.entity, api_key="admin") as graph,
            AsyncContextClient(world.opened.addresses.context, api_key="admin") as context,
        ):
            for number in range(3):
                text = f"The gondola of Venice has seat {number}."
                await graph.graph.create_node("Gondola", name=f"Gondola {number}", data={"text": text})
            put = await context.definitions.put(
                "gondola", {"node_type": "Gondola", "title": "entity.name", "facets": [facet]}
            )
            await context.definitions.approve("gondola", put.version)
            async for _ in context.compiled_pages.compile():
                pass
        database = world.opened.database
        async with entity_service_of(Settings(entity_service_url=world.opened.addresses.entity)) as connection:
            freshness = PageFreshness(CompileStates(database), EntityGraph(connection))
            provider = CompiledFacets(FacetSearch(database, Passages(database), meaning=None), freshness)
            yield native(provider, ProviderQuery(query="Which gondola is it?", limit=10))


class TestContexts(ContextProviderConformance):
    @pytest.fixture
    async def asked_provider(self, world: World) -> AskedProvider:
        caller = world.opened.caller
        said = [await one.send("The gondola of Venice.") for one in (caller, caller.of("ada"))]
        for one in said:
            await caller.of("ada").send("A gondola again.", one.context_id)
        database = world.opened.database
        passages = Passages(database)
        log = Log(database, passages)
        artifacts = ArtifactRows(log, passages)
        recalling = Recalling(
            log,
            artifacts,
            passages,
            TokenCounter(),
            index=IndexStates(database, log, []),
            meaning=None,
            reranker=None,
            settings=ContextSettings(database, requests=REQUESTS, name_chars_max=100),
        )
        finding = ContextsFinding(
            FindableContexts(database),
            AcrossContexts(database),
            artifacts,
            TokenCounter(),
            checks=message_checks_of(Settings()),
            meaning=None,
        )
        ids = tuple(UUID(one.context_id) for one in said)
        return native(
            Contexts(log, artifacts, recalling, finding),
            ProviderQuery(query="Which gondola is it?", limit=10, context_ids=ids),
        )


class TestUserMemories(ContextProviderConformance):
    @pytest.fixture
    async def asked_provider(self, world: World) -> AskedProvider:
        for number in range(3):
            said = {"text": f"The gondola of Venice has seat {number}."}
            await world.opened.caller.of("ada").call("RetainMemory", memory=said)
        database = world.opened.database
        remembering = MemoryRecalling(database, MemoryRows(model=""), Passages(database), meaning=None, count=len)
        asked = ProviderQuery(query="Which gondola is it?", limit=10, memory_mode=MemoryMode.RECALL)
        return native(UserMemories(remembering), asked)

    @pytest.mark.parametrize("mode", [None, MemoryMode.REFLECT])
    async def test_it_reflects_unless_it_is_told_not_to(self, asked_provider, mode):
        answered = await self.answer(asked_provider, memory_mode=mode)
        (hit,) = answered.hits
        ids = str(hit.metadata["memory_ids"]).split(",")
        assert hit.metadata["memory_count"] >= len(ids) >= 3
        recalled = await self.answer(asked_provider, limit=100)
        assert set(ids) <= {one.source_id for one in recalled.hits}
        assert (answered.mode, recalled.mode) == ("REFLECT (words)", "RECALL (words)")
        again = await self.answer(asked_provider, memory_mode=mode, is_second_pass=True)
        assert again.hits == ()

    async def test_without_a_user_it_is_skipped_and_says_why(self, asked_provider):
        answered = await found(asked_provider.provider, asked_provider.asked, PRINCIPAL)
        assert (answered.state, answered.reason.partition(":")[0]) == (State.SKIPPED, "SUBJECT_REQUIRED")


class TestStub(ContextProviderConformance):
    @pytest.fixture(params=[stubs.Twin, stubs.Blocking, stubs.Own, stubs.Contradicting])
    async def asked_provider(self, request: pytest.FixtureRequest) -> AskedProvider:
        asked = ProviderQuery(query="What of Acme?", limit=10)
        return AskedProvider(
            provider=request.param(), asked=asked, principal=ADA, stranger=OTHER_PRINCIPAL, is_native=False
        )


# What is made of answers.

ASKED = ProviderQuery(query="?", limit=3)
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def test_a_hit_that_is_fine_is_shown_as_it_is():
    hit = Hit(
        source_id="a/1",
        title="Ein Titel – mit Ümläuten",
        snippet="नमस्ते\nשלום 👩\u200d🚀",
        scope=QueryScope.PERSONAL,
        score=-0.5,
        label="x",
        uri="https://example.com/a?b=c",
        metadata={"a": 1, "b": None, "c": True, "d": "x", "e": 0.5},
        as_of=NOW,
    )
    assert checked_answer(Answered(hits=[hit]), ASKED, now=NOW).hits == (hit,)


def test_time_and_scope_bound_hits_and_what_has_no_time_is_left_out_then():
    hits = [
        stubs.hit("a", "x"),
        stubs.hit("b", "x", as_of=NOW),
        stubs.hit("c", "x", scope=QueryScope.PERSONAL, as_of=NOW),
    ]
    asked = ProviderQuery(query="?", limit=3, scopes=frozenset({QueryScope.TEAM}), time_from=NOW)
    answer = checked_answer(Answered(hits=hits), asked, now=NOW)
    assert [one.source_id for one in answer.hits] == ["b"]
    assert answer.reason == f"{len(hits) - 1} of another scope or time are left out"


def test_hits_with_other_metadata_are_left_out_and_a_number_is_no_boolean():
    hits = [
        stubs.hit("a", "x", metadata={"floor": 1, "town": "Ulm"}),
        stubs.hit("b", "x", metadata={"floor": True, "town": "Ulm"}),
        stubs.hit("c", "x", metadata={"town": "Ulm"}),
        stubs.hit("d", "x", metadata={"floor": 1.0, "town": "Bonn"}),
        stubs.hit("e", "x", metadata={"floor": 1.0, "town": "Ulm"}),
    ]
    asked = ProviderQuery(query="?", limit=3, metadata={"floor": 1, "town": "Ulm"})
    answer = checked_answer(Answered(hits=hits), asked, now=NOW)
    assert [one.source_id for one in answer.hits] == ["a", "e"]
    assert answer.reason == "3 of another scope, time or metadata are left out"


def test_a_hit_without_a_scope_has_the_only_one_of_its_provider_and_one_of_another_is_counted():
    hits = [stubs.hit("a", "x"), stubs.hit("b", "x", scope=QueryScope.TEAM)]
    personal = frozenset({QueryScope.PERSONAL})
    answer = checked_answer(Answered(hits=hits), ProviderQuery(query="?", limit=3), now=NOW, scopes=personal)
    assert [(one.source_id, one.scope) for one in answer.hits] == [("a", QueryScope.PERSONAL)]
    assert answer.reason == "1 of another scope or time are left out"
    answer = checked_answer(Answered(hits=hits), ProviderQuery(query="?", limit=3), now=NOW)
    assert [one.scope for one in answer.hits] == [QueryScope.TEAM, QueryScope.TEAM]


@pytest.mark.parametrize(
    "answered",
    [
        None,
        {},
        Answered(state=State.TIMEOUT),
        Answered(state="OK"),  # type: ignore[arg-type]
        Answered(hits={"a": 1}),  # type: ignore[arg-type]
        Answered(hits=[1, 2]),  # type: ignore[list-item]
        Answered(state=State.SKIPPED, hits=[stubs.hit("a", "x")]),
    ],
    ids=repr,
)
def test_what_is_no_answer_is_malformed(answered):
    with pytest.raises(Malformed):
        checked_answer(answered, ASKED, now=NOW)


def test_a_text_that_only_looks_like_one_is_none():
    class Evil(str):
        def __len__(self) -> int:
            raise RuntimeError

    with pytest.raises(Malformed):
        checked_answer(Answered(hits=[stubs.hit("a", Evil("x"))]), ASKED, now=NOW)


def test_of_very_many_hits_few_are_looked_at():
    hits = [stubs.hit("same", "x")] * 100_000
    answered = checked_answer(Answered(hits=hits), ASKED, now=NOW)
    assert len(answered.hits) == 1 and f"{LOOKED_AT_MAX - 1} that" in answered.reason


def test_an_answer_is_stale_when_its_time_is_over():
    for age_s, state in ((59, State.OK), (61, State.STALE)):
        as_of = NOW - timedelta(seconds=age_s)
        assert checked_answer(Answered(as_of=as_of, ttl_s=60), ASKED, now=NOW).state is state


# How they are installed.


def class_with(**fields: Any) -> type[stubs.Stub]:
    return type("Made", (stubs.Stub,), fields)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (object, "is not a context provider"),
        (lambda: 1 / 0, "cannot be made"),
        (class_with(id="A B"), "lowercase letters"),
        (class_with(family=""), "lowercase letters"),
        (class_with(deadline_s=-1.0), "deadline_s"),
        (class_with(deadline_s=1e9), "deadline_s"),
        (class_with(scopes=frozenset()), "scopes"),
        (class_with(info=7), "is not a context provider"),
    ],
)
def test_one_that_does_not_say_what_it_is_keeps_the_service_from_starting(tmp_path, monkeypatch, made, said):
    monkeypatch.setattr(stubs, "Made", made, raising=False)
    with stubs.installed(tmp_path, [f"{stubs.__name__}:Made"]), pytest.raises(ProviderInvalid, match=said):
        installed()


def test_a_package_that_cannot_be_imported_is_named(tmp_path):
    with stubs.installed(tmp_path, ["no_such_module:Provider"]), pytest.raises(ProviderInvalid, match="no_such_module"):
        installed()


def test_two_of_one_id_are_refused(tmp_path):
    with stubs.installed(tmp_path, [stubs.Fast, stubs.Fast]), pytest.raises(ProviderInvalid, match="two"):
        Providers(installed())


def test_an_id_of_ours_cannot_be_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(stubs, "Made", class_with(id="workspace"), raising=False)
    with stubs.installed(tmp_path, [f"{stubs.__name__}:Made"]), pytest.raises(ProviderInvalid, match="two"):
        from context_service.query.providers import native as row

        Providers([row(Workspace(None, None, depth_max=1), trust=1), *installed()])  # type: ignore[arg-type]


async def test_one_that_opens_something_is_entered_and_left(postgres, tmp_path, monkeypatch):
    seen: list[str] = []

    class Opening(stubs.Fast):
        async def __aenter__(self) -> Opening:
            seen.append("entered")
            return self

        async def __aexit__(self, *_: object) -> None:
            seen.append("left")

    monkeypatch.setattr(stubs, "Opening", Opening, raising=False)
    from tests.context_service.contexts.callers import opened

    with stubs.installed(tmp_path / "p", [f"{stubs.__name__}:Opening"]):
        async with opened(postgres, tmp_path / "b"):
            assert seen == ["entered"]
    assert seen == ["entered", "left"]


def test_nothing_is_installed_here():
    assert installed() == []


@pytest.mark.parametrize("words", [["needle"], ["absent"], [], ["needle", "x"]])
def test_an_excerpt_is_where_the_words_are(words):
    text = f"{'hay ' * 5_000}a needle of gold {'hay ' * 5_000}"
    found = excerpt(text, words)
    assert len(found) <= 1_200 and found in text
    assert ("needle of gold" in found) is ("needle" in words)
    assert excerpt("short", words) == "short"
