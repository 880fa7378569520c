"""A service that shares its port, which ours refuse: `python -m bench.reuse_port SERVICE ARGUMENTS`.

It is the baseline for several ports with a balancing client, and must not be deployed.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

import grpc

REUSE_PORT = "grpc.so_reuseport"


def main() -> None:
    """Run the service that the first argument names."""
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    made = grpc.aio.server

    def sharing(*arguments: Any, options: Any = (), **others: Any) -> Any:
        options = [option for option in options if option[0] != REUSE_PORT]
        return made(*arguments, options=[*options, (REUSE_PORT, 1)], **others)

    grpc.aio.server = sharing
    runpy.run_module(name, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
