"""Servers of others, asked by the client alone: whatever they do, it says clearly what, and goes nowhere else."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from context_service.mcp_servers.client import McpClient, _checked_events, origin_of
from context_service.mcp_servers.model import ServerAddress, ToolRefused
from contextkeep.errors import AddressRefused, InvalidArgument, McpServerFailed
from service_runtime.network import destinations
from service_runtime.network.destinations import Destinations, check_entries
from service_runtime.network.pinned import ReadTurns, Watch
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.principal import Principal
from tests.cpu import in_units
from tests.fakes.mcp_server import Behave, FakeMcp, FakeTool, answering, fake_mcp, flooding, misbehaving, silent

SECRET = "the-secret-of-the-tenant"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeMcp]:
    with fake_mcp(secret=SECRET) as fake:
        yield fake


@pytest.fixture
def client() -> McpClient:
    return McpClient(Destinations(["127.0.0.0/8"]))


def target(url: str, **said: str) -> ServerAddress:
    return ServerAddress(url=url, **{"secret": SECRET, **said})


async def test_tools_are_discovered_and_called_in_any_version_of_the_protocol(server: FakeMcp, client: McpClient):
    found = await client.discover(target(server.url))
    (tool,) = found.tools
    assert (tool.name, tool.said["search_safe"], tool.said["annotations"]) == (
        "search_tickets",
        True,
        {"readOnlyHint": True},
    )
    for protocol in ("", found.protocol, "2025-06-18"):
        said = await client.call(target(server.url, protocol=protocol), tool, {"query": "rust", "limit": 3})
        assert said.structured["results"][0]["snippet"] == "About rust."
    assert server.called == [("search_tickets", {"query": "rust", "limit": 3})] * 3


async def test_plain_json_is_read_as_well_as_events(client: McpClient):
    with fake_mcp(json_response=True) as server:
        (tool,) = (await client.discover(target(server.url))).tools
        assert (await client.call(target(server.url), tool, {"query": "rust"})).structured["results"]


async def test_a_tool_that_changed_vanished_or_is_there_twice_is_not_called(client: McpClient):
    with fake_mcp() as server:
        (tool,) = (await client.discover(target(server.url))).tools
        for tools, twice, why in (
            ({"search_tickets": FakeTool(description="Deletes tickets.")}, "", "changed after it was approved"),
            ({"search_tickets": FakeTool(read_only=False)}, "", "changed after it was approved"),
            ({"search_tickets": FakeTool(read_only=None)}, "", "changed after it was approved"),
            ({"search_tickets": FakeTool(meta=None)}, "", "changed after it was approved"),
            ({"another": FakeTool()}, "", "no longer has the tool"),
            ({}, "", "no longer has the tool"),
            ({"search_tickets": FakeTool()}, "search_tickets", "no longer has the tool"),
        ):
            server.tools, server.twice = tools, twice
            with pytest.raises(ToolRefused, match=why):
                await client.call(target(server.url), tool, {"query": "rust"})
        assert server.called == []


async def test_a_server_that_repeats_the_secret_does_not_get_it_shown(server: FakeMcp, client: McpClient):
    (tool,) = (await client.discover(target(server.url))).tools
    server.tools["search_tickets"].answer = lambda _: {"results": [{"text": f"You said {SECRET}", SECRET: 1}]}
    try:
        said = await client.call(target(server.url), tool, {"query": "rust"})
    finally:
        server.tools["search_tickets"] = FakeTool()
    assert SECRET not in repr(said)
    assert said.structured["results"][0]["text"] == "You said [secret]"
    assert SECRET not in repr(target(server.url))


@pytest.mark.parametrize(
    ("behave", "why"),
    [
        (answering("401 Unauthorized", "www-authenticate: Bearer\r\n"), "asks for authentication"),
        (answering("403 Forbidden"), "asks for authentication"),
        (answering("307 Temporary Redirect", "location: http://169.254.169.254/latest/meta-data\r\n"), "redirects"),
        (answering("302 Found", "location: http://127.0.0.1:1/\r\n"), "redirects"),
        (answering("308 Permanent Redirect", "location: /elsewhere\r\n"), "redirects"),
        (answering("500 Internal Server Error", body=b"<h1>oh</h1>"), "HTTP 500"),
        (answering("200 OK", "content-type: text/html\r\n", b"<h1>Welcome</h1>"), "does not speak"),
        (answering("200 OK", "content-type: application/json\r\n", b"{{{{"), "does not speak"),
        (answering("200 OK", "content-type: application/json\r\n", b'{"jsonrpc":"2.0","id":7}'), "does not speak"),
        (answering("200 OK", "content-type: text/event-stream\r\n", b"data: {nonsense\n\n"), "does not speak"),
        (answering("200 OK", "content-encoding: gzip\r\ncontent-type: application/json\r\n", b"x"), "compresses"),
        (answering("200 OK", "content-type: application/json\r\ncontent-length: 10485760\r\n"), "broke off|more than"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_whatever_a_server_does_it_is_said_clearly(client: McpClient, behave, why):
    async with misbehaving(behave) as (url, came), asyncio.timeout(10):
        with pytest.raises(McpServerFailed, match=why) as failed:
            await client.discover(target(url))
    assert came and SECRET not in str(failed.value) and failed.value.__cause__ is None


@pytest.mark.parametrize(
    ("content_type", "piece"),
    [
        ("application/json", b" " * 65_536),
        ("text/event-stream", b"data: " + b"x" * 65_528 + b"\n\n"),
        ("text/event-stream", b"x" * 65_536),
        ("text/event-stream", b": still there\n\n" * 4_096),
    ],
)
async def test_an_answer_of_many_megabytes_is_not_read_to_the_end(client: McpClient, content_type: str, piece: bytes):
    behave, sent = flooding(content_type, piece)
    async with misbehaving(behave) as (url, _), asyncio.timeout(20):
        with pytest.raises(McpServerFailed):
            await client.discover(target(url))
        assert sent[0] < 15 * 2**20  # what the buffers of both sockets take


_OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_CHUNKED = _OK + b"transfer-encoding: chunked\r\n\r\n"
_PRIMING = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\nid: 1\nretry: 0\ndata:\n\n"


@pytest.mark.parametrize(
    ("first", "again", "why"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "head of its answer"),
        (b"", b"HTTP/1.1 102 Processing\r\na: b\r\n\r\n", "head of its answer"),
        (_OK, b"a:\r\n", "head of its answer"),
        (_OK + b"a: ", b"a" * 64, "head of its answer"),
        (_CHUNKED, b"1\r\n \r\n", "5,000 chunks"),
        (_CHUNKED, b"1;" + b"e" * 4_000 + b"\r\n \r\n", "around its chunks"),
        (_CHUNKED + b"0\r\n", b"a:\r\n", "around its chunks"),
    ],
    ids=[
        "continues",
        "is processing",
        "lines",
        "a long line",
        "chunks",
        "what is around a chunk",
        "what follows the last",
    ],
)
async def test_what_says_nothing_ends_soon_and_in_small_steps(client: McpClient, first: bytes, again: bytes, why: str):
    """The HTTP library reads it on the event loop: 64 KiB of informational responses took others' turn for 100 ms."""
    behave = _repeating(first, again)
    longest_s = 0.0  # of a step, in one conversation
    least_s = math.inf  # of three: other programs take part of the core

    async def watch() -> None:
        nonlocal longest_s
        while True:
            before_s = time.thread_time()
            await asyncio.sleep(0)
            longest_s = max(longest_s, time.thread_time() - before_s)

    async with misbehaving(behave) as (url, _), asyncio.timeout(60):
        with pytest.raises(McpServerFailed):  # what is loaded at first counts for nobody
            await client.discover(target(url))
        for _ in range(3):
            longest_s = 0.0
            watching = asyncio.ensure_future(watch())
            with pytest.raises(McpServerFailed, match=why):
                await client.discover(target(url))
            watching.cancel()
            least_s = min(least_s, longest_s)

    assert in_units(least_s) < 150  # .06 s where the bound was chosen


def _repeating(first: bytes, again: bytes) -> Behave:
    """Return a server that answers `first`, then the same bytes without an end."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        piece = again * (65_536 // len(again))
        for _ in range(500):
            writer.write(piece)
            await writer.drain()

    return behave


async def test_conversations_of_a_tenant_read_one_after_the_other():
    """Dozens of them at once had dozens of turns of the loop for each of another tenant's call."""
    steps, taken = ReadTurns(), 0

    async def read() -> None:
        nonlocal taken
        watch = Watch(answer_bytes_max=1, talk_bytes_max=1)
        for _ in range(20):
            await steps.take(watch)
            taken += 1

    readers = [asyncio.ensure_future(read()) for _ in range(50)]
    for _ in range(20):
        await asyncio.sleep(0)  # what another call does
    assert 0 < taken <= 20
    readers[-1].cancel()  # one that waits holds up nobody behind it
    async with asyncio.timeout(20):
        await asyncio.gather(*readers[:-1])
    assert taken == 49 * 20


async def test_a_brief_conversation_waits_for_few_reads_of_talkative_ones_of_its_tenant():
    """However many these are: one read of another before each of its own, once they have read as often."""
    steps, taken = ReadTurns(), 0

    async def talk() -> None:
        nonlocal taken
        watch = Watch(answer_bytes_max=1, talk_bytes_max=1)
        while True:
            await steps.take(watch)
            taken += 1

    talkers = [asyncio.ensure_future(talk()) for _ in range(50)]
    try:
        async with asyncio.timeout(60):
            while taken < 50 * 10:
                await asyncio.sleep(0.001)
            brief, before = Watch(answer_bytes_max=1, talk_bytes_max=1), taken
            for _ in range(8):
                await steps.take(brief)
        assert taken - before <= 2 * 8
    finally:
        for one in talkers:
            one.cancel()


async def test_a_server_that_ends_each_stream_at_once_is_not_asked_again_for_ever(client: McpClient):
    """The protocol's library takes up an ended stream where it ended, as soon as the server says."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(_PRIMING)
        await writer.drain()

    async with misbehaving(behave) as (url, came), asyncio.timeout(20):
        with pytest.raises(McpServerFailed, match="32 requests"):
            await client.discover(target(url))
        assert len(came) <= 32


def _events(body: bytes) -> bytes:
    return b"event: message\ndata: " + body + b"\n\n"


_MIB = 1024 * 1024


@pytest.mark.parametrize("is_stream", [False, True], ids=["JSON", "events"])
@pytest.mark.parametrize(
    ("member", "why"),
    [
        (b'{"type":"text","text":""}', "lists and objects"),
        (b"{}", "lists and objects"),
        (b"[]", "lists and objects"),
        (b"1", "values"),
        (b'""', "values"),
        (b'{"type":"text","text":"' + b"x" * 700 + b'"}', r"returned [0-9,]+ content blocks; the limit is 500"),
    ],
    ids=["texts", "objects", "lists", "numbers", "empty texts", "as many blocks as the brackets allow"],
)
async def test_a_message_of_a_mebibyte_costs_no_more_than_to_count_it(
    client: McpClient, member: bytes, why: str, is_stream: bool
):
    """The protocol's library reads one in one go: 38,000 texts took it half a second, which no deadline cuts."""
    members = b",".join([member] * ((_MIB - 200) // (len(member) + 1)))
    body = b'{"jsonrpc":"2.0","id":1,"result":{"isError":false,"content":[' + members + b"]}}"
    kind = "text/event-stream" if is_stream else "application/json"
    behave = answering("200 OK", f"content-type: {kind}\r\n", _events(body) if is_stream else body)
    async with misbehaving(behave) as (url, _), asyncio.timeout(20):
        with pytest.raises(McpServerFailed, match=why):  # the first conversation of a process imports the library
            await client.discover(target(url))
        began_s = time.thread_time()
        with pytest.raises(McpServerFailed, match=why):
            await client.discover(target(url))

    assert in_units(time.thread_time() - began_s) < 200  # the library with 2,000 texts, and small reads


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
async def test_a_response_of_lines_that_say_nothing_is_not_read(client: McpClient, end: bytes):
    behave = answering("200 OK", "content-type: text/event-stream\r\n", (b":" + end) * 100_000)
    async with misbehaving(behave) as (url, _), asyncio.timeout(20):
        with pytest.raises(McpServerFailed, match="lines of events"):
            await client.discover(target(url))


async def test_events_are_passed_on_whole_however_they_come(client: McpClient):
    """A message may be cut anywhere, even between the two line ends behind it."""
    watch = Watch(answer_bytes_max=_MIB, talk_bytes_max=_MIB)
    events = b": hello\r\n\r\n" + _events(b'{"id":1}') + b"data: 2\r\rdata: the last, without an end"
    response = SimpleNamespace(status_code=200, headers={"content-type": "text/event-stream; charset=utf-8"})

    for size in range(1, len(events) + 1):

        async def body(size: int = size) -> AsyncIterator[bytes]:
            for start in range(0, len(events), size):
                yield events[start : start + size]

        passed_on = [chunk async for chunk in _checked_events(response, body(), watch=watch)]
        assert b"".join(passed_on) == events
        assert passed_on[-1] == b"data: the last, without an end"


async def test_a_server_that_hangs_ends_with_the_time_of_who_asks(client: McpClient):
    async with misbehaving(silent) as (url, came):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.discover(target(url))
        assert len(came) == 1


async def test_a_server_that_is_not_there_is_said_to_be(client: McpClient):
    for url, why in (
        ("http://127.0.0.1:1/mcp", "cannot be connected to"),
        ("http://no.such.invalid/", "cannot be resolved"),
    ):
        with pytest.raises(McpServerFailed, match=why):
            await client.discover(target(url))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("::1", "fe80::1", "fd00::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "224.0.0.1", "255.255.255.255", "ff02::1", "192.0.2.1"),
    ],
)
async def test_an_address_of_our_own_network_is_refused_unless_it_is_listed(address: str):
    with pytest.raises(AddressRefused):
        Destinations([]).check(address, 443)
    with pytest.raises(AddressRefused):
        Destinations(["10.9.0.0/16"]).check(address, 443)


def test_a_list_of_addresses_admits_those_and_their_ports_only():
    listed = Destinations(["10.1.0.0/16", "127.0.0.1:8080", "[fd00::/8]:443", "::1"])
    for address, port in (("10.1.9.9", 1), ("127.0.0.1", 8080), ("fd00::7", 443), ("::1", 9), ("::ffff:10.1.0.1", 2)):
        assert listed.check(address, port).is_listed
    for address, port in (("10.2.0.1", 1), ("127.0.0.1", 8081), ("127.0.0.2", 8080), ("fd00::7", 80)):
        with pytest.raises(AddressRefused):
            listed.check(address, port)
    assert not listed.check("93.184.216.34", 443).is_listed
    for wrong in ("localhost", "10.0.0.0/33", "127.0.0.1:0", "127.0.0.1:99999", "10.0.0.1/8", "", "http://10.0.0.1"):
        with pytest.raises(ValueError, match="must be an address or a network"):
            check_entries([wrong])


async def test_a_name_that_changes_its_address_between_check_and_call_reaches_only_what_was_checked(
    caplog: pytest.LogCaptureFixture,
):
    """DNS rebinding: a name is looked up once for a conversation, and its requests go where it led then."""
    trap: list[bytes] = []

    async def trapped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        trap.append(await reader.read(1))
        writer.close()

    asked: list[str] = []
    with fake_mcp(host="127.0.0.2") as server:
        guard = await asyncio.start_server(trapped, "127.0.0.1", server.port)

        async def resolve(host: str, port: int) -> list[str]:
            asked.append(host)
            return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.1"]

        client = McpClient(Destinations(["127.0.0.2"], resolve=resolve))
        url = f"http://rebinding.test:{server.port}/mcp"
        async with guard:
            found = await client.discover(target(url))
            assert [one.name for one in found.tools] == ["search_tickets"]
            assert asked == ["rebinding.test"]  # several requests, one look
            with pytest.raises(AddressRefused, match="neither public") as refused:
                await client.call(target(url), found.tools[0], {"query": "rust"})
    assert trap == [] and server.called == []
    assert "127.0.0.1" not in str(refused.value)  # callers learn no address of our network
    assert "127.0.0.1" in caplog.records[-1].error


async def test_a_name_of_which_one_address_is_refused_is_refused():
    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    with pytest.raises(AddressRefused):
        await McpClient(Destinations([], resolve=resolve)).discover(target("https://mixed.test/mcp"))


async def test_a_public_address_is_not_called_without_tls():
    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    with pytest.raises(McpServerFailed, match="begin with https"):
        await McpClient(Destinations([], resolve=resolve)).discover(target("http://public.test/mcp"))


async def test_the_host_of_a_request_is_the_name_though_it_goes_to_an_address():
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with misbehaving(answering("404 Not Found")) as (url, came):
        named = url.replace("127.0.0.1", "tickets.test")
        with pytest.raises(McpServerFailed):
            await McpClient(Destinations(["127.0.0.1"], resolve=resolve)).discover(target(named))
    assert f"host: tickets.test:{url.split(':')[2].split('/')[0]}".encode() in came[0].lower()


@pytest.mark.parametrize(
    "url",
    [
        *("", "tickets.test", "ftp://tickets.test/", "file:///etc/passwd", "https://", "https://ada:pw@tickets.test/"),
        *(
            "https://tickets.test/?key=abc",
            "https://tickets.test/#x",
            "https://tickets.test:99999/",
            "https://tïckets/",
        ),
        *("https://tickets.test\\@127.0.0.1/", "https://a b/", "https://[::1", "https://[fe80::1%25eth0]/"),
    ],
)
def test_what_is_no_url_of_a_server_is_refused(url: str):
    with pytest.raises(InvalidArgument):
        origin_of(url)


async def test_no_log_has_the_secret_or_what_a_server_says(
    server: FakeMcp, client: McpClient, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    (tool,) = (await client.discover(target(server.url))).tools
    await client.call(target(server.url), tool, {"query": "rust"})
    async with misbehaving(answering("200 OK", "content-type: application/json\r\n", b"{secret words}")) as (url, _):
        with pytest.raises(McpServerFailed):
            await client.discover(target(url))
    assert SECRET not in caplog.text and "secret words" not in caplog.text


@dataclass
class SlowNames:
    """A name server that gives no answer for names below `slow.test` until it has `ended`."""

    ended: threading.Event
    began: list[str]
    destinations: Destinations

    async def lookup(self, host: str, tenant: int) -> str:
        """Look a name up for a tenant."""
        current_call.set(Call(call_id="", method="", principal=Principal(tenant_id=UUID(int=tenant), subject="")))
        return (await self.destinations.checked(host, 443)).address


@pytest.fixture
def slow_names(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowNames]:
    ended, really = threading.Event(), socket.getaddrinfo
    names = SlowNames(ended, [], Destinations(["127.0.0.1"]))

    def slowly(host: str, port: int, **said: Any) -> Any:
        names.began.append(host)
        if host.endswith(".slow.test"):
            ended.wait(60)
        return really("127.0.0.1", port, **said)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    yield names
    ended.set()


async def test_names_that_are_looked_up_slowly_hold_up_their_own_tenant_alone(
    slow_names: SlowNames, monkeypatch: pytest.MonkeyPatch
):
    """A tenant may have its own name server, which takes a thread of lookups for as long as it likes."""
    monkeypatch.setattr(destinations, "_LOOKUP_S", 60.0)
    slow = [asyncio.ensure_future(slow_names.lookup(f"{n}.slow.test", 1)) for n in range(40)]
    async with asyncio.timeout(30):
        assert await asyncio.to_thread(int, "1") == 1  # other work of the process
        assert await slow_names.lookup("other.test", 2) == "127.0.0.1"
    for one in slow[:20]:
        one.cancel()  # and still no other thread is begun: those of the first four go on
    await asyncio.sleep(0)
    assert len(slow_names.began) == 5
    slow_names.ended.set()
    answers = await asyncio.gather(*slow, return_exceptions=True)
    assert [str(one) for one in answers[20:]] == ["127.0.0.1"] * 20
    assert await slow_names.lookup("other.test", 1) == "127.0.0.1"


async def test_many_tenants_whose_names_are_never_found_hold_up_no_other(
    slow_names: SlowNames, monkeypatch: pytest.MonkeyPatch
):
    """A tenant without a lookup under way gets a thread at once; and each caller has an answer within a deadline."""
    slow = [asyncio.ensure_future(slow_names.lookup(f"{n}.slow.test", 1 + n % 60)) for n in range(60 * 5)]
    async with asyncio.timeout(60):
        assert await slow_names.lookup("other.test", 61) == "127.0.0.1"
    assert len(slow_names.began) < 256
    for one in slow:
        one.cancel()
    monkeypatch.setattr(destinations, "_LOOKUP_S", 0.05)
    with pytest.raises(OSError, match="not resolved within"):
        await slow_names.lookup("last.slow.test", 62)
