"""MCP servers and their tools by the Python clients."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from contextkeep import AsyncContextClient, ContextClient
from contextkeep.errors import (
    AddressRefused,
    McpServerFailed,
    McpServerNotFound,
    McpToolChanged,
    McpToolNotDeclared,
    McpToolNotFound,
)
from tests.conftest import KEY, Addresses
from tests.fakes.mcp_server import FakeMcp, FakeTool, fake_mcp

TOOL = "search_tickets"
SECRET = "the-secret-of-the-tickets"


@pytest.fixture(scope="module")
def tickets() -> Iterator[FakeMcp]:
    with fake_mcp(secret=SECRET) as fake:
        fake.tools["delete_tickets"] = FakeTool(read_only=False)
        yield fake


async def test_a_tool_is_discovered_approved_asked_and_asked_no_more(stack: Addresses, tickets: FakeMcp):
    server_id = f"s{uuid.uuid4()}"
    with ContextClient(stack.context, api_key=KEY) as context:
        put = context.mcp_servers.put(server_id, tickets.url, display_name="Tickets", bearer_secret=SECRET)
        assert (put.version, put.has_secret, put.discovered_at, put.display_name) == (1, True, None, "Tickets")
        assert SECRET not in repr(put)
        refused, found = context.mcp_servers.discover_tools(server_id)
        assert (found.tool_name, found.state, found.approved_at) == (TOOL, "found", None)
        assert (refused.tool_name, refused.declares_read_only) == ("delete_tickets", False)
        with pytest.raises(McpToolNotDeclared):
            context.mcp_servers.approve_tool(server_id, "delete_tickets", record_search_safe=True)
        with pytest.raises(McpToolChanged):
            context.mcp_servers.approve_tool(server_id, TOOL, definition_sha256="0" * 64)
        approved = context.mcp_servers.approve_tool(server_id, TOOL, definition_sha256=found.definition_sha256)
        assert (approved.state, approved.reason, approved.arguments_json) == (
            "approved",
            "",
            '{"query":"{question}","limit":"{limit}"}',
        )

    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        answer = await context.query.ask("how late?", provider_ids=[approved.provider_id])
        assert [(one.title, one.untrusted) for one in answer.hits] == [("Ticket 1", True)]
        assert [one async for one in context.mcp_servers.list_tools(server_id=server_id, page_size=1)] == [
            refused,
            approved,
        ]
        assert server_id in {one.server_id async for one in context.mcp_servers.list(page_size=1)}
        assert (await context.mcp_servers.unapprove_tool(server_id, TOOL)).state == "found"
        with pytest.raises(McpToolNotFound):
            await context.mcp_servers.unapprove_tool(server_id, "no_such_tool")
        await context.mcp_servers.put(server_id, tickets.url, clear_secret=True)
        with pytest.raises(McpServerFailed, match="asks for authentication"):
            await context.mcp_servers.discover_tools(server_id)
        await context.mcp_servers.delete(server_id)
        with pytest.raises(McpServerNotFound):
            await context.mcp_servers.discover_tools(server_id)
        with pytest.raises(AddressRefused):
            await context.mcp_servers.put(server_id, "http://169.254.169.254/mcp")
