"""Requests to a provider that are sent again.

The SDKs retry nothing. Only what may happen twice goes through here: requests whose body is still in memory, or that
have none. Attempts end with the deadline of the call, and with the budget of the provider, so that a provider that
tries to come back is not kept down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from contextkeep.errors import Unavailable
from contextkeep.retries import Attempts, RetryBudget
from service_runtime.calls import remaining_s

_T = TypeVar("_T")

RETRIES_MAX = 4  # of one request
_ASKED_DELAY_S_MAX = 300.0


def asked_delay_s(header: str | None) -> float | None:
    """Return how long a provider asks us to wait, within bounds; None: it does not say.

    Args:
        header: `Retry-After`. Its form of a date is rare, and our clock is not theirs. Other texts say nothing.
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
        """Send a request until it is answered.

        Args:
            request: May happen twice.

        Raises:
            Unavailable: the last attempt failed, too. Other errors come out at once.
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
