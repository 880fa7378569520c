"""An endpoint that answers OpenAI's `POST /chat/completions` with what it is told to, or fails as it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.fakes.model_server import ModelServer

Answer = Callable[[dict[str, Any]], web.StreamResponse]


def says(text: object) -> Answer:
    """Answer a text."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return lambda _: web.json_response({"object": "chat.completion", "model": "stub", "choices": [choice]})


class ChatServer(ModelServer):
    """Serves texts; LLM_URL is to be its URL."""

    path = "chat/completions"

    def __init__(self) -> None:
        super().__init__(says("Nothing."))


@asynccontextmanager
async def chat_server() -> AsyncIterator[ChatServer]:
    """Run one for the block, at a free port."""
    server = ChatServer()
    async with server.running():
        yield server
