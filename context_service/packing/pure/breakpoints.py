"""Markers for a vendor's prompt cache: up to four places of a pack after which its beginning stays the same.

The table `models` has the least tokens that a vendor keeps, and the number of blocks that it looks back from a marker.
If the last step has more blocks than that, the place before it gets a marker, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PLACES_MAX = 4


class Breakpoint(NamedTuple):
    """A place of a pack.

    Attributes:
        pointer: The last piece in front of it, as a JSON Pointer into the body of the request.
        zone: What ends there.
        tokens: Of the pack up to there.
    """

    pointer: str
    zone: str
    tokens: int


def breakpoints(places: Iterable[Breakpoint], *, least_tokens: int) -> list[Breakpoint]:
    """Return which places are worth it, in their order.

    Of several at one piece the first stays: what the others name is empty. One with less in front than the vendor keeps
    goes, but for the last: from there the next pack goes on, and has more. Of too many the one behind the digests goes,
    which only a fold needs.

    Args:
        places: In their order.
        least_tokens: That the vendor keeps.
    """
    kept: list[Breakpoint] = []
    for place in places:
        if not place.pointer or (kept and kept[-1].pointer == place.pointer):
            continue
        if kept and kept[-1].tokens < least_tokens:
            kept.pop()
        kept.append(place)
    return [item for item in kept if item.zone != "digests"] if len(kept) > PLACES_MAX else kept
