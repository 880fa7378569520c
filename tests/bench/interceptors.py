"""What interceptors cost: the CPU time of a read with all of them, against the same service without any.

`python -m tests.bench.interceptors`. Two Context Services on one Postgres answer the same `FetchWMRecord`, which is one
SQL query: one authenticates a key of Postgres, keeps the deadline, counts, logs, and traces one call in a hundred to a
collector; the other (tests/bench/bare.py) does nothing of it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import grpc
import psutil

from context_service import dev
from contextgraph import AsyncContextClient
from service_runtime.keys import KeyAdministration, NewKey
from tests.bench.table import PAIRS
from tests.faults.processes import Service

CALLS = 1000
CPU_MAX = 1.25
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


async def cpu_ms(client: AsyncContextClient, record: str, process: subprocess.Popen[bytes]) -> float:
    """Return the milliseconds of CPU that the service used for a call."""
    watched = psutil.Process(process.pid)
    before = watched.cpu_times()
    for _ in range(CALLS):
        await client.fetch_wm_record(record)
    after = watched.cpu_times()
    return (after.user - before.user + after.system - before.system) / CALLS * 1000


async def collector(port: int) -> grpc.aio.Server:
    """Start what takes spans, and forgets them."""

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
    """Measure both, print, and return 1 if the difference is too large."""
    collector_port = dev.free_port()
    collecting = await collector(collector_port)
    environment = {
        "DATABASE_URL": stack.postgres.service_url,
        "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
        "ENTITY_SERVICE_URL": stack.entity_address,
    }
    traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector_port}", "OTEL_TRACES_SAMPLER_ARG": "0.01"}
    full = Service("context_service", dev.free_port(), environment=environment | traced, log=folder / "full.log")
    bare = Service(
        "context_service", dev.free_port(), environment=environment, log=folder / "bare.log", runner="tests.bench.bare"
    )
    key = KeyAdministration(stack.postgres.admin_url).create(
        NewKey(tenant="default", subject="bench", scopes=["read", "write"])
    )
    try:
        await asyncio.gather(full.start(), bare.start())
        async with (
            AsyncContextClient(full.address, api_key=key) as with_all,
            AsyncContextClient(bare.address) as with_none,
        ):
            record = (await with_all.insert_wm_record("data/json", "bench", content={"a": 1})).working_memory_id
            used: dict[str, list[float]] = {"all": [], "none": []}
            for _ in range(PAIRS):
                used["none"].append(await cpu_ms(with_none, record, bare.process))
                used["all"].append(await cpu_ms(with_all, record, full.process))
    finally:
        await asyncio.gather(full.kill(), bare.kill())
        await collecting.stop(None)
    ours, floor = min(used["all"]), min(used["none"])
    missed = "" if ours / floor <= CPU_MAX else "  MISSED"
    print(
        f"FetchWMRecord: {ours:.3f} ms of CPU with all interceptors, {floor:.3f} with none: {ours / floor:.2f}", end=""
    )
    print(f" times (target {CPU_MAX}){missed}")
    return int(bool(missed))


def main() -> int:
    """Start everything, measure, stop everything."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        ports = {"context_port": dev.free_port(), "entity_port": dev.free_port()}
        stack = opened.enter_context(dev.stack(Path(folder), **ports, keep=False))
        return asyncio.run(run(stack, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
