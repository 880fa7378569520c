"""Callers that write all the time, keep what was acknowledged, and know how each call failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import ContextKeepError
from service_runtime.values.ids import new_id

WAIT_MAX_S = 30.0  # for what takes a moment where nothing else runs


@dataclass(frozen=True, slots=True)
class Call:
    """One call, from when to when, and how it ended."""

    started: float  # on the monotonic clock
    ended: float
    error: ContextKeepError | None

    @property
    def took_s(self) -> float:
        return self.ended - self.started


@dataclass(slots=True)
class Load:
    """What came of the calls so far."""

    entity: AsyncEntityClient
    context: AsyncContextClient
    calls: list[Call] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)  # acknowledged
    records: dict[str, str] = field(default_factory=dict)  # acknowledged: id and content

    @property
    def failures(self) -> list[Call]:
        return [call for call in self.calls if call.error is not None]

    async def more(self, count: int) -> None:
        """Wait until so many calls that start from now on have succeeded."""
        now = time.monotonic()
        async with asyncio.timeout(WAIT_MAX_S):
            while sum(call.started > now and call.error is None for call in self.calls) < count:
                await asyncio.sleep(0.02)

    async def lost(self) -> list[str]:
        """Return what was acknowledged and does not read back."""
        missing: list[str] = []
        for start in range(0, len(self.nodes), 100):
            missing += (await self.entity.graph.get_nodes(self.nodes[start : start + 100])).missing_ids
        ids = list(self.records)
        for start in range(0, len(ids), 50):
            batch = ids[start : start + 50]
            found = await asyncio.gather(*(self.context.records.get(one) for one in batch), return_exceptions=True)
            missing += [
                one
                for one, record in zip(batch, found, strict=True)
                if isinstance(record, BaseException) or record.content != {"text": self.records[one]}
            ]
        return missing

    async def _write(self) -> None:
        started, error, name = time.monotonic(), None, str(new_id())
        try:
            if len(self.calls) % 2:
                self.nodes.append((await self.entity.graph.create_node("Load", name=name)).id)
            else:
                record = await self.context.records.insert("data/json", name, content={"text": name})
                self.records[record.working_memory_id] = name
        except ContextKeepError as raised:
            error = raised
        self.calls.append(Call(started, time.monotonic(), error))


@asynccontextmanager
async def running(entity: AsyncEntityClient, context: AsyncContextClient, *, callers: int = 12) -> AsyncIterator[Load]:
    """Write for the block."""
    load = Load(entity, context)
    stopping = asyncio.Event()

    async def keep_writing() -> None:
        while not stopping.is_set():
            await load._write()
            await asyncio.sleep(0.02)  # hundreds of calls in a second, and half of the CPU for what they meet

    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(keep_writing())
        try:
            yield load
        finally:
            stopping.set()
