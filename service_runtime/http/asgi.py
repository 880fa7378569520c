"""The interface of an HTTP server and its applications: ASGI, in the types that we use of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PIECE_BYTES = 256 * 1024  # bytes of a body that are sent at once


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A whole answer: status, body and headers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        """Send the answer as fast as the caller reads it."""
        headers = {**self.headers, "content-length": str(len(self.body))}
        encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": encoded})
        for start in range(PIECE_BYTES, len(self.body) + PIECE_BYTES, PIECE_BYTES):
            piece = self.body[start - PIECE_BYTES : start]
            await send({"type": "http.response.body", "body": piece, "more_body": start < len(self.body)})
        if not self.body:
            await send({"type": "http.response.body", "body": b""})
