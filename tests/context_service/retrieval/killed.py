"""A worker that is killed while it writes passages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from context_service.retrieval.store.passages import Passages

# Of nine passages, which are found by the words "number0" to "number8".
TEXT = "\n\n".join(f"Paragraph number{n} tells " + "something " * 20 for n in range(9))


@contextmanager
def killed_at_its_third_step(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kill what writes passages within the block when it begins its third step."""
    put, calls = Passages.put, 0

    async def killed(self: Passages, *args: Any, **kwargs: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise asyncio.CancelledError
        await put(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Passages, "put", killed)
        with pytest.raises(asyncio.CancelledError):
            yield
