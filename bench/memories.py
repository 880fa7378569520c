"""The cost of memories: 10,000 of one user are retained, and recalled by questions.

`python -m bench.memories [COUNT]`. Questions come one after the other, as an agent asks them, and an echo is
called between them. The target is that 95 of 100 are answered within 15 ms, where the echo takes .33.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.quality.talk import talk
from bench.stack import beside
from context_service.commands import dev
from contextkeep import AsyncContextClient

P95_MS_MAX = 15.0
QUESTIONS = 400
AT_ONCE = 8  # that are retained


def cpu_s() -> float:
    """Return the seconds of CPU that the services and Postgres took so far."""
    children = psutil.Process().children(recursive=True)
    return sum(sum(child.cpu_times()[:2]) for child in children if child.is_running())


async def measured(services: dev.Stack, count: int) -> bool:
    """Print the cost of retaining and recalling, and say whether recalling is within the target."""
    made = talk(turns=count)
    texts = [f"{turn.author}: {turn.text}" for turn in made.turns][:count]  # a memory says whose it is
    async with AsyncContextClient(services.context_address, timeout_s=60) as context, beside() as floor:
        left = iter(texts)

        async def retain() -> None:
            for text in left:
                await context.memories.retain(text, subject_user_id="ada")

        began = time.perf_counter()
        await asyncio.gather(*(retain() for _ in range(AT_ONCE)))
        took_s = time.perf_counter() - began
        print(f"{len(texts):,} memories retained, {AT_ONCE} at once: {took_s / len(texts) * 1000:.1f} ms each")
        await asyncio.sleep(5)
        took, answered = [], 0
        cpu_before = cpu_s()
        for number in range(QUESTIONS + 50):
            question = made.asked[number % len(made.asked)].text
            began = time.perf_counter()
            found = await context.memories.recall(question, subject_user_id="ada")
            if number >= 50:
                took.append(time.perf_counter() - began)
            await floor.echo()
            answered += bool(found)
    cpu = (cpu_s() - cpu_before) / (QUESTIONS + 50) * 1000
    p50, p95 = statistics.median(took) * 1000, statistics.quantiles(took, n=20)[-1] * 1000
    print(f"{answered} of {QUESTIONS + 50} questions found something")
    print(f"CPU of a recall, with Postgres: {cpu:.1f} ms")
    print(f"recalled: half within {p50:.1f} ms, 95 % within {floor.said(p95, P95_MS_MAX)}")
    return floor.scaled(p95) <= P95_MS_MAX


def main() -> None:
    """Run the benchmark; exit with 1 if it misses the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, dev.stack(Path(name), keep=False) as services:
        is_met = asyncio.run(measured(services, asked.count))
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
