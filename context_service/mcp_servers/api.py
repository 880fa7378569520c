"""The proto service `McpServers`: parse, one call, render."""

from __future__ import annotations

from context_service.kernel.wire.imported import imported_of
from context_service.mcp_servers.model import Approval, Server, ServerInput, Tool, ToolState
from context_service.mcp_servers.rules import McpServers
from contextkeep.context.v1 import mcp_servers_pb2 as pb
from contextkeep.context.v1 import mcp_servers_pb2_grpc
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import Request, Response, request_of
from service_runtime.values.copying import copied

_STATE = {
    ToolState.FOUND: pb.MCP_TOOL_STATE_FOUND,
    ToolState.APPROVED: pb.MCP_TOOL_STATE_APPROVED,
    ToolState.CHANGED: pb.MCP_TOOL_STATE_CHANGED,
    ToolState.GONE: pb.MCP_TOOL_STATE_GONE,
}


class McpServersServicer(mcp_servers_pb2_grpc.McpServersServicer):
    """Answers the RPCs of `McpServers`."""

    def __init__(self, mcp_servers: McpServers) -> None:
        self._mcp_servers = mcp_servers

    async def PutMcpServer(self, request: pb.PutMcpServerRequest, context: object) -> pb.PutMcpServerResponse:
        """Create an MCP server, or replace it."""

        def response(server: Server) -> pb.PutMcpServerResponse:
            return pb.PutMcpServerResponse(server=_server(server))

        server_input = request.server
        server = await self._mcp_servers.put(
            copied(ServerInput, server_input, is_disabled=server_input.disabled),
            secret=request.bearer_secret,
            clears_secret=request.clear_secret,
            principal=calls.principal(),
            request=_without_secret(request, response),
        )
        return response(server)

    async def ListMcpServers(self, request: pb.ListMcpServersRequest, context: object) -> pb.ListMcpServersResponse:
        """List servers."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        found, token = await self._mcp_servers.page(page, principal=calls.principal())
        return pb.ListMcpServersResponse(servers=map(_server, found), next_page_token=token)

    async def DeleteMcpServer(self, request: pb.DeleteMcpServerRequest, context: object) -> pb.DeleteMcpServerResponse:
        """Remove a server."""
        write_request = request_of("DeleteMcpServer", request, response=lambda _: pb.DeleteMcpServerResponse())
        await self._mcp_servers.delete(request.server_id, principal=calls.principal(), request=write_request)
        return pb.DeleteMcpServerResponse()

    async def DiscoverMcpTools(
        self, request: pb.DiscoverMcpToolsRequest, context: object
    ) -> pb.DiscoverMcpToolsResponse:
        """Ask a server for its tools, and store their definitions."""
        tools = await self._mcp_servers.discover(request.server_id, principal=calls.principal())
        return pb.DiscoverMcpToolsResponse(tools=map(_tool, tools))

    async def ListMcpTools(self, request: pb.ListMcpToolsRequest, context: object) -> pb.ListMcpToolsResponse:
        """List tools."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        principal = calls.principal()
        found, token = await self._mcp_servers.tools(page, server_id=request.server_id, principal=principal)
        return pb.ListMcpToolsResponse(tools=map(_tool, found), next_page_token=token)

    async def ApproveMcpTool(self, request: pb.ApproveMcpToolRequest, context: object) -> pb.ApproveMcpToolResponse:
        """Approve a tool."""

        def response(tool: Tool) -> pb.ApproveMcpToolResponse:
            return pb.ApproveMcpToolResponse(tool=_tool(tool))

        approval = copied(Approval, request, records_search_safe=request.record_search_safe)
        write_request = request_of("ApproveMcpTool", request, response=response)
        tool = await self._mcp_servers.approve(approval, principal=calls.principal(), request=write_request)
        return response(tool)

    async def UnapproveMcpTool(
        self, request: pb.UnapproveMcpToolRequest, context: object
    ) -> pb.UnapproveMcpToolResponse:
        """Remove the approval of a tool."""

        def response(tool: Tool) -> pb.UnapproveMcpToolResponse:
            return pb.UnapproveMcpToolResponse(tool=_tool(tool))

        tool = await self._mcp_servers.unapprove(
            request.server_id,
            request.tool_name,
            principal=calls.principal(),
            request=request_of("UnapproveMcpTool", request, response=response),
        )
        return response(tool)


def _without_secret(request: pb.PutMcpServerRequest, response: Response) -> Request | None:
    """Return the idempotency key of a call. Its hash leaves the secret out, so that it cannot confirm a guess."""
    public = pb.PutMcpServerRequest()
    public.CopyFrom(request)
    public.bearer_secret = ""
    return request_of("PutMcpServer", public, response=response)


def _server(server: Server) -> pb.McpServer:
    return copied(pb.McpServer, server, disabled=server.is_disabled, imported=imported_of(server.imported_json))


def _tool(tool: Tool) -> pb.McpTool:
    """Return the protobuf message of a tool."""
    return copied(
        pb.McpTool,
        tool,
        tool_name=tool.name,
        state=_STATE[tool.state],
        reason=tool.refused,
        arguments_json=tool.arguments,
        definition_sha256=tool.definition.sha256,
        imported=imported_of(tool.imported_json),
    )
