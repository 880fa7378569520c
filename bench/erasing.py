"""A subject is erased while others write and read: rows a second, and what the others notice of it.

`python -m bench.erasing [THOUSANDS]`. No part of `make bench`. Of a thousand, the subject has 800 messages, 100
records with a blob each, and 100 nodes. Callers and phases are those of `deleting`.
"""

from __future__ import annotations

import asyncio
import sys
import time

from bench.deleting import AT_ONCE, CALLERS, QUIET_S, READ, caller, shown
from bench.load import load
from bench.passages import Talk
from bench.stack import running
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, NodeInput
from service_runtime.auth.keys import KeyAdministration, NewKey

SUBJECT = "ada"
MESSAGES, BLOBS, NODES = 800, 100, 100  # of a thousand
_UPLOADS_AT_ONCE = 8


async def filled(
    context: AsyncContextClient, own: AsyncContextClient, graph: AsyncEntityClient, thousands: int
) -> None:
    """Write the rows that the subject has before the erasure.

    Args:
        context: Appends messages, and names the subject in each call.
        own: Uploads blobs with a key of the subject, which needs no name.
        graph: Writes nodes with a key of the subject.
        thousands: Number of thousands of rows, of the kinds that the module names.
    """
    talk, context_id = Talk(), None
    for _ in range(0, MESSAGES * thousands, AT_ONCE):
        said = [" ".join(talk.words(13)) for _ in range(AT_ONCE)]
        written = await context.contexts.append(said, context_id, subject_user_id=SUBJECT)
        context_id = written[0].context_id
    for start in range(0, BLOBS * thousands, _UPLOADS_AT_ONCE):
        numbers = range(start, min(start + _UPLOADS_AT_ONCE, BLOBS * thousands))
        await asyncio.gather(*(own.blobs.upload(f"blob {number}".encode(), name="blob") for number in numbers))
    for _ in range(thousands):
        await graph.graph.write([NodeInput("Turn", data={"said": " ".join(talk.words(13))}) for _ in range(NODES)])


async def measure(stack: dev.Stack, thousands: int) -> None:
    """Write the subject's rows, erase them while callers work, and print what they notice."""
    keys = KeyAdministration(stack.postgres.admin_url)
    admins = keys.create(NewKey(tenant="default", subject="admin", scopes=("read", "write", "admin", "delegate")))
    owners = keys.create(NewKey(tenant="default", subject=SUBJECT, user_id=SUBJECT, scopes=("read", "write")))
    async with AsyncContextClient(stack.context_address, api_key=admins, timeout_s=300) as context:
        async with (
            AsyncContextClient(stack.context_address, api_key=owners) as own,
            AsyncEntityClient(stack.entity_address, api_key=owners) as graph,
        ):
            begun = time.perf_counter()
            await filled(context, own, graph, thousands)
            print(f"written in {time.perf_counter() - begun:.0f} s", flush=True)
        callers = [await caller(context) for _ in range(CALLERS)]
        await load(callers, 2)  # warm
        before = await load(callers, QUIET_S)
        begun, meanwhile = time.perf_counter(), []
        erasure = await context.erasures.erase(SUBJECT)
        while erasure.state != "finished":
            meanwhile.append(await load(callers, 0.5))
            erasure = await context.erasures.get(erasure.erasure_id)
        took_s = time.perf_counter() - begun
        after = await load(callers, QUIET_S)
    rows = sum(erasure.removed.values())
    print(erasure.removed)
    print(
        f"{rows:,} rows and {BLOBS * thousands:,} blobs removed in {took_s:.1f} s: {rows / took_s:,.0f} rows a second"
    )
    print(f"| {CALLERS} callers, ms: p50; p99 of | sending | reading the last {READ} | calls a second |")
    print("| --- | --- | --- | --- |")
    for name, loads in (("before", [before]), ("while it is erased", meanwhile), ("after it", [after])):
        print(shown(name, loads))


def main() -> None:
    """Run the benchmark with the number of thousands from the command line."""
    thousands = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with running() as (stack, _):
        asyncio.run(measure(stack, thousands))


if __name__ == "__main__":
    main()
