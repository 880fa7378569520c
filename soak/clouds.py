"""A cloud for the soak: Azurite behind a proxy.

It is never killed, for it does not keep what it acknowledged; the way to it breaks instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.emulators import azurite
from tests.emulators.proxy import Answer, Cut, Fault, Proxy, Request, Stall, proxied
from tests.faults.processes import spawn


@dataclass(frozen=True, slots=True)
class Cloud:
    """The way to a cloud."""

    proxy: Proxy
    variables: dict[str, str]  # of a service that keeps new blobs there, and older ones in its folder

    async def disturb(self, random: Random) -> None:
        """Break the way for a while: cut requests or answers, say nothing, or be busy; some of them or all."""
        fault = random.choice([Cut(request_bytes=1000), Cut(), Cut(answer_bytes=1000), Stall(), Answer(status=503)])
        share = random.choice([0.2, 1.0])

        def plan(request: Request) -> Fault | None:
            return fault if random.random() < share else None

        self.proxy.fault = plan
        if isinstance(fault, Cut):
            self.proxy.cut_all()
        await asyncio.sleep(random.uniform(0.2, 1.5))
        self.proxy.fault = _forward
        self.proxy.cut_all()  # what stands still would stand for a minute

    async def kill_a_copy(self, random: Random, environment: dict[str, str], log: Path) -> None:
        """Kill a copy between the cloud and the folder somewhere in its work."""
        ends = ["azure", "local"]
        random.shuffle(ends)
        command = ("context_service", "storage", "copy", "--from", ends[0], "--to", ends[1])
        process = spawn(*command, environment={**environment, **self.variables}, log=log)
        await asyncio.sleep(random.uniform(0.3, 2.3))
        process.kill()
        process.wait()


def _forward(request: Request) -> Fault | None:
    return None


@asynccontextmanager
async def azure(folder: Path) -> AsyncIterator[Cloud]:
    """Run Azurite and the proxy for the block."""
    folder.mkdir(parents=True, exist_ok=True)
    with azurite.running(folder) as running:
        async with proxied(running.port) as proxy:
            yield Cloud(
                proxy,
                {
                    "WORKING_MEMORY_STORAGE_PROVIDER": "azure",
                    "WORKING_MEMORY_STORAGE_ACCOUNT": azurite.ACCOUNT,
                    "WORKING_MEMORY_STORAGE_KEY": azurite.KEY,
                    "WORKING_MEMORY_STORAGE_CONTAINER": "soak",
                    "WORKING_MEMORY_STORAGE_ENDPOINT": running.endpoint(proxy.port),
                    "WORKING_MEMORY_STORAGE_CREATE_CONTAINER": "true",
                },
            )
