"""Fifty cheap calls of one key at once: how long the calls of another tenant take next to them.

`python -m bench.neighbours [SECONDS]`. A process with the hostile key makes fifty calls at once (it looks a
record up, or appends twenty messages), each again as soon as it is answered. The other key, of another tenant, makes
one look-up after the other, alone and next to each flood, in turns. Ratios count: a machine with other work moves both.
`ORDINARY_CALLS_MAX=100000` shows what there would be without turns.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from bench.stack import keys_of, running
from bench.turns import at
from context_service.commands import dev
from contextkeep import AsyncContextClient
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.context.v1 import working_memory_pb2 as memory

FLOOD = 50
APPENDED = 20
SAID = "What is said here is of no great length, and has twenty words, more or less."
KINDS = LOOK_UPS, _ = "look-ups", "appends"
ROUNDS = 3


async def flood(kind: str, address: str, key: str, record_id: str) -> None:
    """Call for ever, `FLOOD` at once, with requests that are made before and answers that are not read."""
    async with AsyncContextClient(address, api_key=key) as client:
        context_id = (await client.contexts.send("The first one.")).context_id
    if kind == LOOK_UPS:
        path = "/contextkeep.context.v1.WorkingMemory/FetchWMRecord"
        request = memory.FetchWMRecordRequest(working_memory_id=record_id).SerializeToString()
    else:
        path = "/contextkeep.context.v1.Contexts/AppendMessages"
        messages = [message_pb.MessageInput(content=SAID, role="user")] * APPENDED
        request = pb.AppendMessagesRequest(context_id=context_id, messages=messages).SerializeToString()

    async with grpc.aio.insecure_channel(address) as channel, asyncio.TaskGroup() as tasks:
        method = channel.unary_unary(path)

        async def call() -> None:
            while True:
                try:
                    await method(request, metadata=(("authorization", f"Bearer {key}"),))
                except grpc.aio.AioRpcError as error:
                    print(repr(error), file=sys.stderr)

        for _ in range(FLOOD):
            tasks.create_task(call())


@asynccontextmanager
async def flooded(kind: str, address: str, key: str, record_id: str) -> AsyncIterator[None]:
    """Let a process of its own call for the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.neighbours", "--flood", kind, address, key, record_id
    )
    try:
        await asyncio.sleep(2)
        yield
    finally:
        process.kill()
        await process.wait()
        await asyncio.sleep(1)


async def timed(client: AsyncContextClient, record_id: str, seconds: float) -> list[float]:
    """Make calls one after the other for some seconds, and return the duration of each in milliseconds."""
    taken = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        await client.records.get(record_id)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


async def run(stack: dev.Stack, keys: dict[str, str], seconds: float) -> None:
    """Measure the look-ups alone and next to each flood, and print the ratios."""
    async with (
        AsyncContextClient(stack.context_address, api_key=keys["hostile"], retries=0) as theirs,
        AsyncContextClient(stack.context_address, api_key=keys["other"], retries=0) as ours,
    ):
        their_record = await theirs.records.insert("data/json", "theirs", content={"a": 1})
        record = await ours.records.insert("data/json", "ours", content={"a": 1})
        record_id = record.working_memory_id
        await timed(ours, record_id, 1)
        taken: dict[str, list[float]] = {"alone": [], **{kind: [] for kind in KINDS}}
        for _ in range(ROUNDS):
            taken["alone"] += await timed(ours, record_id, seconds)
            for kind in KINDS:
                async with flooded(kind, stack.context_address, keys["hostile"], their_record.working_memory_id):
                    taken[kind] += await timed(ours, record_id, seconds)
    p95_alone = at(taken["alone"], 0.95)
    for name, those in taken.items():
        p95 = at(those, 0.95)
        print(
            f"{name:10} {len(those):6} calls, p50 {at(those, 0.5):7.1f} ms, p95 {p95:7.1f} ms ({p95 / p95_alone:.1f})"
        )


def main() -> None:
    """Start the stack, and measure."""
    if sys.argv[1:2] == ["--flood"]:
        asyncio.run(flood(*sys.argv[2:]))
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with running() as (stack, _):
        asyncio.run(run(stack, keys_of(stack, "hostile", "other"), seconds))


if __name__ == "__main__":
    main()
