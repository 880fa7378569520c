"""The body of a request, read whole before anybody works on it, in a time that its size allows."""

from __future__ import annotations

import asyncio

from contextkeep.errors import Cancelled, DeadlineExceeded, LimitExceeded
from service_runtime.http.asgi import Receive
from service_runtime.rpc.held_bytes import CallBytes

START_S = 10.0  # seconds that any body may take, however small
BYTES_PER_S = 64 * 1024  # each byte adds to that time: a slow or silent sender is past it soon
_COPIES = 3  # copies of the body: its chunks, the whole, and the parsed value
_DROPPED_BYTES_MAX = 16 * 1024 * 1024  # bytes of a too large body that are read, so that its sender reads our answer


async def read_whole(receive: Receive, *, bytes_max: int, held_bytes: CallBytes, hint: str = "") -> bytes:
    """Return the body of a request.

    Args:
        receive: Returns the next message of the request (ASGI).
        bytes_max: Largest size of the body.
        held_bytes: Charged for the bytes that are read so far; the caller of this function gives them back.
        hint: Advice for the error about a body that is too large.

    Raises:
        Cancelled: the sender hung up.
        DeadlineExceeded: the body came too slowly.
        HeldBytesExceeded: too much is held for its sender.
        LimitExceeded: the body is larger.
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
            raise Cancelled("the caller closed the connection")
        piece = message.get("body", b"")
        size_bytes += len(piece)
        if size_bytes <= bytes_max:
            held_bytes.add(len(piece) * _COPIES)
            body += piece
        else:
            body.clear()
        more = message.get("more_body", False)
    if size_bytes > bytes_max:
        error_text = f"the body has {size_bytes} bytes{'' if not more else ' or more'}; the limit is {bytes_max}"
        raise LimitExceeded(
            f"{error_text}: {hint}" if hint else error_text, limit="body_bytes", limit_max=bytes_max, value=size_bytes
        )
    return bytes(body)
