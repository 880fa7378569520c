"""An endpoint that answers OpenAI's `POST /chat/completions` with what it is told to, or fails as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[dict[str, Any]], web.StreamResponse]


def says(text: object) -> Answer:
    """Answer a text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return lambda _: web.json_response({"object": "chat.completion", "model": "stub", "choices": [choice]})


class ChatServer:
    """Serves texts.

    Attributes:
        url: What LLM_URL is to be.
        answer: Makes the next answers from what was asked.
        requests: What was asked: headers and body.
        gate: Closed, it keeps requests waiting.
    """

    def __init__(self) -> None:
        self.url = ""
        self.answer: Answer = says("Nothing.")
        self.requests: list[tuple[Any, dict[str, Any]]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.requests.append((request.headers, body))
        answer = self.answer  # as it is when the request comes
        await self.gate.wait()
        return answer(body)


@asynccontextmanager
async def chat_server() -> AsyncIterator[ChatServer]:
    """Run one for the block, at a free port."""
    server = ChatServer()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        _, port = runner.addresses[0][:2]
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
    finally:
        server.gate.set()
        await runner.cleanup()
