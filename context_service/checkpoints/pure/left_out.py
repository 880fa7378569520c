"""The messages that a window leaves out because it was rolled back. They stay in the log of the context."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_service.windows.pure.refs import refs_between

_RANGE = re.compile(r"\[(\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The places (`seq`) of the messages that a window leaves out, as ranges.

    Attributes:
        ranges: The first and the last place of each range, in ascending order; ranges do not touch.
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> LeftOut:
        """Return the ranges that Postgres wrote as an `int8multirange`."""
        return cls(tuple((int(first), int(end) - 1) for first, end in _RANGE.findall(text)))

    @property
    def multirange(self) -> str:
        """Return the ranges as text that Postgres reads as an `int8multirange`."""
        return "{" + ",".join(f"[{first},{last + 1})" for first, last in self.ranges) + "}"

    @property
    def refs(self) -> list[str]:
        """Return the refs with which `Expand` returns these messages."""
        return [refs_between(first, last) for first, last in self.ranges]

    def __contains__(self, seq: int) -> bool:
        """Return whether the message at a place is left out."""
        return any(first <= seq <= last for first, last in self.ranges)

    def stretch(self, seq_from: int, seq_to: int) -> tuple[int, int]:
        """Return the first range of places from `seq_from` to `seq_to` that are not left out.

        If all are left out, the last place of the result is below its first.
        """
        for first, last in self.ranges:
            if last < seq_from:
                continue
            if first > seq_from:
                return seq_from, min(first - 1, seq_to)
            seq_from = last + 1
        return seq_from, seq_to


NOTHING = LeftOut()
