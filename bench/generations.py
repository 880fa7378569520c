"""Ten generations of contexts that come and go: what the index of words takes for a live passage, and what helps.

`python -m bench.generations`. No part of `make bench`: a generation of 100,000 passages takes some seconds, and there
are ten for each row. It measures the index alone, in a table of its own. The index holds numbers of terms, as many as
`terms.mask` gives and as often as words of a language are; its size depends on nothing else.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from context_service.retrieval.pure.terms import MASK_BITS
from service_runtime.databases import embedded_postgres
from tests.ports import free_port

GENERATIONS = 10
SCOPE = 600  # passages of a context
SCOPES = 166  # live at a time
TERMS = 13  # of a passage
WORDS = 20_000
STEP = 100  # passages of each scope that a statement writes

# As ours; a hash of scope and word, and of its bits as many as are kept.
_FILL = f"""
INSERT INTO passage (scope, terms)
SELECT s.scope, (
    SELECT array_agg(hashtext(s.scope || ':' || floor(exp(random() * ln({WORDS})))::text) & %(mask)s)
    FROM generate_series(1, {TERMS} + 0 * p)
)
FROM generate_series(%(first)s::int, %(last)s::int) s (scope), generate_series(1, {STEP}) p
"""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A way to maintain the index."""

    name: str
    storage: str = "gin_pending_list_limit = 512"
    bits: int = 20
    parts: int = 1  # steps in which a generation is replaced by the next one, with a VACUUM between them
    reindex_every: int = 0  # generations; 0: never


WAYS = (
    Kept(name=f"{MASK_BITS} bits, as it is", bits=MASK_BITS),
    Kept(name="20 bits"),
    Kept(name="18 bits", bits=18),
    Kept(name="20 bits, a tenth goes at a time and is vacuumed", parts=10),
    Kept(name="20 bits, `gin_pending_list_limit = 64`", storage="gin_pending_list_limit = 64"),
    Kept(name="20 bits, `gin_pending_list_limit = 4096`", storage="gin_pending_list_limit = 4096"),
    Kept(name="20 bits, `fastupdate = off`", storage="fastupdate = off"),
    Kept(name="20 bits, `retrieval reindex` after every fifth", reindex_every=5),
)


def bytes_of(connection: psycopg.Connection[Any], kept: Kept) -> list[float]:
    """Return the bytes that the index has for a live passage, generation by generation."""
    connection.execute("DROP TABLE IF EXISTS passage")
    connection.execute("CREATE TABLE passage (scope bigint, terms integer[]) WITH (autovacuum_enabled = off)")
    connection.execute(f"CREATE INDEX passage_terms ON passage USING gin (terms) WITH ({kept.storage})".encode())
    connection.execute("CREATE INDEX passage_scope ON passage (scope)")
    found = []
    borders = [SCOPES * part // kept.parts for part in range(kept.parts + 1)]
    for generation in range(GENERATIONS):
        first = generation * SCOPES
        for low, high in pairwise(borders):
            connection.execute("DELETE FROM passage WHERE scope < %s", (first - SCOPES + high,))
            connection.execute("VACUUM passage")
            for _ in range(0, SCOPE, STEP):
                numbers = {"mask": (1 << kept.bits) - 1, "first": first + low, "last": first + high - 1}
                connection.execute(_FILL.encode(), numbers)
        if kept.reindex_every and generation % kept.reindex_every == kept.reindex_every - 1:
            connection.execute("REINDEX INDEX CONCURRENTLY passage_terms")
        connection.execute("SELECT gin_clean_pending_list('passage_terms')")
        (row,) = connection.execute(
            "SELECT pg_relation_size('passage_terms')::float / (SELECT count(*) FROM passage)"
        ).fetchall()
        found.append(row[0])
    return found


def main() -> None:
    """Print the size of the index after each generation, for each way to maintain it."""
    print("| kept | " + " | ".join(str(number + 1) for number in range(GENERATIONS)) + " | last of first |")
    print("| --- |" + " ---: |" * (GENERATIONS + 1), flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_postgres.running(Path(folder), durable=False, keep=False, port=free_port()) as server,
        psycopg.connect(server.url(role="postgres", database="postgres"), autocommit=True) as connection,
    ):
        for kept in WAYS:
            found = bytes_of(connection, kept)
            cells = " | ".join(f"{item:.0f}" for item in found)
            print(f"| {kept.name} | {cells} | {found[-1] / found[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
