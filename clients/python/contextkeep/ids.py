"""Ids made by the client: UUIDs of version 7, so that rows written together lie together in the server's indexes."""

from __future__ import annotations

import secrets
import time
from uuid import UUID


def new_id() -> str:
    """Return a new UUID of version 7 (RFC 9562) as text: 48 bits of Unix milliseconds, then 74 random ones."""
    milliseconds = time.time_ns() // 1_000_000
    random = secrets.randbits(74)
    value = (milliseconds << 80) | (0x7 << 76) | ((random >> 62) << 64) | (0b10 << 62) | (random & ((1 << 62) - 1))
    return str(UUID(int=value))
