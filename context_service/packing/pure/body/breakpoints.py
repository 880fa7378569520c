"""Markers for a vendor's prompt cache: up to four places of a pack. Later packs repeat the bytes before a marker.

The module `windows.pure.models` has the smallest number of tokens that a vendor caches, and the number of blocks that
the vendor looks back from a marker. If the last step has more blocks than that, the place before the last step gets a
marker, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PLACES_MAX = 4
_ONLY_FOR_FOLDS = ("digests", "conversation")  # the zones whose markers are dropped first


class Breakpoint(NamedTuple):
    """A place in a pack after which a vendor's prompt cache may end.

    Attributes:
        pointer: The last piece before the place, as a JSON Pointer into the body of the request.
        zone: The name of the zone that ends at this place.
        tokens: The tokens of the pack up to this place.
    """

    pointer: str
    zone: str
    tokens: int


def breakpoints(places: Iterable[Breakpoint], *, least_tokens: int) -> list[Breakpoint]:
    """Return the places that are worth a cache marker, in their order.

    Of several places after the same piece only the first is kept, because the zones of the others are empty. A place
    with fewer tokens before it than the vendor caches is dropped, except the last place: the next pack continues
    there and is larger. If more than `PLACES_MAX` places remain, the place after the digests is dropped and then the
    place after the conversation, because only a pack after a fold would use them.

    Args:
        places: Candidate places, from the front of the pack to its end.
        least_tokens: The fewest tokens that the vendor's cache keeps.
    """
    markers: list[Breakpoint] = []
    for place in places:
        if not place.pointer or (markers and markers[-1].pointer == place.pointer):
            continue
        if markers and markers[-1].tokens < least_tokens:
            markers.pop()
        markers.append(place)
    for zone in _ONLY_FOR_FOLDS:
        markers = [item for item in markers if item.zone != zone] if len(markers) > PLACES_MAX else markers
    return markers
