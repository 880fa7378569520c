"""Services that are killed while they erase a subject: started again, they go on by themselves, to the same end."""

from __future__ import annotations

import asyncio
import contextlib
import random
from contextlib import AsyncExitStack
from pathlib import Path

from contextkeep import AsyncContextClient, AsyncEntityClient, NodeInput
from contextkeep.errors import Unavailable
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import cloned
from tests.faults.processes import Service
from tests.hostile.tables import reading
from tests.ports import free_port

ADA, BOB = "ada-lovelace", "bob-jones"
WITHIN_S = 0.8  # all of it takes a second or two
DONE_S = 90
# Rows that the services change behind every call.
CHANGING = {"context.outbox", "context.message_record", "context.blob"}


async def filled(context: str, entity: str, key: str, *, times: int) -> None:
    async with AsyncContextClient(context, api_key=key) as own, AsyncEntityClient(entity, api_key=key) as graph:
        context_id = None
        for _ in range(times):
            said = [f"message {n} of {times}" for n in range(500)]
            context_id = (await own.contexts.append(said, context_id))[0].context_id
            await graph.graph.write([NodeInput("Turn", data={"n": n}) for n in range(200)])
            files = (own.blobs.upload(f"file {n} of {key}".encode(), name="file") for n in range(8))
            await asyncio.gather(*files, *(own.memories.retain(f"It is fact {n} of {times}.") for n in range(8)))


async def test_services_that_are_killed_while_they_erase_go_on_to_the_same_end(
    postgres: EmbeddedPostgres, tmp_path: Path
):
    """At random moments; and what is another's is the same, byte for byte."""
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))
        keys = KeyAdministration(urls.admin)
        scopes = ["read", "write"]
        admin_key = keys.create(NewKey(tenant="default", subject="admin", scopes=[*scopes, "admin"]))
        of_ada, of_bob = (
            keys.create(NewKey(tenant="default", subject=user, user_id=user, scopes=scopes)) for user in (ADA, BOB)
        )
        environment = {"DATABASE_URL": urls.service}
        entity = Service("entity_service", free_port(), environment=environment, log=tmp_path / "entity.log")
        of_context = {"ENTITY_SERVICE_URL": entity.address, "WORKING_MEMORY_STORAGE_PATH": str(tmp_path / "blobs")}
        context = Service(
            "context_service", free_port(), environment=environment | of_context, log=tmp_path / "context.log"
        )
        for service in (entity, context):
            stack.push_async_callback(service.kill)
        await asyncio.gather(entity.start(), context.start(until="liveness"))
        await context.until_serving()
        await filled(context.address, entity.address, of_ada, times=4)
        await filled(context.address, entity.address, of_bob, times=1)
        tables = stack.enter_context(reading(urls))
        admin = await stack.enter_async_context(AsyncContextClient(context.address, api_key=admin_key, retries=5))
        there_were = (await admin.erasures.plan(ADA)).counts
        before = tables.rows_of(DEFAULT_TENANT_ID)
        files = {path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file()}

        erasure = await admin.erasures.erase(ADA)
        for service in (context, entity):
            await asyncio.sleep(random.uniform(0, WITHIN_S))
            await service.kill()
            await service.start(until="liveness")
        async with asyncio.timeout(DONE_S):
            await context.until_serving()
            while erasure.state != "finished":
                await asyncio.sleep(0.2)
                with contextlib.suppress(Unavailable):  # clients connect anew
                    erasure = await admin.erasures.get(erasure.erasure_id)

        kinds = ("context.context", "context.message", "context.wm_record", "context.memory", "entity.node")
        assert {kind: erasure.removed[kind] for kind in kinds} == {kind: there_were[kind] for kind in kinds}
        assert not (await admin.erasures.plan(ADA)).counts
        after = tables.rows_of(DEFAULT_TENANT_ID)
        assert not [row for rows in after.values() for row in rows if ADA in row]
        for table, rows in before.items():
            assert table in CHANGING or not {row for row in rows if BOB in row} - after[table], table
        left = {path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file()}
        assert {one for one in left if one.startswith(b"file")} == {one for one in files if of_bob.encode() in one}
