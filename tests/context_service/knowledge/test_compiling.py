"""Pages compiled of a graph: by whoever may read it, for whoever may see all that was read, and only what changed."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from context_service.compiled_pages.model import Audience
from context_service.compiled_pages.rules import compile as compiling
from context_service.compiled_pages.store import progress as compile_states
from context_service.compiled_pages.store.pages import scope_of
from context_service.compiled_pages.store.passages import facet_source
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.rules.verify import Verifying
from context_service.retrieval.store.passages import Passages
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.errors import (
    CompiledPageNotFound,
    CompileUnderWay,
    ContextKeepError,
    DefinitionNotFound,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
)
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.values.ids import new_id
from tests.context_service.knowledge.graphs import BELOW, Stack, World, any_tenant, facet, rules


@pytest.fixture(scope="module")
async def services(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    async with any_tenant(postgres, tmp_path_factory.mktemp("blobs")) as made:
        yield made


@pytest.fixture
def world(services: Stack) -> World:
    return World(services)


async def compiled(world: World, **what: Any) -> Any:
    """Compile, and return the last that was told, with all problems."""
    told = [one async for one in world.context.compiled_pages.compile(**what)]
    assert [one.is_done for one in told] == [*([False] * (len(told) - 1)), True]
    return replace(told[-1], problems=tuple(problem for one in told for problem in one.problems))


async def titles(world: World) -> list[str]:
    return sorted([one.title async for one in world.context.compiled_pages.list()])


async def said(world: World, node_id: str) -> dict[str, str]:
    """Return what the page of a node says, by facet."""
    (page,) = [one async for one in world.context.compiled_pages.list(node_id=node_id)]
    return {one.slug: one.text for one in (await world.context.compiled_pages.get(page.page_id)).facets}


async def asked(world: World, query: str, **options: Any) -> Any:
    return await world.context.query.ask(query, provider_ids=["brain"], **options)


async def hits(world: World, query: str) -> list[str]:
    return [one.snippet for one in (await asked(world, query)).hits]


async def the_page(world: World, node_id: str) -> Any:
    (page,) = [one async for one in world.context.compiled_pages.list(node_id=node_id)]
    return await world.context.compiled_pages.get(page.page_id)


# What a compile makes


async def test_an_approved_definition_makes_a_page_for_each_node_and_a_question_finds_them(world: World):
    first = await world.node("Customer", "Orrery", text="Pays late")
    await world.node("Opportunity", "Renewal", below=first, text="Renewal of the lighthouse lamps")
    await world.node("Customer", "Zeta", text="Pays in advance")
    await world.approve("customer", rules(facet(), facet("open", kind="relationship", walk=BELOW)))
    done = await compiled(world)

    assert (done.nodes_read, done.pages_written, done.pages_failed, done.problems) == (2, 2, 0, ())
    assert await titles(world) == ["Orrery", "Zeta"]
    assert await said(world, first) == {"state": "Pays late", "open": "Renewal of the lighthouse lamps"}
    answer = await asked(world, "who renews lighthouse lamps?")
    hit = answer.hits[0]
    assert (hit.title, hit.snippet) == ("Orrery > Open", "Renewal of the lighthouse lamps")
    page = await the_page(world, first)
    told = {name: hit.metadata[name] for name in ("entity_type", "facet", "heading", "kind", "trust", "confidence")}
    assert told == {
        "entity_type": "Customer",
        "facet": "open",
        "heading": "Open",
        "kind": "relationship",
        "trust": 4,
        "confidence": 1,
    }
    assert (hit.metadata["definition_version"], hit.metadata["compile_id"]) == (1, done.compile_id)
    assert (page.compile_id, page.stale, page.definition_version) == (done.compile_id, (), 1)
    assert page.facets[1].sources[0].edge_id


async def test_a_draft_changes_no_page_and_its_approval_does_with_the_next_compile(world: World):
    node = await world.node("Customer", "Orrery", text="Pays late", other="Sails")
    await world.approve("customer", rules())
    await compiled(world)
    put = await world.context.definitions.put("customer", rules(facet(text="entity.data.other")))
    assert (await compiled(world)).pages_written == 0
    assert (await said(world, node), (await the_page(world, node)).stale) == ({"state": "Pays late"}, ())
    await world.context.definitions.approve("customer", put.version)
    page = await the_page(world, node)
    assert page.stale == ("version 2 of its definition is approved, and it is of 1",)
    answer = await asked(world, "pays late")
    assert (answer.providers[0].state, answer.providers[0].reason) == ("stale", "1 facet is out of date")
    assert (await compiled(world)).pages_written == 1
    assert (await said(world, node), (await the_page(world, node)).stale) == ({"state": "Sails"}, ())
    assert await hits(world, "pays late") == []


async def test_without_an_approved_definition_nothing_is_read_and_the_provider_is_skipped(world: World):
    await world.node("Customer", "Orrery", text="Pays late")
    await world.context.definitions.put("customer", rules())
    assert (await compiled(world)).nodes_read == 0
    (status,) = (await asked(world, "pays late")).providers
    assert (status.state, status.reason) == ("skipped", "no page is compiled")
    with pytest.raises(DefinitionNotFound):
        await compiled(world, definition_name="customer")


async def test_one_changed_node_compiles_one_page(world: World):
    nodes = [await world.node("Customer", f"C{number}", text="old") for number in range(4)]
    below = await world.node("Note", below=nodes[1], text="below")
    await world.approve("customer", rules(facet(), facet("notes", walk=BELOW)))
    await compiled(world)

    await world.graph.graph.update_node_data(nodes[0], {"text": "new"})
    done = await compiled(world)
    assert (done.nodes_read, done.pages_written, done.pages_unchanged) == (1, 1, 0)
    assert await said(world, nodes[0]) == {"state": "new"}
    await world.graph.graph.update_node_data(below, {"text": "other"})
    done = await compiled(world)
    assert (done.nodes_read, done.pages_written) == (1, 1)
    assert await said(world, nodes[1]) == {"state": "old", "notes": "other"}
    assert await hits(world, "below") == []
    done = await compiled(world)
    assert (done.nodes_read, done.changes_read) == (0, 0)


async def test_a_query_says_when_pages_were_compiled_and_that_changes_wait(world: World):
    node = await world.node("Customer", "Orrery", text="Pays late")
    alone = await world.node("Note", text="alone")
    await world.approve("customer", rules())
    await compiled(world)

    async def status() -> tuple[str, str]:
        (one,) = (await asked(world, "who pays late?")).providers
        assert one.as_of is not None and abs(datetime.now(UTC) - one.as_of) < timedelta(minutes=5)
        return one.state, one.reason

    waiting = ("stale", "changes of the graph since the last compile are not in the pages yet")
    assert await status() == ("ok", "")
    await world.graph.graph.update_node_data(alone, {"text": "no page is of this"})
    await world.graph.graph.create_edge(alone, node, "Has")
    assert await status() == ("ok", "")
    await world.graph.graph.update_node_data(node, {"text": "Pays in advance"})
    assert await status() == waiting
    await compiled(world)
    assert await status() == ("ok", "")
    await world.node("Customer", "Zeta", text="Never pays")
    assert await status() == waiting


async def test_what_no_page_depends_on_compiles_none(world: World):
    node = await world.node("Customer", "Orrery", text="x")
    deep = await world.node("Note", below=await world.node("Note", below=node, text="a"), text="b")
    alone = await world.node("Note", text="alone")
    await world.approve("customer", rules(facet(walk=BELOW)))
    await compiled(world)
    await world.node("Note", below=deep, text="too deep")  # an edge out of a node at the end of the walk
    await world.graph.graph.create_edge(alone, node, "Has")  # an edge to the page's node, which walks out
    await world.graph.graph.update_node_data(alone, {"text": "changed"})
    assert (await compiled(world)).nodes_read == 0


async def test_a_new_node_a_new_edge_and_one_that_is_gone_are_in_the_page(world: World):
    node = await world.node("Customer", "Orrery", text="x")
    await world.approve("customer", rules(facet("notes", walk=BELOW)))
    await compiled(world)
    assert await said(world, node) == {}
    note = await world.node("Note", below=node, text="new")
    new = await world.node("Customer", "Zeta")
    assert (await compiled(world)).pages_written == 2
    assert (await said(world, node), await said(world, new)) == ({"notes": "new"}, {})
    (edge,) = [one async for one in world.graph.graph.list_edges(node)]
    await world.graph.graph.delete_edge(edge.id)
    assert (await compiled(world)).nodes_read == 1
    assert await said(world, node) == {}
    await world.graph.graph.create_edge(node, note, "Has")
    await compiled(world)
    await world.graph.graph.delete_node(note)
    await compiled(world)
    assert await said(world, node) == {}
    assert await hits(world, "new") == []


async def test_an_archived_node_comes_back(world: World):
    node = await world.node("Customer", "Orrery", text="x")
    note = await world.node("Note", below=node, text="note")
    await world.approve("customer", rules(facet("notes", walk=BELOW)))
    await world.graph.graph.archive_node(note)
    await compiled(world)
    assert await said(world, node) == {}
    await world.graph.graph.archive_node(note, restore=True)
    await compiled(world)
    assert await said(world, node) == {"notes": "note"}
    await world.graph.graph.archive_node(node)
    assert (await compiled(world)).pages_removed == 1
    assert await titles(world) == []


async def test_a_removed_node_takes_its_page_away_and_not_being_seen_does_not(world: World):
    await world.node("Customer", "Orrery", text="Pays late", agent_bundle_id="sales")
    gone = await world.node("Customer", "Zeta", text="Pays early", agent_bundle_id="sales")
    await world.approve("customer", rules())
    await compiled(world)
    # One that sees neither of them compiles all anew.
    other = world.of(agent_bundle_id="law")
    assert (await compiled(other)).pages_removed == 0
    assert await titles(world) == ["Orrery", "Zeta"]
    await world.graph.graph.delete_node(gone)
    assert (await compiled(world)).pages_removed == 1
    assert await titles(world) == ["Orrery"]
    assert await hits(world, "early") == []


async def test_where_changes_are_forgotten_a_compile_of_all_nodes_removes_the_pages_of_those_gone(world: World):
    """It asks for each node that it did not see, in portions; a key that never saw a node removes no page of it."""
    gone = [await world.node("Customer", f"gone {n}", agent_bundle_id="sales") for n in range(compiling.BATCH + 1)]
    await world.node("Customer", "Orrery", agent_bundle_id="sales")
    archived = await world.node("Customer", "Archived", agent_bundle_id="sales")
    secret = await world.node("Customer", "Secret", agent_bundle_id="law")
    retyped = rules(node_type="Ticket")
    await world.node("Ticket", "T", agent_bundle_id="sales")
    await world.approve("customer", rules())
    await world.approve("ticket", retyped)
    sales = world.of(agent_bundle_id="sales")
    await compiled(world)
    await compiled(sales)
    assert await rows(sales) == await rows(world)
    for node in (*gone, secret):
        await world.graph.graph.delete_node(node)
    await world.graph.graph.archive_node(archived)
    # The type of a definition's nodes is another one: its pages are of none of them.
    await world.approve("ticket", rules(node_type="Incident"))
    await expire(world)

    # `secret` is gone as well, but this key never saw it. What it sees goes, whoever compiled it.
    done = await compiled(sales)
    assert done.pages_removed == 2 * len(gone) + 2
    assert await titles(world) == ["Archived", "Orrery", "Orrery", "Secret", "T"]
    assert (await compiled(world)).pages_removed == 3
    assert await titles(world) == ["Orrery", "Orrery"]
    await verify(world)


async def test_a_compile_of_a_node_that_is_gone_removes_its_pages(world: World):
    node = await world.node("Customer", "Orrery", text="x")
    await world.approve("customer", rules())
    await compiled(world)
    await world.graph.graph.delete_node(node)

    done = await compiled(world, node_ids=[node])

    assert (done.pages_removed, [one.node_id for one in done.problems]) == (1, [node])
    assert await rows(world) == [0, 0, 0, 0]


async def test_a_place_of_another_release_is_taken_for_an_expired_one(world: World):
    await world.node("Customer", "Orrery", text="x")
    await world.approve("customer", rules())
    await compiled(world)
    door = world.stack.database.tenant(world.principal.tenant_id)
    await door.query("UPDATE context.compile_state SET place = 'AAAA' WHERE tenant_id = %s", (door.tenant_id,))
    assert (await compiled(world)).nodes_read == 1
    assert (await compiled(world)).nodes_read == 0


async def expire(world: World) -> None:
    """Forget where compiling is, as an expired place would."""
    door = world.stack.database.tenant(world.principal.tenant_id)
    await door.query("UPDATE context.compile_state SET place = '' WHERE tenant_id = %s", (door.tenant_id,))


async def test_a_page_is_as_fresh_as_it_says(world: World):
    now = datetime.now(UTC)
    for name, days in (("Old", 2), ("New", 0)):
        day = (now - timedelta(days=days)).isoformat()
        await world.node("Customer", name, text=f"{name} lamps", day=day)
    await world.approve("customer", rules(facet(as_of="timestamp(entity.data.day)", time_to_live="duration('24h')")))
    await compiled(world)
    answer = await asked(world, "lamps")
    assert answer.providers[0].state == "stale"
    stale = {one.title: one.metadata["stale"] for one in answer.hits}
    assert stale["New > State"] == "" and stale["Old > State"].startswith("it was good until")
    by_title = {one.title: one.stale async for one in world.context.compiled_pages.list()}
    assert by_title["New"] == () and by_title["Old"][0].startswith("it was good until")
    hit = next(one for one in answer.hits if one.title.startswith("Old"))
    assert hit.as_of and abs(hit.as_of - (now - timedelta(days=2))) < timedelta(seconds=1)


async def test_a_rule_that_fails_keeps_the_page_and_says_so(world: World):
    node = await world.node("Customer", "Orrery", text="x", title="Orrery")
    await world.approve("customer", rules(title="entity.data.title"))
    await compiled(world)
    await world.graph.graph.update_node_data(node, {"title": None})
    done = await compiled(world)
    assert (done.pages_failed, done.problems[0].rule) == (1, "definition.title")
    page = await the_page(world, node)
    assert page.title == "Orrery" and page.stale[0].startswith("it could not be compiled: definition.title:")
    await world.graph.graph.update_node_data(node, {"title": "Orrery Ltd"})
    assert (await compiled(world)).pages_written == 1
    page = await the_page(world, node)
    assert (page.title, page.stale) == ("Orrery Ltd", ())


async def test_retiring_takes_pages_out_at_once_and_the_next_compile_removes_them(world: World):
    node = await world.node("Customer", "Orrery", text="Pays late")
    await world.approve("customer", rules())
    await compiled(world)
    page = await the_page(world, node)
    await world.context.definitions.retire("customer")
    assert (await titles(world), await hits(world, "pays late")) == ([], [])
    with pytest.raises(CompiledPageNotFound):
        await world.context.compiled_pages.get(page.page_id)
    with pytest.raises(CompiledPageNotFound):
        await world.context.compiled_pages.put_facet(page.page_id, "note", "")
    assert (await compiled(world)).pages_removed == 1
    assert await rows(world) == [0, 0, 0, 0]


async def rows(world: World) -> list[int]:
    """Return how many rows there are of pages, facets, dependencies and passages."""
    door = world.stack.database.tenant(world.principal.tenant_id)
    counts = []
    for table in ("compiled_page", "facet", "page_dependency"):
        (row,) = await door.query(f"SELECT count(*) AS n FROM context.{table} WHERE tenant_id = %s", (door.tenant_id,))
        counts.append(row.n)
    scope = scope_of(door.tenant_id)
    totals = await Passages(world.stack.database).totals(world.principal, scope)
    return [*counts, totals.passages]


async def test_by_definition_and_by_node_compile_what_is_named(world: World):
    node = await world.node("Customer", "Orrery", text="x")
    await world.node("Customer", "Zeta", text="x")
    ticket = await world.node("Ticket", "T", text="x")
    await world.approve("customer", rules())
    await world.approve("ticket", rules(node_type="Ticket"))
    missing = str(new_id())
    done = await compiled(world, node_ids=[node, ticket, missing])
    assert (done.nodes_read, done.pages_written) == (2, 2)
    assert await titles(world) == ["Orrery", "T"]
    assert [one.node_id for one in done.problems] == [missing]
    assert (await compiled(world, definition_name="customer")).nodes_read == 2
    assert await titles(world) == ["Orrery", "T", "Zeta"]
    with pytest.raises(InvalidArgument):
        await compiled(world, definition_name="customer", node_ids=[node])
    with pytest.raises(LimitExceeded):
        await compiled(world, node_ids=[new_id() for _ in range(compiling.NODES_MAX + 1)])


# Who reads what


async def test_what_an_unbound_key_compiled_is_read_by_nobody_who_sees_less(world: World):
    """In no hit, no count and no status."""
    node = await world.node("Customer", "Orrery", text="Pays late", agent_bundle_id="sales")
    await world.node("Note", below=node, text="The lawsuit is secret", agent_bundle_id="law")
    await world.node("Customer", "Elsewhere", text="Secret graph", graph_name="g", agent_bundle_id="sales")
    below = facet("notes", walk=BELOW)
    await world.approve("customer", rules(facet(), below))
    await world.approve("elsewhere", rules(graph_name="g"))
    await world.approve("shops", rules(facet(heading="Of the shop"), app_id="shop"))
    await compiled(world)
    assert len(await titles(world)) == 3

    sales = world.of(agent_bundle_id="sales", graph_names=["default"])
    page = await the_page_of(sales, "customer")
    assert [one.slug for one in page.facets] == ["state"]
    assert await hits(sales, "secret lawsuit late") == ["Pays late", "Pays late"][: len(await titles(sales))]
    for bounds in ({"agent_bundle_id": "law"}, {"agent_bundle_id": "x"}, {"graph_names": ["x"]}, {"app_ids": ["x"]}):
        other = world.of(**bounds)
        assert await titles(other) == []
        answer = await asked(other, "secret lawsuit pays late")
        assert (answer.hits, [(one.state, one.reason) for one in answer.providers]) == (
            (),
            [("skipped", "no page is compiled")],
        )
        with pytest.raises(CompiledPageNotFound):
            await other.context.compiled_pages.get(page.page_id)
    shop = world.of(app_ids=["shop"])
    assert [one.definition_name async for one in shop.context.compiled_pages.list()] == ["shops"]
    graph = world.of(graph_names=["g"])
    assert await titles(graph) == ["Elsewhere"]
    unbound = next(one for one in (await asked(world, "secret lawsuit")).hits if "lawsuit" in one.snippet)
    for who, texts in ((world, ["The lawsuit is secret"]), (sales, [""])):
        answer = await asked(who, "anything", expand_refs=[unbound.ref])
        assert [one.text for one in answer.expanded] == texts


async def the_page_of(world: World, definition: str) -> Any:
    (page,) = [one async for one in world.context.compiled_pages.list(definition)]
    return await world.context.compiled_pages.get(page.page_id)


async def test_who_sees_less_compiles_pages_of_its_own_and_the_widest_speaks(world: World):
    node = await world.node("Customer", "Orrery", text="Pays late", agent_bundle_id="sales")
    await world.node("Note", below=node, text="Secret lawsuit", agent_bundle_id="law")
    await world.approve("customer", rules(facet(), facet("notes", walk={"include_start": True})))
    await compiled(world)
    sales = world.of(agent_bundle_id="sales")
    done = await compiled(sales)
    assert done.pages_written == 1
    pages = [one async for one in sales.context.compiled_pages.list()]
    seen = [(await sales.context.compiled_pages.get(one.page_id)).facets for one in pages]
    assert sorted([one.slug for one in facets] for facets in seen) == [["state"], ["state", "notes"]]
    assert not any("Secret" in one.text for facets in seen for one in facets)
    # The same facet of two audiences is one hit.
    found = (await asked(sales, "pays late")).hits
    assert sorted(one.metadata["facet"] for one in found) in (["notes", "state"], ["state"])
    assert len({one.metadata["page_id"] for one in (await asked(world, "lawsuit")).hits}) == 1


async def test_a_declassified_facet_is_read_by_whoever_sees_the_node(world: World):
    node = await world.node("Customer", "Orrery", agent_bundle_id="sales")
    await world.node("Note", below=node, text="Lawsuit: none", agent_bundle_id="law")
    await world.approve("customer", rules(facet("notes", walk=BELOW, declassify=True)))
    await compiled(world)
    sales = world.of(agent_bundle_id="sales")
    (found,) = (await the_page(sales, node)).facets
    assert (found.text, found.is_declassified, found.agent_bundle_ids) == ("Lawsuit: none", True, ("law", "sales"))
    assert await hits(sales, "lawsuit") == ["Lawsuit: none"]
    assert await titles(world.of(agent_bundle_id="law")) == []


async def test_declassifying_ends_with_the_approval_and_not_with_the_next_compile(world: World):
    node = await world.node("Customer", "Orrery", agent_bundle_id="sales")
    await world.node("Note", below=node, text="Lawsuit: none", agent_bundle_id="law")
    await world.approve("customer", rules(facet("notes", walk=BELOW, declassify=True)))
    await compiled(world)
    sales, graphs = world.of(agent_bundle_id="sales"), world.of(graph_names=["default"])
    (ref,) = [hit.ref for hit in (await asked(sales, "lawsuit")).hits]
    assert await hits(sales, "lawsuit") == await hits(graphs, "lawsuit") == ["Lawsuit: none"]

    await world.approve("customer", rules(facet("notes", walk=BELOW)))
    for _ in range(2):  # a compile of the narrower audience does not write the wider one's page
        pages = [
            await sales.context.compiled_pages.get(one.page_id) async for one in sales.context.compiled_pages.list()
        ]
        assert [one.text for page in pages for one in page.facets] == []
        assert await hits(sales, "lawsuit") == []
        assert [one.is_found for one in (await asked(sales, "lawsuit", expand_refs=[ref])).expanded] == [False]
        assert await hits(graphs, "lawsuit") == await hits(world, "lawsuit") == ["Lawsuit: none"]
        await compiled(sales)


async def test_compiling_needs_its_scope_and_reads_as_the_caller(world: World):
    await world.approve("customer", rules())
    with pytest.raises(PermissionDenied):
        await compiled(world.of(scopes=["read", "write", "admin", "delegate"]))
    with pytest.raises(PermissionDenied):
        await compiled(world.of(scopes=["compile"]))
    await compiled(world.of(scopes=["read", "compile"]))


async def test_facets_rank_by_trust_where_texts_are_equal(world: World):
    await world.node("Customer", "Orrery", text="The lamps are lit")
    kinds = ("external", "operational", "activity", "relationship", "compiled")
    await world.approve(
        "customer",
        rules(*(facet(kind, heading="Lamps", kind=kind, text=f"'{kind} ' + entity.data.text") for kind in kinds)),
    )
    await compiled(world)
    found = (await asked(world, "lamps lit")).hits
    assert [one.metadata["kind"] for one in found] == [
        "operational",
        "relationship",
        "compiled",
        "activity",
        "external",
    ]


# One at a time, and whatever ends it


async def test_one_compile_of_an_audience_is_under_way_at_a_time(world: World):
    for number in range(compiling.BATCH + 1):
        await world.node("Customer", f"C{number}", text="x")
    await world.approve("customer", rules())
    first = world.context.compiled_pages.compile()
    await anext(first)
    with pytest.raises(CompileUnderWay):
        await compiled(world)
    await compiled(world.of(graph_names=["default"]))  # of another audience
    await first.aclose()
    await until_free(world)
    await compiled(world)
    assert len({one.node_id async for one in world.context.compiled_pages.list()}) == compiling.BATCH + 1


async def until_free(world: World) -> None:
    """Wait until a stream that was left has ended."""
    door = world.stack.database.tenant(world.principal.tenant_id)
    audience = Audience.of(world.principal)
    for _ in range(200):
        (row,) = await door.query(
            "SELECT leased_until < now() AS is_free FROM context.compile_state"
            " WHERE tenant_id = %s AND audience_id = %s",
            (door.tenant_id, audience.id),
        )
        if row.is_free:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the compile goes on")


async def test_one_that_was_taken_the_place_of_writes_nothing_any_more(world: World, monkeypatch: pytest.MonkeyPatch):
    """What it read may be older than what the other one wrote."""
    monkeypatch.setattr(compile_states, "LEASE", timedelta(seconds=-1))  # as if it had stood still
    for number in range(2 * compiling.BATCH):
        await world.node("Customer", f"C{number}", text="x")
    await world.approve("customer", rules())
    first = world.context.compiled_pages.compile()
    await anext(first)
    await compiled(world)
    with pytest.raises(CompileUnderWay):
        async for _ in first:
            pass
    assert len(await titles(world)) == 2 * compiling.BATCH


@pytest.mark.parametrize("at", range(1, 9))
async def test_whatever_ends_a_compile_the_next_one_goes_on(world: World, monkeypatch: pytest.MonkeyPatch, at: int):
    """Killed behind any of its statements: nothing is half written, and nothing is missed."""
    from service_runtime.postgres import Transaction

    monkeypatch.setattr(compiling, "BATCH", 2)
    nodes = [await world.node("Customer", f"C{number}", text=f"lamp {number}") for number in range(3)]
    await world.approve("customer", rules(facet(), facet("notes", walk=BELOW)))
    await compiled(world, node_ids=nodes[:1])
    await world.graph.graph.update_node_data(nodes[0], {"text": "lamp changed"})
    unkilled, count = Transaction.query, 0

    async def killed(self: Any, *arguments: Any, **named: Any) -> Any:
        nonlocal count
        if "context.compiled_page" in str(arguments[0]) or "context.facet" in str(arguments[0]):
            count += 1
            if count == at:
                raise RuntimeError("killed")
        return await unkilled(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "query", killed)
        with contextlib.suppress(ContextKeepError):
            await compiled(world)
    await compiled(world)
    assert await titles(world) == ["C0", "C1", "C2"]
    assert [await said(world, node) for node in nodes] == [
        {"state": "lamp changed"},
        {"state": "lamp 1"},
        {"state": "lamp 2"},
    ]
    assert (await rows(world))[1:] == [3, 3, 3]
    await verify(world)


async def verify(world: World) -> None:
    """Compare the index with what it is made of."""
    verifying = Verifying(world.stack.database, Passages(world.stack.database), [facet_source(TokenCounter().count)])
    door = world.stack.database.tenant(world.principal.tenant_id)
    found = await verifying.run([door], scope_id=None, mend=False, on_progress=lambda one: None)
    assert not found.differences, found


# Facets that are put


async def test_a_facet_that_is_put_says_who_and_stays_when_its_page_is_compiled(world: World):
    node = await world.node("Customer", "Orrery", text="Pays late")
    await world.approve("customer", rules())
    await compiled(world)
    page = await the_page(world, node)
    put = await world.context.compiled_pages.put_facet(
        page.page_id,
        "handling",
        "Call on Mondays",
        heading="Handling",
        kind="external",
        confidence=0.5,
        source_label="Ada",
        source_uri="https://crm.example/7",
    )
    assert (put.put_by, put.trust, put.confidence, put.compile_id) == ("tests", 1, 0.5, "")
    assert [(one.label, one.uri) for one in put.sources] == [("Ada", "https://crm.example/7")]
    assert await hits(world, "call mondays") == ["Call on Mondays"]
    await world.graph.graph.update_node_data(node, {"text": "Pays"})
    await compiled(world)
    assert await said(world, node) == {"state": "Pays", "handling": "Call on Mondays"}
    await world.context.compiled_pages.put_facet(
        page.page_id, "handling", "Call on Fridays", heading="Handling", kind="external", source_label="Ada"
    )
    assert (await hits(world, "call mondays fridays")) == ["Call on Fridays"]
    await verify(world)
    assert await world.context.compiled_pages.put_facet(page.page_id, "handling", "") is None
    assert await said(world, node) == {"state": "Pays"}
    await world.context.compiled_pages.put_facet(
        page.page_id, "handling", "Again", heading="Handling", kind="external", source_label="Ada"
    )
    await world.graph.graph.delete_node(node)
    await compiled(world)
    assert await rows(world) == [0, 0, 0, 0]


async def test_a_facet_that_is_put_has_the_walls_of_its_page(world: World):
    node = await world.node("Customer", "Orrery", text="Pays late", agent_bundle_id="sales")
    await world.approve("customer", rules())
    await compiled(world)
    sales = world.of(agent_bundle_id="sales", scopes=["read", "write"])
    page = await the_page(sales, node)
    how: dict[str, Any] = {"heading": "H", "kind": "kb", "source_label": "x"}
    await sales.context.compiled_pages.put_facet(page.page_id, "note", "Lighthouse", **how)
    assert await hits(sales, "lighthouse") == ["Lighthouse"]
    law = world.of(agent_bundle_id="law")
    assert await hits(law, "lighthouse") == []
    with pytest.raises(CompiledPageNotFound):
        await law.context.compiled_pages.put_facet(page.page_id, "note", "Lighthouse", **how)


@pytest.mark.parametrize(
    "wrong",
    [
        {"slug": "A b"},
        {"text": "  "},
        {"text": "x" * 65_537},
        {"text": "a\0"},
        {"heading": ""},
        {"kind": None},
        {"confidence": 2.0},
        {"confidence": float("nan")},
        {"source_label": ""},
        {"source_label": "x" * 501},
    ],
)
async def test_what_is_no_facet_is_refused(world: World, wrong: dict[str, Any]):
    given: dict[str, Any] = {"slug": "a", "text": "x", "heading": "H", "kind": "kb", "source_label": "x", **wrong}
    with pytest.raises((InvalidArgument, LimitExceeded)):
        await world.context.compiled_pages.put_facet(new_id(), given.pop("slug"), given.pop("text"), **given)


async def test_a_page_has_no_more_facets_that_were_put_than_it_may(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_service.compiled_pages.rules.pages.PUT_MAX", 1)
    node = await world.node("Customer", "Orrery", text="x")
    await world.approve("customer", rules())
    await compiled(world)
    page = await the_page(world, node)
    how: dict[str, Any] = {"heading": "H", "kind": "kb", "source_label": "x"}
    await world.context.compiled_pages.put_facet(page.page_id, "one", "x", **how)
    with pytest.raises(LimitExceeded) as refused:
        await world.context.compiled_pages.put_facet(page.page_id, "two", "x", **how)
    assert refused.value.metadata["limit"] == "facets"
    assert (await rows(world))[1] == 2


# Users that are erased


async def erased(world: World, user_id: str) -> Any:
    tenant_id = world.principal.tenant_id
    with psycopg.connect(world.stack.urls.superuser) as connection:  # what goes on behind calls knows those alone
        connection.execute("INSERT INTO access.tenant (id, name) VALUES (%s, %s)", (tenant_id, str(tenant_id)))
    erasure = await world.context.erasures.erase(user_id)
    async with asyncio.timeout(60):
        while erasure.state != "finished":
            await asyncio.sleep(0.05)
            erasure = await world.context.erasures.get(erasure.erasure_id)
    return erasure


def of_tenant(world: World, table: str) -> str:
    """Return all that a table has of a tenant."""
    with psycopg.connect(world.stack.urls.of(world.principal.tenant_id).superuser) as connection:
        rows = connection.execute(
            f"SELECT t::text FROM context.{table} t WHERE tenant_id = %s", (world.principal.tenant_id,)
        )
        return "".join(row for (row,) in rows)


async def test_what_pages_say_of_a_user_goes_with_the_user_and_a_compile_makes_the_rest_anew(world: World):
    """Also what they say of nodes that the user has deleted, and that no compile has missed yet."""
    ada = world.of(user_id="ada")
    shop = await world.node("Customer", "Orrery", text="Pays late")
    await world.node("Opportunity", "Lamps", below=shop, text="Renewal of the lamps")
    hers = await ada.node("Opportunity", "Hers", below=shop, text="Ada told a sesquipedalian secret")
    gone = await ada.node("Opportunity", "Gone", below=shop, text="Another sesquipedalian secret")
    await ada.node("Customer", "Ada sesquipedalian", text="She herself")
    await world.approve("customer", rules(facet(), facet("open", kind="relationship", walk=BELOW)))
    await compiled(world)
    page = await the_page(world, shop)
    put = {"heading": "Note", "kind": "operational", "source_label": "a call"}
    await world.context.compiled_pages.put_facet(page.page_id, "note", "We like them.", **put)
    await world.graph.graph.delete_node(gone)
    assert (await world.context.erasures.plan("ada")).counts["context.compiled_page"] == 2

    erasure = await erased(world, "ada")

    assert erasure.removed["context.compiled_page"] == 2
    tables = ("compiled_page", "facet", "page_dependency", "passage")
    assert not [table for table in tables if "sesquipedalian" in of_tenant(world, table)]
    assert not re.search(r"\bada\b", of_tenant(world, "page_dependency"))  # an id may have these letters, too
    assert await titles(world) == ["Orrery"]
    page = await the_page(world, shop)
    assert [one.slug for one in page.facets] == ["note"] and page.stale
    assert hers not in of_tenant(world, "facet")

    await compiled(world)
    assert await said(world, shop) == {"state": "Pays late", "open": "Renewal of the lamps", "note": "We like them."}
    assert not (await the_page(world, shop)).stale
    assert [hit.title for hit in (await asked(world, "whom do we like?")).hits]


async def test_a_page_of_an_older_release_may_say_anybodys_and_is_emptied(world: World):
    shop = await world.node("Customer", "Orrery", text="Pays late")
    await world.approve("customer", rules(facet()))
    await compiled(world)
    for each in world.stack.urls.all:
        with psycopg.connect(each.superuser) as connection:
            connection.execute("UPDATE context.page_dependency SET node_owner_id = NULL")

    await erased(world, "ada")

    assert "Pays late" not in of_tenant(world, "facet") + of_tenant(world, "passage")
    assert await titles(world) == ["Customer"]
    await compiled(world, definition_name="customer")
    assert await said(world, shop) == {"state": "Pays late"}


# Archives


async def test_definitions_that_an_archive_brings_are_compiled_of_all_nodes_by_the_next_compile(world: World):
    """Pages are in none; behind the first compile only what changed is read, as where a definition was approved."""
    await world.node("Customer", "Orrery", text="Pays late")
    await world.approve("customer", rules(facet()))
    await compiled(world)
    target, parts = World(world.stack), world.context.archives.export_messages(pb.ArchiveScope(tenant=True))
    archive = b"".join([part.data async for part in parts])

    await target.context.archives.import_archive(archive)

    assert (await compiled(target)).pages_written == 1
    assert await titles(target) == ["Orrery"]
    assert (await compiled(target)).nodes_read == 0
