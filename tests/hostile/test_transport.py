"""What is wrong before a request is one: unknown names, messages and metadata that are too large, odd or none at all.

Where grpc itself answers there is no ErrorInfo, and this file says so: a message over 4 MiB, metadata over 16 KiB.
"""

from __future__ import annotations

import os
import socket
import struct
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.entity.v1 import entity_graph_pb2 as graph
from service_runtime.grpc_server.server import METADATA_BYTES_MAX, STREAMS_MAX
from tests.conftest import Addresses
from tests.faults import floods
from tests.hostile.calling import Client, Outcome, faults
from tests.hostile.tables import Tables
from tests.hostile.test_fuzz import REQUESTS
from tests.hostile.things import RPCS
from tests.rpcs import Rpc, by_kind

MIB = 1024 * 1024
KINDS = [(False, False), (False, True), (True, False), (True, True)]  # client stream, server stream


@pytest.fixture
def key() -> uuid.UUID:
    return uuid.uuid4()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "path",
    [
        "/contextkeep.entity.v1.EntityGraph/NoSuchRpc",
        "/contextkeep.entity.v1.EntityGraph/getnode",
        "/contextkeep.entity.v1.EntityGraph/GetNode/",
        "/contextkeep.entity.v2.EntityGraph/GetNode",
        "/contextkeep.entity.v1.EntityGraph/",
        "/ /\u00b5".encode().decode("latin-1"),
        "//",
        "/" + "x" * 3000,
    ],
)
def test_a_name_that_no_rpc_has_is_unimplemented(client: Client, key: uuid.UUID, path: str, kind: tuple[bool, bool]):
    case: Any = [b"", b"junk"] if kind[0] else b"junk"
    outcome = client.send(path, case, process="entity", kind=kind, metadata=[("authorization", f"Bearer {key}")])
    assert (outcome.code, outcome.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNIMPLEMENTED")
    assert faults(outcome) == ["the status is UNIMPLEMENTED"]


def test_a_name_that_no_rpc_has_is_told_to_nobody_without_a_key(client: Client):
    outcome = client.send("/contextkeep.entity.v1.EntityGraph/NoSuchRpc", b"", process="entity")
    assert outcome.reason == "UNAUTHENTICATED"


@pytest.mark.parametrize("rpc", RPCS.values() if REQUESTS else by_kind(RPCS.values()), ids=str)
def test_nobody_is_answered_without_a_key_whatever_the_caller_sends(client: Client, rpc: Rpc):
    """Of each kind of handler; of each RPC in `make fuzz`. `test_strangers` calls each without a key."""
    for metadata in ([], [("authorization", "Basic abc")], [("authorization", "Bearer ")], [("x-api-key", "x" * 4000)]):
        request: Any = [b""] if rpc.client_streaming else b""
        kind = (rpc.client_streaming, rpc.server_streaming)
        outcome = client.send(rpc.path, request, process=rpc.process, kind=kind, metadata=metadata)
        assert (outcome.code, outcome.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
        assert not faults(outcome)


@pytest.mark.parametrize("rpc", [RPCS[name] for name in ("CreateNode", "Traverse", "UploadBlob")], ids=str)
def test_a_message_over_four_mebibytes_is_refused_by_grpc(client: Client, key: uuid.UUID, rpc: Rpc):
    """The status and both numbers are there; there is no ErrorInfo, because no code of ours has seen the call."""
    huge: Any = b"\0" * (4 * MIB + 1)
    outcome = client.call(rpc, [huge] if rpc.client_streaming else huge, key=key)
    assert refused_by_grpc(outcome)
    assert "4194305 vs. 4194304" in outcome.error.details()


def test_a_message_of_four_mebibytes_is_read(client: Client, key: uuid.UUID):
    outcome = client.call(RPCS["GetNode"], b"\0" * (4 * MIB), key=key)
    assert outcome.reason == "INVALID_ARGUMENT"


def test_a_message_that_is_too_large_only_when_it_is_unpacked_is_refused(client: Client, key: uuid.UUID):
    """64 MiB of zeros are 64 KiB on the wire."""
    method = client.method(RPCS["GetNode"])
    with pytest.raises(grpc.RpcError) as failure:
        method(
            b"\0" * (64 * MIB),
            metadata=[("authorization", f"Bearer {key}")],
            compression=grpc.Compression.Gzip,
            timeout=30,
        )
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_an_upload_with_a_chunk_that_is_too_large_stores_nothing(client: Client, key: uuid.UUID, tables: Tables):
    record = memory.WMRecordInput(memory_type="file", name="a.txt")
    header = memory.UploadBlobRequest(header=memory.UploadHeader(record=record))
    for size_bytes in (MIB + 1, 5 * MIB):  # over our limit, over grpc's
        chunk = memory.UploadBlobRequest(chunk=b"x" * size_bytes)
        outcome = client.call(RPCS["UploadBlob"], [header, chunk], key=key)
        assert outcome.code is (
            grpc.StatusCode.INVALID_ARGUMENT if size_bytes < 4 * MIB else grpc.StatusCode.RESOURCE_EXHAUSTED
        )
        assert tables.sums_of(key)["context.wm_record"][0] == 0


@pytest.mark.parametrize(
    "metadata",
    [
        [("x-odd", "")],
        [("x-odd", " ~!@#$%^&*()")],
        [("x-odd-bin", bytes(range(256)))],
        [("authorization-bin", b"Bearer other")],
        [("authorization", "Bearer another")],
        [("x-api-key", "another")],
        [("x-tenant-id", str(uuid.uuid4())), ("x-user-id", "root"), ("x-scopes", "admin")],
        [("traceparent", "garbage"), ("tracestate", "=" * 600), ("baggage", "a=b,,;")],
        [("x-call-id", "mine"), ("grpc-status-details-bin", b"\xff")],
        [(f"x-{number}", "v") for number in range(200)],
        [("x-long", "v" * 6000), ("x-longer", "v" * 9000)],
    ],
    ids=lambda metadata: metadata[0][0],
)
def test_odd_metadata_is_ignored_behind_the_key(client: Client, key: uuid.UUID, metadata: list[tuple[str, Any]]):
    """The first key counts, and nothing else widens or narrows what it may see."""
    node = client.call(
        RPCS["CreateNode"], graph.CreateNodeRequest(node=graph.NodeInput(general_type_name="T")), key=key
    ).answers[0]
    for _ in range(5):  # what grpc decides at random would show
        outcome = client.call(RPCS["GetNode"], graph.GetNodeRequest(node_id=node.node.id), key=key, metadata=metadata)
        assert outcome.ok, outcome


@pytest.mark.parametrize("size_bytes", [METADATA_BYTES_MAX, 100_000])
def test_metadata_over_sixteen_kibibytes_is_refused_by_grpc(client: Client, key: uuid.UUID, size_bytes: int):
    request = graph.GetNodeRequest(node_id=str(uuid.uuid4()))
    for metadata in ([("x-long", "v" * size_bytes)], [(f"x-{n}", "v" * 90) for n in range(size_bytes // 100)]):
        assert refused_by_grpc(client.call(RPCS["GetNode"], request, key=key, metadata=metadata))


def test_an_rpc_called_as_another_kind_ends(client: Client, key: uuid.UUID):
    """Streams where one message is meant, and the other way round.

    A request without any message is not among them: grpc takes it for a call that was cancelled, and the caller waits
    for its own deadline.
    """
    node = graph.GetNodeRequest(node_id=str(uuid.uuid4()))
    for name, case, kind in (
        ("GetNode", [node, node], (True, False)),
        ("GetNode", node, (False, True)),
        ("Traverse", graph.TraverseRequest(), (False, False)),
        ("UploadBlob", b"", (False, False)),
        ("UploadBlob", [], (True, True)),
        ("GetBlob", [b"", b""], (True, True)),
    ):
        outcome = client.send(
            RPCS[name].path,
            case,
            process=RPCS[name].process,
            kind=kind,
            metadata=[("authorization", f"Bearer {key}")],
            timeout_s=5,
        )
        assert outcome.code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)
        assert not faults(outcome)


@pytest.mark.parametrize(
    "junk",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000") + os.urandom(5000),
        b"",
    ],
    ids=["http1", "tls", "frames of nothing", "frames of anything", "nothing"],
)
def test_a_connection_that_speaks_something_else_harms_nobody(addresses: Addresses, client: Client, junk: bytes):
    host, port = addresses.entity.split(":")
    for _ in range(20):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(junk)
    assert healthy(client)


def test_a_connection_cannot_open_calls_without_end(addresses: Addresses, client: Client):
    """A call whose message never comes is in nobody's count; as are the watchers of health."""
    head = b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value  # a literal (RFC 7541, 6.2.2)
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", RPCS["GetNode"].path.encode()),
            (b":authority", b"x"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )
    host, port = addresses.entity.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kind=4))
        kind, _, settings = next(frames(connection))
        assert kind == 4
        assert (3, STREAMS_MAX) in struct.iter_unpack(">HI", settings)
        connection.sendall(frame(kind=4, flags=1))

        for number in range(STREAMS_MAX + 50):
            connection.sendall(frame(kind=1, flags=4, stream=2 * number + 1, payload=head))

        refused_stream = 7  # its code (RFC 9113, 7): nothing of the call was done
        assert any(kind == 3 and payload[3] == refused_stream for kind, _, payload in frames(connection))
        assert healthy(client)


def test_a_flood_of_resets_cancels_no_call_of_others(addresses: Addresses, client: Client):
    """HTTP/2 rapid reset, without a key: with 2,000 open calls a connection others' calls were cancelled."""
    host, port = addresses.entity.split(":")

    def flood() -> int:
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            return floods.reset_streams(connection, 20_000, path=RPCS["GetNode"].path)

    with ThreadPoolExecutor(2) as pool:
        flooding = [pool.submit(flood) for _ in range(2)]
        healthy_count = 0
        while not all(one.done() for one in flooding):
            assert healthy(client)
            healthy_count += 1
    assert healthy_count
    assert healthy(client)


def frame(*, kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def frames(connection: socket.socket) -> Iterator[tuple[int, int, bytes]]:
    """Yield kind, stream and payload of each frame that comes."""
    with connection.makefile("rb") as file:
        while len(head := file.read(9)) == 9:
            yield head[3], int.from_bytes(head[5:]), file.read(int.from_bytes(head[:3]))


def refused_by_grpc(outcome: Outcome) -> bool:
    """Say whether the caller is told RESOURCE_EXHAUSTED, without an ErrorInfo."""
    return (outcome.code, outcome.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "?")


def healthy(client: Client) -> bool:
    check = client.send(
        "/grpc.health.v1.Health/Check",
        health_pb2.HealthCheckRequest(service="contextkeep.entity.v1.EntityGraph"),
        process="entity",
        decode=health_pb2.HealthCheckResponse.FromString,
    )
    return bool(check.answers[0].status == health_pb2.HealthCheckResponse.SERVING)
