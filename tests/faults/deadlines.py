"""Calls that must fail before their time is up, on a machine of any speed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from contextkeep.errors import DeadlineExceeded, Unavailable

TIMEOUTS_S = (0.3, 1.2, 4.8)


async def unavailable_in_time(
    call: Callable[[float], Awaitable[object]], timeouts_s: Sequence[float] = TIMEOUTS_S
) -> Unavailable:
    """Make a call with a deadline, and return the UNAVAILABLE that it hears before that.

    A server keeps a tenth of the call's time for telling. Where the machine stood still for longer than that, a longer
    time is tried. None suits a server that waits for a time of its own.
    """
    for timeout_s in timeouts_s:
        try:
            await call(timeout_s)
        except Unavailable as error:
            return error
        except DeadlineExceeded:
            continue
        raise AssertionError("it did not fail")
    raise AssertionError(f"nobody was told within {timeouts_s} s")
