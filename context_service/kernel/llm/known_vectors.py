"""A cache of vectors by their texts: the same text has the same vector, and making one takes long.

Each tenant has a cache of its own, so that the time of an answer reveals nothing about another tenant's questions.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from uuid import UUID

TENANTS_MAX = 16  # the tenants that used the cache last
BYTES_MAX = 2 * 1024 * 1024  # for each tenant: 1,365 vectors of 384 dimensions, or 341 of 1,536

_BYTES_OF_NUMBER = 4


class KnownVectors:
    """A cache of the vectors of unit length that were used last."""

    def __init__(self) -> None:
        self._of: OrderedDict[UUID, OrderedDict[bytes, array[float]]] = OrderedDict()

    def get(self, tenant_id: UUID, text: str) -> Sequence[float] | None:
        """Return the vector of a text, or None if it is not in the cache."""
        known = self._of.get(tenant_id)
        name = _name(text)
        if known is None or (vector := known.get(name)) is None:
            return None
        self._of.move_to_end(tenant_id)
        known.move_to_end(name)
        return vector

    def put(self, tenant_id: UUID, text: str, values: Sequence[float]) -> Sequence[float]:
        """Store the vector of a text, and return it in the form of `get`: of unit length, as 32-bit floats."""
        length = math.hypot(*values) or 1.0
        vector = array("f", [value / length for value in values])
        known = self._of.setdefault(tenant_id, OrderedDict())
        self._of.move_to_end(tenant_id)
        known[_name(text)] = vector
        while len(known) > max(BYTES_MAX // (_BYTES_OF_NUMBER * max(len(vector), 1)), 1):
            known.popitem(last=False)
        while len(self._of) > TENANTS_MAX:
            self._of.popitem(last=False)
        return vector


def _name(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
