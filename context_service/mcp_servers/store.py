"""The SQL of MCP servers and their tools: a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from context_service.kernel.catalog import Table
from context_service.mcp_servers.model import Definition
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SERVERS = Table(
    name="context.mcp_server",
    key="server_id",
    columns=("display_name", "url", "is_disabled"),
    unread=("secret", "secret_key_id"),
    also=("t.secret IS NOT NULL AS has_secret", "t.discovered_at"),
    also_set="protocol = CASE WHEN t.url = EXCLUDED.url THEN t.protocol ELSE '' END",
)
SQL = SqlFile.of(__file__)
_LOCK = SQL["lock"]
_TARGET = SQL["target"]
_TOOLS = SQL["tools"]
_ONE = SQL["one"]
_LOCK_TOOL = SQL["lock_tool"]
_OF_PROVIDER = SQL["of_provider"]
_APPROVED = SQL["approved"]
_FOUND = SQL["found"]
_GONE = SQL["gone"]
_FORGOTTEN = SQL["forgotten"]
_DISCOVERED = SQL["discovered"]
_APPROVE = SQL["approve"]
_UNAPPROVE = SQL["unapprove"]
_APPROVED_COUNT = SQL["approved_count"]
_SEALED = SQL["sealed"]
_SEALED_AGAIN = SQL["sealed_again"]


class McpRows:
    """The stored MCP servers of tenants, and their tools."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lock(self, transaction: Transaction, server_id: str) -> Row | None:
        """Lock a server until the transaction ends, and return it with its secret."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, server_id))
        return rows[0] if rows else None

    async def target(self, principal: Principal, server_id: str) -> Row | None:
        """Return the address of a server, with its encrypted secret."""
        tenant = self._database.of(principal)
        rows = await tenant.query(_TARGET, (tenant.tenant_id, server_id))
        return rows[0] if rows else None

    async def discovered(
        self,
        transaction: Transaction,
        server_id: str,
        tools: Sequence[tuple[str, Definition]],
        *,
        protocol: str,
    ) -> None:
        """Store the tools that a locked server offers now; tools that it no longer offers are marked as gone.

        Args:
            transaction: The transaction, which has locked the server.
            server_id: The id of the server.
            tools: For each tool, its provider id and its definition.
            protocol: The protocol version that the server spoke.
        """
        parameters = {
            "server_id": server_id,
            "names": [tool.name for _, tool in tools],
            "provider_ids": [provider_id for provider_id, _ in tools],
            "definitions": [tool.text for _, tool in tools],
            "sha256s": [tool.sha256 for _, tool in tools],
            "protocol": protocol,
        }
        for statement in (_FOUND, _GONE, _FORGOTTEN, _DISCOVERED):
            await transaction.query(statement, parameters)

    async def tools(self, principal: Principal, *, server_id: str, after: tuple[str, str], count: int) -> Sequence[Row]:
        """Return tools by server and name, after `after`; of one server, or of all if it is empty."""
        tenant = self._database.of(principal)
        parameters = {"server_id": server_id, "after_server": after[0], "after_tool": after[1], "count": count}
        return await tenant.query(_TOOLS, {**parameters})

    async def lock_tool(self, transaction: Transaction, server_id: str, tool_name: str) -> Row | None:
        """Lock a tool until the transaction ends, and return it."""
        parameters = {"server_id": server_id, "tool_name": tool_name}
        rows = await transaction.query(_LOCK_TOOL, parameters)
        return rows[0] if rows else None

    async def tool(self, transaction: Transaction, server_id: str, tool_name: str) -> Row:
        """Return a tool, which must exist."""
        parameters = {"server_id": server_id, "tool_name": tool_name}
        (row,) = await transaction.query(_ONE, parameters)
        return row

    async def tool_of(self, principal: Principal, provider_id: str) -> Row | None:
        """Return the tool with a provider id, and the address of its server."""
        tenant = self._database.of(principal)
        rows = await tenant.query(_OF_PROVIDER, {"provider_id": provider_id})
        return rows[0] if rows else None

    async def approved(self, principal: Principal) -> Sequence[Row]:
        """Return all approved tools by provider id, including those that have changed since."""
        tenant = self._database.of(principal)
        return await tenant.query(_APPROVED)

    async def approve(self, transaction: Transaction, server_id: str, tool_name: str, **said: Any) -> int:
        """Approve a locked tool; return how many tools of the tenant are approved now."""
        key = {"server_id": server_id, "tool_name": tool_name}
        await transaction.query(SERVERS.counting, key)
        await transaction.query(_APPROVE, {**key, **said})
        return int((await transaction.query(_APPROVED_COUNT, (transaction.tenant_id,)))[0].tools)

    async def unapprove(self, transaction: Transaction, server_id: str, tool_name: str) -> None:
        """Remove the approval of a tool."""
        await transaction.query(_UNAPPROVE, (transaction.tenant_id, server_id, tool_name))


async def sealed(tenant: Tenant, *, without_key_id: str, after: str) -> Sequence[Row]:
    """Return some secrets of a tenant that were encrypted with another key, by server."""
    return await tenant.query(_SEALED, (tenant.tenant_id, without_key_id, after))


async def sealed_again(tenant: Tenant, server_id: str, before: bytes, now: bytes, key_id: str) -> bool:
    """Replace a secret by its newly encrypted form; return False if it was changed meanwhile."""
    return bool(await tenant.query(_SEALED_AGAIN, (now, key_id, tenant.tenant_id, server_id, before)))
