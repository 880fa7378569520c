"""Where a vendor's prompt cache is to be told that something ends that stays: up to four places of a pack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LEAST_TOKENS = 1_024  # that a vendor keeps; for some models it is more, and it passes over what is below


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


def breakpoints(places: Iterable[Breakpoint]) -> list[Breakpoint]:
    """Return which places are worth it, in their order.

    Of several at one piece the first stays: what the others name is empty. One with less in front than vendors keep
    goes, but for the last: from there the next pack goes on, and has more.
    """
    kept: list[Breakpoint] = []
    for one in places:
        if not one.pointer or (kept and kept[-1].pointer == one.pointer):
            continue
        if kept and kept[-1].tokens < LEAST_TOKENS:
            kept.pop()
        kept.append(one)
    return kept
