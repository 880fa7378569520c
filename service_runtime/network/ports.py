"""Free ports for development, the demo and the embedded Postgres."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from pathlib import Path

_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_OUTGOING_FROM = 32_768  # Linux's default
_LOWEST = 20_000


def free_port() -> int:
    """Return a free port below the range that the kernel gives to outgoing connections.

    A port of that range would be free as well, but any new connection may get it a moment later.

    Raises:
        OSError: no port is free.
    """
    for port in [*_in_random_order(), 0]:  # 0: any port of the kernel
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a program that just ended has released it
            try:
                listener.bind(("0.0.0.0", port))  # noqa: S104 (it never listens)
            except OSError:
                if not port:
                    raise
                continue
            free: int = listener.getsockname()[1]
            return free
    raise AssertionError("the last one is tried, too")


def _in_random_order() -> Sequence[int]:
    below = int(_OUTGOING.read_text().split()[0]) if _OUTGOING.exists() else _OUTGOING_FROM
    ports = range(_LOWEST, below)
    return random.sample(ports, len(ports))
