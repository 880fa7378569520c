"""The index is a view: what differs from the log is found, and made anew it is the same."""

from __future__ import annotations

import asyncio
import json
import subprocess
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest

from context_service.contexts.store import log_passages as log_source
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.rules import verify as verifying
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.feeds import PassageFeed
from context_service.retrieval.store.passages import Passages
from context_service.retrieval.store.reindex import reindex
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.errors import NotFound
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.commands import Commands
from tests.conftest import PRINCIPAL, Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller, at

TABLES = ("context.passage", "context.passage_session", "context.passage_scope")
MORNING = datetime(2026, 1, 5, 9, tzinfo=UTC)

# What a statement of a superuser may do to the index of a context, and what is said of it.
DAMAGES: dict[str, tuple[str, dict[str, int]]] = {
    "a passage is gone": (
        "DELETE FROM context.passage WHERE scope_id = %s AND seq = 2",
        {"missing": 1, "sessions_different": 1, "totals_different": 1},
    ),
    "a text is another": ("UPDATE context.passage SET text = 'x' WHERE scope_id = %s AND seq = 2", {"different": 1}),
    "terms are in another order": (
        "UPDATE context.passage SET terms = terms[2:] || terms[1] WHERE scope_id = %s AND seq = 2",
        {"different": 1},
    ),
    "an author is another": (
        "UPDATE context.passage SET author = 'eve' WHERE scope_id = %s AND seq = 2",
        {"different": 1, "totals_different": 1},
    ),
    "a place is another": (
        "UPDATE context.passage SET place = place + 50 WHERE scope_id = %s AND seq = 2",
        {"different": 1},
    ),
    "a passage is of no message": (
        "UPDATE context.passage SET seq = 9000 WHERE scope_id = %s AND seq = 2",
        {"missing": 1, "extra": 1, "totals_different": 1},
    ),
    "a passage is of a kind that nobody writes": (
        "UPDATE context.passage SET kind = 'rumour' WHERE scope_id = %s AND seq = 2",
        {"missing": 1, "extra": 1},
    ),
    "a session counts too many": (
        "UPDATE context.passage_session SET passages = passages + 1 WHERE scope_id = %s AND session = 0",
        {"sessions_different": 1},
    ),
    "a session is further than it was": (
        "UPDATE context.passage_session SET places = places + 1 WHERE scope_id = %s AND session = 0",
        {"sessions_different": 1},
    ),
    "the last session is not so far": (
        "UPDATE context.passage_session s SET last_length = 99 WHERE scope_id = %s"
        " AND session = (SELECT max(session) FROM context.passage_session o WHERE o.scope_id = s.scope_id)",
        {"sessions_different": 1},
    ),
    "a session was never held": (
        "INSERT INTO context.passage_session SELECT tenant_id, scope_id, context_id, 500, 0, 0, 3, 3, 3, scope_kind,"
        " owner_user_id, graph_name, agent_bundle_id, app_id, ancestors FROM context.passage_scope WHERE scope_id = %s",
        {"sessions_different": 1},
    ),
    "the scope counts too few": (
        "UPDATE context.passage_scope SET length_after = length_after - 1 WHERE scope_id = %s",
        {"totals_different": 1},
    ),
    "a passage is another user's": (
        "UPDATE context.passage SET owner_user_id = 'eve' WHERE scope_id = %s AND seq = 2",
        {"missing": 1, "extra": 1, "sessions_different": 1, "totals_different": 1},
    ),
    "a session is another user's": (
        "UPDATE context.passage_session SET owner_user_id = 'eve' WHERE scope_id = %s AND session = 0",
        {"sessions_different": 3},
    ),
    "the counts are another user's": (
        "UPDATE context.passage_scope SET owner_user_id = 'eve' WHERE scope_id = %s",
        {"totals_different": 2},
    ),
    "the scope is not counted": ("DELETE FROM context.passage_scope WHERE scope_id = %s", {"totals_different": 1}),
}


@dataclass(frozen=True, kw_only=True)
class Stack:
    caller: Caller
    database: Database
    urls: Urls
    folder: Path

    async def verified(self, context_id: str = "", *, mend: bool = False) -> Verified:
        check = Verifying(self.database, Passages(self.database), [log_source.log_source(TokenCounter().count)])
        return await check.run(
            [self.database.tenant(PRINCIPAL.tenant_id)],
            scope_id=uuid.UUID(context_id) if context_id else None,
            mend=mend,
            on_progress=lambda verified: None,
        )

    def execute(self, statement: str, *parameters: Any) -> list[Any]:
        with psycopg.connect(self.urls.superuser, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def index_of(self, context_id: str) -> dict[str, list[Any]]:
        """Return all rows of a context's index, but for what only the next write reads, and sessions without any."""
        return {
            table: self.execute(
                "SELECT to_jsonb(t) - 'length_before_last' - 'authors', ARRAY(SELECT jsonb_array_elements("
                f"  coalesce(to_jsonb(t) -> 'authors', '[]')) a ORDER BY 1) FROM {table} t WHERE scope_id = %s"
                '  AND NOT to_jsonb(t) @> \'{"passages": 0, "places": 0}\''
                " ORDER BY to_jsonb(t)::text",
                context_id,
            )
            for table in TABLES
        }


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        folder: Path = tmp_path_factory.mktemp("blobs")
        async with (
            running(urls.service, folder, callers=ApiKeys(KEYS)) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Stack(caller=Caller(channel), database=database, urls=urls, folder=folder)


def talk(count: int, *, first: int = 0) -> list[message.MessageInput]:
    """Return messages of all kinds, some of which begin a session by their time or its name."""
    call = message.Part(tool_call=message.ToolCall(id="c", name="look", arguments_json='{"for": "rain"}'))
    result = message.Part(tool_result=message.ToolResult(tool_call_id="c", content_json='{"rain": [1, 2]}'))
    data = message.Part(data_json='{"weather": {"today": "rain", "wind": 3}}', file_name="weather.json")
    said = []
    for n in range(first, first + count):
        one = message.MessageInput(
            message_id=f"m{n}",
            content=f"We talk of the weather, {n}. " * (1 if n % 7 else 40),
            role=("user", "assistant")[n % 2],
            name=("ann", "bo", "")[n % 3],
            said_at=at(MORNING + timedelta(hours=5 * (n // 9), minutes=n)),
            session="evening" if n % 20 == 19 else "",
        )
        if n % 5 == 4:
            one.parts.extend([data, call])
        if n % 6 == 5:
            one.CopyFrom(message.MessageInput(message_id=f"m{n}", role="tool", parts=[result]))
        if n % 11 == 10:
            one.CopyFrom(message.MessageInput(message_id=f"m{n}", content="the and of"))  # found by nothing
        said.append(one)
    return said


async def begun(stack: Stack, *, messages: int = 60, key: str = "ada", at_once: Sequence[int] = (1, 9, 2)) -> str:
    """Begin a context with messages that were sent one by one and together; some of them are retracted."""
    caller, context_id, done = stack.caller.of(key), "", 0
    while done < messages:
        count = min(at_once[done % len(at_once)], messages - done)
        answer = await caller.append(context_id, *talk(count, first=done))
        context_id, done = answer.context_id, done + count
    retracted = [f"m{n}" for n in range(messages) if n % 8 == 3]
    await caller.call("RetractMessages", context_id=context_id, message_ids=[*retracted, f"m{messages - 1}"])
    return context_id


async def test_an_index_that_was_written_with_its_log_is_equal(stack: Stack):
    context_id = await begun(stack)
    verified = await stack.verified(context_id)
    assert (verified.is_equal, verified.differences) == (True, [])
    assert verified.passages == len(stack.index_of(context_id)["context.passage"]) > 50
    before = stack.index_of(context_id)
    assert (await stack.verified(context_id, mend=True)).is_equal
    assert stack.index_of(context_id) == before


@pytest.mark.parametrize("what", DAMAGES)
async def test_what_differs_is_found_and_made_anew(stack: Stack, what: str):
    statement, said = DAMAGES[what]
    context_id, other = await begun(stack), await begun(stack, messages=3)
    before, of_other = stack.index_of(context_id), stack.index_of(other)
    stack.execute(statement, context_id)

    found = await stack.verified(context_id)
    counted = {name: getattr(found, name) for name in said}
    assert not found.is_equal
    assert counted == said
    if "missing" in said:
        assert {(one.kind, one.seq) for one in found.differences} >= {("missing", 2)}

    assert not (await stack.verified(context_id, mend=True)).is_equal
    assert stack.index_of(context_id) == before
    assert (await stack.verified(context_id)).is_equal
    assert stack.index_of(other) == of_other


async def test_an_index_that_is_lost_is_made_anew_and_written_on(stack: Stack):
    """What is said next stands where it would have stood: a context that never lost its index has the same one."""
    lost, kept = await begun(stack), await begun(stack)
    for table in TABLES:
        stack.execute(f"DELETE FROM {table} WHERE scope_id = %s", lost)
    assert (await stack.verified(lost, mend=True)).missing > 50
    for context_id in (lost, kept):
        await stack.caller.of("ada").append(context_id, *talk(5, first=60))
    assert (await stack.verified(lost)).is_equal

    def placed(context_id: str) -> list[tuple[Any, ...]]:
        rows = [row for row, _ in stack.index_of(context_id)["context.passage"]]
        return sorted((one["seq"], one["ordinal"], one["place"] or -1, one["length_before"]) for one in rows)

    assert placed(lost) == placed(kept)


async def test_what_is_made_anew_has_no_vector_of_the_text_before(stack: Stack):
    context_id = await begun(stack, messages=6)
    stack.execute(
        "INSERT INTO context.passage_vector (tenant_id, scope_id, context_id, seq, ordinal, scope_kind, owner_user_id,"
        " graph_name, agent_bundle_id, app_id, ancestors, model, vector) SELECT tenant_id, scope_id, context_id, seq,"
        " ordinal, scope_kind, owner_user_id, graph_name, agent_bundle_id, app_id, ancestors, 'm', '[1]'"
        " FROM context.passage WHERE scope_id = %s",
        context_id,
    )
    stack.execute("UPDATE context.passage SET text = 'x' WHERE scope_id = %s AND seq = 2", context_id)
    stack.execute("UPDATE context.passage SET terms = terms[2:] WHERE scope_id = %s AND seq = 3", context_id)
    await stack.verified(context_id, mend=True)
    assert (await stack.verified(context_id)).is_equal
    left = stack.execute("SELECT DISTINCT seq FROM context.passage_vector WHERE scope_id = %s ORDER BY 1", context_id)
    rows = stack.execute("SELECT DISTINCT seq FROM context.passage WHERE scope_id = %s ORDER BY 1", context_id)
    assert left == [row for row in rows if row != (2,)]


async def test_passages_of_a_context_that_is_gone_are_found_and_removed(stack: Stack):
    context_id = await begun(stack, messages=4)
    stack.execute("DELETE FROM context.context WHERE context_id = %s", context_id)
    stack.execute("DELETE FROM context.passage_scope WHERE scope_id = %s", context_id)  # as a kill leaves it
    assert (await stack.verified()).strays == 1
    assert (await stack.verified(mend=True)).strays == 1
    assert not any(stack.index_of(context_id).values())
    assert (await stack.verified()).is_equal


async def test_a_deleted_context_is_no_difference(stack: Stack):
    """Its passages go before its messages do."""
    context_id = await begun(stack, messages=4)
    await stack.caller.of("ada").call("DeleteContext", context_id=context_id)
    stack.execute("DELETE FROM context.passage WHERE scope_id = %s AND seq = 1", context_id)
    assert (await stack.verified()).is_equal
    with pytest.raises(NotFound):
        await stack.verified(context_id)


async def test_what_is_written_meanwhile_is_no_difference(stack: Stack, monkeypatch: pytest.MonkeyPatch):
    """Small pages, so that much happens between them; in a rebuild, too, of an index that was lost."""
    monkeypatch.setattr(log_source, "_MESSAGES", 3)
    context_id = await begun(stack)
    caller = stack.caller.of("ada")
    stop = asyncio.Event()

    async def write() -> None:
        number = 60
        while not stop.is_set():
            await caller.append(context_id, *talk(2, first=number))
            await caller.call("RetractMessages", context_id=context_id, message_ids=[f"m{number}", f"m{number - 40}"])
            number += 2

    writing = asyncio.create_task(write())
    try:
        for _ in range(3):
            verified = await stack.verified(context_id)
            assert verified.is_equal, verified
        for table in TABLES:
            await asyncio.to_thread(stack.execute, f"DELETE FROM {table} WHERE scope_id = %s", context_id)
        assert (await stack.verified(context_id, mend=True)).missing
        assert (await stack.verified(context_id)).is_equal
    finally:
        stop.set()
        await writing
    assert (await stack.verified(context_id)).is_equal


async def test_a_rebuild_that_is_broken_off_goes_on_when_it_is_started_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(log_source, "_MESSAGES", 5)
    context_id = await begun(stack)
    before = stack.index_of(context_id)
    stack.execute("DELETE FROM context.passage WHERE scope_id = %s", context_id)
    origins = PassageFeed.origins

    for steps in (1, 4, 9):
        left = steps

        async def dying(self: PassageFeed, *arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise ConnectionError("killed")
            return await origins(self, *arguments, **named)

        with monkeypatch.context() as patched:
            patched.setattr(PassageFeed, "origins", dying)
            with pytest.raises(Exception, match=r"killed|does not answer"):
                await stack.verified(context_id, mend=True)
        assert 5 * (steps - 2) < len(stack.index_of(context_id)["context.passage"]) < len(before["context.passage"])
    assert (await stack.verified(context_id, mend=True)).missing < 30
    assert stack.index_of(context_id) == before


async def test_the_commands_say_what_differs_and_how_it_ended(stack: Stack, commands: Commands):
    context_id = await begun(stack, messages=8, key="plain")
    environment = {
        "DATABASE_URL": stack.urls.service,
        "DATABASE_ADMIN_URL": stack.urls.admin,
        "WORKING_MEMORY_STORAGE_PATH": str(stack.folder),
    }

    async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(
            commands.run, "context_service", "retrieval", *arguments, environment=environment
        )

    stack.execute("DELETE FROM context.passage WHERE scope_id = %s AND seq = 2", context_id)
    told = await run("verify", "--context", context_id)
    assert (told.returncode, told.stderr) == (1, "")
    assert told.stdout.splitlines()[-1].split()[-2:] == [context_id, "m2.0"]

    mended = await run("rebuild", "--tenant", "default", "--json")
    assert (mended.returncode, mended.stderr) == (0, "")
    said = json.loads(mended.stdout)
    assert (said["is_equal"], said["missing"], said["differences"][0]["scope_id"]) == (True, 1, context_id)
    clean = await run("verify", "--json")
    assert (clean.returncode, json.loads(clean.stdout)["is_equal"]) == (0, True)

    again = await run("reindex", "--json")
    assert (again.returncode, again.stderr) == (0, "")
    assert json.loads(again.stdout)["bytes_a_passage"] > 0


async def test_the_index_of_words_is_small_again_after_a_reindex(stack: Stack):
    """What a REINDEX left that was broken off is removed: it would be written to for ever, and read by nobody."""
    context_id = await begun(stack, messages=400, at_once=(100,))
    stack.execute("DELETE FROM context.passage WHERE scope_id = %s", context_id)
    stack.execute("VACUUM context.passage")
    stack.execute("CREATE INDEX passage_terms_ccnew ON context.passage USING gin (terms)")
    stack.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'context.passage_terms_ccnew'::regclass")

    done = await asyncio.to_thread(reindex, stack.urls.admin)
    assert done.bytes_after < done.bytes_before
    names = stack.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
    assert names == []
    await stack.verified(context_id, mend=True)
    assert (await stack.verified()).is_equal


def test_what_is_told_one_by_one_is_bounded():
    assert verifying._KEPT <= 1_000
