"""Marks of a text that ranking looks at beside its terms: kept as bits of its row, so that no text is read for them."""

from __future__ import annotations

import re

QUESTION = 1  # it asks something
TIME = 2  # it has a word of time, or a digit
NUMBER = 4
PLACE = 8  # a name behind "in", "at", "to", "from", "near"

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|week|weekend|weeks|month|months|year|years|day|days|morning"
    r"|evening|night|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b|[0-9]",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
    r"|thousand|million|once|twice|couple|dozen|several)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:[Ii]n|[Aa]t|[Tt]o|[Ff]rom|[Nn]ear)\s{1,4}[A-Z]")


def marks_of(text: str) -> int:
    """Return the bits of what is in a text; those of place and time are seen in English only."""
    return (
        (QUESTION if "?" in text or "\uff1f" in text else 0)
        | (TIME if _TIME.search(text) else 0)
        | (NUMBER if _NUMBER.search(text) else 0)
        | (PLACE if _PLACE.search(text) else 0)
    )
