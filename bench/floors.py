"""Floors of the blob benchmarks: the same bytes with blocking sockets and files, and nothing else.

What a service adds (framing, flow control, protobuf, checks, rows) is measured against these in the same minute: the
page cache of one machine differs by more than that from hour to hour.
"""

from __future__ import annotations

import hashlib
import os
import resource
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """One transfer: how long it took, and the CPU of the side that serves."""

    seconds: float
    cpu_s: float


def tcp_to_file(size_bytes: int, path: Path) -> Floor:
    """Receive `size_bytes` from another process, hash them, write them to `path`, sync it."""
    receiving, sending = _connected()
    child = os.fork()
    if child == 0:
        receiving.close()
        _send(sending, size_bytes)
        os._exit(0)
    sending.close()
    started, cpu = time.perf_counter(), _cpu_s()
    sha256 = hashlib.sha256()
    buffer = bytearray(BLOCK_BYTES)
    with path.open("wb", buffering=0) as file, receiving:
        while count := receiving.recv_into(buffer, BLOCK_BYTES, socket.MSG_WAITALL):
            view = memoryview(buffer)[:count]
            sha256.update(view)
            file.write(view)
        os.fdatasync(file.fileno())
    floor = Floor(seconds=time.perf_counter() - started, cpu_s=_cpu_s() - cpu)
    os.waitpid(child, 0)
    return floor


def file_to_tcp(path: Path) -> Floor:
    """Read `path` and send it to another process."""
    sending, receiving = _connected()
    child = os.fork()
    if child == 0:
        sending.close()
        buffer = bytearray(BLOCK_BYTES)
        while receiving.recv_into(buffer, BLOCK_BYTES):
            pass
        os._exit(0)
    receiving.close()
    started, cpu = time.perf_counter(), _cpu_s()
    with path.open("rb", buffering=0) as file, sending:
        while block := file.read(BLOCK_BYTES):
            sending.sendall(block)
    os.waitpid(child, 0)
    return Floor(seconds=time.perf_counter() - started, cpu_s=_cpu_s() - cpu)


def _connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted: list[socket.socket] = []
        accepting = threading.Thread(target=lambda: accepted.append(listener.accept()[0]))
        accepting.start()
        connected = socket.create_connection(listener.getsockname())
        accepting.join()
    return accepted[0], connected


def _send(sending: socket.socket, size_bytes: int) -> None:
    block = os.urandom(BLOCK_BYTES)
    with sending:
        for start in range(0, size_bytes, BLOCK_BYTES):
            sending.sendall(block[: size_bytes - start])


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
