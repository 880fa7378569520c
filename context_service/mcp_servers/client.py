"""The client for MCP servers of others, over streamable HTTP: the only file that speaks the protocol as a client.

Servers are not trusted. The address that was checked is the one that is connected to; redirects are not followed; the
size of an answer is limited while it is read; and nothing that a server says is logged. Each conversation has a
connection of its own.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import orjson

from context_service.mcp_servers.model import Definition, Discovered, ServerAddress, ServerReply, ToolRefused
from context_service.mcp_servers.pure import definition
from contextkeep.errors import AddressRefused, InvalidArgument, McpServerFailed
from service_runtime.imports.extras import install
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.network.destinations import Destination, Destinations
from service_runtime.network.pinned import Origin, ReadTurns, Response, Watch, broken, cause_of
from service_runtime.network.pinned import client as pinned_client

if TYPE_CHECKING:
    import httpx2
    import mcp_types as types
    from mcp.client.session import ClientSession

_T = TypeVar("_T")

ANSWER_BYTES_MAX = 1024 * 1024  # the most bytes of one response, as it is transferred
# Limits of one message. The library of the protocol parses a message at once, on the event loop: a list or object takes
# it .3 us, a value .2 us, a content block of an answer 10 us, and a tool 20 us. The check counts brackets and commas,
# also those inside of texts.
CONTAINERS_MAX, VALUES_MAX = 16_384, 50_000
BLOCKS_MAX = 500  # content blocks of one answer
TOOLS_MAX = 200  # tools of a server
# Lines of a response that is a stream of events: the library takes 100 us for an event of two lines, even an empty one.
_LINES_MAX = 1_000
_SMALL_BYTES = 8 * 1024  # a message of up to this size cannot exceed the limits above by much, so it is not checked
_TALK_BYTES_MAX = 4 * ANSWER_BYTES_MAX  # the most bytes of all responses in one conversation
_PAGES_MAX = 20  # pages of a server's list of tools that are read
_TEXT_CHARS_MAX = 256 * 1024  # the most characters of all texts in the answer of a tool
_RESULT_BYTES = 4  # searching a byte for secrets, or writing it again, takes as long as parsing this many bytes
_BETWEEN_EVENTS, _BETWEEN_EVENTS_BYTES_MAX = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)"), 3
_HTTP_ERROR, _REDIRECT = 400, 300
_ASKS_WHO = frozenset({401, 403, 407})
# Loggers that are switched off, because their messages may contain headers or texts that a server sent.
_TOO_TALKATIVE = ("mcp.client", "mcp.shared", "client", "httpx2", "httpcore2")


class McpClient:
    """Calls MCP servers: lists their tools, and runs approved ones.

    Args:
        destinations: Decides which addresses servers may have.
    """

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations
        self._steps = ReadTurns()
        self._tls: ssl.SSLContext | None = None

    async def discover(self, target: ServerAddress) -> Discovered:
        """Return the tools that a server offers.

        Raises:
            AddressRefused: the server has an address that the service may not call.
            McpServerFailed: the server did not answer with its tools.
        """

        async def work(session: ClientSession, watch: Watch) -> Discovered:
            """Read the tools of the server, and keep those that can be stored."""
            tools = await _tools(session, watch)
            kept = [definition for definition in tools.values() if definition is not None]
            return Discovered(protocol=session.protocol_version or "", tools=kept[:TOOLS_MAX])

        return await self._talk(target, work)

    async def call(self, target: ServerAddress, approved: Definition, arguments: dict[str, Any]) -> ServerReply:
        """Call a tool, if its definition is still the approved one, and return its answer.

        Raises:
            ToolRefused: the tool has another definition now; it was not called.
            AddressRefused: the server has an address that the service may not call.
            McpServerFailed: the server cannot be reached, or does not answer as the protocol requires.
        """

        async def work(session: ClientSession, watch: Watch) -> ServerReply:
            """Read the tool's current definition, compare it with the approved one, and call the tool."""
            import mcp_types as types

            now = (await _tools(session, watch)).get(approved.name)
            if now is None:
                raise ToolRefused("the server no longer has the tool")
            if now != approved:
                raise ToolRefused("the tool's definition changed after it was approved; approve it again")
            # `session.call_tool` is not used, because it validates the answer by the server's own schema, whose
            # patterns may take very long.
            params = types.CallToolRequestParams(name=approved.name, arguments=arguments)
            result = await session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
            return await beside_the_loop(_RESULT_BYTES * watch.size_bytes, _reply_of, result, target.secret)

        return await self._talk(target, work)

    async def _talk(self, target: ServerAddress, work: Callable[[ClientSession, Watch], Awaitable[_T]]) -> _T:
        """Connect to a server, run `work` with the session, and return its result.

        The address is checked once and then pinned, so that a host name cannot lead elsewhere meanwhile. Errors never
        show what the server sent.

        Raises:
            AddressRefused: the address is one that the service may not call.
            McpServerFailed: the server cannot be reached, or `work` failed.
            ToolRefused: `work` refused the tool.
        """
        mcp = await _library()
        origin = origin_of(target.url)
        try:
            destination = await self._destinations.checked(origin.host, origin.port)
        except AddressRefused as error:
            raise AddressRefused(error.message) from None
        except (OSError, UnicodeError):
            raise McpServerFailed("its host name cannot be resolved") from None
        if origin.scheme != "https" and not destination.is_listed:
            raise McpServerFailed("its address is public, so server.url must begin with https://")
        watch = Watch(answer_bytes_max=ANSWER_BYTES_MAX, talk_bytes_max=_TALK_BYTES_MAX)
        try:
            async with await self._http(target, origin, destination, watch) as http:
                transport = mcp.streamable_http_client(
                    target.url, http_client=http, max_sse_event_size=ANSWER_BYTES_MAX
                )
                async with mcp.Client(transport, mode=mcp.mode_of(target.protocol), cache=None) as client:
                    return await work(client.session, watch)
        except Exception as error:
            if (refused := cause_of(error, ToolRefused)) is not None:
                raise ToolRefused(str(refused)) from None
            # The cause is dropped, because it may contain anything that the server sent.
            raise McpServerFailed(_failure(error, watch)) from None

    async def _http(
        self, target: ServerAddress, origin: Origin, destination: Destination, watch: Watch
    ) -> httpx2.AsyncClient:
        """Return an HTTP client that is pinned to the checked address, and limits the size of answers."""
        if self._tls is None and origin.scheme == "https":
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        headers = {"authorization": f"Bearer {target.secret}"} if target.secret else {}
        return pinned_client(
            origin,
            destination,
            watch,
            tls=self._tls,
            headers=headers,
            check=partial(_check, watch=watch),
            steps=self._steps,
            readable=partial(_checked_events, watch=watch),
        )


def origin_of(url: str) -> Origin:
    """Return the origin of a URL: scheme, host and port.

    Raises:
        InvalidArgument: an MCP server may not have such a URL.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidArgument("server.url must be an https:// or http:// URL", field="server.url") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidArgument(
            "server.url must be an https:// or http:// URL of printable ASCII characters without spaces",
            field="server.url",
        )
    if (
        parts.username is not None
        or parts.password is not None
        or "?" in url
        or "#" in url
        or "\\" in url
        or "%" in host
    ):
        raise InvalidArgument(
            "server.url must have no user, query or fragment, no backslash, and no % in its host; give a secret in "
            "bearer_secret",
            field="server.url",
        )
    return Origin(scheme=parts.scheme, host=host, port=port or (443 if parts.scheme == "https" else 80))


def _check(response: Response, watch: Watch) -> None:
    """Refuse a response that asks for other credentials, or that redirects.

    Raises:
        NotToBeRead: the status of the response says so.
    """
    status = response.status_code
    if status in _ASKS_WHO:
        raise watch.failed(f"it asks for authentication, or refuses bearer_secret (HTTP {status})")
    if _REDIRECT <= status < _HTTP_ERROR:
        raise watch.failed(f"it redirects (HTTP {status}), and redirects are not followed")


async def _checked_events(response: Response, body: AsyncIterator[bytes], watch: Watch) -> AsyncIterator[bytes]:
    """Yield the bytes of an answer; hold each message back until it is checked that it is cheap to parse."""
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        whole = bytearray()
        async for chunk in body:
            whole += chunk
        await _check_message(whole, watch)
        yield bytes(whole)
        return
    held, lines = bytearray(), 0
    async for chunk in body:
        lines += chunk.count(b"\n") + chunk.count(b"\r")
        if lines > _LINES_MAX:
            raise watch.failed(f"its answer has more than {_LINES_MAX:,} lines of events")
        search_from = max(len(held) - _BETWEEN_EVENTS_BYTES_MAX, 0)
        held += chunk
        ends = [found.end() for found in _BETWEEN_EVENTS.finditer(held, search_from)]
        if not ends:
            continue
        for event in _BETWEEN_EVENTS.split(held[: ends[-1]]):
            await _check_message(_data_of(event), watch)
        yield bytes(held[: ends[-1]])
        del held[: ends[-1]]
    if held:
        await _check_message(_data_of(held), watch)
        yield bytes(held)


def _data_of(event: bytes | bytearray) -> bytes:
    """Return the data of a server-sent event, without field names."""
    lines = event.removeprefix(codecs.BOM_UTF8).splitlines()
    return b"\n".join(line.partition(b":")[2] for line in lines if line.startswith(b"data"))


async def _check_message(text: bytes | bytearray, watch: Watch) -> None:
    """Refuse a message with more lists, values, blocks or tools than the library parses in some milliseconds.

    Raises:
        NotToBeRead: the message has more bytes.
    """
    if len(text) <= _SMALL_BYTES:
        return
    containers = text.count(b"{") + text.count(b"[")
    if containers > CONTAINERS_MAX:
        raise watch.failed(f"one message of its answer has more than {CONTAINERS_MAX:,} lists and objects")
    if text.count(b",") > VALUES_MAX:
        raise watch.failed(f"one message of its answer has more than {VALUES_MAX:,} values")
    if containers <= BLOCKS_MAX:
        return
    try:
        result = (await beside_the_loop(len(text), orjson.loads, text))["result"]
        blocks, tools = (len(result.get(name, ())) for name in ("content", "tools"))
    except ValueError:
        raise watch.failed("its answer is not valid JSON") from None
    except (TypeError, LookupError, AttributeError):
        return  # the library reports the error
    if blocks > BLOCKS_MAX:
        raise watch.failed(f"its tool returned {blocks:,} content blocks; the limit is {BLOCKS_MAX:,}")
    if tools > 2 * TOOLS_MAX:
        raise watch.failed(f"it lists {tools:,} tools in one answer; the limit is {2 * TOOLS_MAX:,}")


def _failure(error: Exception, watch: Watch) -> str:
    """Return a sentence that says how a server failed, without anything that the server sent."""
    if watch.failure:
        return watch.failure
    if said := broken(error):
        return said
    if watch.status >= _HTTP_ERROR:
        return f"it answers HTTP {watch.status}"
    return "it does not speak the Model Context Protocol over streamable HTTP"


async def _tools(session: ClientSession, watch: Watch) -> dict[str, Definition | None]:
    """Return the tools of a server by name; None for a name of several tools, or a tool that cannot be stored."""
    import mcp_types as types

    found: dict[str, Definition | None] = {}
    cursor: str | None = None
    for _ in range(_PAGES_MAX):
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await session.send_request(types.ListToolsRequest(params=params), types.ListToolsResult)
        listed = page.tools[: 2 * TOOLS_MAX]
        definitions = await beside_the_loop(_RESULT_BYTES * watch.size_bytes, _definitions, listed)
        for one, said in zip(listed, definitions, strict=True):
            found[one.name] = None if one.name in found else said
        cursor = page.next_cursor
        if not cursor or len(found) > 2 * TOOLS_MAX:
            break
    return found


def _definitions(tools: Sequence[types.Tool]) -> list[Definition | None]:
    return list(map(_definition, tools))


def _definition(tool: types.Tool) -> Definition | None:
    """Return the definition of a tool as it is stored and compared; None if it cannot be stored."""
    return definition(
        tool.name,
        title=tool.title or "",
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {},
        meta=tool.meta or {},
    )


def _reply_of(result: types.CallToolResult, secret: str) -> ServerReply:
    """Return the answer of a tool: its structured content and its texts up to a limit, without the secret."""
    left = _TEXT_CHARS_MAX
    texts = []
    for block in result.content:
        text = getattr(block, "text", None)
        if isinstance(text, str) and left > 0:
            texts.append(_without(secret, text[:left]))
            left -= len(text)
    return ServerReply(
        structured=_without(secret, result.structured_content), texts=texts, is_error=bool(result.is_error)
    )


def _without(secret: str, value: Any) -> Any:
    """Replace the secret in names and values of an answer, in case the server repeats it."""
    if not secret:
        return value
    if isinstance(value, str):
        return value.replace(secret, "[secret]")
    if isinstance(value, list):
        return [_without(secret, item) for item in value]
    if isinstance(value, dict):
        return {_without(secret, name): _without(secret, item) for name, item in value.items()}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Library:
    """The parts of the MCP library that are used here."""

    Client: Any
    streamable_http_client: Any
    modern: frozenset[str]

    def mode_of(self, protocol: str) -> str:
        """Return the library's mode for a version of the protocol; an empty version lets the library find out."""
        if not protocol:
            return "auto"
        return protocol if protocol in self.modern else "legacy"


_loaded: list[_Library] = []


async def _library() -> _Library:
    """Return the MCP library. Loading it takes a second, so the first call loads it off the event loop.

    Raises:
        McpServerFailed: the library is not installed.
    """
    if not _loaded:
        try:
            _loaded.append(await asyncio.to_thread(_load))
        except ImportError:
            raise McpServerFailed(f"the service cannot call MCP servers: {install('mcp')}") from None
    return _loaded[0]


def _load() -> _Library:
    """Import the MCP library, and switch off its loggers."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    for name in _TOO_TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return _Library(
        Client=Client, streamable_http_client=streamable_http_client, modern=frozenset(MODERN_PROTOCOL_VERSIONS)
    )
