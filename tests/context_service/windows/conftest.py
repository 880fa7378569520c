"""Two replicas of the services over one database, for the tests of windows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import Urls, cloned
from tests.context_service.contexts.callers import KEYS, Caller


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Two replicas over one database."""

    channels: tuple[grpc.aio.Channel, grpc.aio.Channel]
    urls: Urls
    folder: Path


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        folder = tmp_path_factory.mktemp("blobs")
        async with (
            running(urls.service, folder, callers=ApiKeys(KEYS)) as one,
            running(urls.service, folder, callers=ApiKeys(KEYS)) as another,
            grpc.aio.insecure_channel(one.context) as first,
            grpc.aio.insecure_channel(another.context) as second,
        ):
            yield Stack(channels=(first, second), urls=urls, folder=folder)


@pytest.fixture
def caller(stack: Stack) -> Caller:
    return Caller(stack.channels[0])


@pytest.fixture
def other_replica(stack: Stack) -> Caller:
    return Caller(stack.channels[1])
