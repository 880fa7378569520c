"""ChatHistory through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contextkeep import EdgeInput, EntityClient, NodeInput, new_id
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from tests.conftest import KEY, METADATA, Addresses

STUB = ChatHistoryStub


@pytest.fixture(scope="module")
def session_id(stack: Addresses) -> Iterator[str]:
    session = NodeInput("Session")
    turns = [NodeInput("Turn", data={"user_input": f"q{n}", "assistant_output": f"a{n}"}) for n in range(2)]
    with EntityClient(stack.entity, api_key=KEY) as graph:
        graph.write_graph([session, *turns], [EdgeInput(session.id, turn.id, "Contains") for turn in turns])
    yield session.id


@pytest.fixture
def mapping(grpc_stub) -> pb.Mapping:
    rules = pb.MappingRules(role_field="role", content_field="text")
    request = pb.RegisterMappingRequest(mapping_name=f"mapping-{new_id()}", rules=rules)
    return grpc_stub.RegisterMapping(request, metadata=METADATA).mapping


def test_GetChatHistory_answers_the_conversation(grpc_stub, session_id):
    answer = grpc_stub.GetChatHistory(pb.GetChatHistoryRequest(node_id=session_id), metadata=METADATA)
    assert [message.content for message in answer.messages] == ["q0", "a0", "q1", "a1"]


def test_StreamChatHistory_streams_the_same(grpc_stub, session_id):
    request = pb.StreamChatHistoryRequest(node_id=session_id, max_messages=3)
    answers = grpc_stub.StreamChatHistory(request, metadata=METADATA)
    assert [message.content for answer in answers for message in answer.messages] == ["a0", "q1", "a1"]


def test_AssembleContext_says_where_each_message_is_from(grpc_stub, session_id):
    answer = grpc_stub.AssembleContext(pb.AssembleContextRequest(node_id=session_id), metadata=METADATA)
    given = [(one.message.content, one.rule, node.edge_type) for node in answer.nodes for one in node.messages]
    assert given == [
        ("q0", "rules.messages[0]", "Contains"),
        ("a0", "rules.messages[1]", "Contains"),
        ("q1", "rules.messages[0]", "Contains"),
        ("a1", "rules.messages[1]", "Contains"),
    ]


def test_TestMapping_says_what_rules_would_do(grpc_stub, session_id):
    rules = pb.MappingRules(messages=[pb.MessageRule(role="'user'", content="entity.data.user_input")])
    answer = grpc_stub.TestMapping(pb.TestMappingRequest(rules=rules, node_id=session_id), metadata=METADATA)
    assert [node.messages[0].message.content for node in answer.nodes] == ["q0", "q1"]
    assert answer.nodes[0].evaluations[0].value_json == '"q0"'


def test_FetchEntityHistory_tells_what_happened(grpc_stub, session_id):
    request = pb.FetchEntityHistoryRequest(node_id=session_id)
    answer = grpc_stub.FetchEntityHistory(request, metadata=METADATA)
    assert [pb.HistoryEventKind.Name(event.kind) for event in answer.events] == [
        "HISTORY_EVENT_KIND_NODE_CREATED",
        "HISTORY_EVENT_KIND_EDGE_CREATED",
        "HISTORY_EVENT_KIND_EDGE_CREATED",
    ]


def test_RegisterMapping_again_changes_nothing(grpc_stub, mapping):
    request = pb.RegisterMappingRequest(mapping_name=mapping.mapping_name, rules=mapping.rules)
    answer = grpc_stub.RegisterMapping(request, metadata=METADATA)
    assert (answer.mapping, answer.changed) == (mapping, False)


def test_GetMapping_answers_what_is_registered(grpc_stub, mapping):
    request = pb.GetMappingRequest(mapping_name=mapping.mapping_name)
    assert grpc_stub.GetMapping(request, metadata=METADATA).mapping == mapping


def test_DeleteMapping_removes_it(grpc_stub, mapping):
    request = pb.DeleteMappingRequest(mapping_name=mapping.mapping_name)
    assert grpc_stub.DeleteMapping(request, metadata=METADATA).mapping == mapping
    listed = grpc_stub.ListMappings(pb.ListMappingsRequest(page_size=1000), metadata=METADATA)
    assert mapping.mapping_name not in {each.mapping_name for each in listed.mappings}


def test_ListMappings_marks_the_built_in_ones(grpc_stub, mapping):
    answer = grpc_stub.ListMappings(pb.ListMappingsRequest(page_size=1000), metadata=METADATA)
    found = {each.mapping_name: each.built_in for each in answer.mappings}
    assert found["simple_chat"]
    assert found[mapping.mapping_name] is False
