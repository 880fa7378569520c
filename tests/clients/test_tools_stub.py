"""Tools through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import json
from collections.abc import Iterator

import grpc
import pytest

from contextkeep import ContextClient, Record, new_id
from contextkeep.context.v1 import tools_pb2 as pb
from contextkeep.context.v1.tools_pb2_grpc import ToolsStub
from contextkeep.errors import ToolNotFound
from tests.conftest import KEY, METADATA, Addresses
from tests.errors import raised

STUB = ToolsStub


@pytest.fixture(scope="module")
def record(stack: Addresses) -> Iterator[Record]:
    with ContextClient(stack.context, api_key=KEY) as context:
        yield context.upload_blob(b"what it holds", name="notes.txt", memory_type="file", entity_node_id=new_id())


def test_ListTools_answers_names_and_schemas(grpc_stub):
    tools = {tool.tool_name: tool for tool in grpc_stub.ListTools(pb.ListToolsRequest(), metadata=METADATA).tools}
    assert tools["wm_read"].read_only
    assert tools["wm_archive"].destructive
    assert json.loads(tools["wm_read"].input_schema_json)["required"] == ["working_memory_id"]
    reading = grpc_stub.ListTools(pb.ListToolsRequest(read_only=True), metadata=METADATA).tools
    assert [tool.tool_name for tool in reading] == [name for name, tool in tools.items() if tool.read_only]


def test_ListResources_answers_the_records_of_an_entity(grpc_stub, record):
    request = pb.ListResourcesRequest(entity_node_id=record.entity_node_id)
    (resource,) = grpc_stub.ListResources(request, metadata=METADATA).resources
    assert (resource.uri, resource.name, resource.size_bytes) == (f"wm://{record.working_memory_id}", "notes.txt", 13)


def test_ExecuteTool_answers_json(grpc_stub, record):
    arguments_json = json.dumps({"working_memory_id": record.working_memory_id})
    request = pb.ExecuteToolRequest(tool_name="wm_read", arguments_json=arguments_json)
    answer = json.loads(grpc_stub.ExecuteTool(request, metadata=METADATA).result_json)
    assert answer["content"] == "what it holds"
    request.tool_name = "wm_drop"
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.ExecuteTool(request, metadata=METADATA)
    assert type(raised(error.value)) is ToolNotFound
