"""Asks another service of ours whether it is healthy: part of the readiness of a service that depends on it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contextkeep.errors import Unavailable
from service_runtime.grpc_server.server import CHECK_TIMEOUT_S, Check
from service_runtime.network.connections import Closable, Connection


class Client(Closable, Protocol):
    """A client of ours."""

    def channel(self) -> Any:
        """Return the channel that its calls go over."""
        ...


C = TypeVar("C", bound=Client)


def health_check(connection: Connection[C], service: str) -> Check:
    """Return a check that raises `Unavailable` unless `service`, which is connected, says that it serves.

    It goes the way of the calls: another channel may connect again seconds before theirs does.
    """

    async def check() -> None:
        try:
            async with connection.lent() as client:
                answer = await health_pb2_grpc.HealthStub(client.channel()).Check(
                    health_pb2.HealthCheckRequest(service=service), timeout=CHECK_TIMEOUT_S, wait_for_ready=True
                )
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                return  # it answers, but shows its health only to callers with a key (HEALTH_WITHOUT_KEY)
            raise Unavailable(f"{service} does not answer", dependency=service) from error
        if answer.status != health_pb2.HealthCheckResponse.SERVING:
            raise Unavailable(f"{service} is not ready", dependency=service)

    return check
