"""Connections grow old, and nobody notices."""

from __future__ import annotations

import asyncio

import entity_service.app
from contextkeep import AsyncEntityClient, EdgeInput, NodeInput
from service_runtime.grpc_server import interceptors
from tests.conftest import KEY


async def test_a_client_connects_again_without_a_failed_call(entity_settings, callers, monkeypatch):
    peers: set[str] = set()
    around = interceptors.Border._around

    def noting_around(self, method, context, **options):
        peers.add(context.peer())
        return around(self, method, context, **options)

    monkeypatch.setattr(interceptors.Border, "_around", noting_around)
    settings = entity_settings.model_copy(update={"connection_age_s": 0.5})
    async with (
        entity_service.app.running(settings, callers=callers) as port,
        # A call that reaches the old connection as it closes is UNAVAILABLE: the client tries it again, by default.
        AsyncEntityClient(f"127.0.0.1:{port}", api_key=KEY) as client,
    ):
        calls = 0
        async with asyncio.timeout(60):
            while len(peers) < 4 or calls < 100:
                await asyncio.gather(*(client.graph.create_node("Session") for _ in range(8)))
                calls += 8


async def test_a_stream_outlives_its_connection(entity_settings, callers):
    settings = entity_settings.model_copy(update={"connection_age_s": 0.3})
    session = NodeInput("Session")
    turns = [NodeInput("Turn", data={"text": "x" * 10_000}) for _ in range(300)]
    edges = [EdgeInput(session.id, turn.id, "Contains") for turn in turns]
    async with (
        entity_service.app.running(settings, callers=callers) as port,
        AsyncEntityClient(f"127.0.0.1:{port}", api_key=KEY) as client,
    ):
        await client.graph.write([session, *turns], edges)
        seen = 0
        async for _ in client.graph.traverse(session.id, depth_max=1):
            seen += 1
            if seen % 100 == 0:
                await asyncio.sleep(0.5)

    assert seen == 300


async def test_a_call_costs_the_same_however_many_methods_there_are(services):
    """At each call grpc goes through the tasks that wait for one: of each registered method, and of all others."""
    waiting = [task for task in asyncio.all_tasks() if "AioServer._request" in repr(task)]

    assert 0 < len(waiting) < 20  # two for each server of this process: reflection's one method is registered
