"""What a call is made of: the CPU of each layer of each process, for what `bench.calls` measures, and a message.

`python -m bench.layers`. Both services run as in production but for a sampler (`bench/sampled.py`), which
takes some 3 % of what it sees. Postgres is counted whole, with its background work: its log, and its checkpoints.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.calls import HISTORY_NODES, LONG_NODES, RULES, message
from bench.contexts import SHORT, text
from bench.sampled import LAYERS
from bench.stack import running, services_of
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput

CALLS = 2000
HISTORIES = 20
WARM_UP_CALLS = 200
_WRITTEN_WITHIN_S = 10.0

Shares = dict[str, dict[str, float]]  # ms of CPU a call, by process and layer


class Layers:
    """The running stack, and the figures from the samples of its services."""

    def __init__(self, stack: dev.Stack, folder: Path) -> None:
        self.graph = AsyncEntityClient(stack.entity_address)
        self.context = AsyncContextClient(stack.context_address)
        self.measured: dict[str, Shares] = {}
        entity, context = services_of(stack)
        self._pids = {"entity": entity.pid, "context": context.pid}
        self._processes = Processes({**self._pids, "postgres": stack.postgres.pid})
        self._folder = folder
        self._asked = 0

    async def measure(self, name: str, call: Callable[[], Awaitable[object]], *, calls: int, warm_up: int) -> None:
        """Make the calls one after the other, and keep their cost by process and layer."""
        for _ in range(warm_up):
            await call()
        await self._samples()
        before = self._processes.cpu_s()
        for _ in range(calls):
            await call()
        used_s = {process: now - before[process] for process, now in self._processes.cpu_s().items()}
        shares: Shares = {}
        for process, counted in (await self._samples()).items():
            of_one = used_s[process] / max(sum(counted.values()), 1) / calls * 1000
            shares[process] = {layer: counted.get(layer, 0) * of_one for layer in LAYERS}
        shares["Postgres"] = {"": used_s["postgres"] / calls * 1000}
        shares["caller"] = {"": used_s["client"] / calls * 1000}
        self.measured[name] = shares

    async def _samples(self) -> dict[str, dict[str, int]]:
        """Return how often each layer of each service was seen since the last call."""
        self._asked += 1
        found = {}
        for process, pid in self._pids.items():
            os.kill(pid, signal.SIGUSR2)
            path = self._folder / f"{process}_service.{self._asked}"
            give_up_at = time.monotonic() + _WRITTEN_WITHIN_S
            while not path.exists():
                assert time.monotonic() < give_up_at, f"{path} was not written"
                await asyncio.sleep(0.01)
            found[process] = json.loads(path.read_text())
        return found

    async def session(self, count: int, text_bytes: int) -> str:
        """Write a session of `count` messages."""
        session = NodeInput("Session")
        await self.graph.graph.write([session], [])
        for start in range(0, count, 500):
            nodes = [message(number, text_bytes) for number in range(start, min(count, start + 500))]
            await self.graph.graph.write(nodes, [EdgeInput(session.id, node.id, "Contains") for node in nodes])
        return session.id

    def table(self) -> str:
        """Return a line for each process and layer, and a column for each call."""
        lines = [f"{'ms of CPU a call':46}" + "".join(f"{name:>14}" for name in self.measured)]
        first = next(iter(self.measured.values()))
        for process in first:
            sums = [sum(shares[process].values()) for shares in self.measured.values()]
            name = {"entity": "Entity Service", "context": "Context Service"}.get(process, process)
            lines.append(f"{name:46}" + "".join(f"{used:14.2f}" for used in sums))
            for layer in filter(None, first[process]):
                of_layer = [shares[process][layer] for shares in self.measured.values()]
                if max(of_layer) >= 0.005:
                    lines.append(f"  {layer:44}" + "".join(f"{used:14.2f}" for used in of_layer))
        whole = [sum(sum(layers.values()) for layers in shares.values()) for shares in self.measured.values()]
        lines.append(f"{'all':46}" + "".join(f"{used:14.2f}" for used in whole))
        return "\n".join(lines)


async def run(stack: dev.Stack, folder: Path) -> None:
    """Measure the calls, and print the CPU of each layer."""
    layers = Layers(stack, folder)
    async with layers.graph, layers.context:
        flat, long = await layers.session(1, 900), await layers.session(LONG_NODES, 300)
        whole = await layers.session(HISTORY_NODES, 900)
        await layers.context.mappings.register("bench", RULES)
        conversation = (await layers.context.contexts.append([text() for _ in range(SHORT)], None))[0].context_id

        async def append() -> None:
            node = message(1, 900)
            await layers.graph.graph.write([node], [EdgeInput(flat, node.id, "Contains")])

        async def insert() -> None:
            await layers.context.records.insert(memory_type="data/json", name="bench", content=message(0, 900).data)

        async def send() -> None:
            await layers.context.contexts.send(text(), conversation, recall=False)

        async def newest() -> None:
            assert len(await layers.context.history.get(long, max_messages=20)) == 20

        async def history() -> None:
            assert len(await layers.context.history.stream(whole, mapping_name="bench")) == HISTORY_NODES

        await layers.measure("append", append, calls=CALLS, warm_up=WARM_UP_CALLS)
        await layers.measure("insert", insert, calls=CALLS, warm_up=WARM_UP_CALLS)
        await layers.measure("a message", send, calls=CALLS, warm_up=WARM_UP_CALLS)
        await layers.measure("last 20", newest, calls=CALLS, warm_up=WARM_UP_CALLS)
        await layers.measure("10,000", history, calls=HISTORIES, warm_up=3)
    print(layers.table())


def main() -> None:
    """Start everything, measure, stop everything."""
    with tempfile.TemporaryDirectory() as samples:
        os.environ["SAMPLES_FOLDER"] = samples
        with running(run_with=("-m", "bench.sampled")) as (stack, _):
            asyncio.run(run(stack, Path(samples)))


if __name__ == "__main__":
    sys.exit(main())
