"""Services whose callers may come while they run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Metadata, Principal, credential
from tests.clients.stack import running
from tests.conftest import cloned
from tests.context_service.contexts.callers import KEYS
from tests.context_service.contexts.test_erasing import APP
from tests.context_service.transfer.archives import Opened


class Keys:
    """Knows keys that come while services run."""

    def __init__(self, principals: dict[str, Principal]) -> None:
        self._principals = principals

    async def authenticate(self, metadata: Metadata) -> Principal:
        return self._principals[credential(metadata)]

    async def find(self, secret: str) -> Principal | None:
        return self._principals.get(secret)


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Opened]:
    keys = {**KEYS, "books": APP}
    with cloned(postgres) as urls:
        async with (
            running(urls.service, tmp_path_factory.mktemp("blobs"), callers=Keys(keys)) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Opened(channel=channel, database=database, urls=urls, addresses=addresses, keys=keys)
