"""The rows by which a question is ranked, and the totals of a scope. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

ASKED_TERMS_MAX = 64  # only the first different terms of a query are searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Totals of a scope, over the passages that the caller may see."""

    passages: int = 0
    sessions: int = 0
    length: int = 0  # the sum of the lengths of all passages, in terms
    length_before: int = 0  # the sum of the lengths of the passage before each passage, if there is one
    length_after: int = 0  # the sum of the lengths of the passage after each passage, if there is one
    first_seq: int = 0
    last_seq: int = 0
    authors: frozenset[str] = frozenset()


class Row(NamedTuple):
    """A passage as the ranking reads it; a query may have thousands."""

    seq: int
    ordinal: int
    session: int
    place: int | None  # position among the spoken passages of its session, from 0; None if it was not spoken
    length: int  # the number of terms
    length_before: int  # the length of the passage before it
    session_length: int  # the length of its whole session
    session_places: int  # the number of spoken passages in its session so far
    marks: int  # bits such as `marks.QUESTION`
    kind: str
    role: str
    author: str
    task_id: UUID | None
    said_at: datetime
    found: Sequence[tuple[int, int]]  # where a term of the query is among its terms, and the index of that term

    def is_said_within(self, time_from: datetime | None, time_to: datetime | None) -> bool:
        """Say whether the row's time is `time_from` or later and before `time_to`; None sets no bound."""
        return (time_from is None or self.said_at >= time_from) and (time_to is None or self.said_at < time_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The rows that are ranked for a query, newest first, with the totals of their scope."""

    totals: Totals
    rows: Sequence[Row]
    is_whole: bool  # whether the rows are all passages of the scope, not only those with a term and their neighbours
    # How many passages have a term, by its index; only for terms whose passages are not all among the rows.
    estimated: Mapping[int, float]
