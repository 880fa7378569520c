"""Run a service and print how much CPU each layer takes: `python -m bench.sampled SERVICE ARGUMENTS`.

Each `INTERVAL_S` of CPU of the process, of all its threads, the stack of the main thread is looked at: the innermost
frame that belongs to a layer is where the time went. Frames of libraries belong to their callers. What C code
does where no Python is on the stack, as gRPC and the loop do, is the transport's.

On SIGUSR2 the samples since the last are written to `$SAMPLES_FOLDER/SERVICE.N`, N counting from 1.
"""

from __future__ import annotations

import dis
import json
import os
import runpy
import signal
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

INTERVAL_S = 0.001
_RESUME = dis.opmap["RESUME"]
TRANSPORT = "gRPC, its messages, the loop"
INTERCEPTORS = "interceptors: key, limits, log, span"
SERVICER = "servicer"
RULES = "rules"
STORE = "psycopg, the pool, a tenant's wall"
CLIENT = "call of the Entity Service"
LAYERS = (TRANSPORT, INTERCEPTORS, SERVICER, RULES, CLIENT, STORE)

_BORDER = "auth/ grpc_server/interceptors grpc_server/server network/connections rpc/ telemetry/"
_ROOMS = (
    "agents compiled_pages contexts entity_history erasure history knowledge knowledge_bases mcp mcp_servers"
    " memories operations query specialists transfer usage wiki windows working_memory"
)
# The first that is part of a file's name says whose it is; other files are their callers'.
_PLACES = {
    "/psycopg": STORE,
    "/service_runtime/postgres/": STORE,
    "/contextkeep/client/": CLIENT,
    **{f"/context_service/{room}/{name}": SERVICER for room in _ROOMS.split() for name in ("api", "wire")},
    "/context_service/kernel/wire/": SERVICER,
    "/entity_service/api": SERVICER,
    "/entity_service/wire": SERVICER,
    **{f"/service_runtime/{name}": INTERCEPTORS for name in _BORDER.split()},
    "/service_runtime/grpc_server/process.py": TRANSPORT,
    "/context_service/__main__": TRANSPORT,
    "/context_service/commands/server": TRANSPORT,
    "/entity_service/__main__": TRANSPORT,
    "/context_service/app": TRANSPORT,
    "/entity_service/app": TRANSPORT,
    "/context_service/": RULES,
    "/entity_service/": RULES,
}


class Samples:
    """How often each layer had the CPU."""

    def __init__(self, to: Path) -> None:
        self._counted: Counter[str] = Counter()
        self._layers: dict[CodeType, str] = {}
        self._to = to
        self._written = 0

    def install(self) -> None:
        """Sample from now on."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.signal(signal.SIGUSR2, self._write)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        """Count the layer of the innermost frame that belongs to one, or the transport if there is none."""
        # Python looks for signals where a function begins: what took the time was its caller, such as the loop.
        if frame is not None and frame.f_code.co_code[frame.f_lasti] == _RESUME:
            frame = frame.f_back
        while frame is not None:
            code = frame.f_code
            if (layer := self._layers.get(code)) is None:
                layer = self._layers[code] = _layer(code.co_filename)
            if layer:
                self._counted[layer] += 1
                return
            frame = frame.f_back
        self._counted[TRANSPORT] += 1

    def _write(self, _signal: int, _frame: FrameType | None) -> None:
        self._written += 1
        temporary = self._to.with_suffix(".new")
        temporary.write_text(json.dumps(self._counted))
        temporary.rename(f"{self._to}.{self._written}")
        self._counted.clear()


def _layer(filename: str) -> str:
    """Return the layer of a file; empty if it is its caller's."""
    return next((layer for place, layer in _PLACES.items() if place in filename), "")


def main() -> None:
    """Run the service that the first argument names."""
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    Samples(Path(os.environ["SAMPLES_FOLDER"], name)).install()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
