"""Secrets of tenants, as they are stored: encrypted by a key of the operator's, and bound to the row that has them.

AES-256-GCM. A sealed secret names its key, so that keys can be changed: the newest one seals, all of them open, and
secrets of older ones are sealed again (`context-service secrets rotate`) before these are removed. It is also bound to
the caller's own text, such as a tenant and a server: moved to another row it cannot be opened.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from contextkeep.errors import SecretsKeyMissing, SecretUnreadable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_FORMAT = b"\x01"
_ID_BYTES, _NONCE_BYTES = 8, 12


class KeyRing:
    """The keys of the operator.

    Args:
        keys: Keys of 32 bytes each, the newest first. Without any, nothing can be sealed.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {_id(key): key for key in keys}
        self._newest = _id(keys[0]) if keys else b""

    def __repr__(self) -> str:
        return f"KeyRing({len(self._keys)} keys)"

    @property
    def newest_id(self) -> str:
        """The name of the key that seals now; empty without keys."""
        return self._newest.hex()

    def seal(self, secret: str, bound_to: Sequence[str]) -> bytes:
        """Return a secret encrypted, as it may be stored, and bound to a text such as its tenant and its place.

        Raises:
            SecretsKeyMissing: there is no key.
        """
        if not self._newest:
            raise SecretsKeyMissing("the service has no key for secrets; its operator must set SECRETS_KEY")
        nonce = os.urandom(_NONCE_BYTES)
        head = _FORMAT + self._newest + nonce
        return head + _cipher(self._keys[self._newest]).encrypt(nonce, secret.encode(), _bound(bound_to))

    def open(self, sealed: bytes, bound_to: Sequence[str]) -> str:
        """Return the secret that `seal` encrypted.

        Raises:
            SecretUnreadable: no configured key sealed the secret, or it was sealed for another row.
        """
        from cryptography.exceptions import InvalidTag

        begin = len(_FORMAT) + _ID_BYTES
        key = self._keys.get(sealed[len(_FORMAT) : begin]) if sealed.startswith(_FORMAT) else None
        if key is None:
            raise SecretUnreadable("the secret was sealed with a key that SECRETS_KEY does not have")
        nonce, text = sealed[begin : begin + _NONCE_BYTES], sealed[begin + _NONCE_BYTES :]
        try:
            return _cipher(key).decrypt(nonce, text, _bound(bound_to)).decode()
        except (InvalidTag, ValueError):
            raise SecretUnreadable(
                "the secret cannot be decrypted (it was sealed for another tenant or use, or is damaged): set it again"
            ) from None


def key_id_of(sealed: bytes) -> str:
    """Return the name of the key that sealed something."""
    return sealed[len(_FORMAT) : len(_FORMAT) + _ID_BYTES].hex()


def keys_of(text: str) -> list[bytes]:
    """Return the keys of a setting, separated by commas, each 32 bytes as base64.

    Raises:
        ValueError: an entry is malformed; the message says which, without its text.
    """
    keys = []
    for place, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), 1):
        try:
            key = base64.b64decode(entry, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise ValueError(
                f"its key {place} must be {KEY_BYTES} bytes as base64, such as `openssl rand -base64 32` prints"
            )
        keys.append(key)
    return keys


def _id(key: bytes) -> bytes:
    return hashlib.sha256(b"contextkeep key id" + key).digest()[:_ID_BYTES]


def _bound(bound_to: Sequence[str]) -> bytes:
    return json.dumps(list(bound_to)).encode()


def _cipher(key: bytes) -> AESGCM:
    """Return the cipher of a key."""
    # Loaded where there are secrets: it is a large library.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)
