"""Definitions: written as drafts, approved by administrators; and what their rules make of a node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from context_service.compiled_pages import model
from context_service.compiled_pages.pure import definition
from context_service.compiled_pages.rules import compile_node
from contextkeep.errors import (
    ChangesHeldUp,
    ChangesNotStarted,
    ContextKeepError,
    InvalidArgument,
    LimitExceeded,
    NodeNotFound,
)
from entity_service.rules import list_changes
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


# Versions and approval


async def test_rules_come_back_as_they_were_put(world: World):
    said = rules(
        facet("below", walk={**BELOW, "direction": "both", "entity_types": ["Opportunity"], "include_archived": True}),
        facet("own", kind="external", when="true", confidence="0.5", as_of="entity.created_at", declassify=True),
        app_id="shop",
        when="entity.name != ''",
        aliases="[entity.name]",
    )
    put = await world.context.definitions.put("customer", said)
    found = await world.context.definitions.get("customer", put.version)
    assert {**said, "graph_name": "default"} == found.rules
    assert (found.name, found.version, found.state, found.created_by) == ("customer", 1, "draft", "tests")


async def test_rivals_approve_one_version(world: World):
    for heading in ("One", "Two", "Three"):
        await world.context.definitions.put("customer", rules(facet(heading=heading)))
    await asyncio.gather(*(world.context.definitions.approve("customer", version) for version in (1, 2, 3, 1, 2, 3)))
    assert len([one async for one in world.context.definitions.list(states=["approved"])]) == 1


async def test_the_first_approval_has_changes_kept_and_a_draft_does_not(world: World):
    await world.context.definitions.put("customer", rules())
    with pytest.raises(ChangesNotStarted):
        await world.graph.changes.list("")
    await world.context.definitions.approve("customer", 1)
    assert (await world.graph.changes.list("")).next_place


async def test_an_approval_that_waits_for_an_older_transaction_says_so(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(list_changes, "_SETTLE_S", 0.1)
    await world.context.definitions.put("customer", rules())
    async with await psycopg.AsyncConnection.connect(world.stack.urls.superuser) as elsewhere:
        await elsewhere.execute("SELECT pg_current_xact_id()")
        with pytest.raises(ChangesHeldUp, match="Postgres cluster") as held_up:
            await world.context.definitions.approve("customer", 1)
    assert held_up.value.metadata["dependency"] == "postgres"
    await world.context.definitions.approve("customer", 1)


async def test_versions_and_definitions_are_no_more_than_are_kept(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_service.compiled_pages.store.definitions.VERSIONS_MAX", 2)
    monkeypatch.setattr("context_service.compiled_pages.rules.definitions.DEFINITIONS_MAX", 2)
    await world.approve("customer", rules())
    for heading in ("Two", "Three", "Four"):
        await world.context.definitions.put("customer", rules(facet(heading=heading)))
    assert [one.version async for one in world.context.definitions.list(page_size=1)] == [4, 3, 1]
    await world.context.definitions.put("second", rules())
    with pytest.raises(LimitExceeded) as refused:
        await world.context.definitions.put("third", rules())
    assert refused.value.metadata["limit"] == "definitions"
    await world.context.definitions.put("second", rules(facet(heading="Two")))


# What rules may be


async def test_a_kind_that_is_none_is_refused(world: World):
    with pytest.raises(InvalidArgument):
        await world.context.definitions.put("customer", rules(facet(kind="gossip")))


# What rules make of a node


async def tried(world: World, said: dict[str, Any], node_id: str) -> Any:
    return await world.context.definitions.test(said, node_id)


async def test_a_facet_has_a_line_for_each_node_and_says_where_it_is_from(world: World):
    customer = await world.node("Customer", "Orrery", text="Pays late", since="2019-01-02T00:00:00Z")
    first = await world.node("Opportunity", "Renewal", below=customer, text="Renewal", open=True)
    await world.node("Opportunity", "Lost", below=customer, text="Lost", open=False)
    second = await world.node("Commitment", "Ship", below=first, text="Ship in May", open=True)
    said = rules(
        facet("state", as_of="timestamp(entity.data.since)", time_to_live="duration('24h')", confidence="0.75"),
        facet("open", kind="relationship", walk=BELOW, when="entity.data.open", text="edge.type + ' ' + entity.name"),
        facet("nothing", walk=BELOW, when="false"),
        aliases="[entity.name + ' Ltd', '']",
    )
    made = await tried(world, said, customer)

    assert made.problems == ()
    assert (made.page.title, made.page.aliases, made.page.page_id) == ("Orrery", ("Orrery Ltd",), "")
    state, opened = made.page.facets
    assert (state.text, state.trust, state.confidence) == ("Pays late", 5, 0.75)
    assert state.as_of == datetime(2019, 1, 2, tzinfo=UTC) and state.fresh_until == datetime(2019, 1, 3, tzinfo=UTC)
    assert [(one.node_id, one.node_version, one.edge_id) for one in state.sources] == [(customer, 1, "")]
    assert (opened.text, opened.kind, opened.trust, opened.fresh_until) == (
        "Has Renewal\nHas Ship",
        "relationship",
        4,
        None,
    )
    assert [(one.node_id, one.edge_version) for one in opened.sources] == [(first, 1), (second, 1)]
    assert all(one.edge_id for one in opened.sources)


async def test_a_facet_is_as_sure_and_as_fresh_as_its_weakest_line(world: World):
    customer = await world.node("Customer", "Orrery")
    for sure, days in ((0.9, 10), (0.4, 2)):
        await world.node("Note", "n", below=customer, text=f"{sure}", sure=sure, day=f"2026-01-{days:02}T00:00:00Z")
    said = rules(
        facet(
            walk=BELOW,
            confidence="entity.data.sure",
            as_of="timestamp(entity.data.day)",
            time_to_live="duration('24h')",
        )
    )
    (state,) = (await tried(world, said, customer)).page.facets
    assert (state.confidence, state.as_of.day, state.fresh_until.day) == (0.4, 10, 3)


async def test_a_facet_says_all_bundles_that_it_read_whether_or_not_they_have_a_line(world: World):
    customer = await world.node("Customer", "Orrery", agent_bundle_id="sales", text="Pays")
    await world.node("Note", below=customer, agent_bundle_id="law", text="")
    own, below = (
        await tried(world, rules(facet(), facet("below", walk={"include_start": True})), customer)
    ).page.facets
    assert (own.agent_bundle_ids, below.agent_bundle_ids) == (("sales",), ("law", "sales"))
    assert below.text == "Pays"


async def test_what_a_key_does_not_see_is_in_no_page_of_its_own(world: World):
    customer = await world.node("Customer", "Orrery", agent_bundle_id="sales", text="Pays")
    await world.node("Note", below=customer, agent_bundle_id="law", text="Sues")
    said = rules(facet(walk={"include_start": True}))
    sales = await tried(world.of(agent_bundle_id="sales"), said, customer)
    assert (sales.page.facets[0].text, sales.page.facets[0].agent_bundle_ids) == ("Pays", ("sales",))
    for bounds in ({"agent_bundle_id": "law"}, {"graph_names": ["g"]}, {"tenant_id": str(new_id())}):
        with pytest.raises(NodeNotFound):
            await tried(world.of(**bounds), said, customer)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("text", "entity.data.many.map(a, entity.data.many.map(b, a * b)).size() > 0 ? 'x' : 'y'"),
    ],
)
async def test_a_value_that_is_none_or_costs_too_much_is_a_problem_and_no_line(world: World, rule: str, value: str):
    customer = await world.node("Customer", "Orrery", text="x", many=list(range(1000)))
    made = await tried(world, rules(facet(**{rule: value})), customer)
    assert [one.rule for one in made.problems] == [f"definition.facets[0].{rule}"]
    assert made.page.facets == ()


async def test_a_page_whose_rules_cost_more_than_a_call_may_spend_is_none(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("context_service.history.pure.limits.HistoryLimits.call_budget", _poor)
    customer = await world.node("Customer", "Orrery", many=list(range(200)))
    made = await tried(world, rules(facet(text="entity.data.many.map(a, string(a)).join(',')")), customer)
    assert (made.page, [one.rule for one in made.problems]) == (None, ["definition"])


def _poor(self: Any) -> Any:
    from context_service.kernel.cel import CallBudget

    return CallBudget(steps_max=300)


async def test_texts_are_cut_and_what_postgres_does_not_store_is_left_out(world: World):
    customer = await world.node("Customer", "Orrery")
    for number in range(3):
        await world.node("Note", below=customer, text=f"{number}" * 30_000)
    said = rules(
        facet("long", walk=BELOW),
        facet("nul", text=r"'a\u0000b'"),
        title="'  two\\nlines  '",
        aliases="[1, 2, 3].map(a, 'x')",
    )
    made = await tried(world, said, customer)
    long, nul = made.page.facets
    assert (long.is_cut, len(long.text.encode()) <= model.FACET_BYTES_MAX, len(long.sources)) == (True, True, 2)
    assert (nul.text, made.page.title, made.page.aliases) == ("ab", "two lines", ("x",))


async def test_a_walk_that_comes_too_far_makes_no_facet(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compile_node, "NODES_MAX", 2)
    customer = await world.node("Customer", "Orrery", text="own")
    for _ in range(3):
        await world.node("Note", below=customer, text="x")
    made = await tried(world, rules(facet(), facet("below", walk=BELOW)), customer)
    assert [one.slug for one in made.page.facets] == ["state"]
    assert [(one.rule, one.node_id) for one in made.problems] == [("definition.facets[1].walk", customer)]


async def test_facets_that_walk_the_same_way_read_as_far_as_each_says(world: World, monkeypatch: pytest.MonkeyPatch):
    customer = await world.node("Customer", "Orrery", text="own", agent_bundle_id="sales")
    near = await world.node("Note", below=customer, text="near", agent_bundle_id="sales")
    await world.node("Note", below=near, text="far", agent_bundle_id="law")
    near_walk = {"edge_types": ["Has"], "depth_max": 1}
    said = rules(
        facet("far", walk=BELOW),
        facet("near", walk=near_walk),
        facet("start", walk={**near_walk, "include_start": True}),
    )

    async def found() -> dict[str, Any]:
        made = await tried(world, said, customer)
        return {one.slug: (one.text, one.agent_bundle_ids) for one in made.page.facets}

    near_ones = {"near": ("near", ("sales",)), "start": ("own\nnear", ("sales",))}
    assert await found() == {"far": ("near\nfar", ("law", "sales")), **near_ones}
    # Now the start and both notes are too many, and each facet walks by itself.
    monkeypatch.setattr(compile_node, "NODES_MAX", 2)
    assert await found() == {"far": ("near\nfar", ("law", "sales")), **near_ones}


async def test_problems_are_told_up_to_a_number(world: World):
    customer = await world.node("Customer", "Orrery")
    for _ in range(model.PROBLEMS_MAX + 2):
        await world.node("Note", below=customer)
    made = await tried(world, rules(facet(walk=BELOW)), customer)
    assert (len(made.problems), made.problems_left_out) == (model.PROBLEMS_MAX, 2)


async def test_trust_is_of_the_kind():
    trusts = {kind.value: trust for kind, trust in definition.TRUST.items()}
    assert trusts == {"operational": 5, "relationship": 4, "compiled": 3, "activity": 2, "kb": 2, "external": 1}


async def test_a_name_that_is_none_is_refused(world: World):
    for name in ("", "  ", "a\0", "x" * 129):
        with pytest.raises(ContextKeepError):
            await world.context.definitions.put(name, rules())
