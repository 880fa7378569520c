"""What the soak kills: Postgres, both services, sweeps and migrations, each a process of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from random import Random

import psycopg
from psycopg import sql

import context_service.app
import entity_service.app
from context_service.commands import maintenance
from context_service.settings import Settings
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import NotFound, Unavailable
from service_runtime.databases.embedded_postgres import OWNER_ROLE, SERVICE_ROLE
from service_runtime.databases.migrate import migrate
from soak.clouds import Cloud
from soak.operations import Clients
from tests.faults import postgres as breakable
from tests.faults.postgres import Postgres
from tests.faults.processes import Service, spawn
from tests.migrations.schema import dump
from tests.ports import free_port
from tests.scraping import scraped

# What must be true of the tables whenever nobody writes; each statement finds what is wrong.
INVARIANTS = {
    "a record whose blob is not live": """
        SELECT r.id::text FROM context.wm_record r JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
        WHERE b.state <> 'live'
    """,
    "a live blob without a record": """
        SELECT b.id::text FROM context.blob b WHERE b.state = 'live'
            AND NOT EXISTS (SELECT FROM context.wm_record r WHERE r.tenant_id = b.tenant_id AND r.blob_id = b.id)
    """,
    "a record that was not created once": """
        SELECT r.id::text FROM context.wm_record r
        WHERE (SELECT count(*) FROM context.action a WHERE a.record_id = r.id AND a.kind = 'created') <> 1
    """,
    "a vector without a record": """
        SELECT e.owner_id::text FROM context.embedding e
        WHERE NOT EXISTS (SELECT FROM context.wm_record r WHERE r.tenant_id = e.tenant_id AND r.id = e.owner_id)
    """,
    "a request without an answer": """
        SELECT request_id::text FROM context.request WHERE answer = 'null'
        UNION ALL SELECT request_id::text FROM entity.request WHERE answer = 'null'
    """,
}


class Stack:
    """Everything, running; made by `running`."""

    def __init__(
        self,
        folder: Path,
        postgres: Postgres,
        entity: Service,
        context: Service,
        clients: Clients,
        metrics_ports: Sequence[int],
        cloud: Cloud | None = None,
    ) -> None:
        self.postgres = postgres
        self.cloud = cloud
        self.services = {"entity": entity, "context": context}
        self.clients = clients
        self._metrics_ports = metrics_ports
        self._folder = folder
        self._settings = settings_of(postgres, folder, cloud)

    async def kill(self, victim: str) -> None:
        """Kill one of "entity", "context" and "postgres"."""
        if victim == "postgres":
            await self.postgres.stop(breakable.KILLED)
        else:
            await self.services[victim].kill()

    async def start(self, victim: str) -> None:
        """Start what was killed. A service serves when what it needs does, too."""
        if victim == "postgres":
            await self.postgres.start()
        else:
            await self.services[victim].start(until="liveness")

    async def until_serving(self) -> None:
        """Wait until all of it is ready, and our clients have noticed: grpc connects again when it thinks fit."""
        await asyncio.gather(*(service.until_serving() for service in self.services.values()))
        nobody = str(uuid.uuid4())
        for call in (self.clients.entity.graph.get_node, self.clients.context.records.get):
            while True:
                try:
                    await call(nobody)
                except NotFound:
                    break
                except Unavailable:
                    await asyncio.sleep(0.02)

    async def stalled_s(self) -> float:
        """Return the CPU that an event loop took at most in the last minute while others waited; 0 of a dead one."""
        stalls = [0.0]
        for port in self._metrics_ports:
            with suppress(OSError):
                stalls.append((await scraped(port))["contextkeep_event_loop_step_seconds"])
        return max(stalls)

    async def kill_a_sweep(self, random: Random) -> None:
        """Kill a sweeper somewhere in its work; those of the services work beside it."""
        environment = {
            "DATABASE_URL": self.postgres.url,
            "WORKING_MEMORY_STORAGE_PATH": str(self._blobs),
            "BLOB_DELETE_GRACE_S": "0",
        }
        process = spawn("soak.sweep", environment=environment, log=self._folder / "sweep.log")
        await asyncio.sleep(random.uniform(0.3, 1.3))
        process.kill()
        process.wait()

    async def disturb_the_cloud(self, random: Random) -> None:
        """Break the way to the cloud for a while."""
        assert self.cloud is not None
        await self.cloud.disturb(random)

    async def kill_a_copy(self, random: Random) -> None:
        """Kill a copy between the cloud and the folder somewhere in its work."""
        assert self.cloud is not None
        environment = {
            "DATABASE_URL": self.postgres.url,
            "WORKING_MEMORY_STORAGE_PATH": str(self._blobs),
            "UPLOAD_LEASE_S": "20",
        }
        await self.cloud.kill_a_copy(random, environment, self._folder / "copy.log")

    def errors_logged(self) -> list[str]:
        """Return what the services logged as errors: faults that no caller may have seen."""
        logs = [service.log for service in self.services.values()]
        return [
            f"{log.name}: {line[:2000]}"
            for log in logs
            for line in log.read_text(errors="replace").splitlines()
            if '"level":"ERROR"' in line or line.startswith("Traceback")
        ]

    async def left_over(self) -> list[str]:
        """Sweep once, as if every lease were over, and say what is there that nobody will ever read."""
        async with await self._superuser() as connection:
            await connection.execute("UPDATE context.upload SET due_at = now()")
            await connection.execute("UPDATE context.blob SET due_at = now() WHERE state IN ('writing', 'deleting')")
        swept = await maintenance.sweep(self._settings)
        found = [f"{swept.blobs_failed} blobs could not be removed"] if swept.blobs_failed else []
        async with await self._superuser() as connection:
            for _ in range(1500):  # the service's own sweeper may just be at some of them
                rows = await (await connection.execute("SELECT state, key FROM context.blob")).fetchall()
                if all(state == "live" for state, _ in rows):
                    break
                await asyncio.sleep(0.02)
            found += [f"a blob is {state}: {key}" for state, key in rows if state != "live"]
            for what, statement in INVARIANTS.items():
                broken = await (await connection.execute(statement.encode())).fetchall()
                found += [f"{what}: {row[0]}" for row in broken]
        if self.cloud is not None:
            report = await maintenance.fsck(self._settings, quick=False, repair=False, on_progress=lambda report: None)
            return found + [f"fsck: {problem}" for problem in report.problems]
        keys = {key for _, key in rows}
        files = {str(path.relative_to(self._blobs)) for path in self._blobs.rglob("*") if path.is_file()}
        found += [f"a file without a row: {name}" for name in files - keys]
        found += [f"a row without a file: {name}" for name in keys - files]
        return found

    async def kill_a_migration(self, random: Random) -> list[str]:
        """Kill the migration of a new database somewhere, run it again, and say what is not as it should be."""
        name = f"migrated_{uuid.uuid4().hex}"
        server = self.postgres.server
        superuser = server.url(role="postgres", database=name)
        async with await self._superuser() as connection:
            await connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(OWNER_ROLE))
            )
        async with await psycopg.AsyncConnection.connect(superuser, autocommit=True) as connection:
            await connection.execute("CREATE EXTENSION vector")
            admin_url = server.url(role=OWNER_ROLE, database=name)
            environment = {
                "DATABASE_URL": server.url(role=SERVICE_ROLE, database=name),
                "DATABASE_ADMIN_URL": admin_url,
            }
            process = spawn("soak.migrate", environment=environment, log=self._folder / "migrate.log")
            began = "SELECT to_regnamespace('access') IS NOT NULL"
            while process.poll() is None and not (await (await connection.execute(began)).fetchone())[0]:
                await asyncio.sleep(0.002)
            await asyncio.sleep(random.uniform(0, 0.2))
        process.kill()
        process.wait()
        await asyncio.to_thread(migrate, admin_url, EVERYTHING, service_role=SERVICE_ROLE)
        found = []
        if await asyncio.to_thread(dump, server, admin_url) != await asyncio.to_thread(dump, server, server.admin_url):
            found.append("a migration that was killed and run again left another schema than one that was not killed")
        async with await self._superuser() as connection:
            await connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        return found

    async def _superuser(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(self.postgres.server.url(role="postgres"), autocommit=True)

    @property
    def _blobs(self) -> Path:
        path = self._settings.working_memory_storage_path
        assert path is not None
        return path


EVERYTHING = list(
    {(m.schema, m.version): m for m in (*entity_service.app.migrations(), *context_service.app.migrations())}.values()
)


def settings_of(postgres: Postgres, folder: Path, cloud: Cloud | None = None) -> Settings:
    """Return what a sweep of ours is told."""
    variables = {name.lower(): value for name, value in cloud.variables.items()} if cloud else {}
    return Settings(
        database_url=postgres.url,
        working_memory_storage_path=folder / "blobs",
        blob_delete_grace_s=0,
        log_level="ERROR",
        **variables,
    )


@asynccontextmanager
async def running(folder: Path, cloud: Cloud | None = None) -> AsyncIterator[Stack]:
    """Run everything for the block, on a Postgres that syncs what it commits; blobs in a folder, or in a cloud."""
    async with AsyncExitStack() as opened:
        postgres = await opened.enter_async_context(breakable.running(folder / "postgres"))
        entity_port, context_port, *metrics_ports = (free_port() for _ in range(4))
        entity = Service(
            "entity_service",
            entity_port,
            environment={"DATABASE_URL": postgres.url, "METRICS_PORT": str(metrics_ports[0])},
            log=folder / "entity.log",
        )
        context = Service(
            "context_service",
            context_port,
            environment={
                "DATABASE_URL": postgres.url,
                "METRICS_PORT": str(metrics_ports[1]),
                "ENTITY_SERVICE_URL": entity.address,
                "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
                "BLOB_DELETE_GRACE_S": "0",
                "SWEEP_INTERVAL_S": "0.3",
                "UPLOAD_LEASE_S": "20",
                **(cloud.variables if cloud else {}),
            },
            log=folder / "context.log",
        )
        clients = Clients(
            entity=await opened.enter_async_context(AsyncEntityClient(entity.address)),
            context=await opened.enter_async_context(AsyncContextClient(context.address)),
        )
        for service in (entity, context):
            opened.push_async_callback(service.kill)
        await asyncio.gather(entity.start(), context.start())
        yield Stack(folder, postgres, entity, context, clients, metrics_ports, cloud)
