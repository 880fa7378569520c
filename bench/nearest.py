"""The cost of comparing a question with all vectors of a scope: `python -m bench.nearest [DIMENSION]`.

No part of `make bench`. Vectors are random; the statement is the service's own, under row-level security. Times are
CPU, of Postgres and of the caller, and p50 on the clock.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

import psycopg

from bench.passages import PRINCIPAL, cpu_of, passages_of
from context_service.kernel.llm.local import DIMENSION, MODEL
from context_service.retrieval.model import PassageScope
from context_service.retrieval.store.nearest import Nearest
from service_runtime.databases import embedded_postgres
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import DEFAULT_TENANT_ID

SIZES = (600, 10_000, 50_000)
QUESTIONS = 20
FOUND = 500  # passages that words found, whose distance is asked for, too

_FILL = """
INSERT INTO context.passage_vector (
    tenant_id, scope_id, scope_kind, context_id, ancestors, seq, ordinal, previous_seq, previous_ordinal,
    previous_cosine, owner_user_id, graph_name, agent_bundle_id, app_id, model, vector
)
SELECT %(tenant)s, %(scope)s, 'context', %(scope)s, ARRAY[%(scope)s], n, 0, nullif(n - 1, 0), 0, 0.1, '', '', '', '',
    %(model)s, public.l2_normalize((
        SELECT array_agg(random() - 0.5) FROM generate_series(1, %(dimension)s) WHERE n > 0
    )::float4[]::public.vector::public.halfvec)
FROM generate_series(1, %(count)s) n
"""


async def measure(server: EmbeddedPostgres, dimension: int) -> None:
    """Fill scopes of several sizes, ask each, and print the cost."""
    chosen = random.Random(1)
    scopes = {PassageScope.of_context(uuid.uuid4()): size for size in SIZES}
    async with passages_of(server) as (database, _):
        with psycopg.connect(server.admin_url, autocommit=True) as owner:
            owner.execute("SET app.context = '*'")
            owner.execute("SET app.subject = '*'")
            for scope, size in scopes.items():
                named = {"tenant": DEFAULT_TENANT_ID, "scope": scope.id, "model": MODEL}
                owner.execute(_FILL.encode(), {**named, "dimension": dimension, "count": size})
            owner.execute("VACUUM ANALYZE context.passage_vector")
        nearest, cpu = Nearest(database, model=MODEL, unrelated=0.0), await cpu_of(database)
        for scope, size in scopes.items():
            times_s = []
            found = [(seq, 0) for seq in chosen.sample(range(1, size + 1), min(FOUND, size))]
            for number in range(-2, QUESTIONS):
                if number == 0:
                    before, times_s = cpu.now_s(), []
                vector = [chosen.gauss(0, 1) for _ in range(dimension)]
                began = time.perf_counter()
                await nearest.to(
                    vector,
                    principal=PRINCIPAL,
                    scope=scope,
                    whole=size <= 600,
                    places=found,
                    seq_from=0,
                    seq_to=2**62,
                )
                times_s.append(time.perf_counter() - began)
            postgres_ms, own_ms = ((a - b) * 1000 / QUESTIONS for a, b in zip(cpu.now_s(), before, strict=True))
            p50_ms = statistics.median(times_s) * 1000
            print(f"{size:6,} vectors: {postgres_ms:5.1f} + {own_ms:4.1f} ms of CPU  p50 {p50_ms:5.1f} ms", flush=True)


def main() -> None:
    """Measure vectors of the local model's size, or of a given size."""
    dimension = int(sys.argv[1]) if len(sys.argv) > 1 else DIMENSION
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_postgres.running(Path(folder), durable=False, keep=False) as server,
    ):
        asyncio.run(measure(server, dimension))


if __name__ == "__main__":
    main()
