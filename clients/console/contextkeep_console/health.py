"""Whether the services answer, and how fast: what their own health checks say."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from grpc_health.v1 import health_pb2, health_pb2_grpc

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import ContextKeepError

TIMEOUT_S = 2.0
_OF_CONTEXT = {
    "Contexts": "contextkeep.context.v1.Contexts",
    "Windows": "contextkeep.context.v1.Windows",
    "Packing": "contextkeep.context.v1.Packing",
    "Folding": "contextkeep.context.v1.Folding",
    "Checkpoints": "contextkeep.context.v1.Checkpoints",
    "Forks": "contextkeep.context.v1.Forks",
    "Compression profiles": "contextkeep.context.v1.CompressionProfiles",
    "Usage of windows": "contextkeep.context.v1.Usage",
    "Context query": "contextkeep.context.v1.ContextQuery",
    "Memories": "contextkeep.context.v1.Memories",
    "Wiki pages": "contextkeep.context.v1.Pages",
    "Compiled pages": "contextkeep.context.v1.CompiledPages",
    "Knowledge bases": "contextkeep.context.v1.KnowledgeBases",
    "Working memory": "contextkeep.context.v1.WorkingMemory",
    "Chat history": "contextkeep.context.v1.ChatHistory",
    "Tools": "contextkeep.context.v1.Tools",
}
_OF_ENTITY = {"Entity graph": "contextkeep.entity.v1.EntityGraph"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How one proto service is."""

    service: str  # whose process it is in
    name: str
    state: str  # "serving", "not serving" or "away"
    ms: float = 0.0  # that the answer took
    text: str = ""


async def health(context: AsyncContextClient, graph: AsyncEntityClient) -> list[Health]:
    """Return how all proto services of both processes are."""
    checks = [_check("Context Service", name, full, context) for name, full in _OF_CONTEXT.items()]
    checks += [_check("Entity Service", name, full, graph) for name, full in _OF_ENTITY.items()]
    return list(await asyncio.gather(*checks))


async def _check(service: str, name: str, full_name: str, client: AsyncContextClient | AsyncEntityClient) -> Health:
    """Return the health of one proto service, from its own health check; "away" if it does not answer."""
    stub: Any = health_pb2_grpc.HealthStub(client.channel())
    began = time.perf_counter()
    try:
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=full_name), timeout=TIMEOUT_S)
    except ContextKeepError as error:
        return Health(service=service, name=name, state="away", text=error.message)
    except Exception as error:  # grpc's own, of a channel that is not the client's to translate
        code = getattr(error, "code", lambda: None)()
        return Health(service=service, name=name, state="away", text=str(getattr(code, "name", "no answer")))
    ms = (time.perf_counter() - began) * 1000
    is_serving = answer.status == health_pb2.HealthCheckResponse.SERVING
    return Health(
        service=service,
        name=name,
        state="serving" if is_serving else "not serving",
        ms=ms,
        text="" if is_serving else "something that it needs does not answer",
    )
