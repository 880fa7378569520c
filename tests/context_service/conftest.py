"""Fixtures of the Context Service's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest

from tests.conftest import OTHER_KEY, Addresses
from tests.context_service.working_memory import Caller


@pytest.fixture
async def channel(services: Addresses) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(services.context) as opened:
        yield opened


@pytest.fixture
def caller(services: Addresses, channel: grpc.aio.Channel) -> Caller:
    return Caller(services.context, channel)


@pytest.fixture
def stranger(services: Addresses, channel: grpc.aio.Channel) -> Caller:
    """A caller of another tenant."""
    return Caller(services.context, channel, OTHER_KEY)
