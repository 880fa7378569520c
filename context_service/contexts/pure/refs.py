"""Refs: the names of passages in a prompt. "m12.0" is the first passage of the message with `seq` 12.

"a3.0" is the first passage of an artifact. The places of artifacts in a context are negative numbers, and the places of
messages are positive numbers (their `seq`).
"""

from __future__ import annotations

import re

from contextkeep.errors import InvalidArgument

_REF = re.compile(r"([am])([1-9][0-9]{0,17})\.([0-9]{1,9})")


def ref_of(place: int, ordinal: int) -> str:
    """Return the ref of a passage, such as "m12.0".

    Args:
        place: The place of the message or artifact in its context; negative for artifacts.
        ordinal: The number of the passage in the message or artifact, from 0.
    """
    return f"a{-place}.{ordinal}" if place < 0 else f"m{place}.{ordinal}"


def place_of(ref: str, *, field: str) -> int:
    """Return the place of the message or artifact that a ref names; negative for artifacts.

    Raises:
        InvalidArgument: the ref is malformed.
    """
    if not (named := _REF.fullmatch(ref)):
        raise InvalidArgument(f"{field} must be a ref such as m12.0 or a3.0 (got {ref[:100]!r})", field=field)
    place = int(named[2])
    return -place if named[1] == "a" else place
