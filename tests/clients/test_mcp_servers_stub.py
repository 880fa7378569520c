"""MCP servers through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress

import grpc
import pytest

from contextkeep.context.v1 import mcp_servers_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import METADATA
from tests.errors import raised
from tests.fakes.mcp_server import FakeMcp, fake_mcp

STUB = KnowledgeStub
TOOL = "search_tickets"


@pytest.fixture(scope="module")
def tickets() -> Iterator[FakeMcp]:
    with fake_mcp() as fake:
        yield fake


@pytest.fixture
def server(grpc_stub, tickets) -> Iterator[pb.McpServer]:
    """A server, until the test ends: other tests of the tenant would ask a tool that is asked by default."""
    said = pb.McpServerInput(server_id=f"s{uuid.uuid4().hex}", url=tickets.url)
    yield grpc_stub.PutMcpServer(pb.PutMcpServerRequest(server=said), metadata=METADATA).server
    with suppress(grpc.RpcError):
        grpc_stub.DeleteMcpServer(pb.DeleteMcpServerRequest(server_id=said.server_id), metadata=METADATA)


@pytest.fixture
def tool(grpc_stub, server) -> pb.McpTool:
    request = pb.DiscoverMcpToolsRequest(server_id=server.server_id)
    (tool,) = grpc_stub.DiscoverMcpTools(request, metadata=METADATA).tools
    return tool


def refusal(call, request) -> str:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=METADATA)
    return raised(refused.value).reason


def test_PutMcpServer_counts_how_often_it_was_put(grpc_stub, server):
    assert (server.version, server.has_secret, server.display_name) == (1, False, server.server_id)
    said = pb.McpServerInput(server_id=server.server_id, url=server.url, display_name="Tickets", disabled=True)
    again = grpc_stub.PutMcpServer(pb.PutMcpServerRequest(server=said), metadata=METADATA).server
    assert (again.version, again.display_name, again.disabled) == (2, "Tickets", True)


def test_ListMcpServers_has_it(grpc_stub, server):
    assert server in grpc_stub.ListMcpServers(pb.ListMcpServersRequest(page_size=200), metadata=METADATA).servers


def test_DiscoverMcpTools_answers_what_the_server_has(grpc_stub, server, tool):
    assert (tool.tool_name, tool.declares_read_only, tool.declares_search_safe) == (TOOL, True, True)
    assert (tool.state, tool.description) == (pb.MCP_TOOL_STATE_FOUND, "Finds tickets.")
    assert refusal(grpc_stub.DiscoverMcpTools, pb.DiscoverMcpToolsRequest(server_id="no")) == "MCP_SERVER_NOT_FOUND"


def test_ListMcpTools_answers_those_of_a_server(grpc_stub, server, tool):
    listing = pb.ListMcpToolsRequest(server_id=server.server_id)
    assert list(grpc_stub.ListMcpTools(listing, metadata=METADATA).tools) == [tool]


def test_ApproveMcpTool_makes_arguments_of_the_schema(grpc_stub, tool):
    request = pb.ApproveMcpToolRequest(server_id=tool.server_id, tool_name=TOOL, is_default=True)
    approved = grpc_stub.ApproveMcpTool(request, metadata=METADATA).tool
    assert (approved.state, approved.is_default) == (pb.MCP_TOOL_STATE_APPROVED, True)
    assert approved.arguments_json == '{"query":"{question}","limit":"{limit}"}'


def test_UnapproveMcpTool_takes_all_of_it_away(grpc_stub, tool):
    approval = pb.ApproveMcpToolRequest(server_id=tool.server_id, tool_name=TOOL, is_default=True)
    grpc_stub.ApproveMcpTool(approval, metadata=METADATA)
    request = pb.UnapproveMcpToolRequest(server_id=tool.server_id, tool_name=TOOL)
    assert grpc_stub.UnapproveMcpTool(request, metadata=METADATA).tool == tool


def test_DeleteMcpServer_removes_it_and_its_tools(grpc_stub, server, tool):
    request = pb.DeleteMcpServerRequest(server_id=server.server_id)
    grpc_stub.DeleteMcpServer(request, metadata=METADATA)
    assert refusal(grpc_stub.DeleteMcpServer, request) == "MCP_SERVER_NOT_FOUND"
    listing = pb.ListMcpToolsRequest(server_id=server.server_id)
    assert not grpc_stub.ListMcpTools(listing, metadata=METADATA).tools
