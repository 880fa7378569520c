"""Manifests: what there is below a root, over the wire and both services."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from context_service.working_memory.rules.manifest import GROUPS_MAX
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import AnswerTooLarge, InvalidArgument, InvalidPageToken, LimitExceeded, Unavailable
from service_runtime.postgres import Across, Database, Tenant
from service_runtime.rpc.calls import current_call
from tests.conftest import KEY, PRINCIPAL, Addresses
from tests.context_service.working_memory.callers import Caller, Start, an_id

T = datetime(2026, 1, 1, tzinfo=UTC)
KIB = 1024


class World:
    """Both services, a caller of each, and nodes that are named by words."""

    def __init__(self, caller: Caller, context: AsyncContextClient, graph: AsyncEntityClient) -> None:
        self.caller = caller
        self.context = context
        self.graph = graph
        self.ids: dict[str, str] = {}

    async def tree(self, edges: str, *, archived: str = "") -> None:
        """Write "root>a root>b a=Calls>c": nodes in the order in which they are named, one second apart."""
        nodes: dict[str, NodeInput] = {}
        written = []
        for one in edges.split():
            near, edge_type, far = re.fullmatch(r"(\w+)(?:=(\w+))?>(\w+)", one).groups()  # type: ignore[union-attr]
            for name in (near, far):
                at = T + timedelta(seconds=len(nodes))
                nodes.setdefault(name, NodeInput("Entity", name=name, created_at=at, specific_type_name=f"T{name}"))
            written.append(EdgeInput(nodes[near].id, nodes[far].id, edge_type or "Contains"))
        await self.graph.graph.write(nodes.values(), written)
        self.ids |= {name: str(node.id) for name, node in nodes.items()}
        for name in archived.split():
            await self.graph.graph.archive_node(self.ids[name])

    async def records(self, names: str, **fields: Any) -> None:
        for name in names.split():
            await self.caller.insert(entity_node_id=self.ids.setdefault(name, an_id()), **fields)

    async def manifest(self, root: str, **options: Any) -> list[str]:
        """Return each entity as "path: count type, ...", by names."""
        names = {node_id: name for name, node_id in self.ids.items()}
        shown = []
        async for entity in self.context.records.manifest(self.ids[root], **options):
            path = "/".join(names[node_id] for node_id in entity.path)
            groups = ", ".join(f"{group.record_count} {group.memory_type}" for group in entity.groups)
            shown.append(f"{path}: {groups}")
            assert entity.depth == len(entity.path) - 1
            assert entity.parent_node_id == (entity.path[-2] if entity.depth else "")
        return shown


@pytest.fixture
async def world(services: Addresses) -> AsyncIterator[World]:
    async with (
        grpc.aio.insecure_channel(services.context) as channel,
        AsyncContextClient(services.context, api_key=KEY) as context,
        AsyncEntityClient(services.entity, api_key=KEY) as graph,
    ):
        yield World(Caller(services.context, channel), context, graph)


async def test_entities_come_in_the_order_of_the_walk_with_where_they_hang(world: World):
    await world.tree("root>a root=Owns>b a=HAS_STEP>c b>d")
    await world.records("root a c d")
    await world.records("c", memory_type="data/json", content_json="[1, 2]")

    assert await world.manifest("root") == [
        "root: 1 file",
        "root/a: 1 file",
        "root/a/c: 1 data/json, 1 file",
        "root/b/d: 1 file",
    ]
    *_, c, d = [entity async for entity in world.context.records.manifest(world.ids["root"])]
    assert (c.name, c.specific_type_name, c.edge_type, d.edge_type) == ("c", "Tc", "HAS_STEP", "Contains")
    assert [group.size_bytes for group in c.groups] == [6, 0]


async def test_an_entity_that_is_reached_in_several_ways_is_there_once_by_the_shortest(world: World):
    await world.tree("root>a root>b a>c b>c root>c c>root")
    await world.records("root a b c")
    assert await world.manifest("root") == ["root: 1 file", "root/a: 1 file", "root/b: 1 file", "root/c: 1 file"]


async def test_only_some_edges_are_followed_and_only_so_deep(world: World):
    await world.tree("root>a a>b b>c c>d root=REFERENCES>e")
    await world.records("root a b c d e")
    assert await world.manifest("root") == ["root: 1 file", "root/a: 1 file", "root/a/b: 1 file", "root/a/b/c: 1 file"]
    assert await world.manifest("root", depth_max=1) == ["root: 1 file", "root/a: 1 file"]
    assert len(await world.manifest("root", depth_max=100)) == 5
    assert await world.manifest("root", edge_types=["REFERENCES"]) == ["root: 1 file", "root/e: 1 file"]


async def test_a_root_that_is_no_node_gives_its_own_records(world: World):
    await world.records("nobody")
    assert await world.manifest("nobody") == ["nobody: 1 file"]
    world.ids["nothing"] = an_id()
    assert await world.manifest("nothing") == []


async def test_archived_nodes_are_left_out_and_what_hangs_below_them_is_not(world: World):
    await world.tree("root>a a>b", archived="a")
    await world.records("a b")
    archived = await world.caller.insert(entity_node_id=world.ids["b"], memory_type="image/png")
    await world.caller.DeleteWMRecord(working_memory_id=archived.working_memory_id)

    assert await world.manifest("root") == ["root/a/b: 1 file"]
    assert await world.manifest("root", include_archived=True) == ["root/a: 1 file", "root/a/b: 1 file, 1 image/png"]


async def test_records_are_filtered_as_in_lists(world: World):
    await world.tree("root>a root>b")
    await world.records("a", memory_type="image/png", name="x-1", tags=["t"], metadata_json='{"k": {"v": 1}}')
    await world.records("a b", name="y-1", subtype="s", semantic_purpose="p")

    for options, found in (
        ({"memory_types": ["image/png", "none"]}, ["root/a: 1 image/png"]),
        ({"subtypes": ["s"], "semantic_purposes": ["p"]}, ["root/a: 1 file", "root/b: 1 file"]),
        ({"names": ["y-1"]}, ["root/a: 1 file", "root/b: 1 file"]),
        ({"name_prefix": "x"}, ["root/a: 1 image/png"]),
        ({"tags": ["t"]}, ["root/a: 1 image/png"]),
        ({"metadata_contains": {"k": {"v": 1}}}, ["root/a: 1 image/png"]),
        ({"names": ["z"]}, []),
    ):
        assert await world.manifest("root", **options) == found, options


async def test_records_come_newest_first_and_only_so_many_but_all_are_counted(world: World):
    for number in range(5):
        await world.records("one", name=f"n{number}", content_json="[1]")
    (entity,) = [one async for one in world.context.records.manifest(world.ids["one"], records_max=2)]
    (group,) = entity.groups
    assert (group.record_count, group.size_bytes) == (5, 15)
    assert [record.name for record in group.records] == ["n4", "n3"]
    assert [record.content_json for record in group.records] == ["", ""]

    (entity,) = [one async for one in world.context.records.manifest(world.ids["one"], counts_only=True)]
    assert (entity.record_count, entity.groups[0].records) == (5, ())


@pytest.mark.parametrize("page_size", [1, 2, 3, 100])
async def test_pages_have_each_entity_once(world: World, page_size: int):
    await world.tree("root>a root>b root>c a>d")
    await world.records("root a c d")
    shown = ["root: 1 file", "root/a: 1 file", "root/c: 1 file", "root/a/d: 1 file"]
    assert await world.manifest("root", page_size=page_size) == shown
    assert await world.manifest("root", page_size=page_size, counts_only=True) == shown


async def test_a_page_of_large_records_ends_at_its_bytes_and_cuts_only_its_first_entity(world: World):
    await world.tree("root>a root>b")
    for name, count in (("root", 40), ("a", 10), ("b", 10)):
        for _ in range(count):
            await world.records(name, description="x" * 60 * KIB, memory_type="data/json")
        await world.records(name)

    pages, token = [], ""
    while not pages or token:
        request = pb.FetchWMManifestRequest(root_node_id=world.ids["root"], page_token=token)
        page = await world.caller.call("FetchWMManifest", request)
        pages.append([[(group.record_count, len(group.records)) for group in one.groups] for one in page.entities])
        token = page.next_page_token

    assert pages == [[[(40, 33), (1, 0)]], [[(10, 10), (1, 1)], [(10, 10), (1, 1)]]]


async def test_an_entity_of_too_many_memory_types_is_refused(world: World, database: Database):
    world.ids["one"] = an_id()
    await database.tenant(PRINCIPAL.tenant_id).query(
        "INSERT INTO context.wm_record (tenant_id, id, entity_node_id, memory_type, name, created_by)"
        " SELECT %s, gen_random_uuid(), %s, 't' || n, 'n', '' FROM generate_series(0, %s) n",
        (PRINCIPAL.tenant_id, world.ids["one"], GROUPS_MAX),
    )
    request = pb.FetchWMManifestRequest(root_node_id=world.ids["one"])
    error = await world.caller.error("FetchWMManifest", request)
    assert isinstance(error, AnswerTooLarge)
    assert error.metadata["use"] == "QueryWMRecords"


async def test_a_page_is_one_walk_and_one_query(world: World, monkeypatch: pytest.MonkeyPatch):
    await world.tree(" ".join(f"root>n{number}" for number in range(30)))
    await world.records(" ".join(f"n{number}" for number in range(30)))
    statements: list[str] = []
    query = Tenant.query

    async def counted(self: Tenant, sql: str | Across, *args: Any, **options: Any) -> Any:
        if current_call.get() is not None:  # no work in the background
            statements.append(sql if isinstance(sql, str) else sql.sql)
        return await query(self, sql, *args, **options)

    monkeypatch.setattr(Tenant, "query", counted)
    assert len(await world.manifest("root")) == 30
    assert sum("context.wm_record" in sql for sql in statements) == 1
    assert len(statements) < 10  # a walk is a statement a level


async def test_a_token_is_bound_to_its_manifest(world: World):
    await world.tree("root>a")
    await world.records("root a")
    first = pb.FetchWMManifestRequest(root_node_id=world.ids["root"], page_size=1)
    token = (await world.caller.call("FetchWMManifest", first)).next_page_token
    for other in (
        pb.FetchWMManifestRequest(root_node_id=world.ids["a"], page_token=token),
        pb.FetchWMManifestRequest(root_node_id=world.ids["root"], page_token=token, depth_max=1),
        pb.FetchWMManifestRequest(root_node_id=world.ids["root"], page_token=token, tags=["x"]),
        pb.FetchWMManifestRequest(root_node_id=world.ids["root"], page_token="x"),
    ):
        assert isinstance(await world.caller.error("FetchWMManifest", other), InvalidPageToken)


@pytest.mark.parametrize(
    ("request_fields", "error_class", "field"),
    [
        ({"root_node_id": ""}, InvalidArgument, "root_node_id"),
        ({"root_node_id": "x"}, InvalidArgument, "root_node_id"),
        ({"depth_max": -1}, InvalidArgument, "depth_max"),
        ({"depth_max": 101}, LimitExceeded, "depth_max"),
        ({"records_max": -1}, InvalidArgument, "records_max"),
        ({"page_size": -1}, InvalidArgument, "page_size"),
        ({"edge_types": [""]}, InvalidArgument, "edge_types[0]"),
        ({"edge_types": ["x"] * 101}, LimitExceeded, "edge_types"),
        ({"tags": ["x"] * 101}, LimitExceeded, "tags"),
        ({"metadata_contains_json": "["}, InvalidArgument, "metadata_contains_json"),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    caller: Caller, request_fields: dict[str, Any], error_class: type[Exception], field: str
):
    request = pb.FetchWMManifestRequest(**{"root_node_id": an_id(), **request_fields})
    error = await caller.error("FetchWMManifest", request)
    assert type(error) is error_class
    assert [one.field for one in error.violations] == ([field] if field else [])


async def test_without_the_entity_service_the_answer_is_unavailable_and_names_it(start: Start):
    caller = await start(entity_service_url="127.0.0.1:1")
    error = await caller.error("FetchWMManifest", pb.FetchWMManifestRequest(root_node_id=an_id()))
    assert isinstance(error, Unavailable)
    assert error.metadata["dependency"] == "entity-service"
