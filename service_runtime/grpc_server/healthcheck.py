"""Asks a server for its health once: for containers, which have no other client at hand.

`python -m service_runtime.grpc_server.healthcheck ADDRESS [SERVICE]`. Exits with 0 if it serves. SERVICE is
`liveness` (the process answers), a proto service such as `contextkeep.entity.v1.EntityGraph`, or nothing: all of them.
"""

from __future__ import annotations

import sys

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

TIMEOUT_S = 3.0


def main() -> int:
    """Check the health of the service, and print a problem on standard error."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    address, service = sys.argv[1], "".join(sys.argv[2:])
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT_S, wait_for_ready=True)
        except grpc.RpcError as error:
            print(f"{address} does not answer: {error.code().name}", file=sys.stderr)  # noqa: T201
            return 1
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return 0
    print(f"{address} {service or 'as a whole'}: {status}", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
