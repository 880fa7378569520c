"""Work in steps: generators that yield where others may have their turn, and return what they made."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

_T = TypeVar("_T")


def at_once(steps: Generator[None, None, _T]) -> _T:
    """Return what a generator returns, without a pause: for callers that are on no event loop."""
    try:
        while True:
            next(steps)
    except StopIteration as done:
        result: _T = done.value
        return result
