"""Asks another service of ours whether it is healthy: part of the readiness of a service that depends on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contextgraph.address import Address
from contextgraph.client._base import channel_credentials, channel_options
from contextgraph.errors import Unavailable
from service_runtime.connections import connected
from service_runtime.server import CHECK_TIMEOUT_S, Check
from service_runtime.tls import ClientCertificates, Following


@asynccontextmanager
async def health_check(
    address: Address, service: str, certificates: Following[ClientCertificates]
) -> AsyncIterator[Check]:
    """Yield a check that raises `Unavailable` unless `service` at `address` says that it serves."""

    def connect(tls: ClientCertificates) -> grpc.aio.Channel:
        options = channel_options(address)  # the client's: with grpc's own, it would try again only every two minutes
        if not address.tls:
            return grpc.aio.insecure_channel(address.target, options)
        return grpc.aio.secure_channel(address.target, channel_credentials(tls.root, tls.own), options)

    async with connected(certificates, connect) as connection:

        async def check() -> None:
            try:
                async with connection.lent() as channel:
                    answer = await health_pb2_grpc.HealthStub(channel).Check(
                        health_pb2.HealthCheckRequest(service=service), timeout=CHECK_TIMEOUT_S, wait_for_ready=True
                    )
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                    return  # it answers, but tells its health only to who has a key (HEALTH_WITHOUT_KEY)
                raise Unavailable(f"{service} does not answer", dependency=service) from error
            if answer.status != health_pb2.HealthCheckResponse.SERVING:
                raise Unavailable(f"{service} is not ready", dependency=service)

        yield check
