"""One stack and one console for all: each test is a tenant of its own."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import httpx2 as httpx
import psycopg
import pytest
import uvicorn

from contextkeep import ContextClient, EntityClient
from contextkeep.errors import Unauthenticated
from contextkeep_console.app import console
from contextkeep_console.serving import listener
from contextkeep_console.session import Sessions
from contextkeep_console.settings import Settings
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import Metadata, Principal, credential
from service_runtime.values.ids import new_id
from tests.clients.stack import running_in_a_thread
from tests.conftest import Addresses, Urls, cloned
from tests.contract.running import AnyPrincipal, key_of
from tests.faults import proxy
from tests.faults.proxy import Proxy
from tests.ports import free_port

Visitor = Callable[..., httpx.Client]


class Revocable(AnyPrincipal):
    """Takes any key, until it is revoked."""

    def __init__(self) -> None:
        self.revoked: set[str] = set()

    async def authenticate(self, metadata: Metadata) -> Principal:
        if credential(metadata) in self.revoked:
            raise Unauthenticated("the key was revoked")
        principal = await super().authenticate(metadata)
        return replace(principal, key_id=principal.key_id and uuid.UUID(str(principal.key_id)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A console that is served."""

    url: str
    sessions: Sessions


@contextmanager
def served(settings: Settings, sessions: Sessions | None = None) -> Iterator[Running]:
    """Serve a console in a thread of its own for the block."""
    sessions = Sessions() if sessions is None else sessions
    with listener(settings) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(console(settings, sessions), log_level="warning", access_log=False, proxy_headers=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        try:
            yield Running(url=f"http://127.0.0.1:{port}", sessions=sessions)
        finally:
            server.should_exit = True
            thread.join(15)


@contextmanager
def between(address: str) -> Iterator[Proxy]:
    """Run a network in front of a service for the block, in a thread with a loop of its own."""
    with asyncio.Runner() as runner:
        loop, started, stopping = runner.get_loop(), threading.Event(), asyncio.Event()
        networks: list[Proxy] = []

        async def run() -> None:
            async with proxy.running(int(address.rpartition(":")[2])) as network:
                networks.append(network)
                started.set()
                await stopping.wait()

        thread = threading.Thread(target=runner.run, args=(run(),), daemon=True)
        thread.start()
        assert started.wait(15)
        try:
            yield networks[0]
        finally:
            loop.call_soon_threadsafe(stopping.set)
            thread.join(15)


@pytest.fixture(scope="package")
def callers() -> Revocable:
    return Revocable()


@pytest.fixture(scope="package")
def shared_urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        yield urls


@pytest.fixture(scope="package")
def stack(shared_urls: Urls, callers: Revocable, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    blobs = tmp_path_factory.mktemp("blobs")
    with running_in_a_thread(shared_urls.service, blobs, callers=callers) as addresses:
        yield addresses


@pytest.fixture(scope="package")
def running(stack: Addresses) -> Iterator[Running]:
    with served(Settings(port=0, context_address=stack.context, entity_address=stack.entity)) as console:
        yield console


@pytest.fixture
def lonely() -> Iterator[Running]:
    """A console whose services are away."""
    nobody = f"127.0.0.1:{free_port()}"
    with served(Settings(port=0, context_address=nobody, entity_address=nobody)) as console:
        yield console


def a_key(**says: object) -> str:
    """Return a key of a tenant of its own."""
    return key_of(**{"tenant_id": str(uuid.uuid4()), **says})


@pytest.fixture
def key() -> str:
    return a_key()


@pytest.fixture(scope="module")
def operators(shared_urls: Urls) -> str:
    """A key of an operator, who administers a tenant of his own, too."""
    return stored(shared_urls, ["read", "write", "admin", "operator"])


@pytest.fixture
def administrators(shared_urls: Urls) -> str:
    """A key of an administrator, of a tenant of its own, that is stored: so it makes others."""
    return stored(shared_urls, ["read", "write", "admin"])


def stored(shared_urls: Urls, scopes: list[str]) -> str:
    """Return a key of a new tenant that is stored."""
    said = {"tenant_id": str(uuid.uuid4()), "key_id": str(new_id())}
    with psycopg.connect(shared_urls.admin, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO access.tenant (id, name) VALUES (%(tenant_id)s::uuid, %(tenant_id)s::text)", said
        )
        connection.execute(
            "INSERT INTO access.api_key (id, key_sha256, prefix, tenant_id, subject, scopes)"
            " VALUES (%(key_id)s::uuid, sha256(%(key_id)s::text::bytea), 'cgk_the_first', %(tenant_id)s::uuid,"
            " 'somebody', %(scopes)s)",
            {**said, "scopes": scopes},
        )
    return a_key(**said, scopes=scopes)


@pytest.fixture
def clients(stack: Addresses, key: str) -> Iterator[tuple[ContextClient, EntityClient]]:
    with ContextClient(stack.context, api_key=key) as context, EntityClient(stack.entity, api_key=key) as graph:
        yield context, graph


@pytest.fixture
def visitor() -> Iterator[Visitor]:
    """Somebody who has signed in with a key, without a browser."""
    with ExitStack() as opened:

        def visit(console: Running, key: str | None, **form: str) -> httpx.Client:
            client = opened.enter_context(httpx.Client(base_url=console.url, headers={"origin": console.url}))
            if key is not None:
                answer = client.post("/sign-in", data={"key": key, **form})
                assert answer.status_code == 303, answer.text
            return client

        yield visit
