"""Work that both the sync and the async client can do, written once as a generator.

The generator (the *steps*) yields each call that it needs, such as `lambda client: client.records.get(record_id)`. It
gets the answer as the value of the `yield`, or the error of the call raised there. `done` makes the calls with the sync
client, `done_async` with the async one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar

from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.client.sync.context import ContextClient

_T = TypeVar("_T")

Ask = Callable[[Any], Any]  # makes a call with either client; if the call returns an iterator, the steps get a list
Steps = Generator[Ask, Any, _T]


def done(client: ContextClient, steps: Steps[_T]) -> _T:
    """Make the calls that the steps yield with a sync client, and return the result of the steps."""
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
    """Make the calls that the steps yield with an async client, and return the result of the steps."""
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
