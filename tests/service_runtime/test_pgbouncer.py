"""Behind PgBouncer in transaction mode: two connections to Postgres, handed on between all calls of two tenants."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import context_service.app
import entity_service.app
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.errors import NodeNotFound
from tests.conftest import BESIDE, KEY, OTHER_KEY, Addresses, Urls
from tests.ports import free_port

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@pytest.fixture
def pooled(urls: Urls, tmp_path: Path) -> Iterator[str]:
    """The services' URL, through a PgBouncer that has two connections."""
    if PGBOUNCER is None:
        pytest.skip("no pgbouncer; Debian's package has one")
    parts = urlsplit(urls.service)
    port = free_port()
    (tmp_path / "users").write_text(f'"{parts.username}" "{parts.password}"\n')
    (tmp_path / "pgbouncer.ini").write_text(
        f"""
        [databases]
        * = host=127.0.0.1 port={parts.port}
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = scram-sha-256
        auth_file = {tmp_path}/users
        pool_mode = transaction
        default_pool_size = 2
        server_lifetime = 3600
        """.replace("        ", "")
    )
    as_nobody = ["-u", "nobody"] if os.geteuid() == 0 else []
    if as_nobody:
        nobody = pwd.getpwnam("nobody").pw_uid
        for path in (tmp_path / "users", tmp_path / "pgbouncer.ini"):
            os.chown(path, nobody, -1)
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
                folder.chmod(folder.stat().st_mode | 0o001)
    process = subprocess.Popen(
        [PGBOUNCER, *as_nobody, tmp_path / "pgbouncer.ini"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = urls.service.replace(f":{parts.port}/", f":{port}/")
    try:
        give_up_at = time.monotonic() + 30
        while True:
            assert process.poll() is None, "pgbouncer ended"
            try:
                psycopg.connect(url, connect_timeout=5).close()
                break
            except psycopg.OperationalError:
                assert time.monotonic() < give_up_at, "pgbouncer does not answer"
                time.sleep(0.05)
        if urls.service in BESIDE:
            BESIDE[url] = BESIDE[urls.service]
        yield url
    finally:
        BESIDE.pop(url, None)
        process.terminate()
        process.wait()


@pytest.fixture
async def stack(pooled: str, context_settings, entity_settings, callers) -> AsyncIterator[Addresses]:
    changes = {"database_url": type(entity_settings.database_url)(pooled), "database_prepared_statements": False}
    async with AsyncExitStack() as opened:
        settings = entity_settings.model_copy(update=changes)
        entity = f"127.0.0.1:{await opened.enter_async_context(entity_service.app.running(settings, callers=callers))}"
        settings = context_settings.model_copy(update={**changes, "entity_service_url": entity})
        port = await opened.enter_async_context(context_service.app.running(settings, callers=callers))
        yield Addresses(context=f"127.0.0.1:{port}", entity=entity)


async def test_tenants_share_connections_and_nothing_else(stack: Addresses):
    async with (
        AsyncEntityClient(stack.entity, api_key=KEY) as graph,
        AsyncContextClient(stack.context, api_key=KEY) as context,
    ):

        async def conversation(key: str, number: int) -> str:
            session = NodeInput("Session", name=key)
            turns = [NodeInput("Turn", data={"user_input": f"{key} {number} {turn}"}) for turn in range(5)]
            edges = [EdgeInput(session.id, turn.id, "Contains") for turn in turns]
            await graph.with_credential(key).graph.write([session, *turns], edges)
            messages = await context.with_credential(key).history.stream(session.id)
            assert [message.content for message in messages] == [f"{key} {number} {turn}" for turn in range(5)]
            file = await context.with_credential(key).blobs.upload(f"{key} {number}".encode(), name="file")
            assert (
                await context.with_credential(key).blobs.get_content(file.working_memory_id)
                == f"{key} {number}".encode()
            )
            await graph.with_credential(key).graph.update_node_data(session.id, {"number": number})
            return session.id

        everything = [conversation(key, number) for key in (KEY, OTHER_KEY) for number in range(20)]
        sessions = await asyncio.gather(*everything)
        for node_id in sessions[20:]:
            with pytest.raises(NodeNotFound):
                await graph.graph.get_node(node_id)
