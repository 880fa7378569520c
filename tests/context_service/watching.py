"""Two replicas, and watches of what happens in a context or a window, read in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import grpc

from contextkeep.errors import ContextKeepError
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import Urls
from tests.context_service.contexts.callers import KEYS, Caller
from tests.errors import raised

PER_PROCESS = 4
Replicas = list[tuple[Caller, AsyncExitStack]]


class Callers(ApiKeys):
    """Keys of which some are revoked."""

    def __init__(self) -> None:
        super().__init__(KEYS)
        self.revoked: set[str] = set()

    async def find(self, secret: str) -> Any:
        return None if secret in self.revoked else await super().find(secret)


@asynccontextmanager
async def two_replicas(urls: Urls, callers: Callers, folder: Path) -> AsyncIterator[Replicas]:
    """Run two replicas for the block; each has a stack that stops it."""
    begun = []
    async with AsyncExitStack() as outer:
        for number in range(2):
            stack = await outer.enter_async_context(AsyncExitStack())
            addresses = await stack.enter_async_context(
                running(urls.service, folder / str(number), callers=callers, watches_max=PER_PROCESS)
            )
            channel = await outer.enter_async_context(grpc.aio.insecure_channel(addresses.context))
            begun.append((Caller(channel), stack))
        yield begun


class Watching:
    """A watch, read in the background; `over` is how it ended, None while it goes on."""

    texts: ClassVar[dict[str, Any]]  # of an answer, by its event

    def __init__(self, call: grpc.aio.UnaryStreamCall) -> None:
        self.told: list[Any] = []
        self.over: ContextKeepError | str | None = None
        self.idle_count = 0
        self.call = call
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for answer in self.call:
                if answer.WhichOneof("event"):
                    self.told.append(answer)
                else:
                    self.idle_count += 1
            self.over = "well"
        except grpc.aio.AioRpcError as error:
            self.over = raised(error)

    def seen(self) -> list[str]:
        return [self.texts[str(answer.WhichOneof("event"))](answer) for answer in self.told]

    async def until(self, *seen: str) -> None:
        async with asyncio.timeout(20):
            while not set(seen) <= set(self.seen()):
                assert self.over is None, self.over
                await asyncio.sleep(0.02)

    async def end(self) -> ContextKeepError | str:
        async with asyncio.timeout(20):
            await self.task
        assert self.over is not None
        return self.over

    async def stop(self) -> None:
        self.call.cancel()
        with suppress(asyncio.CancelledError):
            await self.task
