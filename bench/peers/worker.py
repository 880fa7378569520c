"""One peer at the end of a pipe, in an environment of its own: `python worker.py NAME URL`.

It reads one request a line and answers one line, JSON both; only the library's own calls are timed. What it calls is
what the library's documentation shows for an ordinary conversation, with the defaults that are documented. Of this
repository it imports the client, whose adapters are peers as well: their URL is the address of the Context Service.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from contextlib import ExitStack
from importlib.metadata import version
from itertools import cycle
from typing import Annotated, Any

from typing_extensions import TypedDict

NEWEST = 20


class LangGraph:
    """A compiled graph of one node with the saver; a turn is one call of it, and its state is read as a whole."""

    def __init__(self, url: str, *, channel: Any = None) -> None:
        from langgraph.graph import START, StateGraph
        from langgraph.graph.message import add_messages

        self._answer = ""
        self._opened = ExitStack()
        saver = self._saver(url)
        fields = {"messages": Annotated[list, channel or add_messages]}
        builder = StateGraph(TypedDict("State", fields))
        builder.add_node("model", lambda _: {"messages": [{"role": "assistant", "content": self._answer}]})
        builder.add_edge(START, "model")
        self._graph = builder.compile(checkpointer=saver)

    def _saver(self, url: str) -> Any:
        from langgraph.checkpoint.postgres import PostgresSaver

        saver = self._opened.enter_context(PostgresSaver.from_conn_string(url))
        saver.setup()
        return saver

    async def turn(self, conversation: str, question: str, answer: str) -> None:
        self._answer = answer
        self._graph.invoke({"messages": [{"role": "user", "content": question}]}, _thread(conversation))

    async def fill(self, conversation: str, *texts: str) -> None:
        """Append many turns in one step."""
        said = [
            {"role": role, "content": text} for role, text in zip(cycle(("user", "assistant")), texts, strict=False)
        ]
        self._graph.update_state(_thread(conversation), {"messages": said}, as_node="model")

    async def newest(self, conversation: str) -> list[Any]:
        return self._graph.get_state(_thread(conversation)).values["messages"][-NEWEST:]

    async def everything(self, conversation: str) -> list[Any]:
        return self._graph.get_state(_thread(conversation)).values["messages"]

    def text(self, message: Any) -> str:
        return str(message.content)


def _thread(conversation: str) -> Any:
    return {"configurable": {"thread_id": conversation}}


class LangGraphDelta(LangGraph):
    """LangGraph with its channel that stores what a step adds, and the whole state now and then."""

    def __init__(self, url: str) -> None:
        from langgraph.channels import DeltaChannel
        from langgraph.graph.message import _messages_delta_reducer

        super().__init__(url, channel=DeltaChannel(_messages_delta_reducer))


class LangGraphHere(LangGraph):
    """LangGraph with the saver of our client."""

    def _saver(self, url: str) -> Any:
        from contextkeep import ContextClient
        from contextkeep.adapters.langgraph import ContextSaver

        return ContextSaver(self._opened.enter_context(ContextClient(url)))


class GoogleAdk:
    """Sessions that their writer holds; each message is an event."""

    def __init__(self, url: str) -> None:
        self._service = self._made(url)
        self._sessions: dict[str, Any] = {}

    def _made(self, url: str) -> Any:
        from google.adk.sessions import DatabaseSessionService

        return DatabaseSessionService(db_url=url.replace("postgresql:", "postgresql+asyncpg:"))

    async def turn(self, conversation: str, question: str, answer: str) -> None:
        if conversation not in self._sessions:
            self._sessions[conversation] = await self._service.create_session(**_session(conversation))
        await self._append(conversation, "user", "user", question)
        await self._append(conversation, "assistant", "model", answer)

    async def _append(self, conversation: str, author: str, role: str, text: str) -> None:
        from google.adk.events import Event
        from google.genai import types

        content = types.Content(role=role, parts=[types.Part(text=text)])
        event = Event(author=author, invocation_id="turn", content=content)
        await self._service.append_event(self._sessions[conversation], event)

    async def newest(self, conversation: str) -> list[Any]:
        from google.adk.sessions.base_session_service import GetSessionConfig

        config = GetSessionConfig(num_recent_events=NEWEST)
        return (await self._service.get_session(**_session(conversation), config=config)).events

    async def everything(self, conversation: str) -> list[Any]:
        return (await self._service.get_session(**_session(conversation))).events

    def text(self, event: Any) -> str:
        return str(event.content.parts[0].text)


class GoogleAdkHere(GoogleAdk):
    """Google's ADK with the session service of our client."""

    def _made(self, url: str) -> Any:
        from contextkeep import AsyncContextClient
        from contextkeep.adapters.adk import ContextSessionService

        return ContextSessionService(AsyncContextClient(url))


def _session(conversation: str) -> dict[str, str]:
    return {"app_name": "bench", "user_id": "user", "session_id": conversation}


class OpenAiAgents:
    """Sessions on one engine; the question is added before the model is called, the answer when it is there."""

    def __init__(self, url: str) -> None:
        from agents.extensions.memory import SQLAlchemySession
        from sqlalchemy.ext.asyncio import create_async_engine

        self._engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
        self._new = SQLAlchemySession
        self._sessions: dict[str, Any] = {}

    def _session(self, conversation: str) -> Any:
        if conversation not in self._sessions:
            self._sessions[conversation] = self._new(conversation, engine=self._engine, create_tables=True)
        return self._sessions[conversation]

    async def turn(self, conversation: str, question: str, answer: str) -> None:
        session = self._session(conversation)
        await session.add_items([{"role": "user", "content": question}])
        await session.add_items([{"role": "assistant", "content": answer}])

    async def newest(self, conversation: str) -> list[Any]:
        return await self._session(conversation).get_items(limit=NEWEST)

    async def everything(self, conversation: str) -> list[Any]:
        return await self._session(conversation).get_items()

    def text(self, item: Any) -> str:
        return str(item["content"])


class OpenAiAgentsHere(OpenAiAgents):
    """OpenAI's Agents SDK with the session of our client."""

    def __init__(self, url: str) -> None:
        from contextkeep import AsyncContextClient
        from contextkeep.adapters.openai_agents import ContextSession

        self._client = AsyncContextClient(url)
        self._new = lambda conversation, **_: ContextSession(conversation, self._client)
        self._engine = None
        self._sessions = {}


PEERS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "langgraph": (LangGraph, ("langgraph", "langgraph-checkpoint-postgres", "psycopg")),
    "langgraph-delta": (LangGraphDelta, ("langgraph", "langgraph-checkpoint-postgres", "psycopg")),
    "google-adk": (GoogleAdk, ("google-adk", "sqlalchemy", "asyncpg")),
    "openai-agents": (OpenAiAgents, ("openai-agents", "sqlalchemy", "asyncpg")),
    "langgraph-here": (LangGraphHere, ("langgraph", "contextkeep")),
    "google-adk-here": (GoogleAdkHere, ("google-adk", "contextkeep")),
    "openai-agents-here": (OpenAiAgentsHere, ("openai-agents", "contextkeep")),
}


async def serve(name: str, url: str) -> None:
    """Answer requests until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    kind, packages = PEERS[name]
    try:
        peer = kind(url)
        ready: dict[str, Any] = {"versions": [f"{package} {version(package)}" for package in packages]}
    except ImportError as error:
        ready = {"missing": str(error)}
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        call = getattr(peer, request["do"])
        seconds, messages = [], []
        for arguments in request["calls"]:
            started = time.perf_counter()
            messages = await call(request["conversation"], *arguments)
            seconds.append(time.perf_counter() - started)
        texts = [peer.text(message) for message in messages or ()]
        digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        print(json.dumps({"seconds": seconds, "digest": digest}), file=answers, flush=True)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
