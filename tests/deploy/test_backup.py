"""The commands of docs/operations.md bring everything back: rows, keys and rights from a dump, the blobs beside it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import context_service.app
import entity_service.app
import entity_service.replay_erasures
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.upkeep.fsck import Problem
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import ChangesExpired, ChangesNotStarted, ContextNotFound, DataLoss, NodeNotFound
from entity_service.settings import Settings as EntitySettings
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.embedded_postgres import OWNER_ROLE, SERVICE_ROLE, EmbeddedPostgres
from service_runtime.erasure.erased import Erased, Replayed, read
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import Urls
from tests.databases import in_memory

# Of somebody who is not here, and of a tenant that is not.
NOBODYS = Erased(tenant_id=DEFAULT_TENANT_ID, erasure_id=uuid.UUID(int=7), subject_sha256=bytes(32))
ELSEWHERE = replace(NOBODYS, tenant_id=uuid.UUID(int=8))
RULES = {
    "node_type": "Customer",
    "title": "entity.name",
    "facets": [{"slug": "state", "heading": "State", "kind": "operational", "text": "entity.data.text"}],
}
CONTENT = b"exists nowhere else" * 1000


@asynccontextmanager
async def clients(
    database_url: str, blobs: Path, key: str
) -> AsyncIterator[tuple[AsyncContextClient, AsyncEntityClient]]:
    """Run both services on a database and a folder, for the block."""
    async with AsyncExitStack() as stack:
        entity_settings = EntitySettings(database_url=database_url, entity_service_port=0, drain_s=2)
        entity = f"127.0.0.1:{await stack.enter_async_context(entity_service.app.running(entity_settings))}"
        settings = Settings(
            database_url=database_url,
            context_service_port=0,
            entity_service_url=entity,
            working_memory_storage_provider="local",
            working_memory_storage_path=blobs,
            drain_s=2,
        )
        context = f"127.0.0.1:{await stack.enter_async_context(context_service.app.running(settings))}"
        yield (
            await stack.enter_async_context(AsyncContextClient(context, api_key=key)),
            await stack.enter_async_context(AsyncEntityClient(entity, api_key=key)),
        )


async def run(postgres: EmbeddedPostgres, program: str, *arguments: object) -> None:
    command = [str(postgres.binaries / program), *map(str, arguments)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@asynccontextmanager
async def restored(postgres: EmbeddedPostgres, dump: Path) -> AsyncIterator[dict[str, str]]:
    """Restore a dump into a database of its own, for the block; yield its URLs by role."""
    name = f"restored_{uuid.uuid4().hex}"
    urls = {role: postgres.url(role=role, database=name) for role in ("postgres", OWNER_ROLE, SERVICE_ROLE)}
    with psycopg.connect(postgres.url(role="postgres", database="postgres"), autocommit=True) as connection:
        database = sql.Identifier(name)
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, sql.Identifier(OWNER_ROLE)))
        try:
            with psycopg.connect(urls["postgres"], autocommit=True) as own:
                own.execute("CREATE EXTENSION vector")
            await run(postgres, "pg_restore", "--exit-on-error", "--no-comments", f"--dbname={urls[OWNER_ROLE]}", dump)
            yield urls
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


async def test_a_dump_and_a_copy_of_the_blobs_bring_everything_back(
    postgres: EmbeddedPostgres, urls: Urls, tmp_path: Path
):
    blobs, copy, dump = tmp_path / "blobs", tmp_path / "copy", tmp_path / "contextkeep.dump"
    administration = KeyAdministration(urls.admin)
    administration.add_tenant("acme")
    key = administration.create(NewKey(tenant="acme", subject="agent", scopes=["read", "write"]))
    async with clients(urls.service, blobs, key) as (context, graph):
        node = await graph.graph.create_node("Session", name="s", data={"a": [1, None]})
        uploaded = await context.blobs.upload(CONTENT, name="file.bin", entity_node_id=node.id)
        note = await context.records.insert("data/json", "note", content={"b": "ü"}, entity_node_id=node.id)
        await run(postgres, "pg_dump", "--format=custom", f"--file={dump}", urls.admin)
        await asyncio.to_thread(shutil.copytree, blobs, copy)

    async with restored(postgres, dump) as again:
        async with clients(again[SERVICE_ROLE], copy, key) as (context, graph):
            assert (await graph.graph.get_node(node.id)).data == {"a": [1, None]}
            await context.blobs.download(uploaded.working_memory_id, tmp_path / "file.bin")
            assert (tmp_path / "file.bin").read_bytes() == CONTENT
            assert await context.records.get(note.working_memory_id) == note
            after = await context.records.insert("data/json", "after", content={}, entity_node_id=node.id)
        with psycopg.connect(again["postgres"]) as own:  # the key was known: it is not the default tenant's
            row = own.execute(
                "SELECT t.name FROM context.wm_record r JOIN access.tenant t ON t.id = r.tenant_id WHERE r.id = %s",
                (after.working_memory_id,),
            ).fetchone()
            assert row == ("acme",)


async def test_either_of_both_may_be_older_and_who_was_erased_is_erased_again(
    postgres: EmbeddedPostgres, urls: Urls, tmp_path: Path
):
    """Rows without bytes say so, bytes without rows go after the grace, and a user does not come back unnoticed."""
    blobs, copy, dump = tmp_path / "blobs", tmp_path / "copy", tmp_path / "contextkeep.dump"
    administration = KeyAdministration(urls.admin)
    key = administration.create(NewKey(tenant="default", subject="admin", scopes=["read", "write", "admin"]))
    adas_key = administration.create(NewKey(tenant="default", subject="ada", user_id="ada", scopes=["read", "write"]))
    async with clients(urls.service, blobs, adas_key) as (ada, adas_graph):
        adas = await ada.blobs.upload(b"only ada's " * 1000, name="ada.bin")
        said = await ada.contexts.send("only Ada's")
        node = await adas_graph.graph.create_node("Session", name="only Ada's")
    async with clients(urls.service, blobs, key) as (context, _):
        kept = await context.blobs.upload(CONTENT, name="file.bin")
        await run(postgres, "pg_dump", "--format=custom", f"--file={dump}", urls.admin)
        await asyncio.to_thread(shutil.copytree, blobs, copy)
        later = await context.blobs.upload(b"later " * 1000, name="later.bin")
        erasure_id = await erased(context, "ada")
    register = await register_of(urls.service, blobs, [erasure_id])
    older, newer = tmp_path / "older", tmp_path / "newer"
    for folder in (older, newer):
        folder.mkdir()

    # Postgres is older: ada is back, without her bytes, and nobody knows what was uploaded since.
    async with restored(postgres, dump) as again:
        found = await repaired(again[SERVICE_ROLE], blobs)
        assert {problem.kind: problem.working_memory_ids for problem in found} == {
            "damaged": (str(adas.working_memory_id),),
            "orphan": (),
        }
        async with clients(again[SERVICE_ROLE], blobs, key) as (context, _):
            await context.blobs.download(kept.working_memory_id, older / "file.bin")
            with pytest.raises(DataLoss):
                await context.blobs.download(adas.working_memory_id, older / "ada.bin")
            hold = await context.holds.put("a lawsuit", subject="ada")
            held = await replayed(again[SERVICE_ROLE], blobs, register)
            assert (held.held, held.erased, held.nobody) == ([erasure_id], 0, 1)
            await context.holds.release(hold.hold_id)
        await erased_again(again[SERVICE_ROLE], blobs, register)
        async with clients(again[SERVICE_ROLE], blobs, key) as (context, graph):
            assert not (await context.erasures.plan("ada")).counts
            assert (await context.erasures.get(erasure_id)).state == "finished"
            with pytest.raises(ContextNotFound):
                await context.contexts.get(said.context_id)
            with pytest.raises(NodeNotFound):
                await graph.graph.get_node(node.id)
            await context.blobs.download(kept.working_memory_id, older / "still.bin")
        with psycopg.connect(again["postgres"]) as own:
            assert own.execute("SELECT count(*) FROM access.api_key WHERE user_id = 'ada'").fetchone() == (0,)

    # The blobs are older: what was uploaded since is lost, and what was erased since is there without a row.
    found = await repaired(urls.service, copy)
    assert {problem.kind: problem.working_memory_ids for problem in found} == {
        "damaged": (str(later.working_memory_id),),
        "orphan": (),
    }
    async with clients(urls.service, copy, key) as (context, _):
        await context.blobs.download(kept.working_memory_id, newer / "file.bin")
        with pytest.raises(DataLoss):
            await context.blobs.download(later.working_memory_id, newer / "later.bin")
    with psycopg.connect(urls.superuser) as connection:
        connection.execute("UPDATE context.blob SET due_at = now() WHERE state = 'deleting'")  # the grace is over
    await maintenance.sweep(settings_of(urls.service, copy))
    assert not [path for path in copy.rglob("*") if path.is_file() and b"only ada's" in path.read_bytes()]


def settings_of(database_url: str, blobs: Path) -> Settings:
    return Settings(
        database_url=database_url, working_memory_storage_provider="local", working_memory_storage_path=blobs
    )


async def repaired(database_url: str, blobs: Path) -> list[Problem]:
    """Return what `storage fsck --repair` finds."""
    settings = settings_of(database_url, blobs)
    report = await maintenance.fsck(settings, quick=False, repair=True, on_progress=lambda _: None)
    assert all(problem.repaired for problem in report.problems if problem.kind == "orphan")
    return report.problems


async def register_of(database_url: str, blobs: Path, erasure_ids: list[str]) -> Path:
    """Return the file of a register that has some erasures, and two more lines."""
    lines = [one.line() for one in await maintenance.erasures(settings_of(database_url, blobs))]
    assert [json.loads(line)["erasure_id"] for line in lines] == erasure_ids
    path = blobs.with_name("erasures.ndjson")
    path.write_text("\n".join([*lines, NOBODYS.line(), ELSEWHERE.line()]))
    return path


async def erased_again(database_url: str, blobs: Path, register: Path) -> None:
    """Replay a register with one erasure that is to be done again; twice is once."""
    for erased_now in (1, 0):
        done = await replayed(database_url, blobs, register)
        assert (done.erased, done.known, done.held) == (erased_now, 2 - erased_now, [])
        of_graph = await entity_service.replay_erasures.replay(EntitySettings(database_url=database_url), register)
        assert (of_graph.erased, of_graph.nobody) == (erased_now, erased_now)


async def replayed(database_url: str, blobs: Path, register: Path) -> Replayed:
    return await maintenance.replay_erasures(settings_of(database_url, blobs), read(register))


async def erased(context: AsyncContextClient, user_id: str) -> str:
    erasure = await context.erasures.erase(user_id)
    async with asyncio.timeout(60):
        while erasure.state != "finished":
            await asyncio.sleep(0.1)
            erasure = await context.erasures.get(erasure.erasure_id)
    return erasure.erasure_id


async def test_a_restore_into_a_younger_cluster_goes_on_with_contexts_windows_memories_and_pages(
    postgres: EmbeddedPostgres, urls: Urls, tmp_path: Path
):
    """Transactions have lower ids there than the changes that the dump brings, and pages are older than the graph."""
    blobs, dump = tmp_path / "blobs", tmp_path / "contextkeep.dump"
    scopes = ["read", "write", "admin", "compile"]
    key = KeyAdministration(urls.admin).create(NewKey(tenant="default", subject="admin", user_id="ada", scopes=scopes))
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute("DO $$ BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
    async with clients(urls.service, blobs, key) as (context, graph):
        put = await context.definitions.put("customer", RULES)
        await context.definitions.approve("customer", put.version)
        before, after, kept = [
            (await graph.graph.create_node("Customer", name=name, data={"text": f"{name} pays late"})).id
            for name in ("Before", "After", "Kept")
        ]
        late = {"After pays late", "Before pays late", "Kept pays late"}
        await compiled_until(context, late)
        sent = await context.contexts.send("The lighthouse lamps are due in May")
        window = await context.windows.open(sent.context_id, "gpt-5", goal="answer")
        packed = await context.windows.pack(window.window_id)
        await context.memories.retain("Ada prefers tea")
        place = (await graph.changes.list("")).next_place
        await graph.graph.delete_node(before)  # no compile hears of it before the dump
        await run(postgres, "pg_dump", "--format=custom", f"--file={dump}", urls.admin)

    with in_memory(postgres.version) as younger:
        async with restored(younger, dump) as again, clients(again[SERVICE_ROLE], blobs, key) as (context, graph):
            with psycopg.connect(again["postgres"]) as own:
                row = own.execute("SELECT min(transaction_id) > pg_current_xact_id() FROM entity.change").fetchone()
            assert row == (True,)
            with pytest.raises(ChangesExpired):
                await graph.changes.list(place)
            assert await found(context) == late
            await compiled_until(context, late - {"Before pays late"})
            await settled(graph)  # without `StartChanges`
            await compiled_until(context, late - {"Before pays late"})
            await graph.graph.update_node_data(kept, {"text": "Kept pays early"})
            await graph.graph.delete_node(after)
            assert await compiled_until(context, {"Kept pays early"}) == 1  # what changed, and no more

            assert (await context.windows.pack(window.window_id)).messages_json == packed.messages_json
            later = await context.contexts.send("And the foghorn in June", sent.context_id)
            assert later.seq == sent.seq + 1
            assert "foghorn" in (await context.windows.pack(window.window_id)).messages_json
            recalled = await context.contexts.recall(sent.context_id, "When are the lighthouse lamps due?")
            assert "in May" in recalled.prompt_text
            assert [one.memory.text for one in await context.memories.recall("tea")] == ["Ada prefers tea"]
            await context.memories.retain("Ada prefers coffee")
            assert len(await context.memories.recall("Ada prefers")) == 2


async def compiled_until(context: AsyncContextClient, expected: set[str]) -> int:
    """Compile until pages say what is expected, as changes are listed once older writes have ended; count the nodes."""
    nodes_read = 0
    async with asyncio.timeout(30):
        while True:
            nodes_read += [one async for one in context.compiled_pages.compile()][-1].nodes_read
            if await found(context) == expected:
                return nodes_read
            await asyncio.sleep(0.05)


async def settled(graph: AsyncEntityClient) -> None:
    """Wait until changes are listed: whatever ran when the list began has ended."""
    async with asyncio.timeout(30):
        while True:
            with suppress(ChangesNotStarted):
                await graph.changes.list("")
                return
            await asyncio.sleep(0.05)


async def found(context: AsyncContextClient) -> set[str]:
    """Return what compiled pages say of how customers pay."""
    answer = await context.query.ask("who pays early or late?", provider_ids=["brain"])
    return {one.snippet for one in answer.hits}
