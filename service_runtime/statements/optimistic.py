"""Optimistic writes: work out a change without a lock, write it if its rows are still the same, else start again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from contextkeep.errors import Aborted

_T = TypeVar("_T")

_TRIES = 8


class RowsChanged(Exception):
    """The rows changed while a change of them was worked out."""


async def until_written(work: Callable[[], Awaitable[_T]], *, what: str) -> _T:
    """Run `work`, again each time that it raises `RowsChanged`, and return its result.

    Args:
        work: Reads the rows, works out the change, and writes it.
        what: The rows that other calls write, for the error: "the window".

    Raises:
        Aborted: other calls were faster each time.
        Further errors of `work`.
    """
    for _ in range(_TRIES):
        try:
            return await work()
        except RowsChanged:
            continue
    raise Aborted(f"other calls keep writing to {what}; try again")
