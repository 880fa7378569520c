"""Moving in, from databases that the frameworks themselves wrote."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from agents.extensions.memory import SQLAlchemySession
from agents.memory import SQLiteSession
from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy.ext.asyncio import create_async_engine

from contextkeep import AsyncContextClient, ContextClient, ExternalId
from contextkeep.adapters.adk import ContextSessionService
from contextkeep.adapters.langgraph import ContextSaver
from contextkeep.adapters.openai_agents import ContextSession
from tests.adapters.test_google_adk import EVENTS, seen
from tests.adapters.test_langgraph import compiled, shown, thread, worked
from tests.adapters.test_openai_agents import ITEMS

POSTGRES = os.environ["CONTEXTKEEP_TEST_POSTGRES"]


@pytest.fixture
def database(name: str) -> str:
    """The URL of an empty database."""
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return POSTGRES.rpartition("/")[0] + f"/{name}"


def moved(*arguments: str, code: int = 0) -> Any:
    """Run the command, and return its report."""
    command = [sys.executable, "-c", "from contextkeep.cli import main; main()", "import", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_threads_of_langgraph_move_with_their_past_and_go_on(name: str, kind: str, tmp_path: Path, request: Any):
    url = request.getfixturevalue("database") if kind == "postgres" else str(tmp_path / "checkpoints.db")
    opened: Any = PostgresSaver if kind == "postgres" else SqliteSaver
    with opened.from_conn_string(url) as theirs, ContextClient() as client:
        theirs.setup()
        for each in ("a", "b"):
            worked(compiled(theirs), f"{name}-{each}")
        compiled(theirs).invoke({"messages": []}, thread(f"{name}-c"))  # it waits for an answer
        count = len(list(theirs.list(thread(f"{name}-a"))))

        (first, *_) = moved("--from", f"langgraph-{kind}", url, "--dry-run")
        assert (first["name"], first["count"], first["written"]) == (f"{name}-a", count, count)
        assert ContextSaver(client).get_tuple(thread(f"{name}-a")) is None

        report = moved("--from", f"langgraph-{kind}", url)
        assert [one["written"] for one in report] == [one["count"] for one in report]
        assert [one["written"] for one in moved("--from", f"langgraph-{kind}", url)] == [0, 0, 0]
        for each in ("a", "b", "c"):
            ours = compiled(ContextSaver(client))
            mine, yours = ours.get_state(thread(f"{name}-{each}")), compiled(theirs).get_state(thread(f"{name}-{each}"))
            assert shown(mine) == shown(yours)
            assert [shown(one) for one in ours.get_state_history(thread(f"{name}-{each}"))] == [
                shown(one) for one in compiled(theirs).get_state_history(thread(f"{name}-{each}"))
            ]


async def test_sessions_of_openai_agents_move_and_a_second_move_brings_the_rest(
    client: AsyncContextClient, name: str, database: str, tmp_path: Path
):
    file = tmp_path / "sessions.db"
    url = database.replace("postgresql:", "postgresql+asyncpg:")
    engine = create_async_engine(url)
    try:
        for kind, where, theirs in [
            ("openai-sqlite", str(file), SQLiteSession(f"{name}-1", file)),
            ("openai-sqlalchemy", url, SQLAlchemySession(f"{name}-2", engine=engine, create_tables=True)),
        ]:
            ours = ContextSession(theirs.session_id, client)
            await theirs.add_items(ITEMS[:4])
            (dry,) = await asyncio.to_thread(moved, "--from", kind, where, "--dry-run")
            assert (dry["count"], dry["written"], await ours.get_items()) == (4, 4, [])
            await asyncio.to_thread(moved, "--from", kind, where)
            await theirs.add_items(ITEMS[4:])
            (report,) = await asyncio.to_thread(moved, "--from", kind, where)
            assert (report["count"], report["written"]) == (len(ITEMS), len(ITEMS) - 4)
            assert await ours.get_items() == await theirs.get_items()
            found = client.contexts.get_by_external_id(ExternalId("openai-agents", theirs.session_id))
            (context_id,) = [context.context_id async for context in found]
            assert {message.is_imported async for message in client.contexts.list_messages(context_id)} == {True}

            await ours.add_items(ITEMS[:1])
            (report,) = await asyncio.to_thread(moved, "--from", kind, where, code=1)
            assert report["error"] == "the session is here with other items"
    finally:
        await engine.dispose()


async def test_sessions_of_adk_move_with_their_states_and_a_second_move_brings_the_rest(
    client: AsyncContextClient, name: str, database: str
):
    url = database.replace("postgresql:", "postgresql+asyncpg:")
    theirs, ours = DatabaseSessionService(url), ContextSessionService(client)
    place = {"app_name": name, "user_id": "anna/b", "session_id": "s1"}
    state = {"first": 1, "asked": 0, "app:all": 1, "user:name": "A."}
    session = await theirs.create_session(**place, state=state)
    await theirs.create_session(app_name=name, user_id="bert", session_id="s1")
    for event in EVENTS[:2]:
        await theirs.append_event(session, event.model_copy(deep=True))
    dry = await asyncio.to_thread(moved, "--from", "adk-database", url, "--dry-run")
    assert [(one["name"], one["written"]) for one in dry] == [(f"{name}/anna%2Fb/s1", 2), (f"{name}/bert/s1", 0)]
    assert await ours.get_session(**place) is None
    for written in (2, len(EVENTS) - 2, 0):
        report = await asyncio.to_thread(moved, "--from", "adk-database", url)
        assert [one["written"] for one in report] == [written, 0]
        for who in (place, place | {"user_id": "bert"}):
            assert seen(await ours.get_session(**who)) == seen(await theirs.get_session(**who))
        for event in EVENTS[2:] if written == 2 else ():
            await theirs.append_event(session, event.model_copy(deep=True))
    moved_session = await ours.get_session(**place)
    await ours.append_event(moved_session, Event(author="clerk"))
    report = await asyncio.to_thread(moved, "--from", "adk-database", url, code=1)
    assert report[0]["error"] == "the session is here with other events"
    await theirs.db_engine.dispose()


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path):
    for kind in ("langgraph-sqlite", "openai-sqlite"):
        assert "there is no such file" in moved("--from", kind, str(tmp_path / "none.db"), code=1)
    url = f"sqlite+aiosqlite:///{tmp_path / 'none.db'}"
    assert "there is no such file" in moved("--from", "adk-database", url, code=1)
    assert not list(tmp_path.iterdir())
