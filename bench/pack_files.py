"""Packs with pictures over gRPC: 20 pictures of 500 kB in a window, packed twice, and once more after each new picture.

`python -m bench.pack_files`. The first pack reads all pictures; later ones read only new ones, since the client keeps
the bytes. `bytes` are those that the client received over the network.
"""

from __future__ import annotations

import asyncio
import random
import struct
import zlib

from bench.packs import Calls
from bench.stack import Beside, beside, running
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, FileInput, MessageInput, Pack, PartInput

PICTURES = 20
ROUNDS = 10
WIDTH, HEIGHT = 408, 408  # of three random bytes: some 500 kB


def picture(randomly: random.Random) -> bytes:
    """Return a PNG that does not compress."""
    rows = b"".join(b"\0" + randomly.randbytes(3 * WIDTH) for _ in range(HEIGHT))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 0)),
        (b"IEND", b""),
    ]
    written = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def received(pack: Pack, before: Pack | None) -> int:
    """Return about how many bytes the client received for a pack: the new part of the body, and new pictures."""
    known = {file.sha256 for file in before.files} if before else set()
    new = sum(file.size_bytes for file in pack.files if file.sha256 not in known)
    return len(pack.messages_json.encode()) - (before.prefix_bytes if before else 0) + new


async def run(stack: dev.Stack, floor: Beside) -> None:
    """Measure packs of contexts with pictures, each by a client without any bytes."""
    randomly = random.Random(1)
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    calls = Calls(processes, floor)
    sizes: dict[str, int] = {}
    for _ in range(ROUNDS):
        async with AsyncContextClient(stack.context_address) as context:
            context_id = (await context.contexts.send("Look at these.", recall=False)).context_id
            for number in range(PICTURES):
                file = PartInput(file=FileInput(data=picture(randomly), name=f"{number}.png"))
                await calls.measured("append", context.contexts.append([MessageInput(parts=[file])], context_id))
            window = await context.windows.open(context_id, "claude-sonnet-4-5")
            pack = await calls.measured("first pack", context.windows.pack(window.window_id, without_recall=True))
            assert len(pack.files) == PICTURES, f"{len(pack.files)} pictures: {pack.messages_json[:600]}"
            again = await calls.measured(
                "second pack", context.windows.pack(window.window_id, since=pack, without_recall=True)
            )
            sizes |= {"first pack": received(pack, None), "second pack": received(again, pack)}
            file = PartInput(file=FileInput(data=picture(randomly), name="new.png"))
            await context.contexts.append([MessageInput(parts=[file])], context_id)
            more = await calls.measured(
                "pack with a new picture", context.windows.pack(window.window_id, since=again, without_recall=True)
            )
            sizes["pack with a new picture"] = received(more, again)
            await calls.measured("body of the request", _body_of(more))
    print(f"{PICTURES} pictures of {more.files[0].size_bytes:,} bytes in a window; {ROUNDS} rounds")
    print(calls)
    for name, size in sizes.items():
        print(f"{name}: {size:,} bytes received; the body has {len(more.body_json):,}")


async def _body_of(pack: Pack) -> str:
    return pack.body_json


async def bench(stack: dev.Stack) -> None:
    """Run the benchmark on a stack."""
    async with beside() as floor:
        await run(stack, floor)


def main() -> None:
    """Start the stack, and run the benchmark."""
    with running() as (stack, _):
        asyncio.run(bench(stack))


if __name__ == "__main__":
    main()
