"""Services that are killed while they store the files of a message: no part lacks its bytes, no bytes lack an owner."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from contextkeep import AsyncContextClient, FileInput, MessageInput, PartInput
from contextkeep.errors import ContextKeepError
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.commands import Commands
from tests.conftest import Urls, cloned
from tests.faults.processes import Service
from tests.locks import until_waiting
from tests.media import png
from tests.ports import free_port

# While this table is locked, the service has come as far as the claim says. A table more is one step further.
STEPS = {
    "no byte is written": "context.blob",
    "the bytes are written, and the transaction waits for its context": "context.context",
    "the message is written, and the transaction waits for the records of its files": "context.wm_record",
}
LEASE_S = 1
NEW, UPLOADED = png(64, 48, color=1), png(64, 48, color=2)

_STATE = """
SELECT
    (SELECT coalesce(json_agg(m.parts), '[]') FROM context.message m WHERE m.parts::text LIKE '%%sha256%%') AS parts,
    (SELECT coalesce(json_agg(json_build_object('id', r.id, 'type', r.memory_type, 'blob_id', r.blob_id)), '[]')
        FROM context.wm_record r) AS records,
    (SELECT coalesce(json_agg(json_build_object('id', b.id, 'state', b.state, 'sha256', encode(b.sha256, 'hex'))), '[]')
        FROM context.blob b) AS blobs
"""


class Killed:
    """A context service on a database and a folder of its own, which outlive it."""

    def __init__(self, urls: Urls, folder: Path, commands: Commands) -> None:
        self._urls, self._commands = urls, commands
        self.folder = folder / "blobs"
        self._environment = {
            "DATABASE_URL": urls.service,
            "ENTITY_SERVICE_URL": "127.0.0.1:1",
            "WORKING_MEMORY_STORAGE_PATH": str(self.folder),
            "UPLOAD_LEASE_S": str(LEASE_S),
            "SWEEP_INTERVAL_S": "3600",
        }
        self.service = Service(
            "context_service", free_port(), environment=self._environment, log=folder / "context.log"
        )

    async def killed_at(self, table: str, said: MessageInput, context_id: str) -> None:
        """Kill the service while a message waits for a table, and then start it again."""
        async with (
            await psycopg.AsyncConnection.connect(self._urls.superuser) as locking,
            AsyncContextClient(self.service.address, retries=0) as client,
        ):
            await locking.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
            task = asyncio.create_task(client.contexts.append([said], context_id))
            await until_waiting(self._urls.superuser, 1)
            await self.service.kill()
            with contextlib.suppress(ContextKeepError):
                await task
        await self.service.start(until="liveness")

    async def state(self) -> dict[str, Any]:
        connecting = psycopg.AsyncConnection.connect(self._urls.superuser, row_factory=dict_row)
        async with await connecting as connection:
            (row,) = await (await connection.execute(_STATE)).fetchall()
        return row

    def on_disk(self) -> list[str]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)

    async def swept(self) -> None:
        await asyncio.sleep(LEASE_S)  # the sweeper waits until the lease of an unfinished upload is over
        arguments = ("context_service", "storage", "sweep", "--json")
        done = await asyncio.to_thread(self._commands.run, *arguments, environment=self._environment)
        assert json.loads(done.stdout)["blobs_failed"] == 0, done.stderr


async def assert_whole(killed: Killed, *, files: int) -> None:
    """Each file of a message has its record, its live blob and its bytes; nothing else has any."""
    state = await killed.state()
    named = {part["file"]["working_memory_id"]: part["file"]["sha256"] for parts in state["parts"] for part in parts}
    assert len(named) == files
    records = {record["id"]: record["blob_id"] for record in state["records"]}
    blobs = {blob["id"]: blob["sha256"] for blob in state["blobs"] if blob["state"] == "live"}
    assert {record_id: blobs[records[record_id]] for record_id in named} == named
    assert set(records.values()) == blobs.keys()
    assert len(blobs) == len(state["blobs"])
    assert killed.on_disk() == sorted(blobs.values())


async def test_a_kill_at_any_step_leaves_no_part_without_bytes_and_no_bytes_without_an_owner(
    postgres: EmbeddedPostgres, tmp_path: Path, commands: Commands
):
    async with AsyncExitStack() as stack:
        killed = Killed(stack.enter_context(cloned(postgres, is_alone=True)), tmp_path, commands)
        stack.push_async_callback(killed.service.kill)
        await killed.service.start(until="liveness")
        client = await stack.enter_async_context(AsyncContextClient(killed.service.address))
        context_id = (await client.contexts.send("Look at both.")).context_id
        upload = await client.blobs.upload(UPLOADED, name="shot.png", memory_type="message_file")
        parts = [
            PartInput(file=FileInput(data=NEW, name="new.png")),
            PartInput(file=FileInput(working_memory_id=upload.working_memory_id)),
        ]
        said = MessageInput("Both.", message_id="both", parts=parts)

        for step, table in STEPS.items():
            await killed.killed_at(table, said, context_id)
            state = await killed.state()
            assert not state["parts"], step
            assert [record["type"] for record in state["records"]] == ["message_file"], step
            number = list(STEPS).index(step)  # Postgres ends the statement that waited, so each kill leaves a row
            assert [blob["state"] for blob in state["blobs"]].count("writing") == number + 1, step
            assert len(killed.on_disk()) == number + 1, step  # that of the upload, and of each kill but the first
        await killed.swept()
        await assert_whole(killed, files=0)

        client = await stack.enter_async_context(AsyncContextClient(killed.service.address))
        request_id = str(uuid.uuid4())
        (sent,) = await client.contexts.append([said], context_id, request_id=request_id)
        window = await client.windows.open(context_id, "claude-sonnet-4-5")
        before = await client.windows.pack(window.window_id)
        await killed.service.kill()  # right after the answer
        await killed.service.start(until="liveness")
        (again,) = await client.contexts.append([said], context_id, request_id=request_id)
        assert again.seq == sent.seq
        await client.contexts.append(["And now?"], context_id)
        after = await client.windows.pack(window.window_id)
        assert (
            after.messages_json.encode()[: before.prefix_bytes] == before.messages_json.encode()[: before.prefix_bytes]
        )
        assert (after.files, after.file_bytes) == (before.files, before.file_bytes)
        assert {hashlib.sha256(content).hexdigest() for content in after.file_bytes} == set(killed.on_disk())
        await killed.swept()
        await assert_whole(killed, files=2)
