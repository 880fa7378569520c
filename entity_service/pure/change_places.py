"""Tokens of places in a change feed. A place is the point up to which a reader has read."""

from __future__ import annotations

import hashlib
import os
import struct
from typing import Protocol
from uuid import UUID

from contextkeep.errors import InvalidPageToken
from service_runtime.inputs.pages import decode_token, encode_token

_ORIGIN_CHARS = 16

_NONCE_BYTES = 12

_NUMBERS = struct.Struct(">QQ")  # a transaction's id, and the number of a change in the transaction


class Feed(Protocol):
    """The columns of a feed that its places need."""

    @property
    def place_key(self) -> bytes:
        """The secret that hides the numbers of a place."""

    @property
    def origin(self) -> str:
        """The database that the feed was started in."""


def encode_place(tenant_id: UUID, feed: Feed, transaction_id: str, seq: int) -> str:
    """Return the token of a place in a feed.

    Its numbers are hidden, since a transaction's id shows how much all tenants write.
    """
    nonce = os.urandom(_NONCE_BYTES)
    numbers = _hidden(feed.place_key, nonce, _NUMBERS.pack(int(transaction_id), seq))
    return encode_token(("ListChanges", tenant_id), [(nonce + numbers).hex(), feed.origin])


def decode_place(tenant_id: UUID, place_key: bytes, place: str) -> dict[str, object]:
    """Return the parameters of a page after a place: a transaction, the number in it, and the database of both.

    Raises:
        InvalidPageToken: the token is malformed or belongs to another tenant.
    """
    data, origin = parts_of_place(tenant_id, place)
    numbers = _NUMBERS.unpack(_hidden(place_key, data[:_NONCE_BYTES], data[_NONCE_BYTES:]))
    if not all(number < 2**63 for number in numbers):
        raise InvalidPageToken("place is malformed", field="place")
    return {"after_transaction_id": str(numbers[0]), "after_seq": numbers[1], "origin": origin}


def parts_of_place(tenant_id: UUID, place: str) -> tuple[bytes, str]:
    """Return the hidden part of a place's token, and the database that the place is from.

    Raises:
        InvalidPageToken: the token is malformed or belongs to another tenant.
    """
    hidden, origin = decode_token(("ListChanges", tenant_id), place, parts=2, field="place") or ["", ""]
    try:
        data = bytes.fromhex(hidden)
    except (TypeError, ValueError):
        data = b""
    if len(data) != _NONCE_BYTES + _NUMBERS.size or not _is_origin(origin):
        raise InvalidPageToken("place is malformed", field="place")
    return data, origin


def _hidden(place_key: bytes, nonce: bytes, numbers: bytes) -> bytes:
    """Hide the numbers of a place, or reveal hidden ones: XOR with the same bytes does both."""
    pad = hashlib.blake2b(nonce, key=place_key, digest_size=_NUMBERS.size).digest()
    return bytes(number_byte ^ pad_byte for number_byte, pad_byte in zip(numbers, pad, strict=True))


def _is_origin(value: object) -> bool:
    """Say whether a value of a token can be the id of a database; a feed may have none."""
    return (type(value) is str and len(value) <= _ORIGIN_CHARS and value.isalnum()) or value == ""
