"""Moves the data of a framework from its own database into contexts, through the framework's adapter.

Each source reads with the framework's own classes or from its own tables, thread by thread, oldest first. A repeat is
harmless: rows that exist already are not written again, so an interrupted move can be repeated.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from contextkeep.adapters._threads import joined
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.sync.context import ContextClient
from contextkeep.errors import ContextKeepError
from contextkeep.inputs import MessageInput


@dataclass(frozen=True, slots=True)
class MoveResult:
    """The outcome of the move of one thread or session."""

    name: str
    count: int  # number of checkpoints or items in the framework's database
    written: int  # number of them that this move wrote, or that a dry run would write
    error: str = ""  # why the thread was not moved; empty if it was


class FrameworkStore(Protocol):
    """A framework's own database."""

    def names(self) -> list[str]:
        """Return the names of all threads or sessions."""

    def move(self, name: str, *, dry_run: bool) -> MoveResult:
        """Write the parts of a thread or session that are not stored here yet."""


class _ImportedContexts:
    """The contexts of a client, to which each message goes with `is_imported`: the other database names its author."""

    def __init__(self, contexts: Any) -> None:
        self._contexts = contexts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._contexts, name)

    def append(self, messages: Iterable[MessageInput], *places: Any, **fields: Any) -> Any:
        return self._contexts.append([replace(message, is_imported=True) for message in messages], *places, **fields)

    def send(self, message: MessageInput, *places: Any, **fields: Any) -> Any:
        return self._contexts.send(replace(message, is_imported=True), *places, **fields)


class _ImportingClient:
    """A client whose messages are imported ones; adapters take it in place of the client."""

    def __init__(self, client: AsyncContextClient | ContextClient) -> None:
        self._client = client
        self.contexts = _ImportedContexts(client.contexts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def _importing(client: Any) -> Any:
    return _ImportingClient(client)


@contextmanager
def langgraph(url: str, client: ContextClient, *, subject_user_id: str = "") -> Iterator[FrameworkStore]:
    """Open the checkpoints of LangGraph's `PostgresSaver`, or of its `SqliteSaver`, for the block.

    Args:
        url: URL of a Postgres database, or the path of a SQLite file.
        client: Client of the Context Service.
        subject_user_id: The user who will own the threads, with a key that has no user.
    """
    from contextkeep.adapters.langgraph import ContextSaver

    ours = ContextSaver(_importing(client), subject_user_id=subject_user_id)
    if url.startswith(("postgres:", "postgresql:")):
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(url) as theirs:
            yield _LangGraph(theirs, ours)
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(str(_existing(url))) as theirs:
            theirs.setup()
            yield _LangGraph(theirs, ours)


class _LangGraph:
    def __init__(self, theirs: Any, ours: Any) -> None:
        self._theirs = theirs
        self._ours = ours

    def names(self) -> list[str]:
        rows = self._theirs.conn.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id").fetchall()
        return [row["thread_id"] if isinstance(row, dict) else row[0] for row in rows]

    def move(self, name: str, *, dry_run: bool) -> MoveResult:
        """Move the checkpoints of a thread, the oldest first, that are not in its contexts yet.

        A checkpoint that is there is written again only if the source has more writes for it.
        """
        config: Any = {"configurable": {"thread_id": name}}
        here = {_place(entry): len(entry.pending_writes or ()) for entry in self._ours.list(config)}
        there = list(self._theirs.list(config))[::-1]
        versions: dict[tuple[str, str], Mapping[str, Any]] = {}
        written = 0
        for item in there:
            namespace, checkpoint_id = place = _place(item)
            parent = item.parent_config and item.parent_config["configurable"]["checkpoint_id"]
            known = versions.get((namespace, parent or ""), {})
            versions[place] = has = item.checkpoint["channel_versions"]
            writes = item.pending_writes or ()
            is_new = place not in here
            if not is_new and here[place] >= len(writes):
                continue
            written += 1
            if dry_run:
                continue
            if is_new:
                changed = {channel: version for channel, version in has.items() if known.get(channel) != version}
                above = _config_of(name, namespace, parent)
                self._ours.put(above, item.checkpoint, item.metadata, changed)
            tasks: dict[str, list[tuple[str, Any]]] = defaultdict(list)
            for task_id, channel, value in writes:
                tasks[task_id].append((channel, value))
            for order, (task_id, wrote) in enumerate(tasks.items()):
                # LangGraph returns the writes sorted by the paths of their tasks, but without the paths. So the order
                # takes the place of the paths.
                self._ours.put_writes(_config_of(name, namespace, checkpoint_id), wrote, task_id, f"{order:06}")
        return MoveResult(name, len(there), written)


def _place(item: Any) -> tuple[str, str]:
    result = item.config["configurable"]
    return result.get("checkpoint_ns", ""), result["checkpoint_id"]


def _config_of(thread_id: str, namespace: str, checkpoint_id: str | None) -> Any:
    values = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": {name: value for name, value in values.items() if value is not None}}


@contextmanager
def openai_agents(
    url: str, client: AsyncContextClient, run: Callable[[Any], Any], *, subject_user_id: str = ""
) -> Iterator[FrameworkStore]:
    """Open the sessions of OpenAI Agents' `SQLAlchemySession`, or of its `SQLiteSession`, for the block.

    Args:
        url: URL of a database, as for SQLAlchemy; without a scheme, the path of a SQLite file.
        client: Client of the Context Service.
        run: Runs a coroutine in the event loop of the client, and returns its result.
        subject_user_id: The user who will own the sessions, with a key that has no user.
    """
    if "://" in url:
        import sqlalchemy

        sync = url.replace("+asyncpg", "+psycopg").replace("+aiosqlite", "")
        engine = sqlalchemy.create_engine(sync.replace("postgresql://", "postgresql+psycopg://"))
        with engine.connect() as connection:

            def rows(sql: str, **values: Any) -> list[Any]:
                return list(connection.execute(sqlalchemy.text(sql), values))

            yield _OpenAiAgents(rows, client, run, subject_user_id)
        engine.dispose()
    else:
        database = sqlite3.connect(f"file:{_existing(url)}?mode=ro", uri=True)
        try:
            yield _OpenAiAgents(lambda sql, **values: list(database.execute(sql, values)), client, run, subject_user_id)
        finally:
            database.close()


class _OpenAiAgents:
    def __init__(
        self, rows: Callable[..., list[Any]], client: AsyncContextClient, run: Callable[[Any], Any], subject: str
    ) -> None:
        self._rows = rows
        self._client = _importing(client)
        self._run = run
        self._subject = subject

    def names(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT session_id FROM agent_sessions ORDER BY session_id")]

    def move(self, name: str, *, dry_run: bool) -> MoveResult:
        """Move the items of a session that are not in its context yet; a session with other items is left alone."""
        from contextkeep.adapters.openai_agents import ContextSession

        result = self._rows("SELECT message_data FROM agent_messages WHERE session_id = :name ORDER BY id", name=name)
        items = [json.loads(row[0]) for row in result]
        session = ContextSession(name, self._client, subject_user_id=self._subject)
        here = self._run(session.get_items())
        if here != items[: len(here)]:
            return MoveResult(name, len(items), 0, "the session is here with other items")
        left = items[len(here) :]
        if left and not dry_run:
            self._run(session.add_items(left))
        return MoveResult(name, len(items), len(left))


@contextmanager
def google_adk(url: str, client: AsyncContextClient, run: Callable[[Any], Any]) -> Iterator[FrameworkStore]:
    """Open the sessions of Google ADK's `DatabaseSessionService` for the block.

    Args:
        url: URL of the database, as that service takes it, with an async driver.
        client: Client of the Context Service.
        run: See `openai_agents`.
    """
    from google.adk.sessions import DatabaseSessionService

    if ":///" in url:
        _existing(url.partition(":///")[2])
    theirs = DatabaseSessionService(url)
    try:
        yield _GoogleAdk(theirs, client, run)
    finally:
        run(theirs.db_engine.dispose())


class _GoogleAdk:
    def __init__(self, theirs: Any, client: AsyncContextClient, run: Callable[[Any], Any]) -> None:
        from contextkeep.adapters.adk import ContextSessionService

        self._theirs = theirs
        self._ours = ContextSessionService(_importing(client))
        self._run = run
        self._places: dict[str, dict[str, str]] = {}

    def names(self) -> list[str]:
        self._places = {joined(*place.values()): place for place in self._run(self._session_names())}
        return list(self._places)

    async def _session_names(self) -> list[dict[str, str]]:
        """Return the names of all sessions in the database of ADK."""
        import sqlalchemy

        sql = sqlalchemy.text("SELECT app_name, user_id, id FROM sessions ORDER BY app_name, user_id, id")
        async with self._theirs.db_engine.connect() as connection:
            rows = await connection.execute(sql)
            return [{"app_name": row[0], "user_id": row[1], "session_id": row[2]} for row in rows]

    def move(self, name: str, *, dry_run: bool) -> MoveResult:
        return self._run(self._move(name, self._places[name], dry_run=dry_run))  # type: ignore[no-any-return]

    async def _move(self, name: str, place: dict[str, str], *, dry_run: bool) -> MoveResult:
        """Move the events of a session that are not in its context yet."""
        there = await self._theirs.get_session(**place)
        here = await self._ours.get_session(**place)
        known = [event.id for event in here.events] if here is not None else []
        if known != [event.id for event in there.events[: len(known)]]:
            return MoveResult(name, len(there.events), 0, "the session is here with other events")
        left = there.events[len(known) :]
        if not dry_run:
            if here is None:  # what events change, they change again: to what it is
                here = await self._ours.create_session(**place, state=there.state)
            for event in left:
                await self._ours.append_event(here, event)
        return MoveResult(name, len(there.events), len(left))


def _existing(path: str) -> Path:
    """Return the path of a file.

    Raises:
        FileNotFoundError: the file does not exist; SQLite would create it.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(2, "there is no such file", path)
    return file


def move(
    source: FrameworkStore, *, dry_run: bool = False, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[MoveResult]:
    """Move all that a source has; yield the outcome of each. One that fails leaves the others as they are.

    Args:
        source: The data to move.
        dry_run: Write nothing.
        on_progress: Called with how many are done, and how many there are.
    """
    names = source.names()
    for done, name in enumerate(names):
        if on_progress is not None:
            on_progress(done, len(names))
        try:
            yield source.move(name, dry_run=dry_run)
        except (ContextKeepError, ValueError, TypeError) as error:
            yield MoveResult(name, 0, 0, str(error))
    if on_progress is not None:
        on_progress(len(names), len(names))
