"""An agent that makes a screenshot in each step: 1,000 of them in a window of 100,000 tokens, packed after each.

`python -m bench.screenshots [STEPS]`. Each screenshot has bytes of its own, which the service stores. A pack must be
within the limits of the window and of the vendor. `cached` is the share of all tokens that the packs have in the prefix
of the pack before, which a vendor's cache holds; after a fold nothing counts as cached.
"""

from __future__ import annotations

import asyncio
import random
import struct
import sys
import time
import zlib

from bench.stack import running
from bench.table import Processes
from context_service.commands import dev
from context_service.kernel.files.models import media_model
from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from contextkeep import (
    AsyncContextClient,
    FileInput,
    MessageInput,
    Pack,
    PartInput,
    ToolCallInput,
    ToolResultInput,
)

STEPS = 1_000
TOKENS = 100_000
MODEL = "claude-sonnet-4-5"
WIDTH, HEIGHT, SIZE_BYTES = 1_280, 720, 100_000


def screenshot(randomly: random.Random) -> bytes:
    """Return a PNG of the size of a screen, with bytes that no other has."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)),
        (b"IDAT", randomly.randbytes(SIZE_BYTES)),
        (b"IEND", b""),
    ]
    written = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


class Tally:
    """What the packs had at most, and the share of their tokens that a vendor's cache holds."""

    def __init__(self) -> None:
        self.tokens_max = self.pictures_max = self.base64_max = self.folds = 0
        self._tokens = self._cached = 0
        self._before: Pack | None = None
        self._count = TokenCounter("claude").count

    def add(self, pack: Pack) -> None:
        """Count a pack."""
        base64_bytes = sum(-(-file.size_bytes // 3) * 4 for file in pack.files)
        self.tokens_max = max(self.tokens_max, pack.tokens)
        self.pictures_max = max(self.pictures_max, len(pack.files))
        self.base64_max = max(self.base64_max, base64_bytes)
        self._tokens += pack.tokens
        if self._before is not None:
            prefix = self._before.messages_json.encode()[: self._before.prefix_bytes]
            if pack.messages_json.encode().startswith(prefix):
                rest = self._before.messages_json.encode()[self._before.prefix_bytes :].decode()
                self._cached += self._before.tokens - self._count(rest)
            self.folds += pack.epoch > self._before.epoch
        self._before = pack

    @property
    def cached(self) -> float:
        """The share of all tokens that was in the prefix of the pack before."""
        return self._cached / self._tokens


async def bench(stack: dev.Stack, steps: int) -> None:
    """Run the agent, and print what its packs had."""
    randomly, tally = random.Random(1), Tally()
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    limits = media_model(MODEL, Format.ANTHROPIC).limits
    spent_s = {"append": 0.0, "pack": 0.0}
    before = processes.cpu_s()
    async with AsyncContextClient(stack.context_address) as context:
        context_id = (await context.contexts.send("Book the train.", recall=False)).context_id
        window = await context.windows.open(context_id, MODEL, context_tokens=TOKENS)
        pack: Pack | None = None
        for step in range(steps):
            call = ToolCallInput(id=f"c{step}", name="look", arguments={"x": step})
            shown = FileInput(data=screenshot(randomly), name=f"{step}.png")
            answered = ToolResultInput(tool_call_id=f"c{step}", content=f"clicked {step}", files=[shown])
            began = time.perf_counter()
            await context.contexts.append(
                [
                    MessageInput(role="assistant", parts=[PartInput(tool_call=call)]),
                    MessageInput(role="tool", parts=[PartInput(tool_result=answered)]),
                ],
                context_id,
            )
            appended = time.perf_counter()
            pack = await context.windows.pack(window.window_id, since=pack, without_recall=True)
            spent_s["append"] += appended - began
            spent_s["pack"] += time.perf_counter() - appended
            tally.add(pack)
    cpu = {name: value - before[name] for name, value in processes.cpu_s().items()}
    print(f"{steps} screenshots of {WIDTH} x {HEIGHT} and {SIZE_BYTES:,} bytes; {MODEL}; {TOKENS:,} tokens")
    print(f"at most: {tally.tokens_max:,} tokens, {tally.pictures_max} pictures, {tally.base64_max:,} bytes of base64")
    print(f"folds: {tally.folds}; cached: {tally.cached:.3f}")
    print({name: f"{value / steps * 1000:.0f} ms a step" for name, value in (spent_s | cpu).items()})
    assert tally.tokens_max <= TOKENS
    assert tally.pictures_max <= limits.images
    assert tally.base64_max <= limits.request_bytes


def main() -> None:
    """Start the stack, and run the benchmark."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    with running() as (stack, _):
        asyncio.run(bench(stack, steps))


if __name__ == "__main__":
    main()
