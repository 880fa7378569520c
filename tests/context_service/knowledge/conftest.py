"""Services without an embedder, shared by the tests of knowledge; each works for a user of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Caller, Opened, an_id, opened


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Opened]:
    async with opened(postgres, tmp_path_factory.mktemp("blobs")) as made:
        yield made


class User:
    """Somebody about whom something is kept, by an agent runtime."""

    def __init__(self, caller: Caller, user_id: str = "", key: str = "runtime") -> None:
        self.caller = caller.of(key)
        self.user_id = user_id or an_id()

    async def call(self, name: str, /, **fields: Any) -> Any:
        return await self.caller.call(name, subject_user_id=self.user_id, **fields)

    async def retain(self, text: str, *, request_id: str = "", **fields: Any) -> Any:
        answer = await self.call("RetainMemory", memory={"text": text, **fields}, request_id=request_id)
        return answer.memory


@pytest.fixture
def user(stack: Opened) -> User:
    return User(stack.caller)
