"""SIGTERM under load: what runs finishes, what is new goes elsewhere, and the process ends in time."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextkeep.errors import RecordNotFound, Unavailable
from contextkeep.ids import new_id
from contextkeep.inputs import EdgeInput, NodeInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.context_service.working_memory.callers import MIB
from tests.faults import load, proxy
from tests.faults.processes import Service
from tests.noise import noise
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
DRAIN_S = 30  # for what finishes: a machine may be slow
HASTY_DRAIN_S = 1  # of the last replica of the Context Service, for what does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """Two of each service behind one address each, as behind a balancer of connections."""

    entities: list[Service]
    contexts: list[Service]
    entity: AsyncEntityClient
    context: AsyncContextClient

    def all(self) -> list[Service]:
        return [*self.entities, *self.contexts]


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Replicas]:
    folder = tmp_path_factory.mktemp("replicas")
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))

        def made(module: str, number: int, *, drain_s: int = DRAIN_S, **environment: str) -> Service:
            environment = {"DATABASE_URL": urls.service, "DRAIN_S": str(drain_s), **environment}
            service = Service(module, free_port(), environment=environment, log=folder / f"{module}{number}.log")
            stack.push_async_callback(service.kill)
            return service

        entities = [made("entity_service", number) for number in range(2)]
        entity_network = await stack.enter_async_context(proxy.running(*(one.port for one in entities)))
        contexts = [
            made(
                "context_service",
                number,
                drain_s=(DRAIN_S, HASTY_DRAIN_S)[number],
                ENTITY_SERVICE_URL=f"127.0.0.1:{entity_network.port}",
                WORKING_MEMORY_STORAGE_PATH=str(folder / "blobs"),
            )
            for number in range(2)
        ]
        context_network = await stack.enter_async_context(proxy.running(*(one.port for one in contexts)))
        made_replicas = Replicas(
            entities=entities,
            contexts=contexts,
            # More retries than by default: on a slow machine the network may find a dying replica several times.
            entity=await stack.enter_async_context(AsyncEntityClient(f"127.0.0.1:{entity_network.port}", retries=8)),
            context=await stack.enter_async_context(AsyncContextClient(f"127.0.0.1:{context_network.port}", retries=8)),
        )
        await asyncio.gather(*(service.start() for service in made_replicas.all()))
        yield made_replicas


@pytest.fixture
async def replicas(shared: Replicas) -> Replicas:
    """All of them running: what a test has stopped, or has left on its way there, is started again."""

    async def run(service: Service) -> None:
        if service.is_draining:
            await service.kill()
        if not service.is_running:
            await service.start()

    await asyncio.gather(*map(run, shared.all()))
    return shared


async def test_a_rolling_restart_under_load_fails_no_call(replicas: Replicas):
    session = NodeInput("Session")
    await replicas.entity.graph.write([session])

    async with load.running(replicas.entity, replicas.context) as written:
        for first, second in zip(replicas.entities, replicas.contexts, strict=True):
            await written.more(50)
            first.send(signal.SIGTERM)
            second.send(signal.SIGTERM)
            assert await first.ended(timeout_s=DRAIN_S) == 0
            assert await second.ended(timeout_s=DRAIN_S) == 0
            assert len(await replicas.context.history.get(session.id)) == 0
            await asyncio.gather(first.start(), second.start())

    assert [str(call.error) for call in written.failures] == []
    assert await written.lost() == []


async def test_a_rolling_restart_fails_no_call_of_a_plain_client(replicas: Replicas):
    """Of callers that retry UNAVAILABLE and nothing else, as gRPC's own retries do."""
    node = NodeInput("Node")
    await replicas.entity.graph.write([node])
    restarted = asyncio.Event()
    targets = ",".join(service.address for service in replicas.entities)
    calls = asyncio.create_task(plain_calls(f"ipv4:{targets}", node.id, restarted))
    script = asyncio.create_task(grpc_js_calls(replicas.entities[0].address, node.id, restarted))
    try:
        for service in replicas.entities * 2:
            await asyncio.sleep(0.5)
            service.send(signal.SIGTERM)
            assert await service.ended(timeout_s=DRAIN_S) == 0
            await service.start()
    finally:
        restarted.set()
    codes, codes_of_grpc_js = await calls, await script

    # On a busy machine a call may be on its way for longer than the server waits; without the wait there are dozens.
    assert codes.pop("CANCELLED", 0) <= 2
    assert codes.keys() <= {"OK", "UNAVAILABLE"}
    assert codes["OK"] > 1000
    assert codes_of_grpc_js.pop("1", 0) <= 2
    assert codes_of_grpc_js.keys() <= {"0", "14"}  # the same, as numbers


async def plain_calls(target: str, node_id: str, stop: asyncio.Event) -> Counter[str]:
    """Read a node in 20 loops until `stop`, and return how often each status came."""
    codes: Counter[str] = Counter()
    options = [("grpc.lb_policy_name", "round_robin"), ("grpc.max_reconnect_backoff_ms", 100)]

    async def call(get_node: Any) -> None:
        while not stop.is_set():
            try:
                await get_node(graph_pb.GetNodeRequest(node_id=node_id), timeout=20)
                codes["OK"] += 1
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1
                await asyncio.sleep(0.05)

    async with grpc.aio.insecure_channel(target, options) as channel:
        await asyncio.gather(*(call(EntityGraphStub(channel).GetNode) for _ in range(20)))
    return codes


GRPC_JS = """
import { createRequire } from "node:module";
const grpc = createRequire(process.argv[1] + "/package.json")("@grpc/grpc-js");
const client = new grpc.Client(process.argv[2], grpc.credentials.createInsecure(), {
  "grpc.enable_retries": 0, "grpc.max_reconnect_backoff_ms": 100,
});
const same = (bytes) => bytes;
const request = Buffer.from([10, 36, ...Buffer.from(process.argv[3])]);  // field 1, a text of 36 bytes
const codes = {};
let stop = false;
process.stdin.on("end", () => (stop = true)).resume();
async function loop() {
  while (!stop) {
    const code = await new Promise((resolve) => client.makeUnaryRequest(
      "/contextkeep.entity.v1.EntityGraph/GetNode", same, same, request, (error) => resolve(error ? error.code : 0)));
    codes[code] = (codes[code] ?? 0) + 1;
    if (code) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
await Promise.all(Array.from({ length: 10 }, loop));
console.log(JSON.stringify(codes));
client.close();
"""


async def grpc_js_calls(address: str, node_id: str, stop: asyncio.Event) -> dict[str, int]:
    """Do as `plain_calls`, with grpc-js; return nothing where there is no Node."""
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules/@grpc/grpc-js").exists():
        return {}
    process = await asyncio.create_subprocess_exec(
        *(node, "--input-type=module", "--eval", GRPC_JS, str(ROOT), address, node_id),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    await stop.wait()
    output, _ = await process.communicate(b"")
    codes: dict[str, int] = json.loads(output)
    return codes


async def test_what_is_under_way_finishes(replicas: Replicas):
    context, entity = replicas.contexts[0], replicas.entities[0]
    session = NodeInput("Session")
    async with AsyncContextClient(context.address) as client, AsyncEntityClient(entity.address) as graph:
        await graph.graph.write([session])
        turns = [NodeInput("Turn", data={"user_input": "x" * 5000}) for _ in range(600)]
        await graph.graph.write(turns, [EdgeInput(session.id, turn.id, "Contains") for turn in turns])
        upload_goes, walk_goes, stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            yield noise(MIB)
            upload_goes.set()
            await stopping.wait()
            for _ in range(9):
                yield noise(MIB)

        async def walk() -> int:
            count = 0
            async for _ in graph.graph.traverse(session.id):
                count += 1
                walk_goes.set()
                await stopping.wait()
            return count

        uploading = asyncio.create_task(client.blobs.upload(pieces(), name="under way"))
        walking = asyncio.create_task(walk())
        await asyncio.wait_for(asyncio.gather(upload_goes.wait(), walk_goes.wait()), 30)
        for service in (context, entity):
            service.send(signal.SIGTERM)
        await asyncio.gather(*(refuses(service) for service in (context, entity)))
        stopping.set()

        record = await uploading
        assert await walking == 600
        for service in (context, entity):
            assert await service.ended(timeout_s=DRAIN_S / 2) == 0  # as soon as they are done
    assert record.size_bytes == 10 * MIB
    async with AsyncContextClient(replicas.contexts[1].address) as other, await other.blobs.get(record) as reader:
        assert b"".join([chunk async for chunk in reader]) == noise(MIB) * 10


async def test_what_takes_longer_than_the_drain_is_unavailable_and_leaves_nothing(replicas: Replicas):
    context = replicas.contexts[1]
    record_id = new_id()
    under_way = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield noise(MIB)
            under_way.set()
            await asyncio.sleep(0.1)

    async with AsyncContextClient(context.address, retries=0) as client:
        uploading = asyncio.create_task(client.blobs.upload(endless(), name="endless", working_memory_id=record_id))
        await asyncio.wait_for(under_way.wait(), 30)
        context.send(signal.SIGTERM)

        with pytest.raises(Unavailable):
            await uploading
        assert await context.ended(timeout_s=DRAIN_S) == 0
    async with AsyncContextClient(replicas.contexts[0].address) as other:
        with pytest.raises(RecordNotFound):
            await other.records.get(record_id)


async def test_a_reader_that_stands_still_does_not_keep_a_process_alive(replicas: Replicas):
    context = replicas.contexts[1]
    async with AsyncContextClient(context.address) as client:
        record = await client.blobs.upload(noise(20 * MIB), name="large")
        async with await client.blobs.get(record) as reader:
            await anext(aiter(reader))
            context.send(signal.SIGTERM)
            assert await context.ended(timeout_s=DRAIN_S) == 0


async def test_a_stopping_service_says_so_to_those_who_ask(replicas: Replicas):
    """Balancers look elsewhere; a caller who does not gets UNAVAILABLE, which the clients retry."""
    context = replicas.contexts[0]
    under_way, told = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield noise(MIB)
        under_way.set()  # asked for more: the first was sent
        await told.wait()
        yield noise(MIB)

    async with AsyncContextClient(context.address, retries=0) as client:
        uploading = asyncio.create_task(client.blobs.upload(slow(), name="slow"))
        await asyncio.wait_for(under_way.wait(), 30)
        context.send(signal.SIGTERM)
        async with asyncio.timeout(DRAIN_S / 2):
            with pytest.raises(Unavailable):
                while True:  # until the signal has arrived
                    await client.records.insert("data/json", "new")
        assert not uploading.done()
        told.set()
        assert (await uploading).size_bytes == 2 * MIB
    assert await context.ended(timeout_s=DRAIN_S / 2) == 0


async def refuses(service: Service) -> None:
    """Wait until a service that was told to stop takes nothing new."""
    async with asyncio.timeout(DRAIN_S / 2):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", service.port)
            except ConnectionError:  # refused, or reset: it was just closing
                return
            writer.close()
            await asyncio.sleep(0.02)
