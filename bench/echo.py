"""The floor of a call through our services: an echo through as many bare gRPC servers.

`python -m bench.echo PORT [NEXT_PORT]` answers with what it gets, after asking the next echo if there is one. No
interceptor, no protobuf, nothing of ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

import grpc
import uvloop

METHOD = "/floor.Echo/Call"


async def serve(port: int, next_port: int | None) -> None:
    """Answer each call with its own bytes, by way of the next echo if there is one, until killed."""
    ask_next = None
    if next_port is not None:
        ask_next = grpc.aio.insecure_channel(f"127.0.0.1:{next_port}").unary_unary(METHOD)

    async def call(request: bytes, _context: object) -> bytes:
        return await ask_next(request) if ask_next else request

    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(call)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("floor.Echo", {"Call": handler}),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


def main() -> None:
    """Run one echo."""
    ports = [int(argument) for argument in sys.argv[1:]]
    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(ports[0], ports[1] if len(ports) > 1 else None))


if __name__ == "__main__":
    main()
