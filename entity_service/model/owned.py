"""Counts of the rows that a user owns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """What there is of what a user owns, or is removed of it."""

    nodes: int
    edges: int
    answers: int
    names: int
    finished_at: datetime | None
