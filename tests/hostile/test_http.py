"""Whatever a caller sends over HTTP: no INTERNAL, no word about the inside, one ErrorInfo, and nobody kept waiting.

Behind the door of HTTP is the servicer of gRPC, so each kind of handler is tried here, and every RPC in `make fuzz`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from google.protobuf.json_format import MessageToJson, Parse, SerializeToJsonError
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextkeep.status import DETAILS_KEY
from tests.conftest import Addresses
from tests.connect import CODES, status_in
from tests.hostile.calling import Outcome, faults
from tests.hostile.stalls import AT_ONCE
from tests.hostile.strategies import requests
from tests.hostile.test_fuzz import (  # noqa: F401
    REQUESTS,
    Errors,
    World,
    errors,
    others,
    world,
    world_to_add_to,
    world_to_read,
)
from tests.hostile.things import RPCS
from tests.rpcs import Rpc, by_kind

REQUESTS_OF_KIND = 20  # each twice: as a message, and as JSON that is broken
UNARY = [rpc for rpc in RPCS.values() if not rpc.client_streaming and not rpc.server_streaming]
MIB = 1024 * 1024
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Told:
    """An error over HTTP, read as grpc's."""

    answer: httpx2.Response

    def code(self) -> Any:
        return CODES[self.answer.json()["code"]]

    def details(self) -> str:
        return str(self.answer.json()["message"])

    def trailing_metadata(self) -> Sequence[tuple[str, bytes]]:
        return [(DETAILS_KEY, status_in(self.answer.json()).SerializeToString())]


class HttpClient:
    """Calls both services."""

    def __init__(self, http: httpx2.Client, ports: dict[str, int]) -> None:
        self._http = http
        self._ports = ports

    def send(self, rpc: Rpc, body: bytes, *, key: object, content_type: str = JSON) -> Outcome:
        answer = self._http.post(
            f"http://127.0.0.1:{self._ports[rpc.process]}{rpc.path}",
            content=body,
            headers={"authorization": f"Bearer {key}", "content-type": content_type},
        )
        if answer.status_code != 200:
            return Outcome(answers=[], error=Told(answer))
        if content_type == JSON:
            return Outcome(answers=[Parse(answer.content, rpc.response())])
        return Outcome(answers=[rpc.response.FromString(answer.content)])

    def call(self, rpc: Rpc, case: Message | bytes, *, key: object) -> Outcome:
        if text := json_of(case):
            return self.send(rpc, text.encode(), key=key)
        body = case if isinstance(case, bytes) else case.SerializeToString()
        return self.send(rpc, body, key=key, content_type="application/proto")


def json_of(case: Message | bytes) -> str:
    """Return JSON of a case; empty if it has none: a time out of its range, or no message."""
    try:
        return "" if isinstance(case, bytes) else MessageToJson(case, indent=None)
    except SerializeToJsonError:
        return ""


@pytest.fixture(scope="module")
def http(addresses: Addresses) -> Iterator[HttpClient]:
    with httpx2.Client(timeout=60) as client:
        yield HttpClient(client, dict(addresses.http_ports))


@pytest.fixture(params=UNARY if REQUESTS else by_kind(UNARY), ids=str)
def rpc(request: pytest.FixtureRequest) -> Rpc:
    found: Rpc = request.param
    return found


def bent(text: str) -> st.SearchStrategy[bytes]:
    """Return JSON in which a piece is something else."""
    pieces = st.sampled_from(["", "{}", "[]", "null", "1e999", "-1", '"', "\\ud800", "{", "NaN", ",", "9" * 30, "true"])
    places = st.tuples(st.integers(0, len(text)), st.integers(0, 8))
    return st.builds(lambda at, piece: (text[: at[0]] + piece + text[sum(at) :]).encode(), places, pieces)


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.timeout(0)
def test_whatever_a_caller_sends_over_http_is_answered(
    rpc: Rpc,
    world: World,  # noqa: F811
    http: HttpClient,
    errors: Errors,  # noqa: F811
):
    made = requests(rpc, world.pool, world.bases[rpc.name])
    broken = made.map(json_of).flatmap(bent)

    @settings(
        max_examples=REQUESTS or REQUESTS_OF_KIND,
        derandomize=not REQUESTS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(made, broken)
    def answered(case: Any, no_message: bytes) -> None:
        errors.records.clear()
        for outcome in (http.call(rpc, case, key=world.key), http.send(rpc, no_message, key=world.key)):
            assert not faults(outcome), outcome
            assert outcome.reason != "TOO_MANY_CALLS", "calls before this one have never ended"
        assert not errors.records, [record.getMessage() for record in errors.records]

    answered()


def filled(member: bytes, size: int) -> bytes:
    return b'{"nodes":[' + b",".join([member] * ((size - 12) // (len(member) + 1))) + b"]}"


# As many as are read where the loop is, as many as a document may hold, and a MiB of them.
ATTACKS = [
    *(("WriteGraph", filled(b"{}", size)) for size in (12_000, 64 * 1024, 190_000, MIB)),
    *(("WriteGraph", filled(b'{"id":"","createdAt":"2026-01-01T00:00:00Z"}', size)) for size in (64 * 1024, MIB)),
    *(("WriteGraph", b'{"nodes":' + b"[" * size) for size in (64 * 1024 - 16, MIB - 16)),
    *(("WriteGraph", filled(b'{"dataJson":"' + b"[{," * 1000 + b'"}', size)) for size in (64 * 1024, MIB)),
    *(("BatchGetNodes", b'{"nodeIds":[' + b",".join([b'""'] * (size // 3 - 8)) + b"]}") for size in (64 * 1024, MIB)),
    *(("SearchSimilar", b'{"vector":[' + b",".join([b"1"] * (size // 2 - 8)) + b"]}") for size in (64 * 1024, MIB)),
    ("GetNode", b"{" + b",".join(b'"a%d":1' % number for number in range(100_000)) + b"}"),
    ("GetNode", b'{"nodeId":' + b"9" * (MIB - 32) + b"}"),
]


@pytest.mark.parametrize(("rpc", "body"), ATTACKS, ids=[f"{name} {len(body)} {body[:24]!r}" for name, body in ATTACKS])
def test_no_json_keeps_others_waiting(rpc: str, body: bytes, http: HttpClient, errors: Errors):  # noqa: F811
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(lambda _: http.send(RPCS[rpc], body, key=uuid.uuid4()), range(AT_ONCE)))
    assert [faults(outcome) for outcome in outcomes] == [[]] * AT_ONCE
    assert not errors.records


def test_no_large_answer_keeps_others_waiting(http: HttpClient):
    key = uuid.uuid4()
    nodes = [{"generalTypeName": "T", "dataJson": '{"a":"' + '\\"' * 400 + '"}'}] * 500
    text = json.dumps({"nodes": nodes}).encode()
    ids = [node.id for node in http.send(RPCS["WriteGraph"], text, key=key, content_type=JSON).answers[0].nodes]
    body = RPCS["BatchGetNodes"].request(node_ids=ids)
    for _ in range(3):
        outcome = http.call(RPCS["BatchGetNodes"], body, key=key)
        assert outcome.ok, outcome
        assert len(outcome.answers[0].nodes) == 500
