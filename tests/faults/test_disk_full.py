"""No room left: the caller is told, nothing half-written is visible, and it works again when there is room."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import grpc
import psycopg
import pytest
from psycopg import sql

import context_service.app
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.upkeep.sweep import Swept
from contextkeep import AsyncContextClient
from contextkeep.errors import ContextKeepError, StorageFull, Unavailable
from contextkeep.inputs import NodeInput
from service_runtime.databases import embedded_postgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import Urls
from tests.context_service.working_memory.callers import MIB, blobs, files, records
from tests.faults import disks
from tests.faults.conftest import World
from tests.faults.disks import Disk
from tests.faults.postgres import FAST, IMMEDIATE
from tests.faults.processes import Service
from tests.noise import noise
from tests.ports import free_port


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that Postgres's account can enter too; pytest closes its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def disk(open_folder: Path) -> Iterator[Disk]:
    with disks.small(open_folder / "disk", 8 * MIB, files_max=200) as made:
        yield made


@pytest.fixture
def settings(context_settings: Settings, disk: Disk) -> Settings:
    return context_settings.model_copy(update={"working_memory_storage_path": disk.path / "blobs"})


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[AsyncContextClient]:
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(context_service.app.running(settings))
        yield await stack.enter_async_context(AsyncContextClient(f"127.0.0.1:{port}", retries=0))


async def read(client: AsyncContextClient, working_memory_id: str) -> bytes:
    return await client.blobs.get_content(working_memory_id)


async def test_an_upload_that_does_not_fit_leaves_nothing_and_the_next_one_works(
    client: AsyncContextClient, disk: Disk, settings: Settings, database: Database
):
    kept = await client.blobs.upload(noise(2 * MIB), name="kept")

    with pytest.raises(StorageFull) as caught:
        await client.blobs.upload(noise(20 * MIB), name="too much")

    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (len(files(settings)), await records(database)) == (1, 1)
    await maintenance.sweep(settings)
    assert [row.state for row in await blobs(database)] == ["live"]
    assert await read(client, kept.working_memory_id) == noise(2 * MIB)

    await client.blobs.upload(noise(3 * MIB)[: 2 * MIB + 1], name="fits")
    disk.resize(64 * MIB)
    await client.blobs.upload(noise(20 * MIB), name="fits now")


async def test_of_uploads_that_compete_for_the_last_room_each_is_whole_or_not_there(
    client: AsyncContextClient, settings: Settings, database: Database
):
    contents = [bytes([number]) + noise(MIB) for number in range(16)]

    done = await asyncio.gather(
        *(client.blobs.upload(content, name="competing") for content in contents), return_exceptions=True
    )

    stored = [(one, content) for one, content in zip(done, contents, strict=True) if not isinstance(one, Exception)]
    assert {type(one) for one in done if isinstance(one, Exception)} == {StorageFull}
    assert 1 <= len(stored) < len(contents)
    for one, content in stored:
        assert await read(client, one.working_memory_id) == content
    await maintenance.sweep(settings)
    assert len(files(settings)) == len(stored) == len(await blobs(database)) == await records(database)


async def test_a_disk_without_a_file_left_is_full_too(client: AsyncContextClient, disk: Disk, database: Database):
    for number in range(300):
        try:
            (disk.path / f"file{number}").touch()
        except OSError:
            break

    with pytest.raises(StorageFull):
        await client.blobs.upload(b"small", name="small")

    for path in disk.path.glob("file*"):
        path.unlink()
    await client.blobs.upload(b"small", name="small")
    assert await records(database) == 1


async def test_a_full_disk_does_not_keep_the_sweeper_from_making_room(
    client: AsyncContextClient, disk: Disk, settings: Settings, database: Database
):
    await client.blobs.upload(noise(4 * MIB), name="to go")
    tenant = database.tenant(DEFAULT_TENANT_ID)
    await tenant.query("DELETE FROM context.wm_record")
    await tenant.query("UPDATE context.blob SET state = 'deleting', due_at = now()")
    disk.fill()

    assert await maintenance.sweep(settings) == Swept(blobs_removed=1)

    await client.blobs.upload(noise(3 * MIB), name="room again")


async def test_a_limit_on_the_size_of_files_is_a_full_disk(urls: Urls, tmp_path: Path, database: Database):
    """What an ordinary user can be given: `ulimit -f`, a quota."""
    folder = tmp_path / "blobs"
    service = Service(
        "context_service",
        free_port(),
        environment={"DATABASE_URL": urls.service, "WORKING_MEMORY_STORAGE_PATH": str(folder)},
        log=tmp_path / "context.log",
    )
    try:
        await service.start(until="contextkeep.context.v1.WorkingMemory")
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (2 * MIB, resource.RLIM_INFINITY))
        async with AsyncContextClient(service.address, retries=0) as client:
            with pytest.raises(StorageFull):
                await client.blobs.upload(noise(3 * MIB), name="too much")
            assert [path for path in folder.rglob("*") if path.is_file()] == []
            await client.blobs.upload(noise(2 * MIB), name="fits")
            resource.prlimit(
                service.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
            await client.blobs.upload(noise(3 * MIB), name="fits now")
    finally:
        await service.kill()
    assert await records(database) == 2


def give_to_postgres(folder: Path) -> None:
    account = embedded_postgres._account()
    for path in (folder, *folder.rglob("*")):
        if account is not None:
            os.chown(path, account.pw_uid, account.pw_gid)


def batch() -> list[NodeInput]:
    """Return nodes of two megabytes that nothing can compress."""
    return [NodeInput("Filler", data={"text": secrets.token_hex(2048)}) for _ in range(500)]


async def write_until_it_fails(world: World) -> tuple[list[list[NodeInput]], list[NodeInput], ContextKeepError]:
    """Write batches; return those that were acknowledged, the one that failed, and how."""
    written: list[list[NodeInput]] = []
    for _ in range(2000):
        nodes = batch()
        try:
            await world.entity.graph.write(nodes, timeout_s=60)
        except ContextKeepError as error:
            return written, nodes, error
        written.append(nodes)
    raise AssertionError("there was room for everything")


async def missing(world: World, nodes: list[NodeInput]) -> int:
    return len((await world.entity.graph.get_nodes([node.id for node in nodes])).missing_ids)


@contextmanager
def tables_on(disk: Disk, world: World, *tables: str) -> Iterator[None]:
    """Let Postgres keep some tables on a disk for the block."""
    folder = disk.path / "tables"
    folder.mkdir()
    give_to_postgres(folder)
    with psycopg.connect(world.postgres.server.url(role="postgres"), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(str(folder)))
        for table in tables:
            connection.execute(sql.SQL("ALTER TABLE {} SET TABLESPACE small").format(sql.SQL(table)))
        try:
            yield
        finally:
            for table in tables:
                connection.execute(sql.SQL("ALTER TABLE {} SET TABLESPACE pg_default").format(sql.SQL(table)))
            connection.execute("DROP TABLESPACE small")


async def test_a_postgres_without_room_for_its_tables_is_exhausted_and_still_answers(world: World, disk: Disk):
    with tables_on(disk, world, "entity.node", "context.wm_record", "context.blob"):
        written, failed, error = await write_until_it_fails(world)

        assert isinstance(error, StorageFull)
        assert error.metadata["dependency"] == "postgres"
        assert await missing(world, failed) == len(failed)  # all or none
        assert sum([await missing(world, nodes) for nodes in written]) == 0
        while True:  # a record may still find room in a page that is there
            try:
                await world.context.records.insert("data/json", "full", content={"text": "x" * 4000})
            except StorageFull:
                break

        disk.resize(64 * MIB)
        await world.entity.graph.write(failed)
        await world.context.blobs.upload(b"room again", name="room again")
        assert await missing(world, failed) == 0


def move_log(log: Path, to: Path) -> None:
    shutil.copytree(log, to)
    give_to_postgres(to)


async def test_a_postgres_without_room_for_its_log_stops_and_loses_nothing(world: World, open_folder: Path):
    """It panics: to go on without a log would be to lose what it acknowledges."""
    with disks.small(open_folder / "disk", 1024 * MIB) as disk:
        log, moved = world.postgres.server.data_folder / "pg_wal", disk.path / "pg_wal"
        await world.postgres.stop(FAST)
        move_log(log, moved)
        shutil.rmtree(log)
        log.symlink_to(moved)
        await world.postgres.start()
        disk.resize(disk.used_bytes() + 4 * MIB)

        written, failed, error = await write_until_it_fails(world)

        assert isinstance(error, Unavailable)
        assert error.metadata["dependency"] == "postgres"
        disk.resize(1024 * MIB)
        await world.postgres.restart(IMMEDIATE)
        assert len(written) > 1
        assert sum([await missing(world, nodes) for nodes in written]) == 0
        assert await missing(world, failed) in (0, len(failed))
        await world.entity.graph.write(batch())

        await world.postgres.stop(FAST)
        log.unlink()
        move_log(moved, log)
        await world.postgres.start()
