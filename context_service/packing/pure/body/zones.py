"""The zones of a pack: its sections before the steps, in their order, and the pieces that each of them shows.

A zone is one function, which returns its pieces from the window and the summaries that the window shows. To add a
zone, write a function and add a row to `ZONES`. Its tokens are counted by the `zone` of its parts, or they are a column
of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from context_service.kernel.rendering import Rendered
from context_service.packing.model import ViewPart
from context_service.windows.model import Window


class Zone(NamedTuple):
    """A zone of a pack that comes before the steps.

    Attributes:
        name: The zone's field in `Zones`.
        pieces: Returns the pieces that the zone shows.
        ends_cache: A marker for the vendor's prompt cache is put after the zone, if not all markers are used.
    """

    name: str
    pieces: Callable[[Window, Sequence[ViewPart]], list[Rendered]]
    ends_cache: bool = False


def pins(window: Window, summaries: Sequence[ViewPart]) -> list[Rendered]:
    """Return the pieces of the pins."""
    return list(window.pins_pieces)


def conversation(window: Window, summaries: Sequence[ViewPart]) -> list[Rendered]:
    """Return the pieces of the conversation: messages of users that no step shows any more."""
    return [piece for part in summaries if part.zone == "conversation" for piece in part.pieces]


def digests(window: Window, summaries: Sequence[ViewPart]) -> list[Rendered]:
    """Return the pieces of the digests, which are the oldest summaries."""
    return [piece for part in summaries if part.zone == "digests" for piece in part.pieces]


def segments(window: Window, summaries: Sequence[ViewPart]) -> list[Rendered]:
    """Return the pieces of the segments, which are the newer summaries."""
    return [piece for part in summaries if part.zone == "segments" for piece in part.pieces]


def state(window: Window, summaries: Sequence[ViewPart]) -> list[Rendered]:
    """Return the pieces of the state, and of the assistant's last words, as the last fold wrote them."""
    last_words = [piece for part in summaries if part.zone == "state" for piece in part.pieces]
    return [*window.state_pieces, *last_words]


ZONES = (
    Zone("pins", pins),
    Zone("conversation", conversation, ends_cache=True),
    Zone("digests", digests, ends_cache=True),
    Zone("segments", segments),
    Zone("state", state, ends_cache=True),
)
