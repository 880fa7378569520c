"""Both services in a thread, called by anybody: each test makes a tenant of its own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_service.history import registry
from context_service.query import remembered
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.conftest import Addresses, Urls, cloned
from tests.hostile.calling import WHOLE_SHARES, AnyTenant, Client
from tests.hostile.stalls import StallProbe
from tests.hostile.tables import Tables, reading


@pytest.fixture(scope="package")
def shared_urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as urls:
        yield urls


@pytest.fixture(scope="package")
def tables(shared_urls: Urls) -> Iterator[Tables]:
    with reading(shared_urls.superuser) as opened:
        yield opened


@pytest.fixture(scope="package")
def blob_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blobs")


@pytest.fixture(scope="package")
def stalls() -> StallProbe:
    """Of the loop of `addresses`."""
    return StallProbe()


@pytest.fixture(scope="package")
def addresses(shared_urls: Urls, blob_folder: Path, stalls: StallProbe) -> Iterator[Addresses]:
    # Few calls at once: a call that never ends would soon be noticed as one too many.
    with running_in_a_thread(
        shared_urls.service,
        blob_folder,
        callers=AnyTenant(),
        watching=stalls.watching,
        http=True,
        calls_max=20,
        **WHOLE_SHARES,
    ) as started:
        yield started


@pytest.fixture(autouse=True)
def nobody_waits(request: pytest.FixtureRequest, stalls: StallProbe) -> Iterator[None]:
    """Whatever a case does to the services, it keeps no second caller waiting."""
    if "addresses" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("addresses")
    gc.disable()  # a collection that walks all of pytest would be the longest stall; a service's has less to walk
    try:
        with stalls.nobody_waits():
            yield
    finally:
        gc.enable()


@pytest.fixture(scope="module")
def nothing_kept() -> Iterator[None]:
    """Of the mappings that an owner has read before, nor of settings and agents: Postgres is asked each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_KEPT_MAX", 0)
        patch.setattr(remembered, "FRESH_S", 0.0)
        yield


@pytest.fixture(scope="package")
def client(addresses: Addresses) -> Iterator[Client]:
    with Client.open(addresses) as opened:
        yield opened
