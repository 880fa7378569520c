"""Health tells the truth, per service name."""

from __future__ import annotations

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.conftest import Addresses


async def test_a_started_service_reports_each_of_its_names(services: Addresses):
    async with grpc.aio.insecure_channel(services.entity) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", "liveness", "contextgraph.entity.v1.EntityGraph"):
            async for answer in stub.Watch(health_pb2.HealthCheckRequest(service=name), timeout=5):
                if answer.status == health_pb2.HealthCheckResponse.SERVING:
                    break
