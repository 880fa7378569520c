"""Retries of requests to a provider.

The SDKs retry nothing. Only idempotent requests are retried here: those whose body is still in memory, or that have no
body. Attempts end with the deadline of the call, and with the retry budget of the provider, so that retries do not
overload a provider that is recovering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from contextkeep.errors import Unavailable
from contextkeep.retries import Attempts, RetryBudget
from service_runtime.rpc.calls import remaining_s

_T = TypeVar("_T")

RETRIES_MAX = 4  # retries of one request at most
_ASKED_DELAY_S_MAX = 300.0


def asked_delay_s(header: str | None) -> float | None:
    """Return how long a provider asks us to wait, within bounds; None if it does not say.

    Args:
        header: `Retry-After`, in seconds. A date is ignored: it is rare, and the clocks may differ.
    """
    if not header or not header.isascii() or not header.isdigit():
        return None
    return min(float(header), _ASKED_DELAY_S_MAX)


class Retries:
    """The retries of one provider, all within one budget."""

    def __init__(self, retries_max: int = RETRIES_MAX) -> None:
        self._retries_max = retries_max
        self._budget = RetryBudget()

    def attempts(self) -> Attempts:
        """Return the attempts of one request."""
        return Attempts(self._budget, retries=self._retries_max, timeout_s=remaining_s())

    async def call(self, request: Callable[[], Awaitable[_T]]) -> _T:
        """Send a request, and retry while the provider is unavailable.

        Args:
            request: Sends the request once. It must be idempotent.

        Raises:
            Unavailable: the last attempt failed, too. Other errors are raised at once.
        """
        attempts = self.attempts()
        while True:
            try:
                answer = await request()
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
                await asyncio.sleep(delay_s)
            else:
                attempts.succeeded()
                return answer
