"""The memory of a pod: callers who make a process hold as much as they can are refused, and others are served.

Each service runs as in a pod of 512 MiB, in a cgroup with that limit. Where a test may make no cgroup, the memory of
the processes (PSS, so that shared pages count once) is sampled instead.
"""

from __future__ import annotations

import asyncio
import struct
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import orjson
import psutil
import pytest

from context_service.transfer.pure import FIRST_SEAL, ArchivePiece, sealed
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.context.v1 import contexts_pb2, transfer_pb2
from contextkeep.context.v1.transfer_pb2_grpc import TransferStub
from contextkeep.entity.v1 import entity_graph_pb2
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextkeep.errors import HeldBytesExceeded
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import Urls, cloned
from tests.context_service.retrieval import files
from tests.context_service.transfer.archives import cut, joined
from tests.errors import raised
from tests.faults.processes import Service
from tests.ports import free_port

MIB = 1024 * 1024
POD_BYTES = 512 * MIB
CGROUPS = Path("/sys/fs/cgroup/memory")
CALLS = 10  # of another tenant, to each service
SETTLE_S = 5.0  # then what is not refused stands still
WAIT_MAX_S = 30.0

ARCHIVES = 24  # streams, each of which announces a row of 60 MiB and sends a fifth of it
GRAPHS = 120  # streams, each with a line that does not end
UNREAD = 100  # answers of 1.8 MB
WORKBOOKS = 4
LARGE_ROWS = (6, 1)  # imports of each tenant at once
LARGE_PARTS, LARGE_PART_CHARS = 2, MIB - 1024  # of a message, which has 2 MiB at most
MESSAGE_CHARS = 18_000  # each of a hundred messages, so that an answer has 1.8 MB


@dataclass(kw_only=True)
class Pod:
    """One service in its cgroup."""

    service: Service
    cgroup: Path | None  # None: none may be made
    peak_bytes: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def sample(self) -> None:
        """Note how much memory all its processes have now."""
        total = 0
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.service.process.pid)
            for one in (process, *process.children(recursive=True)):
                with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                    total += one.memory_full_info().pss
        self.peak_bytes = max(self.peak_bytes, total)

    @property
    def killed(self) -> int:
        """How many of its processes the kernel has killed for their memory."""
        if self.cgroup is None:
            return 0
        told = dict(line.split() for line in (self.cgroup / "memory.oom_control").read_text().splitlines())
        return int(told["oom_kill"])


@contextmanager
def cgroup() -> Iterator[Path | None]:
    """Make a cgroup as a pod has one; None where that is not allowed."""
    folder = CGROUPS / f"contextkeep-test-{uuid.uuid4().hex[:12]}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(POD_BYTES))
    except OSError:
        yield None
        return
    try:
        yield folder
    finally:
        give_up_at = time.monotonic() + WAIT_MAX_S
        while (folder / "cgroup.procs").read_text() and time.monotonic() < give_up_at:
            time.sleep(0.05)
        folder.rmdir()


@dataclass(frozen=True, kw_only=True)
class Pods:
    entity: Pod
    context: Pod
    hostile_key: str
    other_key: str


@pytest.fixture
async def pods(postgres: EmbeddedPostgres, tmp_path: Path) -> AsyncIterator[Pods]:
    with cloned(postgres) as urls:
        async with running(urls, tmp_path) as made:
            yield made


@asynccontextmanager
async def running(urls: Urls, folder: Path) -> AsyncIterator[Pods]:
    keys = KeyAdministration(urls.admin)
    made = []
    for name in ("hostile", "other"):
        keys.add_tenant(name)
        made.append(keys.create(NewKey(tenant=name, subject=name, scopes=("read", "write", "admin"))))
    async with AsyncExitStack() as opened:
        pods: list[Pod] = []
        entity_address = ""
        for module in ("entity_service", "context_service"):
            within = opened.enter_context(cgroup())
            environment = {
                "DATABASE_URL": urls.service,
                "LOG_LEVEL": "WARNING",
                "ENTITY_SERVICE_URL": entity_address,
                "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
                "POD_CGROUP": str(within or ""),
                "LD_PRELOAD": "",  # started cold, not forked: all that it has is its own
                **({} if within else {"MEMORY_BYTES_MAX": str(POD_BYTES * 15 // 16)}),
            }
            service = Service(
                module, free_port(), environment=environment, log=folder / f"{module}.log", runner="tests.faults.pod"
            )
            opened.push_async_callback(service.kill)
            pods.append(Pod(service=service, cgroup=within))
            await service.start()
            entity_address = service.address
        yield Pods(entity=pods[0], context=pods[1], hostile_key=made[0], other_key=made[1])


async def test_a_tenant_that_makes_a_pod_hold_all_it_can_is_refused_and_others_are_served(pods: Pods):
    async with AsyncExitStack() as opened:
        hostile = await opened.enter_async_context(
            AsyncContextClient(pods.context.service.address, api_key=pods.hostile_key, retries=0)
        )
        context_id = await a_long_conversation(hostile)
        await workbooks(hostile)
        refused: Counter[str] = Counter()
        sampled = asyncio.create_task(sampling(pods))
        tasks = [asyncio.create_task(unread(pods, context_id))]
        async with asyncio.timeout(WAIT_MAX_S):
            while (limit := await limit_of(anext(hostile.contexts.list_messages(context_id, page_size=100)))) == "none":
                await asyncio.sleep(0.1)
        refused[limit] += 1
        attacks = [
            *(archive(pods, refused, waits=bool(number % 2)) for number in range(ARCHIVES)),
            *(graph(pods, refused) for _ in range(GRAPHS)),
        ]
        tasks += [asyncio.create_task(one) for one in attacks]
        served = await others(pods)
        _, standing = await asyncio.wait(tasks, timeout=SETTLE_S)
        later = await others(pods)
        for task in (sampled, *standing):
            task.cancel()
        ends = await asyncio.gather(sampled, *tasks, return_exceptions=True)

    assert not [one for one in ends if isinstance(one, Exception)]
    for pod in (pods.context, pods.entity):
        assert pod.service.is_running
        assert pod.killed == 0
        assert 0 < pod.peak_bytes < POD_BYTES, pod.service.module
    assert max(*served, *later) < WAIT_MAX_S
    assert refused.keys() >= {"archive held_bytes_of_key", "graph held_bytes_of_key", "held_bytes_of_key"}, refused


async def test_imports_of_the_largest_rows_stay_within_the_pod_and_are_all_written(pods: Pods):
    """A row has a piece of its own if it is larger than others, and is held whole; with one sign it takes most room.

    A character of four bytes makes Python hold every other one of the row with four bytes, too.
    """
    async with AsyncExitStack() as opened:
        clients = [
            await opened.enter_async_context(AsyncContextClient(pods.context.service.address, api_key=key, retries=0))
            for key in (pods.hostile_key, pods.other_key)
        ]
        sent = await clients[0].contexts.append(["Hello."])
        scope = transfer_pb2.ArchiveScope(context_id=sent[0].context_id)
        small = b"".join([one.data async for one in clients[0].archives.export_messages(scope)])
        sampled = asyncio.create_task(sampling(pods))
        refused: Counter[str] = Counter()

        async def put(client: AsyncContextClient) -> None:
            archive = await with_large_row(small, sent[0].context_id)
            while (limit := await limit_of(client.archives.import_archive(archive))) != "none":
                refused[limit] += 1
                await asyncio.sleep(0.2)

        async with asyncio.timeout(2 * WAIT_MAX_S):
            await asyncio.gather(
                *(put(client) for client, count in zip(clients, LARGE_ROWS, strict=True) for _ in range(count))
            )
        sampled.cancel()
    assert pods.context.service.is_running
    assert pods.context.killed == 0
    assert 0 < pods.context.peak_bytes < POD_BYTES
    assert refused["held_bytes_of_key"], "a key has no room for all of them at once"
    assert "memory_bytes" not in refused, "the process itself is never short"


async def with_large_row(small: bytes, context_id: str) -> bytes:
    """Return an archive whose message is large, of a context that is nowhere yet."""
    made = [
        replace(
            piece,
            says={**piece.says, "context": another} if "context" in piece.says else piece.says,
            data=piece.data.replace(context_id.encode(), another.encode()),
        )
        for another in [str(uuid.uuid4())]
        for piece in await cut(small)
    ]
    return joined([with_large_content(piece) if piece.says.get("table") == "message" else piece for piece in made])


def with_large_content(piece: ArchivePiece) -> ArchivePiece:
    (line,) = piece.data.splitlines()
    parts = [{"text": "x" * LARGE_PART_CHARS + "\U0001f600"}] * LARGE_PARTS
    row = {**orjson.loads(line), "message_id": str(uuid.uuid4()), "content": "", "parts": orjson.dumps(parts).decode()}
    return replace(piece, data=orjson.dumps(row) + b"\n")


async def others(pods: Pods) -> list[float]:
    """Call both services as another tenant, trying nothing twice, and return how long each call took."""
    took_s = []
    async with (
        AsyncContextClient(pods.context.service.address, api_key=pods.other_key, retries=0) as context,
        AsyncEntityClient(pods.entity.service.address, api_key=pods.other_key, retries=0) as entity,
    ):
        for _ in range(CALLS):
            for call in (context.records.insert("data/json", "n", content={}), entity.graph.create_node("T")):
                began = time.monotonic()
                await call
                took_s.append(time.monotonic() - began)
    return took_s


async def sampling(pods: Pods) -> None:
    while True:
        for pod in (pods.entity, pods.context):
            await asyncio.to_thread(pod.sample)
        await asyncio.sleep(0.1)


async def limit_of(call: Awaitable[object]) -> str:
    """Return which limit refuses a call; "none" if it is answered."""
    try:
        await call
    except HeldBytesExceeded as error:
        assert int(error.metadata["value"]) > int(error.metadata["limit_max"])
        return error.metadata["limit"]
    return "none"


async def a_long_conversation(client: AsyncContextClient) -> str:
    sent = await client.contexts.append(["Hello."])
    for _ in range(10):
        await client.contexts.append([MESSAGE_CHARS * "x"] * 10, sent[0].context_id)
    return sent[0].context_id


async def archive(pods: Pods, refused: Counter[str], *, waits: bool) -> None:
    """Announce a large row, and send some of it: at once, or unless it is refused."""
    manifest = {"format": 1, "scope": {"kind": "tenant", "id": ""}, "begun_at": "2026-01-01T00:00:00+00:00"}
    piece, _ = sealed(FIRST_SEAL, {"piece": 0, "kind": "manifest"}, orjson.dumps(manifest) + b"\n")
    line = {"piece": 1, "kind": "rows", "table": "memory", "rows": 1, "bytes": 60 * MIB, "seal": "0" * 64}

    data = [piece + orjson.dumps(line) + b"\n", *[b" " * MIB] * 12]
    header = transfer_pb2.ImportArchiveHeader(dry_run=True)
    requests = [transfer_pb2.ImportArchiveRequest(header=header)]
    requests += [transfer_pb2.ImportArchiveRequest(data=one) for one in data]
    async with grpc.aio.insecure_channel(pods.context.service.address) as channel:
        call = TransferStub(channel).ImportArchive(metadata=(("x-api-key", pods.hostile_key),))
        refused[f"archive {await limit_that_ends(call, requests, waits_after=2 if waits else 0)}"] += 1


async def graph(pods: Pods, refused: Counter[str]) -> None:
    """Send a line, and not its end."""
    header = entity_graph_pb2.ImportHeader(graph_name="g")
    requests = [entity_graph_pb2.ImportGraphRequest(header=header)]
    requests += [entity_graph_pb2.ImportGraphRequest(lines=b" " * (MIB // 10))] * 39
    async with grpc.aio.insecure_channel(pods.entity.service.address) as channel:
        call = EntityGraphStub(channel).ImportGraph(metadata=(("x-api-key", pods.hostile_key),))
        refused[f"graph {await limit_that_ends(call, requests)}"] += 1


async def limit_that_ends(call: Any, requests: Sequence[object], *, waits_after: int = 0) -> str:
    """Return the limit that a stream is past which sends these requests and does not end.

    Args:
        call: The stream.
        requests: Its messages.
        waits_after: So many of them, it looks whether it is refused; 0: it does not.
    """
    with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # it has ended already
        for number, request in enumerate(requests, 1):
            await call.write(request)
            if number == waits_after:
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(call.code()), SETTLE_S)
    try:
        await call
    except grpc.aio.AioRpcError as error:
        if error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE):
            return "unknown"  # grpc's own error: the server ended the call while the client was writing
        told = raised(error)
        assert isinstance(told, HeldBytesExceeded), told
        return told.metadata["limit"]
    raise AssertionError("it was never to end")


async def workbooks(client: AsyncContextClient) -> None:
    """Upload files that are small, and large inside."""
    workbook = files.xlsx({"One": [["much " * (8 * MIB)]]})
    assert len(workbook) < MIB
    for number in range(WORKBOOKS):
        content_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
        await client.blobs.upload(workbook, name=f"{number}.xlsx", content_type=content_type)


async def unread(pods: Pods, context_id: str) -> None:
    """Ask for answers over a connection that allows the server to send none of their bytes."""
    request = contexts_pb2.ListMessagesRequest(context_id=context_id, page_size=100).SerializeToString()
    host, port = pods.context.service.address.split(":")
    headers = _headers(
        (":method", "POST"), (":scheme", "http"), (":authority", "localhost"), ("te", "trailers"),
        (":path", "/contextkeep.context.v1.Contexts/ListMessages"), ("content-type", "application/grpc"),
        ("x-api-key", pods.hostile_key),
    )  # fmt: skip
    message = struct.pack("!BI", 0, len(request)) + request
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, struct.pack("!HI", 4, 0)))
        for number in range(UNREAD):
            stream = 2 * number + 1
            writer.write(_frame(1, 4, stream, headers) + _frame(0, 1, stream, message))
        while True:
            head = await reader.readexactly(9)
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] in (4, 6) and not head[4]:  # settings and pings are acknowledged, as the server requires
                writer.write(_frame(head[3], 1, 0, payload if head[3] == 6 else b""))
    finally:
        writer.transport.abort()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame of HTTP/2."""
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def _headers(*headers: tuple[str, str]) -> bytes:
    """Return headers as literals, which no table of the connection keeps; pseudo-headers come first."""
    ordered = sorted(headers, key=lambda header: not header[0].startswith(":"))
    return b"".join(b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in header) for header in ordered)
