"""What a second process costs: the servers' CPU time of a call with one process and with two.

`python -m bench.replicas`. Callers with a connection each ask for the same record. Two processes are reached in
both ways: at a port each, over which the client balances call by call, and at one port (`SO_REUSEPORT`, which our
services refuse; bench/reuse_port.py), where the kernel gives each connection to one of them, by chance and for
its life.

A process that is busy handles several calls a wake-up, which is cheaper. So at the same load two processes, each of
which is less busy, cost more than one: that is what the ratio shows, and not what they cost when both are full.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import psutil

from bench.stack import running
from bench.table import PAIRS
from context_service.commands import dev
from contextkeep import AsyncContextClient
from contextkeep.address import parse_address
from contextkeep.client._base import channel_options
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from tests.faults.processes import Service
from tests.ports import free_port

CALLERS = (1, 8)
CALLS = 1000  # by all callers together
CPU_MAX = 1.1  # times that of one process: as much, and what such a measurement wavers


class Replicas:
    """Some processes of one service, and the connections of some callers to them."""

    def __init__(self, name: str, services: Sequence[Service], *, callers: int) -> None:
        self.name = name
        self.processes = [psutil.Process(service.process.pid) for service in services]
        ports = dict.fromkeys(service.address for service in services)
        options = channel_options(parse_address(services[0].address))
        # Connections of their own: by default grpc gives channels with one target the same.
        options = [*options, ("grpc.use_local_subchannel_pool", 1)]
        self.channels = [grpc.aio.insecure_channel("ipv4:" + ",".join(ports), options) for _ in range(callers)]
        self.cpu_ms: list[float] = []  # of all processes, a call
        self.shares = [0.0 for _ in services]  # seconds of CPU of each

    async def measure(self, record: str) -> None:
        """Let every caller make its calls."""
        request = pb.FetchWMRecordRequest(working_memory_id=record)

        async def caller(channel: grpc.aio.Channel) -> None:
            fetch = WorkingMemoryStub(channel).FetchWMRecord
            for _ in range(CALLS // len(self.channels)):
                await fetch(request)

        before = self._cpu_s()
        await asyncio.gather(*map(caller, self.channels))
        used = [now - then for now, then in zip(self._cpu_s(), before, strict=True)]
        self.cpu_ms.append(sum(used) / CALLS * 1000)
        self.shares = [share + more for share, more in zip(self.shares, used, strict=True)]

    def _cpu_s(self) -> list[float]:
        times = [process.cpu_times() for process in self.processes]
        return [float(time.user + time.system) for time in times]


async def listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until this process listens: its twin on the port would answer for it."""
    watched = psutil.Process(process.pid)
    while not any(
        net_connection.laddr.port == port
        for net_connection in watched.net_connections("tcp")
        if net_connection.status == psutil.CONN_LISTEN
    ):
        assert process.poll() is None, "it ended"
        await asyncio.sleep(0.05)


async def run(stack: dev.Stack, folder: Path) -> int:
    """Measure all kinds, print, and return 1 if a second process makes calls more expensive."""
    environment = {
        "DATABASE_URL": stack.postgres.service_url,
        "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
        "ENTITY_SERVICE_URL": stack.entity_address,
    }

    def service(port: int, runner: str = "") -> Service:
        log = folder / "replicas.log"
        return Service("context_service", port, environment=environment, log=log, runner=runner)

    shared_port = free_port()
    one = [service(free_port())]
    two = [service(free_port()) for _ in range(2)]
    sharing = [service(shared_port, runner="bench.reuse_port") for _ in range(2)]
    async with AsyncExitStack() as opened:
        for each in (*one, *two, *sharing):
            await each.start()
            opened.push_async_callback(each.kill)
            await listening(each.process, each.port)
        client = await opened.enter_async_context(AsyncContextClient(one[0].address))
        record = (await client.records.insert("data/json", "bench", content={"a": 1})).working_memory_id
        kinds = {"one process": one, "two, a port each": two, "two, one port": sharing}
        return sum([await compared(kinds, record, callers) for callers in CALLERS])


async def compared(kinds: Mapping[str, Sequence[Service]], record: str, callers: int) -> int:
    """Measure the kinds in turn, print, and return 1 if calls with a port for each process are more expensive."""
    sets = [Replicas(name, services, callers=callers) for name, services in kinds.items()]
    for replicas in sets:
        await replicas.measure(record)  # connections and plans are there then
        replicas.cpu_ms.clear()
        replicas.shares = [0.0 for _ in replicas.shares]
    for _ in range(PAIRS):
        for replicas in sets:
            await replicas.measure(record)
    for replicas in sets:
        for channel in replicas.channels:
            await channel.close()
    print(f"FetchWMRecord, {callers} at a time{'ms of CPU':>17}{'ratio':>7}{'target':>9}   share of each process")
    floor, missed = min(sets[0].cpu_ms), False
    for replicas in sets:
        ratio, target = min(replicas.cpu_ms) / floor, ""
        if replicas is sets[1]:
            target, missed = f"<= {CPU_MAX:g}", ratio > CPU_MAX
        shares = " and ".join(f"{share / sum(replicas.shares):.0%}" for share in replicas.shares)
        verdict = "  MISSED" if target and missed else ""
        print(f"  {replicas.name:31}{min(replicas.cpu_ms):10.3f}{ratio:7.2f}{target:>9}   {shares}{verdict}")
    return int(missed)


def main() -> int:
    """Start everything, measure, stop everything."""
    with running() as (stack, folder):
        return asyncio.run(run(stack, folder))


if __name__ == "__main__":
    sys.exit(main())
