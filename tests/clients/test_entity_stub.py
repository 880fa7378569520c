"""EntityGraph through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import json
import time
import uuid

import grpc
import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextkeep.ids import new_id
from tests.conftest import METADATA
from tests.errors import raised

STUB = EntityGraphStub


@pytest.fixture
def node(grpc_stub) -> pb.Node:
    request = pb.CreateNodeRequest(node=pb.NodeInput(general_type_name="Session", data_json='{"a": 1}'))
    return grpc_stub.CreateNode(request, metadata=METADATA).node


@pytest.fixture
def child(grpc_stub, node) -> pb.Node:
    request = pb.CreateNodeRequest(node=pb.NodeInput(general_type_name="Turn", name=f"turn {new_id()}"))
    child = grpc_stub.CreateNode(request, metadata=METADATA).node
    edge = pb.EdgeInput(from_node_id=node.id, to_node_id=child.id, edge_type="Contains")
    grpc_stub.CreateEdge(pb.CreateEdgeRequest(edge=edge), metadata=METADATA)
    return child


def test_CreateNode_answers_the_node(node):
    assert (node.general_type_name, node.status, json.loads(node.data_json)) == ("Session", "Created", {"a": 1})


def test_CreateEdge_joins_two_nodes(grpc_stub, node, child):
    edge = pb.EdgeInput(from_node_id=child.id, to_node_id=node.id, edge_type="InResponseTo")
    answer = grpc_stub.CreateEdge(pb.CreateEdgeRequest(edge=edge), metadata=METADATA).edge
    assert (answer.from_node_id, answer.to_node_id, answer.edge_type) == (child.id, node.id, "InResponseTo")


def test_WriteGraph_writes_rows_that_know_each_other(grpc_stub):
    nodes = [pb.NodeInput(id=new_id(), general_type_name="Turn") for _ in range(2)]
    edges = [pb.EdgeInput(from_node_id=nodes[0].id, to_node_id=nodes[1].id, edge_type="Calls")]
    answer = grpc_stub.WriteGraph(pb.WriteGraphRequest(nodes=nodes, edges=edges), metadata=METADATA)
    assert [row.id for row in answer.nodes] == [node.id for node in nodes]
    assert len(answer.edges) == 1


def test_GetNode_answers_what_was_written(grpc_stub, node):
    assert grpc_stub.GetNode(pb.GetNodeRequest(node_id=node.id), metadata=METADATA).node == node


def test_GetNode_without_a_key_is_unauthenticated(grpc_stub, node):
    with pytest.raises(grpc.RpcError) as raised:
        grpc_stub.GetNode(pb.GetNodeRequest(node_id=node.id))
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_BatchGetNodes_lists_what_is_missing(grpc_stub, node):
    request = pb.BatchGetNodesRequest(node_ids=[node.id, missing := new_id()])
    answer = grpc_stub.BatchGetNodes(request, metadata=METADATA)
    assert [found.id for found in answer.nodes] == [node.id]
    assert answer.missing_ids == [missing]


def test_GetNodeByExternalId_finds_the_callers_own_id(grpc_stub):
    external_id = f"thread {new_id()}"
    request = pb.CreateNodeRequest(node=pb.NodeInput(general_type_name="Session", external_id=external_id))
    node = grpc_stub.CreateNode(request, metadata=METADATA).node
    answer = grpc_stub.GetNodeByExternalId(pb.GetNodeByExternalIdRequest(external_id=external_id), metadata=METADATA)
    assert answer.node == node


def test_GetNodeByName_counts_its_namesakes(grpc_stub, child):
    answer = grpc_stub.GetNodeByName(pb.GetNodeByNameRequest(name=child.name), metadata=METADATA)
    assert (answer.node.id, answer.matches) == (child.id, 1)


def test_UpdateNodeData_merges(grpc_stub, node):
    request = pb.UpdateNodeDataRequest(node_id=node.id, data_json='{"b": 2}', expected_version=1)
    answer = grpc_stub.UpdateNodeData(request, metadata=METADATA)
    assert (json.loads(answer.node.data_json), answer.node.version) == ({"a": 1, "b": 2}, 2)


def test_UpdateNodeStatus_sets_the_status(grpc_stub, node):
    request = pb.UpdateNodeStatusRequest(node_id=node.id, status="Running", expected_status="Created")
    assert grpc_stub.UpdateNodeStatus(request, metadata=METADATA).node.status == "Running"


def test_ArchiveNode_works_both_ways(grpc_stub, node):
    for restore in (False, True):
        request = pb.ArchiveNodeRequest(node_id=node.id, restore=restore)
        assert grpc_stub.ArchiveNode(request, metadata=METADATA).node.is_archived is not restore


def test_SetNodeIO_replaces_the_side_that_is_given(grpc_stub, node):
    for sides in ({"input_json": "1", "output_json": "null"}, {"input_json": '{"a": 2}'}):
        answer = grpc_stub.SetNodeIO(pb.SetNodeIORequest(node_id=node.id, **sides), metadata=METADATA)
    io = grpc_stub.GetNodeIO(pb.GetNodeIORequest(node_id=node.id), metadata=METADATA)
    assert (io.input_json, io.output_json, io.modified_at) == ('{"a": 2}', "null", answer.modified_at)


def test_GetNodeIO_is_empty_where_nothing_was_set(grpc_stub, node):
    io = grpc_stub.GetNodeIO(pb.GetNodeIORequest(node_id=node.id), metadata=METADATA)
    assert io == pb.GetNodeIOResponse()


def test_AppendProgress_appends_to_the_timeline(grpc_stub, node):
    request = pb.AppendProgressRequest(
        node_id=node.id, type=pb.ENVELOPE_TYPE_VALUE, sub_type="return", value_json="[1]", request_id=new_id()
    )
    answer = grpc_stub.AppendProgress(request, metadata=METADATA)
    assert grpc_stub.AppendProgress(request, metadata=METADATA) == answer
    (envelope,) = grpc_stub.ListProgress(pb.ListProgressRequest(node_id=node.id), metadata=METADATA).envelopes
    assert (envelope.seq, envelope.value_json, envelope.sub_type) == (answer.seq, "[1]", "return")


def test_ListProgress_includes_what_the_node_calls(grpc_stub, node, child):
    call = pb.EdgeInput(from_node_id=node.id, to_node_id=child.id, edge_type="Calls")
    grpc_stub.CreateEdge(pb.CreateEdgeRequest(edge=call), metadata=METADATA)
    status = pb.UpdateNodeStatusRequest(node_id=child.id, status="Running")
    grpc_stub.UpdateNodeStatus(status, metadata=METADATA)
    (envelope,) = grpc_stub.ListProgress(pb.ListProgressRequest(node_id=node.id), metadata=METADATA).envelopes
    assert (envelope.node_id, envelope.type, envelope.status) == (
        child.id,
        pb.ENVELOPE_TYPE_STATUS,
        pb.ENVELOPE_STATUS_RUNNING,
    )


def test_ClearProgress_empties_the_timeline(grpc_stub, node):
    grpc_stub.UpdateNodeStatus(pb.UpdateNodeStatusRequest(node_id=node.id, status="Failed"), metadata=METADATA)
    assert grpc_stub.ClearProgress(pb.ClearProgressRequest(node_id=node.id), metadata=METADATA).envelopes_deleted == 1
    assert not grpc_stub.ListProgress(pb.ListProgressRequest(node_id=node.id), metadata=METADATA).envelopes


def test_SearchNodes_finds_what_a_condition_says(grpc_stub, node, child):
    wanted = pb.NodeFilter(
        condition_json=json.dumps({"type": "Turn", "name": {"$like": "turn%"}}),
        connected_to=pb.ConnectedTo(node_id=node.id),
    )
    answer = grpc_stub.SearchNodes(pb.SearchNodesRequest(filter=wanted), metadata=METADATA)
    assert list(answer.nodes) == [child]


def test_CountNodes_counts_them(grpc_stub, node, child):
    wanted = pb.NodeFilter(json_path="$.a == 1", condition_json=json.dumps({"id": {"$in": [node.id, child.id]}}))
    assert grpc_stub.CountNodes(pb.CountNodesRequest(filter=wanted), metadata=METADATA).count == 1


def test_ListGraphs_counts_nodes_and_edges(grpc_stub):
    name = new_id()
    nodes = [pb.NodeInput(id=new_id(), graph_name=name, general_type_name="Turn") for _ in range(2)]
    edge = pb.EdgeInput(from_node_id=nodes[0].id, to_node_id=nodes[1].id, edge_type="Calls", graph_name=name)
    grpc_stub.WriteGraph(pb.WriteGraphRequest(nodes=nodes, edges=[edge]), metadata=METADATA)
    graphs = grpc_stub.ListGraphs(pb.ListGraphsRequest(page_size=1000), metadata=METADATA).graphs
    assert pb.GraphCount(graph_name=name, nodes=2, edges=1) in graphs


def test_ListEdgeTypes_counts_the_edges_of_each(grpc_stub, child):
    types = grpc_stub.ListEdgeTypes(pb.ListEdgeTypesRequest(), metadata=METADATA).edge_types
    assert [row.edges > 0 for row in types if row.edge_type == "Contains"] == [True]


def test_StartChanges_gives_a_place_and_again_one(grpc_stub):
    for _ in range(2):
        assert grpc_stub.StartChanges(pb.StartChangesRequest(), metadata=METADATA).place


def test_ListChanges_tells_what_is_behind_a_place(grpc_stub):
    place = grpc_stub.StartChanges(pb.StartChangesRequest(), metadata=METADATA).place
    request = pb.CreateNodeRequest(node=pb.NodeInput(general_type_name="Customer"))
    node_id = grpc_stub.CreateNode(request, metadata=METADATA).node.id

    give_up_at = time.monotonic() + 5
    while not (page := grpc_stub.ListChanges(pb.ListChangesRequest(place=place), metadata=METADATA)).changes:
        assert time.monotonic() < give_up_at
        time.sleep(0.05)
    (change,) = page.changes
    assert (change.node_id, change.kind, change.general_type_name) == (node_id, pb.CHANGE_KIND_CHANGED, "Customer")
    assert not grpc_stub.ListChanges(pb.ListChangesRequest(place=page.next_place), metadata=METADATA).changes


def test_ExportGraph_is_what_ImportGraph_takes(grpc_stub, node):
    exported = grpc_stub.ExportGraph(pb.ExportGraphRequest(graph_name=node.graph_name), metadata=METADATA)
    lines = b"".join(message.lines for message in exported)
    assert node.id.encode() in lines


def test_ImportGraph_writes_the_rows_of_its_lines(grpc_stub):
    node_id = new_id()
    line = b'{"node": {"id": "%s", "general_type_name": "Session"}}\n' % node_id.encode()
    requests = [pb.ImportGraphRequest(header=pb.ImportHeader(graph_name="imported")), pb.ImportGraphRequest(lines=line)]
    grpc_stub.ImportGraph(iter(requests), metadata=METADATA)
    assert grpc_stub.GetNode(pb.GetNodeRequest(node_id=node_id), metadata=METADATA).node.graph_name == "imported"


@pytest.fixture
def embedding(grpc_stub, node) -> pb.Embedding:
    request = pb.UpsertEmbeddingRequest(node_id=node.id, name=new_id(), vector=[3, 4], metadata_json='{"a": 1}')
    return grpc_stub.UpsertEmbedding(request, metadata=METADATA).embedding


def test_UpsertEmbedding_replaces_the_vector_of_a_name(grpc_stub, embedding):
    request = pb.UpsertEmbeddingRequest(node_id=embedding.node_id, name=embedding.name, vector=[1, 2, 3], model="m")
    answer = grpc_stub.UpsertEmbedding(request, metadata=METADATA).embedding
    assert (embedding.dimension, answer.dimension, answer.model) == (2, 3, "m")


def test_ListEmbeddings_brings_the_values_if_asked(grpc_stub, embedding):
    request = pb.ListEmbeddingsRequest(node_id=embedding.node_id, with_vectors=True)
    (listed,) = grpc_stub.ListEmbeddings(request, metadata=METADATA).embeddings
    assert (listed.name, list(listed.vector)) == (embedding.name, [3, 4])


def test_SearchSimilar_finds_the_nearest_first(grpc_stub, embedding, child):
    request = pb.UpsertEmbeddingRequest(node_id=child.id, name=embedding.name, vector=[4, 3])
    grpc_stub.UpsertEmbedding(request, metadata=METADATA)
    request = pb.SearchSimilarRequest(vector=[3, 4], name=embedding.name)
    nodes = grpc_stub.SearchSimilar(request, metadata=METADATA).nodes
    assert [(row.node.id, row.similarity) for row in nodes] == [(embedding.node_id, 1), (child.id, 0.96)]


def test_DeleteEmbedding_leaves_none(grpc_stub, embedding):
    request = pb.DeleteEmbeddingRequest(node_id=embedding.node_id, name=embedding.name)
    grpc_stub.DeleteEmbedding(request, metadata=METADATA)
    request = pb.ListEmbeddingsRequest(node_id=embedding.node_id)
    assert not grpc_stub.ListEmbeddings(request, metadata=METADATA).embeddings


@pytest.fixture
def edge(grpc_stub, node, child) -> pb.Edge:
    (edge,) = grpc_stub.ListEdges(pb.ListEdgesRequest(node_id=node.id), metadata=METADATA).edges
    return edge


def test_GetEdge_answers_what_was_written(grpc_stub, edge):
    assert grpc_stub.GetEdge(pb.GetEdgeRequest(edge_id=edge.id), metadata=METADATA).edge == edge


def test_BatchGetEdges_lists_what_is_missing(grpc_stub, edge):
    request = pb.BatchGetEdgesRequest(edge_ids=[missing := new_id(), edge.id])
    answer = grpc_stub.BatchGetEdges(request, metadata=METADATA)
    assert (list(answer.edges), answer.missing_ids) == ([edge], [missing])


def test_UpdateEdgeData_merges(grpc_stub, edge):
    request = pb.UpdateEdgeDataRequest(edge_id=edge.id, data_json='{"b": 2}', expected_version=1)
    answer = grpc_stub.UpdateEdgeData(request, metadata=METADATA)
    assert (json.loads(answer.edge.data_json), answer.edge.version) == ({"b": 2}, 2)


def test_DeleteEdge_takes_an_id_or_the_ends(grpc_stub, edge):
    assert grpc_stub.DeleteEdge(pb.DeleteEdgeRequest(edge_id=edge.id), metadata=METADATA).edge == edge
    ends = {"from_node_id": edge.from_node_id, "to_node_id": edge.to_node_id, "edge_type": "Calls"}
    grpc_stub.CreateEdge(pb.CreateEdgeRequest(edge=pb.EdgeInput(**ends)), metadata=METADATA)
    assert grpc_stub.DeleteEdge(pb.DeleteEdgeRequest(**ends), metadata=METADATA).edge.edge_type == "Calls"


def test_DeleteNode_takes_its_edges_along(grpc_stub, node, child):
    assert grpc_stub.DeleteNode(pb.DeleteNodeRequest(node_id=child.id), metadata=METADATA).edges_deleted == 1
    assert not grpc_stub.ListEdges(pb.ListEdgesRequest(node_id=node.id), metadata=METADATA).edges


def test_ResetNode_puts_a_node_back_to_before_its_run(grpc_stub, node):
    request = pb.UpdateNodeStatusRequest(node_id=node.id, status="Failed")
    grpc_stub.UpdateNodeStatus(request, metadata=METADATA)
    assert grpc_stub.ResetNode(pb.ResetNodeRequest(node_id=node.id), metadata=METADATA).node.status == "Created"


def test_ListEdges_lists_the_edges_of_a_node(grpc_stub, node, child):
    (edge,) = grpc_stub.ListEdges(pb.ListEdgesRequest(node_id=node.id), metadata=METADATA).edges
    assert edge.to_node_id == child.id


def test_Traverse_streams_what_it_reaches(grpc_stub, node, child):
    request = pb.TraverseRequest(start_node_ids=[node.id], edge_types=["Contains"], depth_max=1)
    pages = list(grpc_stub.Traverse(request, metadata=METADATA))
    assert [reached.node.id for page in pages for reached in page.nodes] == [child.id]
    assert pages[0].indexed


def test_Traverse_carries_input_and_output_with_include_io(grpc_stub, node, child):
    grpc_stub.SetNodeIO(pb.SetNodeIORequest(node_id=child.id, output_json="[1]"), metadata=METADATA)
    request = pb.TraverseRequest(start_node_ids=[node.id], include_start=True, include_io=True)
    rows = [row for page in grpc_stub.Traverse(request, metadata=METADATA) for row in page.nodes]
    assert [(row.HasField("io"), row.io.output_json) for row in rows] == [(False, ""), (True, "[1]")]


def test_EraseOwned_answers_how_far_it_is_and_again_the_same(grpc_stub):
    erasing = pb.EraseOwnedRequest(erasure_id=str(uuid.uuid4()), subject=f"user {uuid.uuid4()}")
    for _ in range(2):
        assert grpc_stub.EraseOwned(erasing, metadata=METADATA).removed.nodes == 0


def test_GetOwned_counts_of_whom_and_names_one_of_two(grpc_stub):
    asking = pb.GetOwnedRequest(subject=f"user {uuid.uuid4()}")
    assert grpc_stub.GetOwned(asking, metadata=METADATA).owned == pb.Owned()
    asking.erasure_id = str(uuid.uuid4())
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetOwned(asking, metadata=METADATA)
    assert raised(refused.value).reason == "INVALID_ARGUMENT"
