"""Three databases, each a Postgres of its own, and two of each service in front of them."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psycopg

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import DeadlineExceeded, NotFound, Unavailable
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.placement import Databases
from service_runtime.postgres import HOME
from soak.operations import Clients
from soak.stack import INVARIANTS
from tests.faults import postgres as breakable
from tests.faults import proxy
from tests.faults.postgres import Postgres
from tests.faults.processes import Process, Service, spawn
from tests.hostile.tables import tables_of_tenants
from tests.ports import free_port

NAMES = (HOME, "east", "west")
_STAYS = {"access.residence", "access.move", "access.api_key", "access.context_key"}
_NOBODY = str(UUID(int=1))
_SWEPT_S = 60.0
CALL_S = 120.0  # a machine may be slow
RETRIES = 8  # the network may find a dying replica several times
START_S = 180.0  # that a service may take, beside all else
_IS_DOWN = '"event":"database does not serve its tenants"'  # which is so while one is killed

# Rows that were written into a database after the transaction that gave up their tenant.
_WRITTEN_LATE = """
SELECT count(*) FROM {table} t JOIN access.residence r USING (tenant_id)
WHERE r.state = 'GONE' AND age(t.xmin) < age(r.xmin)
"""


@dataclass(slots=True)
class Window:
    """A time, on the monotonic clock."""

    since: float
    until: float = math.inf

    def overlaps(self, since: float, until: float) -> bool:
        """Say whether some of it lies in another one."""
        return self.since <= until and since <= self.until


@dataclass(slots=True)
class Tenant:
    """One tenant, where it lives, and what calls for it."""

    name: str
    id: UUID
    clients: Clients
    lives_in: str
    moves: list[Window] = field(default_factory=list)  # each from its first try until it is done

    @property
    def is_moving(self) -> bool:
        """A move of it is not done."""
        return bool(self.moves) and self.moves[-1].until == math.inf


class Stack:
    """Everything, running; made by `running`."""

    def __init__(self, folder: Path, databases: dict[str, Postgres], services: Sequence[Service]) -> None:
        self.folder = folder
        self.databases = databases
        self.services = services
        self.tenants: list[Tenant] = []
        self.services_killed: list[float] = []  # when
        self.keys: dict[str, str] = {}  # of one tenant in each database, who is not moved
        self.downs: dict[str, list[Window]] = {name: [] for name in databases}
        self.administration = Databases(
            databases[HOME].server.admin_url, {name: databases[name].server.admin_url for name in NAMES[1:]}
        )
        self._commands = 0

    async def kill_database(self, name: str, down_s: float) -> None:
        """Kill one, and start it again after a while."""
        down = Window(time.monotonic())
        self.downs[name].append(down)
        await self.databases[name].stop(breakable.KILLED)
        await asyncio.sleep(down_s)
        await self.databases[name].start()
        await asyncio.gather(*(self._until_it_serves(service, name) for service in self.services))
        down.until = time.monotonic()

    async def _until_it_serves(self, service: Service, name: str) -> None:
        """Wait until a replica has found a database again, and answers two calls of a tenant there."""
        client = AsyncEntityClient if service.module == "entity_service" else AsyncContextClient
        async with client(service.address, api_key=self.keys[name], retries=0, timeout_s=5) as calling:
            answered = 0
            while answered < 2 and service.is_running:  # one that begins anew connects anew
                try:
                    if isinstance(calling, AsyncEntityClient):
                        await calling.graph.get_node(_NOBODY)
                    else:
                        await calling.records.get(_NOBODY)
                except NotFound:
                    answered += 1
                except (Unavailable, DeadlineExceeded):
                    answered = 0
                    await asyncio.sleep(0.1)

    async def kill_service(self, service: Service, down_s: float) -> None:
        """Kill a replica, and start it again after a while."""
        self.services_killed.append(time.monotonic())
        await service.kill()
        await asyncio.sleep(down_s)
        await service.start(until="liveness", timeout_s=START_S)

    async def until_serving(self) -> None:
        """Wait until every replica is ready, and serves the tenants of all databases."""
        await asyncio.gather(*(service.until_serving(timeout_s=START_S) for service in self.services))
        await asyncio.gather(
            *(self._until_it_serves(service, name) for service in self.services for name in self.databases)
        )

    def begin(self, *arguments: str) -> tuple[Process, Path]:
        """Begin a command of an operator: `context-service tenants …`; what it says is in the file."""
        self._commands += 1
        log = self.folder / f"command-{self._commands}.log"
        return spawn("context_service", "tenants", *arguments, environment=environment_of(self), log=log), log

    def is_down(self, name: str, since: float, until: float) -> bool:
        """Say whether a database was down in some of a time."""
        return any(down.overlaps(since, until) for down in self.downs[name])

    async def served_twice(self, tenant: Tenant) -> str:
        """Say where a tenant is served by two databases; empty: nowhere.

        No two databases are asked at one moment: but who is served by one before and after he was by the other is so
        by both in between.
        """
        asked = [*NAMES, *NAMES]
        serves = [await self._serves(name, tenant.id) for name in asked]
        for first in range(len(NAMES)):
            last = first + len(NAMES)
            others = [asked[place] for place in range(first + 1, last) if serves[place]]
            if serves[first] and serves[last] and others:
                return f"{tenant.name} is served by {asked[first]!r} and by {others}"
        return ""

    async def _serves(self, name: str, tenant_id: UUID) -> bool:
        try:
            async with await psycopg.AsyncConnection.connect(self.databases[name].url, connect_timeout=2) as connection:
                await connection.execute("SET TRANSACTION READ ONLY")
                await connection.execute("SELECT access.enter(%s)", (tenant_id,))
        except psycopg.Error:  # down, or it does not live there
            return False
        return True

    async def misplaced(self, *, cleaned: bool = False) -> list[str]:
        """Say which tenants are not in one database, while nobody moves.

        Args:
            cleaned: What moved tenants have left behind was removed: then their rows are in one, too.
        """
        found = []
        async with await self._superuser(HOME) as connection:
            rows = await connection.execute("SELECT id, name, coalesce(database, '') FROM access.tenant")
            lives_in = {row[0]: row[1:] for row in await rows.fetchall()}
        for tenant in self.tenants:
            if lives_in[tenant.id][1] != tenant.lives_in:
                found.append(f"{tenant.name} was moved to {tenant.lives_in!r} and is in {lives_in[tenant.id][1]!r}")
        for name in NAMES:
            async with await self._superuser(name) as connection:
                rows = await connection.execute("SELECT tenant_id, state FROM access.residence")
                states: dict[UUID, str] = dict(await rows.fetchall())
                counts: Counter[UUID] = Counter()
                for table in sorted(set(await asyncio.to_thread(self._tables, name)) - _STAYS):
                    rows = await connection.execute(f"SELECT tenant_id, count(*) FROM {table} GROUP BY 1".encode())
                    counts.update(dict(await rows.fetchall()))
                    rows = await connection.execute(_WRITTEN_LATE.format(table=table).encode())
                    (late,) = await rows.fetchone() or (0,)
                    found += [f"{late} rows of {table} in {name!r} were written behind GONE"] if late else []
                for tenant_id, (who, database) in lives_in.items():
                    state = states.get(tenant_id, "HERE" if name == HOME else "GONE")
                    if state not in ({"HERE", "LEAVING"} if database == name else {"GONE"}):
                        found.append(f"{who} is {state} in {name!r}, and lives in {database!r}")
                    if database != name and counts[tenant_id] and (cleaned or tenant_id not in states):
                        found.append(f"{counts[tenant_id]} rows of {who} are in {name!r}, and it lives in {database!r}")
        return found

    async def broken(self) -> list[str]:
        """Say what is not as it must be of rows and files, when all is written, moved and cleaned."""
        found = []
        keys: set[str] = set()
        give_up_at = time.monotonic() + _SWEPT_S
        for name in NAMES:
            async with await self._superuser(name) as connection:
                await connection.execute("UPDATE context.upload SET due_at = now()")
                await connection.execute(
                    "UPDATE context.blob SET due_at = now() WHERE state IN ('writing', 'deleting')"
                )
                while True:  # the services sweep
                    rows = await (await connection.execute("SELECT state, key FROM context.blob")).fetchall()
                    if all(state == "live" for state, _ in rows) or time.monotonic() > give_up_at:
                        break
                    await asyncio.sleep(0.1)
                found += [f"a blob in {name!r} is {state}: {key}" for state, key in rows if state != "live"]
                keys |= {key for _, key in rows}
                for what, statement in INVARIANTS.items():
                    wrong = await (await connection.execute(statement.encode())).fetchall()
                    found += [f"{what} in {name!r}: {row[0]}" for row in wrong]
        blobs = self.folder / "blobs"
        files = {str(path.relative_to(blobs)) for path in blobs.rglob("*") if path.is_file()}
        found += [f"a file without a row: {name}" for name in sorted(files - keys)]
        found += [f"a row without a file: {name}" for name in sorted(keys - files)]
        return found

    def errors_logged(self) -> list[str]:
        """Return what services and commands logged as faults."""
        logs = {service.log for service in self.services} | set(self.folder.glob("command-*.log"))
        return [
            f"{log.name}: {line[:2000]}"
            for log in sorted(logs)
            for line in log.read_text(errors="replace").splitlines()
            if ('"level":"ERROR"' in line and _IS_DOWN not in line) or line.startswith("Traceback")
        ]

    def _tables(self, name: str) -> list[str]:
        with psycopg.connect(self.databases[name].server.url(role="postgres")) as connection:
            return tables_of_tenants(connection)

    async def _superuser(self, name: str) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(self.databases[name].server.url(role="postgres"), autocommit=True)


def environment_of(stack: Stack) -> dict[str, str]:
    """Return what services and operators are told of the databases."""
    of_service = {name: one.url for name, one in stack.databases.items()}
    of_owner = {name: one.server.admin_url for name, one in stack.databases.items()}
    return {
        "DATABASE_URL": of_service.pop(HOME),
        "DATABASE_ADMIN_URL": of_owner.pop(HOME),
        "DATABASE_URLS": " ".join(f"{name}={url}" for name, url in of_service.items()),
        "DATABASE_ADMIN_URLS": " ".join(f"{name}={url}" for name, url in of_owner.items()),
        "WORKING_MEMORY_STORAGE_PATH": str(stack.folder / "blobs"),
    }


@asynccontextmanager
async def running(folder: Path, *, tenants: int) -> AsyncIterator[Stack]:
    """Run everything for the block, with as many tenants spread over the databases."""
    async with AsyncExitStack() as opened:
        made = [opened.enter_async_context(breakable.running(folder / (name or "home"))) for name in NAMES]
        databases = dict(zip(NAMES, [await one for one in made], strict=True))
        services: list[Service] = []
        stack = Stack(folder, databases, services)
        for name in NAMES[1:]:
            await asyncio.to_thread(stack.administration.claim, name)
        ports = {module: [free_port(), free_port()] for module in ("entity_service", "context_service")}
        to_entity = await opened.enter_async_context(proxy.running(*ports["entity_service"]))
        to_context = await opened.enter_async_context(proxy.running(*ports["context_service"]))
        environment = {
            **environment_of(stack),
            "ENTITY_SERVICE_URL": f"127.0.0.1:{to_entity.port}",
            "BLOB_DELETE_GRACE_S": "0",
            "SWEEP_INTERVAL_S": "10",
            "UPLOAD_LEASE_S": "20",
        }
        for module, both in ports.items():
            for number, port in enumerate(both):
                service = Service(module, port, environment=environment, log=folder / f"{module}-{number}.log")
                opened.push_async_callback(service.kill)
                services.append(service)
        await asyncio.gather(*(service.start(timeout_s=START_S) for service in services))
        keys = KeyAdministration(databases[HOME].server.admin_url)
        for lives_in in NAMES:
            name = f"stays-{lives_in or 'home'}"
            await asyncio.to_thread(stack.administration.add_tenant, name, database=lives_in)
            stack.keys[lives_in] = keys.create(NewKey(tenant=name, subject="soak", scopes=("read",)))
        for number in range(tenants):
            name, lives_in = f"tenant-{number}", NAMES[number % len(NAMES)]
            await asyncio.to_thread(stack.administration.add_tenant, name, database=lives_in)
            key = keys.create(NewKey(tenant=name, subject="soak", scopes=("read", "write", "admin")))
            clients = Clients(
                entity=await opened.enter_async_context(
                    AsyncEntityClient(f"127.0.0.1:{to_entity.port}", api_key=key, timeout_s=CALL_S, retries=RETRIES)
                ),
                context=await opened.enter_async_context(
                    AsyncContextClient(f"127.0.0.1:{to_context.port}", api_key=key, timeout_s=CALL_S, retries=RETRIES)
                ),
            )
            stack.tenants.append(Tenant(name=name, id=_id_of(keys, name), clients=clients, lives_in=lives_in))
        yield stack


def _id_of(keys: KeyAdministration, name: str) -> UUID:
    return next(one.id for one in keys.tenants() if one.name == name)
