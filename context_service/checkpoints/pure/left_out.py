"""Messages of a log that a window leaves out since it was rolled back. They stay in the log. Values in, values out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_service.windows.pure.refs import refs_between

_RANGE = re.compile(r"\[(\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Places in a log.

    Attributes:
        ranges: Of each the first and the last; they do not touch, and the lowest stands first.
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parsed(cls, text: str) -> LeftOut:
        """Return what Postgres writes of an `int8multirange`."""
        return cls(tuple((int(first), int(end) - 1) for first, end in _RANGE.findall(text)))

    @property
    def stored(self) -> str:
        """As Postgres reads it."""
        return "{" + ",".join(f"[{first},{last + 1})" for first, last in self.ranges) + "}"

    @property
    def refs(self) -> list[str]:
        """What `Expand` answers the messages of."""
        return [refs_between(first, last) for first, last in self.ranges]

    def __contains__(self, seq: int) -> bool:
        """Say whether a message is left out."""
        return any(first <= seq <= last for first, last in self.ranges)

    def stretch(self, seq_from: int, seq_to: int) -> tuple[int, int]:
        """Return the first row of places up to `seq_to` that are not left out; a last one below the first: none."""
        for first, last in self.ranges:
            if last < seq_from:
                continue
            if first > seq_from:
                return seq_from, min(first - 1, seq_to)
            seq_from = last + 1
        return seq_from, seq_to


NOTHING = LeftOut()
