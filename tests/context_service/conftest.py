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
def caller(channel: grpc.aio.Channel) -> Caller:
    return Caller(channel)


@pytest.fixture
def stranger(channel: grpc.aio.Channel) -> Caller:
    """A caller of another tenant."""
    return Caller(channel, OTHER_KEY)
