"""The same work for callers that wait and those that do not: steps ask a client, `done` and `done_async` answer.

A generator yields a call to make, `lambda client: client.records.get(record_id)`, and is sent its answer, or
thrown what it raises.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar

from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.sync.context import ContextClient

_T = TypeVar("_T")

Ask = Callable[[Any], Any]  # a call of either client; the two differ only in how they wait, and a list comes back whole
Steps = Generator[Ask, Any, _T]


def done(client: ContextClient, steps: Steps[_T]) -> _T:
    """Answer what the steps ask, and return what they return."""
    resume, result = steps.send, None
    while True:
        try:
            ask = resume(result)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        try:
            answer = ask(client)
            resume, result = steps.send, list(answer) if isinstance(answer, Iterator) else answer
        except Exception as error:
            resume, result = steps.throw, error  # type: ignore[assignment]


async def done_async(client: AsyncContextClient, steps: Steps[_T]) -> _T:
    """See `done`."""
    resume, result = steps.send, None
    while True:
        try:
            ask = resume(result)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]
        try:
            items: AsyncIterator[Any] | Awaitable[Any] = ask(client)
            answer = [item async for item in items] if isinstance(items, AsyncIterator) else await items
            resume, result = steps.send, answer
        except Exception as error:
            resume, result = steps.throw, error
