"""No answer is larger than a client takes: the largest things, in the largest numbers, written in the widest letters.

A message over 4 MiB is refused by the caller's own gRPC, after the server has made it, with an error that helps nobody.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import psycopg
import pytest
from psycopg import sql

from contextkeep.context.v1 import chat_history_pb2 as history
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.values.ids import new_id
from tests.conftest import Urls
from tests.hostile.calling import Client, faults
from tests.hostile.tables import columns_of
from tests.hostile.things import RPCS

MIB = 1024 * 1024
NODES, RECORDS = 640, 1000  # as messages 7 and 40 KB each
WIDE = "💩"  # four bytes
COLUMNS = graph.TraverseColumn.values()[1:]  # the id is the first


@pytest.fixture(scope="module")
def key() -> uuid.UUID:
    return uuid.uuid4()


def answers(client: Client, key: uuid.UUID, name: str, request: Any) -> list[Any]:
    outcome = client.call(RPCS[name], request, key=key, timeout_s=60)
    assert not faults(outcome), outcome
    assert outcome.ok, outcome
    assert all(answer.ByteSize() <= 4 * MIB for answer in outcome.answers)
    return list(outcome.answers)


def paged(client: Client, key: uuid.UUID, name: str, request: Any, rows: str) -> list[Any]:
    """Return the rows of all pages."""
    found: list[Any] = []
    while True:
        (answer,) = answers(client, key, name, request)
        found += getattr(answer, rows)
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token


@pytest.fixture(scope="module")
def session(client: Client, key: uuid.UUID) -> str:
    """A node with many children, all as large as their texts may be."""
    session = str(new_id())
    answers(client, key, "WriteGraph", graph.WriteGraphRequest(nodes=[graph.NodeInput(id=session, **texts())]))
    for _ in range(2):
        request = graph.WriteGraphRequest()
        for _ in range(NODES // 2):
            child = request.nodes.add(id=str(new_id()), external_id=f"{WIDE * 119}{new_id()}", **texts())
            request.edges.add(
                from_node_id=session, to_node_id=child.id, edge_type=WIDE * 128, graph_name=child.graph_name
            )
        answers(client, key, "WriteGraph", request)
    return session


def walked(messages: list[Any]) -> set[str]:
    """Return the ids of what a walk answered, as nodes or as rows."""
    rows = {row[0] for message in messages if message.rows_json for row in json.loads(message.rows_json)}
    return rows | {reached.node.id for message in messages for reached in message.nodes}


def texts() -> dict[str, Any]:
    kind = {"general_type_name": WIDE * 128, "specific_type_name": f"x{WIDE * 127}", "graph_name": WIDE * 128}
    return {**kind, "name": WIDE * 512, "agent_bundle_id": WIDE * 512, "status": WIDE * 128}


@pytest.mark.parametrize("depth_max", [1, 2])
@pytest.mark.parametrize("columns", [[], COLUMNS], ids=["nodes", "columns"])
def test_a_walk_over_nodes_with_long_names(
    client: Client, key: uuid.UUID, session: str, depth_max: int, columns: list[int]
):
    request = graph.TraverseRequest(start_node_ids=[session], depth_max=depth_max, columns=columns)
    assert len(walked(answers(client, key, "Traverse", request))) == NODES


def test_a_list_of_edges_with_long_types(client: Client, key: uuid.UUID, session: str):
    request = graph.ListEdgesRequest(node_id=session, page_size=1000)
    assert len(paged(client, key, "ListEdges", request, "edges")) == NODES


def test_many_nodes_with_long_names_at_once_are_refused_with_what_to_do(client: Client, key: uuid.UUID, session: str):
    walk = graph.TraverseRequest(start_node_ids=[session])
    ids = [node.node.id for answer in answers(client, key, "Traverse", walk) for node in answer.nodes]
    outcome = client.call(RPCS["BatchGetNodes"], graph.BatchGetNodesRequest(node_ids=ids), key=key)
    assert (faults(outcome), outcome.reason) == ([], "ANSWER_TOO_LARGE")
    assert outcome.metadata["use"]


@pytest.fixture(scope="module")
def heavy(client: Client, key: uuid.UUID) -> str:
    """A node with eight children; each has a mebibyte of data, of input, of output, and two in its timeline."""
    heavy = str(new_id())
    mebibyte = '{"a":"' + WIDE * ((MIB - 8) // 4) + '"}'
    answers(client, key, "CreateNode", graph.CreateNodeRequest(node=graph.NodeInput(id=heavy, **texts())))
    for _ in range(8):
        child = graph.NodeInput(id=str(new_id()), data_json=mebibyte, **texts())
        joined = graph.EdgeInput(
            from_node_id=heavy, to_node_id=child.id, edge_type="Calls", graph_name=child.graph_name, data_json=mebibyte
        )
        answers(client, key, "CreateNode", graph.CreateNodeRequest(node=child))
        answers(client, key, "CreateEdge", graph.CreateEdgeRequest(edge=joined))
        answers(client, key, "SetNodeIO", graph.SetNodeIORequest(node_id=child.id, input_json=mebibyte))
        envelope = graph.AppendProgressRequest(
            node_id=child.id, type=graph.ENVELOPE_TYPE_VALUE, value_json=mebibyte, error_json=mebibyte
        )
        answers(client, key, "AppendProgress", envelope)
    return heavy


@pytest.mark.parametrize("depth_max", [1, 2])
@pytest.mark.parametrize("asked", [{}, {"include_io": True}, {"columns": COLUMNS}], ids=["", "io", "columns"])
def test_a_walk_over_nodes_with_much_data(
    client: Client, key: uuid.UUID, heavy: str, depth_max: int, asked: dict[str, Any]
):
    request = graph.TraverseRequest(start_node_ids=[heavy], depth_max=depth_max, **asked)
    assert len(walked(answers(client, key, "Traverse", request))) == 8


def test_a_timeline_of_large_values(client: Client, key: uuid.UUID, heavy: str):
    request = graph.ListProgressRequest(node_id=heavy)
    assert len(paged(client, key, "ListProgress", request, "envelopes")) == 8


def test_a_list_of_edges_with_much_data(client: Client, key: uuid.UUID, heavy: str):
    assert len(paged(client, key, "ListEdges", graph.ListEdgesRequest(node_id=heavy), "edges")) == 8


def test_input_and_output_that_postgres_spells_longer(client: Client, key: uuid.UUID):
    """A comma becomes a comma and a space."""
    longer = "[" + "1," * (MIB // 2 - 2) + "1]"
    (created,) = answers(
        client,
        key,
        "CreateNode",
        graph.CreateNodeRequest(node=graph.NodeInput(**texts(), data_json=f'{{"a":{longer[:-20]}1]}}')),
    )
    node_id = created.node.id
    answers(client, key, "SetNodeIO", graph.SetNodeIORequest(node_id=node_id, input_json=longer, output_json=longer))
    (read,) = answers(client, key, "GetNodeIO", graph.GetNodeIORequest(node_id=node_id))
    assert len(read.input_json) > 1.4 * MIB

    for asked in ({"include_io": True}, {"columns": COLUMNS}):
        walk = graph.TraverseRequest(start_node_ids=[node_id], include_start=True, **asked)
        outcome = client.call(RPCS["Traverse"], walk, key=key)
        assert (faults(outcome), outcome.reason) == ([], "ANSWER_TOO_LARGE")


def test_a_list_of_records_with_long_texts(client: Client, key: uuid.UUID, shared_urls: Urls):
    entity_id = str(new_id())
    record = memory.WMRecordInput(
        entity_node_id=entity_id,
        memory_type=WIDE * 100,
        subtype=WIDE * 128,
        semantic_purpose=WIDE * 512,
        name=WIDE * 512,
        content_type=WIDE * 256,
        graph_name=WIDE * 128,
        agent_bundle_id=WIDE * 512,
        app_id=WIDE * 512,
        tags=[WIDE * 128] * 64,
    )
    for tags in (64, 0):
        del record.tags[tags:]
        (inserted,) = answers(client, key, "InsertWMRecord", memory.InsertWMRecordRequest(record=record))
        with psycopg.connect(shared_urls.of(key).admin, autocommit=True) as connection:
            copies = sql.SQL(
                "INSERT INTO context.wm_record ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM ("
                "  SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'seq', 1000000 + i))).*"
                "  FROM context.wm_record r, generate_series(1, %s) i WHERE r.id = %s) copy"
            ).format(columns=columns_of(connection, "context.wm_record"))
            connection.execute(copies, (RECORDS // 2 - 1, inserted.record.working_memory_id))
    request = memory.FetchWMRecordsByEntityRequest(entity_node_id=entity_id, page_size=RECORDS)
    assert len(paged(client, key, "FetchWMRecordsByEntity", request, "records")) == RECORDS


def test_a_message_of_a_history_that_is_all_one_answer_can_hold(client: Client, key: uuid.UUID):
    """Content, name, parts and metadata of a mebibyte each."""
    (session,) = answers(
        client, key, "CreateNode", graph.CreateNodeRequest(node=graph.NodeInput(general_type_name="S"))
    )
    data_json = '{"a":"' + "x" * (MIB - 8) + '"}'
    turn = graph.NodeInput(id=str(new_id()), general_type_name="T", data_json=data_json)
    joined = graph.EdgeInput(from_node_id=session.node.id, to_node_id=turn.id, edge_type="Contains")
    answers(client, key, "WriteGraph", graph.WriteGraphRequest(nodes=[turn], edges=[joined]))
    fields = {
        "content": "entity.data.a",
        "name": "entity.data.a",
        "parts": "[entity.data.a]",
        "metadata": "entity.data",
    }
    rules = history.MappingRules(messages=[history.MessageRule(role="'user'", **fields)])
    answers(client, key, "RegisterMapping", history.RegisterMappingRequest(mapping_name="large", rules=rules))
    for name in ("GetChatHistory", "StreamChatHistory"):
        request = RPCS[name].request(node_id=session.node.id, mapping_name="large")
        outcome = client.call(RPCS[name], request, key=key)
        assert not faults(outcome), outcome
        assert outcome.ok or outcome.reason == "ANSWER_TOO_LARGE", outcome
