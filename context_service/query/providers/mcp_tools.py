"""The family `mcp`: each approved tool of a tenant's MCP servers is a provider."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from context_service.mcp_servers.model import ServerReply, Tool, ToolRefused
from context_service.mcp_servers.room import McpServers
from context_service.query.providers import Answered, Hit, ProviderInfo, ProviderQuery, QueryScope, State, native
from context_service.query.pure.hit_checks import REASON_CHARS_MAX, line_of
from context_service.query.pure.provider_table import ProviderEntry
from contextkeep.errors import McpServerFailed
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal

MCP = "mcp"
TRUST = 1
# The error of a tool may hold addresses, queries and stack traces, so users do not get it.
_MASKED = "the tool failed; administrators see its error"
_RESULTS_MAX = 200  # results of one answer that are read; the rest is ignored
_HITS_BYTES = 2  # hashing and parsing a character takes as long as parsing this many bytes (for `beside_the_loop`)
_DISPLAY_CHARS_MAX = 100
_ID_CHARS_MAX = 200
# Names of members under which tools return their lists, titles, texts, addresses and times. The first one that exists
# is taken.
_LISTS = ("results", "hits", "items", "documents")
_TITLES, _TEXTS = ("title", "name"), ("snippet", "text", "content", "summary", "description")
_URIS, _TIMES = ("url", "uri", "link"), ("as_of", "updated_at", "date", "created_at")


class McpTools:
    """The approved MCP tools of tenants, each as a provider."""

    family = MCP

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    @property
    def changes(self) -> int:
        """A counter that grows when this process changes a tool."""
        return self._servers.changes

    async def of(self, principal: Principal) -> Sequence[ProviderEntry]:
        """Return the tools of a principal's tenant. Tools that may not run are included: their status says why."""
        tools = await self._servers.approved(principal=principal)
        return [native(McpToolProvider(self._servers, tool), trust=TRUST, waits=True) for tool in tools]


class McpToolProvider:
    """An approved MCP tool as a provider."""

    def __init__(self, servers: McpServers, tool: Tool) -> None:
        self._servers = servers
        name = line_of(f"{tool.server_name}: {tool.title}", chars_max=_DISPLAY_CHARS_MAX)
        self.info = ProviderInfo(
            id=tool.provider_id,
            family=MCP,
            display_name=name,
            scopes=frozenset({QueryScope.TEAM}),  # results are the tenant's, and no user's own
            is_default=tool.is_default,
        )

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Call the tool with the question, and return its answer as hits.

        Raises:
            AddressRefused: the server has an address that the service may not call.
            McpServerFailed: the server cannot be reached, or the tool failed.
            SecretUnreadable: no configured key can decrypt the secret of the server.
        """
        try:
            tool, reply = await self._servers.ask(
                self.info.id, question=request.query, limit=request.limit, principal=principal
            )
        except ToolRefused as error:
            return Answered(state=State.SKIPPED, reason=str(error))
        target = f"tool {tool.name} of {tool.server_id}"
        if reply.is_error:
            if "admin" not in principal.scopes:
                raise McpServerFailed(_MASKED)
            what = line_of(" ".join(reply.texts), chars_max=REASON_CHARS_MAX // 2)
            raise McpServerFailed(f"the tool failed: {what}" if what else "the tool failed")
        size_bytes = _HITS_BYTES * sum(map(len, reply.texts))
        return Answered(hits=await beside_the_loop(size_bytes, hits, reply), target=target)


def hits(reply: ServerReply) -> list[Hit]:
    """Return the answer of a tool as hits: its list of results if it has one, else each of its texts."""
    results = _results(reply.structured)
    if results is None and len(reply.texts) == 1:
        try:
            results = _results(orjson.loads(reply.texts[0]))
        except ValueError:
            results = None
    if results is None:
        results = list(reply.texts)
    hits_or_none = [_hit(row) for row in results[:_RESULTS_MAX]]
    return [hit for hit in hits_or_none if hit is not None]


def _results(answer: Any) -> list[Any] | None:
    """Return the list of results in a tool's answer; None if the answer has no such list, and no text of its own."""
    if isinstance(answer, Mapping):
        if set(answer) == {"result"}:  # libraries wrap values that are not objects
            answer = answer["result"]
        else:
            answer = next((answer[name] for name in _LISTS if isinstance(answer.get(name), list)), answer)
    if isinstance(answer, Mapping):
        return [answer] if _first(answer, _TEXTS) else None
    return answer if isinstance(answer, list) else None


def _hit(hit: Any) -> Hit | None:
    """Return one result of a tool as a hit. Tools answer in any form, so the usual names of fields are tried.

    Returns:
        None if the result has no text.
    """
    if isinstance(hit, str):
        return Hit(source_id=_hash(hit), title=line_of(hit, chars_max=_DISPLAY_CHARS_MAX), snippet=hit) if hit else None
    if not isinstance(hit, Mapping):
        return None
    title = _first(hit, _TITLES)
    text = _first(hit, _TEXTS) or title
    if not text:
        return None
    own_id = hit.get("id")
    own_id = str(own_id) if isinstance(own_id, str | int) and not isinstance(own_id, bool) else ""
    uri = _first(hit, _URIS)
    score = hit.get("score")
    return Hit(
        source_id=own_id if 0 < len(own_id) <= _ID_CHARS_MAX else _hash(f"{title}\n{uri}\n{text}"),
        title=title or line_of(text, chars_max=_DISPLAY_CHARS_MAX),
        snippet=text,
        score=score if isinstance(score, int | float) and not isinstance(score, bool) else None,
        uri=uri,
        as_of=_time(_first(hit, _TIMES)),
    )


def _first(reply: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first text in a reply under one of several names; empty if there is none."""
    for name in names:
        value = reply.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _time(text: str) -> datetime | None:
    """Parse a time in the answer of an MCP tool; None if it is malformed. A time without a zone is taken as UTC."""
    try:
        time = datetime.fromisoformat(text[:40])
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
