"""A network in between: what goes through it can be slow, or vanish without a word."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Passes bytes on to ports of this machine, a new connection to the next that takes it; made by `running`.

    Set `delay_s`, and each piece of up to `piece_bytes` waits so long. `turns` counts how often the direction changed:
    a round trip of one connection is two.
    """

    def __init__(self, target_ports: Sequence[int]) -> None:
        self._target_ports = deque(target_ports)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._silenced: set[asyncio.StreamWriter] = set()
        self.delay_s = 0.0
        self.piece_bytes = 65536
        self.port = 0
        self.turns = 0
        self._spoke: asyncio.StreamReader | None = None

    def fall_silent(self) -> None:
        """Let the connections of now stay open, and pass nothing on any more."""
        self._silenced |= self._writers

    def break_off(self) -> None:
        """Reset the connections of now."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, near_reader: asyncio.StreamReader, near_writer: asyncio.StreamWriter) -> None:
        for _ in range(len(self._target_ports)):
            self._target_ports.rotate()
            with suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_ports[0])
                break
        else:
            near_writer.transport.abort()
            return
        for reader, writer in ((near_reader, far_writer), (far_reader, near_writer)):
            self._writers.add(writer)
            task = asyncio.create_task(self._pass(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(self.piece_bytes):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                if writer in self._silenced:
                    continue
                self.turns += reader is not self._spoke
                self._spoke = reader
                writer.write(piece)
                await writer.drain()
        if writer not in self._silenced:
            writer.close()
        self._writers.discard(writer)

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        for writer in self._writers | self._silenced:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def running(*target_ports: int) -> AsyncIterator[Proxy]:
    """Run a proxy for the block."""
    proxy = Proxy(target_ports)
    server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy._end()
        await server.wait_closed()
