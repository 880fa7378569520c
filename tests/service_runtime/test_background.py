"""Background work ends with its block."""

from __future__ import annotations

import asyncio
import logging

import pytest

from service_runtime import background
from service_runtime.postgres import Database


async def test_work_that_swallows_a_cancellation_still_ends():
    async def stubborn() -> None:
        for _ in range(3):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue
        await asyncio.sleep(60)

    async with asyncio.timeout(30):
        async with background.running(stubborn()):
            await asyncio.sleep(0)


async def test_work_that_always_queries_ends_with_its_block(database: Database):
    async def poll() -> None:
        while True:
            await database.untenanted("SELECT 1")
            await asyncio.sleep(0)

    for turn in range(200):
        async with asyncio.timeout(30):
            async with background.running(poll()):
                await asyncio.sleep(turn % 20 / 10_000)


async def test_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture):
    async def failing() -> None:
        raise ValueError("no")

    with caplog.at_level(logging.ERROR, "background"):
        async with background.running(failing()):
            await asyncio.sleep(0.01)

    assert "background work ended" in caplog.text
