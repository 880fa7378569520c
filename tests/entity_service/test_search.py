"""Nodes found by what they say and where they hang, in any order, page by page; and what there is, counted."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded, NodeBudgetExceeded, NodeNotFound
from service_runtime.auth import DEFAULT_TENANT_ID
from service_runtime.pages import encode_token
from service_runtime.postgres import Tenant
from tests.conftest import Urls
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.entity_service.model import ModelNode, order_value
from tests.errors import refused
from tests.examples import examples

NODES_MAX = 60
SETTINGS = {"traverse_nodes_max": NODES_MAX}


def wanted(condition: Any = None, **fields: Any) -> pb.NodeFilter:
    if condition is not None:
        fields["condition_json"] = condition if isinstance(condition, str) else json.dumps(condition)
    if "contains" in fields:
        fields["contains_json"] = json.dumps(fields.pop("contains"))
    return pb.NodeFilter(**fields)


async def search(graph: Graph, of: pb.NodeFilter, **fields: Any) -> list[pb.Node]:
    """Every node, page by page."""
    token, rows = "", []
    while True:
        page = await graph.SearchNodes(pb.SearchNodesRequest(filter=of, page_token=token, **fields))
        rows += page.nodes
        token = page.next_page_token
        if not token:
            return rows


async def count(graph: Graph, of: pb.NodeFilter) -> int:
    return (await graph.CountNodes(pb.CountNodesRequest(filter=of))).count


async def names(graph: Graph, condition: Any = None, **fields: Any) -> list[str]:
    """The names of what is found, which must be as many as are counted."""
    options = {key: fields.pop(key) for key in ("order_by", "descending", "page_size") if key in fields}
    of = wanted(condition, **fields)
    found = await search(graph, of, **options)
    assert await count(graph, of) == len(found)
    return [row.name for row in found]


async def test_a_found_node_is_the_node_as_it_is_read(graph: Graph):
    written = await graph.write(node("Task", name="a", data={"z": [1.50], "a": "ü"}, external_id="x"), node(name="b"))

    first, second = await search(graph, wanted())

    assert [first.id, second.id] == [row.id for row in written.nodes]
    assert first == await graph.get(first.id)


async def test_a_condition_is_over_any_field_and_any_path(graph: Graph):
    await graph.write(
        node("Task", specific_type_name="Chore", name="a", status="Running", data={"n": 1, "t": {"u": "x"}}),
        node("Task", name="b", external_id="e", agent_bundle_id="B", data={"n": 2.0, "t": {"u": None}}),
        node("Chore", name="c", created_at={"seconds": 5}, data={"n": "2"}),
    )
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=(await search(graph, wanted({"name": "a"})))[0].id))

    for condition, expected in (
        ({}, "cab"),
        ({"type": "Task"}, "ab"),
        ({"type": "Chore"}, "ca"),
        ({"type": {"$like": "Ch%"}}, "ca"),
        ({"type": {"$nin": ["Chore"]}}, "b"),
        ({"general_type_name": "Chore"}, "c"),
        ({"specific_type_name": {"$ne": "Chore"}}, "b"),
        ({"status": "Running", "is_archived": True}, "a"),
        ({"is_archived": False}, "cb"),
        ({"external_id": {"$exists": True}}, "b"),
        ({"external_id": None}, "ca"),
        ({"agent_bundle_id": "B"}, "b"),
        ({"name": {"$gt": "a"}}, "cb"),
        ({"name": {"$ilike": "A"}}, "a"),
        ({"created_at": {"$lt": "1970-01-01T00:00:06Z"}}, "c"),
        ({"modified_at": {"$gte": "2020-01-01T00:00:00+01:00"}}, "ab"),
        ({"version": {"$gte": 2}}, "a"),
        ({"created_by": "first", "owner_user_id": "", "agent_id": {"$exists": False}, "context_id": None}, "cab"),
        ({"data.n": 2}, "b"),
        ({"data.n": {"$in": [1, "2"]}}, "ca"),
        ({"data.t.u": {"$exists": True}}, "ab"),
        ({"data.t": {"u": "x"}}, "a"),
        ({"$or": [{"data.n": {"$lt": 2}}, {"data.n": "2"}]}, "ca"),
        ({"$not": {"data.n": {"$gt": 1}}}, "ca"),
    ):
        assert "".join(await names(graph, condition, include_archived=True)) == expected, condition


async def test_a_bad_condition_names_its_path(graph: Graph):
    at = "filter.condition_json"
    for condition, path in (
        ("[]", at),
        ("{", at),
        ({"naem": 1}, f"{at}.naem"),
        ({"$and": [{"name": "a"}, {"status": {"$in": "x"}}]}, f"{at}.$and[1].status.$in"),
        ({"$where": 1}, f"{at}.$where"),
        ({"created_at": {"$lt": "yesterday"}}, f"{at}.created_at.$lt"),
        ({"id": "x"}, f"{at}.id"),
        ({"version": "1"}, f"{at}.version"),
        ({"data.n": {"$gt": {}}}, f"{at}.data.n.$gt"),
        ({"data..n": 1}, f"{at}.data..n"),
        ({"is_archived": {"$not": {"$eq": 0}}}, f"{at}.is_archived.$not.$eq"),
    ):
        for call in (search, count):
            async with refused(InvalidArgument, violations=[path]):
                await call(graph, wanted(condition))
    async with refused(LimitExceeded, limit="depth"):
        await search(graph, wanted('{"$not":' * 17 + "{}" + "}" * 17))


async def test_containment_is_of_the_whole_document_down_from_the_top(graph: Graph):
    await graph.write(
        node(name="a", data={"tags": ["x", "y"], "n": {"m": [1, {"k": "v"}]}}),
        node(name="b", data={"tags": ["y"], "n": 1.0}),
    )

    for contains, expected in (
        ({}, "ab"),
        ({"tags": ["y"]}, "ab"),
        ({"tags": ["y", "x"]}, "a"),
        ({"n": {"m": [{"k": "v"}]}}, "a"),
        ({"n": 1}, "b"),
        ({"m": [1]}, ""),
    ):
        assert "".join(await names(graph, contains=contains)) == expected, contains
    for bad in ("[]", "{", '{"a": NaN}'):
        async with refused(InvalidArgument, violations=["filter.contains_json"]):
            await search(graph, pb.NodeFilter(contains_json=bad))


async def test_a_jsonpath_predicate_must_be_true_and_a_path_must_select(graph: Graph):
    await graph.write(
        node(name="a", data={"n": 3, "on": False, "list": [{"k": 1}, {"k": 5}]}),
        node(name="b", data={"n": "3", "on": True, "list": []}),
        node(name="c"),
    )

    for json_path, expected in (
        ("$.n > 1", "a"),
        ("$.n", "ab"),
        ("$.on", "ab"),
        ("$.on == true", "b"),
        ("strict $.n == 3", "a"),
        ("strict $.n", "ab"),
        ("$.list[*] ? (@.k > 4)", "a"),
        ("exists($.list[*].k)", "a"),
        ("!exists($.on)", "c"),
        ("($.n > 1) is unknown", "b"),
        ('$.n like_regex "^3$"', "b"),
        ("$", "abc"),
        ("true", "abc"),
        ("false", ""),
        ("null", ""),
        ("$.on.type()", "ab"),
        ("$ ? (@.on == true)", "b"),
    ):
        assert "".join(await names(graph, json_path=json_path)) == expected, json_path
    for bad in ("$.", "$[", "n > 1", "$.n = 1", "'", '$.n like_regex "("', "$.n; DROP TABLE node"):
        async with refused(InvalidArgument, violations=["filter.json_path"]):
            await search(graph, pb.NodeFilter(json_path=bad))
    await graph.write(node(name="d", data={"n": 1, "d": "2020-01-01"}))
    # What only a row can show is refused where a row of the caller's own is looked at.
    zoned = '$.d.datetime() < "2020-01-01T00:00:00+00".datetime()'
    for find in (search, count):
        async with refused(InvalidArgument, violations=["filter.json_path"]):
            await find(graph, pb.NodeFilter(json_path=zoned))
    deep = "(" * 2000 + "$.n > 1" + ")" * 2000
    assert len(await search(graph, pb.NodeFilter(json_path=deep))) == 1
    async with refused(LimitExceeded, limit="filter.json_path"):
        await search(graph, pb.NodeFilter(json_path="$" + ".a" * 2048))


async def test_a_variable_of_a_jsonpath_is_refused_before_any_row_is_looked_at(graph: Graph):
    """Nothing gives it a value; and whether it was met on the way would tell of rows."""
    for json_path in ("$x", "$.n ? (@ == $x)", '$.k == "x" && $y == 1', 'false && $"a b" == 1', "$[$i]"):
        for find in (search, count):
            async with refused(InvalidArgument, violations=["filter.json_path"]):
                await find(graph, pb.NodeFilter(json_path=json_path))
    await graph.write(node(name="a", data={"$x": "$x", "x": 1}))
    for json_path in ('$."$x" == "$x"', '$ ? (@."x" == 1 && "$y" == "$y")', '$.x.type() like_regex "$"'):
        assert await names(graph, json_path=json_path) == ["a"], json_path


async def test_the_numbers_of_a_jsonpath_have_no_more_digits_than_a_limit(graph: Graph):
    async with refused(LimitExceeded, limit="filter.json_path"):
        await search(graph, pb.NodeFilter(json_path="$.n > 1e130000"))


async def test_nodes_are_found_among_what_a_node_is_connected_to(graph: Graph, others: Graph, missing_id: str):
    top, a, b, c, d = ids = [new_id() for _ in range(5)]
    await graph.write(
        *[node("Task" if name in "ac" else "Note", id=i, name=name) for i, name in zip(ids, "tabcd", strict=True)],
        edge(top, a, "Calls"),
        edge(a, b),
        edge(b, c),
        edge(c, top),
        edge(d, top, "Calls"),
    )

    async def found(condition: Any = None, node_id: str = top, of: dict[str, Any] | None = None, **fields: Any) -> str:
        connected_to = pb.ConnectedTo(node_id=node_id, **fields)
        return "".join(await names(graph, condition, connected_to=connected_to, **(of or {})))

    assert await found() == "abc", "three steps, and never the node itself"
    assert await found(depth_max=1) == "a"
    assert await found({"type": "Task"}) == "ac"
    assert await found(edge_types=["Calls"]) == "a"
    assert await found(direction=pb.DIRECTION_IN, depth_max=1) == "cd"
    assert await found(direction=pb.DIRECTION_BOTH, depth_max=1) == "acd"
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=a))
    assert await found() == "bc", "what is archived is passed through"
    assert await found(of={"include_archived": True}) == "abc"
    assert await found(of={"graph_name": "other"}) == ""
    for to, node_id in ((others, top), (graph, missing_id)):
        async with refused(NodeNotFound, node_id=node_id):
            await search(to, wanted(connected_to=pb.ConnectedTo(node_id=node_id)))
    for field, value in (("depth_max", -1), ("node_id", "x"), ("direction", 9), ("edge_types", [""])):
        path = f"filter.connected_to.{field}" + ("[0]" if field == "edge_types" else "")
        async with refused(InvalidArgument, violations=[path]):
            await search(graph, wanted(connected_to=pb.ConnectedTo(**({"node_id": top} | {field: value}))))
    async with refused(LimitExceeded, limit="filter.connected_to.depth_max"):
        await found(depth_max=101)


async def test_connections_are_looked_for_in_the_graph_of_their_node_and_within_the_budget(graph: Graph):
    top, *rest = [new_id() for _ in range(NODES_MAX + 1)]
    await graph.write(
        *[node(id=i, graph_name="g") for i in (top, *rest)], *[edge(top, i, graph_name="g") for i in rest[1:]]
    )
    assert len(await search(graph, wanted(connected_to=pb.ConnectedTo(node_id=top)))) == NODES_MAX - 1

    await graph.write(edge(top, rest[0], graph_name="g"))

    async with refused(NodeBudgetExceeded):
        await search(graph, wanted(connected_to=pb.ConnectedTo(node_id=top)))


async def test_graphs_bundles_and_archived_nodes_are_apart(graph: Graph, others: Graph):
    rows = [node(name="a"), node(name="b", graph_name="g"), node(name="c", agent_bundle_id="x"), node(name="d")]
    await graph.write(*rows)
    await others.write(node(name="theirs"), node(name="theirs", graph_name="g"))
    archived = (await graph.write(node(name="old"))).nodes[0].id
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=archived))

    assert await names(graph) == ["a", "c", "d"]
    assert await names(graph, graph_name="g") == ["b"]
    assert await names(graph, agent_bundle_id="x") == ["c"]
    assert await names(graph, include_archived=True) == ["a", "c", "d", "old"]
    assert await names(graph, {"is_archived": True}) == []
    assert await names(others) == ["theirs"]
    assert await names(others, {"name": "a"}, graph_name="g") == []


FIELDS = ("created_at", "modified_at", "name", "status", "external_id", "version", "seq", "specific_type_name")


async def test_any_field_orders_from_either_end(graph: Graph):
    await graph.write(
        node("B", name="b", external_id="2", status="x", created_at={"seconds": 30}),
        node("A", name="a", external_id="10", status="z", created_at={"seconds": 20}),
        node("C", name="Z", status="y", created_at={"seconds": 10}),
        node("C", name="ä", status="y", created_at={"seconds": 10}),
    )
    rows = await search(graph, wanted())
    await graph.UpdateNodeData(pb.UpdateNodeDataRequest(node_id=rows[3].id, data_json="{}"))
    rows = await search(graph, wanted())

    def value(row: pb.Node, field: str) -> Any:
        found = getattr(row, field)
        return found.ToMicroseconds() if field.endswith("_at") else found

    for field in FIELDS:
        for descending in (False, True):
            there = [row for row in rows if field != "external_id" or row.external_id]
            expected = sorted(
                there, key=lambda r: (value(r, field), r.created_at.ToMicroseconds(), r.seq), reverse=descending
            )
            expected += sorted(
                [row for row in rows if row not in there],
                key=lambda r: (r.created_at.ToMicroseconds(), r.seq),
                reverse=descending,
            )
            for page_size in (1, 2, 4):
                found = await search(graph, wanted(), order_by=field, descending=descending, page_size=page_size)
                assert [row.name for row in found] == [row.name for row in expected], (field, descending)
    for bad in ("type", "id", "is_archived", "context_id", "nothing", "data..a", "data."):
        async with refused(InvalidArgument, violations=["order_by"]):
            await search(graph, wanted(), order_by=bad)


VALUES = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 10**40, 10**300, 0.1, 1e-30, -1.5, 123456789.000001]),
    st.sampled_from(["", "a", "B", "ä", "a\u0001", "\U0001f600", "x" * 255 + "a", "x" * 255 + "b", "1"]),
    st.booleans(),
    st.none(),
    st.just([1]),
    st.just({"b": 1}),
)


@given(values=st.lists(st.one_of(st.just("none at all"), VALUES), max_size=12), page_size=st.integers(1, 4))
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_path_into_the_data_orders_as_a_walk_does(graph: Graph, values: list[Any], page_size: int):
    name = new_id()
    documents = [{} if value == "none at all" else {"a": {"v": value}} for value in values]
    rows = [node(graph_name=name, data=document) for document in documents]
    written = (await graph.write(*rows)).nodes
    models = [
        ModelNode(id=row.id, created_at=row.created_at.ToMicroseconds(), seq=row.seq, types=("", ""), data=document)
        for row, document in zip(written, documents, strict=True)
    ]

    def place(model: ModelNode) -> Any:
        _, value = order_value(model, "a.v")
        value = value[:256] if isinstance(value, str) else Decimal(str(value))
        return value, model.created_at, model.seq

    for descending in (False, True):
        kinds: list[list[ModelNode]] = [[], [], [], []]
        for model in models:
            kinds[order_value(model, "a.v")[0]].append(model)
        expected = [model.id for kind in kinds for model in sorted(kind, key=place, reverse=descending)]
        found = await search(
            graph, wanted(graph_name=name), order_by="data.a.v", descending=descending, page_size=page_size
        )
        assert [row.id for row in found] == expected


async def test_a_page_ends_at_two_mebibytes_and_has_one_row_at_least(graph: Graph):
    for _ in range(5):
        await graph.write(node(data={"a": "x" * 900_000}))

    page = await graph.SearchNodes(pb.SearchNodesRequest(page_size=1000))

    assert len(page.nodes) == 2
    assert len(await search(graph, wanted())) == 5


async def test_a_list_is_checked(graph: Graph):
    async with refused(InvalidArgument, violations=["page_size"]):
        await search(graph, wanted(), page_size=-1)
    for field, value in (("graph_name", "x" * 129), ("agent_bundle_id", "x" * 513)):
        async with refused(LimitExceeded, limit=f"filter.{field}"):
            await search(graph, wanted(**{field: value}))
    async with refused(InvalidArgument, violations=["filter.json_path"]):
        await search(graph, wanted(json_path="$\0"))
    assert await search(graph, wanted()) == []
    assert await count(graph, wanted()) == 0


async def test_a_token_fits_its_search_only(graph: Graph, others: Graph):
    for to in (graph, others):
        await to.write(*[node(name=name, data={"a": 1}) for name in "abc"])
    request = {"order_by": "name", "page_size": 1}
    token = (await graph.SearchNodes(pb.SearchNodesRequest(**request))).next_page_token

    async def use(to: Graph, page_token: str, **fields: Any) -> None:
        await to.SearchNodes(pb.SearchNodesRequest(page_token=page_token, **(request | fields)))

    await use(graph, token, page_size=2)
    for fields in (
        {"descending": True},
        {"order_by": "created_at"},
        {"filter": wanted({"name": "a"})},
        {"filter": wanted(contains={"a": 1})},
        {"filter": wanted(json_path="$.a")},
        {"filter": wanted(include_archived=True)},
        {"filter": wanted(agent_bundle_id="x")},
        {"filter": wanted(graph_name="x")},
    ):
        async with refused(InvalidPageToken):
            await use(graph, token, **fields)
    async with refused(InvalidPageToken):
        await use(others, token)
    binding = ("SearchNodes", graph.tenant_id, "default", "", "", "", None, "", False, "name", False)
    await use(graph, encode_token(binding, [1, "0", "a", 5, 5]))
    for key in (
        [],
        [1, "0", "a", 5],
        *([kind, "0", "a", 5, 5] for kind in (None, True, -1, 4, 2**63, "1")),
        *([1, number, "a", 5, 5] for number in (None, "x", "NaN", "Infinity", "1e999999", "1e-2000", [], {})),
        *([1, "0", text, 5, 5] for text in (None, 1, "a\0", [])),
        *([1, "0", "a", time, 5] for time in (None, True, "5", 2**63, 1.5)),
        *([1, "0", "a", 5, seq] for seq in (None, True, "5", 2**63, 1.5)),
    ):
        async with refused(InvalidPageToken, violations=["page_token"]):
            await use(graph, encode_token(binding, key))


async def test_graphs_are_listed_by_name_with_what_is_in_them(graph: Graph, others: Graph):
    assert [page async for page in _pages(graph.ListGraphs, pb.ListGraphsRequest)] == [pb.ListGraphsResponse()]
    for place, name in enumerate(["b", "a", "ü", "C"]):
        ids = [new_id() for _ in range(place + 2)]
        await graph.write(*[node(id=i, graph_name=name) for i in ids], edge(ids[0], ids[1], graph_name=name))
    await others.write(node(graph_name="theirs"))
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=ids[0]))

    everything = None
    for page_size in (0, 1, 3, 4):
        pages = [page async for page in _pages(graph.ListGraphs, pb.ListGraphsRequest, page_size=page_size)]
        listed = [(row.graph_name, row.nodes, row.edges) for page in pages for row in page.graphs]
        assert sorted(listed) == sorted([("b", 2, 1), ("a", 3, 1), ("ü", 4, 1), ("C", 5, 1)])
        assert everything in (None, listed)
        everything = listed
        assert len(pages) == (4 if page_size == 1 else 2 if page_size == 3 else 1)


async def test_edge_types_are_listed_by_name_with_how_many_there_are(graph: Graph, others: Graph):
    a, b, c = ids = [new_id() for _ in range(3)]
    rows = [*[node(id=i) for i in ids], edge(a, b), edge(a, c), edge(b, c, "Calls"), edge(c, a, "zap")]
    await graph.write(*rows)
    await graph.write(node(id=(d := new_id()), graph_name="g"), edge(d, d, graph_name="g"))
    await others.write(*rows[:3], edge(a, b, "Theirs"))

    for page_size in (0, 1, 2, 3):
        pages = [page async for page in _pages(graph.ListEdgeTypes, pb.ListEdgeTypesRequest, page_size=page_size)]
        listed = [(row.edge_type, row.edges) for page in pages for row in page.edge_types]
        assert listed == [("Calls", 1), ("Contains", 2), ("zap", 1)]
    (page,) = [page async for page in _pages(graph.ListEdgeTypes, pb.ListEdgeTypesRequest, graph_name="g")]
    assert [(row.edge_type, row.edges) for row in page.edge_types] == [("Contains", 1)]
    assert await graph.ListEdgeTypes(pb.ListEdgeTypesRequest(graph_name="none")) == pb.ListEdgeTypesResponse()


async def test_lists_of_counts_are_checked(graph: Graph):
    for rpc, request in ((graph.ListGraphs, pb.ListGraphsRequest), (graph.ListEdgeTypes, pb.ListEdgeTypesRequest)):
        async with refused(InvalidArgument, violations=["page_size"]):
            await rpc(request(page_size=-1))
        bindings = [("ListGraphs", graph.tenant_id), ("ListEdgeTypes", graph.tenant_id, "default")]
        for token in ("x", *(encode_token(binding, key) for binding in bindings for key in ([1], [None], ["\0"], []))):
            async with refused(InvalidPageToken, violations=["page_token"]):
                await rpc(request(page_token=token))


async def _pages(rpc: Any, request: Any, **fields: Any) -> Any:
    token = ""
    while True:
        page = await rpc(request(page_token=token, **fields))
        token = page.next_page_token
        page.next_page_token = ""
        yield page
        if not token:
            return


ROWS = 30_000


@pytest.fixture
def many(urls: Urls) -> None:
    """A graph as large as planners take seriously."""
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO entity.node (tenant_id, id, created_at, modified_at, graph_name, general_type_name,"
            "  specific_type_name, status, created_by, data)"
            " SELECT %s, gen_random_uuid(), now() + n * interval '1 ms', now(), 'default',"
            "  CASE WHEN n %% 1000 = 0 THEN 'Rare' ELSE 'Message' END,"
            "  CASE WHEN n %% 3000 = 0 THEN 'Rarer' ELSE 'Message' END,"
            "  'Created', 'x', jsonb_build_object('key', n, 'role', 'user', 'tags', jsonb_build_array('t' || n %% 500))"
            " FROM generate_series(1, %s) n",
            (DEFAULT_TENANT_ID, ROWS),
        )
        connection.execute("VACUUM ANALYZE entity.node")


async def test_searches_use_indexes_below_row_level_security(graph: Graph, many: None, monkeypatch: pytest.MonkeyPatch):
    """The service's own statements, explained as they are sent: as its role, with a tenant set."""
    plans: list[str] = []
    query = Tenant.query

    async def explained(self: Tenant, sql: str, parameters: Any = (), **options: Any) -> Any:
        if options.get("ad_hoc"):
            (row,) = await query(self, f"EXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF) {sql}", parameters, ad_hoc=True)
            plans.append(json.dumps(row[0]))
        return await query(self, sql, parameters, **options)

    monkeypatch.setattr(Tenant, "query", explained)
    for of, options, index in (
        (wanted(contains={"tags": ["t7"]}), {}, "node_data"),
        (wanted(json_path="$.key == 77"), {}, "node_data"),
        (wanted(json_path='$.tags[*] ? (@ == "t9")'), {"order_by": "data.key"}, "node_data"),
        (wanted({"data.key": 99}), {}, "node_data"),
        (wanted(contains={"role": "user"}), {"page_size": 10}, "node_created"),
        (wanted(), {"page_size": 10}, "node_created"),
        (wanted({"general_type_name": "Rare"}), {}, "node_general_type"),
        (wanted({"type": "Rarer"}), {"order_by": "name"}, "node_specific_type"),
    ):
        request = pb.SearchNodesRequest(filter=of, **({"page_size": 1000} | options))
        page = await graph.SearchNodes(request)
        assert page.nodes
        assert index in plans[-1], f"{of} {options}: {plans[-1]}"
        assert "Seq Scan" not in plans[-1]
    assert await count(graph, wanted(contains={"tags": ["t7"]})) == ROWS // 500
    assert "node_data" in plans[-1]
