"""MCP servers of tenants, and which of their tools context query may ask.

Administrators create servers, discover their tools, and approve single tools. A tool runs if it declares itself
read-only, if it or an administrator declares it search-safe, if it is approved, and if none of this has changed since.
All of it is checked again for each query, in the database and on the server itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from context_service.kernel.catalog import Catalog, check_unbound
from context_service.mcp_servers.client import McpClient, origin_of
from context_service.mcp_servers.model import (
    Approval,
    Definition,
    Server,
    ServerAddress,
    ServerInput,
    ServerReply,
    Tool,
    ToolRefused,
    approval_of,
)
from context_service.mcp_servers.pure import arguments_for, check_arguments, filled, provider_id_of
from context_service.mcp_servers.store import SERVERS, McpRows, sealed, sealed_again
from contextkeep.errors import (
    InvalidArgument,
    McpServerFailed,
    McpServerNotFound,
    McpToolChanged,
    McpToolNotDeclared,
    McpToolNotFound,
    SecretUnreadable,
)
from service_runtime.auth.sealing import KeyRing, key_id_of
from service_runtime.inputs import pages
from service_runtime.inputs.documents import parse_object
from service_runtime.network.destinations import Destinations, literal_of
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.calls import answer_s, aside, remaining_s
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_stored, check_text
from service_runtime.values.copying import copied

SERVERS_MAX = 50  # the most servers of a tenant
APPROVED_MAX = 100  # the most approved tools of a tenant
SERVER_ID_CHARS_MAX = 40
URL_CHARS_MAX = 1_000
SECRET_CHARS_MIN, SECRET_CHARS_MAX = 8, 4_096
ARGUMENTS_BYTES_MAX = 16 * 1024
_ARGUMENTS_NESTING_MAX = 10
NAME_CHARS_MAX = 200
TOOL_CHARS_MAX = 128
_DISCOVERY_S = 20.0
_ID = re.compile(r"[a-z][a-z0-9-]{0,39}")
_SECRET = re.compile(r"[\x21-\x7e]+")


class McpServers:
    """Reads and changes the MCP servers of tenants, and calls their tools; each call acts for its principal.

    Args:
        database: The database that holds servers and tools.
        client: Calls the servers.
        keys: The keys with which secrets are encrypted.
        destinations: Decides which addresses servers may have.
        requests: The store of idempotency keys and their answers.
    """

    def __init__(
        self, database: Database, client: McpClient, keys: KeyRing, destinations: Destinations, *, requests: Requests
    ) -> None:
        self._database = database
        self._client = client
        self._keys = keys
        self._destinations = destinations
        self._rows = McpRows(database)
        self._catalog = Catalog(
            database,
            SERVERS,
            requests=requests,
            of_row=lambda row: Server(**row._asdict()),
            not_found=_no_server,
            check_count=lambda count: check_stored("MCP servers", count, SERVERS_MAX),
        )

    @property
    def changes(self) -> int:
        """A counter that grows when this process changes a server; see `Catalog`."""
        return self._catalog.changes

    async def put(
        self,
        server_input: ServerInput,
        *,
        secret: str,
        clears_secret: bool,
        principal: Principal,
        request: Request | None,
    ) -> Server:
        """Create a server, or replace it.

        Args:
            server_input: The server, as the administrator describes it.
            secret: The bearer token to send to the server from now on; empty keeps the stored one.
            clears_secret: Delete the stored secret, so that none is sent from now on.
            principal: The caller, whose tenant the server belongs to.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            InvalidArgument: a field is malformed, or the secret must be given again.
            AddressRefused: the address is one that the service may not call.
            SecretsKeyMissing: no key to encrypt the secret is configured.
            LimitExceeded: a field is too large, or there are too many.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "MCP servers")
        self._check(server_input, secret, clears_secret)

        async def work(transaction: Transaction) -> Server:
            """Write the server with its encrypted secret.

            A stored secret is never sent to a new origin: if the origin changes, the caller must give it again.
            """
            before = await self._rows.lock(transaction, server_input.server_id)
            kept_secret = None if clears_secret or before is None else before.secret
            if secret:
                kept_secret = self._keys.seal(secret, _seal_context(transaction.tenant_id, server_input.server_id))
            elif (
                before is not None and kept_secret is not None and origin_of(before.url) != origin_of(server_input.url)
            ):
                raise InvalidArgument(
                    "server.url has another origin than before; give bearer_secret again, or set clear_secret",
                    field="bearer_secret",
                )
            values = {
                "display_name": server_input.display_name or server_input.server_id,
                "url": server_input.url,
                "is_disabled": server_input.is_disabled,
                "secret": kept_secret,
                "secret_key_id": key_id_of(kept_secret) if kept_secret else "",
            }
            return await self._catalog.put_in(transaction, server_input.server_id, values, by=principal.subject)

        return await self._catalog.write(work, principal=principal, request=request)

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[Server], str]:
        """Return a page of servers, by id, and the token of the next one.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        return await self._catalog.page(page, query=("ListMcpServers", principal.tenant_id), principal=principal)

    async def delete(self, server_id: str, *, principal: Principal, request: Request | None) -> None:
        """Remove a server, its secret and its stored tools.

        Raises:
            InvalidArgument: the id is malformed.
            McpServerNotFound: the server does not exist.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "MCP servers")
        _check_id(server_id)
        await self._catalog.delete(server_id, principal=principal, request=request)

    async def discover(self, server_id: str, *, principal: Principal) -> list[Tool]:
        """Ask a server for its tools, store them, and return all known tools of the server.

        Raises:
            InvalidArgument: the id is malformed.
            McpServerNotFound: the server does not exist, or was removed meanwhile.
            AddressRefused: the server has an address that the service may not call.
            McpServerFailed: the server did not answer with its tools. Nothing changed.
            SecretUnreadable: no configured key can decrypt the secret of the server.
            PermissionDenied: the key is bound.
        """
        check_unbound(principal, "MCP servers")
        _check_id(server_id)
        row = await self._rows.target(principal, server_id)
        if row is None:
            raise _no_server(server_id)
        target = self._target(row.url, row.secret, "", principal.tenant_id, server_id)
        seconds = min(_DISCOVERY_S, answer_s(remaining_s()))
        try:
            async with aside(), asyncio.timeout(seconds):
                discovery = await self._client.discover(target)
        except TimeoutError:
            raise McpServerFailed(f"the MCP server did not answer within {seconds:.0f} s") from None
        except McpServerFailed as error:
            raise McpServerFailed(f"the MCP server failed: {error.message}") from None
        tools = [(provider_id_of(server_id, definition.name), definition) for definition in discovery.tools]

        async def work(transaction: Transaction) -> None:
            now = await self._rows.lock(transaction, server_id)
            if now is None or now.url != row.url:
                raise _no_server(server_id)
            await self._rows.discovered(transaction, server_id, tools, protocol=discovery.protocol)

        await self._catalog.write(work, principal=principal, request=None)
        known = await self._rows.tools(principal, server_id=server_id, after=("", ""), count=SERVERS_MAX * APPROVED_MAX)
        return [_tool(row) for row in known]

    async def tools(self, page: pages.PageRequest, *, server_id: str, principal: Principal) -> tuple[list[Tool], str]:
        """Return a page of tools, by server and name, and the token of the next one.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        if server_id:
            _check_id(server_id)
        query = ("ListMcpTools", principal.tenant_id, server_id)
        after_server, after_tool = pages.decode_texts(query, page.token, parts=2)
        count = pages.page_size(page.size)
        rows = await self._rows.tools(principal, server_id=server_id, after=(after_server, after_tool), count=count + 1)
        rows, token = pages.cut(query, rows, count, key=lambda row: (row.server_id, row.tool_name))
        return [_tool(row) for row in rows], token

    async def approve(self, approval: Approval, *, principal: Principal, request: Request | None) -> Tool:
        """Approve a tool, with the definition of the last discovery.

        Raises:
            InvalidArgument: a field is malformed, or the arguments do not fit the tool.
            McpToolNotFound: the tool does not exist, or its server no longer offers it.
            McpToolNotDeclared: the tool does not declare itself read-only, or search-safe.
            McpToolChanged: the tool's definition is not the one that the caller has read.
            LimitExceeded: a field is too large, or there are too many.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "MCP servers")
        _check_tool(approval.server_id, approval.tool_name)
        given = None
        if approval.arguments_json:
            given = parse_object(
                "arguments_json",
                approval.arguments_json,
                size_bytes_max=ARGUMENTS_BYTES_MAX,
                nesting_max=_ARGUMENTS_NESTING_MAX,
            )

        async def work(transaction: Transaction) -> Tool:
            """Check the tool's stored definition, derive its arguments if none are given, and write the approval."""
            row = await self._rows.lock_tool(transaction, approval.server_id, approval.tool_name)
            if row is None or row.is_gone:
                raise _no_tool(approval.server_id, approval.tool_name)
            tool = _tool(row)
            if approval.definition_sha256 and approval.definition_sha256 != tool.definition.sha256:
                raise McpToolChanged(
                    "the tool's definition does not have this definition_sha256; read it again, then approve it"
                )
            if not tool.declares_read_only:
                raise McpToolNotDeclared(
                    "the tool does not declare itself read-only, and only its server can declare it"
                )
            if not tool.declares_search_safe and not approval.records_search_safe:
                raise McpToolNotDeclared(
                    "the tool does not declare itself search-safe; its server must, or set record_search_safe"
                )
            arguments = arguments_for(tool.definition.said) if given is None else given
            check_arguments(tool.definition.said, arguments)
            count = await self._rows.approve(
                transaction,
                approval.server_id,
                approval.tool_name,
                approved_sha256=approval_of(row.url, tool.definition.sha256),
                by=principal.subject,
                recorded_by=principal.subject if approval.records_search_safe and not tool.declares_search_safe else "",
                is_default=approval.is_default,
                arguments=orjson.dumps(arguments).decode(),
            )
            check_stored("approved MCP tools", count, APPROVED_MAX)
            return _tool(await self._rows.tool(transaction, approval.server_id, approval.tool_name))

        return await self._catalog.write(work, principal=principal, request=request)

    async def unapprove(self, server_id: str, tool_name: str, *, principal: Principal, request: Request | None) -> Tool:
        """Remove the approval of a tool, with its options.

        Raises:
            InvalidArgument: a field is malformed.
            McpToolNotFound: the tool does not exist.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "MCP servers")
        _check_tool(server_id, tool_name)

        async def work(transaction: Transaction) -> Tool:
            if await self._rows.lock_tool(transaction, server_id, tool_name) is None:
                raise _no_tool(server_id, tool_name)
            await self._rows.unapprove(transaction, server_id, tool_name)
            return _tool(await self._rows.tool(transaction, server_id, tool_name))

        return await self._catalog.write(work, principal=principal, request=request)

    async def approved(self, *, principal: Principal) -> list[Tool]:
        """Return all approved tools by provider id, including those that may no longer be called."""
        return [_tool(row) for row in await self._rows.approved(principal)]

    async def ask(
        self, provider_id: str, *, question: str, limit: int, principal: Principal
    ) -> tuple[Tool, ServerReply]:
        """Call an approved tool.

        Raises:
            ToolRefused: the tool may not be called, and was not called.
            AddressRefused: the server has an address that the service may not call.
            McpServerFailed: the server cannot be reached, or does not answer as the protocol requires.
            SecretUnreadable: no configured key can decrypt the secret of the server.
        """
        row = await self._rows.tool_of(principal, provider_id)
        if row is None:
            raise ToolRefused("the tool was removed")
        tool = _tool(row)
        if tool.refused:
            raise ToolRefused(tool.refused)
        target = self._target(row.url, row.secret, row.protocol, principal.tenant_id, row.server_id)
        arguments = filled(orjson.loads(tool.arguments), question=question, limit=limit)
        return tool, await self._client.call(target, tool.definition, arguments)

    def _target(self, url: str, secret: bytes | None, protocol: str, tenant_id: UUID, server_id: str) -> ServerAddress:
        secret_text = self._keys.open(bytes(secret), _seal_context(tenant_id, server_id)) if secret is not None else ""
        return ServerAddress(url=url, secret=secret_text, protocol=protocol)

    def _check(self, server_input: ServerInput, secret: str, clears_secret: bool) -> None:
        """Check the fields of a server, its address and its secret.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too long or too large.
            AddressRefused: the URL has a literal address that the service may not call.
        """
        _check_id(server_input.server_id, field="server.server_id")
        check_text("server.display_name", server_input.display_name, chars_max=NAME_CHARS_MAX)
        check_text("server.url", server_input.url, chars_max=URL_CHARS_MAX, required=True)
        origin = origin_of(server_input.url)
        if literal := literal_of(origin.host):
            self._destinations.check(literal, origin.port)
        if secret and clears_secret:
            raise InvalidArgument("give bearer_secret or clear_secret, not both", field="clear_secret")
        if not secret:
            return
        check_text("bearer_secret", secret, chars_max=SECRET_CHARS_MAX)
        if len(secret) < SECRET_CHARS_MIN or not _SECRET.fullmatch(secret):
            raise InvalidArgument(
                f"bearer_secret must be {SECRET_CHARS_MIN} or more printable ASCII characters without spaces",
                field="bearer_secret",
            )


@dataclass(slots=True)
class Rotated:
    """The number of secrets that were encrypted again, and of those that no key opens."""

    sealed_again: int = 0
    unreadable: int = 0
    databases_away: tuple[str, ...] = ()  # databases that do not answer, so that their secrets are unchanged


async def rotate(tenants: Sequence[Tenant], keys: KeyRing) -> Rotated:
    """Encrypt all secrets with the newest key, so that older keys can be removed.

    Secrets that no key opens stay as they are.

    Raises:
        Unavailable: Postgres does not answer.
    """
    rotated = Rotated()
    for tenant in tenants:
        after = ""
        while rows := await sealed(tenant, without_key_id=keys.newest_id, after=after):
            for row in rows:
                after, before = row.server_id, bytes(row.secret)
                bound = _seal_context(tenant.tenant_id, row.server_id)
                try:
                    now = keys.seal(keys.open(before, bound), bound)
                except SecretUnreadable:
                    rotated.unreadable += 1
                    continue
                rotated.sealed_again += await sealed_again(tenant, row.server_id, before, now, keys.newest_id)
    return rotated


def _seal_context(tenant_id: UUID, server_id: str) -> tuple[str, ...]:
    return "mcp_server", str(tenant_id), server_id


def _check_id(server_id: str, *, field: str = "server_id") -> None:
    """Check the id of a server.

    Raises:
        InvalidArgument: the id is empty or has other characters than lowercase letters, digits and hyphens.
        LimitExceeded: the id is too long.
    """
    check_text(field, server_id, chars_max=SERVER_ID_CHARS_MAX, required=True)
    if not _ID.fullmatch(server_id):
        raise InvalidArgument(
            f"{field} must be lowercase letters, digits and hyphens, and begin with a letter (got {server_id!r})",
            field=field,
        )


def _check_tool(server_id: str, tool_name: str) -> None:
    _check_id(server_id)
    check_text("tool_name", tool_name, chars_max=TOOL_CHARS_MAX, required=True)


def _no_server(server_id: str) -> McpServerNotFound:
    return McpServerNotFound(f"MCP server {server_id[:100]!r} does not exist", server_id=server_id)


def _no_tool(server_id: str, tool_name: str) -> McpToolNotFound:
    return McpToolNotFound(
        f"MCP server {server_id[:100]!r} has no tool {tool_name[:100]!r}", server_id=server_id, tool_name=tool_name
    )


def _tool(row: Row) -> Tool:
    """Return a tool from its row."""
    return copied(
        Tool,
        row,
        definition=Definition(name=row.tool_name, text=row.definition),
        server_name=row.display_name,
        server_url=row.url,
        server_is_disabled=row.is_disabled,
    )
