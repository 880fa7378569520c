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
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded, NodeBudgetExceeded
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Tenant
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
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


async def test_connections_are_looked_for_in_the_graph_of_their_node_and_within_the_budget(graph: Graph):
    top, *rest = [new_id() for _ in range(NODES_MAX + 1)]
    await graph.write(
        *[node(id=i, graph_name="g") for i in (top, *rest)], *[edge(top, i, graph_name="g") for i in rest[1:]]
    )
    assert len(await search(graph, wanted(connected_to=pb.ConnectedTo(node_id=top)))) == NODES_MAX - 1

    await graph.write(edge(top, rest[0], graph_name="g"))

    async with refused(NodeBudgetExceeded):
        await search(graph, wanted(connected_to=pb.ConnectedTo(node_id=top)))


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


async def test_lists_of_counts_are_checked(graph: Graph):
    for rpc, request in ((graph.ListGraphs, pb.ListGraphsRequest), (graph.ListEdgeTypes, pb.ListEdgeTypesRequest)):
        async with refused(InvalidArgument, violations=["page_size"]):
            await rpc(request(page_size=-1))
        bindings = [("ListGraphs", graph.tenant_id), ("ListEdgeTypes", graph.tenant_id, "default")]
        for token in ("x", *(encode_token(binding, key) for binding in bindings for key in ([1], [None], ["\0"], []))):
            async with refused(InvalidPageToken, violations=["page_token"]):
                await rpc(request(page_token=token))


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
