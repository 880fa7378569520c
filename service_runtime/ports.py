"""Ports for what starts now: development, the demo, the embedded Postgres."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from pathlib import Path

_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_OUTGOING_FROM = 32_768  # Linux's default
_LOWEST = 20_000


def free_port() -> int:
    """Return a port that nobody listens on, below those that the kernel gives to outgoing connections.

    One of those would be free as well, but any connection that somebody opens may have it a moment later.

    Raises:
        OSError: none is free.
    """
    for port in [*_in_random_order(), 0]:  # 0: whatever the kernel gives
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what just ended has the port no more
            try:
                listener.bind(("0.0.0.0", port))  # noqa: S104 (nobody listens)
            except OSError:
                if not port:
                    raise
                continue
            found: int = listener.getsockname()[1]
            return found
    raise AssertionError("the last one is tried, too")


def _in_random_order() -> Sequence[int]:
    below = int(_OUTGOING.read_text().split()[0]) if _OUTGOING.exists() else _OUTGOING_FROM
    ports = range(_LOWEST, below)
    return random.sample(ports, len(ports))
