"""Both worlds: every claim about the client is made of the async one and of the sync one generated from it."""

from __future__ import annotations

import pytest

from tests.clients.worlds import ASYNC, SYNC, World


@pytest.fixture(params=[ASYNC, SYNC], ids=["async", "sync"])
def world(request: pytest.FixtureRequest) -> World:
    return request.param
