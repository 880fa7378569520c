"""History, the newest messages, appends and inserts, against their floors in the same run.

`python -m bench.calls`. Both services, the echoes and Postgres are processes of their own, started as an operator
would; data is written by the service and not vacuumed by hand.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Awaitable, Callable

import grpc
import orjson
import psycopg

from bench.echo import METHOD
from bench.stack import echoes, running, services_of
from bench.table import HEADER, Processes, Row, compare
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput

HISTORY_NODES = 10_000
LONG_NODES = 40_000
SHORT_NODES = 100
APPENDS = 200
RULES = {
    "edge_types": ["Contains"],
    "depth_max": 1,
    "filter": "entity.data.content != '' && entity.status == 'Completed'",
    "messages": [
        {
            "role": "entity.type == 'EntityUserMessage' ? 'user' : 'assistant'",
            "content": "has(entity.data.parts) ? entity.data.parts.map(p, p.text).join('\\n') : entity.data.content",
        }
    ],
    "order_by": "entity.created_at",
}


class Bench:
    """The running stack, the floors, and the clients that measure both."""

    def __init__(self, stack: dev.Stack, floor: psycopg.AsyncConnection[object], echoes: dict[int, grpc.aio.Channel]):
        self.graph = AsyncEntityClient(stack.entity_address)
        self.context = AsyncContextClient(stack.context_address)
        self.floor = floor
        self.echoes = echoes
        self.rows: list[Row] = []
        entity, context = services_of(stack)
        pids = {"entity": entity.pid, "context": context.pid, "postgres": stack.postgres.pid}
        self._processes = Processes(pids)

    async def session(self, count: int, text_bytes: int) -> str:
        """Write a session of `count` messages, and the same rows into the floor table."""
        session = NodeInput("Session")
        await self.graph.graph.write([session], [])
        rows = []
        for start in range(0, count, 500):
            nodes = [message(number, text_bytes) for number in range(start, min(count, start + 500))]
            written = await self.graph.graph.write(
                nodes, [EdgeInput(session.id, node.id, "Contains") for node in nodes]
            )
            created = [row.created_at for row in written.nodes]
            rows += [
                (session.id, node.id, at, orjson.dumps(node.data).decode())
                for node, at in zip(nodes, created, strict=True)
            ]
        async with self.floor.cursor() as cursor:
            await cursor.executemany("INSERT INTO floor.message VALUES (%s, %s, %s, %s)", rows)
        return session.id

    async def compare(
        self,
        name: str,
        ours: Callable[[], Awaitable[object]],
        floor: Callable[[], Awaitable[object]],
        *,
        target: float,
        repeat: int = 1,
    ) -> None:
        """Add a row to the table."""
        self.rows.append(await compare(name, ours, floor, target=target, processes=self._processes, repeat=repeat))

    async def history(self) -> None:
        """Compare a long chat history with a SELECT of the same messages."""
        session = await self.session(HISTORY_NODES, 900)
        await self.context.mappings.register("bench", RULES)

        async def ours() -> None:
            messages = await self.context.history.stream(session, mapping_name="bench")
            assert len(messages) == HISTORY_NODES

        async def floor() -> None:
            cursor = await self.floor.execute(
                "SELECT id, created_at, data::text FROM floor.message WHERE session = %s ORDER BY created_at, id",
                (session,),
                binary=True,
            )
            assert len(await cursor.fetchall()) == HISTORY_NODES

        await self.compare(f"history of {HISTORY_NODES:,} nodes of 1 KB", ours, floor, target=2.5)

    async def newest(self) -> None:
        """Compare the newest 20 messages of a long session with a floor and a short one, and again after appends."""
        sessions = {count: await self.session(count, 300) for count in (SHORT_NODES, LONG_NODES)}

        async def read(count: int) -> None:
            answer = await self.context.history.get(sessions[count], max_messages=20)
            assert len(answer) == 20

        async def floor() -> None:
            await self.echo(2, b"x" * 100)
            await self.floor.execute(
                "SELECT id, created_at, data::text FROM floor.message WHERE session = %s"
                " ORDER BY created_at DESC LIMIT 20",
                (sessions[LONG_NODES],),
                binary=True,
            )

        name = f"last 20 of {LONG_NODES:,}"
        await self.compare(name, lambda: read(LONG_NODES), floor, target=1.8, repeat=50)
        short = lambda: read(SHORT_NODES)  # noqa: E731
        await self.compare(f"the same over {SHORT_NODES} nodes", lambda: read(LONG_NODES), short, target=1.2, repeat=50)
        for number in range(1000):
            await self.append(sessions[LONG_NODES], number)
        await self.compare(f"{name}, after 1,000 appends", lambda: read(LONG_NODES), floor, target=1.8, repeat=50)

    async def append(self, session: str, number: int) -> None:
        node = message(number, 900)
        await self.graph.graph.write([node], [EdgeInput(session, node.id, "Contains")])

    async def appends(self) -> None:
        """Compare an append, and the insert of a record, with an INSERT after one echo."""
        session = await self.session(1, 900)
        body = orjson.dumps(message(0, 900).data).decode()

        async def floor() -> None:
            await self.echo(1, body.encode())
            await self.floor.execute("INSERT INTO floor.pair VALUES (%s, %s)", (uuid.uuid4(), body))

        await self.compare(
            "append of a node and its edge", lambda: self.append(session, 1), floor, target=2, repeat=APPENDS
        )

        async def insert() -> None:
            await self.context.records.insert(memory_type="data/json", name="bench", content=message(0, 900).data)

        await self.compare("insert of a record", insert, floor, target=2, repeat=APPENDS)

    async def echo(self, hops: int, data: bytes) -> None:
        """Call an echo that passes the call through a number of servers."""
        await self.echoes[hops].unary_unary(METHOD)(data)


def message(number: int, text_bytes: int) -> NodeInput:
    """Return a message as an app writes it; every second one has parts."""
    text = f"message {number} ".ljust(text_bytes, "x")
    data: dict[str, object] = {"content": text}
    if number % 2:
        half = text_bytes // 2
        data = {"content": "see parts", "parts": [{"text": text[:half]}, {"text": text[half:]}]}
    kind = "EntityAssistantMessage" if number % 2 else "EntityUserMessage"
    return NodeInput(kind, status="Completed", data={**data, "user_input": f"turn {number}"})


async def run(stack: dev.Stack, echo_ports: dict[int, int]) -> int:
    """Measure everything and print the table; return 1 if a row misses its target."""
    url = stack.postgres.url(role="postgres")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as floor:
        await floor.execute("CREATE SCHEMA floor")
        await floor.execute("CREATE TABLE floor.message (session uuid, id uuid, created_at timestamptz, data jsonb)")
        await floor.execute("CREATE INDEX ON floor.message (session, created_at, id)")
        await floor.execute("CREATE TABLE floor.pair (id uuid PRIMARY KEY, body text)")
        settings = await floor.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')")
        print("fsync, synchronous_commit:", *await settings.fetchone())
        print(HEADER)
        channels = {hops: grpc.aio.insecure_channel(f"127.0.0.1:{port}") for hops, port in echo_ports.items()}
        bench = Bench(stack, floor, channels)
        await bench.appends()
        await bench.newest()
        await bench.history()
        for closing in (bench.graph, bench.context, *channels.values()):
            await closing.close()
        return int(any(row.ratio > row.target for row in bench.rows))


def main() -> int:
    """Start everything, measure, stop everything."""
    with running() as (stack, _), echoes() as echo_ports:
        return asyncio.run(run(stack, echo_ports))


if __name__ == "__main__":
    sys.exit(main())
