"""Both worlds of the client, and the synchronous stubs of a bundle.

A bundle calls generated code on a sync channel; its tests make both with `pytest-grpc`. We use the same fixtures, with
our own server under them: as shipped, `grpc_addr` leaks its socket, and `grpc_server` knows neither aio servers nor
today's generated code.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.clients.worlds import ASYNC, SYNC, World
from tests.conftest import Addresses, cloned


@pytest.fixture(params=[ASYNC, SYNC], ids=["async", "sync"])
def world(request: pytest.FixtureRequest) -> World:
    return request.param


@pytest.fixture(scope="package")
def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Both services in a thread, shared by the tests of stubs: each makes its own nodes and records."""
    with (
        cloned(postgres) as urls,
        running_in_a_thread(urls.service, tmp_path_factory.mktemp("blobs")) as addresses,
    ):
        yield addresses


@pytest.fixture(scope="module")
def grpc_server(stack: Addresses) -> Addresses:
    return stack
