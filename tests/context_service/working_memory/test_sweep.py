"""The sweeper: what a kill leaves goes in one pass, and nothing else does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import context_service.app
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.store.blobs import blob_rows
from context_service.working_memory.upkeep.sweep import Swept
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import Unavailable
from service_runtime.postgres import Database, Transaction
from service_runtime.statements.requests import KEPT
from tests.commands import Commands
from tests.conftest import KEY, OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.context_service.working_memory.callers import MIB, Caller, an_id, blobs, chunk, files, header, records, until
from tests.fakes.blob_backend import FailingBackend
from tests.noise import noise


async def make_due(database: Database, tenant_id: Any = PRINCIPAL.tenant_id) -> None:
    await database.tenant(tenant_id).query("UPDATE context.blob SET due_at = now() WHERE state <> 'live'")


async def forget_record(database: Database, working_memory_id: str) -> Any:
    """Remove a record as a purge will, and return the id of its blob."""
    tenant = database.tenant(PRINCIPAL.tenant_id)
    (row,) = await tenant.query("DELETE FROM context.wm_record WHERE id = %s RETURNING blob_id", (working_memory_id,))
    return row.blob_id


async def release(database: Database, blob_id: Any, *, grace_s: float) -> bool:
    async def work(transaction: Transaction) -> bool:
        return bool(await blob_rows.release(transaction, [(blob_id, "")], grace_s=grace_s))

    return await database.tenant(PRINCIPAL.tenant_id).transaction(work)


async def test_a_sweep_during_an_upload_does_not_touch_it(caller: Caller, context_settings: Settings):
    async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
        yield header()
        for _ in range(3):
            yield chunk(noise(MIB))
            assert await maintenance.sweep(context_settings) == Swept()

    stored = await caller.send(messages())

    assert (await caller.download(blob_key=stored.blob_key))[1] == noise(MIB) * 3


async def test_a_sweep_leaves_what_is_live(caller: Caller, context_settings: Settings):
    stored = await caller.upload(b"abc")
    await caller.DeleteBlob(blob_key=stored.blob_key)

    assert await maintenance.sweep(context_settings) == Swept()

    assert (await caller.download(blob_key=stored.blob_key, include_archived=True))[1] == b"abc"


async def test_a_blob_goes_when_its_last_record_is_gone_and_its_grace_is_over(
    caller: Caller, database: Database, context_settings: Settings
):
    first, second = await caller.upload(b"same"), await caller.upload(b"same")
    await maintenance.sweep(context_settings)
    blob_id = await forget_record(database, first.working_memory_id)

    assert not await release(database, blob_id, grace_s=0)  # the other record points to it
    assert await forget_record(database, second.working_memory_id) == blob_id
    assert await release(database, blob_id, grace_s=3600)
    assert await maintenance.sweep(context_settings) == Swept()
    assert len(files(context_settings)) == 1

    await make_due(database)
    assert await maintenance.sweep(context_settings) == Swept(blobs_removed=1)
    assert (await blobs(database), files(context_settings)) == ([], [])


async def test_content_that_comes_back_during_the_grace_is_stored_anew(
    caller: Caller, database: Database, context_settings: Settings
):
    """The old bytes are on their way out: nothing may point to them again."""
    first = await caller.upload(b"same")
    await release(database, await forget_record(database, first.working_memory_id), grace_s=3600)

    again = await caller.upload(b"same")
    await make_due(database)
    await maintenance.sweep(context_settings)

    assert (await caller.download(blob_key=again.blob_key))[1] == b"same"
    assert len(files(context_settings)) == 1


async def test_an_upload_and_the_release_of_the_same_content_never_meet(
    caller: Caller, database: Database, context_settings: Settings
):
    """An upload takes the live blob just as its last record goes: it keeps the blob, or stores its own."""
    for _ in range(15):
        first = await caller.upload(b"same")
        blob_id = await forget_record(database, first.working_memory_id)

        _, again = await asyncio.gather(release(database, blob_id, grace_s=0), caller.upload(b"same"))
        await maintenance.sweep(context_settings)

        assert (await caller.download(blob_key=again.blob_key))[1] == b"same"
        await release(database, await forget_record(database, again.working_memory_id), grace_s=0)
    await maintenance.sweep(context_settings)
    assert (await blobs(database), files(context_settings)) == ([], [])


async def abandoned(database: Database, settings: Settings, count: int, tenant_id: Any = PRINCIPAL.tenant_id) -> None:
    """Leave what kills leave: rows, half files, and whole files that nobody got to know."""
    assert settings.working_memory_storage_path is not None
    for number in range(count):
        name = an_id().replace("-", "")
        key = f"{tenant_id.hex}/{name[:2]}/{name}"
        path = settings.working_memory_storage_path / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if number % 3:
            path.with_name(name + (".part" if number % 3 == 1 else "")).write_bytes(b"half")
        await database.tenant(tenant_id).query(
            "INSERT INTO context.blob (tenant_id, id, provider, key, due_at) VALUES (%s, %s, 'local', %s, now())",
            (tenant_id, an_id(), key),
        )


async def test_what_kills_left_goes_in_one_pass(database: Database, context_settings: Settings):
    await abandoned(database, context_settings, 230)  # more than a batch
    await abandoned(database, context_settings, 5, OTHER_PRINCIPAL.tenant_id)

    swept = await maintenance.sweep(context_settings)

    assert swept == Swept(blobs_removed=235, uploads_abandoned=235)
    assert (await blobs(database), files(context_settings)) == ([], [])
    assert await database.tenant(OTHER_PRINCIPAL.tenant_id).query("SELECT id FROM context.blob") == []
    assert await maintenance.sweep(context_settings) == Swept()


async def test_two_sweepers_share_the_work(database: Database, context_settings: Settings):
    await abandoned(database, context_settings, 150)

    swept = await asyncio.gather(*(maintenance.sweep(context_settings) for _ in range(3)))

    assert sum(one.blobs_removed for one in swept) == 150
    assert sum(one.blobs_failed for one in swept) == 0
    assert (await blobs(database), files(context_settings)) == ([], [])


async def test_bytes_that_cannot_be_removed_keep_their_row(
    database: Database, context_settings: Settings, failing: list[FailingBackend], monkeypatch: pytest.MonkeyPatch
):
    await abandoned(database, context_settings, 3)
    with monkeypatch.context() as patched:
        patched.setattr(FailingBackend, "delete", _unavailable)
        assert await maintenance.sweep(context_settings) == Swept(blobs_failed=3)
    assert len(await blobs(database)) == 3
    # Their turn comes again when the lease of this sweeper is over, as if it had been killed.
    assert await maintenance.sweep(context_settings) == Swept()

    await make_due(database)
    assert (await maintenance.sweep(context_settings)).blobs_removed == 3
    assert (await blobs(database), files(context_settings)) == ([], [])


async def _unavailable(self: FailingBackend, key: str) -> None:
    raise Unavailable("cut", dependency="local")


async def test_a_blob_of_another_provider_waits_for_it(database: Database, context_settings: Settings):
    tenant_id = PRINCIPAL.tenant_id
    await database.tenant(tenant_id).query(
        "INSERT INTO context.blob (tenant_id, id, provider, key, due_at) VALUES (%s, %s, 'azure', 'a', now())",
        (tenant_id, an_id()),
    )

    assert await maintenance.sweep(context_settings) == Swept(blobs_failed=1)
    assert len(await blobs(database)) == 1


async def test_old_request_ids_are_forgotten(caller: Caller, database: Database, context_settings: Settings):
    old, new = an_id(), an_id()
    first = await caller.insert(old)
    await caller.insert(new)
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query(
        "UPDATE context.request SET created_at = now() - %s WHERE request_id = %s", (KEPT + timedelta(minutes=1), old)
    )

    await maintenance.sweep(context_settings)

    assert [str(row.request_id) for row in await tenant.query("SELECT request_id FROM context.request")] == [new]
    assert (await caller.insert(old)).working_memory_id != first.working_memory_id


async def test_a_running_service_sweeps_by_itself(database: Database, context_settings: Settings, callers: Any):
    await abandoned(database, context_settings, 3)

    async with context_service.app.running(
        context_settings.model_copy(update={"sweep_interval_s": 0.1}), callers=callers
    ):

        async def clean() -> bool:
            return not await blobs(database) and not files(context_settings)

        await until(clean)


# The command line, in processes of their own.


def environment(urls: Urls, folder: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": urls.service,
        "WORKING_MEMORY_STORAGE_PATH": str(folder),
        "API_KEY": KEY,
        "UPLOAD_LEASE_S": "1",
        **more,
    }


def sweep_command(commands: Commands, urls: Urls, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return commands.run("context_service", "storage", "sweep", *options, environment=environment(urls, folder))


@contextmanager
def service_process(urls: Urls, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A real server, as an operator starts it."""
    with (folder.parent / "service.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "context_service", "serve"],
            env=environment(urls, folder, CONTEXT_SERVICE_PORT="0"),
            stderr=log,
        )
    try:
        while not (port := _port(folder.parent / "service.log")):
            assert process.poll() is None, (folder.parent / "service.log").read_text()
            time.sleep(0.02)
        yield process, f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _port(log: Path) -> int:
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "serving":
            return int(event["port"])
    return 0


@pytest.mark.parametrize("sent_mib", [0, 5])
async def test_a_kill_during_an_upload_leaves_nothing_after_one_sweep(
    urls: Urls, database: Database, tmp_path: Path, commands: Commands, sent_mib: int
):
    folder = tmp_path / "blobs"
    with service_process(urls, folder) as (process, address):
        async with grpc.aio.insecure_channel(address) as channel:
            call = WorkingMemoryStub(channel).UploadBlob(metadata=(("authorization", f"Bearer {KEY}"),))
            await call.write(header())
            for _ in range(sent_mib):
                await call.write(chunk(noise(MIB)))

            async def under_way() -> bool:
                written = sum(path.stat().st_size for path in folder.rglob("*.part"))
                return len(await blobs(database)) == 1 and written >= (sent_mib - 2) * MIB

            await until(under_way)
            process.send_signal(signal.SIGKILL)
            with pytest.raises((grpc.aio.AioRpcError, asyncio.CancelledError)):
                await call

    assert await records(database) == 0
    early = json.loads(sweep_command(commands, urls, folder, "--json").stdout)
    if early["blobs_removed"] == 0:  # its lease was not over yet
        await asyncio.sleep(1)
        assert json.loads(sweep_command(commands, urls, folder, "--json").stdout) == {
            "records_purged": 0,
            "uploads_given_up": 0,
            "blobs_removed": 1,
            "uploads_abandoned": 1,
            "blobs_failed": 0,
            "databases_away": [],
        }
    assert await records(database) == 0
    assert await blobs(database) == []
    assert [path for path in folder.rglob("*") if path.is_file()] == []


async def test_an_acknowledged_upload_survives_a_kill(urls: Urls, database: Database, tmp_path: Path):
    folder = tmp_path / "blobs"
    with service_process(urls, folder) as (process, address):
        async with grpc.aio.insecure_channel(address) as channel:
            stored = await Caller(address, channel).upload(noise(3 * MIB))
            process.send_signal(signal.SIGKILL)
    with service_process(urls, folder) as (_, address):
        async with grpc.aio.insecure_channel(address) as channel:
            assert (await Caller(address, channel).download(blob_key=stored.blob_key))[1] == noise(3 * MIB)
            health = health_pb2_grpc.HealthStub(channel)
            answer = await health.Check(health_pb2.HealthCheckRequest(service="liveness"))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def test_the_sweep_command_says_what_it_did(
    urls: Urls, database: Database, context_settings: Settings, commands: Commands
):
    assert context_settings.working_memory_storage_path is not None
    await abandoned(database, context_settings, 2)
    await database.tenant(PRINCIPAL.tenant_id).query(
        "UPDATE context.blob SET state = 'deleting' WHERE id = (SELECT id FROM context.blob LIMIT 1)"
    )

    done = sweep_command(commands, urls, context_settings.working_memory_storage_path)

    assert done.returncode == 0
    assert "removed 2 blobs, 1 of them from unfinished uploads" in done.stdout
