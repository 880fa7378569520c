"""The calls of mcp_servers that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import mcp_servers_pb2 as mcp_servers_pb
from contextkeep.values import McpServer, McpTool


class McpServers(Noun):
    """MCP servers. All calls need the scope admin; a bound key cannot write."""

    async def put(
        self,
        server_id: str,
        url: str,
        *,
        display_name: str = "",
        disabled: bool = False,
        bearer_secret: str = "",
        clear_secret: bool = False,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> McpServer:
        """Create an MCP server, or replace it.

        A tenant has up to 50.

        Args:
            server_id: The caller's own id: 1 to 40 lowercase letters, digits and hyphens; it begins with a letter.
            url: The address where the server speaks streamable HTTP: https://, or http:// if MCP_SERVERS_ALLOWED lists
                the address. Up to 1,000 characters, without user, query or fragment, because a key in an address would
                be readable. A change of the address suspends all approvals of the server's tools.
            display_name: A name for people; up to 200 characters. Empty: the id.
            disabled: Disable the server: none of its tools runs.
            bearer_secret: A secret that the service sends to the server as `Authorization: Bearer …`: up to 4,096
                printable ASCII characters without spaces. The service stores it encrypted (SECRETS_KEY), bound to
                tenant and server. Empty: keep the stored secret. If the origin of the address changes and a secret is
                stored, give the secret again or clear it, so that another server does not receive it.
            clear_secret: Delete the secret: from now on, the service sends none to the server.
            request_id: A UUID. A repeat with the same id answers as the first time and changes nothing, even if it has
                another secret: the service keeps no trace of the secret with the request.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AddressRefused: the service may not connect to the address; it also checks the addresses of a host name at
                each connection.
            SecretsKeyMissing: The service has no key to encrypt secrets with.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = mcp_servers_pb.PutMcpServerRequest(
            server=mcp_servers_pb.McpServerInput(
                server_id=server_id, display_name=display_name, url=url, disabled=disabled
            ),
            bearer_secret=bearer_secret,
            clear_secret=clear_secret,
            request_id=messages.new_request_id(request_id),
        )
        answer: mcp_servers_pb.PutMcpServerResponse = await self._call("PutMcpServer", request, timeout_s=timeout_s)
        return McpServer.from_proto(answer.server)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[McpServer, None]:
        """List the MCP servers by id.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = mcp_servers_pb.ListMcpServersRequest(page_size=page_size)
        while True:
            page: mcp_servers_pb.ListMcpServersResponse = await self._call(
                "ListMcpServers", request, timeout_s=timeout_s
            )
            for item in page.servers:
                yield McpServer.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(self, server_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Delete an MCP server, its secret and its stored tools.

        Args:
            server_id: The server to delete.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            McpServerNotFound: No MCP server has this id.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = mcp_servers_pb.DeleteMcpServerRequest(
            server_id=server_id, request_id=messages.new_request_id(request_id)
        )
        await self._call("DeleteMcpServer", request, timeout_s=timeout_s)

    async def discover_tools(self, server_id: str, *, timeout_s: float | None = None) -> builtins.list[McpTool]:
        """Fetch the tools of a server, and store up to 200 definitions of up to 64 KiB.

        It approves none of them. An approved tool whose definition changed or that is gone does not run until an
        administrator approves it again. If the call fails, nothing changes.

        Args:
            server_id: The server whose tools to fetch.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            McpServerNotFound: No MCP server has this id.
            McpServerFailed: the server redirects, demands authentication, answers too much, speaks another protocol or
                misses the deadline.
            AddressRefused: The service sends nothing to this address: it is not public, and the operator has not
                allowed it.
            SecretUnreadable: A stored secret was encrypted with a key that the service no longer has.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = mcp_servers_pb.DiscoverMcpToolsRequest(server_id=server_id)
        answer: mcp_servers_pb.DiscoverMcpToolsResponse = await self._call(
            "DiscoverMcpTools", request, timeout_s=timeout_s
        )
        return [McpTool.from_proto(item) for item in answer.tools]

    async def list_tools(
        self, *, server_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[McpTool, None]:
        """List the tools as the last discovery found them.

        Args:
            server_id: Only tools of this server. Empty: of all servers.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = mcp_servers_pb.ListMcpToolsRequest(server_id=server_id, page_size=page_size)
        while True:
            page: mcp_servers_pb.ListMcpToolsResponse = await self._call("ListMcpTools", request, timeout_s=timeout_s)
            for item in page.tools:
                yield McpTool.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def approve_tool(
        self,
        server_id: str,
        tool_name: str,
        *,
        arguments_json: str = "",
        is_default: bool = False,
        record_search_safe: bool = False,
        definition_sha256: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> McpTool:
        """Allow context query to call a tool, in the definition of the last discovery.

        A tenant has up to 100 approved tools.

        Args:
            server_id: The server of the tool.
            tool_name: The tool to approve.
            arguments_json: The arguments of the calls, as a JSON object of up to 16 KiB. A value "{question}" is
                replaced by the question, a value "{limit}" by the number of hits wanted. At least one value must be
                "{question}". Empty: made from the tool's schema, if it has a text `query`, `question`, `q` or `text`
                and requires no other argument.
            is_default: Call the tool if a question selects no provider.
            record_search_safe: Record that a search with the tool does no harm, for a tool that does not declare it.
                The tool itself must declare that it is read-only.
            definition_sha256: Approve only the definition with this hash. Empty: the definition of the last discovery.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            McpToolNotFound: The MCP server has no tool with this name, or no longer has it.
            McpToolNotDeclared: the tool does not declare that it is read-only, or neither the tool nor an administrator
                declares that it is search-safe.
            McpToolChanged: the definition differs from the one of `definition_sha256`.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = mcp_servers_pb.ApproveMcpToolRequest(
            server_id=server_id,
            tool_name=tool_name,
            arguments_json=arguments_json,
            is_default=is_default,
            record_search_safe=record_search_safe,
            definition_sha256=definition_sha256,
            request_id=messages.new_request_id(request_id),
        )
        answer: mcp_servers_pb.ApproveMcpToolResponse = await self._call("ApproveMcpTool", request, timeout_s=timeout_s)
        return McpTool.from_proto(answer.tool)

    async def unapprove_tool(
        self, server_id: str, tool_name: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> McpTool:
        """Remove the approval of a tool, and all options of the approval.

        The tool is a default again only if a new approval says so.

        Args:
            server_id: The server of the tool.
            tool_name: The tool whose approval to remove.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            McpToolNotFound: The MCP server has no tool with this name, or no longer has it.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = mcp_servers_pb.UnapproveMcpToolRequest(
            server_id=server_id, tool_name=tool_name, request_id=messages.new_request_id(request_id)
        )
        answer: mcp_servers_pb.UnapproveMcpToolResponse = await self._call(
            "UnapproveMcpTool", request, timeout_s=timeout_s
        )
        return McpTool.from_proto(answer.tool)
