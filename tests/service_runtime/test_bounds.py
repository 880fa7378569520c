"""Keys that are bound to apps, an agent bundle or graphs: what is outside does not exist for them."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, ContextKeepError, EdgeInput, NodeInput
from contextkeep.errors import (
    EdgeNotFound,
    ExternalIdTaken,
    MappingNotFound,
    NodeExists,
    NodeNotFound,
    PermissionDenied,
    RecordExists,
    RecordNotFound,
    UploadNotFound,
)
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ApiKeys, Principal
from tests.conftest import KEY, PRINCIPAL, Addresses

KEYS = {
    KEY: PRINCIPAL,
    "of-sales": replace(PRINCIPAL, graph_names=frozenset({"sales"})),
    "of-two-graphs": replace(PRINCIPAL, graph_names=frozenset({"sales", "default"})),
    "of-billing": replace(PRINCIPAL, agent_bundle_id="billing"),
    "of-crm": replace(PRINCIPAL, app_ids=frozenset({"crm"})),
    "of-two-apps": replace(PRINCIPAL, app_ids=frozenset({"crm", "erp"})),
}
TURN = {"role": "user", "content": "hello"}


@pytest.fixture
def callers() -> ApiKeys:
    return ApiKeys(KEYS)


@pytest.fixture
async def graph(services: Addresses) -> AsyncIterator[AsyncEntityClient]:
    async with AsyncEntityClient(services.entity, api_key=KEY) as client:
        yield client


@pytest.fixture
async def context(services: Addresses) -> AsyncIterator[AsyncContextClient]:
    async with AsyncContextClient(services.context, api_key=KEY) as client:
        yield client


async def told(call: object) -> tuple[str, str]:
    """Return what a caller is told of a call that fails, with ids taken out."""
    with pytest.raises(ContextKeepError) as caught:
        await call  # type: ignore[misc]
    return caught.value.reason, re.sub(r"[0-9a-f-]{36}", "<id>", caught.value.message)


def test_bounds_are_the_same_text_for_the_same_bounds():
    one = replace(PRINCIPAL, app_ids=frozenset({"a", "b"}), graph_names=frozenset({"ü\"'"}), agent_bundle_id="x")

    assert one.bounds == replace(one, app_ids=frozenset({"b", "a"})).bounds
    assert one.bounds == '{"app_ids":["a","b"],"agent_bundle_id":"x","graph_names":["ü\\"\'"]}'
    assert replace(PRINCIPAL, context_id=uuid.UUID(int=7)).bounds == (
        '{"context_id":"00000000-0000-0000-0000-000000000007"}'
    )
    assert PRINCIPAL.bounds == ""


async def test_bounds_hold_for_a_transaction_and_not_a_moment_longer(database: Database):
    bound = Principal(tenant_id=PRINCIPAL.tenant_id, subject="x", graph_names=frozenset({"sales"}))
    asked = "SELECT current_setting('app.bounds', true) AS bounds"
    assert (await database.of(bound).query(asked))[0].bounds == bound.bounds
    assert (await database.of(bound).transaction(lambda t: t.query(asked)))[0].bounds == bound.bounds
    for _ in range(6):  # whichever connection it is
        assert not (await database.of(PRINCIPAL).query(asked))[0].bounds
        assert not (await database.untenanted(asked))[0].bounds


def test_a_key_of_a_context_writes_nothing_that_is_in_none():
    with pytest.raises(PermissionDenied):
        replace(PRINCIPAL, context_id=uuid.uuid4()).check_bounds(graph_name="default", agent_bundle_id="", app_id="")


async def test_a_key_of_a_graph_sees_no_other_graph(graph: AsyncEntityClient):
    sales = graph.with_credential("of-sales")
    other = await graph.graph.create_node("Session", external_id="thread", graph_name="default")
    child = await graph.graph.create_node("Turn", data=TURN)
    edge = await graph.graph.create_edge(other.id, child.id, "Contains")
    await graph.graph.set_node_io(other.id, output={"secret": 1})
    mine = await sales.graph.create_node("Session", external_id="thread")  # the same external id: another graph's
    never = str(uuid.uuid4())

    assert mine.graph_name == "sales"  # the only one that the key has
    for there, missing in ((other.id, never), (child.id, never)):
        assert await told(sales.graph.get_node(there)) == await told(sales.graph.get_node(missing))
        assert await told(sales.graph.get_node_io(there)) == await told(sales.graph.get_node_io(missing))
        assert await told(sales.graph.update_node_status(there, "Failed")) == await told(
            sales.graph.update_node_status(missing, "Failed")
        )
    assert await told(sales.graph.get_edge(edge.id)) == await told(sales.graph.get_edge(never))
    batch = await sales.graph.get_nodes([mine.id, other.id, never])
    assert set(batch.missing_ids) == {other.id, never}
    with pytest.raises(NodeNotFound):
        await sales.graph.get_node_by_external_id("thread", graph_name="default")
    assert (await sales.graph.get_node_by_external_id("thread")).id == mine.id
    assert [one.graph_name async for one in sales.graph.list_graphs()] == ["sales"]
    assert [one async for one in sales.graph.search(graph_name="default")] == []
    assert await sales.graph.count(graph_name="default") == 0
    assert [one async for one in sales.graph.list_edge_types("default")] == []
    with pytest.raises(NodeNotFound):
        [one async for one in sales.graph.traverse(other.id)]


async def test_a_write_outside_of_the_bounds_is_refused(graph: AsyncEntityClient, context: AsyncContextClient):
    for call in (
        graph.with_credential("of-sales").graph.create_node("Session", graph_name="default"),
        graph.with_credential("of-two-graphs").graph.create_node("Session", graph_name="third"),
        graph.with_credential("of-billing").graph.create_node("Session", agent_bundle_id="shipping"),
        graph.with_credential("of-sales").graph.write([NodeInput("Session", graph_name="default")]),
        context.with_credential("of-crm").records.insert("file", "a.txt", app_id="erp"),
        context.with_credential("of-two-apps").records.insert("file", "a.txt"),  # of which?
        context.with_credential("of-billing").blobs.upload(b"bytes", name="a.txt", agent_bundle_id="shipping"),
        context.with_credential("of-sales").uploads.start("a.txt", graph_name="default"),
        context.with_credential("of-crm").mappings.register("m", {"role_field": "role"}, app_id="erp"),
        context.with_credential("of-two-apps").mappings.register("m", {"role_field": "role"}),
    ):
        with pytest.raises(PermissionDenied):
            await call
    assert [one async for one in graph.graph.list_graphs()] == []


async def test_an_agent_bundle_hides_the_nodes_of_others_and_the_edges_to_them(
    graph: AsyncEntityClient, context: AsyncContextClient, tmp_path: Path
):
    billing = graph.with_credential("of-billing")
    session = await billing.graph.create_node("Session")
    own = await billing.graph.create_node("Turn", data=TURN)
    theirs = await graph.graph.create_node("Turn", data=TURN | {"content": "secret"}, agent_bundle_id="shipping")
    behind = await graph.graph.create_node("Turn", data=TURN | {"content": "behind"}, agent_bundle_id="billing")
    for start, end in ((session, own), (session, theirs), (theirs, behind)):
        await graph.graph.create_edge(start.id, end.id, "Contains")

    assert session.agent_bundle_id == "billing"
    assert [one.node.id async for one in billing.graph.traverse(session.id, depth_max=5)] == [own.id]
    assert [one.node.id async for one in graph.graph.traverse(session.id, depth_max=5)] == [
        own.id,
        theirs.id,
        behind.id,
    ]
    assert [edge.to_node_id async for edge in billing.graph.list_edges(session.id)] == [own.id]
    assert [message.content for message in await context.with_credential("of-billing").history.stream(session.id)] == [
        "hello"
    ]
    await billing.graph.export(tmp_path / "graph.ndjson")
    lines = (tmp_path / "graph.ndjson").read_bytes()
    assert theirs.id.encode() not in lines
    assert own.id.encode() in lines
    with pytest.raises(NodeNotFound):
        await billing.graph.create_edge(session.id, theirs.id, "Calls")
    with pytest.raises(EdgeNotFound):
        await billing.graph.delete_edge(from_node_id=session.id, to_node_id=theirs.id, edge_type="Contains")


async def test_an_app_hides_records_searches_manifests_logs_and_uploads(context: AsyncContextClient):
    crm, node = context.with_credential("of-crm"), str(uuid.uuid4())
    theirs = await context.records.insert(
        "data/json", "theirs", content={"secret": 1}, entity_node_id=node, app_id="erp"
    )
    nobodys = await context.records.insert("data/json", "nobodys", entity_node_id=node)
    upload = await context.uploads.start("theirs.bin", entity_node_id=node, app_id="erp")
    mine = await crm.records.insert("data/json", "mine", content={"open": 1}, entity_node_id=node)
    never = uuid.uuid4()

    assert mine.app_id == "crm"
    for there in (theirs.working_memory_id, nobodys.working_memory_id):
        assert await told(crm.records.get(there)) == await told(crm.records.get(never))
        assert await told(crm.records.delete(there)) == await told(crm.records.delete(never))
        assert await told(crm.records.delete(there, purge=True)) == await told(crm.records.delete(never, purge=True))
        with pytest.raises(RecordNotFound):
            [one async for one in crm.records.list_actions(there)]
    assert [one.name async for one in crm.records.list_by_entity(node)] == ["mine"]
    manifest = [one async for one in crm.records.manifest(node)]
    assert "theirs" not in str(manifest)
    assert "nobodys" not in str(manifest)
    assert {hit.record.name for hit in await crm.records.search("theirs mine nobodys")} <= {"mine"}
    history = [event async for event in crm.history.list_events(node)]
    assert "theirs" not in str(history)
    assert theirs.working_memory_id not in str(history)
    with pytest.raises(UploadNotFound):
        await crm.uploads.get(upload.id)
    with pytest.raises(PermissionDenied):
        await crm.records.update(mine.working_memory_id, app_id="erp")


async def test_an_app_sees_its_own_mappings_and_the_shared_ones(context: AsyncContextClient):
    rules = {"role_field": "role", "content_field": "content"}
    crm, of_two = context.with_credential("of-crm"), context.with_credential("of-two-apps")
    for app_id, name in (("erp", "theirs"), ("", "shared"), ("crm", "mine"), ("erp", "shared")):
        await context.mappings.register(name, rules, app_id=app_id)

    assert {(one.app_id, one.mapping_name) async for one in crm.mappings.list() if not one.built_in} == {
        ("", "shared"),
        ("crm", "mine"),
    }
    assert {one.app_id async for one in of_two.mappings.list() if not one.built_in} == {"", "crm", "erp"}
    with pytest.raises(MappingNotFound) as caught:
        await crm.mappings.get("theirs", app_id="erp")
    assert "erp" not in caught.value.message
    with pytest.raises(MappingNotFound):
        await crm.mappings.delete("shared")
    assert (await context.mappings.get("shared")).mapping_name == "shared"
    assert (await crm.mappings.register("shared", rules)).app_id == "crm"


async def test_a_request_id_of_a_key_with_other_bounds_is_another_request(
    graph: AsyncEntityClient, context: AsyncContextClient
):
    request_id, again = uuid.uuid4(), {}
    for key in (KEY, "of-two-graphs", "of-billing"):
        client = graph.with_credential(key)
        node = await client.graph.create_node("Session", request_id=request_id)
        assert (await client.graph.create_node("Session", request_id=request_id)).id == node.id
        again[key] = node.id
    assert len(set(again.values())) == 3
    records = {}
    for key in (KEY, "of-crm", "of-billing"):
        client = context.with_credential(key)
        record = await client.records.insert("file", "a.txt", request_id=request_id)
        repeated = await client.records.insert("file", "a.txt", request_id=request_id)
        assert repeated.working_memory_id == record.working_memory_id
        records[key] = record.working_memory_id
    assert len(set(records.values())) == 3


async def test_an_id_that_is_taken_outside_says_so_and_no_more(graph: AsyncEntityClient, context: AsyncContextClient):
    """Ids are unique in a tenant, external ids in a graph: who knows one learns that it is in use."""
    node = await graph.graph.create_node("Session", external_id="thread", agent_bundle_id="shipping", name="secret")
    record = await context.records.insert("file", "secret", app_id="erp")
    billing = graph.with_credential("of-billing")

    for call, error_class in (
        (billing.graph.create_node("Session", id=node.id), NodeExists),
        (billing.graph.create_node("Session", external_id="thread"), ExternalIdTaken),
        (billing.graph.create_node("Session", external_id="thread", get_existing=True), ContextKeepError),
        (billing.graph.write([NodeInput("Session", id=node.id)], on_existing="skip"), NodeExists),
        (
            context.with_credential("of-crm").records.insert(
                "file", "a.txt", working_memory_id=record.working_memory_id
            ),
            RecordExists,
        ),
    ):
        with pytest.raises(error_class) as caught:
            await call
        assert caught.value.code.name == "ALREADY_EXISTS"
        assert "secret" not in str(caught.value)
        assert "node_id" not in caught.value.metadata


async def test_a_bound_purge_may_be_repeated(context: AsyncContextClient):
    crm = context.with_credential("of-crm")
    record = await crm.records.insert("file", "mine")
    await crm.records.delete(record.working_memory_id, purge=True)

    await crm.records.delete(record.working_memory_id, purge=True)

    assert [one.kind async for one in crm.records.list_actions(record.working_memory_id)] == ["purged"]
    with pytest.raises(RecordNotFound):
        await context.with_credential("of-billing").records.delete(record.working_memory_id, purge=True)


async def test_a_bound_key_works_within_its_bounds(graph: AsyncEntityClient, context: AsyncContextClient):
    """Whatever an agent does in a day, within an agent bundle."""
    billing, files = graph.with_credential("of-billing"), context.with_credential("of-billing")
    session, turn = NodeInput("Session"), NodeInput("Turn", data=TURN)
    edge = EdgeInput(session.id, turn.id, "Contains")
    await billing.graph.write([session, turn], [edge])
    await billing.graph.write([session, turn], [edge], on_existing="skip")
    await billing.progress.append(turn.id, "message", message="working")
    await billing.graph.set_node_io(turn.id, input={"a": 1})
    await billing.embeddings.upsert(turn.id, [1.0, 0.5])
    await billing.graph.update_node_status(turn.id, "Completed")
    assert len([one async for one in billing.progress.list(turn.id)]) == 2
    assert [one.content for one in await files.history.stream(session.id)] == ["hello"]
    assert await billing.graph.count() == 2
    assert [(one.nodes, one.edges) async for one in billing.graph.list_graphs()] == [(2, 1)]
    assert [(one.edge_type, one.edges) async for one in billing.graph.list_edge_types()] == [("Contains", 1)]
    stored = await files.blobs.upload(b"bytes", name="a.txt", entity_node_id=session.id)
    assert await files.blobs.get_content(stored.working_memory_id) == b"bytes"
    await files.records.delete(stored.working_memory_id)
    await files.records.restore(stored.working_memory_id)
    assert [one.name async for one in files.blobs.list(session.id)] == ["a.txt"]
    await billing.graph.reset_node(turn.id)
