"""What is wrong before a message of MCP is one, on its port and on HTTP's: hosts, origins, heads, bodies, silence."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import httpx2
import pytest

from context_service.settings import Settings
from service_runtime.http import listening
from tests.conftest import KEY, Addresses
from tests.logged import errors, port_of

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
HEADERS = {
    "Host": "127.0.0.1",
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}


@dataclass(frozen=True, kw_only=True)
class Door:
    """Where MCP answers."""

    port: int
    path: str
    is_beside_json: bool

    @property
    def post(self) -> bytes:
        return f"POST {self.path} HTTP/1.1\r\n".encode()

    def request(self, headers: Mapping[str, str], body: bytes = PING) -> bytes:
        lines = {**HEADERS, "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        return self.post + head.encode("latin-1") + b"\r\n" + body


@pytest.fixture
def context_settings(context_settings: Settings, caplog: pytest.LogCaptureFixture) -> Settings:
    caplog.set_level(logging.INFO)
    whole = {"calls_share_of_tenant": 1.0, "calls_share_of_key": 1.0}
    return context_settings.model_copy(update={"mcp_port": 0, "http_port": 0, "calls_max": 3, **whole})


@pytest.fixture(params=["mcp", "http"])
def door(request: pytest.FixtureRequest, services: Addresses, caplog: pytest.LogCaptureFixture) -> Door:
    is_beside_json = request.param == "http"
    path = "/mcp/query" if is_beside_json else "/mcp"
    return Door(port=port_of(caplog, request.param), path=path, is_beside_json=is_beside_json)


async def sent(port: int, data: bytes) -> tuple[int, bytes]:
    """Return status and body of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        async with asyncio.timeout(20):
            head = await reader.readuntil(b"\r\n\r\n")
            return int(head.split()[1]), await reader.read(4096)
    finally:
        writer.close()


async def test_a_host_that_is_none_is_refused_without_a_fault(door: Door, caplog: pytest.LogCaptureFixture):
    for host in ("[", "[::1", "]", "[v1.x]", "127.0.0.1@evil.example", "evil.example@127.0.0.1", "é"):
        for headers in ({"Host": host}, {"Host": host, "Authorization": ""}):
            assert (await sent(door.port, door.request(headers)))[0] == 421, host
    assert not errors(caplog)


async def test_loopback_by_any_of_its_names_is_let_in(door: Door):
    """A page of loopback may call the port of MCP; to that of JSON `HTTP_ORIGINS` alone lets pages in."""
    of_pages = 403 if door.is_beside_json else 200
    for host in ("127.0.0.1", "127.0.0.1:1", "LOCALHOST", "localhost:6274", "[::1]", "[::1]:80", "[0::1]"):
        assert (await sent(door.port, door.request({"Host": host})))[0] == 200, host
        for origin in (f"http://{host}", f"https://{host}"):
            assert (await sent(door.port, door.request({"Origin": origin})))[0] == of_pages, origin


LOOKALIKES = [
    "http://[",
    "http://127.0.0.1@evil.example",
    "http://evil.example@127.0.0.1",
    "http://evil.example\\@127.0.0.1",
    "http://evil.example#@localhost",
    "http://localhost.",
    "http://127.0.0.1/",
    "file://localhost",
    "chrome-extension://localhost",
    "//localhost",
    "localhost",
    "é",
]


async def test_an_origin_that_only_looks_like_loopback_is_refused(door: Door, caplog: pytest.LogCaptureFixture):
    for origin in LOOKALIKES:
        assert (await sent(door.port, door.request({"Origin": origin})))[0] == 403, origin
    assert not errors(caplog)


NO_MESSAGES = [
    b"",
    b"[" * 50_000,
    b'{"a":' * 50_000,
    b"\xff\xfe{}",
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wm_list","arguments":{"a":'
    + b"[" * 3000
    + b"]" * 3000
    + b"}}}",
]


async def test_a_body_that_is_no_message_is_refused_without_a_fault(door: Door, caplog: pytest.LogCaptureFixture):
    for body in NO_MESSAGES:
        assert (await sent(door.port, door.request({}, body)))[0] == 400, body[:80]
        assert (await sent(door.port, door.request({"Authorization": ""}, body)))[0] == 401  # and is not read
    assert not errors(caplog)


async def test_who_does_not_say_what_he_wants_is_hung_up_on_and_takes_nobodys_place(
    door: Door, monkeypatch: pytest.MonkeyPatch
):
    """As many as calls are let in at once, and more: silent, in the middle of a head, or of a second one."""
    monkeypatch.setattr(listening, "HEAD_S_MAX", 1.0)
    async with AsyncExitStack() as stack:
        silent = []
        half = door.post + b"Host: 127.0.0.1\r\nX: "
        for said in [b"", half] * 3 + [door.request({}) + half]:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            stack.callback(writer.close)
            writer.write(said)
            silent.append(reader)

        assert (await sent(door.port, door.request({})))[0] == 200
        async with asyncio.timeout(20):
            for reader in silent:
                try:
                    while await reader.read(4096):
                        pass
                except ConnectionResetError:
                    pass


async def test_a_head_that_trickles_is_hung_up_on_however_much_of_it_comes(door: Door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "HEAD_S_MAX", 0.5)
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    writer.write(door.post + b"Host: 127.0.0.1\r\n")
    try:
        async with asyncio.timeout(20):
            while not reader.at_eof():
                writer.write(b"X: x\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def test_a_call_may_take_longer_than_a_head(door: Door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "HEAD_S_MAX", 1.0)
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    try:
        request = door.request({})
        head_end = request.index(b"\r\n\r\n") + 4
        for _ in range(2):  # a connection is used again, too
            writer.write(request[:head_end])
            await writer.drain()
            await asyncio.sleep(1.5)
            writer.write(request[head_end:])
            async with asyncio.timeout(20):
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
    finally:
        writer.close()


@pytest.mark.parametrize("member", ["[]", "[" * 90 + "]" * 90])
async def test_a_body_of_brackets_is_refused_before_it_is_parsed(door: Door, member: str):
    """The SDK parses a body on the loop: three MiB of lists would take a second there."""
    arguments = b'{"a":[' + b",".join([member.encode()] * (3 * 1024**2 // len(member))) + b"]}"
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wm_query","arguments":' + arguments + b"}}"
    status, answer = await sent(door.port, door.request({}, body))
    assert status == 413
    assert b'"reason":"LIMIT_EXCEEDED"' in answer


async def test_one_request_more_than_a_process_may_answer_is_refused(door: Door):
    url = f"http://127.0.0.1:{door.port}{door.path}"
    async with AsyncExitStack() as stack:
        head = door.request({"Content-Length": "100"}, b"")
        for _ in range(3):  # that wait for their bodies
            _, writer = await asyncio.open_connection("127.0.0.1", door.port)
            stack.callback(writer.close)
            writer.write(head)
        headers = {"authorization": f"Bearer {KEY}", "accept": "application/json"}
        async with httpx2.AsyncClient(headers=headers) as client, asyncio.timeout(20):
            while (answer := await client.post(url, content=PING)).status_code == 200:
                await asyncio.sleep(0.02)  # until the three have arrived
    assert (answer.status_code, answer.json()["error"]["reason"]) == (503, "TOO_MANY_CALLS")
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "dripping"])
async def test_a_body_that_comes_too_slowly_is_refused_and_leaves_its_place(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, drips: bool
):
    """1,000 bodies of one key that dripped kept every tenant out, for as long as they liked to."""
    monkeypatch.setattr("service_runtime.http.body.START_S", 1.0)
    answers = []
    async with AsyncExitStack() as stack:
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            stack.callback(writer.close)
            writer.write(door.request({"Content-Length": "10000"}, b"{"))
            answers.append((reader, writer))
        async with asyncio.timeout(20):
            while drips and not any(reader._buffer for reader, _ in answers):  # type: ignore[attr-defined]
                for _, writer in answers:
                    writer.write(b" ")
                await asyncio.sleep(0.1)
            for reader, _ in answers:
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 408")
        assert (await sent(door.port, door.request({})))[0] == 200
    assert not errors(caplog)


async def test_a_body_may_take_longer_if_it_is_larger(door: Door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service_runtime.http.body.START_S", 0.5)
    monkeypatch.setattr("service_runtime.http.body.BYTES_PER_S", 1000)
    request = door.request({}, PING + b" " * 2000)
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    try:
        for start in range(0, len(request), 400):
            writer.write(request[start : start + 400])
            await asyncio.sleep(0.2)
        async with asyncio.timeout(20):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    finally:
        writer.close()


async def test_who_hangs_up_in_the_middle_of_a_body_is_no_fault(door: Door, caplog: pytest.LogCaptureFixture):
    """The SDK logged a traceback of it."""
    for said in (b"", b"{", PING[:-1]):
        _, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(door.request({"Content-Length": str(len(PING))}, said))
        await asyncio.sleep(0.1)
        writer.transport.abort()
    async with asyncio.timeout(10):
        while sum(record.getMessage() == "request broken off" for record in caplog.records) < 3:
            await asyncio.sleep(0.01)
    assert (await sent(door.port, door.request({})))[0] == 200
    assert not errors(caplog)


async def test_who_does_not_read_the_answers_is_hung_up_on(door: Door, monkeypatch: pytest.MonkeyPatch):
    """Requests one after another, and no answer read: the one that cannot be sent kept its place for ever."""
    monkeypatch.setattr(listening, "READ_S_MAX", 1.0)
    listing = json.dumps({"jsonrpc": "2.0", "id": "x" * 100_000, "method": "tools/list"}).encode()
    door = replace(door, path="/mcp")  # an answer repeats the id, so it is long
    async with AsyncExitStack() as stack:
        deaf = []
        for _ in range(3):
            unread = socket.socket()
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            unread.setblocking(False)
            stack.callback(unread.close)
            await asyncio.get_running_loop().sock_connect(unread, ("127.0.0.1", door.port))
            deaf.append(asyncio.create_task(asked_for_ever(unread, door.request({}, listing))))
        async with asyncio.timeout(40):
            await asyncio.gather(*deaf)
        assert (await sent(door.port, door.request({})))[0] == 200


async def asked_for_ever(unread: socket.socket, request: bytes) -> None:
    """Ask until the other side hangs up."""
    loop = asyncio.get_running_loop()
    try:
        while True:
            await loop.sock_sendall(unread, request)
    except ConnectionError:
        pass
