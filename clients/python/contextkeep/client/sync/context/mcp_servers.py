# Generated from aio/context/mcp_servers.py by tools/make_sync.py: change that file and run `make sync-client`.
"""MCP servers of others, and which of their tools context query may call."""

from __future__ import annotations

from collections.abc import Generator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import mcp_servers_pb2 as pb
from contextkeep.values import McpServer, McpTool


class McpServers(Noun):
    """MCP servers. All calls need the scope admin; a bound key cannot write."""

    def put(
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
        """Write a server as it is said, whether there was one or not, and return it.

        Args:
            server_id: Your own id: 1 to 40 small letters, digits and hyphens.
            url: Where it speaks streamable HTTP, without a user, a query or a fragment.
            display_name: Up to 200 characters. Empty: the id.
            disabled: Then none of its tools runs.
            bearer_secret: What it is shown, from now on. Empty: what it was; not if the origin of its URL changes.
            clear_secret: Show it none from now on.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            AddressRefused: it is an address that nothing is sent to.
            SecretsKeyMissing: the service can store no secret.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        said = pb.McpServerInput(server_id=server_id, url=url, display_name=display_name, disabled=disabled)
        request = pb.PutMcpServerRequest(
            server=said,
            bearer_secret=bearer_secret,
            clear_secret=clear_secret,
            request_id=messages.new_request_id(request_id),
        )
        response: pb.PutMcpServerResponse = self._call("PutMcpServer", request, timeout_s=timeout_s)
        return McpServer.from_proto(response.server)

    def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[McpServer, None, None]:
        """Yield the servers by id, following the pages.

        Args:
            page_size: Servers of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListMcpServersRequest(page_size=page_size)
        while True:
            page: pb.ListMcpServersResponse = self._call("ListMcpServers", request, timeout_s=timeout_s)
            for server in page.servers:
                yield McpServer.from_proto(server)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(self, server_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Remove a server, its secret, and what is known of its tools.

        Raises:
            McpServerNotFound: there is none.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.DeleteMcpServerRequest(server_id=server_id, request_id=messages.new_request_id(request_id))
        self._call("DeleteMcpServer", request, timeout_s=timeout_s)

    def discover_tools(self, server_id: str, *, timeout_s: float | None = None) -> tuple[McpTool, ...]:
        """Have a server asked for its tools, and return all that are known of it. None is approved by that.

        Raises:
            McpServerNotFound: there is none.
            McpServerFailed, AddressRefused, SecretUnreadable: it cannot be asked; nothing changed.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.DiscoverMcpToolsRequest(server_id=server_id)
        response: pb.DiscoverMcpToolsResponse = self._call("DiscoverMcpTools", request, timeout_s=timeout_s)
        return tuple(map(McpTool.from_proto, response.tools))

    def list_tools(
        self, *, server_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[McpTool, None, None]:
        """Yield tools by server and name, as they were discovered, following the pages.

        Args:
            server_id: Only those of this server. Empty: all.
            page_size: Tools of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListMcpToolsRequest(server_id=server_id, page_size=page_size)
        while True:
            page: pb.ListMcpToolsResponse = self._call("ListMcpTools", request, timeout_s=timeout_s)
            for tool in page.tools:
                yield McpTool.from_proto(tool)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def approve_tool(
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
        """Let context query ask a tool, as it was discovered last, and return it.

        Args:
            server_id: Of which server.
            tool_name: Which.
            arguments_json: With what it is called: a value "{question}" becomes the question, "{limit}" the number of
                hits. Empty: made of its schema.
            is_default: Whether it is asked where a question selects nobody.
            record_search_safe: Record that searching with it does no harm, where it does not say so.
            definition_sha256: Approve this definition and no other. Empty: the last that was discovered.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            McpToolNotFound: there is none, or it is gone.
            McpToolNotDeclared: it does not say that it is read-only, or nobody that it is search-safe.
            McpToolChanged: it is another definition than was read.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.ApproveMcpToolRequest(
            server_id=server_id,
            tool_name=tool_name,
            arguments_json=arguments_json,
            is_default=is_default,
            record_search_safe=record_search_safe,
            definition_sha256=definition_sha256,
            request_id=messages.new_request_id(request_id),
        )
        response: pb.ApproveMcpToolResponse = self._call("ApproveMcpTool", request, timeout_s=timeout_s)
        return McpTool.from_proto(response.tool)

    def unapprove_tool(
        self, server_id: str, tool_name: str, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> McpTool:
        """Take the approval of a tool away, and all that was said with it.

        Raises:
            McpToolNotFound: there is none.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = pb.UnapproveMcpToolRequest(
            server_id=server_id, tool_name=tool_name, request_id=messages.new_request_id(request_id)
        )
        response: pb.UnapproveMcpToolResponse = self._call("UnapproveMcpTool", request, timeout_s=timeout_s)
        return McpTool.from_proto(response.tool)
