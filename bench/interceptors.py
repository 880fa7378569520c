"""What interceptors cost: the CPU time of a read with all of them, against the same service without any.

`python -m bench.interceptors`. Two Context Services on one Postgres answer the same `FetchWMRecord`, which is one
SQL query: one authenticates a key of Postgres, keeps the deadline, counts, logs, and traces one call in a hundred to a
collector; the other (bench/bare.py) does nothing of it.

Equal processes differ by as much as a quarter, each for its whole life. So `PROCESSES` of each are measured in turn,
and the best of each are compared; the spread is printed.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import psutil

from bench.stack import running
from bench.table import PAIRS
from context_service.commands import dev
from contextkeep import AsyncContextClient
from service_runtime.auth.keys import KeyAdministration, NewKey
from tests.faults.processes import Service
from tests.ports import free_port

CALLS = 1000
PROCESSES = 3
CPU_MAX = 1.25
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


async def cpu_ms(client: AsyncContextClient, record: str, process: subprocess.Popen[bytes]) -> float:
    """Return the milliseconds of CPU that the service used for a call."""
    watched = psutil.Process(process.pid)
    before = watched.cpu_times()
    for _ in range(CALLS):
        await client.records.get(record)
    after = watched.cpu_times()
    return (after.user - before.user + after.system - before.system) / CALLS * 1000


async def collector(port: int) -> grpc.aio.Server:
    """Start a collector that takes spans and drops them."""

    async def take(_request: bytes, _context: object) -> bytes:
        return b""

    service, method = EXPORT[1:].split("/")
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(take)}),)
    )
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    return server


async def run(stack: dev.Stack, folder: Path) -> int:
    """Measure both services, print their CPU, and return 1 if the difference is too large."""
    collector_port = free_port()
    collecting = await collector(collector_port)
    environment = {
        "DATABASE_URL": stack.postgres.service_url,
        "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
        "ENTITY_SERVICE_URL": stack.entity_address,
    }
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector_port}", "OTEL_TRACES_SAMPLER_ARG": "0.01"}

    def service(name: str, added: dict[str, str], runner: str = "") -> Service:
        settings = environment | added
        return Service("context_service", free_port(), environment=settings, log=folder / name, runner=runner)

    full = [service("full.log", traced) for _ in range(PROCESSES)]
    bare = [service("bare.log", {}, runner="bench.bare") for _ in range(PROCESSES)]
    key = KeyAdministration(stack.postgres.admin_url).create(
        NewKey(tenant="default", subject="bench", scopes=["read", "write"])
    )
    used: dict[str, list[float]] = {"all": [], "none": []}  # the best of each process
    try:
        async with AsyncExitStack() as opened:
            measured = []
            for kind, services, api_key in (("all", full, key), ("none", bare, None)):
                for entry in services:
                    await entry.start()
                    client = await opened.enter_async_context(AsyncContextClient(entry.address, api_key=api_key))
                    measured.append((kind, client, entry.process, list[float]()))
            record = (await measured[0][1].records.insert("data/json", "bench", content={"a": 1})).working_memory_id
            for _ in range(PAIRS):
                for _, client, process, cpu in measured:
                    cpu.append(await cpu_ms(client, record, process))
            for kind, _, _, cpu in measured:
                used[kind].append(min(cpu))
    finally:
        await asyncio.gather(*(item.kill() for item in (*full, *bare)))
        await collecting.stop(None)
    ours, floor = min(used["all"]), min(used["none"])
    missed = "" if ours / floor <= CPU_MAX else "  MISSED"
    print(
        f"FetchWMRecord: {ours:.3f} ms of CPU with all interceptors, {floor:.3f} with none: {ours / floor:.2f}", end=""
    )
    print(f" times (target {CPU_MAX}){missed}")
    for kind, best in used.items():
        print(f"  {kind:5} {PROCESSES} processes: " + ", ".join(f"{item:.3f}" for item in sorted(best)))
    return int(bool(missed))


def main() -> int:
    """Start everything, measure, stop everything."""
    with running() as (stack, folder):
        return asyncio.run(run(stack, folder))


if __name__ == "__main__":
    sys.exit(main())
