"""`storage copy`: blobs change their provider while the services run, and nobody notices."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import grpc
import pytest
from pydantic import SecretStr

import context_service.app
from context_service.commands import maintenance
from context_service.settings import Settings
from context_service.working_memory.store.blobs.stored_blobs import BlobCount
from context_service.working_memory.upkeep.move_blobs import Copied
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.errors import InvalidArgument, ProviderNotConfigured, Unavailable
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ApiKeys
from tests.commands import Commands
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL
from tests.context_service.working_memory.callers import MIB, Caller, an_id, chunk, files, header, until
from tests.emulators.azurite import ACCOUNT, KEY, Azurite
from tests.emulators.proxy import Answer, proxied
from tests.noise import noise

CONTENTS = [b"", b"one", noise(MIB), noise(5 * MIB + 17)]


@pytest.fixture
def both(context_settings: Settings, azurite: Azurite) -> Settings:
    """Settings with a folder and an account, new blobs on the folder."""
    return context_settings.model_copy(
        update={
            "working_memory_storage_account": ACCOUNT,
            "working_memory_storage_key": type(context_settings.api_key)(KEY),
            "working_memory_storage_container": f"copy-{uuid.uuid4().hex}",
            "working_memory_storage_endpoint": azurite.endpoint(),
            "working_memory_storage_create_container": True,
        }
    )


@asynccontextmanager
async def serving(settings: Settings, callers: ApiKeys) -> AsyncIterator[Caller]:
    async with context_service.app.running(settings, callers=callers) as port:
        address = f"127.0.0.1:{port}"
        async with grpc.aio.insecure_channel(address) as channel:
            yield Caller(address, channel)


async def copied(
    settings: Settings,
    source: str = "local",
    target: str = "azure",
    *,
    dry_run: bool = False,
    on_progress: Callable[[Copied], None] = lambda done: None,
) -> Copied:
    return await maintenance.copy_blobs(settings, source, target, dry_run=dry_run, on_progress=on_progress)


async def test_every_blob_is_read_from_its_new_provider(both: Settings, callers: ApiKeys, database: Database):
    async with serving(both, callers) as caller:
        stored = [await caller.upload(content, name=f"{number}") for number, content in enumerate(CONTENTS)]
        twin = await caller.upload(CONTENTS[1])
        archived = await caller.upload(b"archived")
        await caller.DeleteBlob(blob_key=archived.blob_key)
        before = await caller.fetch(stored[2].working_memory_id)

        sizes = sum(map(len, CONTENTS)) + len(b"archived")
        count = BlobCount(blobs=5, size_bytes=sizes)
        assert await copied(both, dry_run=True) == Copied(to_do=count)
        assert await copied(both) == Copied(to_do=count, blobs=5, size_bytes=sizes, records=6)

        for one, content in zip([*stored, twin], [*CONTENTS, CONTENTS[1]], strict=True):
            record, back = await caller.download(blob_key=one.blob_key)
            assert (back, record.provider) == (content, "azure")
        moved = await caller.fetch(stored[2].working_memory_id)
        assert (moved.version, moved.updated_at) == (before.version, before.updated_at)  # nothing that a caller said
        listed = await caller.ListWMRecordActions(working_memory_id=stored[2].working_memory_id)
        _, move = listed.actions
        assert (move.kind, move.principal) == (pb.RECORD_ACTION_KIND_MOVED, "operator")
        assert json.loads(move.details_json) == {"from": "local", "to": "azure"}

        # The old bytes go after their grace time, and nothing else does.
        tenant = database.tenant(PRINCIPAL.tenant_id)
        await maintenance.sweep(both)  # what the twin brought
        assert len(files(both)) == 5
        await tenant.query("UPDATE context.blob SET due_at = now() WHERE provider = 'local'")
        assert (await maintenance.sweep(both)).blobs_removed == 5
        assert files(both) == []
        assert (await caller.download(blob_key=stored[3].blob_key))[1] == CONTENTS[3]
        assert await copied(both) == Copied(to_do=BlobCount())  # again is harmless


async def test_an_erasure_of_an_owner_finds_the_bytes_that_a_copy_left(both: Settings):
    keys = {key: replace(PRINCIPAL, subject=key, user_id=key) for key in ("ada", "bob")}
    async with (
        context_service.app.running(both, callers=ApiKeys(keys)) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        for key in keys:
            await Caller(f"127.0.0.1:{port}", channel, key).upload(f"a letter of {key}".encode())
        await copied(both)
        assert len(files(both)) == 2

        await maintenance.erase_subject(both, "default", "ada", dry_run=False, on_progress=lambda *_: None)
        await maintenance.sweep(both)
        left = [path.read_bytes() for path in files(both)]
        assert b"a letter of bob" in left
        assert b"a letter of ada" not in left


async def test_who_lives_in_a_database_that_is_down_is_left_out_and_the_rest_is_copied(
    both: Settings, callers: ApiKeys
):
    down = SecretStr("east=postgresql://nobody@127.0.0.1:1/nothing")
    async with serving(both, callers) as caller:
        await caller.upload(CONTENTS[1])
        done = await copied(both.model_copy(update={"database_urls": down}))
        assert (done.blobs, done.databases_away) == (1, ("east",))


async def test_switching_back_works(both: Settings, callers: ApiKeys):
    async with serving(both, callers) as caller:
        stored = await caller.upload(CONTENTS[3])
        for source, target in (("local", "azure"), ("azure", "local"), ("local", "azure")):
            assert (await copied(both, source, target)).blobs == 1
            record, back = await caller.download(blob_key=stored.blob_key)
            assert (back, record.provider) == (CONTENTS[3], target)


async def test_content_that_is_there_already_is_not_written_twice(both: Settings, callers: ApiKeys):
    async with serving(both, callers) as caller:
        stored = await caller.upload(CONTENTS[2])
    switched = both.model_copy(update={"working_memory_storage_provider": "azure"})
    async with serving(switched, callers) as caller:
        await caller.upload(CONTENTS[2])
        done = await copied(switched)

        assert (done.blobs, done.blobs_shared) == (1, 1)
        assert (await caller.download(blob_key=stored.blob_key))[1] == CONTENTS[2]


async def test_the_other_tenant_is_copied_too(both: Settings, callers: ApiKeys, database: Database):
    async with serving(both, callers) as caller:
        mine = await caller.upload(b"same")
        caller.metadata = (("authorization", "Bearer key-of-the-other-tenant"),)
        theirs = await caller.upload(b"same")
        done = await copied(both)

        assert (done.blobs, done.blobs_shared) == (2, 0)  # two tenants never share bytes
        assert (await caller.download(blob_key=theirs.blob_key))[0].provider == "azure"
        rows = await database.tenant(OTHER_PRINCIPAL.tenant_id).query(
            "SELECT key FROM context.blob WHERE provider = 'azure' AND state = 'live'"
        )
        assert [row.key.startswith(OTHER_PRINCIPAL.tenant_id.hex) for row in rows] == [True]
        assert mine.blob_key != theirs.blob_key


async def test_reads_that_run_while_the_row_flips_end_well(both: Settings, callers: ApiKeys):
    content = noise(40 * MIB)
    async with serving(both, callers) as caller:
        stored = await caller.upload(content)
        call = caller.stub.GetBlob(pb.GetBlobRequest(blob_key=stored.blob_key), metadata=caller.metadata)
        back = [(await call.read()).chunk for _ in range(3)]

        assert (await copied(both.model_copy(update={"blob_delete_grace_s": 0.0}))).blobs == 1
        await maintenance.sweep(both)

        while (answer := await call.read()) is not grpc.aio.EOF:
            back.append(answer.chunk)
        assert b"".join(back) == content


async def test_uploads_and_purges_beside_a_copy_lose_nothing(both: Settings, callers: ApiKeys, database: Database):
    """An upload may take a blob that is just being moved for its own, and a purge may take its last record."""
    async with serving(both, callers) as caller:
        contents = [b"content %d" % number for number in range(30)]
        first = [await caller.upload(content) for content in contents]
        stop = asyncio.Event()
        later: dict[str, bytes] = {}

        async def upload() -> None:
            while not stop.is_set():
                for content in contents:
                    later[(await caller.upload(content)).blob_key] = content

        async def purge() -> None:
            for one in first[::3]:
                request = pb.DeleteWMRecordRequest(working_memory_id=one.working_memory_id, purge=True)
                await caller.call("DeleteWMRecord", request)

        uploading = asyncio.create_task(upload())
        for source, target in (("local", "azure"), ("azure", "local")):
            await asyncio.gather(copied(both, source, target), *([purge()] if target == "azure" else []))
        stop.set()
        await uploading
        await maintenance.sweep(both)

        for key, content in later.items():
            assert (await caller.download(blob_key=key))[1] == content
        for number, one in enumerate(first):
            if number % 3:
                assert (await caller.download(blob_key=one.blob_key))[1] == contents[number]
    report = await maintenance.fsck(both, quick=False, repair=False, on_progress=lambda done: None)
    assert report.problems == []
    states = await database.tenant(PRINCIPAL.tenant_id).query("SELECT state FROM context.blob WHERE state = 'writing'")
    assert states == []


async def test_a_copy_that_was_broken_off_goes_on(both: Settings, callers: ApiKeys):
    async with serving(both, callers) as caller:
        stored = {(await caller.upload(noise(MIB + number))).blob_key: noise(MIB + number) for number in range(12)}
        enough = asyncio.Event()

        def on_progress(done: Copied) -> None:
            if done.blobs >= 4:
                enough.set()

        copying = asyncio.create_task(copied(both, on_progress=on_progress))
        reached = asyncio.create_task(enough.wait())
        await asyncio.wait([copying, reached], return_when=asyncio.FIRST_COMPLETED)
        for task in (copying, reached):
            task.cancel()
        await asyncio.gather(copying, reached, return_exceptions=True)
        for key, content in stored.items():
            assert (await caller.download(blob_key=key))[1] == content

        rest = await copied(both)

        assert 0 < rest.blobs == rest.to_do.blobs <= 8
        for key, content in stored.items():
            record, back = await caller.download(blob_key=key)
            assert (back, record.provider) == (content, "azure")
    await maintenance.sweep(both)
    report = await maintenance.fsck(both, quick=False, repair=False, on_progress=lambda done: None)
    assert report.problems == []


async def test_a_short_outage_does_not_end_a_copy(
    both: Settings, callers: ApiKeys, azurite: Azurite, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("context_service.working_memory.upkeep.move_blobs._PAUSE_S", 0.1)
    async with proxied(azurite.port) as proxy:
        through = both.model_copy(update={"working_memory_storage_endpoint": azurite.endpoint(proxy.port)})
        async with serving(both, callers) as caller:
            stored = await caller.upload(CONTENTS[3])
        refused = 0

        def fault(request: Any) -> Answer | None:
            nonlocal refused
            refused += request.method == "PUT" and "comp=block" in request.target
            return Answer(status=503) if 0 < refused <= 8 else None

        proxy.fault = fault
        assert (await copied(through)).blobs == 1
        proxy.fault = lambda request: Answer(status=503)
        with pytest.raises(Unavailable):
            await copied(through, "azure", "local")
    async with serving(both, callers) as caller:
        assert (await caller.download(blob_key=stored.blob_key))[1] == CONTENTS[3]


async def test_a_damaged_blob_stays_where_it_is(both: Settings, callers: ApiKeys):
    async with serving(both, callers) as caller:
        await caller.upload(b"sound")
        await caller.upload(b"to be damaged")
        (path,) = [path for path in files(both) if path.read_bytes() == b"to be damaged"]
        path.write_bytes(b"is now damaged")

        done = await copied(both)

        assert (done.blobs, done.blobs_damaged) == (1, 1)
        assert path.exists()


async def test_a_copy_that_cannot_be_is_refused_at_once(both: Settings, context_settings: Settings):
    with pytest.raises(InvalidArgument):
        await copied(both, "azure", "azure")
    with pytest.raises(ProviderNotConfigured, match="set WORKING_MEMORY_GCS_BUCKET"):
        await copied(both, "local", "gcs")
    with pytest.raises(ProviderNotConfigured, match="set WORKING_MEMORY_STORAGE_ACCOUNT"):
        await copied(context_settings, "local", "azure")
    nowhere = {"working_memory_storage_create_container": False, "working_memory_storage_container": "nowhere"}
    missing = both.model_copy(update=nowhere)
    with pytest.raises(ProviderNotConfigured, match="does not exist"):
        await copied(missing)


async def test_an_upload_that_runs_is_not_copied(both: Settings, callers: ApiKeys, database: Database):
    async with serving(both, callers) as caller:
        go_on = asyncio.Event()

        async def messages() -> AsyncIterator[pb.UploadBlobRequest]:
            yield header(size_bytes=6)
            yield chunk(b"abc")
            await go_on.wait()
            yield chunk(b"def")

        uploading = asyncio.create_task(caller.send(messages()))
        await until(lambda: database.tenant(PRINCIPAL.tenant_id).query("SELECT id FROM context.blob"))
        assert (await copied(both)).blobs == 0
        go_on.set()
        stored = await uploading

        assert (await caller.download(blob_key=stored.blob_key))[1] == b"abcdef"


async def test_the_command_copies_and_says_so(both: Settings, callers: ApiKeys, commands: Commands):
    async with serving(both, callers) as caller:
        await caller.upload(CONTENTS[3], entity_node_id=an_id())
    command = ("storage", "copy", "--from", "local", "--to", "azure")
    run = partial(commands.run, "context_service", *command, environment=environment_of(both))

    dry = await asyncio.to_thread(run, "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "1 blobs, 5.0 MiB, to copy\n")
    done = await asyncio.to_thread(run, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["blobs"], said["records"], said["to_do"]["blobs"], said["dry_run"]) == (1, 1, 1, False)


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the variables that make these settings."""
    variables = {}
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        if value != field.get_default(call_default_factory=True):
            secret = getattr(value, "get_secret_value", None)
            variables[name.upper()] = str(secret() if secret else value)
    return variables
