"""Stores of conversations: our two services, and a peer in a process and a database of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg

from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, ChatMessage, EdgeInput, NodeInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.frameworks import environment

NEWEST = 20  # as in worker.py, which imports nothing of ours


class Store(Protocol):
    """A store of conversations."""

    async def call(self, do: str, conversation: str, calls: Sequence[Sequence[str]]) -> tuple[list[float], str]:
        """Make the calls one after the other; return the seconds of each and a digest of the last answer."""

    def size_bytes(self) -> int:
        """Return what its tables take on disk, with their indexes and their TOAST tables."""


class Ours:
    """The two services, called as an app calls them: it appends to the graph and reads the chat history."""

    def __init__(self, stack: dev.Stack) -> None:
        self._graph = AsyncEntityClient(stack.entity_address)
        self._context = AsyncContextClient(stack.context_address)
        self._url = stack.postgres.url(role="postgres")
        self._sessions: dict[str, str] = {}

    async def call(self, do: str, conversation: str, calls: Sequence[Sequence[str]]) -> tuple[list[float], str]:
        """Make the calls on a session of the graph, which is created for a new conversation; see `Store.call`."""
        if conversation not in self._sessions:
            self._sessions[conversation] = (await self._graph.graph.create_node("Session", name=conversation)).id
        call = {"turn": self._turn, "newest": self._newest, "everything": self._everything}[do]
        seconds: list[float] = []
        messages: Sequence[ChatMessage] | None = None
        for arguments in calls:
            started = time.perf_counter()
            messages = await call(self._sessions[conversation], *arguments)
            seconds.append(time.perf_counter() - started)
        return seconds, digest(message.content for message in messages or ())

    async def _turn(self, session: str, question: str, answer: str) -> None:
        await self._append(session, "user", question)
        await self._append(session, "assistant", answer)

    async def _append(self, session: str, role: str, text: str) -> None:
        node = NodeInput("Message", status="Completed", data={"role": role, "content": text})
        await self._graph.graph.write([node], [EdgeInput(session, node.id, "Contains")])

    async def _newest(self, session: str) -> Sequence[ChatMessage]:
        return (await self._context.history.get(session, max_messages=NEWEST)).messages

    async def _everything(self, session: str) -> Sequence[ChatMessage]:
        return (await self._context.history.stream(session)).messages

    def size_bytes(self) -> int:
        return tables_bytes(self._url)

    def requests_bytes(self) -> int:
        """Return the part of the size that request ids take, which are swept after a day."""
        return tables_bytes(self._url, like="request")

    async def close(self) -> None:
        """Close the connections."""
        await self._graph.close()
        await self._context.close()


class Peer:
    """A library in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self._url = url
        about = self._answer()
        self.versions: list[str] = about.get("versions", [])
        self.missing: str = about.get("missing", "")  # why it cannot be called, if it cannot

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a peer ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def call(self, do: str, conversation: str, calls: Sequence[Sequence[str]]) -> tuple[list[float], str]:
        assert self._process.stdin is not None
        print(
            json.dumps({"do": do, "conversation": conversation, "calls": calls}), file=self._process.stdin, flush=True
        )
        answer = self._answer()
        return answer["seconds"], answer["digest"]

    def size_bytes(self) -> int:
        return tables_bytes(self._url)


@contextmanager
def peer(name: str, postgres: EmbeddedPostgres) -> Iterator[Peer]:
    """Run a peer on a new database for the block."""
    database = name.replace("-", "_")
    with psycopg.connect(postgres.url(role="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}")
    url = postgres.url(role="postgres", database=database)
    with worker(name, url, measured=url) as one:
        yield one


@contextmanager
def worker(name: str, url: str, *, measured: str) -> Iterator[Peer]:
    """Run the peer called `name` in worker.py for the block.

    Args:
        name: Name of the peer in worker.py.
        url: The address that the peer is given: a database, or the Context Service.
        measured: URL of the database whose tables the peer fills.
    """
    command = [str(environment.PINNED.python), str(Path(__file__).with_name("worker.py")), name, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Peer(process, measured)
        finally:
            process.kill()


def tables_bytes(url: str, *, like: str = "%") -> int:
    """Return what a database's tables take, or those with such a name."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relname LIKE %s",
            (like,),
        )
        (size,) = rows.fetchone() or (0,)
        return int(size)


def digest(texts: Iterable[str]) -> str:
    """Return the digest that a worker returns for the texts that it has read."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
