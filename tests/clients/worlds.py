"""One way to use the async and the sync client, so that a test is written once. The sync one works in a thread."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from contextkeep import AsyncContextClient, AsyncEntityClient, ContextClient, EntityClient


@dataclass(frozen=True)
class World:
    entity_class: Any
    context_class: Any
    is_async: bool

    @asynccontextmanager
    async def entity(self, address: str, **options: Any) -> AsyncIterator[Any]:
        client = self.entity_class(address, **options)
        try:
            yield client
        finally:
            await self.run(client.close)

    @asynccontextmanager
    async def context(self, address: str, **options: Any) -> AsyncIterator[Any]:
        client = self.context_class(address, **options)
        try:
            yield client
        finally:
            await self.run(client.close)

    async def run(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a method and return its result; of an iterator, what it yields."""
        if self.is_async:
            result = method(*args, **kwargs)
            return [item async for item in result] if inspect.isasyncgen(result) else await result
        return await asyncio.to_thread(lambda: _listed(method(*args, **kwargs)))

    async def read(self, client: Any, blob: Any, **options: Any) -> bytes:
        """Return the bytes of a blob, read through `get_blob`."""
        if self.is_async:
            return b"".join([chunk async for chunk in await client.get_blob(blob, **options)])
        return await asyncio.to_thread(lambda: b"".join(client.get_blob(blob, **options)))


def _listed(result: Any) -> Any:
    return list(result) if inspect.isgenerator(result) else result


ASYNC = World(AsyncEntityClient, AsyncContextClient, True)
SYNC = World(EntityClient, ContextClient, False)
