"""Pictures and recordings, as small as they can be, and hostile ones."""

from __future__ import annotations

import io
import struct
import wave
import zlib


def png(width: int, height: int, *, pixels: bytes | None = None, color: int = 0, bits: int = 8) -> bytes:
    """Return a PNG with `bits` a pixel; `pixels` are its packed rows, by default those of a picture of one color."""
    if pixels is None:
        pixels = zlib.compress((b"\0" + bytes([color % 256]) * -(-width * bits // 8)) * height, 1)
    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    """Return the segments of a JPEG up to its size, and its end."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    app0 = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\1\1\0\0\1\0\1\0\0"
    return b"\xff\xd8" + app0 + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"


def gif(width: int, height: int) -> bytes:
    """Return a GIF with a screen and no picture."""
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + b";"


def webp(width: int, height: int) -> bytes:
    """Return the head of a WebP in its extended form."""
    size = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + size
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(seconds: int, *, rate: int = 8_000) -> bytes:
    """Return a recording of silence."""
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(rate)
        sound.writeframes(bytes(seconds * rate))
    return written.getvalue()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
