"""Run a service and watch its event loop: `python -m bench.watched SERVICE ARGUMENTS`.

Every callback of the loop is timed, in CPU time of its thread. That needs the loop of asyncio, whose handles are
Python, so this is for how long a callback takes and not for how many calls a second there are. When the service ends,
the most that one took is written to the file `$LOOP_WATCH_FOLDER/SERVICE`.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
import time
from pathlib import Path

from service_runtime.grpc_server import process

WARM_UP_S = 2.0  # imports, migrations, first connections


class LoopWatch:
    """The most CPU time that a callback took."""

    def __init__(self) -> None:
        self.cpu_s_max = 0.0

    def install(self) -> None:
        """Time every callback from now on."""
        run = asyncio.Handle._run
        begin_at = time.monotonic() + WARM_UP_S

        def timed(handle: asyncio.Handle) -> None:
            started = time.thread_time()
            run(handle)
            if time.monotonic() > begin_at:
                self.cpu_s_max = max(self.cpu_s_max, time.thread_time() - started)

        asyncio.Handle._run = timed


def main() -> None:
    """Run the service that the first argument names."""
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    watch = LoopWatch()
    watch.install()
    process.run = asyncio.run
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    finally:
        Path(os.environ["LOOP_WATCH_FOLDER"], name).write_text(f"{watch.cpu_s_max}\n")


if __name__ == "__main__":
    main()
