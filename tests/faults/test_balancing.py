"""A name with two addresses: both replicas work, and no call notices when one of them stops."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from contextkeep import AsyncEntityClient, NodeInput
from contextkeep.address import Address
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.faults.processes import Service
from tests.ports import free_port


async def test_calls_are_spread_over_the_addresses_of_a_name_and_go_on_with_those_that_are_left(
    postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))
        environment = {"DATABASE_URL": urls.service, "DRAIN_S": "1"}
        replicas = [
            Service("entity_service", free_port(), environment=environment, log=tmp_path / f"{number}.log")
            for number in range(2)
        ]
        for replica in replicas:
            stack.push_async_callback(replica.kill)
            await replica.start()
        # What a resolver makes of such a name, here without a name server.
        found = "ipv4:" + ",".join(replica.address for replica in replicas)
        monkeypatch.setattr(Address, "target", property(lambda self: found))
        client = await stack.enter_async_context(AsyncEntityClient("replicas.internal:50052"))

        shares: Counter[int] = Counter()
        async with asyncio.timeout(30):  # the second connection takes a moment
            while len(shares) < 2 or min(shares.values()) <= 10:
                await client.graph.write([NodeInput("Session")])
                shares = Counter({number: writes(tmp_path / f"{number}.log") for number in range(2)})

        replicas[0].send(signal.SIGTERM)
        for _ in range(20):
            await client.graph.write([NodeInput("Session")])
        assert await replicas[0].ended(timeout_s=30) == 0


def writes(log: Path) -> int:
    return sum(
        '"calls"' in line and ("WriteGraph" in line or "CreateNode" in line) for line in log.read_text().splitlines()
    )
