"""Optimistic writes: they run until nothing moved, and give up after some tries."""

from __future__ import annotations

import pytest

from contextkeep.errors import Aborted
from service_runtime.statements.optimistic import RowsChanged, until_written


async def test_work_runs_again_until_nothing_moved():
    tries = iter([RowsChanged, RowsChanged, None])

    async def work() -> str:
        if moved := next(tries):
            raise moved
        return "written"

    assert await until_written(work, what="the window") == "written"
    assert next(tries, "used up") == "used up"


async def test_work_that_always_moves_is_aborted():
    """A caller must not wait for ever for others to stop."""

    async def work() -> None:
        raise RowsChanged

    with pytest.raises(Aborted, match="keep writing to the window"):
        await until_written(work, what="the window")


async def test_other_errors_end_the_work_at_once():
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await until_written(work, what="the window")
    assert tries == 1
