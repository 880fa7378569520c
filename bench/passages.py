"""The index of words: what a passage costs to write, to find and to keep, and how many bits a term's number has.

`python -m bench.passages search [PASSAGES [BITS]]` writes and asks, `… generations [BITS]` fills and empties. No
part of `make bench`: a million passages take some minutes to write.
Words have the frequencies of a language, and each message says who speaks, as in a conversation of two. Statements are
the service's own, under row-level security. Times are CPU, of Postgres and of the caller, and p50 on the clock.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from context_service.app import migrations
from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure import terms
from context_service.retrieval.store.passages import Passages
from service_runtime.databases import embedded_postgres
from service_runtime.databases.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from service_runtime.databases.migrate import migrate
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, Principal

PRINCIPAL = Principal(tenant_id=DEFAULT_TENANT_ID, subject="bench")
SIZES = (50_000, 10_000)  # of one scope each; the others have
SMALL = 600
BATCH = 20  # passages of a transaction
SESSION = 30
QUESTIONS = 40  # of each scope
WORDS = 20_000

GENERATIONS, GENERATION = 6, 100_000  # passages that are written and removed again, in scopes of SMALL


class Talk:
    """Messages of 13 terms, about 140 bytes, the same each time."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        self._words = [f"w{number:05d}" for number in range(WORDS)]
        self._weights = list(itertools.accumulate(1 / (number + 8) for number in range(WORDS)))

    def words(self, count: int) -> list[str]:
        """Return words, the common ones more often."""
        return self._random.choices(self._words, cum_weights=self._weights, k=count)

    def messages(self, seqs: Iterable[int]) -> list[Passage]:
        """Return messages with these numbers."""
        return [self._message(seq) for seq in seqs]

    def _message(self, seq: int) -> Passage:
        """Return the message of a number: its speaker and its words."""
        author = ("anna", "bernd")[seq % 2]
        said = [author, *self.words(6 + seq * 7919 % 13)]
        return Passage(
            seq=seq,
            ordinal=0,
            session=seq // SESSION,
            text=" and ".join(said),
            terms=said,
            kind="text",
            role="user",
            author=author,
            said_at=datetime(2026, 1, 1, tzinfo=UTC),
        )


@asynccontextmanager
async def passages_of(server: EmbeddedPostgres) -> AsyncIterator[tuple[Database, Passages]]:
    """Open the store as the service does, on one connection, so that Postgres's CPU is that of one process."""
    migrate(server.admin_url, migrations(), service_role=SERVICE_ROLE)
    async with Database.open(server.service_url, connections_max=1, name="bench") as database:
        yield database, Passages(database)


async def put(database: Database, passages: Passages, scope: PassageScope, written: Sequence[Passage]) -> None:
    """Write a batch of passages to a scope, as the service does."""
    audience = Audience(ancestors=(scope.id,))

    async def work(transaction: Transaction) -> None:
        await passages.put(transaction, scope, audience, written)

    await database.of(PRINCIPAL, context_id=scope.id).transaction(work)


async def fill(database: Database, passages: Passages, scopes: dict[PassageScope, int], talk: Talk) -> None:
    """Write a number of passages to each scope, all of them at once, a batch here and one there."""
    turns = [scope for scope, count in scopes.items() for _ in range(count // BATCH)]
    random.Random(3).shuffle(turns)
    written = dict.fromkeys(scopes, 0)
    for scope in turns:
        begin = written[scope] + 1
        written[scope] += BATCH
        await put(database, passages, scope, talk.messages(range(begin, begin + BATCH)))


class Cpu:
    """The CPU of this process, and of the backend of its one connection."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def now_s(self) -> tuple[float, float]:
        """Return the CPU of this process and of the backend, in seconds."""
        running_ns = Path(f"/proc/{self._pid}/schedstat").read_text("utf-8").split()[0]
        return int(running_ns) / 1e9, time.process_time()


async def cpu_of(database: Database) -> Cpu:
    """Return the CPU counters of this process and of the connection's backend."""
    (row,) = await database.untenanted("SELECT pg_backend_pid() AS pid")
    return Cpu(row.pid)


async def asked(
    passages: Passages, cpu: Cpu, scope: PassageScope, questions: Sequence[Sequence[str]], name: str
) -> None:
    """Search for each question, and print the cost."""
    await passages.matching(PRINCIPAL, scope, questions[0])  # the sample of the scope
    times_s, rows = [], []
    before = cpu.now_s()
    for question in questions:
        began = time.perf_counter()
        rows.append(len((await passages.matching(PRINCIPAL, scope, question)).rows))
        times_s.append(time.perf_counter() - began)
    postgres_ms, own_ms = ((a - b) * 1000 / len(questions) for a, b in zip(cpu.now_s(), before, strict=True))
    p50_ms, mean_rows = statistics.median(times_s) * 1000, statistics.mean(rows)
    print(
        f"{name:44} {mean_rows:6.0f} rows  {postgres_ms:5.1f} + {own_ms:4.1f} ms of CPU  p50 {p50_ms:5.1f} ms",
        flush=True,
    )


def sizes(url: str) -> dict[str, int]:
    """Return the bytes of the table and of its indexes."""
    with psycopg.connect(url) as connection:
        return dict(
            connection.execute(
                "SELECT relname, pg_table_size(oid) FROM pg_class WHERE relnamespace = 'context'::regnamespace"
                " AND relname IN ('passage', 'passage_pkey', 'passage_place', 'passage_terms')"
            ).fetchall()
        )


async def search(server: EmbeddedPostgres, count: int) -> None:
    """Measure writing and finding among a number of passages."""
    talk = Talk()
    scopes = {PassageScope.of_context(uuid.uuid4()): size for size in SIZES}
    while sum(scopes.values()) < count:
        scopes[PassageScope.of_context(uuid.uuid4())] = SMALL
    async with passages_of(server) as (database, passages):
        cpu = await cpu_of(database)
        before = cpu.now_s()
        await fill(database, passages, scopes, talk)
        each = [(a - b) * 1000 / sum(scopes.values()) for a, b in zip(cpu.now_s(), before, strict=True)]
        print(f"a passage written, {BATCH} in a transaction: {each[0]:.3f} + {each[1]:.3f} ms of CPU", flush=True)
        with psycopg.connect(server.admin_url, autocommit=True) as owner:
            owner.execute("VACUUM ANALYZE context.passage")
            (text_bytes,) = owner.execute("SELECT sum(octet_length(text)) FROM context.passage").fetchone() or (0,)
        print(
            {
                name: f"{size / float(text_bytes):.2f} bytes a byte of text"
                for name, size in sizes(server.admin_url).items()
            }
        )
        for scope, size in itertools.islice(scopes.items(), len(SIZES) + 1):
            questions = [[*dict.fromkeys(("anna", *talk.words(8)))] for _ in range(QUESTIONS)]
            await asked(passages, cpu, scope, questions, f"{size:,} passages, a name and 8 words")
            common = [[f"w{number:05d}" for number in range(start, start + 6)] for start in range(QUESTIONS)]
            await asked(passages, cpu, scope, common, f"{size:,} passages, 6 of the commonest words")


async def generations(server: EmbeddedPostgres) -> None:
    """Write and remove passages, generation by generation, and print the size of the index after each."""
    talk, megabytes = Talk(), []
    async with passages_of(server) as (database, passages):
        with psycopg.connect(server.admin_url, autocommit=True) as owner:
            for _ in range(GENERATIONS):
                scopes = {PassageScope.of_context(uuid.uuid4()): SMALL for _ in range(GENERATION // SMALL)}
                await fill(database, passages, scopes, talk)
                full = sizes(server.admin_url)["passage_terms"]
                for scope in scopes:
                    await passages.drop_scope(DEFAULT_TENANT_ID, scope)
                owner.execute("VACUUM context.passage")
                megabytes.append((full / 1e6, sizes(server.admin_url)["passage_terms"] / 1e6))
    shown = ", ".join(f"{full:.0f} ({empty:.0f})" for full, empty in megabytes)
    print(f"index of {GENERATION:,} passages in MB, generation by generation, (emptied): {shown}", flush=True)


def main() -> None:
    """Run the commands, with numbers of the given bits."""
    job, *more = sys.argv[1:]
    numbers = [int(item) for item in more]
    count = numbers.pop(0) if job == "search" and numbers else 1_000_000
    bits = numbers.pop(0) if numbers else terms.MASK_BITS
    terms._SHIFT = 32 - bits
    print(f"numbers of {bits} bits", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_postgres.running(Path(folder), durable=False, keep=False) as server,
    ):
        asyncio.run(search(server, count) if job == "search" else generations(server))


if __name__ == "__main__":
    main()
