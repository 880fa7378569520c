"""Many rows at once: WriteGraph and ImportGraph against COPY of the same rows, in rounds that alternate.

`python -m bench.bulk [ROWS]`: an import of ROWS rows (50,000), half of them nodes of 1 KB and half edges. COPY
has the rows ready in its own text format and writes them as a superuser: once into the service's own tables, with the
same indexes and foreign keys, and once into tables that have a primary key and nothing else. The targets compare with
the service's own tables. A ratio is the median over the rounds; it is a ratio of rates: COPY's time over ours.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
import psutil
import psycopg

from bench.stack import running
from bench.table import Processes
from bench.texts import messages
from context_service.commands import dev
from contextkeep import AsyncEntityClient, EdgeInput, NodeInput
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from service_runtime.values.ids import new_id

WRITE_ROUNDS = 15
WRITE_NODES = 1_000  # of a call, with as many edges
WRITE_MIN = 0.5  # of COPY's rate
IMPORT_ROWS = 50_000
IMPORT_MIN = 1 / 3
IMPORT_ROUNDS = 5  # of up to IMPORT_ROWS; a larger import has one
SESSION_NODES = 1_000
MEMORY_GROWTH_MIB_MAX = 64  # of the service, over what it takes before the import
TEXT_BYTES = 900
MIB = 1024 * 1024
NOW = datetime.now(UTC).isoformat()
DOCUMENTS = [
    {"role": "assistant" if number % 2 else "user", "content": text}
    for number, text in enumerate(messages(5_000, TEXT_BYTES))
]

NODE_COLUMNS = (
    "tenant_id, id, created_at, modified_at, seq, graph_name, general_type_name, specific_type_name, status,"
    " created_by, data"
)
EDGE_COLUMNS = (
    "tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, graph_name, edge_type, data"
)
BARE = """
CREATE SCHEMA bare;
CREATE TABLE bare.node (LIKE entity.node INCLUDING DEFAULTS, PRIMARY KEY (tenant_id, id));
CREATE TABLE bare.edge (LIKE entity.edge INCLUDING DEFAULTS, PRIMARY KEY (tenant_id, id));
"""
COLUMNS = f"{'ours':>9}{'COPY':>9}{'ratio':>7}{'target':>9}{'bare':>9}{'ratio':>7}"
HEADER = f"{'rows a second':36}{COLUMNS}"


@dataclass(frozen=True, slots=True)
class Message:
    """A node below a session, and its edge."""

    session: str
    id: str
    edge_id: str
    data: dict[str, str]


def conversation(count: int) -> list[Message]:
    """Return messages in sessions of `SESSION_NODES`, with new ids; the sessions' own nodes are not among them."""
    made = []
    for number in range(count):
        if number % SESSION_NODES == 0:
            session = str(new_id())
        made.append(Message(session, str(new_id()), str(new_id()), DOCUMENTS[number % len(DOCUMENTS)]))
    return made


class Copy:
    """COPY of rows that are ready in a file, in its own text format."""

    def __init__(self, connection: psycopg.Connection[object], folder: Path) -> None:
        self._connection = connection
        self._nodes, self._edges, self._session = (folder / f"{name}.copy" for name in ("nodes", "edges", "sessions"))
        self._seq = 10**12  # far above what the service counts
        connection.execute(BARE)

    def prepare(self, made: list[Message]) -> None:
        """Write the files, and the nodes of the sessions."""
        with self._session.open("w") as sessions:
            for session in dict.fromkeys(message.session for message in made):
                sessions.write(self._node(session, {}))
        for schema in ("entity", "bare"):
            self._copy(schema, "node", NODE_COLUMNS, self._session)
        with self._nodes.open("w") as nodes, self._edges.open("w") as edges:
            for message in made:
                nodes.write(self._node(message.id, message.data))
                ends = [str(DEFAULT_TENANT_ID), message.edge_id, message.session, message.id, NOW, NOW, str(self._seq)]
                edges.write("\t".join([*ends, "default", "Contains", "{}"]) + "\n")

    def seconds(self, schema: str) -> float:
        """Return how long it takes to write the nodes and the edges, in one transaction."""
        started = time.perf_counter()
        with self._connection.transaction():
            self._copy(schema, "node", NODE_COLUMNS, self._nodes)
            self._copy(schema, "edge", EDGE_COLUMNS, self._edges)
        return time.perf_counter() - started

    def _node(self, node_id: str, data: dict[str, str]) -> str:
        self._seq += 1
        text = orjson.dumps(data).decode().replace("\\", "\\\\")
        fields = [str(DEFAULT_TENANT_ID), node_id, NOW, NOW, str(self._seq), "default", "Message", "Message"]
        return "\t".join([*fields, "Completed", "bench", text]) + "\n"

    def _copy(self, schema: str, table: str, columns: str, path: Path) -> None:
        command = f"COPY {schema}.{table} ({columns}) FROM STDIN"
        with self._connection.cursor() as cursor, path.open("rb") as file, cursor.copy(command) as copy:
            while block := file.read(MIB):
                copy.write(block)


@dataclass(slots=True)
class Round:
    """The seconds of one round, and the CPU of each process, for our write and for COPY's."""

    ours: float
    copy: float
    bare: float
    cpu_s: dict[str, float]
    copy_cpu_s: dict[str, float]


class Bench:
    """The running service, COPY for comparison, and the figures."""

    def __init__(self, stack: dev.Stack, copy: Copy, graph: AsyncEntityClient, folder: Path) -> None:
        self._copy = copy
        self._graph = graph
        self._folder = folder
        self._entity = psutil.Process(stack.processes["entity-service"].pid)
        self._processes = Processes({"entity": stack.processes["entity-service"].pid, "postgres": stack.postgres.pid})
        self.met = True

    async def writes(self) -> None:
        """Write a thousand nodes with their edges in one call."""
        rounds = []
        for _ in range(WRITE_ROUNDS):
            made = conversation(WRITE_NODES)
            await self._graph.graph.write([NodeInput("Session", id=made[0].session)], [])
            nodes = [NodeInput("Message", id=item.id, status="Completed", data=item.data) for item in made]
            edges = [EdgeInput(item.session, item.id, "Contains", id=item.edge_id) for item in made]
            rounds.append(await self._round(self._graph.graph.write(nodes, edges), WRITE_NODES))
        self._say(f"WriteGraph of {WRITE_NODES:,} nodes and edges", rounds, 2 * WRITE_NODES, WRITE_MIN)

    async def imports(self, rows: int) -> None:
        """Import a graph from a file."""
        rounds, memory = [], [self._entity.memory_info().rss]
        for _ in range(IMPORT_ROUNDS if rows <= IMPORT_ROWS else 1):
            file = self._folder / "graph.ndjson"
            _write_lines(file, conversation(rows // 2))
            rounds.append(await self._round(self._watched(self._graph.graph.import_lines(file), memory), rows // 2))
        self._say(f"ImportGraph of {rows:,} rows", rounds, rows, IMPORT_MIN)
        half = len(memory) // 2
        peaks = [max(part) - memory[0] for part in (memory[:half], memory[half:])]
        good = max(peaks) <= MEMORY_GROWTH_MIB_MAX * MIB
        self.met = self.met and good
        print(
            f"memory of the Entity Service: {memory[0] / MIB:.0f} MiB before, at most {peaks[0] / MIB:.0f} more in the"
            f" first half of the import, {peaks[1] / MIB:.0f} in the second (limit {MEMORY_GROWTH_MIB_MAX})"
            + ("" if good else "  MISSED"),
            flush=True,
        )

    async def _round(self, ours: Awaitable[object], count: int) -> Round:
        """Time our write of nodes and edges, and COPY's write of as many."""
        before = self._processes.cpu_s()
        started = time.perf_counter()
        await ours
        ours_s = time.perf_counter() - started
        cpu_s = self._used(before)
        self._copy.prepare(conversation(count))
        before = self._processes.cpu_s()
        copy_s = self._copy.seconds("entity")
        copy_cpu_s = self._used(before)
        return Round(ours_s, copy_s, self._copy.seconds("bare"), cpu_s, copy_cpu_s)

    def _used(self, before: dict[str, float]) -> dict[str, float]:
        return {name: now - before[name] for name, now in self._processes.cpu_s().items()}

    def _say(self, name: str, rounds: list[Round], rows: int, target: float) -> None:
        """Print a row of the table, with the CPU of each process, and note whether the target is met."""
        ratio = statistics.median(item.copy / item.ours for item in rounds)
        bare_ratio = statistics.median(item.bare / item.ours for item in rounds)
        ours, copy, bare = (
            rows / statistics.median(getattr(item, what) for item in rounds) for what in ("ours", "copy", "bare")
        )
        self.met = self.met and ratio >= target
        cpu, copy_cpu = (
            "  ".join(f"{what} {sum(one[what] for one in used) * 1e6 / rows / len(used):.1f}" for what in whose)
            for used, whose in (
                ([item.cpu_s for item in rounds], ("entity", "postgres", "client")),
                ([item.copy_cpu_s for item in rounds], ("postgres", "client")),
            )
        )
        print(
            f"{name:36}{ours:9,.0f}{copy:9,.0f}{ratio:7.2f}{f'>= {target:.2g}':>9}{bare:9,.0f}{bare_ratio:7.2f}"
            + ("" if ratio >= target else "  MISSED")
            + f"\n    CPU ms for 1,000 rows: {cpu}; COPY: {copy_cpu}",
            flush=True,
        )

    async def _watched(self, importing: Awaitable[object], memory: list[int]) -> None:
        """Collect the resident memory of the service while an import runs."""

        async def watch() -> None:
            while True:
                memory.append(self._entity.memory_info().rss)
                await asyncio.sleep(0.05)

        watching = asyncio.create_task(watch())
        try:
            await importing
        finally:
            watching.cancel()


def _write_lines(path: Path, made: list[Message]) -> None:
    """Write a file as ExportGraph would: all nodes, then all edges."""
    with path.open("wb") as file:
        line = orjson.dumps({"graph": {"version": 1, "graph_name": "default"}})
        file.write(line + b"\n")
        for session in dict.fromkeys(message.session for message in made):
            line = orjson.dumps({"node": {"id": session, "general_type_name": "Session", "created_at": NOW}})
            file.write(line + b"\n")
        for entry in made:
            node = {"id": entry.id, "general_type_name": "Message", "status": "Completed", "created_at": NOW}
            file.write(orjson.dumps({"node": {**node, "data": entry.data}}) + b"\n")
        for item in made:
            edge = {"id": item.edge_id, "from_node_id": item.session, "to_node_id": item.id, "edge_type": "Contains"}
            file.write(orjson.dumps({"edge": {**edge, "created_at": NOW}}) + b"\n")


async def run(stack: dev.Stack, rows: int, folder: Path) -> int:
    """Print the table; return 1 if a row misses its target."""
    with psycopg.connect(stack.postgres.url(role="postgres"), autocommit=True) as connection:
        async with AsyncEntityClient(stack.entity_address) as graph:
            bench = Bench(stack, Copy(connection, folder), graph, folder)
            print(HEADER, flush=True)
            await bench.writes()
            await bench.imports(rows)
    return int(not bench.met)


def main() -> int:
    """Start everything, measure, stop everything."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else IMPORT_ROWS
    with running() as (stack, folder):
        return asyncio.run(run(stack, rows, folder))


if __name__ == "__main__":
    sys.exit(main())
