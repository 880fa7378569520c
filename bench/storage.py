"""Bytes on disk for each byte of text that a conversation holds.

`python -m bench.storage`. Messages are appended as an app appends them, one call each, and nothing is vacuumed by
hand. Counted are the tables of nodes and edges with their indexes; the answers to request ids, which are swept after a
day, are printed for comparison.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import psycopg

from bench.stack import running
from contextkeep import AsyncEntityClient, EdgeInput, NodeInput

MESSAGES = 8_000
AT_ONCE = 16
TARGETS = {400: 3.2, 1000: 2.2}  # bytes of text a message: bytes on disk for a byte of it
KEPT = ("node", "edge", "edge_reach")
SWEPT = ("request",)


async def write(graph: AsyncEntityClient, text_bytes: int) -> None:
    """Append the messages of one session."""
    session = NodeInput("Session")
    await graph.graph.write([session], [])
    # Words, not one letter again and again: text that compresses like text.
    words = Path(__file__).read_text(encoding="utf-8") * 2

    async def append_each(first: int) -> None:
        for number in range(first, MESSAGES, AT_ONCE):
            text = words[number % 997 :][:text_bytes]
            node = NodeInput("EntityUserMessage", status="Completed", data={"content": text})
            await graph.graph.write([node], [EdgeInput(session.id, node.id, "Contains")])

    await asyncio.gather(*map(append_each, range(AT_ONCE)))


def size_bytes(url: str, tables: tuple[str, ...]) -> int:
    """Return the bytes of tables on disk, with their indexes and their TOAST tables."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'entity' AND c.relname = ANY (%s)",
            (list(tables),),
        )
        (size,) = rows.fetchone() or (0,)
        return int(size)


def main() -> int:
    """Print a line a size; 1 if one is over its target."""
    over = 0
    for text_bytes, target in TARGETS.items():
        with running() as (stack, _):

            async def run(address: str, text_bytes: int) -> None:
                async with AsyncEntityClient(address) as graph:
                    await write(graph, text_bytes)

            url = stack.postgres.url(role="postgres")
            before = size_bytes(url, KEPT), size_bytes(url, SWEPT)
            asyncio.run(run(stack.entity_address, text_bytes))
            kept, swept = (size_bytes(url, KEPT) - before[0], size_bytes(url, SWEPT) - before[1])
        text = MESSAGES * text_bytes
        print(
            f"{MESSAGES:,} messages of {text_bytes:,} bytes: {kept / text:.2f} bytes on disk for a byte of text"
            f" (target {target}), and {swept / text:.2f} for a day of request ids",
            flush=True,
        )
        over += kept / text > target
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
