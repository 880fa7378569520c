"""`storage fsck`: what is damaged, missing, unknown or not needed is found, and mended where that is possible."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from context_service.blobs import azure
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.upkeep.fsck import Report
from contextkeep import ArtifactInput, AsyncContextClient, FileInput, MessageInput, PartInput
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import BlobCorrupted
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ApiKeys
from service_runtime.values.ids import new_id
from tests.commands import Commands
from tests.conftest import KEY, PRINCIPAL
from tests.context_service.working_memory.callers import MIB, Caller, blobs, files
from tests.context_service.working_memory.test_copy import both, copied, environment_of, serving
from tests.noise import noise

__all__ = ["both"]

CONTENT = noise(2 * MIB + 5)
DAMAGES: list[Callable[[Path], Any]] = [
    lambda path: path.write_bytes(b"\xff" + CONTENT[1:]),
    lambda path: path.write_bytes(CONTENT[:-1]),
    lambda path: path.unlink(),
]


@pytest.fixture
def context_settings(context_settings: Settings) -> Settings:
    """Without a sweep of the service's own, which could come between two checks and remove what both count."""
    return context_settings.model_copy(update={"sweep_interval_s": 86_400.0})


async def checked(settings: Settings, *, quick: bool = False, repair: bool = False) -> Report:
    return await maintenance.fsck(settings, quick=quick, repair=repair, on_progress=lambda report: None)


def kinds(report: Report) -> list[tuple[str, bool]]:
    return sorted((problem.kind, problem.repaired) for problem in report.problems)


async def test_what_is_as_it_should_be_is_clean(caller: Caller, context_settings: Settings):
    for content in (b"", b"x", CONTENT, CONTENT):
        await caller.upload(content)
    archived = await caller.upload(b"archived")
    await caller.DeleteBlob(blob_key=archived.blob_key)

    for quick in (False, True):
        report = await checked(context_settings, quick=quick)
        assert (report.problems, report.is_clean) == ([], True)
        assert (report.blobs, report.stored, report.foreign) == (4, 5, 0)  # the twin's bytes wait for the sweeper
        assert report.to_do.size_bytes == report.size_bytes == len(CONTENT) + 9


async def test_files_of_artifacts_and_tasks_are_checked_and_their_damage_is_named(
    caller: Caller, context_settings: Settings
):
    async with AsyncContextClient(caller.address, api_key=KEY) as context:
        context_id = (await context.contexts.send("Draw")).context_id
        status = MessageInput(role="assistant", parts=[PartInput(file=FileInput(data=CONTENT))])
        task = await context.tasks.create(context_id, state="working", status_message=status)
        chart = PartInput(file=FileInput(data=b"a chart"))
        await context.artifacts.put(task.task_id, ArtifactInput(artifact_id="chart", parts=[chart]))
        (part,) = (await context.artifacts.get(task.task_id, artifact_id="chart")).parts
    report = await checked(context_settings)
    assert (report.problems, report.blobs, report.size_bytes) == ([], 2, len(CONTENT) + 7)

    (path,) = [path for path in files(context_settings) if path.read_bytes() == b"a chart"]
    path.write_bytes(b"a chArt")
    (problem,) = (await checked(context_settings)).problems
    assert problem.kind == "damaged"
    assert part.file is not None
    assert problem.working_memory_ids == (part.file.working_memory_id,)


@pytest.mark.parametrize("damage", DAMAGES, ids=["a byte changed", "cut", "gone"])
async def test_damage_is_found_and_healed_by_uploading_again(
    caller: Caller, context_settings: Settings, database: Database, damage: Callable[[Path], Any]
):
    stored = await caller.upload(CONTENT)
    (path,) = files(context_settings)
    damage(path)

    found = await checked(context_settings)
    assert kinds(found) == [("damaged", False)]
    assert found.problems[0].working_memory_ids == (stored.working_memory_id,)
    assert found.problems[0].key in str(path)
    assert await damaged_rows(database) == 0  # without repair nothing is changed

    tried = await checked(context_settings, repair=True)
    assert kinds(tried) == [("damaged", False)]
    assert "upload the same content again" in tried.problems[0].what

    again = await caller.upload(CONTENT)  # is not taken for what is damaged
    assert (await caller.download(blob_key=again.blob_key))[1] == CONTENT
    with pytest.raises(BlobCorrupted):
        await caller.download(blob_key=stored.blob_key)

    assert kinds(await checked(context_settings, repair=True)) == [("damaged", True)]
    assert (await caller.download(blob_key=stored.blob_key))[1] == CONTENT
    assert (await checked(context_settings)).problems == []
    listed = await caller.ListWMRecordActions(working_memory_id=stored.working_memory_id)
    assert [action.kind for action in listed.actions][1:] == [pb.RECORD_ACTION_KIND_MOVED]


async def test_a_quick_check_sees_what_is_missing_or_cut(caller: Caller, context_settings: Settings):
    for content in (CONTENT, CONTENT[1:], CONTENT[2:]):
        await caller.upload(content)
    whole, cut, gone = sorted(files(context_settings), key=lambda path: -path.stat().st_size)
    whole.write_bytes(b"\xff" + CONTENT[1:])  # only the full check reads the first MiB
    cut.write_bytes(CONTENT[1:-1])
    gone.unlink()

    assert kinds(await checked(context_settings, quick=True)) == [("damaged", False)] * 2
    assert kinds(await checked(context_settings)) == [("damaged", False)] * 3


async def test_a_damaged_blob_is_healed_from_the_provider_that_it_came_from(both: Settings, callers: ApiKeys):
    async with serving(both, callers) as caller:
        stored = await caller.upload(CONTENT)
        await copied(both)
        async with azure.opened(both) as backend:
            (page,) = [page async for page in backend.list_pages("")]
            await backend.delete(page[0].key)

        assert kinds(await checked(both)) == [("damaged", False)]
        report = await checked(both, repair=True)

        assert kinds(report) == [("damaged", True)]
        assert "from local" in report.problems[0].what
        record, back = await caller.download(blob_key=stored.blob_key)
        assert (back, record.provider) == (CONTENT, "azure")
        assert (await checked(both)).problems == []


async def test_a_blob_that_is_sound_again_is_used_again(caller: Caller, context_settings: Settings, database: Database):
    """Its disk was away, say, and came back."""
    stored = await caller.upload(CONTENT)
    (path,) = files(context_settings)
    path.rename(path.with_suffix(".away"))
    assert kinds(await checked(context_settings, repair=True))[0] == ("damaged", False)
    path.with_suffix(".away").rename(path)
    assert await damaged_rows(database) == 1

    assert kinds(await checked(context_settings)) == [("was_damaged", False)]
    assert kinds(await checked(context_settings, repair=True)) == [("was_damaged", True)]
    assert await damaged_rows(database) == 0
    again = await caller.upload(CONTENT)
    assert (await caller.download(blob_key=stored.blob_key))[1] == CONTENT
    assert (await caller.download(blob_key=again.blob_key))[1] == CONTENT
    assert [row.state for row in await blobs(database)].count("live") == 1


@pytest.mark.parametrize("name", ["whole", "killed.part"])
async def test_bytes_that_nobody_knows_go_after_the_grace_time(
    caller: Caller, context_settings: Settings, database: Database, name: str
):
    """A double fault left them: the upload failed, and so did its clearing, behind its row."""
    stored = await caller.upload(CONTENT)
    (path,) = files(context_settings)
    orphan = path.with_name("0" * 32 + (".part" if name.endswith(".part") else ""))
    orphan.write_bytes(b"orphan")

    assert kinds(await checked(context_settings)) == [("orphan", False)]
    assert kinds(await checked(context_settings, repair=True)) == [("orphan", True)]
    assert (await checked(context_settings)).problems == []

    await maintenance.sweep(context_settings)
    assert orphan.exists()  # there is time to take it back
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.blob SET due_at = now() WHERE state = 'deleting'")
    await maintenance.sweep(context_settings)
    assert files(context_settings) == [path]
    assert (await caller.download(blob_key=stored.blob_key))[1] == CONTENT


async def test_the_wrong_database_gives_nothing_away(caller: Caller, context_settings: Settings):
    """Its operator may have named the wrong one; what is stored is then unknown, nearly all of it."""
    await caller.upload(CONTENT)
    (path,) = files(context_settings)
    for number in range(20):
        path.with_name(f"{number:032}").write_bytes(b"of another database")

    report = await checked(context_settings, repair=True)

    assert kinds(report) == [("orphan", False)] * 20
    assert "is it the right one?" in report.problems[0].what


async def test_what_no_service_of_this_database_made_is_counted_and_left(caller: Caller, context_settings: Settings):
    stored = await caller.upload(CONTENT)
    (path,) = files(context_settings)
    root = context_settings.working_memory_storage_path
    assert root is not None
    other = root / new_id().hex / path.parent.name / path.name
    other.parent.mkdir(parents=True)
    other.write_bytes(b"of a tenant that is not here")
    (root / "readme").write_bytes(b"of a person")

    report = await checked(context_settings, repair=True)

    assert (report.problems, report.foreign, report.stored) == ([], 2, 3)
    assert (await caller.download(blob_key=stored.blob_key))[1] == CONTENT


async def test_a_blob_without_a_record_is_let_go(caller: Caller, context_settings: Settings, database: Database):
    stored = await caller.upload(CONTENT)
    tenant = database.tenant(PRINCIPAL.tenant_id)
    await tenant.query("DELETE FROM context.wm_record WHERE id = %s", (stored.working_memory_id,))

    assert kinds(await checked(context_settings)) == [("unreferenced", False)]
    assert kinds(await checked(context_settings, repair=True)) == [("unreferenced", True)]
    assert [row.state for row in await blobs(database)] == ["deleting"]


async def test_a_provider_that_is_not_configured_is_said(
    caller: Caller, context_settings: Settings, database: Database
):
    await caller.upload(CONTENT)
    await database.tenant(PRINCIPAL.tenant_id).query("UPDATE context.blob SET provider = 'gcs'")

    report = await checked(context_settings, repair=True)

    assert ("unreadable", False) in kinds(report)
    assert "WORKING_MEMORY_GCS_BUCKET" in report.problems[0].what
    assert not report.is_clean


async def test_a_check_beside_uploads_and_purges_is_clean(caller: Caller, context_settings: Settings):
    stop = asyncio.Event()

    async def churn(worker: int) -> None:
        number = 0
        while not stop.is_set():
            stored = await caller.upload(b"%d %d" % (worker, number % 5))
            request = pb.DeleteWMRecordRequest(working_memory_id=stored.working_memory_id, purge=True)
            await caller.call("DeleteWMRecord", request)
            await maintenance.sweep(context_settings)
            number += 1

    # Without a grace time bytes go at once: the hardest case.
    churning = [asyncio.create_task(churn(worker)) for worker in range(3)]
    for _ in range(4):
        assert (await checked(context_settings)).problems == []
    stop.set()
    await asyncio.gather(*churning)


async def test_the_command_says_what_it_found_and_how_it_ended(
    both: Settings, callers: ApiKeys, context_settings: Settings, commands: Commands
):
    async with serving(context_settings, callers) as caller:
        stored = await caller.upload(CONTENT)
    (path,) = files(context_settings)
    run = partial(commands.run, "context_service", "storage", "fsck", environment=environment_of(context_settings))

    clean = await asyncio.to_thread(run)
    assert clean.returncode == 0, clean.stderr
    assert clean.stdout.splitlines()[-1] == "no problems"
    path.unlink()
    found = await asyncio.to_thread(run, "--json")
    assert found.returncode == 1
    said = json.loads(found.stdout)
    assert said["is_clean"] is False
    assert said["problems"][0]["working_memory_ids"] == [stored.working_memory_id]
    told = await asyncio.to_thread(run)
    (row,) = (line for line in told.stdout.splitlines() if line.startswith("damaged"))
    assert row.split()[2:4] == [said["problems"][0]["key"], stored.working_memory_id]  # whole: they are to be copied


async def damaged_rows(database: Database) -> int:
    rows = await database.tenant(PRINCIPAL.tenant_id).query("SELECT id FROM context.blob WHERE damaged_at IS NOT NULL")
    return len(rows)
