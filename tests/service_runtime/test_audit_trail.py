"""The calls of administrators as rows: each that changed something, and of refused ones how many there were."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from contextkeep.errors import InvalidArgument, PermissionDenied
from service_runtime.auth import audit_trail
from service_runtime.postgres import Database
from tests.clients.stack import running
from tests.conftest import Urls
from tests.context_service.knowledge.graphs import AnyKey, Stack, World

ROWS = "SELECT split_part(method, '/', 2), status, count FROM access.administrative_call ORDER BY id"


def rows(urls: Urls) -> list[tuple[str, str, int]]:
    with psycopg.connect(urls.superuser) as connection:
        return connection.execute(ROWS).fetchall()


async def test_refused_calls_are_one_row_and_their_count_and_accepted_ones_are_each_kept(
    urls: Urls, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A key that may only read wrote a row a call, which stayed for 400 days."""
    monkeypatch.setattr(audit_trail, "MINUTE_S", 3600.0)
    refused = 0

    async def refuse(world: World) -> None:
        nonlocal refused
        with pytest.raises(PermissionDenied):
            await world.context.keys.create("mine", ["admin"])
        refused += 1

    async with running(urls.service, tmp_path, callers=AnyKey()) as addresses:
        admin = World(Stack(addresses=addresses, urls=urls, database=database))
        reader = admin.of(scopes=["read"])
        for _ in range(25):
            await asyncio.gather(*(refuse(reader) for _ in range(20)))
        assert rows(urls) == [("CreateKey", "PERMISSION_DENIED", 1)]
        for name in ("a", "b", "c"):
            await admin.context.agents.put(name)
        for _ in range(3):
            with pytest.raises(InvalidArgument):
                await admin.context.agents.put("")

    assert refused == 500
    assert Counter(rows(urls)) == {
        ("CreateKey", "PERMISSION_DENIED", 500): 1,
        ("PutAgent", "OK", 1): 3,
        ("PutAgent", "INVALID_ARGUMENT", 3): 1,
    }


async def test_a_minute_later_the_next_refusal_is_kept_again(
    urls: Urls, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(audit_trail, "MINUTE_S", 0.5)
    monkeypatch.setattr(audit_trail, "_TOLD_S", 0.05)
    async with running(urls.service, tmp_path, callers=AnyKey()) as addresses:
        admin = World(Stack(addresses=addresses, urls=urls, database=database))
        reader = admin.of(scopes=["read"])
        async with asyncio.timeout(30):
            while len(rows(urls)) < 3:
                with pytest.raises(PermissionDenied):
                    await reader.context.keys.create("mine", ["admin"])
        calls = [one async for one in admin.context.operations.list_administrative_calls()]
        assert calls[0].count == 1
        assert calls[-1].count > 1


async def test_a_caller_of_every_method_writes_no_more_rows_than_are_told_apart(
    urls: Urls, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(audit_trail, "METHODS_MAX", 2)
    async with running(urls.service, tmp_path, callers=AnyKey()) as addresses:
        reader = World(Stack(addresses=addresses, urls=urls, database=database)).of(scopes=["read"])
        for call in (
            lambda: reader.context.keys.create("mine", ["admin"]),
            lambda: reader.context.keys.revoke("cgk_Zk3vT0aQ"),
            lambda: reader.context.agents.put("a"),
            lambda: reader.context.agents.delete("a"),
            lambda: reader.context.erasures.erase("ada"),
        ):
            with pytest.raises(PermissionDenied):
                await call()
    assert [count for _, _, count in rows(urls)] == [1, 1, 3]
