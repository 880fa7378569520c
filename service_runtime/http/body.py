"""The body of a request, read whole before anybody works on it, in a time that its size allows."""

from __future__ import annotations

import asyncio

from contextkeep.errors import Cancelled, DeadlineExceeded, LimitExceeded
from service_runtime.held_bytes import CallBytes
from service_runtime.http.asgi import Receive

START_S = 10.0  # that a body may take, however small
BYTES_PER_S = 64 * 1024  # and each byte adds to it: who drips, or says nothing, is past it soon
_COPIES = 3  # of it: as it came, as one piece, and as what is made of it
_DROPPED_BYTES_MAX = 16 * 1024 * 1024  # what is too large is read up to here, or its sender would not read our answer


async def read_whole(receive: Receive, *, bytes_max: int, held: CallBytes, hint: str = "") -> bytes:
    """Return the body of a request.

    Args:
        receive: The request's.
        bytes_max: Its largest size.
        held: Is charged for what has come so far; the caller of this gives it back.
        hint: What to do instead of sending a larger one.

    Raises:
        Cancelled: its sender hung up.
        DeadlineExceeded: it came too slowly.
        HeldBytesExceeded: too much is held for its sender.
        LimitExceeded: it is larger.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    body = bytearray()
    size_bytes = 0
    more = True
    while more and size_bytes <= _DROPPED_BYTES_MAX:
        try:
            async with asyncio.timeout_at(began + START_S + size_bytes / BYTES_PER_S):
                message = await receive()
        except TimeoutError:
            raise DeadlineExceeded(
                f"the body came too slowly: it may take {START_S:g} s, and a second more for each {BYTES_PER_S} bytes",
                size_bytes=size_bytes,
            ) from None
        if message["type"] == "http.disconnect":
            raise Cancelled("the caller hung up")
        piece = message.get("body", b"")
        size_bytes += len(piece)
        if size_bytes <= bytes_max:
            held.add(len(piece) * _COPIES)
            body += piece
        else:
            body.clear()
        more = message.get("more_body", False)
    if size_bytes > bytes_max:
        told = f"the body has {size_bytes} bytes{'' if not more else ' or more'}; the limit is {bytes_max}"
        raise LimitExceeded(
            f"{told}: {hint}" if hint else told, limit="body_bytes", limit_max=bytes_max, value=size_bytes
        )
    return bytes(body)
