"""Ports for processes that are told theirs, and that start again on it after a kill."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 20_000


def free_port() -> int:
    """Return a port that is free, and stays so for whoever it is given to, also while nobody listens on it.

    It lies below the ports that the kernel gives to outgoing connections. The UDP port of the same number is held
    until this process ends: that tells the other runs of these tests on this machine that it is taken.
    """
    below = int(_EPHEMERAL.read_text().split()[0]) if _EPHEMERAL.exists() else 32_768
    for port in random.sample(range(_LOWEST, below), below - _LOWEST):
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind(("127.0.0.1", port))
            with socket.socket() as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(("0.0.0.0", port))
        except OSError:
            lock.close()
            continue
        lock.detach()
        return port
    raise AssertionError("no port is free")
