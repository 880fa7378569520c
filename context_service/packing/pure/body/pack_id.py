"""The id of a pack, with which a caller names the pack that its model has answered."""

from __future__ import annotations

import re
from typing import NamedTuple

from context_service.packing.model import Pack
from contextkeep.errors import InvalidArgument

_PACK_ID = re.compile(r"([0-9]{1,9})\.([0-9]{1,18})")


class PackId(NamedTuple):
    """The id of a pack: the epoch of the window and the last message of the log.

    Packs of a window with the same epoch and the same last message are equal.
    """

    epoch: int
    last_seq: int

    @classmethod
    def of(cls, pack: Pack) -> PackId:
        """Return the id of a pack."""
        return cls(pack.window.epoch, pack.last_seq)

    def __str__(self) -> str:
        return f"{self.epoch}.{self.last_seq}"


def parse_pack_id(text: str) -> PackId:
    """Return the pack that an id names.

    Raises:
        InvalidArgument: the id is malformed.
    """
    match = _PACK_ID.fullmatch(text)
    if not match:
        raise InvalidArgument(
            f"pack_id must be the pack_id of a pack of the window (got {text[:100]!r})", field="pack_id"
        )
    return PackId(int(match[1]), int(match[2]))
