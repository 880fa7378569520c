"""The newest 20, the first page and one in the middle of a session of 40,000 nodes, in four shapes.

`python -m bench.shapes [OTHERS]`: with OTHERS, that many more sessions of 1,000 messages are imported into the same
graph before, and one of them is measured as well; 1,000 make a million nodes.

The newest 20 are a chat history: two echoes and the same messages off one index are its floor. A page is 1,000 nodes of
a walk: its floor is one echo and a keyset page of the same messages; that of a page in the middle is the first page.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import orjson
import psycopg

from bench.echo import METHOD
from bench.stack import echoes, running, services_of
from bench.table import HEADER, Processes, Row, compare
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from service_runtime.values.ids import new_id

NODES = 40_000  # of a session, about
LATE = 200
OTHER_NODES = 1_000  # of each other session
TEXT_BYTES = 300
PAGE = 1000
Rows = list[tuple[NodeInput, EdgeInput]]


def flat(session: str) -> Rows:
    """Return messages below a session."""
    return [below(session, "Contains", number) for number in range(NODES)]


def answers(session: str) -> Rows:
    """Return questions below a session, and an answer below each."""
    rows: Rows = []
    for number in range(0, NODES, 2):
        question = below(session, "Contains", number)
        rows += [question, below(question[0].id, "InResponseTo", number + 1)]
    return rows


def turns(session: str) -> Rows:
    """Return turns below a session, and two messages below each."""
    rows: Rows = []
    for number in range(0, NODES, 3):
        turn = NodeInput("Turn")
        rows.append((turn, EdgeInput(session, turn.id, "Contains")))
        rows += [below(turn.id, "Contains", number), below(turn.id, "Contains", number + 1)]
    return rows


def late_answers(session: str) -> Rows:
    """Return turns and messages as `turns` does, and one more message below each of the oldest turns."""
    rows = turns(session)
    oldest = [node.id for node, _ in rows if node.general_type_name == "Turn"][:LATE]
    return rows + [below(turn, "Contains", number) for number, turn in enumerate(oldest)]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A way to model a conversation, and how it is read."""

    rows: Callable[[str], Rows]
    mapping_name: str
    edge_types: Sequence[str]
    depth_max: int


_DEEP: dict[str, Any] = {"mapping_name": "chat_turns", "edge_types": ("Contains", "InResponseTo"), "depth_max": 3}
SHAPES = {
    "flat": Shape(rows=flat, mapping_name="simple_chat", edge_types=("Contains",), depth_max=1),
    "answers by InResponseTo": Shape(rows=answers, **_DEEP),
    "session, turn, message": Shape(rows=turns, **_DEEP),
    f"the same, {LATE} late answers": Shape(rows=late_answers, **_DEEP),
}


def below(parent: str, edge_type: str, number: int) -> tuple[NodeInput, EdgeInput]:
    """Return a message and the edge that leads to it."""
    role = "assistant" if number % 2 else "user"
    data = {"role": role, "content": text(number)}
    node = NodeInput("Message", status="Completed", data=data)
    return node, EdgeInput(parent, node.id, edge_type)


def text(number: int) -> str:
    """Return what a message says."""
    return f"message {number} ".ljust(TEXT_BYTES, "x")


def lines(sessions: Sequence[str]) -> Iterator[bytes]:
    """Yield flat sessions of `OTHER_NODES` messages as an import reads them, a session at a time."""
    yield _line("graph", {"version": 1, "graph_name": "default"})
    for session in sessions:
        rows = [below(session, "Contains", number) for number in range(OTHER_NODES)]
        yield _line("node", {"id": session, "general_type_name": "Session"})
        for node, _ in rows:
            yield _line("node", {"id": node.id, "general_type_name": node.general_type_name, "data": node.data})
        for node, edge in rows:
            ends = {"from_node_id": session, "to_node_id": node.id}
            yield _line("edge", {"id": edge.id, **ends, "edge_type": edge.edge_type})


def _line(kind: str, row: dict[str, Any]) -> bytes:
    return orjson.dumps({kind: row}) + b"\n"


class Bench:
    """The running stack, the floors, and the client that measures both."""

    def __init__(self, stack: dev.Stack, floor: psycopg.AsyncConnection[object], echoes: dict[int, grpc.aio.Channel]):
        self.graph = AsyncEntityClient(stack.entity_address)
        self.context = AsyncContextClient(stack.context_address)
        self.floor = floor
        self.echoes = echoes
        self.rows: list[Row] = []
        entity, context = services_of(stack)
        self._processes = Processes({"entity": entity.pid, "context": context.pid, "postgres": stack.postgres.pid})

    async def others(self, count: int) -> None:
        """Import other sessions, and the same messages into the floor table; read one in the middle of them."""
        sessions = [str(new_id()) for _ in range(count)]
        started = time.perf_counter()
        await self.graph.graph.import_lines(lines(sessions))
        print(f"one of {count:,} of {OTHER_NODES:,} messages, imported in {time.perf_counter() - started:.0f} s")
        await self.floor.execute(
            "INSERT INTO floor.message SELECT e.from_node_id, n.id, n.created_at, n.data"
            " FROM entity.edge e JOIN entity.node n ON n.id = e.to_node_id"
        )
        texts = [text(number) for number in range(OTHER_NODES)][-20:]
        await self._compare_newest(sessions[count // 2], "simple_chat", texts, repeat=20)

    async def measure(self, name: str, shape: Shape) -> None:
        """Write a session of a shape, and the same messages into the floor table; read both."""
        session = NodeInput("Session")
        await self.graph.graph.write([session], [])
        rows = shape.rows(session.id)
        for start in range(0, len(rows), 600):
            await self._write(session.id, rows[start : start + 600])
        texts = [node.data["content"] for node, _ in rows if node.data][-20:]
        print(name)
        await self._compare_newest(session.id, shape.mapping_name, texts, repeat=20)

        asked: dict[str, Any] = {
            "edge_types": shape.edge_types,
            "depth_max": shape.depth_max,
            "node_types": ["Message"],
            "timeout_s": 60,
        }
        walked = [reached async for reached in self.graph.graph.traverse(session.id, **asked)]
        half = walked[len(walked) // 2].node
        middle = pb.TraversePosition(created_at=half.created_at, seq=half.seq)

        async def page(after: pb.TraversePosition | None) -> None:
            pages = self.graph.graph.traverse_pages(session.id, limit=PAGE, after=after, **asked)
            assert sum([len(message.nodes) async for message in pages]) == PAGE

        async def page_floor() -> None:
            await self._echo(1)
            await self._read(session.id, f"ORDER BY created_at, id LIMIT {PAGE}")

        await self._compare("  first page of 1,000", lambda: page(None), page_floor, target=2.5)
        await self._compare("  one in the middle, over it", lambda: page(middle), lambda: page(None), target=1.2)

    async def _compare_newest(self, session: str, mapping_name: str, texts: Sequence[str], *, repeat: int) -> None:
        async def newest() -> None:
            answer = await self.context.history.get(session, mapping_name=mapping_name, max_messages=20, timeout_s=60)
            assert [message.content for message in answer.messages] == texts

        async def newest_floor() -> None:
            await self._echo(2)
            await self._read(session, "ORDER BY created_at DESC LIMIT 20")

        await self._compare("  newest 20", newest, newest_floor, target=1.8, repeat=repeat)

    async def _compare(self, name: str, ours: Any, floor: Any, *, target: float, repeat: int = 1) -> None:
        self.rows.append(await compare(name, ours, floor, target=target, processes=self._processes, repeat=repeat))

    async def _write(self, session: str, rows: Rows) -> None:
        written = await self.graph.graph.write([node for node, _ in rows], [edge for _, edge in rows])
        messages = [
            (session, node.id, row.created_at, orjson.dumps(node.data).decode())
            for (node, _), row in zip(rows, written.nodes, strict=True)
            if node.general_type_name == "Message"
        ]
        async with self.floor.cursor() as cursor:
            await cursor.executemany("INSERT INTO floor.message VALUES (%s, %s, %s, %s)", messages)

    async def _echo(self, hops: int) -> None:
        await self.echoes[hops].unary_unary(METHOD)(b"x" * 100)

    async def _read(self, session: str, rest: str) -> None:
        sql = f"SELECT id, created_at, data::text FROM floor.message WHERE session = %s {rest}"
        await (await self.floor.execute(sql.encode(), (uuid.UUID(session),), binary=True)).fetchall()


async def run(stack: dev.Stack, echo_ports: dict[int, int], others: int = 0) -> int:
    """Measure everything and print the table; return 1 if a row misses its target."""
    url = stack.postgres.url(role="postgres")
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as floor:
        await floor.execute("CREATE SCHEMA floor")
        await floor.execute("CREATE TABLE floor.message (session uuid, id uuid, created_at timestamptz, data jsonb)")
        await floor.execute("CREATE INDEX ON floor.message (session, created_at, id)")
        print(HEADER)
        channels = {hops: grpc.aio.insecure_channel(f"127.0.0.1:{port}") for hops, port in echo_ports.items()}
        bench = Bench(stack, floor, channels)
        if others:
            await bench.others(others)
        for name, shape in SHAPES.items():
            await bench.measure(name, shape)
        for closing in (bench.graph, bench.context, *channels.values()):
            await closing.close()
        return int(any(row.ratio > row.target for row in bench.rows))


def main() -> int:
    """Start everything, measure, stop everything."""
    others = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    with running() as (stack, _), echoes() as echo_ports:
        return asyncio.run(run(stack, echo_ports, others))


if __name__ == "__main__":
    sys.exit(main())
