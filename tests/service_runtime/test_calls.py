"""A cancellation that got lost on the way is still noticed."""

from __future__ import annotations

import asyncio

import pytest

from service_runtime.rpc.calls import raise_if_cancelled


async def test_a_swallowed_cancellation_is_noticed():
    steps: list[str] = []

    async def work() -> None:
        raise_if_cancelled()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            steps.append("swallowed")
        raise_if_cancelled()
        steps.append("committed")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert steps == ["swallowed"]


async def test_a_timeout_that_was_handled_is_no_cancellation():
    try:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()
    except TimeoutError:
        pass

    raise_if_cancelled()
