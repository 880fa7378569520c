"""Bytes to store."""

from __future__ import annotations

import hashlib


def noise(size_bytes: int) -> bytes:
    """Return bytes that no two blocks of share, the same ones each time."""
    return hashlib.shake_128(b"noise").digest(size_bytes)
