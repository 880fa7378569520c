"""The SQL of MCP servers and their tools: a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from context_service.kernel.catalog import Table
from context_service.mcp_servers.model import Definition
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Row, Tenant, Transaction

SERVERS = Table(
    name="context.mcp_server",
    key="server_id",
    columns=("display_name", "url", "is_disabled"),
    unread=("secret", "secret_key_id"),
    also=("t.secret IS NOT NULL AS has_secret", "t.discovered_at"),
    also_set="protocol = CASE WHEN t.url = EXCLUDED.url THEN t.protocol ELSE '' END",
)
_LOCK = """
SELECT server_id, url, secret, protocol, version FROM context.mcp_server
WHERE tenant_id = %s AND server_id = %s FOR UPDATE
"""
_TARGET = "SELECT url, secret, protocol FROM context.mcp_server WHERE tenant_id = %s AND server_id = %s"

_TOOL = """
SELECT t.server_id, t.tool_name, t.provider_id, t.definition, t.is_gone, t.discovered_at, t.approved_sha256,
    t.approved_by, t.approved_at, t.search_safe_recorded_by, t.is_default, t.arguments, s.display_name, s.url,
    s.is_disabled, s.secret, s.protocol, t.imported::text AS imported_json
FROM context.mcp_tool t
JOIN context.mcp_server s ON s.tenant_id = t.tenant_id AND s.server_id = t.server_id
WHERE t.tenant_id = %(tenant_id)s"""
_TOOLS = f"""
{_TOOL} AND (%(server_id)s = '' OR t.server_id = %(server_id)s)
    AND (t.server_id, t.tool_name) > (%(after_server)s, %(after_tool)s)
ORDER BY t.server_id, t.tool_name LIMIT %(count)s
"""
_ONE = f"{_TOOL} AND t.server_id = %(server_id)s AND t.tool_name = %(tool_name)s"
_LOCK_TOOL = f"{_ONE} FOR UPDATE"
_OF_PROVIDER = f"{_TOOL} AND t.provider_id = %(provider_id)s"
_APPROVED = f"{_TOOL} AND t.approved_sha256 <> '' ORDER BY t.provider_id"
_FOUND = """
INSERT INTO context.mcp_tool
    (tenant_id, server_id, tool_name, provider_id, definition, definition_sha256, discovered_at)
SELECT %(tenant_id)s, %(server_id)s, found.name, found.provider_id, found.definition, found.sha256, now()
FROM unnest(%(names)s::text[], %(provider_ids)s::text[], %(definitions)s::text[], %(sha256s)s::text[])
    AS found (name, provider_id, definition, sha256)
ON CONFLICT (tenant_id, server_id, tool_name) DO UPDATE SET definition = EXCLUDED.definition,
    definition_sha256 = EXCLUDED.definition_sha256, is_gone = false, discovered_at = EXCLUDED.discovered_at
"""
# What was approved stays to be seen; what nobody approved is forgotten.
_GONE = """
UPDATE context.mcp_tool SET is_gone = true
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s AND NOT is_gone AND tool_name <> ALL(%(names)s::text[])
"""
_FORGOTTEN = """
DELETE FROM context.mcp_tool
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s AND is_gone AND approved_sha256 = ''
"""
_DISCOVERED = """
UPDATE context.mcp_server SET discovered_at = now(), protocol = %(protocol)s
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s
"""
_APPROVE = """
UPDATE context.mcp_tool SET approved_sha256 = %(approved_sha256)s, approved_by = %(by)s, approved_at = now(),
    search_safe_recorded_by = %(recorded_by)s, is_default = %(is_default)s, arguments = %(arguments)s
WHERE tenant_id = %(tenant_id)s AND server_id = %(server_id)s AND tool_name = %(tool_name)s
"""
_UNAPPROVE = """
UPDATE context.mcp_tool SET approved_sha256 = '', approved_by = '', approved_at = NULL, search_safe_recorded_by = '',
    is_default = false, arguments = ''
WHERE tenant_id = %s AND server_id = %s AND tool_name = %s
"""
_APPROVED_COUNT = "SELECT count(*) AS tools FROM context.mcp_tool WHERE tenant_id = %s AND approved_sha256 <> ''"

_SEALED = """
SELECT server_id, secret FROM context.mcp_server
WHERE tenant_id = %s AND secret IS NOT NULL AND secret_key_id <> %s AND server_id > %s ORDER BY server_id LIMIT 50
"""
_SEALED_AGAIN = """
UPDATE context.mcp_server SET secret = %s, secret_key_id = %s WHERE tenant_id = %s AND server_id = %s AND secret = %s
RETURNING server_id
"""


class McpRows:
    """MCP servers of tenants, and their tools."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lock(self, transaction: Transaction, server_id: str) -> Row | None:
        """Return a server, secret and all, which nobody else changes before the transaction ends."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, server_id))
        return rows[0] if rows else None

    async def target(self, principal: Principal, server_id: str) -> Row | None:
        """Return where a server is, and its secret as it is stored."""
        door = self._database.of(principal)
        rows = await door.query(_TARGET, (door.tenant_id, server_id))
        return rows[0] if rows else None

    async def discovered(
        self,
        transaction: Transaction,
        server_id: str,
        tools: Sequence[tuple[str, Definition]],
        *,
        protocol: str,
    ) -> None:
        """Keep what a server, which is locked, has now.

        Args:
            transaction: In which.
            server_id: Which.
            tools: The provider's id of each, and what it says of itself.
            protocol: How it spoke.
        """
        said = {
            "server_id": server_id,
            "names": [one.name for _, one in tools],
            "provider_ids": [provider_id for provider_id, _ in tools],
            "definitions": [one.text for _, one in tools],
            "sha256s": [one.sha256 for _, one in tools],
            "protocol": protocol,
        }
        for statement in (_FOUND, _GONE, _FORGOTTEN, _DISCOVERED):
            await transaction.query(statement, said)

    async def tools(self, principal: Principal, *, server_id: str, after: tuple[str, str], count: int) -> Sequence[Row]:
        """Return tools by server and name, from behind `after` on; of one server, or of all if it is empty."""
        door = self._database.of(principal)
        said = {"server_id": server_id, "after_server": after[0], "after_tool": after[1], "count": count}
        return await door.query(_TOOLS, {**said})

    async def lock_tool(self, transaction: Transaction, server_id: str, tool_name: str) -> Row | None:
        """Return a tool, which nobody else changes before the transaction ends."""
        said = {"server_id": server_id, "tool_name": tool_name}
        rows = await transaction.query(_LOCK_TOOL, said)
        return rows[0] if rows else None

    async def tool(self, transaction: Transaction, server_id: str, tool_name: str) -> Row:
        """Return a tool that is there."""
        said = {"server_id": server_id, "tool_name": tool_name}
        (row,) = await transaction.query(_ONE, said)
        return row

    async def tool_of(self, principal: Principal, provider_id: str) -> Row | None:
        """Return the tool that a provider is, with where its server is."""
        door = self._database.of(principal)
        rows = await door.query(_OF_PROVIDER, {"provider_id": provider_id})
        return rows[0] if rows else None

    async def approved(self, principal: Principal) -> Sequence[Row]:
        """Return all tools that were approved, also those that changed since, by provider."""
        door = self._database.of(principal)
        return await door.query(_APPROVED)

    async def approve(self, transaction: Transaction, server_id: str, tool_name: str, **said: Any) -> int:
        """Approve a tool, which is locked; return how many of the tenant are now."""
        key = {"server_id": server_id, "tool_name": tool_name}
        await transaction.query(SERVERS.counting, key)
        await transaction.query(_APPROVE, {**key, **said})
        return int((await transaction.query(_APPROVED_COUNT, (transaction.tenant_id,)))[0].tools)

    async def unapprove(self, transaction: Transaction, server_id: str, tool_name: str) -> None:
        """Take an approval away."""
        await transaction.query(_UNAPPROVE, (transaction.tenant_id, server_id, tool_name))


async def sealed(tenant: Tenant, *, without_key_id: str, after: str) -> Sequence[Row]:
    """Return secrets of a tenant that another key sealed, by server, some at a time."""
    return await tenant.query(_SEALED, (tenant.tenant_id, without_key_id, after))


async def sealed_again(tenant: Tenant, server_id: str, before: bytes, now: bytes, key_id: str) -> bool:
    """Store a secret that was sealed again, and say whether it still was the one that was read."""
    return bool(await tenant.query(_SEALED_AGAIN, (now, key_id, tenant.tenant_id, server_id, before)))
