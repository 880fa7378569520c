"""What a passage is called in a prompt: "m12.0" is the first of the message with `seq` 12, "a3.0" of an artifact.

Artifacts stand below zero among the places of a context, where no message is.
"""

from __future__ import annotations

import re

from contextkeep.errors import InvalidArgument

_REF = re.compile(r"([am])([1-9][0-9]{0,17})\.([0-9]{1,9})")


def ref_of(place: int, ordinal: int) -> str:
    """Return what the passage with a number is called that stands at a place of its context."""
    return f"a{-place}.{ordinal}" if place < 0 else f"m{place}.{ordinal}"


def place_of(ref: str, *, field: str) -> int:
    """Return the place of the message or artifact that a ref is of.

    Raises:
        InvalidArgument: it is none.
    """
    if not (named := _REF.fullmatch(ref)):
        raise InvalidArgument(f"{field} is no ref, such as m12.0 or a3.0", field=field)
    place = int(named[2])
    return -place if named[1] == "a" else place
