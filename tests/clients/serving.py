"""Tiny servers for the clients' tests: generated servicers with faults, behind the real border, on real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc

from contextkeep.context.v1 import (
    chat_history_pb2_grpc,
    contexts_pb2_grpc,
    transfer_pb2_grpc,
    working_memory_pb2_grpc,
)
from contextkeep.entity.v1 import entity_graph_pb2_grpc
from service_runtime.grpc_server.interceptors import Border
from service_runtime.rpc.principal import ANONYMOUS, Authenticator, Metadata, Principal
from service_runtime.settings import ServiceSettings
from service_runtime.telemetry.metrics import Metrics

_ADD: dict[type, Callable[[Any, grpc.aio.Server], None]] = {
    entity_graph_pb2_grpc.EntityGraphServicer: entity_graph_pb2_grpc.add_EntityGraphServicer_to_server,
    working_memory_pb2_grpc.WorkingMemoryServicer: working_memory_pb2_grpc.add_WorkingMemoryServicer_to_server,
    contexts_pb2_grpc.ContextsServicer: contexts_pb2_grpc.add_ContextsServicer_to_server,
    transfer_pb2_grpc.TransferServicer: transfer_pb2_grpc.add_TransferServicer_to_server,
    chat_history_pb2_grpc.ChatHistoryServicer: chat_history_pb2_grpc.add_ChatHistoryServicer_to_server,
}


class Everybody:
    """Lets everybody in as the default tenant."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        return ANONYMOUS


@asynccontextmanager
async def serving(
    *servicers: object,
    callers: Authenticator | None = None,
    port: int = 0,
    credentials: Any = None,
    options: Sequence[tuple[str, int]] = (),
) -> AsyncIterator[str]:
    """Serve subclasses of generated servicers; yields the address."""
    server = grpc.aio.server(
        interceptors=[Border(callers or Everybody(), limits=ServiceSettings().call_limits, metrics=Metrics())],
        options=[("grpc.so_reuseport", 0), *options],
    )
    for servicer in servicers:
        for base, add in _ADD.items():
            if isinstance(servicer, base):
                add(servicer, server)
    if credentials is None:
        bound = server.add_insecure_port(f"127.0.0.1:{port}")
    else:
        bound = server.add_secure_port(f"127.0.0.1:{port}", credentials)
    await server.start()
    try:
        yield f"127.0.0.1:{bound}"
    finally:
        await server.stop(0)
