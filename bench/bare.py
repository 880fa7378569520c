"""A service without interceptors: `python -m bench.bare SERVICE ARGUMENTS`.

What the handlers cannot do without stays: a principal in the context of the call. No authentication, deadline, error
table, metrics, span or log line. It is what interceptors are measured against, and nothing to be deployed.
"""

from __future__ import annotations

import math
import runpy
import sys
from typing import Any

import grpc

from service_runtime.grpc_server import interceptors
from service_runtime.rpc.admission import CallLimits, CallSlots
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.principal import ANONYMOUS


class Bare(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Gives unary calls a principal, at the lowest cost that an interceptor can have."""

    def __init__(self, *_: Any, limits: CallLimits, **__: Any) -> None:
        self.slots = CallSlots(limits)
        self._wrapped: dict[str, Any] = {}

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Return the handler, wrapped once."""
        wrapped = self._wrapped.get(details.method)
        if wrapped is None:
            handler = await continuation(details)
            if handler is None or handler.unary_unary is None:
                return handler

            async def call(request: Any, context: Any) -> Any:
                current_call.set(Call(call_id="", method=details.method, deadline=math.inf, principal=ANONYMOUS))
                return await handler.unary_unary(request, context)

            wrapped = self._wrapped[details.method] = grpc.unary_unary_rpc_method_handler(
                call, handler.request_deserializer, handler.response_serializer
            )
        return wrapped


def main() -> None:
    """Run the service that the first argument names."""
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    interceptors.Border = Bare  # before the service is imported, which makes one
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
