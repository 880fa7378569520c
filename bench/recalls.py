"""The duration of a recall, over gRPC, in contexts of 600, 10,000 and 50,000 passages.

`python -m bench.recalls [QUESTIONS] [--among PASSAGES]`. Each context is a generated talk; questions are its own,
one after the other, and some of its commonest words. Times are compared with those of a bare echo, in turns: a
machine whose echo takes .33 ms at the median is what targets are for.

With `--among` the tenant has that many passages more, in contexts of 600, and no two rows of a context lie side by
side: as if all of them had gone on at the same time. A million takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import cycle, islice

import psutil
import psycopg

from bench.passages import SMALL, Talk, put
from bench.quality.over_services import message_of
from bench.quality.talk import talk
from bench.stack import beside, running
from bench.turns import at
from context_service.commands import dev
from context_service.retrieval.model import PassageScope
from context_service.retrieval.store.passages import Passages
from contextkeep import AsyncContextClient
from service_runtime.postgres import Database
from service_runtime.values.ids import new_id

SIZES = {600: 12.0, 10_000: 12.0, 50_000: 30.0}  # passages, and the median in ms that is the target
BATCH = 500
COMMON = ("How was the day, and how was work again?", "Did you see the market at the weekend?")


async def filled(context: AsyncContextClient, passages: int) -> tuple[str, Sequence[str]]:
    """Return a context with a number of passages, and questions about it."""
    conversation = talk(turns=passages)
    context_id = ""
    for start in range(0, passages, BATCH):
        said = list(map(message_of, conversation.turns[start : start + BATCH]))
        context_id = (await context.contexts.append(said, context_id or None))[0].context_id
    return context_id, [asked.text for asked in conversation.asked]


async def crowd(stack: dev.Stack, passages: int) -> None:
    """Write a number of passages to other contexts, and lay the rows of each context apart."""
    talk_of_others = Talk()
    with psycopg.connect(stack.postgres.url(role="postgres"), autocommit=True) as connection:
        # Made again afterwards: row by row they take most of the time.
        made = "SELECT indexdef, indexname FROM pg_indexes WHERE indexname IN ('passage_terms', 'passage_place')"
        indexes = connection.execute(made).fetchall()
        for _, name in indexes:
            connection.execute(f"DROP INDEX context.{name}".encode())
        async with Database.open(stack.postgres.service_url, connections_max=1, name="bench") as database:
            index = Passages(database)
            for start in range(0, passages, SMALL):
                scope = PassageScope.of_context(new_id())
                await put(database, index, scope, talk_of_others.messages(range(start + 1, start + SMALL + 1)))
        connection.execute("CREATE INDEX apart ON context.passage (hashint8(seq))")
        connection.execute("CLUSTER context.passage USING apart")
        connection.execute("DROP INDEX context.apart")
        for definition, _ in indexes:
            connection.execute(definition.encode())
        connection.execute("VACUUM ANALYZE")


async def timed(
    calls: Sequence[Callable[[], Awaitable[object]]], between: Callable[[], Awaitable[object]]
) -> list[float]:
    """Return the times of calls, in seconds; after each, another call is made."""
    taken = []
    for call in calls:
        began = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - began)
        await between()
    return taken


async def run(stack: dev.Stack, questions: int, among: int) -> bool:
    """Measure recalls in contexts of each size, print them, and say whether all targets are met."""
    services = {"context": stack.processes["context-service"].pid, "postgres": stack.postgres.pid}
    met = True
    async with AsyncContextClient(stack.context_address) as context:
        contexts = {passages: await filled(context, passages) for passages in SIZES}
        if among:
            await crowd(stack, among)
        print(
            f"{'passages':>9} {'profile':14}{'asked':12}{'p50':>7}{'p95':>7} ms"
            f"{'scaled p50':>12}{'target':>8}{'CPU, Postgres':>15}"
        )
        for passages, target in SIZES.items():
            context_id, asked = contexts[passages]
            for profile in ("default", "conversation"):
                for name, texts in (("its facts", asked), ("common words", COMMON)):
                    calls = [
                        partial(context.contexts.recall, context_id, text, profile=profile)
                        for text in islice(cycle(texts), questions)
                    ]
                    async with beside() as floor:
                        await timed(calls[:10], floor.echo)
                        before = cpu_s(services)
                        taken = await timed(calls, floor.echo)
                    cpu_ms = {item: (s - before[item]) / questions * 1000 for item, s in cpu_s(services).items()}
                    median, last = (at(taken, part) * 1000 for part in (0.5, 0.95))
                    scaled = floor.scaled(median)
                    met = met and scaled <= target
                    print(
                        f"{passages:9,} {profile:14}{name:12}{median:7.1f}{last:7.1f}   {scaled:12.1f}{target:8g}"
                        f"{cpu_ms['context']:8.1f} +{cpu_ms['postgres']:5.1f}",
                        flush=True,
                    )
    return met


def cpu_s(services: dict[str, int]) -> dict[str, float]:
    """Return the CPU time of processes with all below them."""
    return {
        name: sum(sum(item.cpu_times()[:2]) for item in (process, *process.children(recursive=True)))
        for name, process in ((name, psutil.Process(pid)) for name, pid in services.items())
    }


def main() -> int:
    """Start everything, measure; 1 if a target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("questions", type=int, nargs="?", default=100)
    parser.add_argument("--among", type=int, default=0)
    said = parser.parse_args()
    with running() as (stack, _):
        return int(not asyncio.run(run(stack, said.questions, said.among)))


if __name__ == "__main__":
    sys.exit(main())
