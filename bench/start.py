"""How long `make run` takes until both services answer, on data that is there already.

`python -m bench.start`. It prints the best and the median of `STARTS` starts after a first one, each with its stop.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from tests.ports import free_port

STARTS = 7
TARGET_S = 2.0


def start_and_stop(folder: str) -> tuple[float, float]:
    """Start once; return the seconds until the stack is ready, and the seconds that it takes to stop."""
    ports = {"CONTEXT_SERVICE_PORT": str(free_port()), "ENTITY_SERVICE_PORT": str(free_port())}
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "context_service", "dev"],
        cwd=folder,
        env={**os.environ, **ports},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("ready"):
                break
        ready_s = time.perf_counter() - begun
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    return ready_s, time.perf_counter() - begun - ready_s


def main() -> int:
    """Print the times; 1 if the best is over the target."""
    with tempfile.TemporaryDirectory() as folder:
        (cold_s, _), *warm = (start_and_stop(folder) for _ in range(STARTS + 1))
    ready = [ready_s for ready_s, _ in warm]
    print(
        f"start: {min(ready):.2f} s at best, {statistics.median(ready):.2f} s median (target {TARGET_S} s);"
        f" {cold_s:.2f} s with a new database; stop {min(stop_s for _, stop_s in warm):.2f} s"
    )
    return int(min(ready) > TARGET_S)


if __name__ == "__main__":
    sys.exit(main())
