"""The body of a request, read whole before anybody works on it.

The SDK waits for a body as long as its sender likes, and takes a sender who hangs up for a fault of ours.
"""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

from contextkeep.errors import DeadlineExceeded, LimitExceeded
from service_runtime.documents import beside_the_loop, check_containers

BYTES_MAX = 4 * 1024 * 1024
START_S = 10.0  # that a body may take, however small
BYTES_PER_S = 64 * 1024  # and each byte adds to it: who drips, or says nothing, is past it soon


class SenderGone(Exception):
    """The sender hung up before its body was whole: nobody is left to be told anything."""


async def read_whole(receive: Receive) -> Receive:
    """Read a body, and return a `receive` that gives it at once, then what the connection has to say.

    Raises:
        SenderGone: the connection ended.
        DeadlineExceeded: it came too slowly.
        LimitExceeded: it is larger than `BYTES_MAX`, or holds more lists and objects than a document may.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    body = bytearray()
    more = True
    while more:
        try:
            async with asyncio.timeout_at(began + START_S + len(body) / BYTES_PER_S):
                message = await receive()
        except TimeoutError:
            raise DeadlineExceeded(
                f"the body came too slowly: it may take {START_S:g} s, and a second more for each {BYTES_PER_S} bytes",
                size_bytes=len(body),
            ) from None
        if message["type"] == "http.disconnect":
            raise SenderGone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > BYTES_MAX:
            raise LimitExceeded("the body is too large", limit="body_bytes", limit_max=BYTES_MAX, value=len(body))

    # The SDK parses it on the loop.
    await beside_the_loop(len(body), check_containers, "body", body.decode(errors="replace"))
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return again
