"""What the stand-ins for endpoints of models share: they keep what was asked, and can be made to wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from aiohttp import web


class ModelServer:
    """Serves one path.

    Attributes:
        url: What the setting of such an endpoint is to be.
        answer: Makes the next answers from what was asked.
        requests: What was asked: headers and body.
        gate: Closed, it keeps requests waiting.
    """

    path: ClassVar[str]

    def __init__(self, answer: Callable[[Any], web.StreamResponse], url: str = "") -> None:
        self.url = url
        self.answer = answer
        self.requests: list[tuple[Any, dict[str, Any]]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def asked(self, body: dict[str, Any]) -> Any:
        """Return what `answer` gets of a body."""
        return body

    async def serve(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.requests.append((request.headers, body))
        answer = self.answer  # as it is when the request comes
        await self.gate.wait()
        return answer(self.asked(body))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the block, at a free port."""
        app = web.Application()
        app.router.add_post(f"/v1/{self.path}", self.serve)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            _, port = runner.addresses[0][:2]
            self.url = f"http://127.0.0.1:{port}/v1"
            yield
        finally:
            self.gate.set()
            await runner.cleanup()
