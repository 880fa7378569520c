"""Ports for processes that are told theirs, and that start again on it after a kill."""

from __future__ import annotations

import socket

from service_runtime.network import ports


def free_port() -> int:
    """Return a port that is free, and stays so for whoever it is given to, also while nobody listens on it.

    The UDP port of the same number is held until this process ends: that tells the other runs of these tests on this
    machine that it is taken.
    """
    while True:
        port = ports.free_port()
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        lock.detach()
        return port
