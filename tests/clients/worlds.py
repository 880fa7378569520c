"""One way to use the async and the sync client, so that a test is written once. The sync one works in a thread."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
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
        """Return the bytes of a blob, read through `blobs.get`."""
        if self.is_async:
            return b"".join([chunk async for chunk in await client.blobs.get(blob, **options)])
        return await asyncio.to_thread(lambda: b"".join(client.blobs.get(blob, **options)))


def methods(client_class: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of a client's nouns, each with its name: "windows.pack"."""
    for noun, kind in inspect.getmembers(client_class, inspect.isclass):
        for verb, method in inspect.getmembers(kind, inspect.isfunction):
            if not noun.startswith("_") and not verb.startswith("_"):
                yield f"{noun}.{verb}", method


def of_either(name: str, *clients: Any) -> Any:
    """Return the client of `clients` that has a method: "windows.pack"."""
    return next(client for client in clients if hasattr(client, name.partition(".")[0]))


def _listed(result: Any) -> Any:
    return list(result) if inspect.isgenerator(result) else result


ASYNC = World(AsyncEntityClient, AsyncContextClient, True)
SYNC = World(EntityClient, ContextClient, False)
