"""Both services in a thread, called by anybody: each test makes a tenant of its own."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from context_service.history.rules import registry
from context_service.query.rules import cache
from contextkeep.context.v1 import knowledge_bases_pb2 as bases
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import Addresses, Urls, cloned
from tests.hostile.calling import WHOLE_SHARES, AnyTenant, Client
from tests.hostile.copies import Another, Copies, copying, written
from tests.hostile.stalls import PROBES, watched
from tests.hostile.tables import Tables, reading
from tests.hostile.things import RPCS, Things, seeded


@pytest.fixture(scope="package")
def shared_urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        yield urls


@pytest.fixture(scope="package")
def tables(shared_urls: Urls) -> Iterator[Tables]:
    with reading(shared_urls) as opened:
        yield opened


@pytest.fixture(scope="package")
def blob_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blobs")


@pytest.fixture(scope="package")
def addresses(shared_urls: Urls, blob_folder: Path) -> Iterator[Addresses]:
    # Few calls at once: a call that never ends would soon be noticed as one too many.
    more = {"http": True, "calls_max": 20, **WHOLE_SHARES}
    with watched("addresses", shared_urls.service, blob_folder, callers=AnyTenant(), **more) as started:
        yield started


@pytest.fixture(autouse=True)
def nobody_waits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a case does to the services, it keeps no second caller waiting."""
    if "addresses" in request.fixturenames:
        request.getfixturevalue("addresses")
    with ExitStack() as asked:
        for fixture, probe in PROBES.items():
            if fixture in request.fixturenames:
                asked.enter_context(probe.nobody_waits())
        yield


@pytest.fixture(scope="module")
def nothing_kept() -> Iterator[None]:
    """Of the mappings that an owner has read before, nor of settings and agents: Postgres is asked each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_KEPT_MAX", 0)
        patch.setattr(cache, "FRESH_S", 0.0)
        yield


@pytest.fixture(scope="package")
def finds_documents(client: Client, shared_urls: Urls) -> Callable[[uuid.UUID, object, Things], None]:
    """Has the documents of a tenant read.

    The tenants of these tests are none that work in the background knows: it would write while a test compares.
    """

    def read(tenant_id: uuid.UUID, key: object, things: Things) -> None:
        asked = bases.ListDocumentsRequest(knowledge_base=things.base_name)
        with psycopg.connect(shared_urls.superuser, autocommit=True) as connection:
            connection.execute("INSERT INTO access.tenant (id, name) VALUES (%s, %s)", (tenant_id, str(tenant_id)))
            try:
                until = time.monotonic() + 60
                while time.monotonic() < until:
                    (listed,) = client.call(RPCS["ListDocuments"], asked, key=key).answers
                    if all(one.state == bases.DOCUMENT_STATE_INDEXED for one in listed.documents):
                        return
                    time.sleep(0.05)
                pytest.fail(f"not read in a minute: {listed}")
            finally:
                connection.execute("DELETE FROM access.tenant WHERE id = %s", (tenant_id,))
                until_nothing_is_claimed(connection, tenant_id)

    return read


def until_nothing_is_claimed(connection: psycopg.Connection, tenant_id: uuid.UUID) -> None:
    """Wait for the work in the background that had begun before the tenant was gone: it still writes.

    A claimed item is due when its lease ends, and has no error, which would have postponed it. A worker may read the
    list of tenants before that, and claim an item a moment later, so one look is too few.
    """
    claimed = "SELECT FROM context.outbox WHERE tenant_id = %s AND attempts > 0 AND due_at > now() AND last_error = ''"
    looks, until = 0, time.monotonic() + 60
    while looks < 3 and time.monotonic() < until:
        is_claimed = connection.execute(claimed, (tenant_id,)).fetchone() is not None
        looks = 0 if is_claimed else looks + 1
        time.sleep(0.1)


@pytest.fixture(scope="package")
def copies(shared_urls: Urls, blob_folder: Path) -> Iterator[Copies]:
    with copying(shared_urls, blob_folder) as opened:
        yield opened


@pytest.fixture(scope="package")
def another(client: Client, copies: Copies) -> Another:
    """Makes a tenant that has everything, and says the names of it."""
    tenant_id = uuid.uuid4()
    original = written(tenant_id, lambda: seeded(client, tenant_id))
    return lambda: copies.of(original)


@pytest.fixture(scope="package")
def client(addresses: Addresses) -> Iterator[Client]:
    with Client.open(addresses) as opened:
        yield opened
