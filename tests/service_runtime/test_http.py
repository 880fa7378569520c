"""The unary RPCs over HTTP, on a real service: the forms of the Connect protocol, and what is none of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import psycopg
import pytest

import entity_service.app
from contextkeep import AsyncEntityClient, NodeInput, new_id
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import LimitExceeded, NodeNotFound
from entity_service.settings import Settings
from service_runtime.http import json_messages, listening
from service_runtime.rpc.principal import ApiKeys
from tests.conftest import KEY, OTHER_KEY, Urls
from tests.connect import error_in
from tests.locks import until_waiting
from tests.logged import errors, port_of

GRAPH = "/contextkeep.entity.v1.EntityGraph"
PAGE = "https://chat.example.com"
JSON, PROTO = "application/json", "application/proto"


@pytest.fixture
async def address(entity_settings: Settings, callers: ApiKeys, caplog: pytest.LogCaptureFixture) -> AsyncIterator[str]:
    """Of an Entity Service's gRPC port."""
    caplog.set_level(logging.INFO)
    whole = {"calls_share_of_tenant": 1.0, "calls_share_of_key": 1.0}
    update = {"http_port": 0, "http_origins": [PAGE], "calls_max": 3, **whole}
    async with entity_service.app.running(entity_settings.model_copy(update=update), callers=callers) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
async def http(address: str, caplog: pytest.LogCaptureFixture) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"authorization": f"Bearer {KEY}"}
    base_url = f"http://127.0.0.1:{port_of(caplog, 'http')}"
    async with httpx2.AsyncClient(base_url=base_url, headers=headers, timeout=60) as client:
        yield client


@pytest.fixture
async def graph(address: str) -> AsyncIterator[AsyncEntityClient]:
    async with AsyncEntityClient(address, api_key=KEY, retries=0) as client:
        yield client


async def post(http: httpx2.AsyncClient, rpc: str, body: Any, **headers: str) -> httpx2.Response:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return await http.post(f"{GRAPH}/{rpc}", content=sent, headers={"content-type": JSON, **names})


def reason(answer: httpx2.Response) -> str:
    (info,) = [one for one in answer.json()["details"] if one["type"] == "google.rpc.ErrorInfo"]
    assert info["debug"]["reason"] == error_in(answer.json()).reason
    told: str = info["debug"]["reason"]
    return told


async def test_what_one_writes_as_json_the_other_reads_over_grpc(http, graph: AsyncEntityClient):
    node = {"generalTypeName": "Session", "name": "zebra", "dataJson": '{"a": 1}'}
    written = await post(http, "CreateNode", {"node": node})
    assert written.status_code == 200
    assert written.headers["content-type"] == JSON
    made = written.json()["node"]

    read = await graph.graph.get_node(made["id"])
    assert (read.name, read.data) == ("zebra", {"a": 1})
    assert isinstance(made["seq"], str), "64-bit numbers are texts in JSON: a browser's numbers have 53"
    again = await post(http, "GetNode", {"node_id": made["id"]})  # a field's name in the proto is taken, too
    assert again.json()["node"] == made


async def test_protobuf_is_taken_and_given_too(http, graph: AsyncEntityClient):
    node = await graph.graph.create_node("Session", name="zebra")
    request = pb.GetNodeRequest(node_id=str(node.id))
    answer = await post(http, "GetNode", request.SerializeToString(), content_type=PROTO, connect_protocol_version="1")
    assert (answer.status_code, answer.headers["content-type"]) == (200, PROTO)
    assert pb.GetNodeResponse.FromString(answer.content).node.name == "zebra"

    broken = await post(http, "GetNode", b"\xff", content_type=PROTO)
    assert (broken.status_code, broken.json()["code"]) == (400, "invalid_argument")
    assert broken.headers["content-type"] == JSON


async def test_an_error_says_what_grpc_says(http, graph: AsyncEntityClient, caplog: pytest.LogCaptureFixture):
    node_id = str(new_id())
    with pytest.raises(NodeNotFound) as raised:
        await graph.graph.get_node(node_id)
    answer = await post(http, "GetNode", {"nodeId": node_id})

    assert answer.status_code == 404
    told = answer.json()
    assert (told["code"], told["message"]) == ("not_found", raised.value.message)
    (info,) = told["details"]
    assert info["debug"] == {"reason": "NODE_NOT_FOUND", "domain": "contextkeep", "metadata": raised.value.metadata}
    assert reason(answer) == "NODE_NOT_FOUND"
    assert answer.headers["x-call-id"] in {vars(record).get("call_id") for record in caplog.records}


async def test_a_slip_in_a_field_names_it(http):
    answer = await post(http, "GetNode", {"nodeid": str(new_id())})
    assert (answer.status_code, reason(answer)) == (400, "INVALID_ARGUMENT")
    assert 'no field named "nodeid"' in answer.json()["message"]
    answer = await post(http, "GetNode", {"nodeId": "not an id"})
    violations = [one for one in answer.json()["details"] if one["type"] == "google.rpc.BadRequest"]
    assert violations[0]["debug"]["fieldViolations"][0]["field"] == "node_id"


NO_MESSAGES = [
    b"",
    b"null",
    b"[]",
    b'""',
    b"[{}]",
    b"1",
    b'"x"',
    b"{",
    b"[" * 60_000,
    b'{"node":' * 5000,
    b"\xff\xfe{}",
    b'{"nodeId":"\\ud800"}',
    b'{"nodeId":' + b"9" * 5000 + b"}",
    b'{"nodeId":1}',
    b'{"nodeId":"a","nodeId":"b"}',
    b'{"nodeId":NaN}',
    b'{"\\ud800":1}',
]


async def test_a_body_that_is_no_message_is_refused_without_a_fault(http, caplog, subtests: pytest.Subtests):
    for body, rest in itertools.product(NO_MESSAGES, (b"", b" " * 70_000)):  # here, and in a process of its own
        with subtests.test(body=repr(body[:20]), beside=bool(rest)):
            answer = await post(http, "GetNode", body + rest)
            assert (answer.status_code, reason(answer)) == (400, "INVALID_ARGUMENT"), answer.text
            assert answer.json()["message"].startswith("the request is not valid JSON of a GetNodeRequest: ")
            assert not errors(caplog)


async def test_without_a_key_nothing_is_read_and_nothing_is_told(http):
    for path in (f"{GRAPH}/GetNode", f"{GRAPH}/None", "/none", f"{GRAPH}/Traverse"):
        answer = await http.post(path, content=b"{", headers={"authorization": "", "content-type": JSON})
        assert (answer.status_code, reason(answer)) == (401, "UNAUTHENTICATED")
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_key_sees_its_own_tenant_alone(http, graph: AsyncEntityClient):
    node = await graph.graph.create_node("Session")
    answer = await post(http, "GetNode", {"nodeId": str(node.id)}, authorization=f"Bearer {OTHER_KEY}")
    assert answer.status_code == 404
    answer = await post(http, "GetNode", {"nodeId": str(node.id)}, authorization="", x_api_key=KEY)
    assert answer.status_code == 200


async def test_what_is_none_of_the_protocol_is_told_what_to_do(http):
    for method in ("GET", "PUT", "OPTIONS", "DELETE"):
        answer = await http.request(method, f"{GRAPH}/GetNode")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (await http.head(f"{GRAPH}/GetNode")).status_code == 405
    for said in ("", "text/plain", "application/json; charset=latin-1", "application/grpc", "application/connect+json"):
        answer = await post(http, "GetNode", b"{}", content_type=said)
        assert answer.status_code == 415, said
        assert JSON in answer.headers["accept-post"]
    for said in ("application/json; charset=utf-8", 'APPLICATION/JSON;charset="UTF-8"'):
        assert (await post(http, "ListGraphs", b"{}", content_type=said)).status_code == 200
    answer = await post(http, "GetNode", b"{}", content_encoding="gzip")
    assert (answer.status_code, answer.json()["code"]) == (501, "unimplemented")
    assert answer.headers["accept-encoding"] == "identity"
    assert (await post(http, "ListGraphs", b"{}", content_encoding="identity")).status_code == 200
    assert (await post(http, "ListGraphs", b"{}", connect_protocol_version="2")).status_code == 400


async def test_an_rpc_that_is_not_there_and_one_that_streams_are_unimplemented(http):
    for path in ("/", "/none", f"{GRAPH}/None", f"{GRAPH}/GetNode/", f"{GRAPH}%2FGetNode/x", "/x" * 5000):
        answer = await http.post(path, content=b"{}", headers={"content-type": JSON})
        assert (answer.status_code, answer.json()["code"]) == (404, "unimplemented"), path
    answer = await post(http, "Traverse", {})
    assert (answer.status_code, reason(answer)) == (501, "UNIMPLEMENTED")
    assert "gRPC" in answer.json()["message"]


@pytest.mark.parametrize("said", ["-1", "x", "", "1.5", "12345678901", "1e3"])
async def test_a_timeout_that_is_none_is_refused(http, said: str):
    answer = await post(http, "ListGraphs", {}, connect_timeout_ms=said)
    assert (answer.status_code, reason(answer)) == (400, "INVALID_ARGUMENT")


@asynccontextmanager
async def nodes_locked(urls: Urls) -> AsyncIterator[None]:
    """Let no node be written for the block."""
    async with await psycopg.AsyncConnection.connect(urls.superuser) as connection:
        await connection.execute("LOCK TABLE entity.node IN EXCLUSIVE MODE")
        yield


NODE = {"node": {"generalTypeName": "Session"}}


async def test_a_call_ends_at_the_time_that_its_caller_gives_it(http, urls: Urls):
    async with nodes_locked(urls):
        began = time.monotonic()
        answer = await post(http, "CreateNode", NODE, connect_timeout_ms="500")
    assert (answer.status_code, answer.json()["code"]) in [(504, "deadline_exceeded"), (503, "unavailable")]
    assert time.monotonic() - began < 20


async def test_who_hangs_up_has_his_call_ended(http, urls: Urls, caplog: pytest.LogCaptureFixture):
    """As with gRPC: nobody waits for what it does, and its place is another's."""
    async with nodes_locked(urls):
        for _ in range(4):  # one more than there are places
            with pytest.raises(httpx2.ReadTimeout):
                await http.post(
                    f"{GRAPH}/CreateNode", content=json.dumps(NODE), headers={"content-type": JSON}, timeout=0.3
                )
        async with asyncio.timeout(20):
            while statuses(caplog).count("CANCELLED") < 4:
                await asyncio.sleep(0.02)
    assert (await post(http, "CountNodes", {})).json() in ({}, {"count": "0"})
    assert not errors(caplog)


def statuses(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [vars(record)["status"] for record in caplog.records if record.name == "calls"]


async def test_one_call_more_than_a_process_may_answer_is_refused(http, urls: Urls):
    async with nodes_locked(urls):
        calls = [asyncio.create_task(post(http, "CreateNode", NODE)) for _ in range(3)]
        await until_waiting(urls.superuser, 3)
        answer = await post(http, "ListGraphs", {})
    assert (answer.status_code, reason(answer)) == (429, "TOO_MANY_CALLS")
    assert answer.headers["retry-after"] == "1"
    assert {answer.status_code for answer in await asyncio.gather(*calls)} == {200}


async def test_json_may_have_a_mib_and_protobuf_four(http, graph: AsyncEntityClient):
    text = json.dumps({"a": "x" * 900_000})
    written = await post(http, "CreateNode", {"node": {"generalTypeName": "T", "dataJson": text}})
    assert written.status_code == 200
    assert (await graph.graph.get_node(written.json()["node"]["id"])).data == json.loads(text)

    large = await post(http, "CreateNode", {"node": {"generalTypeName": "T", "dataJson": "x" * 1024 * 1024}})
    assert (large.status_code, reason(large)) == (429, "LIMIT_EXCEEDED")
    assert large.json()["details"][0]["debug"]["metadata"]["limit_max"] == "1048576"
    assert PROTO in large.json()["message"]

    nodes = [pb.NodeInput(general_type_name="T", data_json=text)] * 3
    request = pb.WriteGraphRequest(nodes=nodes).SerializeToString()
    assert (await post(http, "WriteGraph", request, content_type=PROTO)).status_code == 200
    for content_type in (JSON, PROTO):
        large = await post(http, "WriteGraph", b" " * (6 * 1024 * 1024), content_type=content_type)
        assert reason(large) == "LIMIT_EXCEEDED"


async def test_an_answer_of_megabytes_arrives_whole(http, graph: AsyncEntityClient):
    nodes = [NodeInput("T", data={"text": '"' * 30_000}) for _ in range(50)]
    await graph.graph.write(nodes, [])
    answer = await post(http, "BatchGetNodes", {"nodeIds": [str(node.id) for node in nodes]})
    assert answer.status_code == 200
    assert [json.loads(node["dataJson"]) for node in answer.json()["nodes"]] == [node.data for node in nodes]


async def test_json_of_many_values_is_read_beside_and_of_too_many_refused(http, caplog: pytest.LogCaptureFixture):
    """They take Python's reader seconds, in which nobody else would have a turn."""
    answer = await post(http, "WriteGraph", b'{"nodes":[' + b",".join([b"{}"] * 60_000) + b"]}")
    assert (answer.status_code, reason(answer)) == (429, "LIMIT_EXCEEDED")
    assert answer.json()["details"][0]["debug"]["metadata"]["limit"] == "rows"
    answer = await post(http, "WriteGraph", b'{"nodes":[' + b",".join([b"{}"] * 300_000) + b"]}")
    assert reason(answer) == "LIMIT_EXCEEDED"
    assert answer.json()["details"][0]["debug"]["metadata"]["limit"] == "request"
    assert not errors(caplog)


@pytest.mark.parametrize("limit", ["WORK_S_MAX", "READ_CPU_S_MAX"])
async def test_json_that_takes_too_long_is_cut(http, monkeypatch: pytest.MonkeyPatch, limit: str):
    monkeypatch.setattr(json_messages, limit, 0.05)
    body = b'{"nodes":[' + b",".join([b"{}"] * 60_000) + b"]}"
    answers = await asyncio.gather(*[post(http, "WriteGraph", body) for _ in range(3)])
    assert {reason(answer) for answer in answers} == {"LIMIT_EXCEEDED"}
    metadata = [answer.json()["details"][0]["debug"]["metadata"] for answer in answers]
    assert {(one["limit"], one["limit_max"]) for one in metadata} == {("json_s", "0.05")}
    monkeypatch.undo()
    assert reason(await post(http, "WriteGraph", body)) == "LIMIT_EXCEEDED"  # it is read: too many nodes


async def test_a_process_that_ends_is_replaced(http):
    body = json.dumps({"nodeIds": [str(new_id())] * 2000}).encode() + b" " * 65_000
    first = await post(http, "BatchGetNodes", body)
    assert first.status_code != 503
    for killed in processes():
        killed.kill()
        killed.wait()
    answers = [await post(http, "BatchGetNodes", body) for _ in range(2)]
    assert answers[-1].status_code == first.status_code


def processes() -> list[Any]:
    import psutil

    return [one for one in psutil.Process().children() if json_messages.json_process.__name__ in one.cmdline()]


async def test_a_page_may_call_from_an_origin_of_the_setting_alone(http):
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    for origin in (PAGE, "https://evil.example", "http://localhost:3000", "null"):
        shown = {"origin": origin, "authorization": ""}
        preflight = await http.options(f"{GRAPH}/GetNode", headers={**shown, **asked})
        called = await post(http, "ListGraphs", {}, origin=origin)
        if origin == PAGE:
            assert (preflight.status_code, called.status_code) == (204, 200)
            assert preflight.headers["access-control-allow-methods"] == "POST"
            assert "authorization" in preflight.headers["access-control-allow-headers"]
            assert "x-call-id" in called.headers["access-control-expose-headers"]
            for answer in (preflight, called):
                assert answer.headers["access-control-allow-origin"] == PAGE
                assert answer.headers["vary"] == "origin"
        else:
            assert (preflight.status_code, called.status_code) == (403, 403)
            assert "access-control-allow-origin" not in called.headers
            assert "HTTP_ORIGINS" in called.json()["message"]
    refused = await post(http, "ListGraphs", {}, origin=PAGE, authorization="Bearer wrong")
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


async def test_a_host_that_is_another_is_refused_on_loopback(http):
    """A page whose name leads to 127.0.0.1 would be let in else, by a service that asks for no key."""
    answer = await post(http, "ListGraphs", {}, host="evil.example")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")


async def test_a_body_that_comes_too_slowly_is_refused_and_leaves_its_place(http, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service_runtime.http.body.START_S", 0.5)

    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(5)
        yield b"}"

    async def slow() -> httpx2.Response:
        return await http.post(f"{GRAPH}/SearchNodes", content=never(), headers={"content-type": JSON})

    for answer in await asyncio.gather(*[slow() for _ in range(3)]):
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")
    assert (await post(http, "SearchNodes", {})).status_code == 200


async def test_an_answer_does_not_wait_for_an_acknowledgement(http, monkeypatch: pytest.MonkeyPatch):
    """With Nagle's algorithm, each answer on a kept connection takes 40 ms more."""
    transports: list[asyncio.Transport] = []
    made = listening._Connection.connection_made

    def connection_made(self: listening._Connection, transport: asyncio.Transport) -> None:
        transports.append(transport)
        made(self, transport)

    monkeypatch.setattr(listening._Connection, "connection_made", connection_made)
    assert (await post(http, "SearchNodes", {})).status_code == 200
    (transport,) = transports
    assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_calls_are_counted_and_logged_like_those_of_grpc(http, caplog: pytest.LogCaptureFixture):
    await post(http, "CreateNode", NODE)
    (call,) = [vars(record) for record in caplog.records if record.name == "calls"]
    assert (call["method"], call["status"], call["subject"]) == (f"{GRAPH}/CreateNode", "OK", "first")
    (write,) = [vars(record) for record in caplog.records if record.name == "audit"]
    assert write["call_id"] == call["call_id"]
    assert write["ids"]["response.node.id"]


async def test_nothing_over_http_is_unlimited_that_grpc_limits(graph: AsyncEntityClient, http):
    nodes = [{"generalTypeName": "T"}] * 2001
    over_http = await post(http, "WriteGraph", {"nodes": nodes})
    with pytest.raises(LimitExceeded) as raised:
        await graph.call("WriteGraph", pb.WriteGraphRequest(nodes=[pb.NodeInput(general_type_name="T")] * 2001))
    assert over_http.json()["message"] == raised.value.message
