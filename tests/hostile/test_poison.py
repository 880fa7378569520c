"""What one tenant stores changes no answer of another, however odd it is: by no error, no order and no sum.

Searches read views that Postgres may look through, so a condition could be put to rows of others before their tenant
is looked at; whatever it made of them must not be seen.
"""

from __future__ import annotations

import itertools
import json
import uuid
from typing import Any

import pytest

from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from tests.conftest import neighbour_of
from tests.hostile.calling import Client, Key
from tests.hostile.things import RPCS

POISON: list[Any] = [
    "text",
    "1" * 500,
    "9" * 4000 + "x",
    10**300,
    -1e-300,
    1e308,
    [],
    {"deep": [[[[1]]]]},
    None,
    True,
    "(((",
    "2026-13-45T99:99:99Z",
    "\u202e%_\\",
]
CONDITIONS: list[dict[str, Any]] = [
    {"data.n": {"$gt": 1}},
    {"data.n": {"$lte": 10**18}},
    {"data.n": {"$ilike": "%(((%"}},
    {"data.n": {"$in": [1, "text", None]}},
    {"data.n.deep": {"$exists": True}},
    {"$not": {"data.n": 2}},
    {"$or": [{"data.n": {"$lt": 3}}, {"name": {"$like": "%e%"}}]},
]
PATHS = [
    "$.n.datetime() > 1",
    "$.n ? (@ > 1)",
    '$.n ? (@ like_regex "^(a+)+$")',
    "$.n.double() > 1",
    "strict $.n[0] == 1",
]


@pytest.fixture(scope="module")
def tenants(client: Client) -> tuple[uuid.UUID, uuid.UUID]:
    """One beside whom another stores what is odd."""
    own = uuid.uuid4()
    other = neighbour_of(own)
    for n in (1, 2, 3):
        put(client, own, n)
    for value in POISON * 3:
        put(client, other, value)
    return own, other


def put(client: Client, tenant_id: uuid.UUID, value: Any) -> None:
    data = json.dumps({"n": value})
    node = graph.NodeInput(general_type_name="T", name=f"name {str(value)[:50]}", data_json=data)
    record = memory.WMRecordInput(
        memory_type="m", name=f"name {str(value)[:50]}", metadata_json=data, content_json=data
    )
    for rpc, request in (
        ("CreateNode", graph.CreateNodeRequest(node=node)),
        ("InsertWMRecord", memory.InsertWMRecordRequest(record=record)),
    ):
        outcome = client.call(RPCS[rpc], request, key=tenant_id)
        assert outcome.ok, outcome


def test_searches_of_nodes_are_answered_as_if_nobody_else_were_there(
    client: Client, tenants: tuple[uuid.UUID, uuid.UUID]
):
    own, _ = tenants
    filters = [graph.NodeFilter(condition_json=json.dumps(condition)) for condition in CONDITIONS]
    filters += [graph.NodeFilter(json_path=path) for path in PATHS]
    for wanted in [graph.NodeFilter(), *filters]:
        for order_by in ("", "data.n", "name", "data.n.deep"):
            request = graph.SearchNodesRequest(filter=wanted, order_by=order_by)
            outcome = client.call(RPCS["SearchNodes"], request, key=own)
            assert outcome.ok, (wanted, order_by, outcome)
            assert {json.loads(node.data_json)["n"] for node in outcome.answers[0].nodes} <= {1, 2, 3}
        count = client.call(RPCS["CountNodes"], graph.CountNodesRequest(filter=wanted), key=own)
        assert count.ok
        assert count.answers[0].count <= 3


def test_a_secret_of_another_tenant_changes_no_answer_letter_by_letter(client: Client):
    """Of a JSONPath that raises an error only where what stands before it is true: the error would tell of the row."""
    own = uuid.uuid4()
    bound = neighbour_of(own)
    hidden = {"kind": "x", "secret": "s3cr3t", "at": "2026-01-01 00:00:00"}
    for tenant_id, graph_name in ((neighbour_of(own), ""), (bound, "theirs")):
        node = graph.NodeInput(general_type_name="T", graph_name=graph_name, data_json=json.dumps(hidden))
        assert client.call(RPCS["CreateNode"], graph.CreateNodeRequest(node=node), key=tenant_id).ok
    answers = set()
    for key, letter, raising in itertools.product(
        (own, Key(tenant_id=bound, graph_names=("mine",))),
        "sxy",
        ("$y == 1", '$.at.datetime() < "2026-01-01T00:00:00+00:00".datetime()'),
    ):
        wanted = graph.NodeFilter(json_path=f'$.kind == "x" && $.secret starts with "{letter}" && {raising}')
        for rpc, request in (
            ("CountNodes", graph.CountNodesRequest(filter=wanted)),
            ("SearchNodes", graph.SearchNodesRequest(filter=wanted)),
        ):
            outcome = client.call(RPCS[rpc], request, key=key)
            answers.add((rpc, raising, outcome.ok, "" if outcome.ok else outcome.error.details()))
    assert len(answers) == 4, answers


def test_questions_about_records_are_answered_as_if_nobody_else_were_there(
    client: Client, tenants: tuple[uuid.UUID, uuid.UUID]
):
    own, _ = tenants
    request = memory.QueryWMRecordsRequest(select=["count(*)", "sum(metadata.n)"], where_json='{"memory_type": "m"}')
    outcome = client.call(RPCS["QueryWMRecords"], request, key=own)
    assert outcome.ok, outcome
    (row,) = map(json.loads, outcome.answers[0].rows_json)
    assert row == {"count(*)": 3, "sum(metadata.n)": 6}
    for condition in CONDITIONS:
        where = json.dumps(condition).replace("data.n", "metadata.n")
        request = memory.QueryWMRecordsRequest(select=["metadata.n"], where_json=where)
        request.order_by.add(column="metadata.n", descending=True)
        outcome = client.call(RPCS["QueryWMRecords"], request, key=own)
        assert outcome.ok, (condition, outcome)
        shown = [json.loads(one)["metadata.n"] for one in outcome.answers[0].rows_json]
        assert shown == sorted(shown, reverse=True)
        assert set(shown) <= {1, 2, 3}


def test_words_that_only_others_have_find_nothing(client: Client, tenants: tuple[uuid.UUID, uuid.UUID]):
    own, other = tenants
    for key, found in ((own, 0), (other, 3)):
        request = memory.SearchWMRecordsRequest(text="deep")
        outcome = client.call(RPCS["SearchWMRecords"], request, key=key)
        assert outcome.ok, outcome
        assert len(outcome.answers[0].hits) == found
