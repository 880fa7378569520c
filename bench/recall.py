"""How much of the exact answer the operator's index of vectors finds (docs/operations.md).

`python -m bench.recall [RECORDS]`. No part of `make bench`: the index takes minutes to build. Vectors lie in
groups of groups, as those of a model do; the statements are the service's own, under row-level security.
"""

from __future__ import annotations

import itertools
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from context_service.app import migrations
from context_service.kernel.embedding import EMBEDDING_DIMENSION
from context_service.working_memory.rules import search
from service_runtime.databases import embedded_postgres
from service_runtime.databases.embedded_postgres import SERVICE_ROLE
from service_runtime.databases.migrate import migrate
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from service_runtime.values.ids import new_id

QUESTIONS = 100
CANDIDATES = (40, 100, 200, 400)  # hnsw.ef_search
# Numbers of clumps, of groups in each and of groups in those; their distances, and the distances of vectors from them.
CLUMPS, GROUPS = 100, 10
SPREADS, NOISE = (0.6, 0.4), 0.4
SLICES: dict[str, list[str]] = {"all": [], "half of them": ["half"], "a tenth": ["tenth"]}  # by memory types

DOCUMENT = Path(__file__).parents[1] / "docs" / "operations.md"
INDEX = re.compile(r"^CREATE INDEX CONCURRENTLY embedding_hnsw.*?;", re.MULTILINE | re.DOTALL)


class Vectors:
    """Vectors in groups, the same each time."""

    def __init__(self) -> None:
        self._random = random.Random(5)
        self._noise = [self._random.gauss(0, 1) for _ in range(200 * EMBEDDING_DIMENSION)]
        self._groups = self._around([[0.0] * EMBEDDING_DIMENSION], CLUMPS, 1.0)
        for spread in SPREADS:
            self._groups = self._around(self._groups, GROUPS, spread)

    def one(self) -> HalfVector:
        """Return a vector somewhere in a group."""
        return HalfVector(self._moved(self._random.choice(self._groups), NOISE))

    def _around(self, groups: Sequence[list[float]], count: int, spread: float) -> list[list[float]]:
        return [self._moved(group, spread) for group in groups for _ in range(count)]

    def _moved(self, vector: list[float], distance: float) -> list[float]:
        start = self._random.randrange(len(self._noise) - EMBEDDING_DIMENSION)
        noise = itertools.islice(self._noise, start, start + EMBEDDING_DIMENSION)
        return [value + distance * more for value, more in zip(vector, noise, strict=True)]


def fill(connection: psycopg.Connection[Any], vectors: Vectors, count: int) -> None:
    """Write the vectors; no search of vectors without a condition reads their records."""
    with connection.cursor().copy(
        "COPY context.embedding (tenant_id, owner_kind, owner_id, dimension, vector, memory_type)"
        " FROM STDIN (FORMAT binary)"
    ) as copy:
        copy.set_types(["uuid", "text", "uuid", "int4", "halfvec", "text"])
        for number in range(count):
            kind = "half" if number % 2 else "tenth" if number % 10 == 0 else "file"
            copy.write_row((DEFAULT_TENANT_ID, "record", new_id(), EMBEDDING_DIMENSION, vectors.one(), kind))


class Searcher:
    """Asks as the services do, with their role."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def ask(self, vector: HalfVector, memory_types: Sequence[str], limit: int, candidates: int) -> list[UUID]:
        """Return the nearest records; `candidates` is how many the index returns, and 0 compares with all vectors."""
        with self._connection.transaction():
            self._connection.execute("SELECT set_config('app.tenant', %s, true)", (str(DEFAULT_TENANT_ID),))
            statement = "by_vector"
            if candidates:
                settings = (str(candidates), str(search.INDEX_VISITED_MAX))
                self._connection.execute(search.SET_INDEXED, settings)
                statement = "by_index"
            parameters = {
                "tenant_id": DEFAULT_TENANT_ID,
                "memory_types": list(memory_types),
                "entity_node_ids": [],
                **dict.fromkeys(("graph_name", "agent_bundle_id", "app_id", "model"), ""),
                "include_archived": False,
                "vector": vector,
                "vectors_max": 10**9,
                "limit": limit,
            }
            filled = search.SQL.filled(statement, records="", slice=search.slice_sql("TRUE"))
            return [row[0] for row in self._connection.execute(filled.encode(), parameters, binary=True)]


def main() -> None:
    """Fill, build, ask, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder, embedded_postgres.running(Path(folder), keep=False) as server:
        migrate(server.admin_url, migrations(), service_role=SERVICE_ROLE)
        vectors = Vectors()
        with (
            psycopg.connect(server.admin_url, autocommit=True) as owner,
            psycopg.connect(server.service_url) as service,
        ):
            register_vector(service)
            with psycopg.connect(server.url(role="postgres")) as superuser:
                register_vector(superuser)
                fill(superuser, vectors, count)
            owner.execute("SET maintenance_work_mem = '2GB'")
            owner.execute("SET max_parallel_maintenance_workers = 0")
            began = time.perf_counter()
            (statement,) = INDEX.findall(DOCUMENT.read_text("utf-8"))
            owner.execute(statement.encode())
            owner.execute("VACUUM ANALYZE context.embedding")
            print(f"{count:,} vectors, built in {time.perf_counter() - began:.0f} s", flush=True)
            searcher = Searcher(service)
            asked = [vectors.one() for _ in range(QUESTIONS)]
            for name, memory_types in SLICES.items():
                exact = [searcher.ask(vector, memory_types, 100, 0) for vector in asked]
                for candidates in CANDIDATES:
                    line = [f"{name:12} {candidates:4} candidates"]
                    for limit in (10, 100):
                        recalls, times_s = [], []
                        for vector, nearest in zip(asked, exact, strict=True):
                            began = time.perf_counter()
                            found = searcher.ask(vector, memory_types, limit, candidates)
                            times_s.append(time.perf_counter() - began)
                            recalls.append(len({*found} & {*nearest[:limit]}) / limit)
                        mean, least, p50_s = statistics.mean(recalls), min(recalls), statistics.median(times_s)
                        line.append(f"of {limit}: {mean:.3f} (least {least:.2f}), p50 {p50_s * 1000:.1f} ms")
                    print("  ".join(line), flush=True)


if __name__ == "__main__":
    main()
