"""When a call is tried again, and when not.

Only `Unavailable` is, and only calls that may happen twice: reads, and writes that carry a request id. Between
attempts lies an exponential backoff with jitter, or what the server asks for. A budget stops all retries of a client
while most of its calls fail, so that clients do not keep down a service that tries to come back. Calls on which no
service has worked cost it nothing, as in gRPC's transparent retries: a service that is away is not kept down.
"""

from __future__ import annotations

import math
import random
import threading
import time

from contextkeep.errors import ContextKeepError

BACKOFF_S = 0.1
BACKOFF_S_MAX = 5.0
BACKOFF_FACTOR = 2.0
JITTER = 0.2  # of the delay, both ways; when the server named the delay, upwards only
_DRIFT = random.Random()  # noqa: S311 - no secret; our own, since callers seed Python's


class RetryBudget:
    """The token bucket of gRPC's retry throttling (gRFC A6), one per client.

    Each `Unavailable` takes a token unless it `spares_budget`, each success gives back a fraction of one; at half of
    the bucket or less nothing is retried. Safe to share among threads.
    """

    TOKENS_MAX = 20.0
    TOKENS_PER_SUCCESS = 0.2

    def __init__(self) -> None:
        self._tokens = self.TOKENS_MAX
        self._lock = threading.Lock()

    def failed(self) -> bool:
        """Take a token; return whether a retry is within the budget."""
        with self._lock:
            self._tokens = max(0.0, self._tokens - 1)
            return self._tokens > self.TOKENS_MAX / 2

    def succeeded(self) -> None:
        """Give back a fraction of a token."""
        with self._lock:
            self._tokens = min(self.TOKENS_MAX, self._tokens + self.TOKENS_PER_SUCCESS)


class Attempts:
    """The attempts of one call.

    Args:
        budget: The budget of the client. By default only `timeout_s` limits retries.
        retries: Attempts after the first; 0 for a call that must not happen twice.
        timeout_s: The deadline of all attempts together, in seconds; None or infinity means no deadline.
    """

    def __init__(self, budget: RetryBudget | None, *, retries: int, timeout_s: float | None) -> None:
        self._budget = budget
        self._retries_left = retries
        self._deadline = None if timeout_s is None or timeout_s == math.inf else time.monotonic() + timeout_s
        self._backoff_s = BACKOFF_S

    def remaining_s(self) -> float | None:
        """Return the time that is left for the next attempt."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def delay_s(self, error: ContextKeepError) -> float | None:
        """Return how long to wait before the next attempt, or None if there is none."""
        within_budget = self._budget is None or error.spares_budget or self._budget.failed()
        if self._retries_left <= 0 or not within_budget:
            return None
        self._retries_left -= 1
        if error.retry_after_s is not None:
            delay_s = error.retry_after_s * _DRIFT.uniform(1, 1 + JITTER)
        else:
            delay_s = self._backoff_s * _DRIFT.uniform(1 - JITTER, 1 + JITTER)
        self._backoff_s = min(self._backoff_s * BACKOFF_FACTOR, BACKOFF_S_MAX)
        remaining_s = self.remaining_s()
        if remaining_s is not None and delay_s >= remaining_s:
            return None  # the error of now says more than a deadline later
        return delay_s

    def succeeded(self) -> None:
        """Tell the budget."""
        if self._budget is not None:
            self._budget.succeeded()
