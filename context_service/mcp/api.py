"""Tools: the table of them, and their calls. gRPC and every MCP transport come through here."""

from __future__ import annotations

import orjson

from context_service.contexts.wire.requests import principal_of
from context_service.kernel.wire.node_names import NodeNames
from context_service.mcp.answers import ARGUMENTS
from context_service.mcp.tool import Arguments, Services, Tool, Use
from context_service.mcp.tools.contexts import CONTEXT_TOOLS
from context_service.mcp.tools.history import HISTORY_TOOLS
from context_service.mcp.tools.memories import MEMORY_TOOLS
from context_service.mcp.tools.rag import RAG_TOOLS
from context_service.mcp.tools.windows import WINDOW_TOOLS
from context_service.mcp.tools.working_memory import WORKING_MEMORY_TOOLS
from contextkeep.context.v1 import tools_pb2 as pb
from contextkeep.context.v1 import tools_pb2_grpc
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.errors import PermissionDenied, ToolNotFound
from service_runtime.inputs.documents import beside_the_loop, parse_object
from service_runtime.rpc import calls
from service_runtime.values.copying import copied

_OF_ALL = (*WORKING_MEMORY_TOOLS, *HISTORY_TOOLS, *CONTEXT_TOOLS, *WINDOW_TOOLS, *MEMORY_TOOLS, *RAG_TOOLS)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in sorted(_OF_ALL, key=lambda tool: tool.name)}

_ARGUMENTS_BYTES_MAX = 3 * 1024 * 1024
_DESCRIPTION_CHARS_MAX = 500


class ToolsServicer(tools_pb2_grpc.ToolsServicer):
    """Answers the RPCs of `Tools`, which list and call the tools that models use.

    Args:
        services: The servicers that the tools call, and the limits of their answers.
        names: Resolves the name of the current entity to the id of its node.
        nesting_max: The deepest nesting that a tool's JSON arguments may have.
        read_only: Tools that write are neither listed nor called.
    """

    def __init__(self, services: Services, names: NodeNames, *, nesting_max: int, read_only: bool) -> None:
        self._services = services
        self._names = names
        self._nesting_max = nesting_max
        self._read_only = read_only

    async def ListTools(self, request: pb.ListToolsRequest, context: object) -> pb.ListToolsResponse:
        """List the caller's tools."""
        read_only = self._read_only or request.read_only
        principal = calls.principal()
        return pb.ListToolsResponse(
            tools=[
                copied(pb.Tool, tool, tool_name=tool.name, read_only=tool.scope == "read")
                for tool in TOOLS.values()
                if tool.scope in principal.scopes
                and (tool.method.options.context_key or not principal.context_id)
                and (tool.scope == "read" or not read_only)
            ]
        )

    async def ListResources(self, request: pb.ListResourcesRequest, context: object) -> pb.ListResourcesResponse:
        """List the records of an entity as resources."""
        page = await self._services.memory.FetchWMRecordsByEntity(
            memory_pb.FetchWMRecordsByEntityRequest(
                entity_node_id=request.entity_node_id,
                external_id=request.external_id,
                graph_name=request.graph_name,
                page_size=request.page_size,
                page_token=request.page_token,
            ),
            context,
        )
        return pb.ListResourcesResponse(
            resources=[
                copied(
                    pb.Resource,
                    record,
                    uri=f"wm://{record.working_memory_id}",
                    description=record.description[:_DESCRIPTION_CHARS_MAX],
                )
                for record in page.records
            ],
            next_page_token=page.next_page_token,
        )

    async def ExecuteTool(self, request: pb.ExecuteToolRequest, context: object) -> pb.ExecuteToolResponse:
        """Call a tool."""
        tool = TOOLS.get(request.tool_name)
        if tool is None:
            raise ToolNotFound(f"there is no tool {request.tool_name[:100]!r}; ListTools has their names")
        calls.require(tool.scope)
        if calls.principal().context_id and not tool.method.options.context_key:
            raise PermissionDenied(f"the key is bound to a context, and cannot call {request.tool_name}")
        if tool.scope != "read" and (self._read_only or request.read_only):
            raise PermissionDenied("tools that write are switched off", scope=tool.scope)
        principal_of(request.subject_user_id)  # refuses a user that the key may not act for, whatever the tool does
        arguments = await beside_the_loop(len(request.arguments_json), self._parse, tool, request.arguments_json)
        if tool.method.is_expensive:
            await calls.take_turn()
        entity = await self._names.optional_id_of("entity_node_id", request.entity_node_id, request)
        use = Use(services=self._services, current_entity=str(entity or ""), subject_user_id=request.subject_user_id)
        answer = await tool.call(use, arguments)
        return pb.ExecuteToolResponse(result_json=orjson.dumps(answer).decode())

    def _parse(self, tool: Tool, arguments_json: str) -> Arguments:
        return tool.parse(
            parse_object(ARGUMENTS, arguments_json, size_bytes_max=_ARGUMENTS_BYTES_MAX, nesting_max=self._nesting_max)
        )
