"""What once held up every caller is refused or done, and holds up nobody: the probe beside each case says so."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice, permutations
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import grpc
import orjson
import pytest
from google.protobuf.message import Message

from contextkeep.context.v1 import context_windows_pb2 as windows
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import mcp_servers_pb2 as mcp_servers
from contextkeep.context.v1 import message_pb2
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from tests.hostile.attacks import ATTACKS, DOCUMENTS, is_tried
from tests.hostile.calling import Case, Client, Outcome, faults
from tests.hostile.stalls import AT_ONCE, STALL_S_MAX, StallProbe
from tests.hostile.things import RPCS

TRIED = [attack for attack in ATTACKS if is_tried(attack[0]) or os.environ.get("FUZZ_REQUESTS")]


def at_once(client: Client, rpc: str, case: Case, key: object) -> list[Outcome]:
    """Return what the same call of several attackers comes to."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda _: client.call(RPCS[rpc], case, key=key, timeout_s=60), range(AT_ONCE)))


@pytest.mark.parametrize(("rpc", "request_"), [attack[1:] for attack in TRIED], ids=[attack[0] for attack in TRIED])
def test_an_attack_by_several_callers_holds_up_nobody(rpc: str, request_: Message, client: Client):
    key = uuid.uuid4()
    case = request_.SerializeToString()  # once: what the attacker's own interpreter does is no stall
    outcomes = at_once(client, rpc, case, key)

    assert [faults(outcome) for outcome in outcomes] == [[]] * len(outcomes)
    question = graph.CountNodesRequest()
    assert client.call(RPCS["CountNodes"], question, key=uuid.uuid4()).ok


_OBJECTS = message_pb2.ToolResult(tool_call_id="c", content_json=DOCUMENTS["as many objects as may be"])
LOGS = {
    "signs": [message_pb2.MessageInput(content="-." * 2**19)] * 2,
    "a MiB without a space": [message_pb2.MessageInput(content="x" * 2**20)] * 2,
    "results of as many objects as may be": [
        message_pb2.MessageInput(role="tool", parts=[message_pb2.Part(tool_result=_OBJECTS)])
    ]
    * 2,
    "thousands of words": [message_pb2.MessageInput(content="wandering")] * 2000,
    "calls by the hundred": [
        message_pb2.MessageInput(
            role="assistant",
            parts=[message_pb2.Part(tool_call=message_pb2.ToolCall(id=f"{n}", name="look")) for n in range(100)],
        )
    ]
    * 30,
}


@pytest.mark.parametrize("name", LOGS)
def test_a_window_that_reads_a_log_of_the_worst_holds_up_nobody(name: str, client: Client):
    key, context_id = uuid.uuid4(), ""

    def call(rpc: str, request: Message) -> Any:
        outcome = client.call(RPCS[rpc], request, key=key, timeout_s=60)
        assert outcome.ok or rpc == "Pack", outcome
        return outcome if rpc == "Pack" else outcome.answers[0]

    step = 500 if len(LOGS[name]) > 100 else 1
    for start in range(0, len(LOGS[name]), step):
        appending = contexts.AppendMessagesRequest(context_id=context_id, messages=LOGS[name][start : start + step])
        context_id = call("AppendMessages", appending).context_id
    opening = windows.OpenWindowRequest(context_id=context_id, model="m", context_tokens=10_000_000, token_budget=1)
    opened = [call("OpenWindow", opening).window.window_id for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        packed = list(pool.map(lambda one: call("Pack", windows.PackRequest(window_id=one)), opened))

    assert [faults(outcome) for outcome in packed] == [[]] * AT_ONCE
    assert {outcome.reason for outcome in packed} <= {"", "ANSWER_TOO_LARGE"}


@pytest.mark.parametrize("words_count", [600, 6_000])
def test_a_question_of_words_that_are_nearly_those_of_a_context_holds_up_nobody(words_count: int, client: Client):
    """Each word of the question is compared with the context's: all of 64 letters, alike, and in vain."""
    key, context_id = uuid.uuid4(), ""
    words = list(islice(anagrams(), words_count))
    for start in range(0, words_count, 600):
        planted = message_pb2.MessageInput(content=" ".join(words[start : start + 600]))
        appending = contexts.AppendMessagesRequest(context_id=context_id, messages=[planted])
        context_id = client.call(RPCS["AppendMessages"], appending, key=key).answers[0].context_id
    slipped = [word[:40] + "zyx" + word[43:] for word in words[:4]]
    question = contexts.RecallRequest(context_id=context_id, text=" ".join(slipped))
    outcomes = at_once(client, "Recall", question, key)

    assert [outcome.code for outcome in outcomes] == [grpc.StatusCode.OK] * AT_ONCE


def test_a_question_of_thousands_of_dates_and_of_terms_that_are_everywhere_holds_up_nobody(client: Client):
    """Each month is meant in each year that is named; and each passage is found by all of its words."""
    key = uuid.uuid4()
    letters = [f"{first}{second}" for first in "bcdfghjk" for second in "bcdfghjk"]
    said = [message_pb2.MessageInput(content=" ".join(letters * 3))] * 300
    appending = contexts.AppendMessagesRequest(messages=said)
    context_id = client.call(RPCS["AppendMessages"], appending, key=key).answers[0].context_id
    for text in ("jan 2001 " * 2_000, " ".join(letters)):
        options = contexts.RecallOptions(profile="conversation")
        question = contexts.RecallRequest(context_id=context_id, text=text, options=options)
        assert client.call(RPCS["Recall"], question, key=key).ok


def anagrams() -> Iterator[str]:
    """Yield words of 64 letters that begin alike, have the same letters and differ in their ends."""
    for end in permutations("abcdefgh"):
        yield "".join(sorted("abcdefghijklmnopqrstuvwxyz" * 2 + "ijkl")) + "".join(end)


@pytest.mark.parametrize("rpc", ["AppendMessages", "WriteGraph", "Recall"])
@pytest.mark.parametrize("knows_a_key", [True, False])
def test_a_request_of_two_million_empty_messages_holds_up_nobody(rpc: str, knows_a_key: bool, client: Client):
    """Protobuf reads it in a quarter of a second; without a key nobody reads it."""
    request = b"\x12\x00" * (2**21 - 1_000)
    key = uuid.uuid4() if knows_a_key else "nobody's"
    outcomes = at_once(client, rpc, request, key)

    assert {outcome.reason for outcome in outcomes} == {"LIMIT_EXCEEDED" if knows_a_key else "UNAUTHENTICATED"}


@pytest.mark.parametrize("member", [b'{"type":"text","text":""}', b"{}", b"1"], ids=["texts", "objects", "numbers"])
def test_an_answer_of_a_hostile_mcp_server_holds_up_nobody(member: bytes, client: Client):
    members = b",".join([member] * (2**20 // (len(member) + 1) - 10))
    with answering(b'{"jsonrpc":"2.0","id":1,"result":{"content":[' + members + b"]}}") as url:
        no_tools_are_discovered(client, url)


_CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "again"),
    [(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"HTTP/1.1 200 OK\r\n", b"a:\r\n"), (_CHUNKED, b"1\r\n \r\n")],
    ids=["informational responses", "lines of a head", "chunks of a byte"],
)
def test_an_mcp_server_that_says_nothing_without_an_end_holds_up_nobody(first: bytes, again: bytes, client: Client):
    with repeating(first, again) as url:
        no_tools_are_discovered(client, url)


def no_tools_are_discovered(client: Client, url: str) -> None:
    key, server = uuid.uuid4(), mcp_servers.McpServerInput(server_id="hostile", url=url)
    assert client.call(RPCS["PutMcpServer"], mcp_servers.PutMcpServerRequest(server=server), key=key).ok
    outcomes = at_once(client, "DiscoverMcpTools", mcp_servers.DiscoverMcpToolsRequest(server_id="hostile"), key)
    assert {outcome.reason for outcome in outcomes} == {"MCP_SERVER_FAILED"}


@contextmanager
def repeating(first: bytes, again: bytes) -> Iterator[str]:
    """Run a server for the block that answers anything with `first`, then `again` without an end; yield its URL."""

    class Repeats(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            with suppress(ConnectionError):
                self.request.sendall(first)
                while True:
                    self.request.sendall(again * (65_536 // len(again)))

    with ThreadingTCPServer(("127.0.0.1", 0), Repeats) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        finally:
            server.shutdown()


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """Run a server for the block that answers anything with a JSON body; yield its URL."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()


@pytest.mark.parametrize("waits_s", [0.02, 0.2])
def test_an_attack_by_callers_who_do_not_wait_holds_up_nobody(waits_s: float, client: Client):
    """What is done for a call ends with it, so that more of them are no more than those under way."""
    key = uuid.uuid4()
    cases = [case.SerializeToString() for _, rpc, case in ATTACKS if rpc == "TestMapping"]
    with ThreadPoolExecutor(2 * AT_ONCE) as pool:
        list(pool.map(lambda case: client.call(RPCS["TestMapping"], case, key=key, timeout_s=waits_s), 2 * cases))

    assert client.call(RPCS["CountNodes"], graph.CountNodesRequest(), key=uuid.uuid4()).ok


def spin(cpu_s: float) -> None:
    until_s = time.thread_time() + cpu_s
    while time.thread_time() < until_s:
        pass


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """In a thread that is called as the services' is."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="services")
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_the_probe_sees_what_holds_the_loop(loop: asyncio.AbstractEventLoop):
    probe = StallProbe()
    with probe.watching_loop(loop):
        with probe.nobody_waits():
            loop.call_soon_threadsafe(spin, STALL_S_MAX / 5)
            time.sleep(0.1)
        with pytest.raises(AssertionError, match="another caller waited"), probe.nobody_waits():
            for _ in range(3):
                loop.call_soon_threadsafe(spin, 2 * STALL_S_MAX)
                time.sleep(0.2)


def test_the_probe_sees_what_holds_the_interpreter_beside_the_loop(loop: asyncio.AbstractEventLoop):
    """A parser in a thread keeps the loop from its turn like one in the loop."""
    text = "[" + ",".join(["[]"] * 1_800_000) + "]"
    probe = StallProbe()
    with probe.watching_loop(loop), pytest.raises(AssertionError, match="another caller waited"), probe.nobody_waits():
        for _ in range(3):
            loop.call_soon_threadsafe(loop.run_in_executor, None, orjson.loads, text)
            time.sleep(0.5)
